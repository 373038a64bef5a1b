// Opening walks the groups of all kinds and checks what they declare; reading moves numbers and converts units. One
// file, because what opening a set has checked is what reading it relies on.
#include "io/problem_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "io/h5md.hpp"
#include "io/hdf5_format.hpp"
#include "io/hdf5_input.hpp"
#include "io/hdf5_units.hpp"
#include "io/known_names.hpp"

namespace smallbatch {
namespace {

/// What io/FORMAT.md names of a set: attributes of its group; datasets, and their attributes.
struct KnownNames {
  std::vector<std::string> attributes;
  std::map<std::string, std::vector<std::string>> datasets;
};

const KnownNames solve_names{{"uplo", "compute"}, {{"A", {}}, {"b", {}}}};
const KnownNames potential_names{
    {"targets", "shape", "field", "softening", "cutoff", "dielectric", "output_unit", "temperature", "particles"},
    {{"position", {"unit"}},
     {"charge", {"unit"}},
     {"offset", {}},
     {"origin", {"unit"}},
     {"spacing", {"unit"}},
     {"points", {"unit"}},
     {"point_offset", {}},
     {"group", {}}}};

/// Where a potential set's charges and points come from.
struct ChargeSource {
  double unit_in_angstrom = 1, charge_unit_in_e = 1, point_unit_in_angstrom = 1;
  std::optional<H5mdParticles> particles;
};

/// n with n(n+1)/2 = packed, or 0.
std::int64_t triangular_root(std::int64_t packed) {
  for (std::int64_t n = 1; n <= max_system_size; ++n)
    if (n * (n + 1) / 2 == packed) return n;
  return 0;
}

/// Fills `values` with copies of its first `length`.
template <class Values>
void repeat(Values& values, std::size_t length) {
  for (std::size_t i = length; i < values.size(); ++i) values[i] = values[i - length];
}

}  // namespace

struct ProblemReader::Impl {
  Impl(const std::string& path, unsigned threads) : file(path, threads) {}

  InputFile file;
  ProblemSets sets;
  std::vector<std::string> warnings;
  std::vector<std::string> without_unit;  ///< positions
  std::vector<std::string> notes;
  std::map<std::string, ChargeSource> sources;
  ShareStarts starts;     ///< of sets that are shares
  bool is_newer = false;  ///< of a newer minor version, which may name what this one does not

  /// What nobody would look at is refused: a unit under another name would be no unit.
  void check_attributes(const std::string& object, const std::vector<std::string>& known) {
    for (const std::string& unknown : unknown_attributes(file, object, known)) {
      if (!is_newer) {
        throw file.error(object, unknown, "Correct its name or remove it; FORMAT.md lists the attributes.");
      }
      warnings.push_back(object + " of " + file.path() + ": " + unknown + ", and not read.");
    }
  }

  /// Refuses unknown attributes, and datasets that probably should be the known ones that are missing.
  void check_names(const std::string& group, const KnownNames& known) {
    check_attributes(group, known.attributes);
    const std::vector<std::string> members = file.members(group);
    std::vector<std::string> missing;
    for (const auto& [name, attributes] : known.datasets) {
      if (std::ranges::find(members, name) == members.end()) {
        missing.push_back(name);
      } else {
        check_attributes(group + "/" + name, attributes);
      }
    }
    for (const std::string& name : members) {
      const auto meant = known.datasets.contains(name) || is_newer ? std::nullopt : nearest_name(name, missing);
      if (meant) {
        throw file.error(group, "its dataset " + quoted(name) + " is unknown: did you mean " + quoted(*meant) + "?",
                         "Correct its name or move it elsewhere.");
      }
    }
  }

  void warn_of_unused(const std::string& group, const std::vector<std::string>& used) {
    for (const std::string& name : file.members(group)) {
      if (std::ranges::find(used, name) == used.end()) {
        warnings.push_back(printable(group + "/" + name) + " of " + file.path() + " is not used.");
      }
    }
  }

