// Declarations of the problem sets of a file: everything except the numbers. FORMAT.md is the contract.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "core/pair_energies.hpp"
#include "core/potentials.hpp"
#include "core/signals.hpp"
#include "core/systems.hpp"
#include "core/units.hpp"
#include "io/problem_labels.hpp"

#pragma GCC visibility push(default)
namespace smallbatch {

/// /solve/<name>
struct SolveSet {
  static constexpr const char* kind = "solve";  ///< part of the set's path

  std::string name;
  ScalarType type = ScalarType::float32;  ///< of A, b and x
  SpdShape shape;                         ///< of every system
  bool rhs_is_vector = true;              ///< b and x are (batch, n); false: (batch, n, nrhs)
  std::int64_t batch = 0;                 ///< number of systems
  std::int64_t chunk_bytes = 0;           ///< bytes of a chunk of A; 0: A is not chunked
  /// If systems have sizes: how many systems of the file have 0, 1, ... n rows. Otherwise empty.
  std::vector<std::int64_t> systems_of_size;
  bool is_upper = false;  ///< the file has upper triangles; blocks have lower ones (shape.storage)
};

/// Value of the attribute `targets` of a potential set: "lattice", "points" or "charges".
inline std::string target_kind_name(TargetKind kind) {
  return kind == TargetKind::lattice ? "lattice" : kind == TargetKind::points ? "points" : "charges";
}

/// Charges of a set's problems, and the interaction of their pairs. Lengths are in angstrom, whatever unit the file
/// uses.
struct ChargesOfSet {
  std::string name;                                 ///< of the set
  std::int64_t batch = 1;                           ///< number of problems
  std::vector<std::int64_t> offset;                 ///< (batch + 1), from 0 to the number of charges
  bool has_groups = false;                          ///< the energy of group 1 with group 2 is wanted
  double softening = 0, cutoff = 0;                 ///< 0: none
  double screening_length = 0;                      ///< 0: none
  double width = 0;                                 ///< one width for all charges; 0: point charges, or has_widths
  bool has_widths = false;                          ///< each charge has its own width
  double dielectric = 1;                            ///< V is divided by it
  PotentialUnit output_unit = PotentialUnit::volt;  ///< of V
  double temperature = default_temperature_kelvin;  ///< kelvin; used for kT/e only
  ScalarType type = ScalarType::float64;            ///< of the charges' datasets in the file
  bool has_atomic_numbers = false;                  ///< the file has an atomic number for each charge
  ProblemLabels labels;                             ///< names, steps and times of the problems
  std::string particles;                            ///< H5MD group that has the charges; empty: the set has them itself

  /// Number of charges of all problems.
  [[nodiscard]] std::int64_t charges() const { return offset.empty() ? 0 : offset.back(); }
  /// Whether charges may be Gaussian.
  [[nodiscard]] bool is_gaussian() const { return has_widths || width > 0; }
  /// Factor from e/angstrom to the unit of V, divided by the dielectric constant.
  [[nodiscard]] double unit_factor() const { return potential_unit_factor(output_unit, temperature) / dielectric; }
};

/// /potential/<name>. If there are groups, their interaction energy is wanted, too.
struct PotentialSet : ChargesOfSet {
  static constexpr const char* kind = "potential";  ///< part of the set's path

  TargetKind targets = TargetKind::lattice;  ///< where V is wanted
  LatticeShape shape;                        ///< for lattices
  std::vector<double> origin, spacing;       ///< for lattices, (batch, 3), even if the file has one for all
  std::vector<std::int64_t> point_offset;    ///< for points, (batch + 1), from 0, even if problems share their points
  bool has_shared_points = false;            ///< every problem has all points of the file
  bool has_field = false;                    ///< E is wanted, too

  /// Number of targets of the problems before `problem`. For `batch`, the number of all targets.
  [[nodiscard]] std::int64_t targets_before(std::int64_t problem) const {
    if (targets == TargetKind::lattice) return problem * shape.points();
    return (targets == TargetKind::points ? point_offset : offset)[static_cast<std::size_t>(problem)];
  }
};

/// /pair_energy/<name>. Without groups, the energy is that of all pairs of a problem's charges.
struct PairEnergySet : ChargesOfSet {
  static constexpr const char* kind = "pair_energy";  ///< part of the set's path

  bool per_charge = false;  ///< the energy of each charge is wanted, too
};

/// Name of a sample type in result files and in the summary: "float32", "int8" or "int4".
inline std::string sample_type_name(SampleType type) {
  return type == SampleType::complex_float32 ? "float32" : type == SampleType::complex_int8 ? "int8" : "int4";
}

/// Known facts about the inputs and visibilities of a correlation. An empty member is unknown.
struct ArrayLabels {
  std::vector<std::int64_t> antenna;        ///< (inputs): the number of the input's antenna
  std::vector<std::string> antenna_name;    ///< (inputs): the name of the input's antenna
  std::vector<std::string> feed;            ///< (inputs): "x", "y", "r" or "l"
  std::string telescope;                    ///< its name
  std::vector<double> location;             ///< telescope: latitude and longitude (geodetic, degrees), altitude (m)
  std::string phase_center;                 ///< name of the direction that visibilities are phased to
  std::vector<double> phase_center_ra_dec;  ///< of the phase center: right ascension, declination (ICRS, degrees)
  std::string visibility_unit;              ///< "uncalib", "Jy" or "K str"

