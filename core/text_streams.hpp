// Streams to and from a text which throw std::bad_alloc where memory runs out. The standard ones say nothing, and leave
// out what they have no room for.
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
