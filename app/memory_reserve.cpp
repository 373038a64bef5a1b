#include "app/memory_reserve.hpp"

#include <dlfcn.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>

namespace smallbatch {
namespace {

/// Size of the reserve and of its largest piece. Pages of the reserve that are never written take no memory. C
/// libraries need the reserve for small allocations only. A larger request may fail, because its caller can report
/// that.
constexpr std::size_t reserve_bytes = std::size_t{16} << 20, largest_piece = std::size_t{1} << 20;
constexpr std::size_t usual_alignment = alignof(std::max_align_t);

alignas(4096) constinit std::array<std::byte, reserve_bytes> reserve{};
constinit std::atomic<std::size_t> given = 0;            // bytes given out; none come back
constinit std::atomic<bool> can_new_use_reserve = true;  // false: the next `new` that finds no memory throws

bool is_of_reserve(const void* memory) {
  const auto* const byte = static_cast<const std::byte*>(memory);
  return !std::less<>()(byte, reserve.data()) && std::less<>()(byte, reserve.data() + reserve.size());
}

/// Returns memory from the reserve, or null if the request is too large. Stores the size just before the memory.
void* take_from_reserve(std::size_t size, std::size_t alignment) noexcept {
  alignment = std::max(alignment, usual_alignment);
  if (size > largest_piece || alignment > largest_piece) return nullptr;
  const std::size_t room = size + alignment + usual_alignment;
  std::size_t begin = given;
  do {
    if (room > reserve.size() - begin) return nullptr;
  } while (!given.compare_exchange_weak(begin, begin + room));
  const auto first = reinterpret_cast<std::uintptr_t>(reserve.data() + begin + sizeof(std::size_t));
  std::byte* const memory = reserve.data() + begin + sizeof(std::size_t) + (alignment - first % alignment) % alignment;
  std::memcpy(memory - sizeof(std::size_t), &size, sizeof(size));
  return memory;
}

std::size_t size_in_reserve(const void* memory) noexcept {
  std::size_t size = 0;
  std::memcpy(&size, static_cast<const std::byte*>(memory) - sizeof(size), sizeof(size));
  return size;
}

/// The next function of this name in the process: that of mimalloc, with which the program is linked, or that of a
/// preloaded library.
template <class Function>
class Next {
 public:
  explicit constexpr Next(const char* name) : name_(name) {}
  /// Returns the function, or null while it is being looked up: the look-up may itself need memory.
  Function* get() noexcept {
    if (Function* const known = known_.load(std::memory_order_relaxed)) return known;
    if (is_looking_) return nullptr;
    is_looking_ = true;
    auto* const found = reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name_));
    is_looking_ = false;
    known_.store(found, std::memory_order_relaxed);
    return found;
  }

 private:
  static inline thread_local bool is_looking_ = false;
  const char* name_;
  std::atomic<Function*> known_ = nullptr;
};

constinit Next<void*(std::size_t)> next_malloc("malloc");
constinit Next<void*(std::size_t, std::size_t)> next_calloc("calloc"), next_memalign("memalign");
constinit Next<void*(void*, std::size_t)> next_realloc("realloc");
constinit Next<void(void*)> next_free("free");

void* ask_for(std::size_t size) noexcept {
  const auto ask = next_malloc.get();
  return ask ? ask(size) : nullptr;
}
void* ask_for(std::size_t size, std::size_t alignment) noexcept {
  const auto ask = next_memalign.get();
  return ask ? ask(alignment, size) : nullptr;
}

void* aligned(std::size_t alignment, std::size_t size) noexcept {
  void* const found = ask_for(size, alignment);
  return found ? found : take_from_reserve(size, alignment);
}

void* after_refusal(std::size_t size, std::size_t alignment) {
  void* const found = can_new_use_reserve.exchange(true) ? take_from_reserve(size, alignment) : nullptr;
  if (!found) throw std::bad_alloc();
  return found;
}

}  // namespace

NewThrowsOnce::NewThrowsOnce() noexcept { can_new_use_reserve = false; }
NewThrowsOnce::~NewThrowsOnce() { can_new_use_reserve = true; }

}  // namespace smallbatch

// Visible to all libraries of the process.
#pragma GCC visibility push(default)

extern "C" {

void* malloc(std::size_t size) {
  void* const found = smallbatch::ask_for(size);
  return found ? found : smallbatch::take_from_reserve(size, 1);
}

void* calloc(std::size_t number, std::size_t size) {
  const auto ask = smallbatch::next_calloc.get();
  if (void* const found = ask ? ask(number, size) : nullptr) return found;
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(number, size, &bytes)) return nullptr;
  return smallbatch::take_from_reserve(bytes, 1);  // holds zeros, because no part of the reserve is given out twice
}

void free(void* memory) {
  if (!memory || smallbatch::is_of_reserve(memory)) return;
  smallbatch::next_free.get()(memory);
}

void* realloc(void* old, std::size_t size) {
  if (!old) return std::malloc(size);
  if (!smallbatch::is_of_reserve(old)) {
    if (void* const found = smallbatch::next_realloc.get()(old, size)) return found;
    if (size == 0) return nullptr;  // the memory was freed
  }
  void* const found = std::malloc(size);
  if (!found) return nullptr;
  std::memcpy(
      found, old,
      std::min(size, smallbatch::is_of_reserve(old) ? smallbatch::size_in_reserve(old) : ::malloc_usable_size(old)));
  std::free(old);
  return found;
}

void* reallocarray(void* old, std::size_t number, std::size_t size) {
  std::size_t bytes = 0;
  return __builtin_mul_overflow(number, size, &bytes) ? nullptr : std::realloc(old, bytes);
}

void* memalign(std::size_t alignment, std::size_t size) { return smallbatch::aligned(alignment, size); }
void* aligned_alloc(std::size_t alignment, std::size_t size) { return smallbatch::aligned(alignment, size); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  void* const found = smallbatch::aligned(alignment, size);
  if (!found) return ENOMEM;
  *memory = found;
  return 0;
}

}  // extern "C"

void* operator new(std::size_t size) {
  void* const found = smallbatch::ask_for(size);
  return found ? found : smallbatch::after_refusal(size, 1);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  void* const found = smallbatch::ask_for(size, static_cast<std::size_t>(alignment));
  return found ? found : smallbatch::after_refusal(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

// The array forms call the plain forms above, as in the standard library. The array forms of mimalloc would bypass the
// plain forms, and end the process if memory is missing.
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return operator new(size, alignment); }
// The nothrow form of `new` takes from the reserve as malloc does, because HDF5 does not report that its file driver
// lacks memory.
void* operator new(std::size_t size, const std::nothrow_t& /*unused*/) noexcept { return std::malloc(size); }
void* operator new[](std::size_t size, const std::nothrow_t& /*unused*/) noexcept { return std::malloc(size); }
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t& /*unused*/) noexcept {
  return smallbatch::aligned(static_cast<std::size_t>(alignment), size);
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t& /*unused*/) noexcept {
  return smallbatch::aligned(static_cast<std::size_t>(alignment), size);
}
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

#pragma GCC visibility pop
