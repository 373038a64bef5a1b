// Answers mirror the names of the problems. The first lattice set is also VTKHDF ImageData: the same bytes under a
// second name, one time step per problem, so that ParaView opens the file as it is. Every axis of every dataset has a
// name, and units are said as netCDF says them, too (`units`), so that xarray opens it as it is. One file, because each
// kind of set takes a few lines.
#include "io/result_writer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "io/format/common.hpp"
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
  std::string path;  ///< the latest: its memory serves very many sets

  /// What is in a group, until the next call.
  const std::string& in(const std::string& group, const char* name) {
    path.assign(group).append("/").append(name);
    return path;
  }

  void set_unit(const std::string& dataset, const std::string& unit) {
    file.attribute(dataset, "unit", unit);
    file.attribute(dataset, "units", unit);
  }

  /// Numbers along an axis of that name.
  template <class T>
  void add_coordinates(const std::string& dataset, const std::vector<T>& values, const std::string& unit) {
    file.create(dataset, element_type_of<T>, {static_cast<std::int64_t>(values.size())});
    file.write(dataset, {}, values.data());
    set_unit(dataset, unit);
  }

  /// Which problem it is, and what it is known by, of a set of charges; `others` have an axis of problems, too.
  void name_problems(const std::string& group, const ChargesOfSet& set, const std::vector<std::string>& others) {
    std::vector<std::int64_t> problem(static_cast<std::size_t>(set.batch));
    std::iota(problem.begin(), problem.end(), 0);
    add_coordinates(group + "/problem", problem, "1");
    std::string known;
    const auto label = [&](const char* name, bool is_known) {
      if (!is_known) return;
      file.name_axes(group + "/" + name, {"problem"});
      known += (known.empty() ? "" : " ") + std::string(name);
    };
    label("name", !set.labels.name.empty());
    label("step", !set.labels.step.empty());
    label("time", !set.labels.time.empty());
    // "days since ..." would be read as dates, which times of a simulation seldom are.
    const bool is_of_dates = set.labels.time_unit.find("since") != std::string::npos;
    if (!set.labels.time.empty() && !set.labels.time_unit.empty() && !is_of_dates) {
      file.attribute(group + "/time", "units", set.labels.time_unit);
    }
    for (const std::string& name : others) {
      file.name_axes(group + "/" + name, {"problem"});
      if (!known.empty()) file.attribute(group + "/" + name, "coordinates", known);
    }
  }

  /// Coordinates of lattices, where all are one; of others the axes have names alone, and origin and spacing say it.
  void place_axes(const std::string& group, const PotentialSet& set) {
    for (const char* name : {"/origin", "/spacing"}) {
      file.attribute(group + name, "units", std::string("angstrom"));
      file.name_axes(group + name, {"problem", "axis"});
    }
    if (!has_one_lattice(set)) return;
    for (std::size_t axis = 0; axis < 3; ++axis)
      add_coordinates(group + "/" + "xyz"[axis], places_along(set, axis), "angstrom");
  }

  /// What is not written later says that nothing was checked.
  void add_verdicts(const std::string& kind, const std::string& set, std::int64_t batch) {
    const std::string group = verification_path(kind, set);
    const std::vector<std::int64_t> shape{batch};
    const auto create = [&](const char* name, ElementType type, double fill) {
      file.create_filled(in(group, name), type, shape, fill);
      file.name_axes(path, {kind == CorrelationSet::kind ? "channel" : "problem"});
    };
    create("verdict", ElementType::int8, static_cast<double>(Verdict::not_checked));
    create("error_over_bound", ElementType::float32, std::numeric_limits<double>::quiet_NaN());
    file.write_axes();
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
  const ElementType type = element_type(set.type);
  const std::int64_t n = set.shape.n;
  const std::vector<std::int64_t> of_each{set.batch};
  const auto create = [&](const char* name, ElementType element, const std::vector<std::int64_t>& shape,
                          std::vector<std::string> axes) {
    impl_->file.create(impl_->in(group, name), element, shape);
    impl_->file.name_axes(impl_->path, std::move(axes));
  };
  if (set.shape.wants_inverse()) {
    create("inverse", type, {set.batch, n, n}, {"problem", "row", "column"});
  } else if (set.shape.nrhs > 0 && set.rhs_is_vector) {
    create("x", type, {set.batch, n}, {"problem", "row"});
  } else if (set.shape.nrhs > 0) {
    create("x", type, {set.batch, n, set.shape.nrhs}, {"problem", "row", "rhs"});
  }
  create("info", ElementType::int32, of_each, {"problem"});
  if (set.shape.has_sizes) create("size", ElementType::int32, of_each, {"problem"});
  if (set.shape.determinant_only) {  // no dataset tells n
    impl_->file.attribute(group, "compute", compute_log_determinant);
    impl_->file.attribute(group, "n", n);
  }
  for_each_spd_number(set.type, [&]<class T, class V>(const SpdNumber<T, V>& number) {
    if (number.is_of(set.shape)) create(number.name, element_type_of<V>, of_each, {"problem"});
  });
  impl_->add_verdicts(SolveSet::kind, set.name, set.batch);
}

