// Solves a thousand small systems and evaluates the potential of two ions, on all cores. All arrays lie in host memory.
// Prints the answers, and ends with 1 if they are wrong.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <smallbatch/core/error.hpp>
#include <smallbatch/core/units.hpp>
#include <smallbatch/physics/potential.hpp>
#include <smallbatch/solvers/spd_solver.hpp>

namespace {

// Returns NaN if a number is NaN. std::fmax would return the other number.
double larger_or_nan(double a, double b) { return a >= b || std::isnan(a) ? a : b; }

// System k has A = tridiagonal (-1, 2 + 1/(k+1), -1) and b = A (1, 1, ..., 1), so every x is 1.
double largest_error_of_solutions() {
  constexpr std::int64_t count = 1000;
  constexpr int n = 24;
  std::vector<double> a(count * n * n), b(count * n), x(count * n), backward_error(count);
  std::vector<std::int32_t> info(count);
  for (std::int64_t k = 0; k < count; ++k)
    for (int i = 0; i < n; ++i)
      for (int j = 0; j < n; ++j) {
        const double element = i == j ? 2 + 1.0 / static_cast<double>(k + 1) : std::abs(i - j) == 1 ? -1 : 0;
        a[static_cast<std::size_t>((k * n + i) * n + j)] = element;
        b[static_cast<std::size_t>(k * n + i)] += element;
      }

  smallbatch::SpdBatch<double> batch;
  batch.shape.n = n;
  batch.count = count;
  batch.a = a.data();
  batch.b = b.data();
  smallbatch::SpdSolution<double> solution;
  solution.x = x.data();
  solution.info = info.data();
  solution.backward_error = backward_error.data();

  // This is the CPU backend; {smallbatch::BackendKind::cuda} is the first GPU.
  const auto solver = smallbatch::make_spd_solver({smallbatch::BackendKind::cpu});
  solver->solve(batch, solution);
  for (std::int64_t k = 0; k < count; ++k)
    if (const std::int32_t status = info[static_cast<std::size_t>(k)]; status != 0)
      std::printf("system %lld: %s\n", static_cast<long long>(k), smallbatch::describe_spd_info(status).c_str());

  double error = 0;
  for (const double value : x) error = larger_or_nan(error, std::fabs(value - 1));
  std::printf("%s: backward error of the first system %.1e, largest error of x %.1e\n", solver->description().c_str(),
              backward_error[0], error);
  return error;
}

// V of Na+ at x = 0 and Cl- at x = 2.82 angstrom, at two points.
double relative_error_of_potential() {
  const std::vector<std::int64_t> ions_of_problem{0, 2}, points_of_problem{0, 2};
  const std::vector<double> ion{0, 0, 0, 2.82, 0, 0}, charge{1, -1}, point{-1, 0, 0, 0, 3, 0};
  std::vector<double> potential(2);
  std::int32_t info = 0;

  smallbatch::ChargeBatch charges;
  charges.count = 1;
  charges.offset = ions_of_problem.data();
  charges.position = ion.data();
  charges.charge = charge.data();
  smallbatch::PointBatch points;
  points.offset = points_of_problem.data();
  points.position = point.data();
  smallbatch::PotentialOptions options;
  options.unit_factor = smallbatch::potential_unit_factor(smallbatch::PotentialUnit::volt);
  smallbatch::PotentialResult<double> result;
  result.potential = potential.data();
  result.info = &info;
  smallbatch::make_potential({smallbatch::BackendKind::cpu})->evaluate(charges, points, options, result);

  const double expected[] = {14.3996454784 * (1 / 1.0 - 1 / 3.82),
                             14.3996454784 * (1 / 3.0 - 1 / std::hypot(2.82, 3.0))};
  std::printf("V = %.6f and %.6f volt; status: %s\n", potential[0], potential[1],
              smallbatch::describe_potential_info(info).c_str());
  return larger_or_nan(std::fabs(potential[0] / expected[0] - 1), std::fabs(potential[1] / expected[1] - 1));
}

}  // namespace

int main() {
  try {
    const bool is_right = largest_error_of_solutions() < 1e-9 && relative_error_of_potential() < 1e-9;
    return is_right ? 0 : 1;
  } catch (const smallbatch::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
