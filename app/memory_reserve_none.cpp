// Used with sanitizers. They have replaced malloc and operator new, and end the program themselves.
#include "app/memory_reserve.hpp"

namespace smallbatch {

TellsOfMissingMemory::TellsOfMissingMemory() noexcept = default;
TellsOfMissingMemory::~TellsOfMissingMemory() = default;

}  // namespace smallbatch