template <class T>
void ResultWriter::write(const SolveSet& set, const SpdBlock<T>& block) {
  const std::string group = set_path(set);
  const AxisRange systems{start_of(impl_->starts, group).problem + block.first, block.count};
  const auto write = [&](const char* name, const auto& values) {
    impl_->file.write(impl_->in(group, name), {systems}, values.data());
  };
  if (!set.shape.determinant_only) write(set.shape.wants_inverse() ? "inverse" : "x", block.x);
  write("info", block.info);
  if (set.shape.has_sizes) write("size", block.sizes);
  for_each_spd_number<T>([&](const auto& number) {
    if (number.is_of(set.shape)) write(number.name, block.*number.in_block);
  });
}

void ResultWriter::add(const PotentialSet& set, ScalarType type) {
  const std::string group = set_path(set);
  Hdf5Output& file = impl_->file;
  const auto create = [&](const char* name, ElementType element, const std::vector<std::int64_t>& shape,
                          const std::string& unit) {
    file.create(group + name, element, shape);
    impl_->set_unit(group + name, unit);
  };
  std::vector<std::int64_t> shape{set.batch, set.shape.nz, set.shape.ny, set.shape.nx};
  std::vector<std::string> axes{"problem", "z", "y", "x"};
  if (set.targets != TargetKind::lattice) {
    shape = {set.targets_before(set.batch)};
    axes = {set.targets == TargetKind::points ? "point" : "charge"};
  }
  create("/V", element_type(type), shape, potential_unit_name(set.output_unit));
  shape.push_back(3);
  if (set.has_field) create("/E", element_type(type), shape, field_unit_name(set.output_unit));
  file.name_axes(group + "/V", axes);
  axes.emplace_back("axis");
  if (set.has_field) file.name_axes(group + "/E", axes);
  if (set.has_field || set.targets == TargetKind::lattice) file.write_texts(group + "/axis", {"x", "y", "z"});
  std::vector<std::string> of_problems{"info", "V_min", "V_max", "V_mean"};
  if (set.has_groups) of_problems.emplace_back("energy");
  if (set.has_groups) create("/energy", ElementType::float64, {set.batch}, energy_unit_name(set.output_unit));
  file.create_filled(group + "/info", ElementType::int32, {set.batch}, 0);
  for (const char* name : {"/V_min", "/V_max", "/V_mean"}) {
    file.create_filled(group + name, ElementType::float64, {set.batch}, std::numeric_limits<double>::quiet_NaN());
    impl_->set_unit(group + name, potential_unit_name(set.output_unit));
  }
  if (set.targets != TargetKind::lattice) {
    const bool at_points = set.targets == TargetKind::points;
    const std::string name = group + (at_points ? "/point_offset" : "/offset");
    file.create(name, ElementType::int64, {set.batch + 1});
    file.write(name, {}, (at_points ? set.point_offset : set.offset).data());
    file.name_axes(name, {"boundary"});
  }
  write_potential_attributes(file, set);
  impl_->name_problems(group, set, of_problems);
  if (set.targets == TargetKind::lattice) impl_->place_axes(group, set);
  impl_->add_verdicts(PotentialSet::kind, set.name, set.batch);
  if (!impl_->has_vtkhdf && set.targets == TargetKind::lattice && set.batch > 0) {
    write_vtkhdf(file, set);
    impl_->has_vtkhdf = true;
  }
}

template <class T>
void ResultWriter::write(const PotentialSet& set, const PotentialBlock<T>& block) {
  const std::string group = set_path(set);
  const ShareStart start = start_of(impl_->starts, group);
  const AxisRange problems{start.problem + block.first, block.count}, planes{block.first_plane, block.plane_count};
  const auto write_values = [&](const char* name, const AlignedVector<T>& values) {
    if (set.targets == TargetKind::lattice) {
      impl_->file.write(group + name, {problems, planes}, values.data());
    } else {
      impl_->file.write(group + name, {{start.target + set.targets_before(block.first), block.target_count()}},
                        values.data());
    }
  };
  write_values("/V", block.potential);
  if (set.has_field) write_values("/E", block.field);
  impl_->file.write(group + "/info", {problems}, block.info.data());
  if (set.has_groups && block.first_plane == 0) impl_->file.write(group + "/energy", {problems}, block.energy.data());
}

void ResultWriter::write_statistics(const PotentialSet& set, const PotentialStatistics& statistics) {
  const std::string group = set_path(set);
  const AxisRange problems{start_of(impl_->starts, group).problem, set.batch};
  impl_->file.write(group + "/V_min", {problems}, statistics.lowest.data());
  impl_->file.write(group + "/V_max", {problems}, statistics.highest.data());
  impl_->file.write(group + "/V_mean", {problems}, statistics.mean.data());
}

