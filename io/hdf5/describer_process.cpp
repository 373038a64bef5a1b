#include "io/hdf5/describer_process.hpp"

#include <fcntl.h>
#include <hdf5.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>
#include <system_error>
#include <utility>

#include "core/system_refusals.hpp"
#include "io/hdf5/describer.hpp"
#include "io/hdf5/input_errors.hpp"
#include "io/hdf5/sandbox.hpp"

namespace smallbatch {
namespace {

constexpr int milliseconds_between_looks = 100;
/// Limits of the bytes of all descriptions of a file: a constant, and a multiple of the file's bytes. An object or a
/// chunk takes more bytes in the file than in its description. Only a malicious file exceeds these limits: many
/// attributes of 16 bytes may refer to one string of 4096 bytes.
constexpr std::uint64_t most_received = std::uint64_t{1} << 26, most_received_per_byte = 8;

/// Exit status of a child that ends by itself.
enum ExitStatus : int { nobody_asks = 0, too_large = 3, failed = 4, out_of_memory = 5, cut_off = 6 };
/// First byte of each message from the child.
enum class Sign : std::uint8_t { still_at_work, answer };

/// Returns the most memory that this process ever had, in bytes.
std::uint64_t memory_bytes() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) << 10;
}

[[noreturn]] void run_child(int socket, pid_t parent, const std::function<void(int)>& work) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(failed);  // the parent has ended already
  // The child ignores these signals. The parent handles them, and ends the child.
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGALRM}) std::signal(signal, SIG_IGN);
  const std::uint64_t before = memory_bytes();
  try {
    work(socket);
    ::_exit(nobody_asks);
  } catch (const std::bad_alloc&) {
    ::_exit(memory_bytes() > before + sandbox_bytes / 2 ? too_large : out_of_memory);
  } catch (const std::system_error&) {
    ::_exit(cut_off);
  } catch (...) {
    ::_exit(failed);
  }
}

void send_all(int socket, const char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t sent = ::send(socket, bytes, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) throw std::system_error(errno, std::generic_category());
    bytes += sent;
    count -= static_cast<std::size_t>(sent);
  }
}

/// Waits for bytes and returns their number, or 0 if the other end is closed.
std::size_t receive_some(int socket, char* bytes, std::size_t most) {
  for (;;) {
    const ssize_t received = ::recv(socket, bytes, most, 0);
    if (received >= 0) return static_cast<std::size_t>(received);
    if (errno != EINTR) return 0;
  }
}

struct NobodyAsks {};

/// Work of the child: answers requests until the parent closes the socket.
void describe_for(int socket, const std::shared_ptr<InputBytes>& bytes) {
  H5open();  // before the sandbox, which may forbid what HDF5 does when it starts
  enter_sandbox({socket, bytes->descriptor()});
  MessageWriter writer([socket](const char* data, std::size_t count) { send_all(socket, data, count); });
  MessageReader reader([socket](char* data, std::size_t most) {
    const std::size_t received = receive_some(socket, data, most);
    if (received == 0) throw NobodyAsks{};
    return received;
  });
  const auto sign = [&writer](Sign value) { writer.put(static_cast<std::uint8_t>(value)); };
  try {
    std::unique_ptr<Hdf5Describer> describer;
    Defect defect;
    try {
      describer = std::make_unique<Hdf5Describer>(bytes, [&] {
        sign(Sign::still_at_work);
        writer.flush();
      });
    } catch (Defect& found) {
      defect = std::move(found);
    }
    sign(Sign::answer);
    writer.put(std::uint8_t{describer == nullptr});
    if (!describer) writer.put(defect);
    writer.flush();
    while (describer) {
      const auto depth = reader.get<std::int32_t>();
      describer->describe(reader.get_text(), depth, [&](StoredObject&& object) {
        sign(Sign::answer);
        writer.put(object);
      });
      writer.flush();
    }
  } catch (const NobodyAsks&) {
    ::_exit(cut_off);  // the parent sees this status only if it still runs
  }
}

}  // namespace

ChildProcess::ChildProcess(const std::function<void(int)>& work) {
  std::array<int, 2> ends{-1, -1};
  const pid_t parent = ::getpid();
  const bool has_socket = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0;
  if (has_socket) child_ = ::fork();
  if (child_ == 0) run_child(ends[1], parent, work);
  const int system_error = errno;
  if (has_socket) ::close(ends[1]);
  socket_ = ends[0];
  if (child_ > 0) return;
  if (has_socket) ::close(socket_);
  throw refused_by_system("start a process to read a file", system_error);
}

ChildProcess::~ChildProcess() {
  end();
  ::close(socket_);
}

