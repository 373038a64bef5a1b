// The referee's products for AVX-512.
#include "physics/correlations/reference/products_body.hpp"

namespace smallbatch {

constinit const ProductLoops product_loops_avx512 = {"avx512", &multiply, &add_product};

}  // namespace smallbatch
