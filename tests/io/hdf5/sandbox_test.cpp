// A process in the sandbox can read from the descriptor that it kept, and can do nothing else.
#include "io/hdf5/sandbox.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <functional>
#include <string>

#include "tests/io/hdf5_file.hpp"

namespace smallbatch {
namespace {

class Sandbox : public testing::FileTest {
 protected:
  Sandbox() {
    testing::write_bytes(path("kept"), {'k', 'e', 'p', 't'});
    testing::write_bytes(path("other"), {'o'});
  }

  /// Returns the result of `can`, which a sandboxed process calls. The sandbox leaves it only the descriptor `kept`.
  [[nodiscard]] bool is_possible(const std::function<bool(int kept, int other)>& can) const {
    const int kept = ::open(path("kept").c_str(), O_RDONLY | O_CLOEXEC);
    const int other = ::open(path("other").c_str(), O_RDONLY | O_CLOEXEC);
    const pid_t child = ::fork();
    if (child == 0) {
      enter_sandbox({kept});
      ::_exit(can(kept, other) ? 1 : 2);
    }
    ::close(kept);
    ::close(other);
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    return WEXITSTATUS(status) == 1;
  }
};

TEST_F(Sandbox, the_file_is_read_and_memory_is_there) {
  EXPECT_TRUE(is_possible([](int kept, int) {
    std::array<char, 4> bytes{};
    return ::pread(kept, bytes.data(), 4, 0) == 4 && bytes[3] == 't';
  }));
  EXPECT_TRUE(is_possible([](int, int) { return std::string(std::size_t{100} << 20, 'x').back() == 'x'; }));
}

TEST_F(Sandbox, memory_ends) {
  const auto maps = [](std::size_t bytes) {
    return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) !=
           MAP_FAILED;
  };
  EXPECT_TRUE(is_possible([&](int, int) { return maps(sandbox_bytes / 2); }));
  EXPECT_FALSE(is_possible([&](int, int) { return maps(2 * sandbox_bytes); }));
}

TEST_F(Sandbox, other_descriptors_are_closed) {
  EXPECT_TRUE(is_possible([](int, int other) {
    char byte = 0;
    return ::pread(other, &byte, 1, 0) < 0 && errno == EBADF && ::write(2, "", 1) < 0 && errno == EBADF;
  }));
}

TEST_F(Sandbox, nothing_is_opened_connected_started_or_signalled) {
  const std::string name = path("other");
  EXPECT_TRUE(is_possible([&](int, int) { return ::open(name.c_str(), O_RDONLY) < 0 && errno == EPERM; }));
  EXPECT_TRUE(is_possible([&](int, int) { return ::unlink(name.c_str()) < 0 && errno == EPERM; }));
  EXPECT_TRUE(is_possible([](int, int) { return ::socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EPERM; }));
  EXPECT_TRUE(is_possible([](int kept, int) { return ::dup(kept) < 0 && errno == EPERM; }));
  EXPECT_TRUE(is_possible([](int, int) { return ::fork() < 0 && errno == EPERM; }));
  EXPECT_TRUE(is_possible([](int, int) { return ::kill(::getppid(), 0) < 0 && errno == EPERM; }));
  EXPECT_TRUE(is_possible([](int, int) { return ::ptrace(PTRACE_ATTACH, ::getppid(), 0, 0) < 0 && errno == EPERM; }));
  EXPECT_TRUE(is_possible([](int, int) {
    char byte = 0;  // lies at the same address in the parent
    const iovec here{&byte, 1};
    return ::process_vm_readv(::getppid(), &here, 1, &here, 1, 0) < 0 && errno == EPERM;
  }));
  EXPECT_TRUE(is_possible([](int, int) {
    rlimit limit{};
    return ::prlimit(::getppid(), RLIMIT_NOFILE, nullptr, &limit) < 0 && errno == EPERM;
  }));
  EXPECT_TRUE(is_possible([](int, int) {
    const sockaddr_in address{AF_INET, 0, {}, {}};
    return ::connect(0, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) < 0 && errno == EPERM;
  }));
  EXPECT_TRUE(is_possible([](int, int) {
    std::array<char*, 1> none{nullptr};
    return ::execve("/bin/true", none.data(), none.data()) < 0 && errno == EPERM;
  }));
  EXPECT_TRUE(std::filesystem::exists(name));
}

}  // namespace
}  // namespace smallbatch