  /// Which triangle of dense matrices is looked at.
  void read_uplo(const std::string& group, SpdShape& shape) const {
    const auto uplo = file.string(group, "uplo");
    if (!uplo) return;
    const std::string found = "expected " + quoted(uplo_lower) + ", found " + quoted(*uplo);
    if (*uplo == "upper") {
      throw file.error(group + "@uplo", found,
                       "Store the transposes, numpy.swapaxes(A, 1, 2): their lower triangles are these upper ones.");
    }
    if (*uplo != uplo_lower) {
      throw file.error(group + "@uplo", found, "Remove the attribute where both triangles are filled.");
    }
    if (shape.storage != Storage::dense) {
      throw file.error(group + "@uplo", "expected a dense A, found packed triangles",
                       "Remove the attribute: packed triangles are lower ones.");
    }
    shape.storage = Storage::dense_lower;
  }

  /// What is wanted of a set other than x or the inverse.
  void read_compute(const std::string& group, SpdShape& shape) const {
    const auto compute = file.string(group, "compute");
    if (!compute) return;
    if (*compute != compute_log_determinant) {
      throw file.error(group + "@compute",
                       "expected " + quoted(compute_log_determinant) + ", found " + quoted(*compute),
                       "Remove the attribute to get solutions, or the inverse where there is no b.");
    }
    shape.determinant_only = true;
  }

  void open_set(SolveSet& set) {
    const std::string group = set_path(set), a = group + "/A", b = group + "/b";
    check_names(group, solve_names);
    const DatasetInfo& matrices = file.float_dataset(a);
    set.type = scalar_type(matrices.type);
    const auto& shape = matrices.shape;
    const std::string expected =
        "expected shape (batch, n, n) or (batch, n(n+1)/2) with 1 <= n <= " + std::to_string(max_system_size) +
        ", found " + shape_text(shape);
    std::int64_t n = 0;
    if (shape.size() == 3 && shape[1] == shape[2]) {
      n = shape[1];
      set.shape.storage = Storage::dense;
    } else if (shape.size() == 2) {
      n = triangular_root(shape[1]);
      set.shape.storage = Storage::packed_lower;
    }
    if (n < 1 || n > max_system_size) {
      throw file.error(a, expected, "Store square matrices, or lower triangles packed by rows.");
    }
    set.shape.n = static_cast<int>(n);
    set.batch = shape[0];
    set.chunk_bytes = file.chunk_bytes(a);
    read_uplo(group, set.shape);
    read_compute(group, set.shape);

    set.shape.nrhs = 0;
    if (file.kind(b) != ObjectKind::none) {
      if (set.shape.determinant_only) {
        throw file.error(b, "the attribute compute of its set asks for ln det A alone, which needs no right-hand side",
                         "Remove b, or the attribute to get the solutions.");
      }
      const DatasetInfo& rhs = file.float_dataset(b);
      if (rhs.type != matrices.type) {
        throw file.error(b, "expected " + matrices.type_name + " as A has, found " + rhs.type_name,
                         "Store A and b in one type.");
      }
      set.rhs_is_vector = rhs.shape.size() == 2;
      const bool fits =
          (rhs.shape.size() == 2 || rhs.shape.size() == 3) && rhs.shape[0] == set.batch && rhs.shape[1] == n &&
          (set.rhs_is_vector || (rhs.shape[2] >= 1 && rhs.shape[2] <= std::numeric_limits<int>::max() / n));
      if (!fits) {
        throw file.error(b,
                         "expected shape " + shape_text({set.batch, n}) + " or (" + std::to_string(set.batch) + ", " +
                             std::to_string(n) + ", nrhs), found " + shape_text(rhs.shape),
                         "Store one right-hand side, or nrhs columns, per matrix of A.");
      }
      set.shape.nrhs = set.rhs_is_vector ? 1 : static_cast<int>(rhs.shape[2]);
    }
    warn_of_unused(group, {"A", "b"});
  }

