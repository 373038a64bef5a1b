// Opening visits the groups of all kinds of sets, and checks what they declare. Reading copies numbers and converts
// units. One file, because reading a set relies on what opening it has checked.
#include "io/problem_reader.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "core/nearest_name.hpp"
#include "core/visible_text.hpp"
#include "io/format/common.hpp"
#include "io/format/known_names.hpp"
#include "io/format/labels.hpp"
#include "io/format/local_coordinates.hpp"
#include "io/format/set_tables.hpp"
#include "io/format/triangles.hpp"
#include "io/hdf5/input.hpp"
#include "io/hdf5/units.hpp"
#include "io/integrity/row_hashes.hpp"
#include "io/interchange/elements.hpp"
#include "io/interchange/h5md.hpp"

namespace smallbatch {
namespace {

const std::string remedy_of_sizes = "Store how many rows each system has.";

/// Returns the names of a table's datasets or attributes.
template <class Row>
std::vector<std::string> names_of(const std::vector<Row>& rows) {
  std::vector<std::string> names;
  for (const Row& row : rows) names.emplace_back(row.name);
  return names;
}

/// Where the charges and points of a set come from, and their units.
struct ChargeSource {
  double unit_in_angstrom = 1, charge_unit_in_e = 1, point_unit_in_angstrom = 1, width_unit_in_angstrom = 1;
  std::vector<double> origin_rest;  ///< (batch, 3) for lattices: rounding errors; empty if the origins are in angstrom
  std::optional<H5mdParticles> particles;

  [[nodiscard]] bool is_converted() const {
    return unit_in_angstrom != 1 || point_unit_in_angstrom != 1 || !origin_rest.empty();
  }
};

/// Returns n with n(n+1)/2 = packed, or 0.
std::int64_t triangular_root(std::int64_t packed) {
  constexpr std::int64_t most = 1 << 20;  // also finds n of systems that are too large, for the message
  std::int64_t n = 1;
  while (n < most && n * (n + 1) / 2 < packed) ++n;
  return n * (n + 1) / 2 == packed ? n : 0;
}

/// Returns n with n * n = flat, or 0.
std::int64_t square_root(std::int64_t flat) {
  std::int64_t n = 1;
  while (n < max_system_size && n * n < flat) ++n;
  return n * n == flat ? n : 0;
}

/// Returns a text for the kind of matrices in A, which follows from the number of axes.
std::string matrices_text(const std::vector<std::int64_t>& shape) {
  if (shape.size() == 3) return "dense matrices of " + std::to_string(shape[1]) + " x " + std::to_string(shape[2]);
  return shape.size() == 2 ? "packed triangles" : "neither dense matrices nor packed triangles";
}

/// Returns "a batch of 6 packed triangles, n = 3".
std::string systems_text(const SolveSet& set) {
  return "a batch of " + std::to_string(set.batch) +
         (set.shape.storage == Storage::packed_lower ? " packed triangles, n = " : " dense matrices, n = ") +
         std::to_string(set.shape.n);
}

std::string reshape_text(std::int64_t n) { return ".reshape" + shape_text({-1, n, n}); }

/// Returns the remedy for an A with a shape that cannot hold systems.
std::string remedy_of_matrices(const std::vector<std::int64_t>& shape) {
  const std::size_t rank = shape.size();
  const std::int64_t last = rank > 0 ? shape.back() : 0, first = rank > 0 ? shape.front() : 0;
  const bool is_square = rank >= 2 && shape[rank - 2] == last;
  if ((is_square ? last : rank <= 2 ? triangular_root(last) : 0) > max_system_size)
    return "Solve larger systems with LAPACK.";
  if (is_square && last > 0 && rank == 2)
    return "Store one dense matrix as A[None], of shape " + shape_text({1, last, last}) + ".";
  if (is_square && last > 0 && rank > 3) return "Store A" + reshape_text(last) + ".";
  if (rank == 3 && first == shape[1] && first <= max_system_size)
    return "Is the batch the last axis? It belongs first: numpy.moveaxis(A, -1, 0).";
  if (rank == 1 && triangular_root(last) > 0)
    return "Store one packed triangle as A[None], of shape " + shape_text({1, last}) + ".";
  if (rank <= 2 && square_root(last) > 0)
    return "Are dense matrices flattened? Store A" + reshape_text(square_root(last)) + ".";
  if (rank == 2 && triangular_root(first) > 0) return "Is the batch the last axis? It belongs first: A.T.";
  return "Store square matrices, or lower triangles packed by rows.";
}

/// Returns the remedy for right-hand sides with a shape that does not fit the systems.
std::string remedy_of_rhs(const std::vector<std::int64_t>& shape, const SolveSet& set) {
  const std::size_t rank = shape.size();
  const std::int64_t n = set.shape.n, first = rank > 0 ? shape.front() : 0, last = rank > 0 ? shape.back() : 0;
  if ((rank == 2 || rank == 3) && first == n && last == set.batch && set.batch != 1)
    return "Is the batch the last axis? It belongs first: numpy.moveaxis(b, -1, 0).";
  if ((rank == 1 || rank == 2) && first == n && set.batch == 1) return "Store b[None] for the one system.";
  if ((rank == 1 || rank == 2) && first == n)
    return "Store one b for each system: numpy.repeat(b[None], " + std::to_string(set.batch) + ", axis=0).";
  if (rank == 3 && first == set.batch && last == n)
    return "Store each right-hand side as a column: numpy.swapaxes(b, 1, 2).";
  return "Store one right-hand side, or nrhs columns, per matrix of A.";
}

constexpr std::size_t bytes_of_point = 3 * sizeof(double);

/// Converts triples of problems to angstrom, counted from their origins if there are any.
void to_angstrom(const std::vector<ExactPosition>& origin, const std::vector<std::int64_t>& offset,
                 double unit_in_angstrom, AlignedVector<double>& triples) {
  if (!origin.empty()) return count_from(origin, offset, unit_in_angstrom, triples.data());
  for (double& value : triples) value *= unit_in_angstrom;
}

/// Returns the hash of the frequencies of `channels` and of the positions of all inputs. The positions are added once
/// for each channel. `first` is the index of the first channel in the share.
std::uint64_t hash_of_channels(const CorrelationSet& set, const AxisRange& channels, std::int64_t first) {
  std::uint64_t hash = 0;
  if (!set.frequency.empty())
    hash += hash_rows("frequency", channels.first, channels.count, sizeof(double), set.frequency.data() + first);
  if (set.input_position.empty()) return hash;
  for (std::int64_t k = 0; k < channels.count; ++k)
    hash += hash_rows("input_position", channels.first + k, 1, set.input_position.size() * sizeof(double),
                      set.input_position.data());
  return hash;
}

std::string charges_text(std::int64_t charges) {
  return "position is understood as " + std::to_string(charges) + " charges: ";
}

/// Returns the origins of lattices with their rounding errors. `rest` may be null.
std::vector<ExactPosition> exact_origins(const AlignedVector<double>& origin, const double* rest) {
  std::vector<ExactPosition> positions(origin.size() / 3);
  for (std::size_t i = 0; i < origin.size(); ++i) positions[i / 3][i % 3] = {origin[i], rest == nullptr ? 0 : rest[i]};
  return positions;
}

/// Fills `values` with copies of its first `length` elements.
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
  std::vector<std::string> without_unit;  ///< datasets of positions without a unit
  std::vector<std::string> notes;
  std::map<std::string, ChargeSource> sources;
  ShareStarts starts;     ///< of sets that were cut to a share
  bool is_newer = false;  ///< the file has a newer minor version, which may have names that are unknown here

