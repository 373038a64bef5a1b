// Row 0 of the host's ladders of correlations: Eigen's rank update of a Hermitian matrix. The file is compiled like
// eigen_llt_baseline.cpp.
#include <Eigen/Core>
#include <complex>
#include <cstdint>

#include "bench/correlation_host.hpp"

namespace smallbatch {

void correlate_by_eigen(const std::complex<float>* signal, std::int64_t inputs, std::int64_t times,
                        std::complex<float>* matrix) {
  using Matrix = Eigen::Matrix<std::complex<float>, Eigen::Dynamic, Eigen::Dynamic>;
  const Eigen::Map<const Matrix> samples(signal, inputs, times);
  Eigen::Map<Matrix> visibilities(matrix, inputs, inputs);
  visibilities.setZero();
  visibilities.selfadjointView<Eigen::Lower>().rankUpdate(samples);
}

}  // namespace smallbatch
