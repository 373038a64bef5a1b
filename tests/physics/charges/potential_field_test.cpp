// The field E = -grad V. Truths: closed forms, the laws of electrostatics, differences of V, and a direct sum in long
// double. One file, because a field must pass all of these tests.
#include <gtest/gtest.h>

#include <numbers>

#include "tests/physics/potential_fixture.hpp"

namespace smallbatch::testing {
namespace {

class PotentialField : public PotentialBackendTest {};
INSTANTIATE_TEST_SUITE_P(Backends, PotentialField, all_backends, backend_test_name);

/// Evaluates the problem at its points.
template <class T>
Answer<T> at_its_points(Potential& backend, const Problem& problem, const PotentialOptions& options = {}) {
  return evaluate_everything<T>(backend, at_points, {problem}, options);
}

template <class T>
double dot(const Answer<T>& answer, std::size_t target, const std::array<double, 3>& n) {
  double sum = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) sum += static_cast<double>(answer.field[3 * target + axis]) * n[axis];
  return sum;
}

TEST_P(PotentialField, OneChargeByHand) {
  Problem problem;
  problem.origin = {-2, -3, -6};
  problem.spacing = {2, 3, 6};
  problem.add(0, 0, 0, -5);
  problem.add_point(2, 3, 6);  // at distance 7
  const double volt = 14.399645478425672;
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    for (const Where& where : {Where(at_points), Where(3, 3, 3)}) {
      const auto answer = evaluate_everything<T>(*potential_, where, {problem}, {Singular::infinite, volt});
      const std::size_t target = where.kind == at_points ? 0 : 26;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double expected = -5 * volt / 343 * std::array{2, 3, 6}[axis];
        EXPECT_NEAR(answer.field[3 * target + axis], expected, (sizeof(T) == 4 ? 1e-6 : 1e-14) * std::abs(expected));
      }
      EXPECT_NEAR(answer.potential[target], -5 * volt / 7, sizeof(T) == 4 ? 1e-5 : 1e-13);
    }
  });
}

TEST_P(PotentialField, EveryLatticePointWithinTheBounds) {
  for (const LatticeShape shape :
       {LatticeShape{1, 1, 1}, {5, 3, 2}, {1, 1, 40}, {1, 37, 1}, {33, 17, 3}, {15, 14, 13}}) {
    Problem problem = random_problem(311, 700, 14);
    problem.spacing = {0.9, 1.03, 1.1};
    const auto put = [&](double x, double y, double z, double q) {
      problem.add(problem.origin[0] + x, problem.origin[1] + y, problem.origin[2] + z, q);
    };
    put(0, 0, 0, 1);  // on a point
    put(0.9 + 1e-4, 1.03, 0, -1);
    put(1.8, 1e-5, 0, 1);
    for_both_precisions([&](auto zero) {
      using T = decltype(zero);
      for (const Singular policy : {Singular::infinite, Singular::skip}) {
        const auto answer = evaluate_everything<T>(*potential_, shape, {problem}, {policy, 332.06371329919225});
        EXPECT_EQ(answer.info[0], 1);
        expect_agrees(compare_with_truth(answer, problem, shape, {policy, 332.06371329919225}));
      }
    });
  }
}

TEST_P(PotentialField, ExtremeScales) {
  for (const double scale : {1e-20, 1e-14, 1e-9, 1e9, 1e11, 1e13, 1e14}) {
    Problem problem = random_problem(321, 60, 1);
    add_random_points(problem, 322, 30, 1);
    for (double& x : problem.position) x *= scale;
    for (double& x : problem.points) x *= scale;
    for (double& q : problem.charge) q *= std::min(scale, 1e3);
    for (double& x : problem.origin) x *= scale;
    for (double& x : problem.spacing) x *= scale * 0.3;
    const PotentialOptions options{Singular::skip, 1};
    for_both_precisions([&](auto zero) {
      using T = decltype(zero);
      for (const Where& where : {Where(at_points), Where(at_charges), Where(5, 4, 3)}) {
        const auto answer = evaluate_everything<T>(*potential_, where, {problem}, options);
        EXPECT_EQ(answer.info[0], true_info(problem, where, options));
        expect_agrees(compare_with_truth(answer, problem, where, options));
      }
    });
  }
}

