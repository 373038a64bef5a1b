// Sets of results have the names of the sets of problems. The first lattice set is also VTKHDF ImageData: the same
// bytes under a second name, with one time step per problem. ParaView therefore opens the file as it is. Every axis of
// every dataset has a name, and units are also given in netCDF's attribute `units`. xarray therefore opens the file as
// it is. One file, because each kind of set takes a few lines.
#include "io/result_writer.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "io/format/common.hpp"
#include "io/format/result_tables.hpp"
#include "io/format/vtkhdf.hpp"
#include "io/hdf5/output.hpp"
#include "io/integrity/row_hashes.hpp"
#include "io/interchange/uvh5.hpp"
#include "io/interchange/uvh5_rows.hpp"

namespace smallbatch {
struct ResultWriter::Impl {
  Hdf5Output file;
  bool has_vtkhdf = false;
  ShareStarts starts;
  std::string path;  ///< the path that was made last; its memory is reused

  /// Returns the path of a member of a group, valid until the next call.
  const std::string& in(const std::string& group, std::string_view name) {
    path.assign(group).append("/").append(name);
    return path;
  }

  void set_unit(const std::string& dataset, const std::string& unit) {
    file.attribute(dataset, "unit", unit);
    file.attribute(dataset, "units", unit);
  }

  /// Adds a dataset of the coordinates along an axis. The axis has the name of this dataset.
  template <class T>
  void add_coordinates(const std::string& dataset, const std::vector<T>& values, const std::string& unit) {
    file.create(dataset, element_type_of<T>, {static_cast<std::int64_t>(values.size())});
    file.write(dataset, {}, values.data());
    set_unit(dataset, unit);
  }

  /// Creates the datasets of a table and names their axes. A dataset with the name of its only axis needs no names.
  void add(const std::string& group, const ResultTable& table) {
    static const std::map<std::string_view, ElementType> types{{"int8", ElementType::int8},
                                                               {"int32", ElementType::int32},
                                                               {"int64", ElementType::int64},
                                                               {"float32", ElementType::float32},
                                                               {"float64", ElementType::float64}};
    for (const ResultRow& row : table) {
      in(group, row.name);
      std::vector<std::string> names;
      for (const ResultAxis& axis : row.axes) names.push_back(axis.name);
      if (names != std::vector{row.name}) file.name_axes(path, names);
      if (row.name == "axis") file.write_texts(path, {"x", "y", "z"});
      if (row.created == Created::apart) continue;
      const bool is_complex = row.type.starts_with("compound"), is_float = row.type.starts_with("float");
      const ElementType type = is_complex ? ElementType::float32 : types.at(row.type);
      if (row.created == Created::filled)
        file.create_filled(path, type, shape_of(row), is_float ? std::numeric_limits<double>::quiet_NaN() : 0);
      else
        file.create(path, type, shape_of(row), is_complex ? NumberForm::complex : NumberForm::plain);
      if (!row.unit.empty()) set_unit(path, row.unit);
    }
  }

  /// Writes the indices of the problems, and netCDF's attributes `units` and `coordinates`.
  void add_labels(const std::string& group, const ResultTable& table) {
    if (const ResultRow* const row = find_row(table, "problem")) {
      std::vector<std::int64_t> problem(static_cast<std::size_t>(row->axes[0].length));
      std::iota(problem.begin(), problem.end(), 0);
      add_coordinates(group + "/problem", problem, row->unit);
    }
    const auto say = [&](const ResultRow& row, const char* attribute, const std::string& text) {
      if (!text.empty()) file.attribute(in(group, row.name), attribute, text);
    };
    // The bytes of the file depend on this order.
    for (const auto& [created, rank] :
         {std::pair{Created::apart, 1U}, {Created::filled, 0U}, {Created::empty, 0U}, {Created::apart, 2U}})
      for (const ResultRow& row : table)
        if (row.created == created && (rank == 0 || rank == row.axes.size()))
          created == Created::apart ? say(row, "units", row.name == row.axes[0].name ? "" : row.unit)
                                    : say(row, "coordinates", row.coordinates);
  }

  /// Creates the verdicts. Their initial value means "not checked".
  void add_verdicts(const std::string& kind, const std::string& set, std::int64_t batch) {
    add(verification_path(kind, set), verdict_table(kind, batch));
    file.write_axes();
  }

