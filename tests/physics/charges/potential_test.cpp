// Potentials on lattices, over the three implementations and both precisions. Truths: closed forms, published lattice
// sums, and a direct sum in long double. One file, because each test runs over all implementations.
#include "physics/potential.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numbers>
#include <utility>

#include "core/error.hpp"
#include "core/units.hpp"
#include "tests/physics/potential_fixture.hpp"

namespace smallbatch::testing {
namespace {

class PotentialTest : public PotentialBackendTest {};
INSTANTIATE_TEST_SUITE_P(Backends, PotentialTest, all_backends, backend_test_name);

TEST_P(PotentialTest, SingleChargeAtPythagoreanDistances) {
  struct Place {
    std::int64_t x, y, z;
    double r;
  };
  const Place places[] = {{3, 4, 0, 5}, {1, 2, 2, 3}, {2, 3, 6, 7},  {0, 0, 8, 8},
                          {4, 4, 7, 9}, {1, 4, 8, 9}, {6, 6, 7, 11}, {8, 9, 12, 17}};
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    Problem problem;
    problem.origin = {-7, 11, 0.5};
    problem.add(-7, 11, 0.5, -2);
    const LatticeShape shape{9, 10, 13};
    const auto answer = evaluate<T>(*potential_, shape, {problem}, {Singular::skip, 1});
    for (const auto& [x, y, z, r] : places) {
      // The correctly rounded value, up to a unit in its last place.
      const T got = answer.potential[(z * shape.ny + y) * shape.nx + x], rounded = static_cast<T>(-2 / r);
      EXPECT_GE(got, std::nextafter(rounded, T{-1})) << x << ' ' << y << ' ' << z;
      EXPECT_LE(got, std::nextafter(rounded, T{0})) << x << ' ' << y << ' ' << z;
    }
    EXPECT_EQ(answer.info[0], 1);
  });
}

TEST_P(PotentialTest, BornIonInVolts) {
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    Problem problem;
    problem.spacing = {0.75, 1, 0.5};
    problem.add(0, 0, 0, 1);
    const double volt = potential_unit_factor(PotentialUnit::volt);
    const auto answer = evaluate<T>(*potential_, {5, 5, 1}, {problem}, {Singular::infinite, volt});
    EXPECT_NEAR(answer.potential[4 * 5 + 4], 14.399645478425672 / 5, 2e-6);  // (3, 4, 0)
    EXPECT_NEAR(answer.potential[2 * 5 + 2], 14.399645478425672 / 2.5, 4e-6);
    EXPECT_EQ(answer.potential[0], static_cast<T>(infinity));
  });
}

TEST_P(PotentialTest, DipoleOnAndOffItsAxis) {
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    Problem problem;  // moment 3 e angstrom along z
    problem.add(0, 0, 0.5, 3);
    problem.add(0, 0, -0.5, -3);
    const auto answer = evaluate<T>(*potential_, {11, 1, 11}, {problem});
    const double rounding = sizeof(T) == 4 ? 1e-6 : 1e-15;
    EXPECT_NEAR(answer.potential[10 * 11], 3 / 9.5 - 3 / 10.5, rounding);
    EXPECT_NEAR(answer.potential[10 * 11], 3.0 / 100, 3.0 / 100 * 0.003);  // p / r^2, far away
    for (std::int64_t x = 1; x < 11; ++x) EXPECT_NEAR(answer.potential[x], 0, rounding) << x;
    const double r2 = 200, cosine = 1 / std::numbers::sqrt2;
    EXPECT_NEAR(answer.potential[10 * 11 + 10], 3 * cosine / r2, 3 * cosine / r2 * 0.003);
  });
}

