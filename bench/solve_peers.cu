#include "bench/solve_peers.hpp"

#include <cublas_v2.h>
#include <cusolverDn.h>

#include <stdexcept>
#include <string>

#include "core/grid_stride.cuh"

namespace smallbatch {

namespace {

/// Stores the transposes of `from` (count, rows, columns) in `to` (count, columns, rows).
template <class T>
struct TransposeEach {
  const T* from;
  T* to;
  int rows, columns;
  __device__ void operator()(std::int64_t i) const {
    const std::int64_t element = i % (rows * columns), row = element / columns, column = i % columns;
    to[i - element + column * rows + row] = from[i];
  }
};

/// Computes ln det A = exponent * sum_k ln f_kk from a triangular factor f.
template <class T>
struct LogDeterminant {
  const T* factor;
  int n;
  double exponent;
  double* result;
  __device__ void operator()(std::int64_t p) const {
    double sum = 0;
    for (int k = 0; k < n; ++k) sum += log(static_cast<double>(factor[(p * n + k) * n + k]));
    result[p] = exponent * sum;
  }
};

void check_vendor(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error("cuBLAS failed (status " + std::to_string(status) +
                             "). Its documentation says what that means");
}
void check_vendor(cusolverStatus_t status) {
  if (status != CUSOLVER_STATUS_SUCCESS)
    throw std::runtime_error("cuSOLVER failed (status " + std::to_string(status) +
                             "). Its documentation says what that means");
}

/// Returns `single` if T is float, else `twice`: the routine of the vendor for numbers of type T.
template <class T, class Single, class Double>
constexpr auto select(Single single, Double twice) {
  if constexpr (sizeof(T) == sizeof(float))
    return single;
  else
    return twice;
}

/// Handles of cuBLAS and cuSOLVER, and the arrays that their routines overwrite.
template <class T>
class Vendor {
 public:
  explicit Vendor(std::shared_ptr<const Systems<T>> s)
      : systems_(std::move(s)),
        n_(systems_->shape.n),
        nrhs_(systems_->shape.nrhs),
        count_(static_cast<int>(systems_->count)) {
    check_vendor(cublasCreate(&cublas_));
    check_vendor(cusolverDnCreate(&cusolver_));
    const auto count = static_cast<std::size_t>(count_);
    factor_ = memory_factor_.reserve<T>(count * matrix_size());
    rhs_ = memory_rhs_.reserve<T>(count * static_cast<std::size_t>(systems_->shape.rhs_size()) + 1);
    info_ = memory_info_.reserve<int>(count);
    factors_ = pointers(memory_factors_, factor_, matrix_size());
    matrices_ = pointers(memory_matrices_, systems_->dense_a, matrix_size());
    rhss_ = pointers(memory_rhss_, rhs_, static_cast<std::size_t>(systems_->shape.rhs_size()));
    solutions_ = pointers(memory_solutions_, systems_->x, static_cast<std::size_t>(systems_->shape.solution_size()));
  }
  ~Vendor() {
    (void)cublasDestroy(cublas_);
    (void)cusolverDnDestroy(cusolver_);
  }
  Vendor(const Vendor&) = delete;
  Vendor& operator=(const Vendor&) = delete;