TEST_P(PotentialField, PointsFarFromAllCharges) {
  Problem problem = random_problem(323, 60, 5);
  for (const double far : {0.0, 1e3, 1e8, 1e11, 1e13, 1e14}) problem.add_point(far, -far / 2, far / 3);
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    expect_agrees(compare_with_truth(evaluate_everything<T>(*potential_, at_points, {problem}), problem, at_points));
  });
}

TEST_P(PotentialField, AStrongChargeBeforeManyWeakOnes) {
  // Each weak charge contributes a few units in the last place of the strong one's terms, rounded by half a unit. A
  // running sum would be wrong by about 90 units. The bound leaves about 20 units for E and 5 for V.
  Problem problem = random_problem(325, 100000, 2, false);
  for (double& q : problem.charge) q *= 5;
  problem.position.insert(problem.position.begin(), {1, 2, -1});
  problem.charge.insert(problem.charge.begin(), 1e6);
  problem.origin = {1, 0.25, -1};
  problem.spacing = {0.1, 0.1, 0.1};
  for (int i = 0; i < 12; ++i) problem.add_point(1 + 0.1 * (i % 3), 0.25 + 0.1 * (i / 3 % 2), -1 + 0.1 * (i / 6));
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    for (const Where& where : {Where(3, 2, 2), Where(at_points)})
      expect_agrees(compare_with_truth(evaluate_everything<T>(*potential_, where, {problem}), problem, where));
  });
}

TEST_P(PotentialField, IsTheSlopeOfThePotential) {
  // Richardson's extrapolation of central differences has an error of fourth order in h.
  constexpr double h = 1e-3;
  Problem problem = random_problem(331, 40, 6);
  const std::array<double, 3> places[] = {{0, 7, 0}, {7, 3, -1}, {-3, 0, 2}, {3, 5, 6}, {12, -9, 4}};
  for (const auto& place : places) {
    problem.add_point(place[0], place[1], place[2]);
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (const double step : {h, -h, 2 * h, -2 * h}) {
        std::array<double, 3> p = place;
        p[axis] += step;
        problem.add_point(p[0], p[1], p[2]);
      }
  }
  for (const PotentialOptions& options : {PotentialOptions{},
                                          {Singular::infinite, 1, 0.7, 0},
                                          {Singular::infinite, 1, 0, 8},
                                          {Singular::infinite, 3, 0.4, 9}}) {
    const auto answer = at_its_points<double>(*potential_, problem, options);
    for (std::size_t place = 0; place < 5; ++place)
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double* const v = answer.potential.data() + 13 * place + 1 + 4 * axis;
        const double near = (v[0] - v[1]) / (2 * h), far = (v[2] - v[3]) / (4 * h), slope = (4 * near - far) / 3;
        // At a cut-off the second derivative jumps, so the error is of first order in h there.
        const double allowed = options.cutoff > 0 ? 1e-5 : 1e-8;
        EXPECT_NEAR(answer.field[3 * 13 * place + axis], -slope, allowed * options.unit_factor) << place << ' ' << axis;
      }
  }
}

/// Points and weights of the Gauss-Legendre rule with 4 points on [0, 1].
constexpr double gauss_place[4] = {0.06943184420297371, 0.33000947820757187, 0.6699905217924281, 0.9305681557970263};
constexpr double gauss_weight[4] = {0.17392742256872692, 0.32607257743127307, 0.32607257743127307, 0.17392742256872692};

