// Systems in every layout that the C interface accepts. Elements are whole numbers and x is chosen, so b = A x holds
// exactly. The tests compute the address of each element themselves. All other memory holds NaN, so reading a wrong
// address makes a solution NaN. One file, because all tests share the arithmetic of layouts.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/c/places.hpp"

namespace smallbatch::testing {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Symmetric matrices with a dominant diagonal: (count, n, n).
std::vector<double> whole_number_matrices(std::int64_t count, std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> a(static_cast<std::size_t>(count * n * n));
  for (std::int64_t k = 0; k < count; ++k)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j <= i; ++j) {
        const double value = i == j ? static_cast<double>(4 * n + random() % 4) : static_cast<int>(random() % 7) - 3;
        a[(k * n + i) * n + j] = a[(k * n + j) * n + i] = value;
      }
  return a;
}

std::vector<double> whole_numbers(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<double> x(static_cast<std::size_t>(count));
  for (double& value : x) value = static_cast<int>(random() % 19) - 9;
  return x;
}

/// ln det A of one matrix, by Cholesky's method.
long double log_determinant(const double* a, std::int64_t n) {
  std::vector<long double> l(static_cast<std::size_t>(n * n));
  long double sum = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      long double rest = a[i * n + j];
      for (std::int64_t k = 0; k < j; ++k) rest -= l[i * n + k] * l[j * n + k];
      l[i * n + j] = i == j ? std::sqrt(rest) : rest / l[j * n + j];
      if (i == j) sum += std::log(rest);
    }
  return sum;
}

/// Layout of matrices. `ld` and `stride` are as in the structs of smallbatch.h, and may be 0 and SMALLBATCH_TIGHT.
struct Layout {
  smallbatch_order order = SMALLBATCH_ROW_MAJOR;
  std::int64_t ld = 0, stride = SMALLBATCH_TIGHT;
  bool has_pointers = false;
};

/// Indices of all elements in a layout of `count` matrices of size rows x columns.
struct ElementIndices {
  ElementIndices(const Layout& of, std::int64_t count_, std::int64_t rows, std::int64_t columns)
      : layout(of), count(count_) {
    const bool by_rows = layout.order == SMALLBATCH_ROW_MAJOR;
    ld = layout.ld > 0 ? layout.ld : by_rows ? columns : rows;
    stride = layout.stride == SMALLBATCH_TIGHT ? ld * (by_rows ? rows : columns) : layout.stride;
    size = (by_rows ? rows : columns) * ld + (count - 1) * stride;
  }
  /// With pointers, matrices are stored in reverse order, so that code that ignores the pointers fails.
  [[nodiscard]] std::int64_t begin(std::int64_t k) const { return (layout.has_pointers ? count - 1 - k : k) * stride; }
  [[nodiscard]] std::int64_t of(std::int64_t k, std::int64_t i, std::int64_t j) const {
    return begin(k) + (layout.order == SMALLBATCH_ROW_MAJOR ? i * ld + j : i + j * ld);
  }
  Layout layout;
  std::int64_t count, ld, stride, size;
};

/// Returns the index of element (i, j) in a packed triangle, or -1 if the triangle does not have this element.
std::int64_t packed_index(smallbatch_storage storage, smallbatch_order order, std::int64_t n, std::int64_t i,
                          std::int64_t j) {
  std::int64_t index = 0;  // found by counting
  const bool lower = storage == SMALLBATCH_PACKED_LOWER, by_rows = order == SMALLBATCH_ROW_MAJOR;
  for (std::int64_t slow = 0; slow < n; ++slow)
    for (std::int64_t fast = 0; fast < n; ++fast) {
      const std::int64_t row = by_rows ? slow : fast, column = by_rows ? fast : slow;
      if (lower ? row < column : row > column) continue;
      if (row == i && column == j) return index;
      ++index;
    }
  return -1;
}

bool is_packed(smallbatch_storage storage) {
  return storage == SMALLBATCH_PACKED_LOWER || storage == SMALLBATCH_PACKED_UPPER;
}
bool is_stored(smallbatch_storage storage, std::int64_t i, std::int64_t j) {
  if (storage == SMALLBATCH_BOTH_TRIANGLES) return true;
  return storage == SMALLBATCH_LOWER || storage == SMALLBATCH_PACKED_LOWER ? i >= j : i <= j;
}