  /// Refuses unknown attributes. An attribute `unit` with a misspelt name would otherwise be ignored.
  void check_attributes(const std::string& object, const std::vector<std::string>& known) {
    for (const std::string& unknown : unknown_attributes(file, object, known)) {
      if (!is_newer) {
        throw file.error(object, unknown, "Correct its name or remove it; FORMAT.md lists the attributes.");
      }
      warnings.push_back(object + " of " + file.path() + ": " + unknown + ", and not read.");
    }
  }

  /// Refuses unknown attributes, and unknown datasets with a name like that of a missing dataset.
  void check_names(const std::string& group, const SetTable& table) {
    check_attributes(group, names_of(table.attributes));
    const std::vector<std::string> members = file.members(group), known = names_of(table.datasets);
    std::vector<std::string> missing;
    for (const DatasetRow& row : table.datasets) {
      const std::string name(row.name);
      if (std::ranges::find(members, name) == members.end())
        missing.push_back(name);
      else
        check_attributes(group + "/" + name,
                         row.unit.empty() ? std::vector<std::string>{} : std::vector<std::string>{"unit"});
    }
    for (const std::string& name : members) {
      const bool is_known = std::ranges::find(known, name) != known.end();
      const auto meant = is_known || is_newer ? std::nullopt : nearest_name(name, missing);
      if (meant) {
        throw file.error(group, "its dataset " + quoted(name) + " is unknown: did you mean " + quoted(*meant) + "?",
                         "Correct its name or move it elsewhere.");
      }
    }
  }

  void warn_of_unused(const std::string& group, const std::vector<std::string>& used) {
    for (const std::string& name : file.members(group)) {
      if (std::ranges::find(used, name) == used.end()) {
        warnings.push_back(visible_text(group + "/" + name) + " of " + file.path() + " is not used.");
      }
    }
  }

  /// Reads the attribute `uplo`. Returns whether the set has it.
  bool read_uplo(const std::string& group, SolveSet& set) const {
    const auto uplo = file.string(group, "uplo");
    if (!uplo) return false;
    if (*uplo != uplo_lower && *uplo != uplo_upper) {
      throw file.error(group + "@uplo",
                       "expected " + quoted(uplo_lower) + " or " + quoted(uplo_upper) + ", found " + quoted(*uplo),
                       "Remove the attribute where both triangles are filled.");
    }
    set.is_upper = *uplo == uplo_upper;
    if (set.shape.storage == Storage::dense) set.shape.storage = Storage::dense_lower;
    return true;
  }

  /// Reads the attribute `compute`. It asks for ln det A and other numbers about A, without x or the inverse.
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

  /// Whether the first numbers of A look like symmetric n x n matrices, stored by rows, one after the other. There may
  /// be only one matrix.
  [[nodiscard]] bool is_symmetric(const std::string& a, const SolveSet& set, std::int64_t n) const {
    constexpr std::int64_t few = 128;  // keeps the check within megabytes
    const std::int64_t length = set.shape.matrix_size(), rows = std::min(set.batch, few);
    std::vector<double> values(static_cast<std::size_t>(rows * length));
    file.read(a, {{0, rows}}, values.data());
    const std::int64_t known = std::min(n, few);  // rows and columns of one matrix
    for (std::int64_t begin = 0; begin + (known - 1) * n + known <= rows * length; begin += n * n) {
      const auto at = [&](std::int64_t i, std::int64_t j) {
        return values[static_cast<std::size_t>(begin + i * n + j)];
      };
      for (std::int64_t i = 0; i < known; ++i)
        for (std::int64_t j = 0; j < i; ++j)
          if (!(std::abs(at(i, j) - at(j, i)) <= 1e-4 * std::sqrt(std::abs(at(i, i) * at(j, j))))) return false;
    }
    return true;
  }

