// Ends of the range of numbers: softenings with squares that nearly underflow, and values that leave the range of their
// type. Truths: closed forms by hand and in long double, which has a wider range. One file, because all cases share
// these truths.
#include <gtest/gtest.h>

#include <string>

#include "core/error.hpp"
#include "physics/charges/potential_backends.hpp"
#include "physics/charges/potential_referee.hpp"
#include "tests/physics/potential_fixture.hpp"

namespace smallbatch::testing {
namespace {

class PotentialRange : public PotentialBackendTest {};
INSTANTIATE_TEST_SUITE_P(Backends, PotentialRange, all_backends, backend_test_name);

template <class T>
constexpr double largest_of = std::numeric_limits<T>::max();

/// Rounds an exact number to the range of T: a number beyond it becomes an infinity.
template <class T>
long double in_range(long double exact) {
  if (std::abs(exact) <= static_cast<long double>(largest_of<T>)) return exact;
  return exact > 0 ? infinity : -infinity;
}

/// V and E of every target, summed in long double, with the sums of the terms' magnitudes.
struct Exact {
  std::vector<long double> potential, magnitude, field, field_magnitude;
};
Exact exact(const Problem& problem, const Where& where, const PotentialOptions& options) {
  Exact all;
  const long double s = options.softening, c = options.cutoff, f = options.unit_factor;
  for (std::int64_t target = 0; target < target_count(problem, where); ++target) {
    long double v = 0, magnitude = 0, field_magnitude = 0;
    Vector field{};
    for (std::size_t i = 0; i < problem.charge.size(); ++i) {
      if (where.kind == at_charges && static_cast<std::int64_t>(i) == target) continue;
      const Vector d = displacement(problem, where, target, i);
      const long double q = f * problem.charge[i], r = norm(d), rho = std::sqrt(r * r + s * s);
      const long double w = c > 0 ? std::max(0.0L, 1 - r * r / (c * c)) : 1;
      v += q / rho * w * w;
      magnitude += std::abs(q / rho);
      const long double along = q / rho * (w * w / (rho * rho) + (c > 0 ? 4 * w / (c * c) : 0));
      for (std::size_t axis = 0; axis < 3; ++axis) field[axis] += along * d[axis];
      field_magnitude += std::abs(q / (rho * rho)) * (1 + (c > 0 ? 2 * rho / c : 0));
    }
    all.potential.push_back(v);
    all.magnitude.push_back(magnitude);
    all.field.insert(all.field.end(), field.begin(), field.end());
    all.field_magnitude.push_back(field_magnitude);
  }
  return all;
}

/// Returns whether `got` is right. The allowed error is a fraction of the sum of magnitudes, plus the smallest number
/// of T. If the allowed error is beyond the range of T, every number except a NaN is right.
template <class T>
bool is_close(T got, long double exact, long double magnitude) {
  const long double allowed = (sizeof(T) == 4 ? 4e-6L : 1e-14L) * magnitude + std::numeric_limits<T>::denorm_min();
  if (allowed > static_cast<long double>(largest_of<T>)) return !std::isnan(got);
  const long double expected = in_range<T>(exact);
  if (std::isinf(expected)) return got == static_cast<T>(expected);
  return std::abs(static_cast<long double>(got) - expected) <= allowed;
}

/// Expects that all values of the first problem are right.
template <class T>
void expect_exact(const Answer<T>& answer, const Problem& problem, const Where& where, const PotentialOptions& options,
                  const std::string& what) {
  const Exact expected = exact(problem, where, options);
  for (std::size_t i = 0; i < expected.potential.size(); ++i) {
    EXPECT_TRUE(is_close(answer.potential[i], expected.potential[i], expected.magnitude[i]))
        << what << ", target " << i << ": " << answer.potential[i] << ", not " << expected.potential[i];
    for (std::size_t k = 3 * i; !answer.field.empty() && k < 3 * i + 3; ++k)
      EXPECT_TRUE(is_close(answer.field[k], expected.field[k], expected.field_magnitude[i]))
          << what << ", E at target " << i << ": " << answer.field[k] << ", not " << expected.field[k];
  }
}

/// Returns whether any value leaves the range of T.
template <class T>
bool leaves(const std::vector<long double>& values) {
  return std::any_of(values.begin(), values.end(), [](long double v) { return std::isinf(in_range<T>(v)); });
}

/// Charges 1, -2 and 0.5. Points lie on two of them, around one of them at distances from 1e-18 on, and farther away.
Problem softened_problem(double softening) {
  Problem problem;
  problem.spacing = {1, 1, 2};
  problem.add(0, 0, 0, 1);
  problem.add(1, 2, 2, -2);
  problem.add(0, 1, 0, 0.5);
  problem.add_point(0, 0, 0);
  problem.add_point(1, 2, 2);
  problem.add_point(0, 0, 3);
  for (const double r : {1e-18, 3e-17, 1e-15, 1e-9, 1e-4}) problem.add_point(0, r, 0);
  if (softening < 1e14) {
    problem.add_point(softening, 0, 0);
    problem.add_point(0, 0, -2 * softening);
  }
  return problem;
}

constexpr double softenings[] = {2e-154, 1e-150, 1e-120, 1e-101, 1e-80, 1e-60, 1e-40, 1e-24, 3e-23, 1e-22, 1e-21, 1e-20,
                                 3e-20,  1e-19,  3e-19,  1e-18,  1e-17, 1e-15, 1e-12, 1e-9,  1e-6,  1e-3,  1,     1e3,
                                 1e6,    1e9,    1e10,   1e12,   1e15,  1e18,  1e20,  1e40,  1e100, 1e150, 6e153};

template <class T>
void expect_softened(Potential& backend, double softening, double cutoff) {
  const Problem problem = softened_problem(softening);
  const PotentialOptions options{Singular::infinite, 14.4, softening, cutoff};
  for (const Where& where : {Where(at_points), Where(at_charges), Where(3, 3, 2)})
    for (const Wanted wanted : {Wanted::potential, Wanted::everything}) {
      const auto answer = evaluate<T>(backend, where, {problem}, options, wanted);
      const std::string what = backend.description() + ", softening " + std::to_string(std::log10(softening)) +
                               ", cut-off " + std::to_string(cutoff) + ", targets " +
                               std::to_string(static_cast<int>(where.kind)) + ", bytes " + std::to_string(sizeof(T));
      expect_exact(answer, problem, where, options, what);
      const Exact values = exact(problem, where, options);
      const bool field = wanted == Wanted::everything;
      const bool any = leaves<T>(values.potential) || (field && leaves<T>(values.field));
      if (any || where.kind != TargetKind::lattice) {
        EXPECT_EQ(answer.info[0], any ? info_values_out_of_range : 0) << what;
      }
    }
}

TEST_P(PotentialRange, SofteningsOfEverySizeFollowTheClosedForms) {
  for (const double softening : softenings)
    for_both_precisions([&](auto zero) { expect_softened<decltype(zero)>(*potential_, softening, 0); });
}

TEST_P(PotentialRange, SofteningsLongerThanTheCutoffFollowThemToo) {
  for (const double softening : {1e-3, 1.0, 2.9, 1e3, 1e8, 1e15, 1e40, 1e150})
    for_both_precisions([&](auto zero) { expect_softened<decltype(zero)>(*potential_, softening, 2.5); });
}

TEST(PotentialRangeOfLanes, SofteningsOfEverySizeFollowTheClosedForms) {
  for (const DirectSumKernels& lanes : usable_direct_sum_kernels())
    for (const double softening : softenings)
      for (const double cutoff : {0.0, 2.5})
        for_both_precisions(
            [&](auto zero) { expect_softened<decltype(zero)>(*make_cpu_potential(1, lanes), softening, cutoff); });
}

void expect_refused(Potential& potential, const PotentialOptions& options, const Problem& problem,
                    const std::vector<std::string>& words) {
  for (const Where& where : {Where(at_points), Where(at_charges), Where(2, 2, 2)}) {
    const Batch batch(where, {problem});
    try {
      evaluate<double>(potential, batch, options, 0, where.shape.nz);
      if (where.kind == TargetKind::lattice || words[0] != "spacing") ADD_FAILURE() << "not refused: " << words[1];
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      for (const std::string& word : words)
        EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  }
}

TEST_P(PotentialRange, SofteningsWithoutASquareAreRefused) {
  const Problem problem = softened_problem(1);
  for (const auto& [softening, text] : {std::pair{5e-324, "4.94066e-324"},
                                        {1e-200, "1e-200"},
                                        {1e-163, "1e-163"},
                                        {1e-155, "1e-155"},
                                        {1e155, "1e+155"},
                                        {1e300, "1e+300"}})
    expect_refused(*potential_, {Singular::infinite, 1, softening, 0}, problem,
                   {"softening", text, "1.49167e-154 to 6.7039e+153 angstrom"});
}

TEST_P(PotentialRange, UnitFactorsThatAreNoNumbersAreRefused) {
  for (const double factor : {infinity, -infinity, static_cast<double>(NAN)})
    expect_refused(*potential_, {Singular::infinite, factor}, softened_problem(1), {"unit factor", "finite"});
}

TEST_P(PotentialRange, SpacingsWithoutASquareAreRefused) {
  Problem problem = softened_problem(1);
  problem.spacing[2] = 1e-142;
  expect_refused(*potential_, {}, problem, {"spacing", "1e-142 on axis 2", "at least 3.28"});
}

/// Returns a problem with charges on the x axis, and the origin as its only target: a lattice of one point, or a point.
Problem on_axis(std::initializer_list<std::array<double, 2>> charges) {
  Problem problem;
  for (const auto& [x, q] : charges) problem.add(x, 0, 0, q);
  problem.add_point(0, 0, 0);
  return problem;
}

TEST_P(PotentialRange, ValuesBeyondItAreInfinitiesOfTheirSign) {
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const T most = static_cast<T>(infinity);
    // V = 2 f and E = -+4 f: the factor f decides which of them leave the range.
    const std::vector<Problem> problems{on_axis({{0.5, 1}}), on_axis({{0.5, -1}}), on_axis({{-0.5, 1}, {500, 1e-9}})};
    struct Case {
      double factor;
      bool potential, field;
    };
    for (const Case& given : {Case{0.2, false, false}, {0.3, false, true}, {-0.3, false, true}, {0.6, true, true}})
      for (const Where& where : {Where(at_points), Where(1, 1, 1)})
        for (const Wanted wanted : {Wanted::potential, Wanted::everything}) {
          const PotentialOptions options{Singular::infinite, given.factor * largest_of<T>};
          const auto answer = evaluate<T>(*potential_, where, problems, options, wanted);
          const bool any = given.potential || (given.field && wanted == Wanted::everything);
          for (std::size_t p = 0; p < 3; ++p) {
            EXPECT_EQ(answer.info[p], any ? info_values_out_of_range : 0) << given.factor;
            const bool negative = (p == 1) != (given.factor < 0);
            EXPECT_EQ(std::isinf(answer.potential[p]), given.potential);
            if (given.potential) {
              EXPECT_EQ(answer.potential[p], negative ? -most : most);
            }
            if (answer.field.empty()) continue;
            const bool points_away = (p == 2) != negative;  // E points away from a charge at positive x
            EXPECT_EQ(std::isinf(answer.field[3 * p]), given.field);
            if (given.field) {
              EXPECT_EQ(answer.field[3 * p], points_away ? most : -most) << p;
            }
            EXPECT_EQ(answer.field[3 * p + 1], 0);
          }
        }
  });
}

TEST_P(PotentialRange, OfLatticesIsDecidedByTheChargesAlone) {
  struct Case {
    const char* what;
    Problem problem;
    PotentialOptions options;
    bool field;
    double sum;  // the sum that decides (info_values_out_of_range), for a unit factor of 1
  };
  Problem near;  // distances of the charges to the nearest points: 0.25 and 0.5
  near.add(1.25, 0, 0, -2);
  near.add(0, 0, 2.5, 3);
  Problem cancelling = near;
  cancelling.add(1.25, 0, 0, 2);
  Problem on_point;
  on_point.spacing = {1, 0.5, 2};
  on_point.add(1, 0.5, 2, 3);
  Problem softened;  // with a softening of 0.4: d = 0.3 and rho = 0.5
  softened.add(1, 0, 1.7, 1);
  softened.add(1, 1, 1, 1);  // on a point: rho = 0.4
  Problem zero = near;
  zero.add(1, 1, 1, 0);
  const Case cases[] = {{"V", near, {}, false, 2 / 0.25 + 3 / 0.5},
                        {"V with E", near, {}, true, 2 / 0.0625 + 3 / 0.25},
                        {"V that cancels", cancelling, {}, false, 4 / 0.25 + 3 / 0.5},
                        {"on a point", on_point, {Singular::skip, 1}, false, 3 / 0.5},
                        {"on a point, singular", on_point, {Singular::infinite, 1}, false, 3 / 0.5},
                        {"on a point, E", on_point, {Singular::skip, 1}, true, 3 / 0.25},
                        {"softened", softened, {Singular::skip, 1, 0.4, 0}, false, 1 / 0.5 + 1 / 0.4},
                        {"softened E", softened, {Singular::skip, 1, 0.4, 0}, true, 1 / 0.25 + 1 / 0.16},
                        {"cut off", near, {Singular::skip, 1, 0, 2}, false, 2 / 0.25 + 3 / 0.5},
                        {"cut off E", near, {Singular::skip, 1, 0, 2}, true, 2 / 0.0625 * 1.25 + 3 / 0.25 * 1.5},
                        {"a charge of zero", zero, {}, false, 2 / 0.25 + 3 / 0.5}};
  const LatticeShape shape{3, 2, 3};
  for (const Case& given : cases)
    for_both_precisions([&](auto zero_of_type) {
      using T = decltype(zero_of_type);
      for (const double part : {1 - 1e-6, 1 + 1e-6}) {  // fraction of the largest number of T
        PotentialOptions options = given.options;
        options.unit_factor = -largest_of<T> / given.sum * part;
        const Batch batch(shape, {random_problem(3, 5, 2), given.problem, random_problem(4, 0, 2)});
        const Wanted wanted = given.field ? Wanted::everything : Wanted::potential;
        const auto whole = evaluate<T>(*potential_, batch, options, 0, shape.nz, wanted);
        const std::int32_t otherwise = options.softening == 0 && given.problem.charge.size() == 1 ? 1 : 0;
        EXPECT_EQ(whole.info[1], part > 1 ? info_values_out_of_range : otherwise)
            << given.what << ", bytes " << sizeof(T);
        EXPECT_EQ(whole.info[2], 0);
        for (const T value : whole.potential_of(1)) EXPECT_FALSE(std::isnan(value)) << given.what;
        // Planes without values out of range have the status, too.
        for (std::int64_t plane = 0; plane < shape.nz; ++plane) {
          const auto one = evaluate<T>(*potential_, batch, options, plane, 1, wanted);
          EXPECT_EQ(one.info, whole.info) << given.what << ", plane " << plane;
        }
      }
    });
}

TEST_P(PotentialRange, OfPointsIsDecidedByTheirValues) {
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const PotentialOptions marked{Singular::infinite, largest_of<T>}, skipped{Singular::skip, largest_of<T>};
    // Targets on a charge, and at 0.5 and at 4 from it.
    Problem singular = on_axis({{0, 1}}), beyond = on_axis({{0, 1}, {4, -0.25}}),
            cancelling = on_axis({{0.5, 1}, {-0.5, -1}});
    singular.add_point(4, 0, 0);
    beyond.add_point(0.5, 0, 0);
    const std::vector<Problem> problems{singular, beyond, cancelling, Problem{}};
    const auto answer = evaluate<T>(*potential_, at_points, problems, marked);
    EXPECT_EQ(answer.info, (std::vector<std::int32_t>{1, info_values_out_of_range, 0, 0}));
    EXPECT_EQ(answer.potential[0], static_cast<T>(infinity));  // by the singularity policy
    EXPECT_NEAR(answer.potential[1] / largest_of<T>, 0.25, 1e-6);
    EXPECT_EQ(answer.potential[3], static_cast<T>(infinity));
    EXPECT_EQ(answer.potential[4], 0);  // infinities that cancel give 0
    const auto without = evaluate<T>(*potential_, at_points, problems, skipped);
    EXPECT_EQ(without.info, answer.info);
    EXPECT_EQ(without.potential[0], 0);
    EXPECT_NEAR(without.potential[2] / largest_of<T>, -0.0625, 1e-6);
    const auto with_field = evaluate_everything<T>(*potential_, at_points, problems, marked);
    EXPECT_EQ(with_field.info, (std::vector<std::int32_t>{1, info_values_out_of_range, info_values_out_of_range, 0}));
    EXPECT_TRUE(std::isnan(with_field.field[0]));  // there is no field at the charge
    EXPECT_EQ(with_field.field[3 * 4], static_cast<T>(-infinity));
    EXPECT_EQ(with_field.field[3 * 4 + 1], 0);
    // Charges as targets: the first and the third are at distances 1 and 0.5 from the second.
    Problem charges;
    for (const double x : {0.0, 1.0, 1.5}) charges.add(x, 0, 0, 0.4);
    const auto own = evaluate<T>(*potential_, at_charges, {charges}, marked);
    EXPECT_EQ(own.info[0], info_values_out_of_range);
    EXPECT_NEAR(own.potential[0] / largest_of<T>, 0.4 + 0.4 / 1.5, 1e-6);
    EXPECT_EQ(own.potential[1], static_cast<T>(infinity));
    EXPECT_EQ(own.potential[2], static_cast<T>(infinity));
  });
}