/// Sizes, storage and layouts of systems and their solutions.
template <class T>
struct SystemsShape {
  std::int64_t n = 5, nrhs = 1, count = 4;
  smallbatch_storage storage = SMALLBATCH_BOTH_TRIANGLES;
  Layout of_a, of_b, of_x;
  bool one_a = false, one_b = false, in_place = false;

  [[nodiscard]] std::int64_t of_matrix(std::int64_t k) const { return one_a ? 0 : k; }
  [[nodiscard]] std::int64_t of_rhs(std::int64_t k) const { return one_b ? 0 : k; }
};

std::string name(const Layout& layout) {
  return std::string(layout.order == SMALLBATCH_ROW_MAJOR ? "rows" : "columns") + " ld " + std::to_string(layout.ld) +
         " stride " + std::to_string(layout.stride) + (layout.has_pointers ? " pointers" : "");
}
template <class T>
std::string name(const SystemsShape<T>& shape) {
  return "n " + std::to_string(shape.n) + " nrhs " + std::to_string(shape.nrhs) + " storage " +
         std::to_string(shape.storage) + (shape.in_place ? " in place" : "") + "; a " + name(shape.of_a) + "; b " +
         name(shape.of_b) + "; x " + name(shape.of_x);
}

}  // namespace

class Systems : public PlaceTest {
 protected:
  template <class T>
  static std::vector<T> laid_out(const SystemsShape<T>& shape, const std::vector<double>& a) {
    const std::int64_t n = shape.n, matrices = shape.one_a ? 1 : shape.count;
    if (is_packed(shape.storage)) {
      const std::int64_t size = n * (n + 1) / 2, stride = packed_stride(shape);
      std::vector<T> memory(static_cast<std::size_t>(size + (matrices - 1) * stride), T(nan));
      for (std::int64_t k = 0; k < matrices; ++k)
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t j = 0; j < n; ++j)
            if (is_stored(shape.storage, i, j))
              memory[packed_begin(shape, k) + packed_index(shape.storage, shape.of_a.order, n, i, j)] =
                  T(a[(k * n + i) * n + j]);
      return memory;
    }
    const ElementIndices indices(shape.of_a, matrices, n, n);
    std::vector<T> memory(static_cast<std::size_t>(indices.size), T(nan));
    for (std::int64_t k = 0; k < matrices; ++k)
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j)
          if (is_stored(shape.storage, i, j)) memory[indices.of(k, i, j)] = T(a[(k * n + i) * n + j]);
    return memory;
  }
  template <class T>
  static std::int64_t packed_stride(const SystemsShape<T>& shape) {
    return shape.of_a.stride == SMALLBATCH_TIGHT ? shape.n * (shape.n + 1) / 2 : shape.of_a.stride;
  }
  template <class T>
  static std::int64_t packed_begin(const SystemsShape<T>& shape, std::int64_t k) {
    return (shape.of_a.has_pointers ? (shape.one_a ? 0 : shape.count - 1 - k) : k) * packed_stride(shape);
  }

  template <class T>
  Array<T*> pointers(const Array<T>& memory, std::int64_t count,
                     const std::function<std::int64_t(std::int64_t)>& begin) {
    std::vector<T*> to(static_cast<std::size_t>(count));
    for (std::int64_t k = 0; k < count; ++k) to[k] = memory.there() + begin(k);
    return array(std::move(to));
  }

  /// Solves directly and from factors, and compares both with the chosen solutions.
  template <class T>
  void check_solutions(const SystemsShape<T>& shape) {
    SCOPED_TRACE(name(shape));
    const std::int64_t n = shape.n, nrhs = shape.nrhs, count = shape.count;
    const std::vector<double> a = whole_number_matrices(shape.one_a ? 1 : count, n, 1);
    const std::vector<double> x = whole_numbers(count * n * nrhs, 2);  // (count, n, nrhs)
    const std::int64_t sets = shape.one_b ? 1 : count;
    const ElementIndices b_indices(shape.of_b, sets, n, nrhs), x_indices(shape.of_x, count, n, nrhs);
    std::vector<T> b(static_cast<std::size_t>(b_indices.size), T(nan));
    for (std::int64_t k = 0; k < sets; ++k)
      for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t r = 0; r < nrhs; ++r) {
          double sum = 0;
          for (std::int64_t j = 0; j < n; ++j)
            sum += a[(shape.of_matrix(k) * n + i) * n + j] * x[(k * n + j) * nrhs + r];
          b[b_indices.of(k, i, r)] = T(sum);
        }
    for (const bool from_factors : {false, true}) {
      SCOPED_TRACE(from_factors ? "from factors" : "solve");
      Array<T> a_array = array(laid_out(shape, a)), b_array = array(b);
      Array<T> x_array = array(std::vector<T>(static_cast<std::size_t>(x_indices.size), T(-77)));
      Array<std::int32_t> info = array(std::vector<std::int32_t>(static_cast<std::size_t>(count), -99));
      Array<T*> a_pointers = pointers<T>(a_array, count, [&](std::int64_t k) {
        return is_packed(shape.storage)
                   ? packed_begin(shape, shape.of_matrix(k))
                   : ElementIndices(shape.of_a, shape.one_a ? 1 : count, n, n).begin(shape.of_matrix(k));
      });
      Array<T*> b_pointers =
          pointers<T>(b_array, count, [&](std::int64_t k) { return b_indices.begin(shape.of_rhs(k)); });
      Array<T*> x_pointers = pointers<T>(x_array, count, [&](std::int64_t k) { return x_indices.begin(k); });

      smallbatch_systems systems;
      smallbatch_systems_init(&systems, type_of<T>, memory(), n, nrhs, count);
      systems.order = shape.of_a.order;
      systems.storage = shape.storage;
      if (shape.of_a.has_pointers)
        systems.a_array = reinterpret_cast<const void* const*>(a_pointers.there());
      else
        systems.a = a_array.there();
      systems.lda = shape.of_a.ld;
      systems.a_stride = shape.one_a && !shape.of_a.has_pointers ? 0 : shape.of_a.stride;
      if (shape.of_b.has_pointers)
        systems.b_array = reinterpret_cast<const void* const*>(b_pointers.there());
      else
        systems.b = b_array.there();
      systems.ldb = shape.of_b.ld;
      systems.b_stride = shape.one_b && !shape.of_b.has_pointers ? 0 : shape.of_b.stride;
      smallbatch_solutions solutions;
      smallbatch_solutions_init(&solutions);
      const Array<T*>& to_pointers = shape.in_place ? b_pointers : x_pointers;
      if (shape.of_x.has_pointers)
        solutions.x_array = reinterpret_cast<void* const*>(to_pointers.there());
      else
        solutions.x = shape.in_place ? b_array.there() : x_array.there();
      solutions.ldx = shape.of_x.ld;
      solutions.x_stride = shape.of_x.stride;
      solutions.info = info.there();

      if (from_factors)
        solve_from_factors<T>(systems, solutions);
      else
        with_workspace(
            [&](std::size_t* bytes) {
              return smallbatch_solve_workspace(handle_, &systems, &solutions, nullptr, bytes);
            },
            [&](void* workspace, std::size_t bytes) {
              return smallbatch_solve(handle_, &systems, &solutions, nullptr, workspace, bytes);
            });
      if (HasFatalFailure()) return;
      EXPECT_EQ(info.back(), std::vector<std::int32_t>(static_cast<std::size_t>(count), 0));
      const std::vector<T> found = shape.in_place ? b_array.back() : x_array.back();
      std::vector<bool> is_solution(found.size());
      const double tolerance = 200 * std::numeric_limits<T>::epsilon();
      for (std::int64_t k = 0; k < count; ++k)
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t r = 0; r < nrhs; ++r) {
            const std::int64_t index = (shape.in_place ? b_indices : x_indices).of(k, i, r);
            is_solution[index] = true;
            // With one matrix and one set of right-hand sides, all solutions equal the first.
            const double expected = x[(shape.of_rhs(k) * n + i) * nrhs + r];
            ASSERT_LE(std::abs(static_cast<double>(found[index]) - expected), tolerance)
                << "system " << k << " row " << i << " right-hand side " << r;
          }
      for (std::size_t index = 0; index < found.size(); ++index)
        ASSERT_TRUE(is_solution[index] || (shape.in_place ? std::isnan(found[index]) : found[index] == T(-77)))
            << "gap at " << index;
    }
  }

  template <class T>
  void solve_from_factors(const smallbatch_systems& systems, const smallbatch_solutions& solutions) {
    const std::int64_t n = systems.n, size = n * (n + 1) / 2, stride = size + 3;
    Array<T> factor = array(std::vector<T>(static_cast<std::size_t>(systems.count * stride), T(nan)));
    Array<std::int32_t> info = array(std::vector<std::int32_t>(static_cast<std::size_t>(systems.count), -99));
    smallbatch_factors factors;
    smallbatch_factors_init(&factors);
    factors.factor = factor.there();
    factors.stride = stride;
    factors.info = info.there();
    with_workspace([&](std::size_t* bytes) { return smallbatch_factor_workspace(handle_, &systems, &factors, bytes); },
                   [&](void* workspace, std::size_t bytes) {
                     return smallbatch_factor(handle_, &systems, &factors, workspace, bytes);
                   });
    if (HasFatalFailure()) return;
    smallbatch_systems right_hand_sides = systems;
    right_hand_sides.a = nullptr;
    right_hand_sides.a_array = nullptr;
    with_workspace(
        [&](std::size_t* bytes) {
          return smallbatch_solve_factored_workspace(handle_, &factors, &right_hand_sides, &solutions, bytes);
        },
        [&](void* workspace, std::size_t bytes) {
          return smallbatch_solve_factored(handle_, &factors, &right_hand_sides, &solutions, workspace, bytes);
        });
    (void)factor.back();  // waits for the solutions, which are computed from `factor`
  }

  template <class T>
  void check_every_layout() {
    for (const smallbatch_order order : {SMALLBATCH_ROW_MAJOR, SMALLBATCH_COLUMN_MAJOR})
      for (const smallbatch_storage storage : {SMALLBATCH_BOTH_TRIANGLES, SMALLBATCH_LOWER, SMALLBATCH_UPPER,
                                               SMALLBATCH_PACKED_LOWER, SMALLBATCH_PACKED_UPPER})
        for (const std::int64_t nrhs : {1, 3})
          for (const bool has_gaps : {false, true})
            for (const bool has_pointers : {false, true})
              for (const bool in_place : {false, true}) {
                SystemsShape<T> shape;
                shape.nrhs = nrhs;
                shape.storage = storage;
                shape.in_place = in_place;
                shape.of_a = shape.of_b = shape.of_x = {order, 0, SMALLBATCH_TIGHT, has_pointers};
                if (has_gaps) {
                  shape.of_a.ld = shape.n + 2;
                  shape.of_a.stride = shape.n * shape.of_a.ld + 5;
                  shape.of_b.ld = shape.of_x.ld = 8;
                  shape.of_b.stride = shape.of_x.stride = 8 * shape.n + 3;
                }
                check_solutions(shape);
                if (HasFatalFailure()) return;
              }
  }
};

