// A library that makes calls of the system and of other libraries fail. LD_PRELOAD loads it before all other libraries.
// Environment variables choose the calls that fail.
//
// - FAILING_CALL: the kind of call that fails, by its name in `calls` below.
// - FAILING_FROM: the number of the first call that fails. Calls are counted from 1 in the process and its children; 0:
// no call fails.
// - FAILING_COUNT: how many calls fail, beginning with the call FAILING_FROM.
// - FAILING_ERROR: the errno of these calls. If unset, it is the usual errno of the call.
// - FAILING_BLOCKS: if set, these calls never return. The second number in FAILING_NOTES is then the id of the process
// that made the call.
// - FAILING_LOSES: if set, pwrite() reports success without writing.
// - FAILING_NOTES: the path of a file with two 64-bit numbers: the number of calls, and the number of failed calls.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

struct Notes {
  std::atomic<std::uint64_t> calls, failed;
};

enum class Call {
  malloc,
  mmap,
  thread,
  socketpair,
  fork,
  read,
  write,
  send,
  recv,
  inflate,
  readlink,
  stat,
  lstat,
  none
};
constexpr const char* calls[] = {"malloc", "mmap", "thread",  "socketpair", "fork", "read", "write",
                                 "send",   "recv", "inflate", "readlink",   "stat", "lstat"};

Call failing = Call::none;
std::uint64_t first = 0, count = 0, given_error = 0;
bool blocks = false, loses = false;
Notes* notes = nullptr;

std::uint64_t number_of(const char* name) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : 0;
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

/// Runs before main and before all other initialisation of the program and its libraries.
__attribute__((constructor(101))) void begin() {
  const char* name = std::getenv("FAILING_CALL");
  const char* path = std::getenv("FAILING_NOTES");
  if (!name || !path) return;
  const int file = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0 || ::ftruncate(file, sizeof(Notes)) != 0) ::abort();
  const auto map = next<decltype(::mmap)>("mmap");
  void* const shared = map(nullptr, sizeof(Notes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (shared == MAP_FAILED) ::abort();
  ::close(file);
  first = number_of("FAILING_FROM");
  count = number_of("FAILING_COUNT");
  given_error = number_of("FAILING_ERROR");
  blocks = std::getenv("FAILING_BLOCKS") != nullptr;
  loses = std::getenv("FAILING_LOSES") != nullptr;
  notes = static_cast<Notes*>(shared);
  for (int call = 0; call < static_cast<int>(Call::none); ++call) {
    if (std::strcmp(calls[call], name) == 0) failing = static_cast<Call>(call);
  }
}

bool fails(Call call, int system_error) {
  if (call != failing) return false;
  const std::uint64_t number = ++notes->calls;
  if (first == 0 || number < first || number - first >= count) return false;
  if (blocks)
    notes->failed = static_cast<std::uint64_t>(::getpid());
  else
    ++notes->failed;
  while (blocks) ::pause();
  errno = given_error != 0 ? static_cast<int>(given_error) : system_error;
  return true;
}

template <class Function, class Result, class... Arguments>
Result call_or_fail(Call call, int system_error, Result failure, const char* name, Arguments... arguments) {
  if (fails(call, system_error)) return failure;
  return next<Function>(name)(arguments...);
}

/// A function of the program's allocator, looked up at its first call. If the look-up itself allocates memory, it gets
/// a null pointer.
template <class... Arguments>
struct Allocator {
  const char* name;
  std::atomic<void* (*)(Arguments...)> known = nullptr;

  void* ask_or_fail(Arguments... arguments) {
    static thread_local bool is_looking = false;
    if (is_looking || fails(Call::malloc, ENOMEM)) return nullptr;
    if (!known) {
      is_looking = true;
      known = next<void*(Arguments...)>(name);
      is_looking = false;
    }
    return known.load()(arguments...);
  }
};
constinit Allocator<std::size_t> next_malloc{"malloc"};
constinit Allocator<std::size_t, std::size_t> next_calloc{"calloc"}, next_memalign{"memalign"};
constinit Allocator<void*, std::size_t> next_realloc{"realloc"};

}  // namespace

extern "C" {

void* malloc(std::size_t size) { return next_malloc.ask_or_fail(size); }
void* calloc(std::size_t number, std::size_t size) { return next_calloc.ask_or_fail(number, size); }
void* realloc(void* old, std::size_t size) { return next_realloc.ask_or_fail(old, size); }
void* memalign(std::size_t alignment, std::size_t size) { return next_memalign.ask_or_fail(alignment, size); }
void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  void* const found = memalign(alignment, size);
  if (!found) return ENOMEM;
  *memory = found;
  return 0;
}

