// Opening walks /solve and /potential and checks what they declare; reading moves numbers and converts units.
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

namespace smallbatch {
namespace {

/// Where a potential set's charges come from.
struct ChargeSource {
  double unit_in_angstrom = 1, charge_unit_in_e = 1;
  std::optional<H5mdParticles> particles;
};

/// n with n(n+1)/2 = packed, or 0.
std::int64_t triangular_root(std::int64_t packed) {
  for (std::int64_t n = 1; n <= max_system_size; ++n)
    if (n * (n + 1) / 2 == packed) return n;
  return 0;
}

}  // namespace

struct ProblemReader::Impl {
  explicit Impl(const std::string& path) : file(path) {}

  InputFile file;
  std::vector<SolveSet> solve_sets;
  std::vector<PotentialSet> potential_sets;
  std::vector<std::string> warnings;
  std::map<std::string, ChargeSource> sources;

  /// Names of a lane's sets; each must be a group.
  [[nodiscard]] std::vector<std::string> set_names(const std::string& lane) const {
    auto names = file.members(lane);
    for (const std::string& name : names) {
      if (file.kind(lane + "/" + name) != ObjectKind::group) {
        throw file.error(lane + "/" + name, "expected a group (a problem set), found a dataset",
                         "Put the set's datasets into a group.");
      }
    }
    return names;
  }

  void warn_of_unused(const std::string& group, std::initializer_list<const char*> used) {
    for (const std::string& name : file.members(group)) {
      if (std::ranges::find(used, name) == used.end()) {
        warnings.push_back(group + "/" + name + " of " + file.path() + " is not used.");
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

  SolveSet open_solve_set(const std::string& name) {
    const std::string group = solve_path(name), a = group + "/A", b = group + "/b";
    SolveSet set;
    set.name = name;
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
    return set;
  }

  /// Where the problems begin among `total` charges: from 0 to total, never falling.
  [[nodiscard]] std::vector<std::int64_t> read_offset(const std::string& dataset, std::int64_t total) const {
    if (file.kind(dataset) == ObjectKind::none) return {0, total};
    const DatasetInfo& info = file.dataset(dataset);
    if (info.type != ElementType::int64 && info.type != ElementType::int32) {
      throw file.error(dataset, "expected int32 or int64, found " + info.type_name, "Store it as int64.");
    }
    if (info.shape.size() != 1 || info.shape[0] < 1) {
      throw file.error(dataset, "expected shape (batch + 1), found " + shape_text(info.shape),
                       "Store where each problem begins, and the number of charges at the end.");
    }
    std::vector<std::int64_t> offset(static_cast<std::size_t>(info.shape[0]));
    file.read(dataset, {}, offset.data());
    const auto at = [&](std::size_t i) { return "[" + std::to_string(i) + "] is " + std::to_string(offset[i]); };
    const std::string remedy = "Let it rise from 0 to the number of charges.";
    if (offset.front() != 0) throw file.error(dataset, at(0) + ", expected 0", remedy);
    for (std::size_t i = 1; i < offset.size(); ++i) {
      if (offset[i] < offset[i - 1]) {
        throw file.error(
            dataset, at(i) + ", expected at least " + std::to_string(offset[i - 1]) + " as at " + std::to_string(i - 1),
            remedy);
      }
    }
    if (offset.back() != total) {
      throw file.error(dataset, at(offset.size() - 1) + ", expected the number of charges, " + std::to_string(total),
                       remedy);
    }
    return offset;
  }

  void open_particles(PotentialSet& set, ChargeSource& source) {
    const std::string group = potential_path(set.name);
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

  void open_charges(PotentialSet& set, ChargeSource& source) const {
    const std::string group = potential_path(set.name), position = group + "/position", charge = group + "/charge";
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
    set.offset = read_offset(group + "/offset", positions.shape[0]);
    set.batch = static_cast<std::int64_t>(set.offset.size()) - 1;
    source.unit_in_angstrom = length_unit(file, position).value_or(1);
    source.charge_unit_in_e = charge_unit(file, charge).value_or(1);
  }

  PotentialSet open_potential_set(const std::string& name) {
    const std::string group = potential_path(name);
    PotentialSet set;
    set.name = name;
    read_lattice_attributes(file, set);
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
    read_lattice_places(file, set, source.unit_in_angstrom);
    warn_of_unused(group, {"position", "charge", "offset", "origin", "spacing"});
    sources.emplace(name, std::move(source));
    return set;
  }

  void open() {
    check_format(file, warnings);
    if (is_result_file(file)) {
      throw Error(ErrorKind::bad_input, "cannot use " + file.path() +
                                            " (it is a results file, expected problems). Give the file that the "
                                            "results were made from.");
    }
    for (const std::string& name : set_names("/solve")) solve_sets.push_back(open_solve_set(name));
    for (const std::string& name : set_names("/potential")) potential_sets.push_back(open_potential_set(name));
    if (solve_sets.empty() && potential_sets.empty()) {
      throw file.error("/", "it has no problem set", "Add a group under /solve or /potential, as FORMAT.md says.");
    }
  }
};

ProblemReader::ProblemReader(const std::string& path) : impl_(std::make_unique<Impl>(path)) { impl_->open(); }
ProblemReader::~ProblemReader() = default;
ProblemReader::ProblemReader(ProblemReader&&) noexcept = default;

const std::string& ProblemReader::path() const { return impl_->file.path(); }
const std::vector<SolveSet>& ProblemReader::solve_sets() const { return impl_->solve_sets; }
const std::vector<PotentialSet>& ProblemReader::potential_sets() const { return impl_->potential_sets; }
const std::vector<std::string>& ProblemReader::warnings() const { return impl_->warnings; }

template <class T>
void ProblemReader::read(const SolveSet& set, std::int64_t first, std::int64_t count, SpdBlock<T>& block) const {
  expect_type(scalar_type_of<T>, set.type, set.name);
  expect_range(first, count, set.batch, set.name);
  const std::string group = solve_path(set.name);
  block.resize(set.shape, count);
  block.first = first;
  impl_->file.read(group + "/A", {{first, count}}, block.a.data());
  if (set.shape.nrhs > 0) impl_->file.read(group + "/b", {{first, count}}, block.b.data());
}

template <class T>
void ProblemReader::read(const PotentialSet& set, std::int64_t first, std::int64_t count,
                         PotentialBlock<T>& block) const {
  expect_range(first, count, set.batch, set.name);
  const ChargeSource& source = impl_->sources.at(set.name);
  const auto from = static_cast<std::size_t>(first), to = static_cast<std::size_t>(first + count);
  const std::int64_t first_charge = set.offset[from], charges = set.offset[to] - first_charge;
  block.shape = set.shape;
  block.first = first;
  block.count = count;
  block.offset.resize(to - from + 1);
  for (std::size_t i = from; i <= to; ++i) block.offset[i - from] = set.offset[i] - first_charge;
  const auto rows = [&](const std::vector<double>& of_set) {
    return std::vector<double>(of_set.begin() + 3 * first, of_set.begin() + 3 * (first + count));
  };
  block.origin = rows(set.origin);
  block.spacing = rows(set.spacing);
  block.position.resize(static_cast<std::size_t>(charges) * 3);
  block.charge.resize(static_cast<std::size_t>(charges));
  if (source.particles) {
    source.particles->read(first, count, block.position.data(), block.charge.data());
    return;
  }
  const std::string group = potential_path(set.name);
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