  /// All members, for comparison.
  [[nodiscard]] auto all() const {
    return std::tie(antenna, antenna_name, feed, telescope, location, phase_center, phase_center_ra_dec,
                    visibility_unit);
  }
};
inline bool operator==(const ArrayLabels& a, const ArrayLabels& b) { return a.all() == b.all(); }

/// /correlation/<name>
struct CorrelationSet {
  static constexpr const char* kind = "correlation";  ///< part of the set's path

  std::string name;
  SampleType type = SampleType::complex_float32;  ///< of the signal
  std::int64_t batch = 0;                         ///< number of channels
  std::int64_t times = 0, inputs = 0;             ///< number of samples of each input; number of inputs
  std::int64_t integrate = 1;                     ///< samples per integration, from 1 to `times`
  bool is_mean = false;                           ///< means are wanted; false: sums
  bool has_flags = false;                         ///< the set has flags for its samples
  std::int64_t chunk_bytes = 0;                   ///< bytes of a chunk of the signal; 0: it is not chunked
  std::vector<double> frequency;                  ///< (channels), Hz; empty: unknown
  std::vector<double> input_position;             ///< (inputs, 3): east, north and up, metres; empty: unknown
  double sample_time = 0;                         ///< seconds from one sample to the next; 0: unknown
  double start_time = 0;                          ///< Julian date (UTC) at which the first sample begins; 0: unknown
  ArrayLabels labels;                             ///< of the inputs and visibilities

  /// Number of integrations of each channel.
  [[nodiscard]] std::int64_t integrations() const { return integrations_of(times, integrate); }
  /// Number of baselines of each integration.
  [[nodiscard]] std::int64_t baselines() const { return baselines_of(inputs); }
  /// Type of a sum in memory.
  [[nodiscard]] SumType sum() const { return sum_type(type, integrate); }
  /// Type of a visibility in the results.
  [[nodiscard]] SumType visibility() const { return is_mean ? SumType::complex_float32 : sum(); }
};

/// Sets of a file: a list for each kind of problem, in the order in which they are computed.
using ProblemSets = std::tuple<std::vector<SolveSet>, std::vector<PotentialSet>, std::vector<PairEnergySet>,
                               std::vector<CorrelationSet>>;

/// Path of the sets of a kind: "/solve".
template <class Set>
std::string kind_path() {
  return std::string("/") + Set::kind;
}
/// Path of a set: "/solve/name".
template <class Set>
std::string set_path(const Set& set) {
  return kind_path<Set>() + "/" + set.name;
}

/// Calls visit(list) for the list of each kind.
template <class Sets, class Visit>
void for_each_kind(Sets& sets, Visit&& visit) {
  std::apply([&](auto&... lists) { (..., visit(lists)); }, sets);
}
/// Calls visit(set) for each set of each kind.
template <class Sets, class Visit>
void for_each_set(Sets& sets, Visit&& visit) {
  for_each_kind(sets, [&](auto& list) {
    for (auto& set : list) visit(set);
  });
}

/// Lowest, highest and mean of the finite values of V, for each problem. NaN if a problem has no finite value.
struct PotentialStatistics {
  std::vector<double> lowest, highest, mean;
};

/// Result of verifying one problem.
enum class Verdict : std::int8_t {
  not_checked = 0,  ///< not compared
  agreed = 1,       ///< the referee has the same answer within the bound, or the same failure
  disagreed = 2,    ///< the referee has another answer
};

/// Work that a run has done for a set.
struct WorkOfSet {
  double compute_seconds = 0;  ///< of the backend
  double amount = 0;           ///< systems, pairs, or complex multiply-adds
  double values_checked = 0;   ///< targets or visibilities compared
};

/// Totals of one set's verification, stored as attributes.
struct VerificationSummary {
  std::string criterion;                                ///< the rule, in words and a formula
  std::int64_t checked = 0, agreed = 0, disagreed = 0;  ///< numbers of answers
  double worst_error_over_bound = 0;                    ///< the largest value among the checked answers
  std::int64_t worst_index = -1;                        ///< problem with this error; -1: nothing was checked

  /// Adds the totals of a share of the set that begins at problem `start`.
  void add(const VerificationSummary& share, std::int64_t start) {
    checked += share.checked;
    agreed += share.agreed;
    disagreed += share.disagreed;
    if (share.worst_index < 0) return;
    if (worst_index >= 0 && worst_error_over_bound >= share.worst_error_over_bound) return;
    worst_error_over_bound = share.worst_error_over_bound;
    worst_index = start + share.worst_index;
  }
};

}  // namespace smallbatch
#pragma GCC visibility pop