  void open_particles(PotentialSet& set, ChargeSource& source) {
    const std::string group = set_path(set);
    for (const char* name : {"/position", "/charge", "/offset"}) {
      if (file.kind(group + name) != ObjectKind::none) {
        throw file.error(group + name, "the attribute particles already says where the charges are",
                         "Remove the dataset or the attribute.");
      }
    }
    source.particles.emplace(file, set.particles);
    set.type = source.particles->type();
    set.batch = source.particles->frames();
    set.offset.resize(static_cast<std::size_t>(set.batch) + 1);
    for (std::size_t i = 0; i < set.offset.size(); ++i) {
      set.offset[i] = static_cast<std::int64_t>(i) * source.particles->charges_per_frame();
    }
    source.unit_in_angstrom = source.particles->unit_in_angstrom();
    const auto& of_particles = source.particles->warnings();
    warnings.insert(warnings.end(), of_particles.begin(), of_particles.end());
  }

  void open_charges(PotentialSet& set, ChargeSource& source) {
    const std::string group = set_path(set), position = group + "/position", charge = group + "/charge";
    const DatasetInfo& positions = file.float_dataset(position);
    if (positions.shape.size() != 2 || positions.shape[1] != 3) {
      throw file.error(position, "expected shape (charges, 3), found " + shape_text(positions.shape),
                       "Store x, y and z of every charge.");
    }
    const DatasetInfo& charges = file.float_dataset(charge);
    if (charges.type != positions.type) {
      throw file.error(charge, "expected " + positions.type_name + " as position has, found " + charges.type_name,
                       "Store position and charge in one type.");
    }
    expect_shape(file, charge, {positions.shape[0]});
    set.type = scalar_type(positions.type);
    set.offset = {0, positions.shape[0]};
    if (const std::string offset = group + "/offset"; file.kind(offset) != ObjectKind::none) {
      set.offset = read_offset(file, offset, positions.shape[0], "charges");
    }
    set.batch = static_cast<std::int64_t>(set.offset.size()) - 1;
    const auto unit = length_unit(file, position);
    if (!unit) without_unit.push_back(position);
    source.unit_in_angstrom = unit.value_or(1);
    source.charge_unit_in_e = charge_unit(file, charge).value_or(1);
  }

  /// The points, where V is wanted at points; without offsets every problem has all of them.
  void open_points(PotentialSet& set, ChargeSource& source) const {
    const std::string group = set_path(set), point = group + "/points", offset = group + "/point_offset";
    const DatasetInfo& points = file.float_dataset(point);
    if (points.shape.size() != 2 || points.shape[1] != 3) {
      throw file.error(point, "expected shape (points, 3), found " + shape_text(points.shape),
                       "Store x, y and z of every point.");
    }
    source.point_unit_in_angstrom = length_unit(file, point).value_or(source.unit_in_angstrom);
    const std::int64_t total = points.shape[0];
    set.has_shared_points = file.kind(offset) == ObjectKind::none;
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(4 * static_cast<std::int64_t>(sizeof(double)) * set.batch,
                               set.has_shared_points ? total : 1, &bytes)) {
      throw file.error(point,
                       "the potentials of " + std::to_string(set.batch) + " problems at " + std::to_string(total) +
                           " points each are more bytes than a file can hold",
                       "Store fewer points, or each problem's own with point_offset.");
    }
    if (!set.has_shared_points) {
      set.point_offset = read_offset(file, offset, total, "points");
      if (set.point_offset.size() != set.offset.size()) {
        throw file.error(offset,
                         "expected shape " + shape_text({set.batch + 1}) + " for " + std::to_string(set.batch) +
                             (set.batch == 1 ? " problem" : " problems") + ", found " +
                             shape_text({static_cast<std::int64_t>(set.point_offset.size())}),
                         "Store where each problem's points begin, or remove it where all have the same.");
      }
      return;
    }
    for (std::int64_t p = 0; p <= set.batch; ++p) set.point_offset.push_back(p * total);
  }

  /// The groups of an interaction energy: one number per charge, or per particle for all frames.
  void open_groups(PotentialSet& set, const ChargeSource& source) const {
    const std::string name = set_path(set) + "/group";
    set.has_groups = file.kind(name) != ObjectKind::none;
    if (!set.has_groups) return;
    const DatasetInfo& info = file.dataset(name);
    if (!info.is(ElementType::int8) && !info.is(ElementType::int32) && !info.is(ElementType::int64)) {
      throw file.error(name, "expected int8, int32 or int64, found " + info.type_name, "Store it as int8.");
    }
    expect_shape(file, name, {source.particles ? source.particles->charges_per_frame() : set.charges()});
  }

