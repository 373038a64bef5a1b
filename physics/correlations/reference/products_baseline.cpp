// What the compiler takes for granted.
#include "physics/correlations/reference/products_body.hpp"

namespace smallbatch {

constinit const ProductLoops product_loops_baseline = {"baseline", &multiply, &add_product};

}  // namespace smallbatch
