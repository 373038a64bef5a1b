// An untrusted HDF5 file, opened read-only. Private to io/.
//
// InputFile refuses:
// - links that are not hard (soft, external, user-defined);
// - external storage, and virtual datasets;
// - filters other than shuffle, deflate, LZF, Zstandard and fletcher32;
// - chunks that decode to another size than they declare;
// - variable-length data in datasets, and numbers of non-standard types;
// - datasets that were never written, and datasets that declare more bytes than the file can hold.
//
// A declared size is compared with the stored bytes before memory is allocated for it. A byte that is missing when it
// is read is an error, and so is a file that changes while it is read.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/error.hpp"
#include "io/hdf5/catalogue.hpp"

namespace smallbatch {

/// Indices [first, first + count) of one axis.
struct AxisRange {
  std::int64_t first = 0, count = 0;
};

/// "(3, 4)"
std::string shape_text(const std::vector<std::int64_t>& shape);

/// Returns a text quoted for a message. It is cut after 64 bytes, and its control characters are made visible
/// (core/visible_text.hpp).
std::string quoted(const std::string& text);

/// An input file. HDF5 describes its contents (io/hdf5/catalogue.hpp). It does so in a separate process, because some
/// damaged files crash HDF5 (io/hdf5/describer_process.hpp). Numbers are read without HDF5. Any number of threads may
/// use one file at a time.
class InputFile {
 public:
  /// Opens a file. Throws Error(missing_file) if it cannot be opened for reading, and Error(bad_input) if it is no
  /// complete HDF5 file. A large read is shared by `threads` threads (0: one per core).
  explicit InputFile(const std::string& path, unsigned threads = 0);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] const std::string& path() const;
  /// Returns Error(bad_input): "cannot use <object> of <file> (<why>). <remedy>".
  [[nodiscard]] Error error(const std::string& object, const std::string& why, const std::string& remedy) const;

  /// Fetches the descriptions of an object and of the objects at most `depth` levels below it, all at once. Without
  /// this call each object is described when it is needed. A defect is reported when the object is needed.
  void describe(const std::string& object, int depth) const;
  /// Ends the process that describes objects. Call this when no more descriptions are needed soon.
  void end_describing() const;

  /// Returns the kind of the object at an absolute path ("/solve/a/A"). Every link on the path must be hard.
  [[nodiscard]] ObjectKind kind(const std::string& object) const;
  /// Returns the names in a group, sorted, or none if the group does not exist.
  [[nodiscard]] std::vector<std::string> members(const std::string& group) const;

  /// Returns the checked description of a dataset. The reference lives as long as the file.
  [[nodiscard]] const DatasetInfo& dataset(const std::string& object) const;
  /// Throws Error(bad_input) if a dataset takes far more memory than the file has bytes. Its numbers are counted as 8
  /// bytes each. Call this before all of a dataset is read. Only a compressed dataset can be refused here, for example
  /// millions of zeros.
  void check_proportion(const std::string& object) const;
  /// Returns the description of a dataset, which must hold float32 or float64.
  [[nodiscard]] const DatasetInfo& float_dataset(const std::string& object) const;

  /// Returns the number of bytes of a decoded chunk, in the file's type. Returns 0 if the dataset has no chunks.
  [[nodiscard]] std::int64_t chunk_bytes(const std::string& object) const;