TEST_P(PotentialField, FluxThroughABoxIsTheChargeWithin) {
  // A face has 20 x 20 cells of 4 x 4 points. Charges keep a distance of 0.8 from the faces, at least five half edges
  // of a cell. The rule is therefore good to 1e-7.
  Problem problem;
  const double corner[3] = {-1, 2, -3}, edge[3] = {4, 5, 6};
  double within = 0;
  const ChargeSet set = random_charges(341, 0, {60, {-0.2, 2.8, -2.2}, {2.4, 3.4, 4.4}, false});
  for (std::size_t i = 0; i < 60; ++i) {
    problem.add(set.position[3 * i], set.position[3 * i + 1], set.position[3 * i + 2], set.charge[i]);
    within += set.charge[i];
  }
  problem.add(5, 4, 0, 17);  // outside
  problem.add(0, 0.5, 9, -11);
  std::vector<double> weight;
  std::vector<std::array<double, 3>> normal;
  constexpr int cells = 20;
  for (std::size_t axis = 0; axis < 3; ++axis)
    for (const int side : {0, 1})
      for (int i = 0; i < 4 * cells; ++i)
        for (int j = 0; j < 4 * cells; ++j) {
          const std::size_t u = (axis + 1) % 3, v = (axis + 2) % 3;
          double p[3];
          p[axis] = corner[axis] + side * edge[axis];
          p[u] = corner[u] + edge[u] * (i / 4 + gauss_place[i % 4]) / cells;
          p[v] = corner[v] + edge[v] * (j / 4 + gauss_place[j % 4]) / cells;
          problem.add_point(p[0], p[1], p[2]);
          weight.push_back(gauss_weight[i % 4] * gauss_weight[j % 4] * edge[u] * edge[v] / (cells * cells));
          normal.push_back({0, 0, 0});
          normal.back()[axis] = side == 1 ? 1 : -1;
        }
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto answer = at_its_points<T>(*potential_, problem);
    double flux = 0;
    for (std::size_t i = 0; i < weight.size(); ++i) flux += weight[i] * dot(answer, i, normal[i]);
    EXPECT_NEAR(flux, 4 * std::numbers::pi * within, sizeof(T) == 4 ? 1e-3 : 1e-6);
    EXPECT_GT(std::abs(within), 0.1);
  });
}

TEST_P(PotentialField, LaplacianVanishesAwayFromCharges) {
  // Computes div E and the Laplacian of V on a lattice by central differences of fourth order, away from the charges.
  Problem problem = random_problem(351, 100, 3);
  problem.origin = {6, 0, 1};
  constexpr double h = 0.05;
  problem.spacing = {h, h, h};
  const LatticeShape shape{9, 9, 9};
  const auto answer = evaluate_everything<double>(*potential_, shape, {problem});
  const auto field = [&](std::int64_t x, std::int64_t y, std::int64_t z, std::size_t axis) {
    return answer.field[3 * static_cast<std::size_t>((z * 9 + y) * 9 + x) + axis];
  };
  const auto v = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    return answer.potential[static_cast<std::size_t>((z * 9 + y) * 9 + x)];
  };
  double largest_slope = 0;
  for (std::int64_t x = 2; x < 7; ++x)
    for (std::int64_t y = 2; y < 7; ++y)
      for (std::int64_t z = 2; z < 7; ++z) {
        double divergence = 0, laplacian = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const std::int64_t dx = axis == 0, dy = axis == 1, dz = axis == 2;
          const auto at = [&](std::int64_t k) { return field(x + k * dx, y + k * dy, z + k * dz, axis); };
          const auto value = [&](std::int64_t k) { return v(x + k * dx, y + k * dy, z + k * dz); };
          const double slope = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h);
          divergence += slope;
          largest_slope = std::max(largest_slope, std::abs(slope));
          laplacian += (16 * (value(1) + value(-1)) - (value(2) + value(-2)) - 30 * value(0)) / (12 * h * h);
        }
        EXPECT_NEAR(divergence, 0, 1e-6);
        EXPECT_NEAR(laplacian, 0, 1e-6);
      }
  EXPECT_GT(largest_slope, 1e-3);  // the sum vanishes, but its terms do not
}

