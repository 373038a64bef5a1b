// An HDF5 file that appears whole or not at all. Private to io/.
//
// Metadata carry checksums (file format v110). Datasets are contiguous and allocated when they are created. Strings
// have a fixed length. HDF5 reports a full disk once and then claims success, so the first failure is kept and thrown
// again by every later call. After a failure commit() never renames.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "io/hdf5/input.hpp"
#include "io/integrity/output_file.hpp"
#include "io/output_layout.hpp"

namespace smallbatch {

class Hdf5Output {
 public:
  /// Creates a file. The attribute `kind` of /provenance is "problems" or "results". For a file of another format,
  /// `kind` is empty. The file then gets neither the group nor the attribute. A block is written by `threads` threads
  /// (0: one per core). Throws Error(output).
  Hdf5Output(const std::string& path, bool overwrite, const std::string& kind, unsigned threads = 0);
  /// Creates the file in `output`. With `keeps_numbers` the file is laid out anew, but its datasets keep the numbers of
  /// an earlier process with the same layout.
  Hdf5Output(OutputFile output, bool keeps_numbers, const std::string& kind, unsigned threads);
  /// Writes into a file that another process has created, at the addresses in `layout`. The other process commits.
  explicit Hdf5Output(const OutputLayout& layout);
  ~Hdf5Output();
  Hdf5Output(const Hdf5Output&) = delete;
  Hdf5Output& operator=(const Hdf5Output&) = delete;

  [[nodiscard]] const std::string& path() const;

  /// Creates a dataset. Every element must be written before commit(). Complex numbers are written as numbers of `type`
  /// with an added last axis of 2. An empty shape makes a single number.
  void create(const std::string& dataset, ElementType type, const std::vector<std::int64_t>& shape,
              NumberForm form = NumberForm::plain);
  /// Creates a dataset that may stay unwritten in part. Unwritten elements are `fill` (0 or NaN).
  void create_filled(const std::string& dataset, ElementType type, const std::vector<std::int64_t>& shape, double fill);
  /// Creates and writes a dataset of strings of fixed length. write_text() writes a single string, without axes.
  void write_text(const std::string& dataset, const std::string& text);
  void write_texts(const std::string& dataset, const std::vector<std::string>& texts);
  void write_texts(const std::string& dataset, const std::vector<std::int64_t>& shape,
                   const std::vector<std::string>& texts);
  /// Creates a dataset that has neither shape nor number, as h5py.Empty.
  void write_nothing(const std::string& dataset);
  void create_group(const std::string& group);
  [[nodiscard]] OutputLayout layout() const;
  /// Returns the number of written elements of each dataset. If another process has created the file, the caller passes
  /// these numbers to that process, for others_have_written().
  [[nodiscard]] WrittenElements written() const;
  void others_have_written(const WrittenElements& elements);
  /// Sets whether each later write is recorded, with its hash, for take_written().
  void note_written(bool is_noted = true);
  /// Returns the recorded writes, and forgets them.
  [[nodiscard]] std::vector<WrittenRange> take_written();
  /// Whether the file still has the numbers in `written`, which an earlier process wrote. If so, they count as written.
  [[nodiscard]] bool has_all(const std::vector<WrittenRange>& written);
  /// Sets whether the file stays under its temporary name without commit().
  void keep_unfinished(bool is_kept);
  /// Flushes the file to the disk. A process that does not commit calls this when everything is written. Throws
  /// Error(output).
  void flush();
  /// Begins to allocate the file on the disk, in the background. Call this when everything is created.
  void allocate();

  /// Writes the given ranges of the first axes, and all of the other axes. No element may be written twice. If the
  /// dataset has elements of type T, HDF5 is not called, and another thread may call it meanwhile. T is float, double,
  /// int8, uint8, int32 or int64.
  template <class T>
  void write(const std::string& dataset, std::initializer_list<AxisRange> leading, const T* values);

  /// Writes an attribute of a group or dataset that exists. An attribute of the same name is replaced.
  void attribute(const std::string& object, const std::string& name, const std::string& value);
  void attribute(const std::string& object, const std::string& name, double value);
  void attribute(const std::string& object, const std::string& name, std::int64_t value);
  void attribute(const std::string& object, const std::string& name, const std::vector<double>& values);
  void attribute(const std::string& object, const std::string& name, const std::vector<std::int32_t>& values);
  void attribute(const std::string& object, const std::string& name, const std::vector<std::int64_t>& values);

  /// Sets the names of a dataset's axes, for write_axes(). They become HDF5's dimension scales, which netCDF and xarray
  /// read. If the dataset's group also has a dataset with the name of an axis, that dataset holds the coordinates along
  /// the axis.
  void name_axes(const std::string& dataset, std::vector<std::string> axes);
  /// Writes the names of axes to the file. Call this when all datasets of a set are created.
  void write_axes();

  /// Gives a dataset a second name (hard link). Groups on the path are created.
  void link(const std::string& dataset, const std::string& name);
  /// Creates a virtual dataset that shows dataset[0] without a copy. Its rank is lower by one.
  void show_first(const std::string& dataset, const std::string& name);

  /// Flushes and closes the file, reads back what HDF5 wrote, and lets the file appear under its name.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace smallbatch