TEST_P(PotentialTest, UniformShellIsFlatInsideAndAPointOutside) {
  Problem problem = uniform_shell();
  problem.origin = {-3, -3, -3};
  problem.spacing = {0.25, 0.25, 0.25};
  const LatticeShape shape{25, 25, 25};
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto answer = evaluate<T>(*potential_, shape, {problem});
    int inside = 0, outside = 0;
    for (std::int64_t point = 0; point < shape.points(); ++point) {
      const double x = static_cast<double>(point % 25) / 4 - 3, y = static_cast<double>(point / 25 % 25) / 4 - 3;
      const double z = static_cast<double>(point / 625) / 4 - 3, r = std::sqrt(x * x + y * y + z * z);
      if (r > 0.8 && r < 1.3) continue;
      EXPECT_NEAR(answer.potential[point], 5 / std::max(r, 1.0), 5e-4) << r;
      ++(r < 1 ? inside : outside);
    }
    EXPECT_GT(inside, 100);
    EXPECT_GT(outside, 10000);
  });
}

TEST_P(PotentialTest, RockSaltCubesGiveMadelungsConstant) {
  for (const auto& [half_edge, madelung] : {std::pair{10, -1.747568603771808}, {20, -1.747564845218306}}) {
    constexpr double distance = 2.82;
    Problem problem = rock_salt_problem(half_edge, distance);
    problem.origin = {-distance, -distance, -distance};
    problem.spacing = {distance, distance, distance};
    for_both_precisions([&](auto zero) {
      using T = decltype(zero);
      const auto answer = evaluate<T>(*potential_, {3, 3, 3}, {problem}, {Singular::skip, distance});
      EXPECT_NEAR(answer.potential[13], madelung, 1e-6);
      EXPECT_NEAR(answer.potential[14], -madelung, 1e-3);  // a neighbour of the other sign, off the centre
      EXPECT_EQ(answer.info[0], 27);
      if (sizeof(T) == 8) {
        EXPECT_NEAR(answer.potential[13], madelung, 1e-12);
      }
    });
  }
}

TEST_P(PotentialTest, EveryPointWithinTheBound) {
  const LatticeShape shape{23, 20, 18};
  for (const bool neutral : {true, false}) {
    Problem problem = random_problem(7, 1500, 20, neutral);
    problem.spacing = {0.9, 1.03, 1.1};
    if (!neutral)  // With charges of one sign, the rounding errors of a running sum add up most.
      for (double& q : problem.charge) q = std::abs(q);
    for_both_precisions([&](auto zero) {
      using T = decltype(zero);
      const PotentialOptions options{Singular::infinite, 332.06371329919225};
      const auto answer = evaluate<T>(*potential_, shape, {problem}, options);
      const Comparison found = compare_with_truth(answer, problem, shape, options);
      expect_agrees(found);
      EXPECT_LT(found.worst, 0.5);  // half the bound, because many errors partly cancel
      EXPECT_EQ(answer.info[0], 0);
    });
  }
}

TEST_P(PotentialTest, ManyChargesOfOneSignFarFromTheLattice) {
  // All distances are nearly alike. Every partial sum grows evenly, and L/r is as small as possible.
  Problem problem;
  const ChargeSet set = random_charges(3, 0, {20000, {40, 40, 40}, {1, 1, 1}, false});
  problem.position = set.position;
  for (const double q : set.charge) problem.charge.push_back(1 + 0.1 * q);
  const LatticeShape shape{13, 5, 4};
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto answer = evaluate<T>(*potential_, shape, {problem});
    expect_agrees(compare_with_truth(answer, problem, shape));
  });
}

TEST_P(PotentialTest, OneChargeThatOutweighsTheRest) {
  // Each later addition rounds a sum in which the first charge outweighs all others.
  const LatticeShape shape{14, 13, 12};
  Problem problem = random_problem(121, 257, 15);
  problem.charge[0] = 200;
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto answer = evaluate<T>(*potential_, shape, {problem});
    expect_agrees(compare_with_truth(answer, problem, shape));
  });
}

TEST_P(PotentialTest, AnyShape) {
  for (const LatticeShape shape :
       {LatticeShape{1, 1, 1}, {5, 3, 2}, {1, 1, 40}, {1, 37, 1}, {33, 17, 3}, {65, 65, 65}}) {
    const Problem problem = random_problem(11, shape.points() > 100000 ? 5 : 70, 9);
    for_both_precisions([&](auto zero) {
      using T = decltype(zero);
      const auto answer = evaluate<T>(*potential_, shape, {problem});
      expect_agrees(compare_with_truth(answer, problem, shape));
    });
  }
}

