// Each thread has two pieces of page-locked memory and a stream. It reads into one piece while the other is copied.
#include "bench/file_to_device.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "core/device_cuda.hpp"
#include "core/error.hpp"
#include "core/parallel.hpp"

namespace smallbatch {

namespace {

constexpr std::int64_t piece = std::int64_t{4} << 20;
constexpr int passes = 5;

class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (file_ < 0) throw Error(ErrorKind::missing_file, "cannot read " + path + ". Check its name.");
  }
  ~OpenFile() { ::close(file_); }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  [[nodiscard]] std::int64_t size() const { return ::lseek(file_, 0, SEEK_END); }
  /// Reads the piece at `begin`, and returns its number of bytes.
  std::int64_t read(std::int64_t begin, void* into) const {
    const ssize_t count = ::pread(file_, into, static_cast<std::size_t>(piece), begin);
    if (count < 0) throw Error(ErrorKind::bad_input, "a file could not be read. Run again.");
    return count;
  }

 private:
  int file_;
};

/// Returns the seconds of the fastest pass. Each pass calls take(thread, begin) once for each piece.
double quickest(unsigned threads, std::int64_t bytes, const std::function<void(unsigned, std::int64_t)>& take) {
  double best = 1e300;
  for (int pass = 0; pass < passes; ++pass) {
    std::atomic<std::int64_t> next = 0;
    const auto start = std::chrono::steady_clock::now();
    std::vector<std::thread> workers;
    for (unsigned t = 0; t < threads; ++t)
      workers.emplace_back([&, t] {
        for (std::int64_t begin = next.fetch_add(piece); begin < bytes; begin = next.fetch_add(piece)) take(t, begin);
      });
    for (std::thread& worker : workers) worker.join();
    check(cudaDeviceSynchronize());
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

struct Lane {
  std::array<char*, 2> host{}, device{};
  std::array<cudaEvent_t, 2> copied{};
  Stream stream;
  int turn = 0;
};

}  // namespace

FileRates measure_file(const std::string& path) {
  const OpenFile file(path);
  const std::int64_t bytes = file.size();
  const unsigned threads = hardware_threads();
  std::vector<Lane> lanes(threads);
  for (Lane& lane : lanes)
    for (std::size_t k = 0; k < 2; ++k) {
      check(cudaHostAlloc(reinterpret_cast<void**>(&lane.host[k]), piece, cudaHostAllocDefault));
      check(cudaMalloc(reinterpret_cast<void**>(&lane.device[k]), piece));
      check(cudaEventCreate(&lane.copied[k]));
    }
  FileRates rates;
  rates.read = static_cast<double>(bytes) / quickest(threads, bytes, [&](unsigned t, std::int64_t begin) {
                 (void)file.read(begin, lanes[t].host[0]);
               });
  rates.to_device = static_cast<double>(bytes) / quickest(threads, bytes, [&](unsigned t, std::int64_t begin) {
                      Lane& lane = lanes[t];
                      const auto k = static_cast<std::size_t>(lane.turn ^= 1);
                      check(cudaEventSynchronize(lane.copied[k]));
                      const std::int64_t count = file.read(begin, lane.host[k]);
                      check(cudaMemcpyAsync(lane.device[k], lane.host[k], static_cast<std::size_t>(count),
                                            cudaMemcpyHostToDevice, lane.stream.get()));
                      check(cudaEventRecord(lane.copied[k], lane.stream.get()));
                    });
  for (Lane& lane : lanes)
    for (std::size_t k = 0; k < 2; ++k) {
      check(cudaFreeHost(lane.host[k]));
      check(cudaFree(lane.device[k]));
      check(cudaEventDestroy(lane.copied[k]));
    }
  return rates;
}

}  // namespace smallbatch