  /// Reads elements of `object`: the given ranges of its first axes, and all of the other axes. They are converted to T
  /// by convert_numbers(). T is float, double, int8, uint8, int32, int64 or uint64.
  template <class T>
  void read(const std::string& object, std::initializer_list<AxisRange> leading, T* values) const {
    read(object, leading, values, {});
  }
  /// Function that is called with rows [first, first + count) of the requested rows, if possible while they are in a
  /// cache. A row has all numbers of one index of the leading axes. The function must not throw. Any reading thread may
  /// call it, once for every row.
  using ExamineRows = std::function<void(std::int64_t first, std::int64_t count)>;
  /// Reads the given ranges of the first axes of `object`, and all of the other axes. Calls `examine` for all rows.
  template <class T>
  void read(const std::string& object, std::initializer_list<AxisRange> leading, T* values,
            const ExamineRows& examine) const {
    read_together(leading, {Rows<T>{object, values, examine}});
  }
  /// Reads integers of any type. Throws if a uint64 is too large for int64.
  void read_integers(const std::string& object, std::initializer_list<AxisRange> leading, std::int64_t* values) const;
  /// A dataset, the array for the rows that are read from it, and a function that is called for these rows.
  template <class T>
  struct Rows {
    std::string object;
    T* values = nullptr;
    ExamineRows examine;
  };
  /// Reads the same rows of several datasets. Datasets that are stored in the wanted type are read all at once.
  template <class T>
  void read_together(std::initializer_list<AxisRange> leading, std::initializer_list<Rows<T>> datasets) const;

  /// Returns the fill value that the writer of a dataset declared for unwritten numbers, or nothing if none was
  /// declared. T is double, int64 or uint64.
  template <class T>
  [[nodiscard]] std::optional<T> fill_value(const std::string& object) const;

  /// Returns a dataset of texts along one axis, without the bytes that pad them. Throws if the dataset holds anything
  /// else.
  [[nodiscard]] std::vector<std::string> texts(const std::string& object) const;

  /// Returns the extent of a dataset's stored bytes. Returns nothing if they are not contiguous, or if there are none.
  [[nodiscard]] std::optional<Extent> extent(const std::string& object) const;
  /// Size of the file, in bytes.
  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] int descriptor() const;
  /// Reads any bytes of the file.
  void read_bytes(const Extent& extent, void* bytes) const;

  /// Function that is called before bytes of a contiguous dataset are read, with the dataset and the extent of the
  /// bytes. The function may throw. Any reading thread may call it.
  using BeforeRead = std::function<void(const std::string& object, const Extent& bytes)>;
  /// Calls the function before every later read of a contiguous dataset.
  void set_before_read(BeforeRead function);

  /// Returns the names of an object's attributes, sorted, or none if the object does not exist.
  [[nodiscard]] std::vector<std::string> attributes(const std::string& object) const;

  /// Returns the value of an attribute, or nothing if there is no attribute of that name. A wrong type or size is an
  /// error. Booleans are integers.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(const std::string& object,
                                                                  const std::string& attribute) const;
  [[nodiscard]] std::optional<double> number(const std::string& object, const std::string& attribute) const;
  /// Returns strings of fixed or variable length, in ASCII or UTF-8. There may be at most 64 strings, of at most 4096
  /// bytes each.
  [[nodiscard]] std::optional<std::vector<std::string>> strings(const std::string& object,
                                                                const std::string& attribute) const;
  [[nodiscard]] std::optional<std::string> string(const std::string& object, const std::string& attribute) const;
  /// Returns one string or one number. Returns nothing if the attribute is neither, or cannot be read.
  [[nodiscard]] std::optional<std::variant<std::string, double>> text_or_number(const std::string& object,
                                                                                const std::string& attribute) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Throws if the dataset has another shape. `why` comes first in the message, and says why this shape is expected.
void expect_shape(const InputFile& file, const std::string& dataset, const std::vector<std::int64_t>& shape,
                  const std::string& why = "");

/// Returns the advice for a dataset of a wrong shape, or `otherwise` if the shape suggests none.
std::string remedy_of_shape(const std::vector<std::int64_t>& found, const std::vector<std::int64_t>& expected,
                            const std::string& otherwise);

/// Returns the text, or its beginning and " ..." if it is longer than 4096 bytes.
std::string short_enough(const std::string& text);

/// Throws Error(usage) if [first, first + count) is not within the set's batch.
void expect_range(std::int64_t first, std::int64_t count, std::int64_t batch, const std::string& set);

/// Whether the file has the signature of HDF5. False also if it cannot be opened.
bool is_hdf5(const std::string& path);

}  // namespace smallbatch
