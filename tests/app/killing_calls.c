// A library that kills its process before call number KILL_AT, so the call has no effect. It counts calls that write,
// flush, cut, lock, rename or remove files. unfinished_runs.py builds the library.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>

static atomic_long calls;
static long kill_at = -1, full_from = -1;
static int which = SIGKILL;
static int is_child;

// A child process sets a flag, because the sandbox does not let it call getpid().
static void begin_child(void) { is_child = 1; }

__attribute__((constructor)) static void begin(void) {
  if (getenv("KILL_AT")) kill_at = atol(getenv("KILL_AT"));
  if (getenv("FULL_FROM")) full_from = atol(getenv("FULL_FROM"));
  if (getenv("KILL_WITH")) which = atoi(getenv("KILL_WITH"));
  pthread_atfork(0, 0, begin_child);
}
__attribute__((destructor)) static void end(void) {
  if (is_child || !getenv("COUNT_TO")) return;
  FILE* file = fopen(getenv("COUNT_TO"), "w");
  fprintf(file, "%ld\n", (long)calls);
  fclose(file);
}
static void count(void) {
  if (!is_child && atomic_fetch_add(&calls, 1) + 1 == kill_at) kill(getpid(), which);
}
// Returns 1 if `name` is a write, once FULL_FROM calls were made. The write then fails as on a full disk.
static int is_full(const char* name) {
  if (is_child || full_from < 0 || calls < full_from || strncmp(name, "pwrite", 6) != 0) return 0;
  errno = ENOSPC;
  return 1;
}
// Returns 1 for flock() if NO_LOCKS is set. The call then fails as on a file system without locks.
static int has_no(const char* name) {
  if (!getenv("NO_LOCKS") || strcmp(name, "flock") != 0) return 0;
  errno = ENOSYS;
  return 1;
}
// With NO_CLOCK, the timer that ends a process after a signal is never started.
int setitimer(__itimer_which_t timer, const struct itimerval* value, struct itimerval* before) {
  static int (*next)(__itimer_which_t, const struct itimerval*, struct itimerval*);
  if (getenv("NO_CLOCK")) return 0;
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "setitimer");
  return next(timer, value, before);
}
// Sends SIGTERM when a file is opened by a path that ends in SIGNAL_AT_OPEN.
static void signal_at_open(const char* path) {
  const char* name = getenv("SIGNAL_AT_OPEN");
  const size_t length = strlen(path), ending = name ? strlen(name) : 0;
  if (!name || is_child || length < ending || strcmp(path + length - ending, name) != 0) return;
  kill(getpid(), SIGTERM);
}
#define OPEN(name)                                                 \
  int name(const char* path, int flags, ...) {                     \
    static int (*next)(const char*, int, ...);                     \
    va_list arguments;                                             \
    va_start(arguments, flags);                                    \
    const int mode = flags & O_CREAT ? va_arg(arguments, int) : 0; \
    va_end(arguments);                                             \
    if (!next) *(void**)&next = dlsym(RTLD_NEXT, #name);           \
    signal_at_open(path);                                          \
    return next(path, flags, mode);                                \
  }
OPEN(open)
OPEN(open64)
// With NO_FOLDER_FLUSH, fsync() fails for folders.
int fsync(int file) {
  static int (*next)(int);
  struct stat found;
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "fsync");
  count();
  if (!getenv("NO_FOLDER_FLUSH") || fstat(file, &found) != 0 || !S_ISDIR(found.st_mode)) return next(file);
  errno = EIO;
  return -1;
}
#define CALL(result, name, parameters, arguments)        \
  result name parameters {                               \
    static result(*next) parameters;                     \
    if (!next) *(void**)&next = dlsym(RTLD_NEXT, #name); \
    count();                                             \
    if (is_full(#name) || has_no(#name)) return -1;      \
    return next arguments;                               \
  }
// Sends SIGTERM before this call writes the text SIGNAL_AT_WRITE, and delays the write by 0.3 s.
ssize_t write(int file, const void* bytes, size_t size) {
  static ssize_t (*next)(int, const void*, size_t);
  const char* text = getenv("SIGNAL_AT_WRITE");
  if (!next) *(void**)&next = dlsym(RTLD_NEXT, "write");
  count();
  if (text && !is_child && memmem(bytes, size, text, strlen(text))) {
    kill(getpid(), SIGTERM);
    usleep(300000);
  }
  return next(file, bytes, size);
}
CALL(ssize_t, pwrite, (int file, const void* bytes, size_t size, off_t at), (file, bytes, size, at))
CALL(ssize_t, pwrite64, (int file, const void* bytes, size_t size, off_t at), (file, bytes, size, at))
CALL(int, ftruncate, (int file, off_t size), (file, size))
CALL(int, ftruncate64, (int file, off_t size), (file, size))
CALL(int, unlink, (const char* path), (path))
CALL(int, renameat2, (int a, const char* from, int b, const char* to, unsigned flags), (a, from, b, to, flags))
CALL(int, rename, (const char* from, const char* to), (from, to))
CALL(int, flock, (int file, int how), (file, how))
