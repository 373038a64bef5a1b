// An HDF5 file that appears whole or not at all. Private to io/.
//
// Metadata carry checksums (file format v110), datasets are contiguous and allocated when they are created, strings
// have a fixed length. HDF5 reports a full disk once and then claims success, so the first failure is kept and thrown
// again by every later call; commit() never renames after one.
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
  /// `kind`, "problems" or "results", is what /provenance says of the file; empty in a file of another format.
  /// `threads` share the writing of a block; 0: one per core. Throws Error(output).
  Hdf5Output(const std::string& path, bool overwrite, const std::string& kind, unsigned threads = 0);
  /// The same, into `output`. Where it `keeps_numbers`, the file is laid out anew, and what its datasets hold, from a
  /// process that laid it out alike, is left as it is.
  Hdf5Output(OutputFile output, bool keeps_numbers, const std::string& kind, unsigned threads);
  /// Writes into a file that another process has made, at these places; that one commits.
  explicit Hdf5Output(const OutputLayout& layout);
  ~Hdf5Output();
  Hdf5Output(const Hdf5Output&) = delete;
  Hdf5Output& operator=(const Hdf5Output&) = delete;

  [[nodiscard]] const std::string& path() const;

  /// A dataset whose every element will be written before commit(); one of complex numbers as numbers of `type` with a
  /// last axis of 2. No shape makes a single number.
  void create(const std::string& dataset, ElementType type, const std::vector<std::int64_t>& shape,
              NumberForm form = NumberForm::plain);
  /// A dataset that may stay unwritten in part: those elements are `fill` (0 or NaN).
  void create_filled(const std::string& dataset, ElementType type, const std::vector<std::int64_t>& shape, double fill);
  /// A dataset of strings of fixed length, written at once; of one text without a shape.
  void write_text(const std::string& dataset, const std::string& text);
  void write_texts(const std::string& dataset, const std::vector<std::string>& texts);
  void write_texts(const std::string& dataset, const std::vector<std::int64_t>& shape,
                   const std::vector<std::string>& texts);
  /// A dataset that has neither a shape nor a number, as h5py.Empty.
  void write_nothing(const std::string& dataset);
  void create_group(const std::string& group);
  [[nodiscard]] OutputLayout layout() const;
  /// What a process that did not make the file has written into it; and, told the one that made it, what of what was
  /// created is no longer missing.
  [[nodiscard]] WrittenElements written() const;
  void others_have_written(const WrittenElements& elements);
  /// From now on what is written is noted, with its hash, for who calls take_written().
  void note_written(bool is_noted = true);
  [[nodiscard]] std::vector<WrittenRange> take_written();
  /// Whether the file has what a process that ended before wrote there; all of it then counts as written.
  [[nodiscard]] bool has_all(const std::vector<WrittenRange>& written);
  /// Whether the file stays, under its temporary name, without commit().
  void keep_unfinished(bool is_kept);
  /// Once everything is written, where another process commits: it is on the disk. Throws Error(output).
  void flush();
  /// Once everything is created: lets the disk be allocated beside what is done next.
  void allocate();

  /// Writes the given ranges of the first axes, all of the others; T as in InputFile::read. No element twice. Where the
  /// dataset has elements of type T, this is done without HDF5, which another thread may call meanwhile.
  template <class T>
  void write(const std::string& dataset, std::initializer_list<AxisRange> leading, const T* values);

  /// Attributes of a group or dataset that exists; one by that name is replaced.
  void attribute(const std::string& object, const std::string& name, const std::string& value);
  void attribute(const std::string& object, const std::string& name, double value);
  void attribute(const std::string& object, const std::string& name, std::int64_t value);
  void attribute(const std::string& object, const std::string& name, const std::vector<double>& values);
  void attribute(const std::string& object, const std::string& name, const std::vector<std::int32_t>& values);
  void attribute(const std::string& object, const std::string& name, const std::vector<std::int64_t>& values);

  /// What the axes of a dataset of a set are called, as HDF5's dimension scales, by which netCDF and xarray know it:
  /// names of datasets in the same group, the coordinates along them, or names alone.
  void name_axes(const std::string& dataset, std::vector<std::string> axes);
  /// Once all of a set's datasets are created: names their axes in the file.
  void write_axes();

  /// A second name (hard link) for a dataset; the groups on the way are created.
  void link(const std::string& dataset, const std::string& name);
  /// A virtual dataset that shows dataset[0], one rank lower, without a copy.
  void show_first(const std::string& dataset, const std::string& name);

  /// Flushes, closes, reads the file's structure back, and lets it appear under its name.
  void commit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace smallbatch
