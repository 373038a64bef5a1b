// The parent's side. A describer process may crash, run without end, take all memory or send anything. Each time the
// parent reports one sentence, and the process is gone.
#include "io/hdf5/describer_process.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "io/hdf5/input.hpp"
#include "tests/io/hdf5_file.hpp"

namespace smallbatch {
namespace {

using testing::expect_error;

constexpr std::uint64_t file_bytes = 10'000;

void send_text(int socket, const std::string& bytes) {
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t more = ::send(socket, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (more <= 0) return;
    sent += static_cast<std::size_t>(more);
  }
}

void wait_for_request(int socket) {
  char byte = 0;
  (void)::recv(socket, &byte, 1, 0);
}

/// Returns a process body that answers the first request by `bytes`, and then waits until it is ended.
std::function<void(int)> answering(const std::string& bytes) {
  return [bytes](int socket) {
    send_text(socket, std::string("\1\0", 2));
    wait_for_request(socket);
    send_text(socket, bytes);
    for (;;) ::pause();
  };
}

/// Returns the message that describes an object.
std::string message_of(const StoredObject& object) {
  std::string bytes(1, '\1');
  MessageWriter writer([&](const char* data, std::size_t count) { bytes.append(data, count); });
  writer.put(object);
  writer.flush();
  return bytes;
}

StoredObject a_group() {
  StoredObject object;
  object.is_described = true;
  object.kind = ObjectKind::group;
  for (const char* name : {"a", "b"}) object.members.emplace_back().name = name;
  return object;
}

StoredObject a_dataset(const std::function<void(StoredDataset&)>& change = {}) {
  StoredObject object;
  object.is_described = true;
  object.kind = ObjectKind::dataset;
  object.dataset = std::make_unique<StoredDataset>();
  object.dataset->info = {{10, 5}, "float64", ElementType::float64};
  object.dataset->address = 9'600;
  if (change) change(*object.dataset);
  return object;
}

constexpr DescriberLimits short_limits{.silent_seconds = 0.2, .seconds = 1, .asleep_seconds = 0.3};

StoredObject ask(const std::function<void(int)>& work) {
  DescriberProcess process("fake.h5", file_bytes, work, short_limits);
  EXPECT_TRUE(process.ask("/", 0));
  StoredObject object = process.next();
  process.expect_no_more();
  return object;
}

void expect_refused(const std::string& why, const std::function<void(int)>& work) {
  expect_error(ErrorKind::bad_input,
               {"cannot use fake.h5 (the HDF5 library ", why, "). The file is damaged: copy it again"},
               [&] { (void)ask(work); });
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

std::size_t descriptors() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

TEST(DescriberProcess, what_is_sent_comes_back) {
  const StoredObject group = ask(answering(message_of(a_group())));
  ASSERT_EQ(group.members.size(), 2U);
  EXPECT_EQ(group.members[1].name, "b");
  const StoredObject dataset = ask(answering(message_of(a_dataset())));
  EXPECT_EQ(dataset.dataset->info.shape, (std::vector<std::int64_t>{10, 5}));
  EXPECT_EQ(dataset.dataset->address, 9'600U);
}

TEST(DescriberProcess, one_that_crashes_is_told_with_its_signal) {
  const std::size_t before = descriptors();
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE}) {
    const auto crash = [signal](int) {
      std::signal(signal, SIG_DFL);  // removes the handler of a sanitizer
      ::raise(signal);
    };
    expect_refused("crashed on it, signal " + std::to_string(signal), crash);
    expect_refused("crashed on it, signal " + std::to_string(signal), [&](int socket) {
      send_text(socket, std::string("\1\0", 2));
      wait_for_request(socket);
      send_text(socket, message_of(a_group()).substr(0, 20));
      crash(socket);
    });
  }
  EXPECT_EQ(descriptors(), before);
}

TEST(DescriberProcess, one_that_ends_is_told) {
  expect_refused("stopped before", [](int) {});
  expect_refused("stopped before", [](int) { ::_exit(0); });
  expect_refused("stopped before", [](int) { throw 1; });
  expect_error(ErrorKind::bad_input, {"needed more than 1024 MiB of memory"}, [] {
    const auto want_much = [](int) {
      const std::string much(std::size_t{600} << 20, 'x');
      throw std::bad_alloc();
    };
    DescriberProcess process("fake.h5", file_bytes, want_much, {60, 60, 2});
  });
}

TEST(DescriberProcess, a_system_that_is_short_of_memory_is_no_fault_of_the_file) {
  const auto expect_short = [](const std::string& why, const std::function<void(int)>& work) {
    expect_error(ErrorKind::out_of_memory, {"cannot read fake.h5", why}, [&] { (void)ask(work); });
  };
  expect_short("memory does not suffice", [](int) { throw std::bad_alloc(); });
  expect_short("was killed", [](int) { ::raise(SIGKILL); });
  expect_short("connection", [](int) { throw std::system_error(ENOBUFS, std::generic_category()); });
}

TEST(DescriberProcess, one_that_computes_without_end_is_ended) {
  expect_refused("took too long", [](int socket) {
    send_text(socket, std::string("\1\0", 2));
    wait_for_request(socket);
    for (volatile std::uint64_t i = 0;;) i = i + 1;
  });
}

TEST(DescriberProcess, signs_of_work_without_end_are_no_excuse) {
  expect_refused("took too long", [](int socket) {
    send_text(socket, std::string("\1\0", 2));
    wait_for_request(socket);
    for (volatile std::uint64_t i = 0;;) {
      if (i % 10'000'000 == 0) send_text(socket, std::string(1, '\0'));
      i = i + 1;
    }
  });
}

TEST(DescriberProcess, a_small_file_gets_seconds_and_a_large_one_minutes) {
  const auto small = DescriberLimits::of_file(10'000, 2), large = DescriberLimits::of_file(1'000'000'000, 2);
  EXPECT_LT(small.seconds, 10);
  EXPECT_LT(small.silent_seconds, 3);
  EXPECT_GT(large.seconds, 300);
  EXPECT_EQ(large.silent_seconds, 10);
}

TEST(DescriberProcess, one_that_sleeps_is_ended) {
  const auto sleep = [](int) {
    for (;;) ::pause();
  };
  EXPECT_THROW((void)ask(sleep), Asleep);
  EXPECT_THROW((void)ask([&](int socket) {
                 send_text(socket, std::string("\1\0", 2));
                 wait_for_request(socket);
                 send_text(socket, message_of(a_group()).substr(0, 20));
                 sleep(socket);
               }),
               Asleep);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

/// The describer is stopped for longer than `asleep_seconds`.
TEST(DescriberProcess, one_that_is_stopped_is_waited_for) {
  std::array<int, 2> pipe{-1, -1};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  std::thread continuing([&] {
    pid_t stopped = 0;
    ASSERT_EQ(::read(pipe[0], &stopped, sizeof(stopped)), ssize_t{sizeof(stopped)});
    std::this_thread::sleep_for(std::chrono::duration<double>(3 * short_limits.asleep_seconds));
    ASSERT_EQ(::kill(stopped, SIGCONT), 0);
  });
  const StoredObject group = ask([&](int socket) {
    send_text(socket, std::string("\1\0", 2));
    wait_for_request(socket);
    const pid_t itself = ::getpid();
    (void)::write(pipe[1], &itself, sizeof(itself));
    ::raise(SIGSTOP);
    send_text(socket, message_of(a_group()));
    for (;;) ::pause();
  });
  continuing.join();
  EXPECT_EQ(group.members.size(), 2U);
  for (const int end : pipe) ::close(end);
}

TEST(DescriberProcess, what_makes_no_sense_is_refused) {
  const auto refuse = [](const std::string& bytes) { expect_refused("makes no sense", answering(bytes)); };
  const auto with_number = [](std::string bytes, std::size_t at, std::uint64_t number) {
    return bytes.replace(at, 8, std::string(reinterpret_cast<const char*>(&number), 8));
  };
  refuse("\7");
  refuse(std::string("\1\2", 2));
  refuse(std::string("\1\1\x09", 3));
  refuse(message_of(a_group()) + "x");
  // Names that are not sorted.
  StoredObject group = a_group();
  std::swap(group.members[0], group.members[1]);
  refuse(message_of(group));
  group.members[0].name = group.members[1].name;
  refuse(message_of(group));
  // The stated number of attributes is too large: reading ends with the bytes that were sent.
  const std::string good = message_of(a_group());
  for (const std::uint64_t count : {~std::uint64_t{0}, std::uint64_t{1} << 40}) {
    const std::string wrong = with_number(good, 4, count);
    expect_refused("stopped before", [&](int socket) {
      send_text(socket, std::string("\1\0", 2));
      wait_for_request(socket);
      send_text(socket, wrong);
    });
  }
}

TEST(DescriberProcess, what_cannot_be_in_the_file_is_refused) {
  const auto refuse = [](const std::function<void(StoredDataset&)>& change) {
    expect_refused("makes no sense", answering(message_of(a_dataset(change))));
  };
  refuse([](StoredDataset& d) { d.address = 9'601; });
  refuse([](StoredDataset& d) { d.address = ~std::uint64_t{0}; });
  refuse([](StoredDataset& d) { d.info.shape = {-1, 5}; });
  refuse([](StoredDataset& d) { d.info.shape = {std::int64_t{1} << 62, 5}; });
  refuse([](StoredDataset& d) { d.info.shape.assign(33, 1); });
  refuse([](StoredDataset& d) { d.address.reset(); });
  refuse([](StoredDataset& d) {
    d.address.reset();
    d.compact = std::make_unique<std::vector<unsigned char>>(399);
  });
  const auto chunked = [](std::vector<std::int64_t> chunk, std::size_t chunks) {
    return [=](StoredDataset& d) {
      d.address.reset();
      d.chunks = std::make_unique<StoredChunks>(
          StoredChunks{ChunkLayout{d.info.shape, chunk, {}, true}, std::vector<StoredChunk>(chunks)});
    };
  };
  EXPECT_EQ(ask(answering(message_of(a_dataset(chunked({3, 5}, 4))))).dataset->chunks->all.size(), 4U);
  refuse(chunked({3, 5}, 3));
  refuse(chunked({3, 5}, 5));
  refuse(chunked({3}, 4));
  refuse(chunked({0, 5}, 4));
  refuse(chunked({-3, 5}, 4));
  refuse(chunked({std::int64_t{1} << 40, 5}, 1));
  refuse(chunked({std::int64_t{1} << 62, std::int64_t{1} << 62}, 1));
  // A dataset with an address, as if contiguous, and with a chunk layout.
  refuse([](StoredDataset& d) {
    d.chunks = std::make_unique<StoredChunks>(StoredChunks{ChunkLayout{d.info.shape, {3, 5}, {}, true}, {}});
  });
  // One filter five times: a chunk could unpack to 2^75 times its bytes.
  const auto filtered = [&](std::vector<ChunkFilter> filters) {
    return [=](StoredDataset& d) {
      chunked({3, 5}, 4)(d);
      d.chunks->layout.filters = filters;
    };
  };
  const ChunkFilter zstandard{ChunkFilter::Kind::zstandard}, shuffle{ChunkFilter::Kind::shuffle, 8};
  EXPECT_EQ(
      ask(answering(message_of(a_dataset(filtered({shuffle, zstandard}))))).dataset->chunks->layout.filters.size(), 2U);
  refuse(filtered({zstandard, shuffle, zstandard}));
  refuse(filtered(std::vector<ChunkFilter>(5, zstandard)));
  // Texts of zero bytes each: the size of the file does not limit their number.
  refuse([](StoredDataset& d) {
    d.address.reset();
    d.info = {{std::int64_t{1} << 40, 0}, "string", ElementType::uint8, NumberForm::text};
  });
}

TEST(DescriberProcess, no_more_is_received_than_a_file_can_need) {
  expect_refused("makes no sense", [](int socket) {
    send_text(socket, std::string("\1\0", 2));
    wait_for_request(socket);
    for (const std::string signs(std::size_t{1} << 20, '\0');;) send_text(socket, signs);
  });
}

using DescribedFile = testing::FileTest;

/// A describer process ends when the thread that started it ends. InputFile then needs a new process.
TEST_F(DescribedFile, a_file_opened_by_a_thread_outlives_it) {
  testing::write_good_problems(path("p.h5"));
  std::unique_ptr<InputFile> file;
  std::thread([&] { file = std::make_unique<InputFile>(path("p.h5")); }).join();
  EXPECT_EQ(file->members("/solve/s"), (std::vector<std::string>{"A", "b"}));
  file->end_describing();
  EXPECT_EQ(file->dataset("/potential/p/charge").shape, (std::vector<std::int64_t>{4}));
}

TEST_F(DescribedFile, asking_for_all_at_once_is_asking_for_each) {
  testing::write_good_problems(path("p.h5"));
  const InputFile one(path("p.h5")), all(path("p.h5"));
  all.describe("/", 3);
  all.end_describing();
  for (const std::string object : {"/", "/solve", "/solve/s", "/solve/s/A", "/solve/s/c", "/potential/p"}) {
    EXPECT_EQ(all.kind(object), one.kind(object)) << object;
    EXPECT_EQ(all.attributes(object), one.attributes(object)) << object;
    const bool is_group = one.kind(object) == ObjectKind::group;
    EXPECT_EQ(is_group ? all.members(object) : std::vector<std::string>{},
              is_group ? one.members(object) : std::vector<std::string>{})
        << object;
  }
  EXPECT_EQ(all.integers("/potential/p", "shape"), (std::vector<std::int64_t>{4, 3, 2}));
}

}  // namespace
}  // namespace smallbatch