TEST_P(PotentialRange, TermsThatOverflowLeaveNoNaN) {
  // Terms of E are beyond the range of double precision here, with either sign. So are sums of V's terms.
  for (const double q : {1e15, 1e150}) {
    Problem problem;
    constexpr double s = 1e-152;
    problem.origin = {-2 * s, -s, 0};
    problem.spacing = {0.5, 0.5, 0.5};
    problem.add(s, 0, 0, q);
    problem.add(-s, 0, 0, q);
    problem.add(0, 2 * s, 0, -q / 2);
    problem.add(3, 0, 0, -1);
    for (const double x : {0.0, s, -3 * s, 1e-3}) problem.add_point(x, 0, 0);
    problem.add_point(0, s, 0);
    const PotentialOptions options{Singular::infinite, 1, s, 0};
    for_both_precisions([&](auto zero) {
      using T = decltype(zero);
      if (q > 1e15 && sizeof(T) == 4) return;  // single precision does not accept such charges
      for (const Where& where : {Where(at_points), Where(at_charges), Where(2, 1, 2)}) {
        const auto answer = evaluate_everything<T>(*potential_, where, {problem}, options);
        expect_exact(answer, problem, where, options, "charges of " + std::to_string(q));
        EXPECT_EQ(answer.info[0], info_values_out_of_range);
      }
    });
  }
}