  /// Writes a block's part of a set's datasets.
  template <class Set, class Block>
  void write(const Set& set, const Block& block) {
    const std::string group = set_path(set);
    const ResultTable table = result_table(set);
    for_each_part(set, block, start_of(starts, group),
                  [&](const char* name, std::initializer_list<AxisRange> ranges, const auto& values) {
                    if (find_row(table, name)) file.write(in(group, name), ranges, values.data());
                  });
  }
};

ResultWriter::ResultWriter(const std::string& path, bool overwrite, unsigned threads)
    : impl_(new Impl{Hdf5Output(path, overwrite, "results", threads), false, {}, {}}) {}
ResultWriter::ResultWriter(OutputFile output, bool keeps_numbers, unsigned threads)
    : impl_(new Impl{Hdf5Output(std::move(output), keeps_numbers, "results", threads), false, {}, {}}) {}
ResultWriter::ResultWriter(const OutputLayout& layout) : impl_(new Impl{Hdf5Output(layout), false, {}, {}}) {}
OutputLayout ResultWriter::layout() const { return impl_->file.layout(); }
void ResultWriter::flush() { impl_->file.flush(); }
WrittenElements ResultWriter::written() const { return impl_->file.written(); }
void ResultWriter::others_have_written(const WrittenElements& elements) { impl_->file.others_have_written(elements); }
void ResultWriter::note_written(bool is_noted) { impl_->file.note_written(is_noted); }
std::vector<WrittenRange> ResultWriter::take_written() { return impl_->file.take_written(); }
bool ResultWriter::has_all(const std::vector<WrittenRange>& written) { return impl_->file.has_all(written); }
void ResultWriter::keep_unfinished(bool is_kept) { impl_->file.keep_unfinished(is_kept); }
ShareStarts& ResultWriter::starts() { return impl_->starts; }
ResultWriter::~ResultWriter() = default;
ResultWriter::ResultWriter(ResultWriter&&) noexcept = default;

void ResultWriter::add(const SolveSet& set) {
  const std::string group = set_path(set);
  const ResultTable table = result_table(set);
  // The bytes of the file depend on this order.
  const auto numbers = std::ranges::find(table, "rcond", &ResultRow::name);
  impl_->add(group, {table.begin(), numbers});
  if (set.shape.determinant_only) {  // n follows from no dataset
    impl_->file.attribute(group, "compute", compute_log_determinant);
    impl_->file.attribute(group, "n", std::int64_t{set.shape.n});
  }
  impl_->add(group, {numbers, table.end()});
  impl_->add_verdicts(SolveSet::kind, set.name, set.batch);
}

template <class T>
void ResultWriter::write(const SolveSet& set, const SpdBlock<T>& block) {
  impl_->write(set, block);
}

void ResultWriter::add(const PotentialSet& set, ScalarType type) {
  const std::string group = set_path(set);
  Hdf5Output& file = impl_->file;
  const bool on_lattice = set.targets == TargetKind::lattice, at_points = set.targets == TargetKind::points;
  const ResultTable table = result_table(set, type);
  impl_->add(group, table);
  if (!on_lattice)
    file.write(group + (at_points ? "/point_offset" : "/offset"), {},
               (at_points ? set.point_offset : set.offset).data());
  write_potential_attributes(file, set);
  impl_->add_labels(group, table);
  for (std::size_t axis = 0; axis < 3 && on_lattice && has_one_lattice(set); ++axis)
    impl_->add_coordinates(group + "/" + "xyz"[axis], coordinates_along(set, axis), "angstrom");
  impl_->add_verdicts(PotentialSet::kind, set.name, set.batch);
  if (!impl_->has_vtkhdf && on_lattice && set.batch > 0) {
    write_vtkhdf(file, set);
    impl_->has_vtkhdf = true;
  }
}

template <class T>
void ResultWriter::write(const PotentialSet& set, const PotentialBlock<T>& block) {
  impl_->write(set, block);
}

void ResultWriter::write_statistics(const PotentialSet& set, const PotentialStatistics& statistics) {
  const std::string group = set_path(set);
  const AxisRange problems{start_of(impl_->starts, group).problem, set.batch};
  for (const auto& [name, values] : statistics_of_v)
    impl_->file.write(impl_->in(group, name), {problems}, (statistics.*values).data());
}

void ResultWriter::add(const PairEnergySet& set, ScalarType precision) {
  const std::string group = set_path(set);
  Hdf5Output& file = impl_->file;
  const ResultTable table = result_table(set);
  impl_->add(group, table);
  if (set.per_charge) file.write(group + "/offset", {}, set.offset.data());
  file.attribute(group, "per_charge", std::int64_t{set.per_charge});
  file.attribute(group, "groups", std::int64_t{set.has_groups});
  file.attribute(group, "precision", precision_name(precision));
  write_charge_attributes(file, group, set);
  impl_->add_labels(group, table);
  impl_->add_verdicts(PairEnergySet::kind, set.name, set.batch);
}

void ResultWriter::write(const PairEnergySet& set, const PairEnergyBlock& block) { impl_->write(set, block); }

void ResultWriter::add(const CorrelationSet& set) {
  const std::string group = set_path(set);
  Hdf5Output& file = impl_->file;
  const ResultTable table = result_table(set);
  impl_->add(group, table);
  file.attribute(group, "signal", sample_type_name(set.type));
  file.attribute(group, "times", set.times);
  file.attribute(group, "inputs", set.inputs);
  write_correlation_attributes(file, set);
  impl_->add_labels(group, table);
  impl_->add_verdicts(CorrelationSet::kind, set.name, set.batch);
}

void ResultWriter::write(const CorrelationSet& set, const SignalBlock& block) {
  if (block.sum != set.visibility()) {
    throw Error(ErrorKind::usage, "visibilities of set " + quoted(set.name) + " have another type than was declared",
                "expected " + visibility_type_name(set.visibility()) + ", found " + visibility_type_name(block.sum),
                "Convert them before they are written.");
  }
  impl_->write(set, block);
}

std::vector<std::string> ResultWriter::keep(const CorrelationSet& set, const Uvh5File& file) {
  return file.copy_to(impl_->file, uvh5_group(set.name));
}

void ResultWriter::write_info(const CorrelationSet& set, std::int64_t first, ArrayView<std::int32_t> info) {
  const std::string group = set_path(set);
  const AxisRange channels{start_of(impl_->starts, group).problem + first, static_cast<std::int64_t>(info.size())};
  impl_->file.write(group + "/info", {channels}, info.data());
}

void ResultWriter::write_verdicts(const std::string& kind, const std::string& set, std::int64_t first,
                                  ArrayView<Verdict> verdict, ArrayView<float> error_over_bound) {
  const std::string group = verification_path(kind, set);
  const std::int64_t start = start_of(impl_->starts, "/" + kind + "/" + set).problem;
  const AxisRange problems{start + first, static_cast<std::int64_t>(verdict.size())};
  impl_->file.write(impl_->in(group, "verdict"), {problems}, reinterpret_cast<const std::int8_t*>(verdict.data()));
  impl_->file.write(impl_->in(group, "error_over_bound"), {problems}, error_over_bound.data());
}

void ResultWriter::write_summary(const std::string& kind, const std::string& set, const VerificationSummary& summary) {
  const std::string group = verification_path(kind, set);
  impl_->file.attribute(group, "criterion", summary.criterion);
  impl_->file.attribute(group, "checked", summary.checked);
  impl_->file.attribute(group, "agreed", summary.agreed);
  impl_->file.attribute(group, "disagreed", summary.disagreed);
  impl_->file.attribute(group, "worst_error_over_bound", summary.worst_error_over_bound);
  impl_->file.attribute(group, "worst_index", summary.worst_index);
}

template void ResultWriter::write(const SolveSet&, const SpdBlock<float>&);
template void ResultWriter::write(const SolveSet&, const SpdBlock<double>&);
template void ResultWriter::write(const PotentialSet&, const PotentialBlock<float>&);
template void ResultWriter::write(const PotentialSet&, const PotentialBlock<double>&);

void ResultWriter::write_work(const std::string& kind, const std::string& set, const WorkOfSet& work) {
  const std::string group = work_path(kind, set);
  impl_->file.create_group(group);
  impl_->file.attribute(group, "compute_seconds", work.compute_seconds);
  impl_->file.attribute(group, "work", work.amount);
  impl_->file.attribute(group, "values_checked", work.values_checked);
}

void ResultWriter::write_problems_hash(const std::string& kind, const std::string& set, std::uint64_t hash) {
  const std::string group = work_path(kind, set);
  impl_->file.create_group(group);
  impl_->file.attribute(group, "problems_hash", problems_hash_text(hash));
}

void ResultWriter::provenance(const std::string& key, const std::string& value) {
  impl_->file.attribute("/provenance", key, short_enough(value));
}

void ResultWriter::provenance(const std::string& key, double value) {
  impl_->file.attribute("/provenance", key, value);
}

void ResultWriter::allocate() { impl_->file.allocate(); }

void ResultWriter::commit() { impl_->file.commit(); }

}  // namespace smallbatch