  /// Some shapes of A fit dense matrices as well as packed triangles (io/FORMAT.md). The attributes of the set, b, or
  /// the numbers of A may then tell which A holds. If nothing tells, A is refused. The numbers do not tell if only one
  /// triangle is filled.
  void read_storage(const std::string& group, SolveSet& set, const DatasetInfo& matrices) const {
    const bool has_uplo = read_uplo(group, set);
    const std::string found = matrices.type_name + " " + shape_text(matrices.shape);
    const bool is_packed = set.shape.storage == Storage::packed_lower,
               is_square = is_packed && matrices.shape[0] == matrices.shape[1];
    const bool has_b = file.kind(group + "/b") != ObjectKind::none;
    const std::string one = has_b ? "A[None] and b[None]" : "A[None]";
    if (const auto storage = file.string(group, "storage")) {
      if (is_packed && !has_uplo) set.is_upper = *storage == storage_packed_upper;
      const std::string& expected = !is_packed ? storage_dense : set.is_upper ? storage_packed_upper : storage_packed;
      if (*storage == expected) return;
      const bool is_known = *storage == storage_packed || *storage == storage_packed_upper || *storage == storage_dense;
      throw file.error(group + "@storage",
                       "A, " + found + ", is understood as " + systems_text(set) + ": expected " + quoted(expected) +
                           ", found " + quoted(*storage),
                       !is_known ? "Set it to the storage that A has, or remove the attribute."
                       : is_packed && *storage != storage_dense
                           ? "The attribute uplo names the other triangle: correct uplo or storage."
                       : is_square ? "Store one dense matrix as " + one + "."
                                   : "Store A as its set says, or remove the attribute.");
    }
    const std::string set_storage =
        "set the attribute 'storage' of the set to " + (set.is_upper ? storage_packed_upper : storage_packed) + ".";
    if (const std::int64_t n = is_packed ? square_root(matrices.shape[1]) : 0;
        n > 1 && !is_square && !has_b && set.batch > 0 && (has_uplo || is_symmetric(group + "/A", set, n))) {
      throw file.error(group + "/A", found + " may be " + systems_text(set) + ", or dense matrices that are flattened",
                       "Store dense matrices as A" + reshape_text(n) + ", or " + set_storage);
    }
    if (!is_square || set.shape.n == 1) return;
    if (has_b) {
      const auto& b = file.dataset(group + "/b").shape;
      if (b.size() == 3 || (b == std::vector{set.batch, std::int64_t{set.shape.n}} && !has_uplo &&
                            !is_symmetric(group + "/A", set, set.batch)))
        return;
    }
    throw file.error(group + "/A", found + " may be " + systems_text(set) + ", or one dense matrix",
                     "Store one matrix as " + one + ", or " + set_storage);
  }

  void open_set(SolveSet& set) {
    const std::string group = set_path(set), a = group + "/A", b = group + "/b";
    check_names(group, solve_set_table);
    const DatasetInfo& matrices = file.float_dataset(a);
    set.type = scalar_type(matrices.type);
    const auto& shape = matrices.shape;
    std::int64_t n = 0;
    if (shape.size() == 3 && shape[1] == shape[2]) {
      n = shape[1];
      set.shape.storage = Storage::dense;
    } else if (shape.size() == 2) {
      n = triangular_root(shape[1]);
      set.shape.storage = Storage::packed_lower;
    }
    if (n < 1 || n > max_system_size) {
      throw file.error(
          a,
          matrices.type_name + " " + shape_text(shape) + " is understood as " + matrices_text(shape) +
              (n > 0 ? ", n = " + std::to_string(n) : "") +
              ": expected shape (batch, n, n) or (batch, n(n+1)/2) with 1 <= n <= " + std::to_string(max_system_size),
          remedy_of_matrices(shape));
    }
    set.shape.n = static_cast<int>(n);
    set.batch = shape[0];
    set.chunk_bytes = file.chunk_bytes(a);
    read_storage(group, set, matrices);
    read_compute(group, set.shape);

    set.shape.nrhs = 0;
    if (file.kind(b) != ObjectKind::none) {
      if (set.shape.determinant_only) {
        throw file.error(b,
                         "the attribute 'compute' of its set asks for ln det A alone, which needs no right-hand side",
                         "Remove b. Or remove the attribute to get solutions.");
      }
      const DatasetInfo& rhs = file.float_dataset(b);
      if (rhs.type != matrices.type) {
        throw file.error(b, "expected " + matrices.type_name + " as A has, found " + rhs.type_name,
                         "Store A and b in one type.");
      }
      set.rhs_is_vector = rhs.shape.size() == 2;
      const bool fits = (rhs.shape.size() == 2 || rhs.shape.size() == 3) && rhs.shape[0] == set.batch &&
                        rhs.shape[1] == n && (set.rhs_is_vector || (rhs.shape[2] >= 1 && rhs.shape[2] <= most_rhs));
      if (!fits) {
        throw file.error(b,
                         "A is understood as " + systems_text(set) + ": expected shape " + shape_text({set.batch, n}) +
                             " or (" + std::to_string(set.batch) + ", " + std::to_string(n) +
                             ", nrhs), 1 <= nrhs <= " + std::to_string(most_rhs) + ", found " + shape_text(rhs.shape),
                         remedy_of_rhs(rhs.shape, set));
      }
      set.shape.nrhs = set.rhs_is_vector ? 1 : static_cast<int>(rhs.shape[2]);
    }
    open_sizes(group, set);
    if (set.shape.has_sizes && set.is_upper && set.shape.storage == Storage::packed_lower) {
      throw file.error(group + "/size", "where the rows of a packed upper triangle begin depends on the size",
                       "Store lower triangles, or dense matrices.");
    }
    warn_of_unused(group, names_of(solve_set_table.datasets));
  }