TEST_P(PotentialField, DipoleFarAway) {
  // E = (3 (p.n) n - p)/r^3, up to (d/r)^2.
  constexpr double d = 0.01;
  const std::array<double, 3> p{0.6, -0.48, 0.64};  // |p| = 1
  Problem problem;
  problem.add(p[0] * d / 2, p[1] * d / 2, p[2] * d / 2, 1 / d);
  problem.add(-p[0] * d / 2, -p[1] * d / 2, -p[2] * d / 2, -1 / d);
  const std::array<double, 3> directions[] = {
      {1, 0, 0}, {0, -1, 0}, {2. / 3, 1. / 3, -2. / 3}, {0.6, -0.48, 0.64}, {0.8, 0.6, 0}};
  for (const auto& n : directions) problem.add_point(5 * n[0], 5 * n[1], 5 * n[2]);
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto answer = at_its_points<T>(*potential_, problem);
    for (std::size_t i = 0; i < 5; ++i) {
      const auto& n = directions[i];
      const double along = p[0] * n[0] + p[1] * n[1] + p[2] * n[2];
      const double allowed = sizeof(T) == 4 ? 1e-4 : 1e-7;  // charges of 100 and -100 e nearly cancel
      EXPECT_NEAR(answer.potential[i], along / 25, allowed);
      for (std::size_t axis = 0; axis < 3; ++axis)
        EXPECT_NEAR(answer.field[3 * i + axis], (3 * along * n[axis] - p[axis]) / 125, allowed) << i;
    }
  });
}

TEST_P(PotentialField, QuadrupoleFarAway) {
  // Charges 1, -2 and 1 at distance d along z have Q = 2 d^2. Then V = Q (3 cos^2 - 1)/(2 r^3) and E_r = 3 V/r. Across,
  // E_theta = 3 Q cos sin / r^4.
  constexpr double d = 0.05, quadrupole = 2 * d * d;
  Problem problem;
  problem.add(0, 0, d, 1);
  problem.add(0, 0, 0, -2);
  problem.add(0, 0, -d, 1);
  const double angles[] = {0, 0.4, 0.9553166181245093, 1.2, std::numbers::pi / 2, 2.5};
  for (const double angle : angles) problem.add_point(4 * std::sin(angle), 0, 4 * std::cos(angle));
  const auto answer = at_its_points<double>(*potential_, problem);
  for (std::size_t i = 0; i < 6; ++i) {
    const double cosine = std::cos(angles[i]), sine = std::sin(angles[i]);
    const double v = quadrupole * (3 * cosine * cosine - 1) / (2 * 64);
    const double allowed = quadrupole * 1e-3 / 64;  // the next order of the expansion is smaller by about (d/r)^2
    EXPECT_NEAR(answer.potential[i], v, allowed);
    EXPECT_NEAR(dot(answer, i, {sine, 0, cosine}), 3 * v / 4, 4 * allowed);
    EXPECT_NEAR(dot(answer, i, {cosine, 0, -sine}), 3 * quadrupole * cosine * sine / 256, 4 * allowed);
    EXPECT_NEAR(answer.field[3 * i + 1], 0, 1e-14);
  }
}

TEST_P(PotentialField, UniformShellHasNoneInsideAndAPointChargesOutside) {
  Problem problem = uniform_shell();
  const std::array<double, 3> directions[] = {{1, 0, 0}, {0, -1, 0}, {2. / 3, 1. / 3, -2. / 3}, {0.6, -0.48, 0.64}};
  const double radii[] = {0, 0.2, 0.6, 1.5, 2, 7};
  for (const double r : radii)
    for (const auto& n : directions) problem.add_point(r * n[0], r * n[1], r * n[2]);
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto answer = at_its_points<T>(*potential_, problem);
    std::size_t target = 0;
    for (const double r : radii)
      for (const auto& n : directions) {
        EXPECT_NEAR(answer.potential[target], 5 / std::max(r, 1.0), 1e-3) << r;
        for (std::size_t axis = 0; axis < 3; ++axis)
          EXPECT_NEAR(answer.field[3 * target + axis], r > 1 ? 5 * n[axis] / (r * r) : 0, 2e-3) << r;
        ++target;
      }
  });
}