// On the GPU, potentials in single precision use all tiles of lattice.cu. The whole lattice has large tiles, 40 planes
// have medium tiles, and one plane has small tiles.
TEST_P(PotentialTest, LargeLatticesAndTheirPlanesHaveTheSameBits) {
  const LatticeShape shape{130, 131, 132};
  const Problem problem = random_problem(1201, 19, 9);
  const Batch batch(shape, {problem});
  const auto check = [&](auto zero, Wanted wanted) {
    using T = decltype(zero);
    const auto whole = evaluate<T>(*potential_, batch, {}, 0, shape.nz, wanted);
    const std::pair<std::int64_t, std::int64_t> parts[] = {{0, 1}, {77, 1}, {shape.nz - 1, 1}, {60, 40}};
    for (const auto& [plane, planes] : parts) {
      const auto alone = evaluate<T>(*potential_, batch, {}, plane, planes, wanted);
      const std::int64_t skipped = plane * shape.plane_points();
      const auto same = [&](const std::vector<T>& of_all, const std::vector<T>& of_part, std::int64_t numbers) {
        const auto begin = of_all.begin() + skipped * numbers;
        return same_bits({begin, begin + static_cast<std::int64_t>(of_part.size())}, of_part);
      };
      EXPECT_TRUE(same(whole.potential, alone.potential, 1)) << plane;
      if (wanted == Wanted::everything) {
        EXPECT_TRUE(same(whole.field, alone.field, 3)) << plane;
      }
    }
    for (std::int64_t point = 0; point < shape.points(); point += 4099) {
      const Truth expected = truth<T>(problem, shape, point, {}, extent(problem, shape));
      EXPECT_LE(std::abs(static_cast<double>(whole.potential[static_cast<std::size_t>(point)]) - expected.potential),
                expected.bound)
          << point;
    }
  };
  for_both_precisions([&](auto zero) {
    check(zero, Wanted::potential);
    check(zero, Wanted::everything);
  });
}

TEST_P(PotentialTest, ScalesAndAddsUp) {
  const LatticeShape shape{12, 11, 10};
  const Problem a = random_problem(21, 300, 10);
  const Problem b = random_problem(22, 200, 10);
  Problem scaled = a, both = a;
  for (double& q : scaled.charge) q *= -4;
  both.position.insert(both.position.end(), b.position.begin(), b.position.end());
  both.charge.insert(both.charge.end(), b.charge.begin(), b.charge.end());
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto answer = evaluate<T>(*potential_, shape, {a, b, scaled, both});
    const auto* const values = answer.potential.data();
    Comparison sums;
    for (std::int64_t point = 0; point < shape.points(); ++point) {
      const T va = values[point], vb = values[shape.points() + point];
      EXPECT_EQ(values[2 * shape.points() + point], -4 * va);
      const Truth expected = truth<T>(both, shape, point, {}, extent(both, shape));
      sums.add(error_over_bound(values[3 * shape.points() + point], static_cast<double>(va) + vb, expected.bound),
               point);
    }
    expect_agrees(sums);
  });
}

TEST_P(PotentialTest, TranslationLosesNothing) {
  const LatticeShape shape{14, 9, 8};
  Problem here = random_problem(31, 300, 10);
  for (double& x : here.position) x = std::round(x * 0x1p30) * 0x1p-30;  // adding 1000 is then exact
  Problem there = here;
  for (double& x : there.position) x += 1000;
  for (double& x : there.origin) x += 1000;
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto a = evaluate<T>(*potential_, shape, {here});
    const auto b = evaluate<T>(*potential_, shape, {there});
    EXPECT_TRUE(same_bits(a.potential, b.potential));
    expect_agrees(compare_with_truth(b, there, shape));
  });
}