void* mmap(void* at, std::size_t size, int protection, int flags, int file, off_t offset) {
  return call_or_fail<void*(void*, std::size_t, int, int, int, off_t)>(Call::mmap, ENOMEM, MAP_FAILED, "mmap", at, size,
                                                                       protection, flags, file, offset);
}

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*work)(void*), void* argument) {
  using Create = int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  if (fails(Call::thread, EAGAIN)) return errno;
  return next<Create>("pthread_create")(thread, attributes, work, argument);
}

int socketpair(int domain, int type, int protocol, int* ends) {
  return call_or_fail<int(int, int, int, int*)>(Call::socketpair, EMFILE, -1, "socketpair", domain, type, protocol,
                                                ends);
}
pid_t fork() { return call_or_fail<pid_t()>(Call::fork, EAGAIN, -1, "fork"); }

ssize_t read(int file, void* bytes, std::size_t size) {
  return call_or_fail<ssize_t(int, void*, std::size_t)>(Call::read, EIO, ssize_t{-1}, "read", file, bytes, size);
}
ssize_t pread(int file, void* bytes, std::size_t size, off_t at) {
  return call_or_fail<ssize_t(int, void*, std::size_t, off_t)>(Call::read, EIO, ssize_t{-1}, "pread", file, bytes, size,
                                                               at);
}
ssize_t pread64(int file, void* bytes, std::size_t size, off64_t at) { return pread(file, bytes, size, at); }
ssize_t write(int file, const void* bytes, std::size_t size) {
  return call_or_fail<ssize_t(int, const void*, std::size_t)>(Call::write, EIO, ssize_t{-1}, "write", file, bytes,
                                                              size);
}
ssize_t pwrite(int file, const void* bytes, std::size_t size, off_t at) {
  if (fails(Call::write, EIO)) return loses ? static_cast<ssize_t>(size) : -1;
  return next<ssize_t(int, const void*, std::size_t, off_t)>("pwrite")(file, bytes, size, at);
}
ssize_t pwrite64(int file, const void* bytes, std::size_t size, off64_t at) { return pwrite(file, bytes, size, at); }

ssize_t readlink(const char* path, char* into, std::size_t size) {
  return call_or_fail<ssize_t(const char*, char*, std::size_t)>(Call::readlink, EIO, ssize_t{-1}, "readlink", path,
                                                                into, size);
}
int stat(const char* path, struct stat* found) {
  return call_or_fail<int(const char*, struct stat*)>(Call::stat, EIO, -1, "stat", path, found);
}
int lstat(const char* path, struct stat* found) {
  return call_or_fail<int(const char*, struct stat*)>(Call::lstat, EIO, -1, "lstat", path, found);
}

ssize_t send(int socket, const void* bytes, std::size_t size, int flags) {
  return call_or_fail<ssize_t(int, const void*, std::size_t, int)>(Call::send, ECONNRESET, ssize_t{-1}, "send", socket,
                                                                   bytes, size, flags);
}
ssize_t recv(int socket, void* bytes, std::size_t size, int flags) {
  return call_or_fail<ssize_t(int, void*, std::size_t, int)>(Call::recv, ECONNRESET, ssize_t{-1}, "recv", socket, bytes,
                                                             size, flags);
}

// These calls fail for lack of memory. zlib then returns -4, libdeflate a null pointer, and Zstandard -64.
int inflateInit_(void* stream, const char* version, int size) {
  return call_or_fail<int(void*, const char*, int)>(Call::inflate, ENOMEM, -4, "inflateInit_", stream, version, size);
}
int inflate(void* stream, int flush) {
  return call_or_fail<int(void*, int)>(Call::inflate, ENOMEM, -4, "inflate", stream, flush);
}
void* libdeflate_alloc_decompressor() {
  return call_or_fail<void*()>(Call::inflate, ENOMEM, static_cast<void*>(nullptr), "libdeflate_alloc_decompressor");
}
std::size_t ZSTD_decompress(void* to, std::size_t room, const void* from, std::size_t size) {
  return call_or_fail<std::size_t(void*, std::size_t, const void*, std::size_t)>(
      Call::inflate, ENOMEM, static_cast<std::size_t>(-64), "ZSTD_decompress", to, room, from, size);
}

}  // extern "C"
