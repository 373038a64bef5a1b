// What a file declares about its problem sets: everything but the numbers. FORMAT.md is the contract.
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
  static constexpr const char* kind = "solve";  ///< of the path

  std::string name;
  ScalarType type = ScalarType::float32;  ///< of A, b and x
  SpdShape shape;                         ///< every system's
  bool rhs_is_vector = true;              ///< b and x are (batch, n); false: (batch, n, nrhs)
  std::int64_t batch = 0;                 ///< how many systems
  std::int64_t chunk_bytes = 0;           ///< of the chunks that A is stored in; 0 where it lies in one piece
  /// Where systems have sizes of their own: how many of the file's have 0, 1, ... n rows. Or else empty.
  std::vector<std::int64_t> systems_of_size;
  bool is_upper = false;  ///< the file has upper triangles; blocks have lower ones, as the shape's storage says
};

/// "lattice", "points", "charges": what the attribute targets of a potential set calls them.
inline std::string target_kind_name(TargetKind kind) {
  return kind == TargetKind::lattice ? "lattice" : kind == TargetKind::points ? "points" : "charges";
}

/// Charges of problems, and by what their pairs are measured. Lengths are in angstrom here, whatever unit the file
/// uses.
struct ChargesOfSet {
  std::string name;                                 ///< of the set
  std::int64_t batch = 1;                           ///< how many problems
  std::vector<std::int64_t> offset;                 ///< (batch + 1), from 0 to the number of charges
  bool has_groups = false;                          ///< charges of group 1 meet those of group 2 in an energy
  double softening = 0, cutoff = 0;                 ///< 0: none
  double screening_length = 0;                      ///< 0: none
  double width = 0;                                 ///< of all charges, which are Gaussian; 0: points, or has_widths
  bool has_widths = false;                          ///< each charge has a width of its own
  double dielectric = 1;                            ///< V is divided by it
  PotentialUnit output_unit = PotentialUnit::volt;  ///< of V
  double temperature = default_temperature_kelvin;  ///< kelvin; matters for kT/e
  ScalarType type = ScalarType::float64;            ///< of the charges' datasets in the file
  bool has_atomic_numbers = false;                  ///< the file says what the charges are
  ProblemLabels labels;                             ///< what the problems are called
  std::string particles;                            ///< H5MD group the charges come from; empty: datasets of the set

  /// Charges of all problems.
  [[nodiscard]] std::int64_t charges() const { return offset.empty() ? 0 : offset.back(); }
  /// Whether charges may be Gaussian.
  [[nodiscard]] bool is_gaussian() const { return has_widths || width > 0; }
  /// What turns e/angstrom into the unit of V, in the dielectric.
  [[nodiscard]] double unit_factor() const { return potential_unit_factor(output_unit, temperature) / dielectric; }
};

/// /potential/<name>. With groups their interaction energy is wanted, too.
struct PotentialSet : ChargesOfSet {
  static constexpr const char* kind = "potential";  ///< of the path

  TargetKind targets = TargetKind::lattice;  ///< where V is wanted
  LatticeShape shape;                        ///< of lattices
  std::vector<double> origin, spacing;       ///< of lattices, (batch, 3), also where the file has one for all
  std::vector<std::int64_t> point_offset;    ///< of points, (batch + 1), from 0; also where all problems share theirs
  bool has_shared_points = false;            ///< the file has one problem's points, which are every problem's
  bool has_field = false;                    ///< E is wanted, too

  /// Targets of the problems before this one; of all problems for `batch`.
  [[nodiscard]] std::int64_t targets_before(std::int64_t problem) const {
    if (targets == TargetKind::lattice) return problem * shape.points();
    return (targets == TargetKind::points ? point_offset : offset)[static_cast<std::size_t>(problem)];
  }
};

/// /pair_energy/<name>. Without groups all pairs of a problem's charges meet.
struct PairEnergySet : ChargesOfSet {
  static constexpr const char* kind = "pair_energy";  ///< of the path

  bool per_charge = false;  ///< the energy of each charge is wanted, too
};

/// "float32", "int8", "int4": what result files and the summary call samples.
inline std::string sample_type_name(SampleType type) {
  return type == SampleType::complex_float32 ? "float32" : type == SampleType::complex_int8 ? "int8" : "int4";
}

