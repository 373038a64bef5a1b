#include "solvers/spd_families.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "core/error.hpp"
#include "core/parallel.hpp"
#include "solvers/spd_solver_backends.hpp"
#include "solvers/square.hpp"

namespace smallbatch {

namespace {

/// The random stream of one system: splitmix64 (Steele, Lea, Flood 2014), with a counter as its state.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t system) : counter_(mix(mix(seed) ^ (system * 0xd1342543de82ef95ULL))) {}
  std::uint64_t bits() { return mix(counter_ += 0x9e3779b97f4a7c15ULL); }
  /// Returns a multiple of 2^-53 in [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  double symmetric() { return 2 * uniform() - 1; }
  /// Returns a normally distributed number, by Marsaglia's polar method.
  double normal() {
    for (;;) {
      const double u = symmetric(), v = symmetric(), s = u * u + v * v;
      if (s > 0 && s < 1) return u * std::sqrt(-2 * std::log(s) / s);
    }
  }

 private:
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  std::uint64_t counter_;
};

using Row = std::array<double, max_system_size>;

/// Computes A = Q diag(eigenvalues) Q^T. Reflections of growing size are applied from both sides, as in LAPACK's
/// DLAGSY.
void random_orthogonal_similarity(Random& random, int n, const Row& eigenvalues, const Square& a) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) a[i][j] = i == j ? eigenvalues[i] : 0;
  for (int top = n - 2; top >= 0; --top) {
    // u spans rows top .. n-1; H = I - u u^T * 2 / (u^T u) maps a normal vector to the first axis.
    Row u{}, y{};
    double square = 0;
    for (int i = top; i < n; ++i) {
      u[i] = random.normal();
      square += u[i] * u[i];
    }
    const double head = u[top];
    u[top] += std::copysign(std::sqrt(square), head);
    const double tau = 2 / (square - head * head + u[top] * u[top]);
    double dot = 0;
    for (int j = top; j < n; ++j)  // a is exactly symmetric, so row j replaces column j
      for (int i = top; i < n; ++i) y[i] += a[j][i] * u[j];
    for (int i = top; i < n; ++i) {
      y[i] *= tau;
      dot += y[i] * u[i];
    }
    for (int i = top; i < n; ++i) y[i] -= tau / 2 * dot * u[i];
    for (int i = top; i < n; ++i)
      for (int j = top; j < n; ++j) a[i][j] -= u[i] * y[j] + y[i] * u[j];
  }
}

/// Returns eigenvalue i of n, by the modes of DLATMS.
double eigenvalue(SpdFamily mode, int i, int n, double condition, Random& random) {
  const double position = n == 1 ? 0 : static_cast<double>(i) / (n - 1);
  switch (mode) {
    case SpdFamily::random_one_small:
      return i == n - 1 && n > 1 ? 1 / condition : 1;
    case SpdFamily::random_one_large:
      return i == 0 ? 1 : 1 / condition;
    case SpdFamily::random_arithmetic:
      return 1 - position * (1 - 1 / condition);
    case SpdFamily::random_log_uniform:
      return std::pow(condition, -random.uniform());
    default:
      return std::pow(condition, -position);
  }
}

void random_spectrum(SpdFamily mode, int n, double condition, Random& random, const Square& a) {
  Row eigenvalues{};
  for (int i = 0; i < n; ++i) eigenvalues[i] = eigenvalue(mode, i, n, condition, random);
  random_orthogonal_similarity(random, n, eigenvalues, a);
}

/// Returns element (i,j), counted from 1, of a matrix that has a formula.
double formula(SpdFamily family, int i, int j, double condition) {
  const double low = std::min(i, j), high = std::max(i, j);
  switch (family) {
    case SpdFamily::lehmer:
      return low / high;
    case SpdFamily::min_ij:
      return low;
    case SpdFamily::moler:
      return i == j ? i : low - 2;
    case SpdFamily::kac_murdock_szego:
      return std::pow((std::sqrt(condition) - 1) / (std::sqrt(condition) + 1), high - low);
    default:
      return 1.0 / (i + j - 1) + (i == j ? std::numbers::pi / condition : 0);  // shifted_hilbert
  }
}

