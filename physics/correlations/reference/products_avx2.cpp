// The referee's products for AVX2 and FMA.
#include "physics/correlations/reference/products_body.hpp"

namespace smallbatch {

constinit const ProductLoops product_loops_avx2 = {"avx2", &multiply, &add_product};

}  // namespace smallbatch
