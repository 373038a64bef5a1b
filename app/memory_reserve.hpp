// A memory reserve. When memory runs out, C libraries get memory from the reserve. HDF5 in particular would otherwise
// crash or end the process. In C++, the first `new` that fails throws std::bad_alloc. Reporting the error and cleaning
// up then use the reserve.
//
// This is for the program only, which owns its process. The file memory_reserve.cpp replaces malloc and operator new.
// Its versions call mimalloc, or a preloaded library.
#pragma once

namespace smallbatch {

/// While an object of this class lives, the first `new` that finds no memory throws. At other times, such as before and
/// after main, `new` takes from the reserve instead.
class NewThrowsOnce {
 public:
  NewThrowsOnce() noexcept;
  // NOLINTNEXTLINE(performance-trivially-destructible): in memory_reserve.cpp it is not trivial
  ~NewThrowsOnce();
  NewThrowsOnce(const NewThrowsOnce&) = delete;
  NewThrowsOnce& operator=(const NewThrowsOnce&) = delete;
};

}  // namespace smallbatch