/// Fills one matrix; `spare` is memory for another. `extreme` is the factor of near_overflow and the divisor of
/// near_underflow.
void fill_matrix(SpdFamily family, int n, double condition, double extreme, Random& random, const Square& a,
                 const Square& spare) {
  switch (family) {
    case SpdFamily::random:
    case SpdFamily::random_one_small:
    case SpdFamily::random_one_large:
    case SpdFamily::random_arithmetic:
    case SpdFamily::random_log_uniform:
      random_spectrum(family, n, condition, random, a);
      break;
    case SpdFamily::gram:
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) spare[i][j] = random.symmetric();
      for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) {
          double sum = 0;
          for (int k = 0; k < n; ++k) sum += spare[i][k] * spare[j][k];
          a[i][j] = sum / n + (i == j ? 1 : 0);
        }
      break;
    case SpdFamily::gaussian_kernel: {
      constexpr double length = 0.2;
      Row p{};
      for (int i = 0; i < n; ++i) p[i] = random.uniform();
      for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j)
          a[i][j] = std::exp(-(p[i] - p[j]) * (p[i] - p[j]) / (2 * length * length)) + (i == j ? n / condition : 0);
      break;
    }
    case SpdFamily::graded:
      random_spectrum(SpdFamily::random, n, 10, random, a);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) a[i][j] *= n == 1 ? 1 : std::pow(condition, -0.5 * (i + j) / (n - 1));
      break;
    case SpdFamily::diagonal:
      for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) a[i][j] = i == j ? eigenvalue(SpdFamily::random, i, n, condition, random) : 0;
      break;
    case SpdFamily::zero_first:
    case SpdFamily::zero_middle:
    case SpdFamily::zero_last: {
      random_spectrum(SpdFamily::random, n, condition, random, a);
      const int zero = family == SpdFamily::zero_first ? 0 : family == SpdFamily::zero_middle ? n / 2 : n - 1;
      for (int i = 0; i < n; ++i) a[i][zero] = a[zero][i] = 0;
      break;
    }
    case SpdFamily::near_underflow:
    case SpdFamily::near_overflow:
      random_spectrum(SpdFamily::random, n, condition, random, a);
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j) a[i][j] *= family == SpdFamily::near_overflow ? extreme : 1 / extreme;
      break;
    default:
      for (int i = 0; i < n; ++i)
        for (int j = 0; j <= i; ++j) a[i][j] = formula(family, i + 1, j + 1, condition);
  }
}

/// Generates a system of n rows. It is stored as the leading rows and columns of one system of `shape`. `memory` holds
/// two matrices.
template <class T>
void generate_one(SpdFamily family, const SpdShape& shape, int n, double condition, Random random, T* a, T* b,
                  std::vector<double>& memory) {
  const Square matrix(memory.data(), n), spare(memory.data() + square_size(n), n);
  fill_matrix(family, n, condition, sizeof(T) == 4 ? 0x1p105 : 0x1p972, random, matrix, spare);
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      const T value = static_cast<T>(matrix[i][j]);
      matrix[i][j] = matrix[j][i] = value;
      a[row_begin(shape.storage, shape.n, i) + j] = value;
      if (shape.storage != Storage::packed_lower) a[j * shape.n + i] = value;
    }
  for (int c = 0; c < shape.nrhs; ++c) {
    Row x{};
    for (int i = 0; i < n; ++i) x[i] = random.symmetric();
    for (int i = 0; i < n; ++i) {
      double sum = 0;
      for (int j = 0; j < n; ++j) sum += matrix[i][j] * x[j];
      b[i * shape.nrhs + c] = static_cast<T>(sum);
    }
  }
}

}  // namespace