TEST_P(Systems, AreSolvedInEveryLayoutInSinglePrecision) { check_every_layout<float>(); }
TEST_P(Systems, AreSolvedInEveryLayoutInDoublePrecision) { check_every_layout<double>(); }

TEST_P(Systems, OfTheSizesThatKernelsTreatApartAreSolved) {
  for (const std::int64_t n : {1, 8, 31, 32, 64, 129, int{SMALLBATCH_MAX_SYSTEM_SIZE}}) {
    SystemsShape<double> shape;
    shape.n = n;
    shape.count = 3;
    shape.nrhs = 2;
    shape.of_a.order = shape.of_b.order = shape.of_x.order = SMALLBATCH_COLUMN_MAJOR;
    shape.storage = SMALLBATCH_UPPER;
    check_solutions(shape);
  }
}

TEST_P(Systems, OfWhichThereIsOneNeedNoStride) {
  for (const bool in_place : {false, true})
    for (const std::int64_t of_b : {-1, 0, 5, 30})
      for (const std::int64_t of_x : {-1, 0, 5, 30}) {
        SystemsShape<double> shape;
        shape.count = 1;
        shape.in_place = in_place;
        shape.of_a.stride = shape.of_b.stride = of_b;
        shape.of_x.stride = of_x;
        check_solutions(shape);
        if (HasFatalFailure()) return;
      }
}