  /// Checks the sizes of all systems, if the set has them.
  void open_sizes(const std::string& group, SolveSet& set) const {
    const std::string size = group + "/size";
    set.shape.has_sizes = file.kind(size) != ObjectKind::none;
    if (!set.shape.has_sizes) return;
    expect_type_of(file, size, solve_set_table.dataset("size"), "Store it as int32.");
    check_sizes(file, set, remedy_of_sizes);
  }

  void open_particles(const std::string& group, ChargesOfSet& set, ChargeSource& source) {
    for (const char* name : {"/position", "/charge", "/offset", "/step", "/time"}) {
      if (file.kind(group + name) != ObjectKind::none) {
        throw file.error(group + name, "the attribute 'particles' already says where the charges are, and their times",
                         "Remove the dataset or the attribute.");
      }
    }
    source.particles.emplace(file, set.particles);
    set.type = source.particles->type();
    set.batch = source.particles->frames();
    set.offset = source.particles->offset();
    source.unit_in_angstrom = source.particles->unit_in_angstrom();
    source.charge_unit_in_e = source.particles->charge_unit_in_e();
    set.labels = source.particles->labels();
    const auto& of_particles = source.particles->warnings();
    warnings.insert(warnings.end(), of_particles.begin(), of_particles.end());
  }

  /// Throws unless the dataset has the shape (things, 3). For the message, `thing` is "charge" or "point", and `offset`
  /// is the dataset that says where the charges or points of each problem begin.
  void expect_triples(const std::string& dataset, const DatasetInfo& info, const std::string& thing,
                      const std::string& offset) const {
    const auto& shape = info.shape;
    if (shape.size() == 2 && shape[1] == 3) return;
    const bool has_batch = shape.size() == 3 && shape[2] == 3;
    throw file.error(dataset,
                     info.type_name + " is understood as x, y, z of all " + thing + "s: expected shape (" + thing +
                         "s, 3), found " + shape_text(shape),
                     has_batch ? "Store its reshape(-1, 3), and in " + offset + " where each problem begins."
                               : remedy_of_shape(shape, {shape.empty() ? 0 : shape.back(), 3},
                                                 "Store x, y and z of every " + thing + "."));
  }

  void open_charges(const std::string& group, ChargesOfSet& set, ChargeSource& source) {
    const std::string position = group + "/position", charge = group + "/charge";
    const DatasetInfo& positions = file.float_dataset(position);
    expect_triples(position, positions, "charge", "offset");
    const DatasetInfo& charges = file.float_dataset(charge);
    if (charges.type != positions.type) {
      throw file.error(charge, "expected " + positions.type_name + " as position has, found " + charges.type_name,
                       "Store position and charge in one type.");
    }
    expect_shape(file, charge, {positions.shape[0]}, charges_text(positions.shape[0]));
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

  /// Opens the points, if V is wanted at points. Without offsets every problem has all points.
  void open_points(PotentialSet& set, ChargeSource& source) const {
    const std::string group = set_path(set), point = group + "/points", offset = group + "/point_offset";
    const DatasetInfo& points = file.float_dataset(point);
    expect_triples(point, points, "point", "point_offset");
    source.point_unit_in_angstrom = length_unit(file, point).value_or(source.unit_in_angstrom);
    const std::int64_t total = points.shape[0];
    set.has_shared_points = file.kind(offset) == ObjectKind::none;
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(4 * static_cast<std::int64_t>(sizeof(double)) * set.batch,
                               set.has_shared_points ? total : 1, &bytes)) {
      throw file.error(point,
                       "the potentials of " + std::to_string(set.batch) + " problems at " + std::to_string(total) +
                           " points each take more bytes than a file can hold",
                       "Store fewer points, or each problem's own with point_offset.");
    }
    if (!set.has_shared_points) {
      set.point_offset = read_offset(file, offset, total, "points");
      if (set.point_offset.size() != set.offset.size()) {
        throw file.error(
            offset,
            "expected shape " + shape_text({set.batch + 1}) + " for " + std::to_string(set.batch) +
                (set.batch == 1 ? " problem" : " problems") + ", found " +
                shape_text({static_cast<std::int64_t>(set.point_offset.size())}),
            "Store where the points of each problem begin. Remove it if all problems have the same points.");
      }
      return;
    }
    for (std::int64_t p = 0; p <= set.batch; ++p) set.point_offset.push_back(p * total);
  }

  /// Whether the set has the dataset `name` of small integers: groups of charges, or atomic numbers. It must have one
  /// number per charge, or one per particle for all frames.
  [[nodiscard]] bool has_small_numbers(const std::string& name, const ChargesOfSet& set, ChargeSource& source) const {
    if (file.kind(name) == ObjectKind::none) return false;
    expect_type_of(file, name, charge_set_table.dataset("group"), "Store it as int8.");
    expect_one_per_charge(name, set, source);
    return true;
  }

