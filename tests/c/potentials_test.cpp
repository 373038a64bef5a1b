// Potentials and pair energies through the C interface, against sums in long double that are written out here.
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "tests/c/places.hpp"

namespace smallbatch::testing {

namespace {

/// Two problems of five charges each. Positions and charges are exact in single precision, so float and double arrays
/// hold equal numbers.
struct Molecules {
  static constexpr std::int64_t count = 2, each = 5, total = count * each;
  Molecules() {
    std::mt19937 random(3);
    const auto uniform = [&random](double low, double high) {
      return static_cast<double>(static_cast<float>(low + (high - low) * static_cast<double>(random() % 1000) / 1000));
    };
    for (std::int64_t i = 0; i < total; ++i) {
      for (int axis = 0; axis < 3; ++axis) position.push_back(uniform(0.1, 3.9));
      charge.push_back(uniform(-1, 1));
      group.push_back(static_cast<std::int8_t>(i % 3));
    }
  }
  template <class T>
  [[nodiscard]] std::vector<T> xyzq() const {
    std::vector<T> together;
    for (std::int64_t i = 0; i < total; ++i) {
      for (int axis = 0; axis < 3; ++axis) together.push_back(static_cast<T>(position[3 * i + axis]));
      together.push_back(static_cast<T>(charge[i]));
    }
    return together;
  }
  [[nodiscard]] long double distance(std::int64_t i, const double* point) const {
    long double squares = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const long double d = static_cast<long double>(point[axis]) - position[3 * i + axis];
      squares += d * d;
    }
    return std::sqrt(squares);
  }
  /// V and E at a point of problem p, without charge `left_out`.
  [[nodiscard]] std::vector<double> values(std::int64_t p, const double* point, std::int64_t left_out = -1) const {
    long double v[4] = {};
    for (std::int64_t i = p * each; i < (p + 1) * each; ++i) {
      if (i == left_out) continue;
      const long double r = distance(i, point);
      v[0] += charge[i] / r;
      for (int axis = 0; axis < 3; ++axis)
        v[1 + axis] += charge[i] * (static_cast<long double>(point[axis]) - position[3 * i + axis]) / (r * r * r);
    }
    return {v, v + 4};
  }
  [[nodiscard]] double interaction(std::int64_t p) const {
    long double sum = 0;
    for (std::int64_t i = p * each; i < (p + 1) * each; ++i)
      for (std::int64_t j = p * each; j < (p + 1) * each; ++j)
        if (group[i] == 1 && group[j] == 2) sum += charge[i] * charge[j] / distance(i, &position[3 * j]);
    return static_cast<double>(sum);
  }
  [[nodiscard]] double pairs(std::int64_t p) const {
    long double sum = 0;
    for (std::int64_t i = p * each; i < (p + 1) * each; ++i)
      for (std::int64_t j = p * each; j < i; ++j) sum += charge[i] * charge[j] / distance(i, &position[3 * j]);
    return static_cast<double>(sum);
  }
  std::vector<double> position, charge;
  std::vector<std::int8_t> group;
};

/// Ways to pass charges: separate arrays, xyzq as float or double, or separate arrays with offsets.
enum class Given { apart, floats, doubles, with_offsets };
constexpr Given every_way[] = {Given::apart, Given::floats, Given::doubles, Given::with_offsets};

}  // namespace

class Potentials : public PlaceTest {
 protected:
  /// The molecules in the memory under test, passed in the way of `given`.
  struct Charges {
    Charges(Place& place, smallbatch_memory memory, Given given)
        : position(place, molecules.position),
          charge(place, molecules.charge),
          group(place, molecules.group),
          floats(place, molecules.xyzq<float>()),
          doubles(place, molecules.xyzq<double>()),
          offset(place, {0, 5, 10}) {
      smallbatch_charges_init(&arguments, memory, molecules.count, molecules.total);
      if (given == Given::floats || given == Given::doubles) {
        arguments.xyzq = given == Given::floats ? static_cast<const void*>(floats.there()) : doubles.there();
        arguments.xyzq_type = given == Given::floats ? SMALLBATCH_FLOAT32 : SMALLBATCH_FLOAT64;
      } else {
        arguments.position = position.there();
        arguments.charge = charge.there();
      }
      if (given == Given::with_offsets) arguments.offset = offset.there();
    }
    Molecules molecules;
    Array<double> position, charge;
    Array<std::int8_t> group;
    Array<float> floats;
    Array<double> doubles;
    Array<std::int64_t> offset;
    smallbatch_charges arguments{};
  };

