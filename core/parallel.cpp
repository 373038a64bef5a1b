#include "core/parallel.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <exception>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace smallbatch {

namespace {

/// Returns the least quota, in cores, of this process's control group and all groups above it.
unsigned cores_of_control_groups() {
  unsigned least = std::numeric_limits<unsigned>::max();
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::/")) continue;
    for (std::filesystem::path group = line.substr(3);; group = group.parent_path()) {
      std::string quota;
      std::ifstream file("/sys/fs/cgroup" + group.string() + "/cpu.max");
      if (std::getline(file, quota)) least = std::min(least, cores_of_quota(quota).value_or(least));
      if (group == group.parent_path()) break;
    }
  }
  return least;
}

thread_local bool is_in_team = false;

/// Threads that the calling thread keeps from one parallel_for() to the next. Starting threads costs as much time as
/// solving thousands of systems.
class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team() {
    if (is_in_forked_child()) {
      state_.release();  // NOLINT(bugprone-unused-return-value): after a fork, the threads do not exist, and a lock
                         // that one of them held stays locked
      return;
    }
    {
      const std::lock_guard lock(state_->mutex);
      state_->is_over = true;
    }
    state_->begin.notify_all();
    for (std::thread& thread : state_->threads) thread.join();
  }

  /// Returns whether this process was forked after the team was made. The child process does not have the team's
  /// threads.
  [[nodiscard]] bool is_in_forked_child() const { return process_ != ::getpid(); }

  /// Calls `work` on this thread and on up to `others` threads of the team, or on fewer if the system starts no more.
  /// Returns when all these calls have ended. After the call on this thread has ended, no other thread begins a call:
  /// `work` returns only when no piece is left.
  void run(unsigned others, const std::function<void()>& work) {
    State& state = *state_;
    grow(others);
    others = std::min(others, static_cast<unsigned>(state.threads.size()));
    {
      const std::lock_guard lock(state.mutex);
      state.work = &work;
      state.starts_left = others;
    }
    for (unsigned i = 0; i < others; ++i) state.begin.notify_one();
    is_in_team = true;
    work();
    is_in_team = false;
    std::unique_lock lock(state.mutex);
    state.starts_left = 0;
    state.end.wait(lock, [&] { return state.at_work == 0; });
  }

 private:
  struct State {
    std::vector<std::thread> threads;
    std::mutex mutex;
    std::condition_variable begin, end;
    const std::function<void()>* work = nullptr;
    unsigned starts_left = 0;  ///< number of threads that may still begin
    unsigned at_work = 0;      ///< number of threads that call `work`
    bool is_over = false;

    void serve() {
      is_in_team = true;
      std::unique_lock lock(mutex);
      while (true) {
        begin.wait(lock, [&] { return is_over || starts_left > 0; });
        if (is_over) return;
        --starts_left;
        ++at_work;
        const std::function<void()>& own = *work;
        lock.unlock();
        own();
        lock.lock();
        if (--at_work == 0) end.notify_one();
      }
    }
  };

  void grow(unsigned threads) {
    try {
      while (state_->threads.size() < threads) state_->threads.emplace_back([state = state_.get()] { state->serve(); });
    } catch (const std::exception&) {
      return;  // the system has no more threads; fewer do the same work
    }
  }

  std::unique_ptr<State> state_ = std::make_unique<State>();
  ::pid_t process_ = ::getpid();
};

/// Returns the team of the calling thread.
Team& own_team() {
  thread_local std::unique_ptr<Team> team;
  if (!team || team->is_in_forked_child()) team = std::make_unique<Team>();
  return *team;
}

}  // namespace

std::optional<unsigned> cores_of_quota(const std::string& text) {
  // std::from_chars uses no locale. A stream would use the locale of the program's C++ library, which may not fit the
  // C++ library of this library.
  double quota = 0, period = 0;
  const char* const end = text.data() + text.size();
  const auto [space, no_quota] = std::from_chars(text.data(), end, quota);
  if (no_quota != std::errc() || space == end || *space != ' ') return std::nullopt;
  if (std::from_chars(space + 1, end, period).ec != std::errc() || !(quota > 0) || !(period > 0)) return std::nullopt;
  return static_cast<unsigned>(std::clamp(std::ceil(quota / period), 1.0, 1e6));
}

unsigned hardware_threads() {
  static const unsigned threads = [] {
    unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    cpu_set_t allowed;
    if (::sched_getaffinity(0, sizeof(allowed), &allowed) == 0)
      cores = std::max(1U, static_cast<unsigned>(CPU_COUNT(&allowed)));
    return std::min(cores, cores_of_control_groups());
  }();
  return threads;
}

unsigned thread_count(unsigned asked_for) { return asked_for == 0 ? hardware_threads() : asked_for; }

void parallel_for(std::int64_t count, std::int64_t grain, unsigned threads,
                  const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(1, grain);
  const std::int64_t pieces = (count + grain - 1) / grain;
  const auto workers = static_cast<unsigned>(std::min<std::int64_t>(thread_count(threads), pieces));

  std::atomic<std::int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  auto work = [&] {
    try {
      for (std::int64_t piece = next++; piece < pieces; piece = next++)
        body(piece * grain, std::min(count, (piece + 1) * grain));
    } catch (...) {
      next = pieces;
      const std::lock_guard lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  if (workers > 1 && !is_in_team)
    own_team().run(workers - 1, work);
  else
    work();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace smallbatch
