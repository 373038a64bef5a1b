// An HDF5 file from a stranger, opened read-only and believed in nothing. Private to io/.
//
// What is refused, by name: links that are not hard (soft, external, user-defined), external storage, virtual datasets,
// filters other than shuffle, deflate, LZF, Zstandard and fletcher32, chunks that come out with other bytes than they
// declare, variable-length data in datasets, types other than those of the standards, datasets that were never written,
// and datasets that declare more bytes than the file can hold. A declared size is compared with the
// stored bytes before anybody allocates memory for it, a byte that is not in the file when it is read is an error, and
// so is a file that changes meanwhile.
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

/// Quoted for a message, cut after 64 bytes, and with nothing in it that is obeyed (core/visible_text.hpp).
std::string quoted(const std::string& text);

/// What a file holds is asked of HDF5 (io/hdf5/catalogue.hpp), which some damaged files crash, in a process of its own
/// (io/hdf5/describer_process.hpp); its numbers are read without.
/// Any number of threads may use one file at a time.
class InputFile {
 public:
  /// Throws Error: missing_file where the file cannot be opened for reading, bad_input where it is no whole HDF5 file.
  /// `threads` read large pieces of it; 0: one per core.
  explicit InputFile(const std::string& path, unsigned threads = 0);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] const std::string& path() const;
  /// Error(bad_input): "cannot use <object> of <file> (<why>). <remedy>".
  [[nodiscard]] Error error(const std::string& object, const std::string& why, const std::string& remedy) const;

  /// Asks at once for all that is at an absolute path, and below it down to `depth`, where otherwise each object is
  /// asked for when it is needed. What is wrong there is told when it is needed.
  void describe(const std::string& object, int depth) const;
  /// Nothing more will be asked for soon: ends the process that was asked.
  void end_describing() const;

  /// What lies at an absolute path ("/solve/a/A"); every link on the way must be hard.
  [[nodiscard]] ObjectKind kind(const std::string& object) const;
  /// The names in a group, sorted. Empty where the group does not exist.
  [[nodiscard]] std::vector<std::string> members(const std::string& group) const;

  /// A dataset, checked. The reference lives as long as the file.
  [[nodiscard]] const DatasetInfo& dataset(const std::string& object) const;
  /// The same, and it must hold float32 or float64.
  /// Throws bad_input where a dataset, as numbers of 8 bytes, takes memory out of proportion to the file: to be called
  /// before all of it is read. Nothing but compression does that, of zeros.
  void check_proportion(const std::string& object) const;
  [[nodiscard]] const DatasetInfo& float_dataset(const std::string& object) const;

  /// Of the chunks that a dataset is stored in, as numbers in the file; 0 where it lies in one piece.
  [[nodiscard]] std::int64_t chunk_bytes(const std::string& object) const;

  /// Elements of `object`: the given ranges of its first axes, all of the others, converted to T (float, double,
  /// int8, uint8, int32, int64 or uint64) as convert_numbers() does.
  template <class T>
  void read(const std::string& object, std::initializer_list<AxisRange> leading, T* values) const {
    read(object, leading, values, {});
  }
  /// The same, and what was read is looked at, if possible while it is in a cache: rows [first, first + count) of those
  /// that were asked for, a row being all numbers of one index of the leading axes. May not throw, and is called by as
  /// many threads as read; every row is looked at once.
  using LookAtRows = std::function<void(std::int64_t first, std::int64_t count)>;
  template <class T>
  void read(const std::string& object, std::initializer_list<AxisRange> leading, T* values,
            const LookAtRows& look) const {
    read_together(leading, {Rows<T>{object, values, look}});
  }
  /// Integers of any type. Throws where one, of uint64, is beyond int64.
  void read_integers(const std::string& object, std::initializer_list<AxisRange> leading, std::int64_t* values) const;
  /// Of several datasets the same rows: as far as they are stored as they are wanted, all at once.
  template <class T>
  struct Rows {
    std::string object;
    T* values = nullptr;
    LookAtRows look;
  };
  template <class T>
  void read_together(std::initializer_list<AxisRange> leading, std::initializer_list<Rows<T>> datasets) const;

  /// What the writer of a dataset of numbers named as the one that nobody has written; nothing where it named none. T
  /// is as in read().
  template <class T>
  [[nodiscard]] std::optional<T> fill_value(const std::string& object) const;

  /// A dataset of texts along one axis, each without what pads it. Throws where it holds anything else.
  [[nodiscard]] std::vector<std::string> texts(const std::string& object) const;

  /// Where all bytes of a dataset lie, as they are stored; nothing where they are not in one piece, or there are none.
  [[nodiscard]] std::optional<Extent> extent(const std::string& object) const;
  /// Of the file.
  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] int descriptor() const;
  /// Bytes of the file, whatever they are.
  void read_bytes(const Extent& extent, void* bytes) const;

  /// From now on `look` is called with what is about to be read: a dataset in one piece, and where in the file its
  /// bytes are. It may throw, and is called by as many threads as read.
  using LookAtRead = std::function<void(const std::string& object, const Extent& bytes)>;
  void before_reading(LookAtRead look);

  /// The names of an object's attributes, sorted. Empty where the object does not exist.
  [[nodiscard]] std::vector<std::string> attributes(const std::string& object) const;

  /// Attributes; nothing where there is none by that name. The wrong type or size is an error; Booleans are integers.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> integers(const std::string& object,
                                                                  const std::string& attribute) const;
  [[nodiscard]] std::optional<double> number(const std::string& object, const std::string& attribute) const;
  /// Fixed or variable length, ASCII or UTF-8, at most 4096 bytes, at most 64 strings.
  [[nodiscard]] std::optional<std::vector<std::string>> strings(const std::string& object,
                                                                const std::string& attribute) const;
  [[nodiscard]] std::optional<std::string> string(const std::string& object, const std::string& attribute) const;
  /// Nothing, too, where it is neither one string nor one number, or cannot be read.
  [[nodiscard]] std::optional<std::variant<std::string, double>> text_or_number(const std::string& object,
                                                                                const std::string& attribute) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Throws where the dataset has another shape. `why` says in the message what asks for it.
void expect_shape(const InputFile& file, const std::string& dataset, const std::vector<std::int64_t>& shape,
                  const std::string& why = "");

/// The advice for a dataset of a wrong shape; `otherwise` where the shape does not tell.
std::string remedy_of_shape(const std::vector<std::int64_t>& found, const std::vector<std::int64_t>& expected,
                            const std::string& otherwise);

/// The first 4096 bytes of a text about a file's origin.
std::string short_enough(const std::string& text);

/// Throws Error(usage) where [first, first + count) is not within the set's batch.
void expect_range(std::int64_t first, std::int64_t count, std::int64_t batch, const std::string& set);

/// Whether the file says that it is HDF5; false also where it cannot be opened.
bool is_hdf5(const std::string& path);

}  // namespace smallbatch