  void expect_one_per_charge(const std::string& name, const ChargesOfSet& set, ChargeSource& source) const {
    const std::int64_t charges = source.particles ? source.particles->places() : set.charges();
    expect_shape(file, name, {charges}, charges_text(charges));
    if (source.particles) source.particles->expect_one_order(name);
  }

  /// Opens the widths: one per charge, or one per particle for all frames.
  void open_widths(const std::string& group, ChargesOfSet& set, ChargeSource& source) const {
    const std::string width = group + "/width";
    set.has_widths = file.kind(width) != ObjectKind::none;
    if (!set.has_widths) return;
    if (file.number(group, "width")) {
      throw file.error(width, "the attribute 'width' of its set already says how wide the charges are",
                       "Remove the dataset or the attribute.");
    }
    (void)file.float_dataset(width);
    expect_one_per_charge(width, set, source);
    source.width_unit_in_angstrom = length_unit(file, width).value_or(source.unit_in_angstrom);
  }

  /// Opens the charges of the set in `group`, with their groups, widths and labels.
  ChargeSource& open_source(const std::string& group, ChargesOfSet& set) {
    ChargeSource& source = sources[group];
    const auto particles = file.string(group, "particles");
    set.particles = particles.value_or("");
    if (particles) {
      if (particles->empty()) {
        throw file.error(group + "@particles", "it is empty", "Name an H5MD particles group of this file.");
      }
      open_particles(group, set, source);
    } else {
      open_charges(group, set, source);
    }
    set.has_groups = has_small_numbers(group + "/group", set, source);
    set.has_atomic_numbers = has_small_numbers(group + "/atomic_number", set, source);
    open_widths(group, set, source);
    const ProblemLabels labels = read_labels(file, group, set.batch);
    set.labels.name = labels.name;
    if (!source.particles) set.labels = labels;
    return source;
  }

  void open_set(PotentialSet& set) {
    const std::string group = set_path(set);
    check_names(group, potential_set_table);
    read_potential_attributes(file, set);
    ChargeSource& source = open_source(group, set);
    source.origin_rest = read_potential_lengths(file, set, source.unit_in_angstrom);
    if (set.targets == TargetKind::points) open_points(set, source);
    std::vector<std::string> used = names_of(charge_set_table.datasets);
    if (set.targets == TargetKind::lattice) used.insert(used.end(), {"origin", "spacing"});
    if (set.targets == TargetKind::points) used.insert(used.end(), {"points", "point_offset"});
    warn_of_unused(group, used);
  }

  void open_set(PairEnergySet& set) {
    const std::string group = set_path(set);
    check_names(group, pair_energy_set_table);
    set.per_charge =
        read_flag(file, group, "per_charge", "Set it to 1 where the energy of each charge is wanted, too.");
    read_charge_attributes(file, group, set);
    const ChargeSource& source = open_source(group, set);
    read_charge_lengths(file, group, set, source.unit_in_angstrom);
    warn_of_unused(group, names_of(charge_set_table.datasets));
  }

  /// Finds the type of a signal's samples, and their number.
  void open_signal(const std::string& group, CorrelationSet& set) const {
    const std::string signal = group + "/signal";
    const DatasetInfo& info = file.dataset(signal);
    const auto packing = file.string(group, "packing");
    if (packing && *packing != packing_int4) {
      throw file.error(group + "@packing", "expected " + quoted(packing_int4) + ", found " + quoted(*packing),
                       "Remove it where samples are not packed.");
    }
    if (info.form == NumberForm::complex && info.type == ElementType::float32) {
      set.type = SampleType::complex_float32;
    } else if (info.type == ElementType::int8 &&
               info.form != NumberForm::boolean) {  // {r, i}, or both along a last axis
      set.type = SampleType::complex_int8;
    } else if (info.is(ElementType::uint8)) {
      set.type = SampleType::complex_int4;
    } else {
      const bool has_parts = info.form == NumberForm::plain && info.shape.size() == 4 && info.shape[3] == 2;
      const bool has_members = info.type_name.starts_with("compound") &&
                               !(info.form == NumberForm::complex && info.type == ElementType::float64);
      const std::string complex = has_parts     ? "(array[..., 0] + 1j * array[..., 1]).astype(\"complex64\")"
                                  : has_members ? "(array[\"r\"] + 1j * array[\"i\"]).astype(\"complex64\")"
                                                : "array.astype(\"complex64\")";
      throw file.error(signal,
                       "expected compound {r, i} of float32, int8 or uint8, found " + info.type_name +
                           (has_parts ? ", two along the last axis" : ""),
                       "Convert it before writing, e.g. " + complex + ".");
    }
    if (packing.has_value() != (set.type == SampleType::complex_int4)) {
      if (packing) {
        throw file.error(group + "@packing", "expected a signal of uint8, found " + info.type_name,
                         "Remove the attribute where samples are not packed.");
      }
      throw file.error(signal, "it holds uint8, and its set does not say what that is",
                       "Set packing to int4 where each byte is a sample, or store int8.");
    }
    const bool is_packed = set.type == SampleType::complex_int4;
    if (info.shape.size() != (is_packed ? 3 : 4) || (!is_packed && info.shape[3] != 2)) {
      std::vector<std::int64_t> found = info.shape;
      if (info.form == NumberForm::complex) found.pop_back();
      const bool has_parts = info.is(ElementType::int8);
      throw file.error(signal,
                       info.type_name + " is understood as samples: expected shape (channel, time, input" +
                           (has_parts ? ", 2)" : ")") + ", found " + shape_text(found),
                       !is_packed && found.size() > (has_parts ? 4U : 3U)
                           ? "A polarisation is an input, too: merge the axes of inputs, e.g. with reshape."
                       : has_parts ? "Store real and imaginary part along a last axis."
                                   : "Store one sample per element. One channel is stored as signal[None].");
    }
    set.batch = info.shape[0];
    set.times = info.shape[1];
    set.inputs = info.shape[2];
    set.chunk_bytes = file.chunk_bytes(signal);
    if (set.inputs < 1 || set.inputs > max_inputs) {
      throw file.error(signal,
                       "expected 1 to " + std::to_string(max_inputs) + " inputs, found " + std::to_string(set.inputs),
                       "Store (channel, time, input); a polarisation is an input.");
    }
  }