TEST_P(PotentialTest, SplitsAndBatchesDoNotChangeBits) {
  const LatticeShape shape{19, 7, 9};
  std::vector<Problem> problems;
  for (const std::int64_t charges : {0, 1, 255, 0, 256, 257, 1000, 32, 33, 0}) {
    problems.push_back(random_problem(40 + static_cast<std::uint64_t>(charges), charges, 15));
    problems.back().spacing = {0.8, 1.5, 1.0 + 0.01 * static_cast<double>(problems.size())};
  }
  problems[2].add(problems[2].origin[0] + 1.6, problems[2].origin[1], problems[2].origin[2] + 4, 1);  // near a point
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const Batch batch(shape, problems);
    const auto whole = evaluate<T>(*potential_, batch, {}, 0, shape.nz);
    const std::int64_t points = shape.points(), plane = shape.plane_points();

    std::vector<T> singles;
    for (std::size_t p = 0; p < problems.size(); ++p) {
      const auto single = evaluate<T>(*potential_, shape, {problems[p]});
      singles.insert(singles.end(), single.potential.begin(), single.potential.end());
      EXPECT_EQ(single.info[0], whole.info[p]) << p;
      expect_agrees(compare_with_truth(whole, problems[p], shape, {}, static_cast<std::int64_t>(p)));
    }
    EXPECT_TRUE(same_bits(whole.potential, singles));

    std::vector<T> joined(whole.potential.size());
    std::int64_t first = 0;
    for (const std::int64_t count : {1, 3, 5}) {
      const auto part = evaluate<T>(*potential_, batch, {}, first, count);
      EXPECT_EQ(part.info, whole.info);
      for (std::size_t p = 0; p < problems.size(); ++p)
        std::copy_n(part.potential.begin() + static_cast<std::int64_t>(p) * count * plane, count * plane,
                    joined.begin() + static_cast<std::int64_t>(p) * points + first * plane);
      first += count;
    }
    EXPECT_TRUE(same_bits(whole.potential, joined));
    EXPECT_TRUE(same_bits(whole.potential, evaluate<T>(*potential_, batch, {}, 0, shape.nz).potential));
    for (std::int64_t point = 0; point < points; ++point) EXPECT_EQ(whole.potential[point], T{0});
  });
}

TEST_P(PotentialTest, ZeroChargeOnAPointContributesNothing) {
  const LatticeShape shape{6, 5, 4};
  Problem without = random_problem(51, 90, 5);
  Problem with;
  with.origin = without.origin;
  with.add(with.origin[0] + 3, with.origin[1] + 2, with.origin[2] + 1, 0);
  with.add(with.origin[0], with.origin[1], with.origin[2], -0.0);
  Problem zeros_first = with;
  zeros_first.position.insert(zeros_first.position.end(), without.position.begin(), without.position.end());
  zeros_first.charge.insert(zeros_first.charge.end(), without.charge.begin(), without.charge.end());
  with.position.insert(with.position.begin(), without.position.begin(), without.position.end());
  with.charge.insert(with.charge.begin(), without.charge.begin(), without.charge.end());
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    for (const Singular policy : {Singular::infinite, Singular::skip}) {
      const auto a = evaluate<T>(*potential_, shape, {without}, {policy, 1});
      const auto b = evaluate<T>(*potential_, shape, {with}, {policy, 1});
      expect_agrees(compare_with_truth(b, with, shape, {policy, 1}));
      EXPECT_EQ(b.info[0], 0);
      EXPECT_TRUE(same_bits(a.potential, b.potential));
      const auto c = evaluate<T>(*potential_, shape, {zeros_first}, {policy, 1});
      expect_agrees(compare_with_truth(c, zeros_first, shape, {policy, 1}));
      EXPECT_EQ(c.info[0], 0);
    }
  });
}

