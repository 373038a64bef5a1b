// Problem files with one fault, and the words of their refusals.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "io/problem_reader.hpp"
#include "tests/io/hdf5_file.hpp"

namespace smallbatch::testing {

/// A change to the good problem file, and words that the refusal must contain besides the file's name.
struct Refusal {
  const char* name;
  std::function<void(RawHdf5&)> change;
  std::vector<std::string> says;
};

/// Replaces a dataset by another one.
template <class T>
auto replace(const std::string& path, const Shape& shape, const std::vector<T>& values, hid_t (*stored)() = nullptr) {
  return [=](RawHdf5& file) {
    file.remove(path);
    file.dataset(path, shape, values, stored ? stored() : H5I_INVALID_HID);
  };
}

inline auto remove(const std::string& path) {
  return [=](RawHdf5& file) { file.remove(path); };
}

class RefusedProblemTest : public FileTest, public ::testing::WithParamInterface<std::size_t> {
 protected:
  /// Expects that the good problem file with `more` is read, and that it is refused after `refusal.change`.
  void expect_refused(const Refusal& refusal, const std::function<void(RawHdf5&)>& more = {}) {
    const std::string file = path("problems.h5");
    write_good_problems(file, RawHdf5::Mode::create, more);
    { const ProblemReader good(file); }
    {
      RawHdf5 raw(file, RawHdf5::Mode::change);
      refusal.change(raw);
    }
    std::vector<std::string> pieces = refusal.says;
    pieces.push_back("problems.h5");
    pieces.push_back("). ");  // a message reads "problem (why). remedy"
    ::testing::internal::CaptureStderr();
    expect_error(ErrorKind::bad_input, pieces, [&] { ProblemReader{file}; });
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  }
};

}  // namespace smallbatch::testing
