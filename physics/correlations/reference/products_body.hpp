// The one body of the referee's products. Each file that includes it is compiled for one instruction set. Each file has
// Eigen under a different name, so the linker cannot replace a function of one instruction set by that of another.
#pragma once

#include <Eigen/Core>

#include "physics/correlations/reference/products.hpp"

namespace smallbatch {

namespace {

void multiply(const double* a, std::int64_t a_rows, const double* b, std::int64_t b_rows, std::int64_t times,
              double* product) {
  const Eigen::Map<const Eigen::MatrixXd> left(a, a_rows, times), right(b, b_rows, times);
  Eigen::Map<Eigen::MatrixXd> out(product, a_rows, b_rows);
  if (a == b) {
    out.setZero();
    out.selfadjointView<Eigen::Upper>().rankUpdate(left);
  } else {
    out.noalias() = left * right.transpose();
  }
}

void add_product(const double* re, const double* im, const double* other_re, const double* other_im, std::int64_t times,
                 double* sum) {
  using Numbers = Eigen::Map<const Eigen::VectorXd>;
  const Numbers a(re, times), b(im, times), c(other_re, times), d(other_im, times);
  sum[0] += a.dot(c) + b.dot(d);
  sum[1] += b.dot(c) - a.dot(d);
}

}  // namespace

}  // namespace smallbatch