TEST_P(PotentialTest, ChargesOnPointsFollowThePolicy) {
  const LatticeShape shape{9, 8, 7};
  Problem problem = random_problem(61, 300, 8);
  const auto put = [&](double x, double y, double z, double q) {
    problem.add(problem.origin[0] + x, problem.origin[1] + y, problem.origin[2] + z, q);
  };
  put(4, 3, 2, 0.5);    // positive
  put(8, 7, 6, -1e-9);  // negative, in the last corner
  put(1, 1, 1, 0.25);   // cancel
  put(1, 1, 1, -0.25);
  put(2, 2, 2, 0.1);  // cancel, up to rounding
  put(2, 2, 2, 0.2);
  put(2, 2, 2, -0.3);
  put(5, 5, 5, -2);  // net -1
  put(5, 5, 5, 1);
  put(3, 3, -1, 7);  // on no point, because the lattice begins at 0
  const auto at = [&](int x, int y, int z) { return static_cast<std::size_t>((z * 8 + y) * 9 + x); };
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto marked = evaluate<T>(*potential_, shape, {problem}, {Singular::infinite, 2});
    EXPECT_EQ(marked.info[0], 9);
    EXPECT_EQ(marked.potential[at(4, 3, 2)], static_cast<T>(infinity));
    EXPECT_EQ(marked.potential[at(8, 7, 6)], static_cast<T>(-infinity));
    EXPECT_EQ(marked.potential[at(5, 5, 5)], static_cast<T>(-infinity));
    EXPECT_TRUE(std::isfinite(marked.potential[at(1, 1, 1)]));
    EXPECT_TRUE(std::isfinite(marked.potential[at(2, 2, 2)]));
    expect_agrees(compare_with_truth(marked, problem, shape, {Singular::infinite, 2}));

    const auto skipped = evaluate<T>(*potential_, shape, {problem}, {Singular::skip, 2});
    EXPECT_EQ(skipped.info[0], 9);
    for (const T value : skipped.potential) EXPECT_TRUE(std::isfinite(value));
    expect_agrees(compare_with_truth(skipped, problem, shape, {Singular::skip, 2}));
  });
}

TEST_P(PotentialTest, ChargesCloseToPoints) {
  const LatticeShape shape{65, 9, 65};
  for (const double distance : {0.3, 1e-2, 1e-3, 1e-4, 1e-5, 2e-6, 5e-7, 1e-7, 1e-12}) {
    Problem problem = random_problem(71, 20, 30);
    problem.spacing = {0.5, 0.6, 0.7};
    const double off = distance * 0.5;
    for (const auto& [x, y, z] : {std::array{0, 0, 0}, {64, 8, 64}, {31, 5, 17}, {63, 0, 1}})
      problem.add(problem.origin[0] + x * 0.5 + off, problem.origin[1] + y * 0.6, problem.origin[2] + z * 0.7, 1.5);
    for_both_precisions([&](auto zero) {
      using T = decltype(zero);
      for (const Singular policy : {Singular::infinite, Singular::skip}) {
        const auto answer = evaluate<T>(*potential_, shape, {problem}, {policy, 1});
        EXPECT_EQ(answer.info[0], distance < 1e-6 ? 4 : 0) << distance;
        expect_agrees(compare_with_truth(answer, problem, shape, {policy, 1}));
      }
    });
  }
}

TEST_P(PotentialTest, LongLatticeWhereSinglePrecisionBlursNeighbours) {
  // A rounding of 2^-24 of the last coordinate is 0.6 % of a spacing. Several points around each charge are therefore
  // summed in double precision.
  const LatticeShape shape{100001, 1, 1};
  Problem problem;
  problem.origin = {5, 0, 0};
  problem.spacing = {0.1, 3, 3};
  for (int i = 0; i < 12; ++i) problem.add(5 + 833.333333 * i + 0.0123 * i, 1e-4 * i, 0, i % 2 == 0 ? 1 : -2);
  problem.add(5 + 99990 * 0.1, 0, 0, 1);  // on a point, up to rounding
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto answer = evaluate<T>(*potential_, shape, {problem});
    EXPECT_EQ(answer.info[0], 2);  // the first charge is on the first point
    expect_agrees(compare_with_truth(answer, problem, shape));
  });
}

