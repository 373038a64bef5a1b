// HDF5 in a separate process. That process describes an input file (io/hdf5/describer.hpp) in a sandbox, and sends the
// descriptions here. HDF5 1.10 crashes on some damaged files, or computes without end, or takes all memory. Then only
// that process ends, and the file is refused with a message. Private to io/.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/error.hpp"
#include "io/hdf5/catalogue.hpp"
#include "io/hdf5/catalogue_messages.hpp"
#include "io/hdf5/input_driver.hpp"

namespace smallbatch {

/// A forked process, the child, and this process's end of a socket to the child. The destructor ends the child and
/// waits for it.
class ChildProcess {
 public:
  /// Runs `work` in the child, with the child's end of the socket. In the child, this constructor neither returns nor
  /// throws.
  explicit ChildProcess(const std::function<void(int socket)>& work);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] int socket() const { return socket_; }
  /// Returns the CPU time of the child, in seconds.
  [[nodiscard]] double cpu_seconds() const;
  /// Whether the child sleeps. False if it is stopped, or if it waits for a processor or a disk.
  [[nodiscard]] bool is_asleep() const;
  /// Ends the child. Returns the status of waitpid(), which tells how the child had ended if it was already gone.
  int end();

 private:
  pid_t child_ = -1;
  int socket_ = -1, status_ = 0;
};

/// Limits of a process. The first two are in CPU seconds, so that a loaded machine does not shorten them.
struct DescriberLimits {
  double silent_seconds;  ///< CPU time without sending anything
  double seconds;         ///< CPU time in total
  double asleep_seconds;  ///< time by the clock without computing anything, while an answer is due

  /// Returns the limits for a file of `bytes` bytes. Large files may take longer: HDF5 1.10 describes 10 MB of groups,
  /// links and chunk indices in a second.
  static DescriberLimits of_file(std::uint64_t bytes, double asleep_seconds);
};

/// Thrown if the process slept instead of answering, and was ended. No file makes the process sleep. Either another
/// thread held a lock when the process was forked, or the disk or network does not answer. A new process may do better.
struct Asleep {};

class DescriberProcess {
 public:
  /// Throws Defect if HDF5 cannot open the file.
  DescriberProcess(const std::string& path, const std::shared_ptr<InputBytes>& bytes, double asleep_seconds);
  /// Runs `work` in the process. `work` must send the same messages as the process of the other constructor. The file
  /// has `file_bytes` bytes.
  DescriberProcess(const std::string& path, std::uint64_t file_bytes, const std::function<void(int socket)>& work,
                   const DescriberLimits& limits);

  /// Requests the descriptions of an object and of the objects at most `depth` levels below it. The groups on its path
  /// must have been described before. Returns false if the process is gone and has not begun to answer. It may be gone
  /// because it ends with the thread that started it.
  [[nodiscard]] bool ask(const std::string& object, int depth);
  /// Returns the next of the requested descriptions, in the order of put_together(). Throws Error(bad_input) if the
  /// process crashed, ended, exceeded its limits or sent nonsense. Ends the process in these cases. The constructors,
  /// ask() and next() may also throw Asleep.
  StoredObject next();
  /// Checks that nothing has come after the last object. Throws as next() does.
  void expect_no_more();

  /// Ends the process. Returns an error that says how it had ended before.
  [[nodiscard]] Error end_of_process();

 private:
  [[nodiscard]] Error error(const std::string& why) const;
  /// Returns what read() returns. If read() throws Nonsense, the process is ended and an Error is thrown.
  template <class Read>
  auto understood(Read&& read);
  /// Receives signs of progress until the sign that an answer follows.
  void wait_for_answer();
  /// Waits until there is something to receive, or the process has ended.
  void wait_for_bytes();
  std::size_t receive(char* bytes, std::size_t most);
  /// Notes the CPU time of the process. Ends the process and throws if that is too much.
  void check_cpu();

  std::string path_;
  std::uint64_t file_bytes_, received_ = 0;
  DescriberLimits limits_;
  ChildProcess child_;
  MessageReader reader_;
  double cpu_seconds_ = 0;         ///< of the child, when it last sent something
  double latest_cpu_seconds_ = 0;  ///< of the child, at the latest check_cpu()
  int looks_asleep_ = 0;           ///< number of polls that found the child asleep since it last computed anything
};

}  // namespace smallbatch