TEST_P(Systems, MayLieSideBySide) {
  for (const bool in_place : {false, true}) {
    SystemsShape<double> shape;  // element i of system k lies at i * count + k
    shape.in_place = in_place;
    shape.of_b.ld = shape.of_x.ld = shape.count;
    shape.of_b.stride = shape.of_x.stride = 1;
    check_solutions(shape);
  }
}

TEST_P(Systems, MayShareAMatrixOrRightHandSides) {
  for (const bool has_pointers : {false, true})
    for (const smallbatch_storage storage : {SMALLBATCH_BOTH_TRIANGLES, SMALLBATCH_UPPER, SMALLBATCH_PACKED_LOWER})
      for (const smallbatch_order order : {SMALLBATCH_ROW_MAJOR, SMALLBATCH_COLUMN_MAJOR}) {
        SystemsShape<float> shape;
        shape.nrhs = 2;
        shape.storage = storage;
        shape.of_a = shape.of_b = shape.of_x = {order, 0, SMALLBATCH_TIGHT, has_pointers};
        shape.one_a = true;
        check_solutions(shape);
        shape.one_b = true;
        check_solutions(shape);
      }
}

/// Checks A A^-1 = I for several storages of A and leading dimensions of the inverse. Both triangles of the inverse
/// must be filled.
TEST_P(Systems, AreInverted) {
  const std::int64_t n = 6, count = 3;
  const std::vector<double> a = whole_number_matrices(count, n, 4);
  for (const smallbatch_order order : {SMALLBATCH_ROW_MAJOR, SMALLBATCH_COLUMN_MAJOR})
    for (const smallbatch_storage storage : {SMALLBATCH_BOTH_TRIANGLES, SMALLBATCH_UPPER, SMALLBATCH_PACKED_UPPER})
      for (const std::int64_t ldx : {0, 9}) {
        SystemsShape<double> shape;
        shape.n = n;
        shape.count = count;
        shape.storage = storage;
        shape.of_a.order = order;
        Array<double> a_array = array(laid_out(shape, a));
        const ElementIndices indices({order, ldx}, count, n, n);
        Array<double> x = array(std::vector<double>(static_cast<std::size_t>(indices.size), -77));
        Array<std::int32_t> info = array(std::vector<std::int32_t>(3, -99));
        Array<double> backward_error = array(std::vector<double>(3, -99));
        smallbatch_systems systems;
        smallbatch_systems_init(&systems, SMALLBATCH_FLOAT64, memory(), n, 0, count);
        systems.order = order;
        systems.storage = storage;
        systems.a = a_array.there();
        smallbatch_solutions solutions;
        smallbatch_solutions_init(&solutions);
        solutions.x = x.there();
        solutions.ldx = ldx;
        solutions.info = info.there();
        solutions.backward_error = backward_error.there();
        with_workspace(
            [&](std::size_t* bytes) {
              return smallbatch_invert_workspace(handle_, &systems, &solutions, nullptr, bytes);
            },
            [&](void* workspace, std::size_t bytes) {
              return smallbatch_invert(handle_, &systems, &solutions, nullptr, workspace, bytes);
            });
        if (HasFatalFailure()) return;
        EXPECT_EQ(info.back(), std::vector<std::int32_t>(3, 0));
        const std::vector<double> inverse = x.back();
        for (std::int64_t k = 0; k < count; ++k) {
          EXPECT_LE(backward_error.back()[k], 8 * 6 * 0x1p-53);
          for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
              long double sum = 0;
              for (std::int64_t m = 0; m < n; ++m)
                sum += static_cast<long double>(a[(k * n + i) * n + m]) * inverse[indices.of(k, m, j)];
              EXPECT_NEAR(static_cast<double>(sum), i == j ? 1 : 0, 1e-14) << k << " " << i << " " << j;
            }
        }
        EXPECT_TRUE(ldx == 0 || inverse[static_cast<std::size_t>(n)] == -77);
      }
}