/// What a correlation's inputs and visibilities are, as far as it is known: what is empty is not.
struct ArrayLabels {
  std::vector<std::int64_t> antenna;        ///< (inputs): the number of the input's antenna
  std::vector<std::string> antenna_name;    ///< (inputs): what that antenna is called
  std::vector<std::string> feed;            ///< (inputs): "x", "y", "r" or "l"
  std::string telescope;                    ///< its name
  std::vector<double> location;             ///< of it: latitude and longitude (geodetic, degrees), altitude (m)
  std::string phase_center;                 ///< the name of the place that visibilities are phased to
  std::vector<double> phase_center_ra_dec;  ///< that place: right ascension and declination (ICRS, degrees)
  std::string visibility_unit;              ///< "uncalib", "Jy" or "K str"

  /// All of them, to be compared.
  [[nodiscard]] auto all() const {
    return std::tie(antenna, antenna_name, feed, telescope, location, phase_center, phase_center_ra_dec,
                    visibility_unit);
  }
};
inline bool operator==(const ArrayLabels& a, const ArrayLabels& b) { return a.all() == b.all(); }

/// /correlation/<name>
struct CorrelationSet {
  static constexpr const char* kind = "correlation";  ///< of the path

  std::string name;
  SampleType type = SampleType::complex_float32;  ///< of the signal
  std::int64_t batch = 0;                         ///< channels
  std::int64_t times = 0, inputs = 0;             ///< samples of each input, and how many inputs
  std::int64_t integrate = 1;                     ///< samples per integration, at least 1, at most all
  bool is_mean = false;                           ///< means are wanted; false: sums
  bool has_flags = false;                         ///< some samples may count for nothing
  std::int64_t chunk_bytes = 0;        ///< of the chunks that the signal is stored in; 0 where it lies in one piece
  std::vector<double> frequency;       ///< of the channels, Hz; empty where it is not known
  std::vector<double> input_position;  ///< (inputs, 3): east, north and up, metres; empty where they are not known
  double sample_time = 0;              ///< seconds from one sample to the next; 0 where it is not known
  double start_time = 0;               ///< when the first sample begins, Julian date (UTC); 0 where it is not known
  ArrayLabels labels;                  ///< of its inputs and visibilities

  /// Of each channel: how many integrations, and how many baselines of each.
  [[nodiscard]] std::int64_t integrations() const { return integrations_of(times, integrate); }
  [[nodiscard]] std::int64_t baselines() const { return baselines_of(inputs); }
  /// What a sum is in memory, and what a visibility is in the results.
  [[nodiscard]] SumType sum() const { return sum_type(type, integrate); }
  [[nodiscard]] SumType visibility() const { return is_mean ? SumType::complex_float32 : sum(); }
};

/// The sets of a file: a list for each kind of problem, in the order in which they are worked on.
using ProblemSets = std::tuple<std::vector<SolveSet>, std::vector<PotentialSet>, std::vector<PairEnergySet>,
                               std::vector<CorrelationSet>>;

/// "/solve/name"; and of a kind, "/solve".
template <class Set>
std::string kind_path() {
  return std::string("/") + Set::kind;
}
template <class Set>
std::string set_path(const Set& set) {
  return kind_path<Set>() + "/" + set.name;
}

/// Calls visit(list) for the list of each kind; visit(set) for each set.
template <class Sets, class Visit>
void for_each_kind(Sets& sets, Visit&& visit) {
  std::apply([&](auto&... lists) { (..., visit(lists)); }, sets);
}
template <class Sets, class Visit>
void for_each_set(Sets& sets, Visit&& visit) {
  for_each_kind(sets, [&](auto& list) {
    for (auto& set : list) visit(set);
  });
}

/// The least, the greatest and the mean of the finite values of V, one each per problem; NaN where there are none.
struct PotentialStatistics {
  std::vector<double> lowest, highest, mean;
};

/// What verification says of a system, a problem of charges or a channel.
enum class Verdict : std::int8_t {
  not_checked = 0,  ///< nobody looked
  agreed = 1,       ///< the referee gives the same answer within the bound, or also finds that there is none
  disagreed = 2,    ///< wrong
};

/// What a set has taken, of a run.
struct WorkOfSet {
  double compute_seconds = 0;  ///< of the backend
  double amount = 0;           ///< systems, pairs, or complex multiply-adds
  double values_checked = 0;   ///< targets or visibilities compared
};

/// Totals of one set's verification, stored as attributes.
struct VerificationSummary {
  std::string criterion;                                ///< the rule, in words and a formula
  std::int64_t checked = 0, agreed = 0, disagreed = 0;  ///< how many answers
  double worst_error_over_bound = 0;                    ///< of those that were checked
  std::int64_t worst_index = -1;                        ///< whose that is; -1 where nothing was checked

  /// Adds what was found of a share of the set that begins at `start`.
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