  /// Copies A to the array that the routines factor in place. Routines called afterwards run on `stream`.
  void restore_matrices(cudaStream_t stream) const {
    check_vendor(cublasSetStream(cublas_, stream));
    check_vendor(cusolverDnSetStream(cusolver_, stream));
    const std::size_t bytes = static_cast<std::size_t>(count_) * matrix_size() * sizeof(T);
    check(cudaMemcpyAsync(factor_, systems_->dense_a, bytes, cudaMemcpyDeviceToDevice, stream));
  }
  /// Copies b, by columns, to the array of right-hand sides that the routines overwrite with x.
  void columns_from_b(cudaStream_t stream) const { transpose(systems_->b, rhs_, n_, nrhs_, stream); }
  /// Copies x to the systems' x. The routines store x by columns in the array of right-hand sides.
  void x_from_columns(cudaStream_t stream) const { transpose(rhs_, systems_->x, nrhs_, n_, stream); }
  /// Copies b to the systems' x, which trsm() overwrites.
  void x_from_b(cudaStream_t stream) const {
    const auto numbers = static_cast<std::size_t>(systems_->count * systems_->shape.rhs_size());
    check(cudaMemcpyAsync(systems_->x, systems_->b, numbers * sizeof(T), cudaMemcpyDeviceToDevice, stream));
  }
  void log_determinant(double exponent, cudaStream_t stream) const {
    check(launch_for_each_index(count_, LogDeterminant<T>{factor_, n_, exponent, systems_->everything.log_determinant},
                                stream));
  }

  // The routines below are enqueued on the stream of restore_matrices().
  void getrf() const {
    const auto routine = select<T>(cublasSgetrfBatched, cublasDgetrfBatched);
    check_vendor(routine(cublas_, n_, factors_, n_, nullptr, info_, count_));
  }
  void getrs() const {
    const auto routine = select<T>(cublasSgetrsBatched, cublasDgetrsBatched);
    int host_info = 0;
    check_vendor(routine(cublas_, CUBLAS_OP_N, n_, nrhs_, factors_, n_, nullptr, rhss_, n_, &host_info, count_));
  }
  void getri() const {
    const auto routine = select<T>(cublasSgetriBatched, cublasDgetriBatched);
    check_vendor(routine(cublas_, n_, factors_, n_, nullptr, solutions_, n_, info_, count_));
  }
  void matinv() const {
    const auto routine = select<T>(cublasSmatinvBatched, cublasDmatinvBatched);
    check_vendor(routine(cublas_, n_, matrices_, n_, solutions_, n_, info_, count_));
  }
  void potrf() const {
    const auto routine = select<T>(cusolverDnSpotrfBatched, cusolverDnDpotrfBatched);
    check_vendor(routine(cusolver_, CUBLAS_FILL_MODE_LOWER, n_, factors_, n_, info_, count_));
  }
  void potrs() const {
    const auto routine = select<T>(cusolverDnSpotrsBatched, cusolverDnDpotrsBatched);
    check_vendor(routine(cusolver_, CUBLAS_FILL_MODE_LOWER, n_, 1, factors_, n_, rhss_, n_, info_, count_));
  }
  /// Solves X^T L L^T = B^T. B (n, nrhs) by rows is B^T by columns.
  void trsm() const {
    const auto routine = select<T>(cublasStrsmBatched, cublasDtrsmBatched);
    const T one = 1;
    for (const cublasOperation_t operation : {CUBLAS_OP_T, CUBLAS_OP_N})
      check_vendor(routine(cublas_, CUBLAS_SIDE_RIGHT, CUBLAS_FILL_MODE_LOWER, operation, CUBLAS_DIAG_NON_UNIT, nrhs_,
                           n_, &one, factors_, n_, solutions_, nrhs_, count_));
  }

 private:
  [[nodiscard]] std::size_t matrix_size() const { return static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_); }

  T** pointers(DeviceMemory& memory, T* first, std::size_t size) const {
    std::vector<T*> each(static_cast<std::size_t>(count_));
    for (std::size_t p = 0; p < each.size(); ++p) each[p] = first + p * size;
    T** const array = memory.reserve<T*>(each.size());
    check(cudaMemcpy(array, each.data(), each.size() * sizeof(T*), cudaMemcpyHostToDevice));
    return array;
  }

  void transpose(const T* from, T* to, int rows, int columns, cudaStream_t stream) const {
    check(launch_for_each_index(std::int64_t{count_} * rows * columns, TransposeEach<T>{from, to, rows, columns},
                                stream));
  }