TEST_P(Systems, HaveNumbersAboutA) {
  const std::int64_t n = 7, count = 3;
  std::vector<double> a = whole_number_matrices(count, n, 5);
  a[(1 * n + 4) * n + 4] = -1;  // pivot 5 of the second system is then not positive
  SystemsShape<double> shape;
  shape.n = n;
  shape.count = count;
  shape.storage = SMALLBATCH_PACKED_UPPER;
  shape.of_a.order = SMALLBATCH_COLUMN_MAJOR;
  Array<double> a_array = array(laid_out(shape, a));
  Array<std::int32_t> info = array(std::vector<std::int32_t>(3, -99));
  Array<double> rcond = array(std::vector<double>(3, -99)), smallest = array(std::vector<double>(3, -99));
  Array<double> log = array(std::vector<double>(3, -99)), factored_log = array(std::vector<double>(3, -99));
  Array<std::int32_t> repaired = array(std::vector<std::int32_t>(3, -99));
  smallbatch_systems systems;
  smallbatch_systems_init(&systems, SMALLBATCH_FLOAT64, memory(), n, 1, count);
  systems.order = SMALLBATCH_COLUMN_MAJOR;
  systems.storage = SMALLBATCH_PACKED_UPPER;
  systems.a = a_array.there();
  smallbatch_solutions solutions;
  smallbatch_solutions_init(&solutions);
  solutions.info = info.there();
  solutions.rcond = rcond.there();
  solutions.smallest_pivot = smallest.there();
  solutions.log_determinant = log.there();
  solutions.repaired = repaired.there();
  with_workspace(
      [&](std::size_t* bytes) {
        return smallbatch_log_determinant_workspace(handle_, &systems, &solutions, nullptr, bytes);
      },
      [&](void* workspace, std::size_t bytes) {
        return smallbatch_log_determinant(handle_, &systems, &solutions, nullptr, workspace, bytes);
      });
  if (HasFatalFailure()) return;
  EXPECT_EQ(info.back(), (std::vector<std::int32_t>{0, 5, 0}));
  EXPECT_EQ(repaired.back(), (std::vector<std::int32_t>{0, 0, 0}));
  for (const std::int64_t k : {0, 2}) {
    const auto expected = static_cast<double>(log_determinant(a.data() + k * n * n, n));
    EXPECT_NEAR(log.back()[k], expected, 1e-12);
    EXPECT_GT(rcond.back()[k], 0.1);  // A is 4 n I and a small remainder
    EXPECT_LE(rcond.back()[k], 1);
    EXPECT_GT(smallest.back()[k], 3 * n);
    EXPECT_LE(smallest.back()[k], 4 * n + 3);
  }
  EXPECT_TRUE(std::isnan(log.back()[1]));
  EXPECT_TRUE(std::isnan(rcond.back()[1]));
}

