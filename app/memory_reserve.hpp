// What the program does when memory runs out. C libraries (HDF5 first of all, which crashes or ends the process where a
// few bytes are not to be had) get what they ask for from a reserve; C++ throws std::bad_alloc once, and what is then
// needed to say so and to clean up comes from the reserve, too. For the program alone, which owns its process: the file
// beside this one replaces malloc and operator new, and asks those that were there before: mimalloc's, or those of a
// library that was loaded to replace them.
#pragma once

namespace smallbatch {

/// While it lives, the first `new` that finds no memory throws; else, as before main and after it, the reserve serves.
class TellsOfMissingMemory {
 public:
  TellsOfMissingMemory() noexcept;
  // NOLINTNEXTLINE(performance-trivially-destructible): in memory_reserve.cpp it does something
  ~TellsOfMissingMemory();
  TellsOfMissingMemory(const TellsOfMissingMemory&) = delete;
  TellsOfMissingMemory& operator=(const TellsOfMissingMemory&) = delete;
};

}  // namespace smallbatch