TEST_P(PotentialRange, TinyLatticesKeepTheirDigits) {
  for (const double h : {1e-141, 1e-120, 1e-100, 1e-75, 1e-60}) {
    Problem problem;
    problem.spacing = {h, 2 * h, h};
    problem.add(1.3 * h, 2.2 * h, -h, 1e-40);
    problem.add(2.5 * h, 0.5 * h, 0, -3e-40);
    const LatticeShape shape{4, 3, 2};
    for_both_precisions([&](auto zero) {
      using T = decltype(zero);
      expect_exact(evaluate_everything<T>(*potential_, shape, {problem}), problem, shape, {},
                   "spacing 1e" + std::to_string(std::log10(h)));
    });
  }
}

TEST_P(PotentialRange, SummariesAndEnergiesOfSuchProblemsAreThoseOfTheirValues) {
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    Problem problem;
    problem.add(0.25, 0, 0, 1, 1);
    problem.add(4.25, 0, 0, -2, 2);
    problem.origin = {0.25, 0, 0};
    const double f = sizeof(T) == 4 ? 1e39 : 1.5e308;
    const auto answer = evaluate_everything<T>(*potential_, {2, 1, 2}, {problem}, {Singular::skip, f});
    EXPECT_EQ(answer.info[0], info_values_out_of_range);
    ASSERT_EQ(answer.summary.size(), 2U);
    for (std::size_t plane = 0; plane < 2; ++plane) {
      std::int64_t finite = 0;
      for (std::size_t i = 2 * plane; i < 2 * plane + 2; ++i) finite += std::isfinite(answer.potential[i]) ? 1 : 0;
      EXPECT_EQ(answer.summary[plane].values, finite);
    }
    EXPECT_DOUBLE_EQ(answer.energy[0], -0.5 * f);
  });
}