int ChildProcess::end() {
  if (child_ <= 0) return status_;
  ::kill(child_, SIGKILL);
  while (::waitpid(child_, &status_, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  return status_;
}

double ChildProcess::cpu_seconds() const {
  clockid_t clock{};
  timespec time{};
  if (child_ <= 0 || ::clock_getcpuclockid(child_, &clock) != 0 || ::clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

bool ChildProcess::is_asleep() const {
  std::array<char, 512> text{};  // "pid (name) state ...", proc(5)
  const int file =
      child_ > 0 ? ::open(("/proc/" + std::to_string(child_) + "/stat").c_str(), O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0) return false;
  const ssize_t length = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  const char* const end_of_name = length > 0 ? std::strrchr(text.data(), ')') : nullptr;
  return end_of_name && std::strncmp(end_of_name, ") S", 3) == 0;
}

DescriberLimits DescriberLimits::of_file(std::uint64_t bytes, double asleep_seconds) {
  const double megabytes = 1e-6 * static_cast<double>(bytes);
  return {.silent_seconds = std::min(10.0, 2 + megabytes / 16),
          .seconds = 5 + megabytes / 2,
          .asleep_seconds = asleep_seconds};
}

template <class Read>
auto DescriberProcess::understood(Read&& read) {
  try {
    return read();
  } catch (const Nonsense&) {
    child_.end();
    throw error("the HDF5 library described it in a way that makes no sense");
  }
}

DescriberProcess::DescriberProcess(const std::string& path, const std::shared_ptr<InputBytes>& bytes,
                                   double asleep_seconds)
    : DescriberProcess(
          path, bytes->size(), [&bytes](int socket) { describe_for(socket, bytes); },
          DescriberLimits::of_file(bytes->size(), asleep_seconds)) {}

DescriberProcess::DescriberProcess(const std::string& path, std::uint64_t file_bytes,
                                   const std::function<void(int)>& work, const DescriberLimits& limits)
    : path_(path),
      file_bytes_(file_bytes),
      limits_(limits),
      child_(work),
      reader_([this](char* bytes, std::size_t most) { return receive(bytes, most); }) {
  understood([this] {
    wait_for_answer();
    if (reader_.get<std::uint8_t>() != 0) throw reader_.get_defect();
  });
}

bool DescriberProcess::ask(const std::string& object, int depth) {
  cpu_seconds_ = child_.cpu_seconds();
  try {
    MessageWriter writer([this](const char* bytes, std::size_t count) { send_all(child_.socket(), bytes, count); });
    writer.put(std::int32_t{depth});
    writer.put(object);
    writer.flush();
  } catch (const std::system_error&) {
    child_.end();
    return false;
  }
  wait_for_bytes();
  char first = 0;
  if (::recv(child_.socket(), &first, 1, MSG_PEEK) > 0) return true;
  const int status = child_.end();
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return false;
  throw end_of_process();
}

StoredObject DescriberProcess::next() {
  return understood([this] {
    wait_for_answer();
    return reader_.get_object(file_bytes_);
  });
}

void DescriberProcess::expect_no_more() {
  understood([this] {
    if (!reader_.is_empty()) throw Nonsense{};
  });
}

void DescriberProcess::wait_for_answer() {
  for (;;) {
    const auto sign = static_cast<Sign>(reader_.get<std::uint8_t>());
    if (sign == Sign::answer) return;
    if (sign != Sign::still_at_work) throw Nonsense{};
  }
}

void DescriberProcess::wait_for_bytes() {
  // This counts polls, and not seconds. A parent that is stopped for a while does not poll, and so does not end a child
  // that works.
  for (looks_asleep_ = 0;;) {
    pollfd socket{child_.socket(), POLLIN, 0};
    if (::poll(&socket, 1, milliseconds_between_looks) > 0) break;
    check_cpu();
    looks_asleep_ = child_.is_asleep() ? looks_asleep_ + 1 : 0;
    if (looks_asleep_ * milliseconds_between_looks <= 1000 * limits_.asleep_seconds) continue;
    child_.end();
    throw Asleep{};
  }
}

void DescriberProcess::check_cpu() {
  const double seconds = child_.cpu_seconds();
  if (seconds != latest_cpu_seconds_) looks_asleep_ = 0;
  latest_cpu_seconds_ = seconds;
  if (seconds - cpu_seconds_ <= limits_.silent_seconds && seconds <= limits_.seconds) return;
  child_.end();
  throw error("the HDF5 library took too long to read it");
}

std::size_t DescriberProcess::receive(char* bytes, std::size_t most) {
  wait_for_bytes();
  check_cpu();
  cpu_seconds_ = latest_cpu_seconds_;
  const std::size_t received = receive_some(child_.socket(), bytes, most);
  if (received == 0) throw end_of_process();
  received_ += received;
  if (received_ / most_received_per_byte > file_bytes_ + most_received / most_received_per_byte) throw Nonsense{};
  return received;
}

Error DescriberProcess::error(const std::string& why) const {
  return {ErrorKind::bad_input, "cannot use " + path_, why, damaged};
}

Error DescriberProcess::end_of_process() {
  const int status = child_.end();
  const auto cannot_read = [this](const std::string& why) {
    return Error(ErrorKind::out_of_memory, "cannot read " + path_, why, "End other programs, and run again.");
  };
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    return cannot_read("the process that reads it was killed, probably because memory is short");
  }
  if (WIFSIGNALED(status)) {
    return error("the HDF5 library crashed on it, signal " + std::to_string(WTERMSIG(status)));
  }
  if (WEXITSTATUS(status) == out_of_memory) {
    return cannot_read("the memory does not suffice");
  }
  if (WEXITSTATUS(status) == cut_off) {
    return cannot_read("the connection to the process that reads it was lost");
  }
  if (WEXITSTATUS(status) == too_large) {
    return error("the HDF5 library needed more than " + std::to_string(sandbox_bytes >> 20) + " MiB of memory for it");
  }
  return error("the HDF5 library stopped before it had read the whole file");
}

}  // namespace smallbatch