const std::vector<SpdFamilyDescription>& spd_families() {
  using enum SpdFamily;
  static const std::vector<SpdFamilyDescription> families{
      {random, "random", "Q diag(w) Q^T with random Q, eigenvalues w geometric from 1 to 1/condition"},
      {random_one_small, "random_one_small", "random with one eigenvalue 1/condition and the others 1"},
      {random_one_large, "random_one_large", "random with one eigenvalue 1 and the others 1/condition"},
      {random_arithmetic, "random_arithmetic", "random with eigenvalues evenly spaced from 1 to 1/condition"},
      {random_log_uniform, "random_log_uniform", "random with eigenvalues drawn log-uniformly from [1/condition, 1]"},
      {gram, "gram", "G G^T / n + I with random G; well-conditioned", false},
      {gaussian_kernel, "gaussian_kernel",
       "Gaussian kernel of random points, shifted; condition number <= condition + 1"},
      {lehmer, "lehmer", "min(i,j) / max(i,j)", false, false},
      {min_ij, "min_ij", "min(i,j)", false, false},
      {moler, "moler", "min(i,j) - 2 with i on the diagonal; the condition number grows as 4^n", false, false},
      {kac_murdock_szego, "kac_murdock_szego", "r^|i-j|; the condition number tends to condition for large n", true,
       false},
      {shifted_hilbert, "shifted_hilbert",
       "1/(i+j-1) plus pi/condition on the diagonal; condition number <= condition + 1", true, false},
      {graded, "graded", "D R D, R random with condition 10, squared scales D^2 from 1 to 1/condition"},
      {diagonal, "diagonal", "diagonal elements geometric from 1 to 1/condition", true, false},
      {zero_first, "zero_first", "random with row and column 1 zero: singular, status 1"},
      {zero_middle, "zero_middle", "random with row and column n/2 + 1 zero: singular, status n/2 + 1"},
      {zero_last, "zero_last", "random with row and column n zero: singular, status n"},
      {near_underflow, "near_underflow", "random times 2^-105 (float32) or 2^-972 (float64)"},
      {near_overflow, "near_overflow", "random times 2^105 (float32) or 2^972 (float64)"},
  };
  return families;
}

const SpdFamilyDescription& describe_spd_family(SpdFamily family) {
  return *std::ranges::find(spd_families(), family, &SpdFamilyDescription::family);
}

std::string_view spd_family_name(SpdFamily family) { return describe_spd_family(family).name; }

std::optional<SpdFamily> parse_spd_family(std::string_view name) {
  for (const SpdFamilyDescription& entry : spd_families())
    if (entry.name == name) return entry.family;
  return std::nullopt;
}

template <class T>
void generate_spd(SpdFamily family, const SpdShape& shape, double condition, std::uint64_t seed, std::int64_t first,
                  std::int64_t count, T* a, T* b, const std::int32_t* sizes) {
  check_spd_shape(shape, count);
  if (!(condition >= 1) || !std::isfinite(condition))
    throw Error(ErrorKind::usage, "no matrix has the condition number " + std::to_string(condition),
                "condition numbers are at least 1",
                "Give a number from 1 to about 1e7 for float32 or 1e15 for float64.");
  // Few enough matrices for many threads, and enough of them for a millisecond.
  const auto grain = std::clamp<std::int64_t>((1 << 20) / static_cast<std::int64_t>(square_size(shape.n)), 1, 256);
  parallel_for(count, grain, 0, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> memory(2 * square_size(shape.n));
    for (std::int64_t k = begin; k < end; ++k) {
      T* const matrix = a + k * shape.matrix_size();
      T* const right = shape.nrhs == 0 ? nullptr : b + k * shape.rhs_size();
      if (sizes != nullptr) {
        std::fill_n(matrix, shape.matrix_size(), T{});
        std::fill_n(right, shape.rhs_size(), T{});
      }
      generate_one(family, shape, sizes == nullptr ? shape.n : sizes[k], condition,
                   Random(seed, static_cast<std::uint64_t>(first + k)), matrix, right, memory);
    }
  });
}

void generate_sizes(int least, int most, std::uint64_t seed, std::int64_t first, std::int64_t count,
                    std::int32_t* sizes) {
  constexpr std::uint64_t of_sizes = 0x73697a6573;  // separates this stream from those of the systems
  const double choices = most - least + 1;
  for (std::int64_t k = 0; k < count; ++k)
    sizes[k] = least + static_cast<std::int32_t>(
                           Random(seed ^ of_sizes, static_cast<std::uint64_t>(first + k)).uniform() * choices);
}

template void generate_spd(SpdFamily, const SpdShape&, double, std::uint64_t, std::int64_t, std::int64_t, float*,
                           float*, const std::int32_t*);
template void generate_spd(SpdFamily, const SpdShape&, double, std::uint64_t, std::int64_t, std::int64_t, double*,
                           double*, const std::int32_t*);

}  // namespace smallbatch