TEST_P(PotentialRange, BadChargesOutweighIt) {
  Problem bad = on_axis({{0.5, 1}}), far = bad;
  bad.add(1, 1, NAN, 1);
  far.add(1e200, 0, 0, 1);
  for (const Where& where : {Where(at_points), Where(1, 1, 1)})
    for_both_precisions([&](auto zero) {
      using T = decltype(zero);
      const auto answer = evaluate<T>(*potential_, where, {bad, far}, {Singular::infinite, largest_of<T>});
      EXPECT_EQ(answer.info, (std::vector<std::int32_t>{info_charges_not_finite, info_charges_out_of_range}));
      for (const T value : answer.potential) EXPECT_TRUE(std::isnan(value));
    });
}

TEST(ReferenceStatus, LeavesRoomAtTheEdgeOfTheRange) {
  const Problem problem = on_axis({{0.5, 1}});
  const Batch batch({1, 1, 1}, {problem});
  const std::vector<std::int64_t> targets{0};
  std::vector<ReferencePotential> answer(1);
  for (const auto& [part, info, or_else] : {std::tuple{0.9, 0, 0},
                                            {1 - 1e-4, 0, info_values_out_of_range},
                                            {1 + 1e-4, info_values_out_of_range, 0},
                                            {1.1, info_values_out_of_range, info_values_out_of_range}}) {
    const PotentialOptions options{Singular::infinite, 0.5 * part * largest_of<float>};
    const ReferenceStatus status = reference_potential(batch.charges(), batch.lattice(), 0, options,
                                                       ScalarType::float32, targets, answer, 1, false);
    EXPECT_EQ(status.info, info) << part;
    EXPECT_EQ(status.or_else, or_else) << part;
    EXPECT_DOUBLE_EQ(answer[0].potential, 2 * options.unit_factor);
    EXPECT_FALSE(answer[0].singular);
  }
}

}  // namespace
}  // namespace smallbatch::testing