  void open_set(PotentialSet& set) {
    const std::string group = set_path(set);
    check_names(group, potential_names);
    read_potential_attributes(file, set);
    ChargeSource source;
    const auto particles = file.string(group, "particles");
    set.particles = particles.value_or("");
    if (particles) {
      if (particles->empty()) {
        throw file.error(group + "@particles", "it is empty", "Name an H5MD particles group of this file.");
      }
      open_particles(set, source);
    } else {
      open_charges(set, source);
    }
    read_potential_lengths(file, set, source.unit_in_angstrom);
    if (set.targets == TargetKind::points) open_points(set, source);
    open_groups(set, source);
    std::vector<std::string> used{"position", "charge", "offset", "group"};
    if (set.targets == TargetKind::lattice) used.insert(used.end(), {"origin", "spacing"});
    if (set.targets == TargetKind::points) used.insert(used.end(), {"points", "point_offset"});
    warn_of_unused(group, used);
    sources.emplace(group, std::move(source));
  }

  /// Points of problems [first, first + count), in angstrom.
  template <class T>
  void read_points(const PotentialSet& set, std::int64_t first, std::int64_t count, double unit_in_angstrom,
                   std::int64_t first_of_share, PotentialBlock<T>& block) const {
    const std::string name = set_path(set) + "/points";
    block.point_offset = offsets_of(set.point_offset, first, count);
    const std::int64_t total = block.point_offset.back();
    block.point.resize(static_cast<std::size_t>(total) * 3);
    if (!set.has_shared_points) {
      file.read(name, {{first_of_share + set.point_offset[static_cast<std::size_t>(first)], total}},
                block.point.data());
    } else if (count > 0) {
      file.read(name, {}, block.point.data());
      repeat(block.point, block.point.size() / static_cast<std::size_t>(count));
    }
    for (double& value : block.point) value *= unit_in_angstrom;
  }

  /// Groups of a range of the set's charges.
  void read_groups(const PotentialSet& set, const ChargeSource& source, const AxisRange& charges,
                   std::vector<std::int8_t>& group) const {
    const std::string name = set_path(set) + "/group";
    group.resize(static_cast<std::size_t>(charges.count));
    if (!source.particles) {
      file.read(name, {charges}, group.data());
    } else if (charges.count > 0) {
      file.read(name, {}, group.data());
      repeat(group, static_cast<std::size_t>(source.particles->charges_per_frame()));
    }
  }

  void open() {
    is_newer = check_format(file, warnings) > format_minor;
    if (is_result_file(file)) {
      throw Error(ErrorKind::bad_input, "cannot use " + file.path(), "it is a results file, expected problems",
                  "Give the file that the results were made from.");
    }
    std::vector<std::string> kinds;
    for_each_kind(sets, [&]<class Set>(const std::vector<Set>&) { kinds.emplace_back(Set::kind); });
    for (const std::string& name : file.members("/")) {
      const bool is_known = std::ranges::find(kinds, name) != kinds.end();
      const auto meant = is_known ? std::nullopt : nearest_name(name, kinds);
      if (meant) {
        warnings.push_back("/" + printable(name) + " of " + file.path() + " is not used: did you mean /" + *meant +
                           "?");
      }
    }
    for (const std::string& kind : kinds) file.describe("/" + kind, 2);
    for (const std::string& kind : kinds) check_attributes("/" + kind, {});
    bool is_empty = true;
    for_each_kind(sets, [&]<class Set>(std::vector<Set>& list) {
      for (const std::string& name : set_names(file, kind_path<Set>())) {
        list.emplace_back().name = name;
        open_set(list.back());
      }
      is_empty = is_empty && list.empty();
    });
    if (is_empty) {
      throw file.error("/", "it has no problem set", "Add a group under /solve or /potential, as FORMAT.md says.");
    }
    if (!without_unit.empty()) {
      const std::size_t more = without_unit.size() - 1;
      notes.push_back(without_unit.front() + (more > 0 ? " and " + std::to_string(more) + " more" : "") + " of " +
                      file.path() + (more > 0 ? " have" : " has") + " no unit: read as angstrom.");
    }
    file.end_describing();
  }
};