TEST_P(PotentialTest, UnevenSpacings) {
  const LatticeShape shape{200, 6, 5};
  Problem problem = random_problem(81, 100, 3);
  problem.spacing = {1e-3, 0.5, 20};
  for (int i = 0; i < 20; ++i)
    problem.add(problem.origin[0] + 1e-3 * i * 9.7, problem.origin[1] + 0.5 * (i % 6), problem.origin[2] + 20 * (i % 5),
                1);
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto answer = evaluate<T>(*potential_, shape, {problem});
    expect_agrees(compare_with_truth(answer, problem, shape));
  });
}

TEST_P(PotentialTest, TinyLattice) {
  // Squares of these distances are below single precision's normal numbers.
  const LatticeShape shape{4, 3, 2};
  Problem problem;
  problem.spacing = {1e-20, 2e-20, 1e-20};
  problem.add(1.3e-20, 2.2e-20, -1e-20, 1e-10);
  problem.add(3e-20, 0, 0, -1e-10);
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto answer = evaluate<T>(*potential_, shape, {problem});
    EXPECT_EQ(answer.info[0], 1);
    expect_agrees(compare_with_truth(answer, problem, shape));
  });
}

TEST_P(PotentialTest, OneFarChargeDoesNotSpoilTheOthers) {
  // The bound grows with the largest extent, but the errors must not. Near charges keep the accuracy of their
  // distances.
  const LatticeShape shape{17, 16, 15};
  const Problem near = random_problem(91, 200, 14);
  Problem both = near;
  both.add(3e8, -2e8, 1e8, 2);
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto a = evaluate<T>(*potential_, shape, {near});
    const auto b = evaluate<T>(*potential_, shape, {both});
    expect_agrees(compare_with_truth(b, both, shape));
    Comparison found;
    for (std::int64_t point = 0; point < shape.points(); ++point) {
      const Truth alone = truth<T>(near, shape, point, {}, extent(near, shape));
      found.add(error_over_bound(b.potential[point], alone.potential, alone.bound + 1e-8), point);
    }
    expect_agrees(found);
    EXPECT_EQ(b.info[0], 0);
  });
}

TEST_P(PotentialTest, BadChargesAreAStatusAndLeaveNeighboursAlone) {
  const LatticeShape shape{7, 6, 5};
  const Problem good = random_problem(101, 400, 6);
  Problem nan_position = good, infinite_position = good, nan_charge = good, far = good, strong = good, both = good;
  nan_position.position[7] = NAN;
  infinite_position.position[1199] = -infinity;
  nan_charge.charge[399] = NAN;
  far.position[600] = 3e15;
  strong.charge[200] = -3e15;
  both.position[600] = 3e15;
  both.charge[5] = infinity;
  const std::vector<Problem> problems{nan_position, good, infinite_position, nan_charge, far, strong, both, good};
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto alone = evaluate<T>(*potential_, shape, {good});
    const auto answer = evaluate<T>(*potential_, shape, problems);
    const std::int32_t range = sizeof(T) == 4 ? info_charges_out_of_range : 0;
    const std::int32_t bad = info_charges_not_finite;
    EXPECT_EQ(answer.info, (std::vector<std::int32_t>{bad, 0, bad, bad, range, range, bad, 0}));
    for (std::size_t p = 0; p < problems.size(); ++p) {
      const std::vector<T> values(answer.potential.begin() + static_cast<std::int64_t>(p) * shape.points(),
                                  answer.potential.begin() + static_cast<std::int64_t>(p + 1) * shape.points());
      if (answer.info[p] < 0) {
        for (const T value : values) EXPECT_TRUE(std::isnan(value)) << p;
      } else if (p == 1 || p == 7) {
        EXPECT_TRUE(same_bits(values, alone.potential)) << p;
      } else {
        expect_agrees(compare_with_truth(answer, problems[p], shape, {}, static_cast<std::int64_t>(p)));
      }
    }
  });
}

TEST_P(PotentialTest, LatticeOutOfRangeOfSinglePrecision) {
  Problem problem;
  problem.spacing = {1e15, 1, 1};
  problem.add(0.5, 0, 0, 1);
  EXPECT_EQ(evaluate<float>(*potential_, {3, 1, 1}, {problem}).info[0], info_charges_out_of_range);
  const auto answer = evaluate<double>(*potential_, {3, 1, 1}, {problem});
  EXPECT_EQ(answer.info[0], 0);
  expect_agrees(compare_with_truth(answer, problem, {3, 1, 1}));
}