  void evaluate(const smallbatch_charges& charges, const smallbatch_targets& targets,
                const smallbatch_potentials& potentials, const smallbatch_potential_options* options) {
    with_workspace(
        [&](std::size_t* bytes) {
          return smallbatch_potential_workspace(handle_, &charges, &targets, &potentials, options, bytes);
        },
        [&](void* workspace, std::size_t bytes) {
          return smallbatch_potential(handle_, &charges, &targets, &potentials, options, workspace, bytes);
        });
  }

  void sum_pairs(const smallbatch_charges& charges, smallbatch_type precision, Array<double>& energy,
                 Array<std::int32_t>& info, Array<double>& of_charge) {
    smallbatch_pair_energies energies;
    smallbatch_pair_energies_init(&energies, precision);
    energies.energy = energy.there();
    energies.info = info.there();
    energies.energy_per_charge = of_charge.there();
    with_workspace(
        [&](std::size_t* bytes) {
          return smallbatch_pair_energy_workspace(handle_, &charges, &energies, nullptr, bytes);
        },
        [&](void* workspace, std::size_t bytes) {
          return smallbatch_pair_energy(handle_, &charges, &energies, nullptr, workspace, bytes);
        });
  }

  template <class T>
  void check_lattice(Given given) {
    const std::int64_t nx = 5, ny = 3, nz = 4, planes = 2;
    Charges charges(*place_, memory(), given);
    charges.arguments.group = charges.group.there();
    Array<double> origin = array<double>({0, 0, 0, 0.05, 0.05, 0.05});
    Array<double> spacing = array<double>({1, 1, 1, 0.5, 0.75, 1});
    const std::int64_t values = 2 * planes * ny * nx;
    Array<T> potential = array(std::vector<T>(static_cast<std::size_t>(values), -77));
    Array<T> field = array(std::vector<T>(static_cast<std::size_t>(3 * values), -77));
    Array<std::int32_t> info = array<std::int32_t>({-99, -99});
    Array<double> energy = array<double>({-77, -77});
    Array<smallbatch_potential_summary> summary = array(std::vector<smallbatch_potential_summary>(2 * planes));
    smallbatch_targets targets;
    smallbatch_lattice_init(&targets, nx, ny, nz);
    targets.origin = origin.there();
    targets.spacing = spacing.there();
    targets.first_plane = 1;
    targets.plane_count = planes;
    targets.smallest_spacing = given == Given::apart ? 0.5 : 0;
    smallbatch_potentials potentials;
    smallbatch_potentials_init(&potentials, type_of<T>);
    potentials.potential = potential.there();
    potentials.field = field.there();
    potentials.info = info.there();
    potentials.energy = energy.there();
    potentials.summary = summary.there();
    smallbatch_potential_options options;
    smallbatch_potential_options_init(&options);
    options.unit_factor = 2;
    evaluate(charges.arguments, targets, potentials, &options);
    if (HasFatalFailure()) return;
    EXPECT_EQ(info.back(), (std::vector<std::int32_t>{0, 0}));
    const double tolerance = 5e4 * std::numeric_limits<T>::epsilon();  // terms are up to some hundreds
    std::size_t at = 0;
    for (std::int64_t p = 0; p < 2; ++p) {
      EXPECT_NEAR(energy.back()[p], 2 * charges.molecules.interaction(p), 1e-10);
      for (std::int64_t z = 1; z < 1 + planes; ++z) {
        double lowest = std::numeric_limits<double>::infinity(), sum = 0;
        for (std::int64_t y = 0; y < ny; ++y)
          for (std::int64_t x = 0; x < nx; ++x, ++at) {
            const std::int64_t index[] = {x, y, z};
            double point[3];
            for (int axis = 0; axis < 3; ++axis)
              point[axis] = origin.here[3 * p + axis] + static_cast<double>(index[axis]) * spacing.here[3 * p + axis];
            const std::vector<double> expected = charges.molecules.values(p, point);
            const auto v = static_cast<double>(potential.back()[at]);
            ASSERT_NEAR(v, 2 * expected[0], tolerance) << p << " " << x << " " << y << " " << z;
            for (std::size_t axis = 0; axis < 3; ++axis)
              ASSERT_NEAR(static_cast<double>(field.back()[3 * at + axis]), 2 * expected[1 + axis], 20 * tolerance);
            lowest = std::min(lowest, v);
            sum += v;
          }
        const smallbatch_potential_summary& found = summary.back()[p * planes + z - 1];
        EXPECT_EQ(found.values, nx * ny);
        EXPECT_EQ(found.lowest, lowest);
        EXPECT_NEAR(found.sum, sum, 1e-10 * static_cast<double>(nx * ny));
      }
    }
  }
};

