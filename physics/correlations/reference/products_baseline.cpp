// The referee's products for the compiler's default instruction set.
#include "physics/correlations/reference/products_body.hpp"

namespace smallbatch {

constinit const ProductLoops product_loops_baseline = {"baseline", &multiply, &add_product};

}  // namespace smallbatch
