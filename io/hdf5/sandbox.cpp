#include "io/hdf5/sandbox.hpp"

#include <fcntl.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <vector>

namespace smallbatch {
namespace {

void limit(__rlimit_resource resource, rlim_t most) {
  rlimit old{};
  if (::getrlimit(resource, &old) == 0) most = std::min(most, old.rlim_max);
  const rlimit limit{most, most};
  ::setrlimit(resource, &limit);
}

/// Returns the private memory of this process, as RLIMIT_DATA counts it, or 0 if it is unknown. A process with
/// sanitizers has terabytes.
rlim_t data_bytes() {
  std::array<char, 256> text{};
  const int file = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t length = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  unsigned long long pages = 0;
  if (length <= 0 || std::sscanf(text.data(), "%*u %*u %*u %*u %*u %llu", &pages) != 1) return 0;
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

void close_all_but(std::vector<int> descriptors) {
  std::ranges::sort(descriptors);
  unsigned first = 0;
  const auto close_to = [&](unsigned last) {  // [first, last]
    if (::close_range(first, last, 0) == 0) return;
    const long most = ::sysconf(_SC_OPEN_MAX);
    for (unsigned i = first; i <= std::min(last, static_cast<unsigned>(most)); ++i) ::close(static_cast<int>(i));
  };
  for (const int descriptor : descriptors) {
    const auto kept = static_cast<unsigned>(descriptor);
    if (kept > first) close_to(kept - 1);
    first = kept + 1;
  }
  close_to(~0U);
}

/// System calls that are allowed: to read, to answer, to get memory, and to end. The calls from write() on are for the
/// sanitizers.
constexpr std::array allowed{
    SCMP_SYS(read),        SCMP_SYS(pread64),       SCMP_SYS(recvfrom),      SCMP_SYS(sendto),
    SCMP_SYS(fstat),       SCMP_SYS(newfstatat),    SCMP_SYS(flock),         SCMP_SYS(brk),
    SCMP_SYS(mmap),        SCMP_SYS(munmap),        SCMP_SYS(mremap),        SCMP_SYS(mprotect),
    SCMP_SYS(madvise),     SCMP_SYS(futex),         SCMP_SYS(clock_gettime), SCMP_SYS(restart_syscall),
    SCMP_SYS(exit),        SCMP_SYS(exit_group),    SCMP_SYS(rt_sigreturn),  SCMP_SYS(sched_getaffinity),
    SCMP_SYS(write),       SCMP_SYS(getpid),        SCMP_SYS(gettid),        SCMP_SYS(sched_yield),
    SCMP_SYS(sigaltstack), SCMP_SYS(rt_sigprocmask)};

/// Makes all other system calls fail. Returns false if the kernel cannot.
bool refuse_everything_else() {
  const scmp_filter_ctx filter = ::seccomp_init(SCMP_ACT_ERRNO(EPERM));
  if (!filter) return false;
  for (const int call : allowed) ::seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
  const bool is_loaded = ::seccomp_load(filter) == 0;
  ::seccomp_release(filter);
  return is_loaded;
}

}  // namespace

void enter_sandbox(std::initializer_list<int> descriptors) {
  if (const rlim_t bytes = data_bytes(); bytes > 0) limit(RLIMIT_DATA, bytes + sandbox_bytes);
  close_all_but(descriptors);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_NOFILE, 0);
  limit(RLIMIT_NPROC, 0);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // this also stops core dumps to a program that collects them
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // Without seccomp the process gets an empty network and separate users. If the kernel refuses this, too, only the
  // limits above remain.
  if (!refuse_everything_else()) ::unshare(CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWIPC);
}

}  // namespace smallbatch
