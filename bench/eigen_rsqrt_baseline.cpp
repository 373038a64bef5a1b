// Row 0 of the ladders of potentials: one array expression of Eigen per point. The file is compiled like
// eigen_llt_baseline.cpp.
#include <Eigen/Core>
#include <cstdint>

#include "bench/potential_host.hpp"

namespace smallbatch {

namespace {

template <class T>
void sum_planes(const HostCharges<T>& charges, const LatticeBatch& planes, T* potential) {
  using Array = Eigen::Map<const Eigen::Array<T, Eigen::Dynamic, 1>>;
  const Array x(charges.x, charges.count), y(charges.y, charges.count), z(charges.z, charges.count);
  const Array q(charges.q, charges.count);
  const auto along = [&](int axis, std::int64_t index) {
    return static_cast<T>(static_cast<double>(index) * planes.spacing[axis]);
  };
  for (std::int64_t k = planes.first_plane; k < planes.first_plane + planes.plane_count; ++k)
    for (std::int64_t j = 0; j < planes.shape.ny; ++j)
      for (std::int64_t i = 0; i < planes.shape.nx; ++i)
        *potential++ =
            (q * ((x - along(0, i)).square() + (y - along(1, j)).square() + (z - along(2, k)).square()).rsqrt()).sum();
}

}  // namespace

void potential_by_eigen(const HostCharges<float>& charges, const LatticeBatch& planes, float* potential) {
  sum_planes(charges, planes, potential);
}
void potential_by_eigen(const HostCharges<double>& charges, const LatticeBatch& planes, double* potential) {
  sum_planes(charges, planes, potential);
}

}  // namespace smallbatch