TEST_P(Potentials, OnLatticesAreThoseOfTheSum) {
  for (const Given given : every_way) {
    SCOPED_TRACE(static_cast<int>(given));
    check_lattice<float>(given);
    check_lattice<double>(given);
  }
}

TEST_P(Potentials, AtPointsAndChargesAreThoseOfTheSum) {
  for (const Given given : every_way) {
    SCOPED_TRACE(static_cast<int>(given));
    Charges charges(*place_, memory(), given);
    Array<double> point = array<double>({0, 0, 0, 4, 4, 4, -1, 2, 0.5, 5, 5, 5, 0, 4, 0, 2, 2, 9});
    Array<std::int64_t> offset = array<std::int64_t>({0, 3, 6});
    Array<double> potential = array(std::vector<double>(10, -77));
    Array<std::int32_t> info = array<std::int32_t>({-99, -99});
    smallbatch_targets targets;
    smallbatch_points_init(&targets, 6);
    targets.point = point.there();
    if (given == Given::with_offsets) targets.point_offset = offset.there();
    smallbatch_potentials potentials;
    smallbatch_potentials_init(&potentials, SMALLBATCH_FLOAT64);
    potentials.potential = potential.there();
    potentials.info = info.there();
    evaluate(charges.arguments, targets, potentials, nullptr);
    if (HasFatalFailure()) return;
    EXPECT_EQ(info.back(), (std::vector<std::int32_t>{0, 0}));
    for (std::int64_t k = 0; k < 6; ++k)
      EXPECT_NEAR(potential.back()[k], charges.molecules.values(k / 3, &point.here[3 * k])[0], 1e-12) << k;
    EXPECT_EQ(potential.back()[6], -77);

    smallbatch_at_charges_init(&targets);
    evaluate(charges.arguments, targets, potentials, nullptr);
    if (HasFatalFailure()) return;
    for (std::int64_t i = 0; i < charges.molecules.total; ++i)
      EXPECT_NEAR(potential.back()[i], charges.molecules.values(i / 5, &charges.molecules.position[3 * i], i)[0], 1e-11)
          << i;
  }
}

TEST_P(Potentials, OptionsReachTheSum) {
  // A charge of 1 lies at a lattice point, and the next point is a spacing of 2 away.
  Array<float> xyzq = array<float>({0, 0, 0, 1});
  Array<double> origin = array<double>({0, 0, 0}), spacing = array<double>({2, 1, 1});
  Array<double> potential = array<double>({-77, -77});
  Array<std::int32_t> info = array<std::int32_t>({-99});
  smallbatch_charges charges;
  smallbatch_charges_init(&charges, memory(), 1, 1);
  charges.xyzq = xyzq.there();
  charges.xyzq_type = SMALLBATCH_FLOAT32;
  smallbatch_targets targets;
  smallbatch_lattice_init(&targets, 2, 1, 1);
  targets.origin = origin.there();
  targets.spacing = spacing.there();
  smallbatch_potentials potentials;
  smallbatch_potentials_init(&potentials, SMALLBATCH_FLOAT64);
  potentials.potential = potential.there();
  potentials.info = info.there();
  const auto values = [&](const smallbatch_potential_options& options) {
    evaluate(charges, targets, potentials, &options);
    return potential.back();
  };
  smallbatch_potential_options options;
  smallbatch_potential_options_init(&options);
  EXPECT_EQ(values(options), (std::vector<double>{std::numeric_limits<double>::infinity(), 0.5}));
  EXPECT_EQ(info.back()[0], 1);
  options.singular = SMALLBATCH_SKIP;
  EXPECT_EQ(values(options), (std::vector<double>{0, 0.5}));
  options.softening = 1.5;  // rho = 2.5
  EXPECT_NEAR(values(options)[1], 0.4, 1e-15);
  options.softening = 0;
  options.cutoff = 4;  // (1 - 1/4)^2 / 2
  EXPECT_NEAR(values(options)[1], 0.28125, 1e-15);
  options.screening_length = 8;  // an additional factor of exp(-2/8)
  EXPECT_NEAR(values(options)[1], 0.28125 * std::exp(-0.25), 1e-14);
  Array<double> width = array<double>({0.5});
  charges.width = width.there();
  EXPECT_EQ(smallbatch_potential(handle_, &charges, &targets, &potentials, &options, nullptr, 0),
            SMALLBATCH_INVALID_ARGUMENT);
  EXPECT_NE(std::string(smallbatch_last_error(handle_)).find("screening length"), std::string::npos);
  options.screening_length = options.cutoff = 0;
  const std::vector<double> found = values(options);
  EXPECT_NEAR(found[0], 2 * std::sqrt(2 / std::numbers::pi), 1e-14);  // sqrt(2/pi)/w
  EXPECT_NEAR(found[1], std::erf(2 / (std::sqrt(2) * 0.5)) / 2, 1e-14);
  EXPECT_EQ(info.back()[0], 0);
}