void ResultWriter::add(const PairEnergySet& set, ScalarType precision) {
  const std::string group = set_path(set), unit = energy_unit_name(set.output_unit);
  Hdf5Output& file = impl_->file;
  file.create(group + "/energy", ElementType::float64, {set.batch});
  impl_->set_unit(group + "/energy", unit);
  file.create(group + "/info", ElementType::int32, {set.batch});
  if (set.per_charge) {
    file.create(group + "/energy_per_charge", ElementType::float64, {set.charges()});
    impl_->set_unit(group + "/energy_per_charge", unit);
    file.name_axes(group + "/energy_per_charge", {"charge"});
    file.create(group + "/offset", ElementType::int64, {set.batch + 1});
    file.write(group + "/offset", {}, set.offset.data());
    file.name_axes(group + "/offset", {"boundary"});
  }
  file.attribute(group, "per_charge", std::int64_t{set.per_charge});
  file.attribute(group, "groups", std::int64_t{set.has_groups});
  file.attribute(group, "precision", precision_name(precision));
  write_charge_attributes(file, group, set);
  impl_->name_problems(group, set, {"energy", "info"});
  impl_->add_verdicts(PairEnergySet::kind, set.name, set.batch);
}

void ResultWriter::write(const PairEnergySet& set, const PairEnergyBlock& block) {
  const std::string group = set_path(set);
  const ShareStart start = start_of(impl_->starts, group);
  const AxisRange problems{start.problem + block.first, block.count};
  impl_->file.write(group + "/energy", {problems}, block.energy.data());
  impl_->file.write(group + "/info", {problems}, block.info.data());
  if (!set.per_charge) return;
  const std::int64_t before = set.offset[static_cast<std::size_t>(block.first)];
  const auto charges = static_cast<std::int64_t>(block.energy_per_charge.size());
  impl_->file.write(group + "/energy_per_charge", {{start.target + before, charges}}, block.energy_per_charge.data());
}

void ResultWriter::add(const CorrelationSet& set) {
  const std::string group = set_path(set), visibility = group + "/visibility";
  Hdf5Output& file = impl_->file;
  const std::vector<std::int64_t> shape{set.integrations(), set.batch, set.baselines()};
  std::vector<std::string> axes{"integration", "channel", "baseline"};
  if (set.visibility() == SumType::complex_float32) {
    file.create(visibility, ElementType::float32, shape, NumberForm::complex);
  } else {
    const bool is_wide = set.visibility() == SumType::complex_int64;
    file.create(visibility, is_wide ? ElementType::int64 : ElementType::int32, {shape[0], shape[1], shape[2], 2});
    axes.emplace_back("part");
  }
  file.create(group + "/weight", ElementType::int32, shape);
  file.create_filled(group + "/info", ElementType::int32, {set.batch}, 0);
  file.name_axes(visibility, axes);
  axes.resize(shape.size());
  file.name_axes(group + "/weight", axes);
  file.name_axes(group + "/info", {"channel"});
  file.attribute(group, "signal", sample_type_name(set.type));
  file.attribute(group, "times", set.times);
  file.attribute(group, "inputs", set.inputs);
  write_correlation_attributes(file, set);
  if (!set.frequency.empty()) {
    file.attribute(group + "/frequency", "units", std::string("Hz"));
    file.name_axes(group + "/frequency", {"channel"});
    for (const std::string& name : {visibility, group + "/weight"}) {
      file.attribute(name, "coordinates", std::string("frequency"));
    }
  }
  if (!set.input_position.empty()) {
    file.attribute(group + "/input_position", "units", std::string("m"));
    file.name_axes(group + "/input_position", {"input", "axis"});
  }
  const ArrayLabels& labels = set.labels;
  if (!labels.antenna.empty()) file.name_axes(group + "/input_antenna", {"input"});
  if (!labels.antenna_name.empty()) file.name_axes(group + "/input_antenna_name", {"input"});
  if (!labels.feed.empty()) file.name_axes(group + "/input_feed", {"input"});
  impl_->add_verdicts(CorrelationSet::kind, set.name, set.batch);
}

void ResultWriter::write(const CorrelationSet& set, const SignalBlock& block) {
  if (block.sum != set.visibility()) {
    throw Error(ErrorKind::usage, "visibilities of set " + quoted(set.name) + " have another type than was declared",
                "expected " + visibility_type_name(set.visibility()) + ", found " + visibility_type_name(block.sum),
                "Convert them before they are written.");
  }
  const std::string group = set_path(set), visibility = group + "/visibility";
  const AxisRange channels{start_of(impl_->starts, group).problem + block.first, block.channels};
  const AxisRange integrations{block.first_time / set.integrate, block.batch().integrations()};
  const std::byte* const values = block.visibility.data();
  switch (block.sum) {
    case SumType::complex_float32:
      impl_->file.write(visibility, {integrations, channels}, reinterpret_cast<const float*>(values));
      break;
    case SumType::complex_int32:
      impl_->file.write(visibility, {integrations, channels}, reinterpret_cast<const std::int32_t*>(values));
      break;
    case SumType::complex_int64:
      impl_->file.write(visibility, {integrations, channels}, reinterpret_cast<const std::int64_t*>(values));
      break;
  }
  impl_->file.write(group + "/weight", {integrations, channels}, block.weight.data());
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
