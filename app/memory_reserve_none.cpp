// Used with sanitizers. They have replaced malloc and operator new, and end the program when memory runs out.
#include "app/memory_reserve.hpp"

namespace smallbatch {

NewThrowsOnce::NewThrowsOnce() noexcept = default;
NewThrowsOnce::~NewThrowsOnce() = default;

}  // namespace smallbatch