TEST_P(Systems, OptionsReachTheSolver) {
  // The second pivot of this semidefinite matrix is 0. It is raised if the options say so.
  Array<double> a = array(std::vector<double>{1, 1, 1, 1}), b = array(std::vector<double>{2, 2});
  Array<double> x = array(std::vector<double>{-77, -77});
  Array<std::int32_t> info = array(std::vector<std::int32_t>{-99}), repaired = array(std::vector<std::int32_t>{-99});
  smallbatch_systems systems;
  smallbatch_systems_init(&systems, SMALLBATCH_FLOAT64, memory(), 2, 1, 1);
  systems.a = a.there();
  systems.b = b.there();
  smallbatch_solutions solutions;
  smallbatch_solutions_init(&solutions);
  solutions.x = x.there();
  solutions.info = info.there();
  solutions.repaired = repaired.there();
  const auto solve = [&](const smallbatch_solve_options& options) {
    with_workspace(
        [&](std::size_t* bytes) { return smallbatch_solve_workspace(handle_, &systems, &solutions, &options, bytes); },
        [&](void* workspace, std::size_t bytes) {
          return smallbatch_solve(handle_, &systems, &solutions, &options, workspace, bytes);
        });
  };
  solve({SMALLBATCH_LDLT, 0});
  EXPECT_EQ(info.back()[0], 2);
  solve({SMALLBATCH_LDLT, 1e-6});
  EXPECT_EQ(info.back()[0], 0);
  EXPECT_EQ(repaired.back()[0], 1);
  EXPECT_NEAR(x.back()[0] + x.back()[1], 2, 1e-5);
}