  void read_integrate(const std::string& group, CorrelationSet& set) const {
    const std::int64_t all = std::max<std::int64_t>(1, set.times);
    const auto found = file.integers(group, "integrate");
    if (found && (found->size() != 1 || found->front() < 1)) {
      throw file.error(group + "@integrate", "expected an integer of at least 1, found " + shape_text(*found),
                       "Give the samples per integration, or remove it to integrate all.");
    }
    set.integrate = found ? std::min(found->front(), all) : all;
    if (set.integrate > std::numeric_limits<std::int32_t>::max()) {
      throw file.error(
          group + (found ? "@integrate" : "/signal"),
          "an integration would have " + std::to_string(set.integrate) + " samples, more than an int32 holds",
          "Set integrate to fewer samples.");
    }
  }

  void open_set(CorrelationSet& set) {
    const std::string group = set_path(set), flag = group + "/flag";
    check_names(group, correlation_set_table);
    open_signal(group, set);
    read_integrate(group, set);
    set.has_flags = file.kind(flag) != ObjectKind::none;
    if (set.has_flags) {
      expect_type_of(file, flag, correlation_set_table.dataset("flag"), "Store it as uint8.");
      expect_shape(file, flag, {set.batch, set.times, set.inputs}, signal_text(set));
    }
    read_correlation_attributes(file, set);
    std::int64_t bytes = bytes_of(SumType::complex_int64);
    for (const std::int64_t length : {set.integrations(), set.batch, set.baselines()}) {
      if (__builtin_mul_overflow(bytes, length, &bytes)) {
        throw file.error(group, "its visibilities take more bytes than a file can hold", "Integrate more samples.");
      }
    }
    warn_of_unused(group, names_of(correlation_set_table.datasets));
  }

  /// Reads charges, groups and widths of problems [first, first + count). Positions stay in the file's unit. Returns
  /// what these numbers and the problems' labels contribute to the set's hash.
  template <class Block>
  std::uint64_t read_charges(const std::string& group, const ChargesOfSet& set, std::int64_t first, std::int64_t count,
                             Block& block) const {
    expect_range(first, count, set.batch, set.name);
    const ChargeSource& source = sources.at(group);
    const ShareStart start = start_of(starts, group);
    const auto before = [&set](std::int64_t problem) { return set.offset[static_cast<std::size_t>(problem)]; };
    const AxisRange charges{start.charge + before(first), before(first + count) - before(first)};
    block.first = first;
    block.count = count;
    block.offset = offsets_of(set.offset, first, count);
    const std::int64_t row = start.problem + first;
    std::uint64_t hash = hash_labels(set.labels, row, first, count);
    block.group.clear();
    if (set.has_groups) {
      std::vector<std::int64_t> groups;
      read_one_per_charge(group + "/group", source, charges, {row, count}, groups);
      hash += hash_rows("group", row, block.offset, sizeof(groups[0]), groups.data());
      for (const std::int64_t number : groups)
        block.group.push_back(static_cast<std::int8_t>(std::clamp<std::int64_t>(number, INT8_MIN, INT8_MAX)));
    }
    block.position.resize(static_cast<std::size_t>(charges.count) * 3);
    block.charge.resize(static_cast<std::size_t>(charges.count));
    if (source.particles) {
      source.particles->read(row, count, block.position.data(), block.charge.data());
    } else {
      file.read(group + "/position", {charges}, block.position.data());
      file.read(group + "/charge", {charges}, block.charge.data());
    }
    hash += hash_rows("position", row, block.offset, bytes_of_point, block.position.data());
    hash += hash_rows("charge", row, block.offset, sizeof(double), block.charge.data());
    for (double& value : block.charge) value *= source.charge_unit_in_e;
    block.width.assign(set.width > 0 ? block.charge.size() : 0, set.width);
    if (set.has_widths) {
      read_one_per_charge(group + "/width", source, charges, {row, count}, block.width);
      hash += hash_rows("width", row, block.offset, sizeof(double), block.width.data());
      for (double& value : block.width) value *= source.width_unit_in_angstrom;
    }
    return hash;
  }

  /// Returns the hash of the labels of problems [first, first + count). Problem `first` is row `row` of the set in the
  /// file.
  static std::uint64_t hash_labels(const ProblemLabels& labels, std::int64_t row, std::int64_t first,
                                   std::int64_t count) {
    std::uint64_t hash = 0;
    if (!labels.step.empty()) hash += hash_rows("step", row, count, sizeof(labels.step[0]), labels.step.data() + first);
    if (!labels.time.empty()) hash += hash_rows("time", row, count, sizeof(labels.time[0]), labels.time.data() + first);
    if (labels.name.empty()) return hash;
    for (std::int64_t k = 0; k < count; ++k) {
      const std::string& name = labels.name[static_cast<std::size_t>(first + k)];
      hash += hash_rows("name", row + k, 1, name.size(), name.data());
    }
    return hash;
  }