TEST_P(PotentialTest, NothingToDo) {
  const Batch none({2, 2, 2}, {});
  const auto answer = evaluate<float>(*potential_, none, {}, 0, 2);
  EXPECT_TRUE(answer.potential.empty());
}

TEST_P(PotentialTest, CallsThatMakeNoSenseAreRefused) {
  const auto refused = [&](const LatticeShape& shape, const Problem& problem, std::int64_t first, std::int64_t count,
                           const std::string& words) {
    const Batch batch(shape, {random_problem(1, 3, 1), problem});
    std::vector<float> values(1000, -1.0F);
    std::vector<std::int32_t> info(2, -99);
    try {
      potential_->evaluate(batch.charges(), batch.lattice(first, count), {},
                           PotentialResult<float>{values.data(), info.data()});
      ADD_FAILURE() << "not refused: " << words;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::bad_input);
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
    EXPECT_EQ(values, std::vector<float>(1000, -1.0F));
  };
  const Problem fine = random_problem(2, 3, 1);
  refused({0, 3, 3}, fine, 0, 3, "0 x 3 x 3");
  refused({3, 3, -1}, fine, 0, 1, "no points");
  refused({std::int64_t{1} << 40, std::int64_t{1} << 30, 5}, fine, 0, 5, "too many");
  refused({3, 3, 3}, fine, -1, 2, "planes");
  refused({3, 3, 3}, fine, 2, 2, "planes");
  refused({3, 3, 3}, fine, 0, 0, "planes");
  for (const double spacing : {0.0, -1.0, static_cast<double>(NAN), infinity}) {
    Problem problem = fine;
    problem.spacing[1] = spacing;
    refused({3, 3, 3}, problem, 0, 3, "spacing of problem 1");
  }
  Problem problem = fine;
  problem.origin[2] = NAN;
  refused({3, 3, 3}, problem, 0, 3, "origin of problem 1");

  Batch batch({2, 2, 2}, {fine, fine});
  batch.offset[1] = 9;
  std::vector<double> values(16);
  std::vector<std::int32_t> info(2);
  EXPECT_THROW(
      potential_->evaluate(batch.charges(), batch.lattice(), {}, PotentialResult<double>{values.data(), info.data()}),
      Error);
}

TEST_P(PotentialTest, SaysWhatRuns) {
  const std::string description = potential_->description();
  const char* const start[] = {"cuda:0 direct sum", "cpu direct sum ", "reference eigen"};
  EXPECT_EQ(description.find(start[static_cast<int>(GetParam())]), 0U) << description;
  if (GetParam() == BackendKind::cpu && backend_.instruction_set != InstructionSet::best) {
    EXPECT_EQ(description, "cpu direct sum " + std::string(instruction_set_name(backend_.instruction_set)));
  }
}

TEST(PotentialFactory, GpuThatIsNotThere) {
  for (const int device : {-1, 4096}) {
    try {
      (void)make_potential({BackendKind::cuda, device, 0});
      ADD_FAILURE() << "made one on GPU " << device;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::no_device);
      EXPECT_NE(std::string(error.what()).find("GPU " + std::to_string(device)), std::string::npos) << error.what();
    }
  }
}

TEST(PotentialThreads, NumberOfThreadsDoesNotChangeBits) {
  const LatticeShape shape{40, 30, 5};
  const Problem problem = random_problem(111, 100, 20);
  for (const BackendKind kind : {BackendKind::cpu, BackendKind::reference}) {
    const auto one = evaluate<float>(*make_potential(backend_under_test(kind, 1)), shape, {problem});
    const auto three = evaluate<float>(*make_potential(backend_under_test(kind, 3)), shape, {problem});
    EXPECT_TRUE(same_bits(one.potential, three.potential));
  }
}

}  // namespace
}  // namespace smallbatch::testing