TEST_P(Potentials, OfGaussianPairsHaveBothWidths) {
  // Problem 0 is a pair of Gaussian charges at a distance of 2. Problem 1 is a point charge and a Gaussian charge at
  // one position.
  Array<std::int64_t> offset = array<std::int64_t>({0, 2, 4});
  Array<double> position = array<double>({0, 0, 0, 0, 2, 0, 1, 1, 1, 1, 1, 1});
  Array<double> charge = array<double>({1, -2, 3, 1}), width = array<double>({0.6, 0.8, 0, 0.5});
  Array<double> energy = array<double>({-77, -77}), of_charge = array(std::vector<double>(4, -77));
  Array<std::int32_t> info = array<std::int32_t>({-99, -99});
  smallbatch_charges charges;
  smallbatch_charges_init(&charges, memory(), 2, 4);
  charges.offset = offset.there();
  charges.position = position.there();
  charges.charge = charge.there();
  charges.width = width.there();
  for (const smallbatch_type precision : {SMALLBATCH_FLOAT32, SMALLBATCH_FLOAT64}) {
    sum_pairs(charges, precision, energy, info, of_charge);
    if (HasFatalFailure()) return;
    EXPECT_EQ(info.back(), (std::vector<std::int32_t>{0, 0}));
    const double allowed = precision == SMALLBATCH_FLOAT32 ? 1e-5 : 1e-14;
    EXPECT_NEAR(energy.back()[0], -std::erf(2 / std::sqrt(2)), allowed);  // w = 1
    EXPECT_NEAR(energy.back()[1], 3 * 2 * std::sqrt(2 / std::numbers::pi), allowed);
    EXPECT_NEAR(of_charge.back()[3], 3 * std::sqrt(2 / std::numbers::pi), allowed);
  }
}

TEST_P(Potentials, OfPairsAreTheEnergy) {
  for (const Given given : every_way)
    for (const smallbatch_type precision : {SMALLBATCH_FLOAT32, SMALLBATCH_FLOAT64})
      for (const bool has_groups : {false, true}) {
        Charges charges(*place_, memory(), given);
        if (has_groups) charges.arguments.group = charges.group.there();
        Array<double> energy = array<double>({-77, -77}), of_charge = array(std::vector<double>(10, -77));
        Array<std::int32_t> info = array<std::int32_t>({-99, -99});
        sum_pairs(charges.arguments, precision, energy, info, of_charge);
        if (HasFatalFailure()) return;
        EXPECT_EQ(info.back(), (std::vector<std::int32_t>{0, 0}));
        for (std::int64_t p = 0; p < 2; ++p) {
          const double expected = has_groups ? charges.molecules.interaction(p) : charges.molecules.pairs(p);
          EXPECT_NEAR(energy.back()[p], expected, precision == SMALLBATCH_FLOAT32 ? 1e-4 : 1e-11);
          double sum = 0;
          for (std::int64_t i = 5 * p; i < 5 * p + 5; ++i) sum += of_charge.back()[i];
          EXPECT_NEAR(sum, energy.back()[p], 1e-4);
        }
      }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Potentials, all_places, place_test_name);

}  // namespace smallbatch::testing
