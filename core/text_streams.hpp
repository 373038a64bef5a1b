// Text streams that throw std::bad_alloc if memory runs out. The standard streams silently drop text for which there is
// no memory.
#pragma once

#include <sstream>
#include <string>

namespace smallbatch {

class TextWriter : public std::ostringstream {
 public:
  TextWriter() { exceptions(std::ios::badbit); }
};

class TextReader : public std::istringstream {
 public:
  explicit TextReader(const std::string& text) : std::istringstream(text) { exceptions(std::ios::badbit); }
};

}  // namespace smallbatch