ProblemReader::ProblemReader(const std::string& path, unsigned threads) : impl_(std::make_unique<Impl>(path, threads)) {
  impl_->open();
}
ProblemReader::~ProblemReader() = default;
ProblemReader::ProblemReader(ProblemReader&&) noexcept = default;

const std::string& ProblemReader::path() const { return impl_->file.path(); }
const ProblemSets& ProblemReader::sets() const { return impl_->sets; }
const ShareStarts& ProblemReader::starts() const { return impl_->starts; }
const std::vector<std::string>& ProblemReader::warnings() const { return impl_->warnings; }
const std::vector<std::string>& ProblemReader::notes() const { return impl_->notes; }

void ProblemReader::take(const Share& share) {
  for_each_set(impl_->sets, [&](auto& set) {
    auto part = part_of(set, share);
    impl_->starts[set_path(set)] = part.start;
    set = std::move(part.set);
  });
}

template <class T>
void ProblemReader::read(const SolveSet& set, std::int64_t first, std::int64_t count, SpdBlock<T>& block) const {
  expect_type(scalar_type_of<T>, set.type, set.name);
  expect_range(first, count, set.batch, set.name);
  const AxisRange systems{start(set).problem + first, count};
  const std::string group = set_path(set);
  block.resize(set.shape, count);
  block.first = first;
  impl_->file.read(group + "/A", {systems}, block.a.data());
  if (set.shape.nrhs > 0) impl_->file.read(group + "/b", {systems}, block.b.data());
}

template <class T>
void ProblemReader::read(const PotentialSet& set, std::int64_t first, std::int64_t count,
                         PotentialBlock<T>& block) const {
  expect_range(first, count, set.batch, set.name);
  const ChargeSource& source = impl_->sources.at(set_path(set));
  const ShareStart start = this->start(set);
  const auto before = [&set](std::int64_t problem) { return set.offset[static_cast<std::size_t>(problem)]; };
  const std::int64_t first_charge = start.charge + before(first), charges = before(first + count) - before(first);
  block.targets = set.targets;
  block.shape = set.shape;
  block.first = first;
  block.count = count;
  block.offset = offsets_of(set.offset, first, count);
  if (set.targets == TargetKind::lattice) {
    block.origin.assign(set.origin.begin() + 3 * first, set.origin.begin() + 3 * (first + count));
    block.spacing.assign(set.spacing.begin() + 3 * first, set.spacing.begin() + 3 * (first + count));
  }
  if (set.targets == TargetKind::points)
    impl_->read_points(set, first, count, source.point_unit_in_angstrom, start.point, block);
  block.wants_energy = set.has_groups;
  if (set.has_groups) impl_->read_groups(set, source, {first_charge, charges}, block.group);
  block.position.resize(static_cast<std::size_t>(charges) * 3);
  block.charge.resize(static_cast<std::size_t>(charges));
  if (source.particles) {
    source.particles->read(start.problem + first, count, block.position.data(), block.charge.data());
    return;
  }
  const std::string group = set_path(set);
  impl_->file.read(group + "/position", {{first_charge, charges}}, block.position.data());
  impl_->file.read(group + "/charge", {{first_charge, charges}}, block.charge.data());
  for (double& value : block.position) value *= source.unit_in_angstrom;
  for (double& value : block.charge) value *= source.charge_unit_in_e;
}

template void ProblemReader::read(const SolveSet&, std::int64_t, std::int64_t, SpdBlock<float>&) const;
template void ProblemReader::read(const SolveSet&, std::int64_t, std::int64_t, SpdBlock<double>&) const;
template void ProblemReader::read(const PotentialSet&, std::int64_t, std::int64_t, PotentialBlock<float>&) const;
template void ProblemReader::read(const PotentialSet&, std::int64_t, std::int64_t, PotentialBlock<double>&) const;

}  // namespace smallbatch