  /// Reads points of problems [first, first + count), in the file's unit. Returns what the points contribute to the
  /// set's hash.
  template <class T>
  std::uint64_t read_points(const PotentialSet& set, std::int64_t first, std::int64_t count, const ShareStart& start,
                            PotentialBlock<T>& block) const {
    const std::string name = set_path(set) + "/points";
    block.point_offset = offsets_of(set.point_offset, first, count);
    const std::int64_t total = block.point_offset.back();
    block.point.resize(static_cast<std::size_t>(total) * 3);
    if (!set.has_shared_points) {
      file.read(name, {{start.point + set.point_offset[static_cast<std::size_t>(first)], total}}, block.point.data());
    } else if (count > 0) {
      file.read(name, {}, block.point.data());
      repeat(block.point, block.point.size() / static_cast<std::size_t>(count));
    }
    return hash_rows("points", start.problem + first, block.point_offset, bytes_of_point, block.point.data());
  }

  /// Reads one number per charge: a group, an atomic number or a width. Groups are read as std::int64_t, so that no
  /// conversion makes two different groups equal. Trajectories have one number per particle, for all frames.
  template <class Values>
  void read_one_per_charge(const std::string& name, const ChargeSource& source, const AxisRange& charges,
                           const AxisRange& frames, Values& values) const {
    if (!source.particles) {
      values.resize(static_cast<std::size_t>(charges.count));
      return file.read(name, {charges}, values.data());
    }
    Values of_places(static_cast<std::size_t>(source.particles->places()));
    file.read(name, {}, of_places.data());
    source.particles->spread(of_places, frames.first, frames.count, values);
  }