TEST_P(PotentialField, AddsUp) {
  Problem a = random_problem(361, 300, 10), b = random_problem(362, 200, 10);
  add_random_points(a, 363, 100, 10);
  b.points = a.points;
  Problem scaled = a, both = a;
  for (double& q : scaled.charge) q *= -4;
  both.position.insert(both.position.end(), b.position.begin(), b.position.end());
  both.charge.insert(both.charge.end(), b.charge.begin(), b.charge.end());
  for_both_precisions([&](auto zero) {
    using T = decltype(zero);
    const auto answer = evaluate_everything<T>(*potential_, at_points, {a, b, scaled, both});
    Comparison sums;
    for (std::size_t i = 0; i < 100; ++i) {
      const Truth expected = truth<T>(both, at_points, static_cast<std::int64_t>(i), {}, extent(both, at_points));
      for (std::size_t k = 3 * i; k < 3 * i + 3; ++k) {
        const T* const e = answer.field.data() + k;
        EXPECT_EQ(e[600], -4 * e[0]);
        sums.add(
            error_over_bound(e[900], static_cast<double>(e[0]) + static_cast<double>(e[300]), expected.field_bound),
            static_cast<std::int64_t>(k));
      }
    }
    expect_agrees(sums);
  });
}

TEST_P(PotentialField, TranslationLosesNothing) {
  Problem here = random_problem(371, 300, 10);
  add_random_points(here, 372, 100, 10);
  for (auto* const numbers : {&here.position, &here.points})
    for (double& x : *numbers) x = std::round(x * 0x1p30) * 0x1p-30;  // adding 1000 is then exact
  Problem there = here;
  for (auto* const numbers : {&there.position, &there.points})
    for (double& x : *numbers) x += 1000;
  for (double& x : there.origin) x += 1000;
  for (const Where& where : {Where(at_points), Where(at_charges), Where(9, 5, 6)})
    for_both_precisions([&](auto zero) {
      using T = decltype(zero);
      const auto a = evaluate_everything<T>(*potential_, where, {here});
      const auto b = evaluate_everything<T>(*potential_, where, {there});
      EXPECT_TRUE(same_bits(a.potential, b.potential));
      EXPECT_TRUE(same_bits(a.field, b.field));
      expect_agrees(compare_with_truth(b, there, where));
    });
}

TEST_P(PotentialField, TurnsWithTheCharges) {
  // Rotation by 90 degrees about z: (x, y, z) -> (-y, x, z).
  Problem here = random_problem(381, 300, 10);
  add_random_points(here, 382, 100, 10);
  Problem turned = here;
  for (auto* const numbers : {&turned.position, &turned.points})
    for (std::size_t i = 0; i < numbers->size(); i += 3) {
      const double x = (*numbers)[i];
      (*numbers)[i] = -(*numbers)[i + 1];
      (*numbers)[i + 1] = x;
    }
  for (const Where& where : {Where(at_points), Where(at_charges)})
    for_both_precisions([&](auto zero) {
      using T = decltype(zero);
      const auto a = evaluate_everything<T>(*potential_, where, {here});
      const auto b = evaluate_everything<T>(*potential_, where, {turned});
      Comparison found;
      for (std::int64_t target = 0; target < target_count(here, where); ++target) {
        const Truth expected = truth<T>(here, where, target, {}, extent(here, where));
        const auto at = static_cast<std::size_t>(target);
        const T* const e = a.field.data() + 3 * at;
        const T* const turned_e = b.field.data() + 3 * at;
        found.add(error_over_bound(b.potential[at], a.potential[at], expected.bound), target);
        found.add(error_over_bound(turned_e[0], -e[1], expected.field_bound), target);
        found.add(error_over_bound(turned_e[1], e[0], expected.field_bound), target);
        found.add(error_over_bound(turned_e[2], e[2], expected.field_bound), target);
      }
      expect_agrees(found);
    });
}

