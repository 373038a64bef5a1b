// HDF5 in a process of its own: what an input file holds is described there (io/hdf5/describer.hpp), in a sandbox, and
// sent here. HDF5 1.10 crashes on some damaged files, or computes without end, or takes all memory; then that process
// is gone, and the file is refused in a sentence. Private to io/.
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

/// A forked process and this one's end of the socket between the two. It ends, and is waited for, with this object.
class ChildProcess {
 public:
  /// Runs `work` with the child's end of the socket. Nothing that returns there or is thrown comes back here.
  explicit ChildProcess(const std::function<void(int socket)>& work);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  [[nodiscard]] int socket() const { return socket_; }
  /// What it has computed, in seconds.
  [[nodiscard]] double cpu_seconds() const;
  /// Whether it waits for something; not where it is stopped, or the system lets it neither compute nor read a disk.
  [[nodiscard]] bool is_asleep() const;
  /// Ends it; how it had ended, if it had, as waitpid() says.
  int end();

 private:
  pid_t child_ = -1;
  int socket_ = -1, status_ = 0;
};

/// What a process may take. Two are seconds of the processor: a loaded machine does not shorten them.
struct DescriberLimits {
  double silent_seconds;  ///< without sending anything
  double seconds;         ///< in all
  double asleep_seconds;  ///< of the clock, without computing anything, while an answer is owed

  /// Long files may take longer: HDF5 1.10 describes 10 MB of groups, links and chunk indices in a second.
  static DescriberLimits of_file(std::uint64_t bytes, double asleep_seconds);
};

/// The process slept instead of answering, and is ended. No file makes it sleep: it was forked while another thread
/// held a lock that it needs, or the disk or network does not answer. A new one may do better.
struct Asleep {};

class DescriberProcess {
 public:
  /// Throws Defect where HDF5 cannot open the file.
  DescriberProcess(const std::string& path, const std::shared_ptr<InputBytes>& bytes, double asleep_seconds);
  /// Of a file of so many bytes, by `work`, which answers as the process of the other constructor does.
  DescriberProcess(const std::string& path, std::uint64_t file_bytes, const std::function<void(int socket)>& work,
                   const DescriberLimits& limits);

  /// Asks for an object, whose groups on the way were described before, and those below it. False where the process is
  /// gone without having begun to answer: it ends with the thread that started it.
  [[nodiscard]] bool ask(const std::string& object, int depth);
  /// One object after the other, as put_together() wants them. Throws Error(bad_input) where the process crashed,
  /// ended, went beyond its limits, or sent what makes no sense; it is ended then. Each of these throws Asleep, too.
  StoredObject next();
  /// To be called after the last one: nothing more may have come. Throws likewise.
  void expect_no_more();

  /// Ends the process, and says how it had ended before.
  [[nodiscard]] Error end_of_process();

 private:
  [[nodiscard]] Error error(const std::string& why) const;
  /// What read() returns; where it throws Nonsense the process is ended.
  template <class Read>
  auto understood(Read&& read);
  /// Waits for the sign that an object or whatever else follows.
  void wait_for_answer();
  /// Waits until there is something to receive, or the process has ended.
  void wait_for_bytes();
  std::size_t receive(char* bytes, std::size_t most);
  /// Notes what the process has computed; gives it up where that is too much.
  void check_cpu();

  std::string path_;
  std::uint64_t file_bytes_, received_ = 0;
  DescriberLimits limits_;
  ChildProcess child_;
  MessageReader reader_;
  double cpu_seconds_ = 0;         ///< of the child, when it last sent something
  double latest_cpu_seconds_ = 0;  ///< when it was last looked at
  int looks_asleep_ = 0;           ///< since it last computed anything
};

}  // namespace smallbatch