  void open() {
    is_newer = check_format(file, warnings) > format_minor;
    if (is_result_file(file)) {
      const auto problems = file.text_or_number("/provenance", "problems");
      const auto* const name = problems ? std::get_if<std::string>(&*problems) : nullptr;
      throw Error(
          ErrorKind::bad_input, "cannot use " + file.path(), "it is a result file, expected a problem file",
          "Give the file that the results were made from" + (name != nullptr ? ", " + visible_text(*name) + "." : "."));
    }
    std::vector<std::string> kinds;
    std::string misspelt;
    for_each_kind(sets, [&]<class Set>(const std::vector<Set>&) { kinds.emplace_back(Set::kind); });
    for (const std::string& name : file.members("/")) {
      const bool is_known = std::ranges::find(kinds, name) != kinds.end();
      const auto meant = is_known ? std::nullopt : nearest_name(name, kinds);
      if (meant) {
        misspelt = "/" + visible_text(name) + ": did you mean /" + *meant + "?";
        warnings.push_back("/" + visible_text(name) + " of " + file.path() + " is not used: did you mean /" + *meant +
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
      throw file.error("/", "it has no problem set" + (misspelt.empty() ? "" : ", but " + misspelt),
                       "Add a group under /solve, /potential, /pair_energy or /correlation, as FORMAT.md says.");
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
int ProblemReader::descriptor() const { return impl_->file.descriptor(); }
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
std::uint64_t ProblemReader::read(const SolveSet& set, std::int64_t first, std::int64_t count,
                                  SpdBlock<T>& block) const {
  expect_type(scalar_type_of<T>, set.type, set.name);
  expect_range(first, count, set.batch, set.name);
  const AxisRange systems{start(set).problem + first, count};
  const std::string group = set_path(set);
  block.resize(set.shape, count);
  block.first = first;
  std::atomic<std::uint64_t> hash{0};
  const auto rows_of = [&](const char* name, std::int64_t numbers, T* values, bool is_upper) {
    return InputFile::Rows<T>{
        group + "/" + name, values, [&, name, numbers, values, is_upper](std::int64_t row, auto rows) {
          T* const begin = values + row * numbers;
          hash += hash_rows(name, systems.first + row, rows, static_cast<std::size_t>(numbers) * sizeof(T), begin);
          if (is_upper)  // this function sees each row once
            exchange_triangles(set.shape, TrianglesFrom::upper, rows, begin);
        }};
  };
  const auto a = rows_of("A", set.shape.matrix_size(), block.a.data(), set.is_upper);
  if (set.shape.nrhs > 0)
    impl_->file.read_together({systems}, {a, rows_of("b", set.shape.rhs_size(), block.b.data(), false)});
  else
    impl_->file.read_together({systems}, {a});
  if (!set.shape.has_sizes) return hash;
  const std::vector<std::int64_t> sizes = read_sizes(impl_->file, set, systems, remedy_of_sizes);
  std::ranges::copy(sizes, block.sizes.begin());
  return hash + hash_rows("size", systems.first, count, sizeof(sizes[0]), sizes.data());
}

template <class T>
std::uint64_t ProblemReader::read(const PotentialSet& set, std::int64_t first, std::int64_t count,
                                  PotentialBlock<T>& block, CountedFrom from) const {
  const std::string group = set_path(set);
  const ShareStart begin = start(set);
  const ChargeSource& source = impl_->sources.at(group);
  const double unit = source.unit_in_angstrom, point_unit = source.point_unit_in_angstrom;
  const bool is_local = from == CountedFrom::origin && source.is_converted();
  std::uint64_t hash = impl_->read_charges(group, set, first, count, block);
  block.targets = set.targets;
  block.shape = set.shape;
  if (set.targets == TargetKind::lattice) {
    block.origin.assign(set.origin.begin() + 3 * first, set.origin.begin() + 3 * (first + count));
    block.spacing.assign(set.spacing.begin() + 3 * first, set.spacing.begin() + 3 * (first + count));
    hash += hash_rows("origin", begin.problem + first, count, bytes_of_point, block.origin.data());
    hash += hash_rows("spacing", begin.problem + first, count, bytes_of_point, block.spacing.data());
  }
  if (set.targets == TargetKind::points) hash += impl_->read_points(set, first, count, begin, block);
  std::vector<ExactPosition> origin;
  if (is_local && set.targets == TargetKind::lattice) {
    const auto* const rest =
        source.origin_rest.empty() ? nullptr : source.origin_rest.data() + 3 * (begin.problem + first);
    origin = exact_origins(block.origin, rest);
    std::ranges::fill(block.origin, 0.0);
  } else if (is_local && set.targets == TargetKind::points) {
    origin = first_positions(block.point.data(), block.point_offset, point_unit);
  } else if (is_local) {
    origin = first_positions(block.position.data(), block.offset, unit);
  }
  to_angstrom(origin, block.offset, unit, block.position);
  if (set.targets == TargetKind::points) to_angstrom(origin, block.point_offset, point_unit, block.point);
  block.wants_energy = set.has_groups;
  return hash;
}

std::vector<std::int8_t> ProblemReader::atomic_numbers(const PotentialSet& set, std::int64_t problem) const {
  expect_range(problem, 1, set.batch, set.name);
  std::vector<std::int8_t> numbers;
  if (!set.has_atomic_numbers) return numbers;
  const std::int64_t first = set.offset[static_cast<std::size_t>(problem)];
  const AxisRange charges{start(set).charge + first, set.offset[static_cast<std::size_t>(problem) + 1] - first};
  const AxisRange frames{start(set).problem + problem, 1};
  const std::string group = set_path(set);
  impl_->read_one_per_charge(group + "/atomic_number", impl_->sources.at(group), charges, frames, numbers);
  for (std::int8_t& number : numbers) number = number >= 0 && number <= last_atomic_number ? number : std::int8_t{0};
  return numbers;
}

std::uint64_t ProblemReader::read(const PairEnergySet& set, std::int64_t first, std::int64_t count,
                                  PairEnergyBlock& block, CountedFrom from) const {
  const std::string group = set_path(set);
  const std::uint64_t hash = impl_->read_charges(group, set, first, count, block);
  const ChargeSource& source = impl_->sources.at(group);
  std::vector<ExactPosition> origin;
  if (from == CountedFrom::origin && source.is_converted())
    origin = first_positions(block.position.data(), block.offset, source.unit_in_angstrom);
  to_angstrom(origin, block.offset, source.unit_in_angstrom, block.position);
  return hash;
}

std::uint64_t ProblemReader::read(const CorrelationSet& set, SignalBlock& block) const {
  expect_range(block.first, block.channels, set.batch, set.name);
  expect_range(block.first_time, block.times, set.times, set.name);
  const std::string group = set_path(set);
  const AxisRange channels{start(set).problem + block.first, block.channels}, times{block.first_time, block.times};
  block.type = set.type;
  block.inputs = set.inputs;
  block.integrate = set.integrate;
  block.sum = set.sum();
  block.resize_signal(set.has_flags);
  std::atomic<std::uint64_t> hash{block.first_time == 0 ? hash_of_channels(set, channels, block.first) : 0};
  // A row is one time of one channel. The block has times.count rows per channel, and the file has set.times.
  const auto read_rows = [&](const char* name, std::int64_t bytes, auto* values) {
    impl_->file.read(group + "/" + name, {channels, times}, values, [&, name, bytes, values](auto row, auto rows) {
      const auto* const all = reinterpret_cast<const std::byte*>(values);
      for (const std::int64_t last = row + rows; row < last;) {
        const std::int64_t channel = row / times.count, time = row % times.count;
        const std::int64_t count = std::min(last - row, times.count - time);  // rows of this channel
        hash += hash_rows(name, (channels.first + channel) * set.times + times.first + time, count,
                          static_cast<std::size_t>(bytes), all + row * bytes);
        row += count;
      }
    });
  };
  const std::int64_t bytes = set.inputs * bytes_of(set.type);
  if (set.type == SampleType::complex_float32) {
    read_rows("signal", bytes, reinterpret_cast<float*>(block.signal.data()));
  } else if (set.type == SampleType::complex_int8) {
    read_rows("signal", bytes, reinterpret_cast<std::int8_t*>(block.signal.data()));
  } else {
    read_rows("signal", bytes, reinterpret_cast<std::uint8_t*>(block.signal.data()));
  }
  if (!set.has_flags) return hash;
  if (impl_->file.dataset(group + "/flag").is(ElementType::uint8)) {
    read_rows("flag", set.inputs, block.flag.data());
  } else {  // -1 is a flag, too
    read_rows("flag", set.inputs, reinterpret_cast<std::int8_t*>(block.flag.data()));
  }
  return hash;
}

template std::uint64_t ProblemReader::read(const SolveSet&, std::int64_t, std::int64_t, SpdBlock<float>&) const;
template std::uint64_t ProblemReader::read(const SolveSet&, std::int64_t, std::int64_t, SpdBlock<double>&) const;
template std::uint64_t ProblemReader::read(const PotentialSet&, std::int64_t, std::int64_t, PotentialBlock<float>&,
                                           CountedFrom) const;
template std::uint64_t ProblemReader::read(const PotentialSet&, std::int64_t, std::int64_t, PotentialBlock<double>&,
                                           CountedFrom) const;

}  // namespace smallbatch