TEST_P(PotentialField, SplitsAndBatchesDoNotChangeBits) {
  const LatticeShape shape{11, 7, 9};
  std::vector<Problem> problems;
  for (const std::int64_t charges : {0, 1, 255, 256, 257, 700, 33}) {
    problems.push_back(random_problem(390 + static_cast<std::uint64_t>(charges), charges, 15));
    problems.back().spacing = {0.8, 1.5, 1.0 + 0.01 * static_cast<double>(problems.size())};
  }
  problems[2].add(problems[2].origin[0] + 1.6, problems[2].origin[1], problems[2].origin[2] + 4, 1);  // near a point
  for (const PotentialOptions& options :
       {PotentialOptions{}, {Singular::infinite, 1, 0.3, 0}, {Singular::infinite, 1, 0, 4}})
    for_both_precisions([&](auto zero) {
      using T = decltype(zero);
      const Batch batch(shape, problems);
      const auto whole = evaluate<T>(*potential_, batch, options, 0, shape.nz, Wanted::everything);
      std::vector<T> joined(whole.field.size()), joined_potential(whole.potential.size());
      std::int64_t first = 0;
      for (const std::int64_t count : {1, 3, 5}) {
        const auto part = evaluate<T>(*potential_, batch, options, first, count, Wanted::everything);
        EXPECT_EQ(part.info, whole.info);
        for (std::size_t p = 0; p < problems.size(); ++p) {
          const auto field = part.field_of(p), potential = part.potential_of(p);
          const std::int64_t at = whole.begin[p] + first * shape.plane_points();
          std::copy(field.begin(), field.end(), joined.begin() + 3 * at);
          std::copy(potential.begin(), potential.end(), joined_potential.begin() + at);
        }
        first += count;
      }
      EXPECT_TRUE(same_bits(whole.field, joined));
      EXPECT_TRUE(same_bits(whole.potential, joined_potential));
      for (std::size_t p = 0; p < problems.size(); ++p) {
        const auto alone = evaluate_everything<T>(*potential_, shape, {problems[p]}, options);
        EXPECT_TRUE(same_bits(whole.field_of(p), alone.field)) << p;
        EXPECT_TRUE(same_bits(whole.potential_of(p), alone.potential)) << p;
      }
    });
}

TEST(PotentialFieldThreads, NumberOfThreadsDoesNotChangeBits) {
  Problem problem = random_problem(401, 700, 20);
  problem.group.resize(700);
  for (std::size_t i = 0; i < 700; ++i) problem.group[i] = static_cast<std::int8_t>(i % 3);
  for (const BackendKind kind : {BackendKind::cpu, BackendKind::reference})
    for (const Where& where : {Where(at_charges), Where(20, 30, 5)})
      for (const double cutoff : {0.0, 7.0}) {
        const PotentialOptions options{Singular::infinite, 1, 0, cutoff};
        const auto one =
            evaluate_everything<float>(*make_potential(backend_under_test(kind, 1)), where, {problem}, options);
        const auto three =
            evaluate_everything<float>(*make_potential(backend_under_test(kind, 3)), where, {problem}, options);
        EXPECT_TRUE(same_bits(one.potential, three.potential));
        EXPECT_TRUE(same_bits(one.field, three.field));
        EXPECT_TRUE(same_bits(one.summary, three.summary));
        EXPECT_EQ(one.energy, three.energy);
      }
}

}  // namespace
}  // namespace smallbatch::testing