TEST_P(Systems, SizesAreOfLeadingBlocksInTheirPlaces) {
  constexpr std::int64_t n = 5, nrhs = 2, count = 5;
  const std::vector<std::int32_t> sizes{3, 0, 5, 1, 7};
  const std::vector<double> a = whole_number_matrices(count, n, 5), chosen = whole_numbers(count * n * nrhs, 6);
  const auto is_there = [&](std::int64_t k, std::int64_t i) { return sizes[k] <= n && i < sizes[k]; };
  std::vector<double> cut = a;
  for (std::int64_t k = 0; k < count; ++k)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        if (!is_there(k, std::max(i, j))) cut[(k * n + i) * n + j] = nan;
  Array<std::int32_t> there = array(sizes), info = array(std::vector<std::int32_t>(count, -99));
  for (const smallbatch_storage storage : {SMALLBATCH_BOTH_TRIANGLES, SMALLBATCH_LOWER, SMALLBATCH_UPPER,
                                           SMALLBATCH_PACKED_LOWER, SMALLBATCH_PACKED_UPPER})
    for (const smallbatch_order order : {SMALLBATCH_ROW_MAJOR, SMALLBATCH_COLUMN_MAJOR}) {
      SystemsShape<double> shape{n, nrhs, count, storage, {order}, {order}, {order}};
      SCOPED_TRACE(name(shape));
      const ElementIndices indices(shape.of_b, count, n, nrhs);
      std::vector<double> b(static_cast<std::size_t>(indices.size), nan);
      for (std::int64_t k = 0; k < count; ++k)
        for (std::int64_t i = 0; i < n && is_there(k, i); ++i)
          for (std::int64_t r = 0; r < nrhs; ++r) {
            b[indices.of(k, i, r)] = 0;
            for (std::int64_t j = 0; is_there(k, j) && j < n; ++j)
              b[indices.of(k, i, r)] += a[(k * n + i) * n + j] * chosen[(k * n + j) * nrhs + r];
          }
      Array<double> a_array = array(laid_out(shape, cut)), b_array = array(b);
      Array<double> x_array = array(std::vector<double>(b.size(), -77));
      smallbatch_systems systems;
      smallbatch_systems_init(&systems, SMALLBATCH_FLOAT64, memory(), n, nrhs, count);
      systems.order = order;
      systems.storage = storage;
      systems.a = a_array.there();
      systems.b = b_array.there();
      systems.sizes = there.there();
      smallbatch_solutions solutions;
      smallbatch_solutions_init(&solutions);
      solutions.x = x_array.there();
      solutions.info = info.there();
      with_workspace(
          [&](std::size_t* bytes) { return smallbatch_solve_workspace(handle_, &systems, &solutions, nullptr, bytes); },
          [&](void* workspace, std::size_t bytes) {
            return smallbatch_solve(handle_, &systems, &solutions, nullptr, workspace, bytes);
          });
      if (HasFatalFailure()) return;
      EXPECT_EQ(info.back(), (std::vector<std::int32_t>{0, 0, 0, 0, -6}));
      const std::vector<double>& x = x_array.back();
      for (std::int64_t k = 0; k < count; ++k)
        for (std::int64_t i = 0; i < n; ++i)
          for (std::int64_t r = 0; r < nrhs; ++r)
            if (sizes[k] > n) {
              EXPECT_TRUE(std::isnan(x[indices.of(k, i, r)]));
            } else {
              const double expected = is_there(k, i) ? chosen[(k * n + i) * nrhs + r] : 0;
              EXPECT_NEAR(x[indices.of(k, i, r)], expected, is_there(k, i) ? 1e-11 : 0) << k << ", " << i;
            }

      Array<double> factor = array(std::vector<double>(count * n * n, -77));
      smallbatch_factors factors;
      smallbatch_factors_init(&factors);
      factors.factor = factor.there();
      factors.info = info.there();
      EXPECT_EQ(smallbatch_factor(handle_, &systems, &factors, nullptr, 0), SMALLBATCH_INVALID_ARGUMENT);
      EXPECT_NE(std::string(smallbatch_last_error(handle_)).find("sizes"), std::string::npos);
    }
}

INSTANTIATE_TEST_SUITE_P(Everywhere, Systems, all_places, place_test_name);

}  // namespace smallbatch::testing