  std::shared_ptr<const Systems<T>> systems_;
  int n_, nrhs_, count_;
  cublasHandle_t cublas_ = nullptr;
  cusolverDnHandle_t cusolver_ = nullptr;
  DeviceMemory memory_factor_, memory_rhs_, memory_info_, memory_factors_, memory_matrices_, memory_rhss_,
      memory_solutions_;
  T *factor_, *rhs_;
  int* info_;
  T **factors_, **matrices_, **rhss_, **solutions_;
};

template <class T>
std::vector<Step> inverse_steps(const std::shared_ptr<const Vendor<T>>& v, int n) {
  const auto prepare = [v](cudaStream_t stream) { v->restore_matrices(stream); };
  const auto matinv = [v](cudaStream_t) { v->matinv(); };
  const auto getri = [v](cudaStream_t) {
    v->getrf();
    v->getri();
  };
  std::vector<Step> steps;
  if (n <= 32)
    steps.push_back({"cublas_matinv", "the vendor's batched inverse, with pivoting", prepare, matinv, {}, true});
  steps.push_back({"cublas_getrf_getri",
                   "the vendor's batched LU without pivoting, then the inverse from its factors",
                   prepare,
                   getri,
                   {},
                   true});
  return steps;
}

template <class T>
std::vector<Step> determinant_steps(const std::shared_ptr<const Vendor<T>>& v) {
  const auto prepare = [v](cudaStream_t stream) { v->restore_matrices(stream); };
  return {
      {"cublas_getrf", "the vendor's batched LU without pivoting; to sum the diagonal's logarithms is not timed",
       prepare, [v](cudaStream_t) { v->getrf(); }, [v](cudaStream_t stream) { v->log_determinant(1, stream); }, true},
      {"cusolver_potrf", "the vendor's batched Cholesky; to sum the diagonal's logarithms is not timed", prepare,
       [v](cudaStream_t) { v->potrf(); }, [v](cudaStream_t stream) { v->log_determinant(2, stream); }, true}};
}

template <class T>
std::vector<Step> solution_steps(const std::shared_ptr<const Vendor<T>>& v, int nrhs) {
  const auto by_columns = [v](cudaStream_t stream) {
    v->restore_matrices(stream);
    v->columns_from_b(stream);
  };
  const auto back = [v](cudaStream_t stream) { v->x_from_columns(stream); };
  const auto lu = [v](cudaStream_t) {
    v->getrf();
    v->getrs();
  };
  std::vector<Step> steps{{"cublas_getrf_getrs", "the vendor's batched LU without pivoting, then two triangular solves",
                           by_columns, lu, back, true}};
  if (nrhs == 1)
    steps.push_back({"cusolver_potrf_potrs", "the vendor's batched Cholesky: factor, then two triangular solves",
                     by_columns,
                     [v](cudaStream_t) {
                       v->potrf();
                       v->potrs();
                     },
                     back, true});
  else
    steps.push_back({"cusolver_potrf_cublas_trsm",
                     "the vendor's batched Cholesky, then its batched triangular solves for all right-hand sides",
                     [v](cudaStream_t stream) {
                       v->restore_matrices(stream);
                       v->x_from_b(stream);
                     },
                     [v](cudaStream_t) {
                       v->potrf();
                       v->trsm();
                     },
                     {},
                     true});
  return steps;
}

}  // namespace

template <class T>
std::vector<Step> vendor_steps(const std::shared_ptr<const Systems<T>>& systems) {
  const std::shared_ptr<const Vendor<T>> vendor = std::make_shared<Vendor<T>>(systems);
  if (systems->shape.determinant_only) return determinant_steps(vendor);
  if (systems->shape.wants_inverse()) return inverse_steps(vendor, systems->shape.n);
  return solution_steps(vendor, systems->shape.nrhs);
}

template std::vector<Step> vendor_steps(const std::shared_ptr<const Systems<float>>&);
template std::vector<Step> vendor_steps(const std::shared_ptr<const Systems<double>>&);

}  // namespace smallbatch
