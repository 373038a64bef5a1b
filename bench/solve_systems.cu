#include "bench/solve_systems.hpp"

#include <algorithm>
#include <limits>
#include <random>

#include "core/compare.hpp"
#include "core/grid_stride.cuh"
#include "solvers/spd_families.hpp"
#include "solvers/spd_referee.hpp"
#include "solvers/spd_solver.cuh"

namespace smallbatch {

namespace {

/// Counts the values for which `is_bad` is true.
template <class V, class IsBad>
struct CountBad {
  const V* values;
  IsBad is_bad;
  unsigned long long* bad;
  __device__ void operator()(std::int64_t i) const {
    if (is_bad(values[i])) atomicAdd(bad, 1ULL);
  }
};

struct NotFinite {
  template <class V>
  __device__ bool operator()(V value) const {
    return !(value - value == 0);
  }
};

struct NotZero {
  __device__ bool operator()(std::int32_t value) const { return value != 0; }
};

template <class V>
std::vector<V> download(const V* from, std::int64_t numbers) {
  std::vector<V> values(static_cast<std::size_t>(numbers));
  check(cudaMemcpy(values.data(), from, values.size() * sizeof(V), cudaMemcpyDeviceToHost));
  return values;
}

/// Returns matrices, stored as `shape` says, for libraries that read dense ones. packed_lower matrices become dense,
/// with both triangles filled. All others are returned unchanged.
template <class T>
std::vector<T> unpacked(const SpdShape& shape, const std::vector<T>& packed) {
  if (shape.storage != Storage::packed_lower) return packed;
  const std::int64_t n = shape.n, systems = static_cast<std::int64_t>(packed.size()) / shape.matrix_size();
  std::vector<T> dense(static_cast<std::size_t>(systems * n * n));
  const T* from = packed.data();
  for (std::int64_t p = 0; p < systems; ++p)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j <= i; ++j, ++from) {
        dense[static_cast<std::size_t>((p * n + i) * n + j)] = *from;
        dense[static_cast<std::size_t>((p * n + j) * n + i)] = *from;
      }
  return dense;
}

/// Returns the first `size` rows and columns as a separate matrix.
template <class T>
std::vector<T> leading_block(const T* matrix, const SpdShape& shape, int size) {
  if (size == shape.n) return {matrix, matrix + shape.matrix_size()};
  std::vector<T> block;
  for (int i = 0; i < size; ++i) block.insert(block.end(), matrix + i * shape.n, matrix + i * shape.n + size);
  return block;
}

}  // namespace

template <class T>
Systems<T>::Systems(const SpdShape& s, std::int64_t systems) : Systems(s, systems, s.n) {}
template <class T>
Systems<T>::Systems(int n, int smallest, std::int64_t systems) : Systems({n, 1, Storage::dense}, systems, smallest) {}

template <class T>
Systems<T>::Systems(const SpdShape& s, std::int64_t systems, int smallest)
    : shape(s), count(systems), distinct_(std::min<std::int64_t>(systems, 1024)) {  // to generate more would take long
  host_a_.resize(static_cast<std::size_t>(distinct_ * shape.matrix_size()));
  host_b_.resize(static_cast<std::size_t>(distinct_ * shape.rhs_size()));
  generate_spd(SpdFamily::random, shape, 100, 1, 0, distinct_, host_a_.data(), host_b_.data());
  host_sizes_.assign(static_cast<std::size_t>(distinct_), shape.n);
  if (smallest < shape.n) {
    std::mt19937 random(1);
    for (std::int64_t k = 0; k < distinct_; ++k) {
      const int n = shape.n, size = smallest + static_cast<int>(random() % static_cast<unsigned>(n - smallest + 1));
      host_sizes_[static_cast<std::size_t>(k)] = size;
      for (int e = 0; e < n * n; ++e)
        if (e / n >= size || e % n >= size)
          host_a_[static_cast<std::size_t>(k * n * n + e)] = std::numeric_limits<T>::quiet_NaN();
      for (int i = size; i < n; ++i) host_b_[static_cast<std::size_t>(k * n + i)] = std::numeric_limits<T>::quiet_NaN();
    }
    sizes = upload(memory_sizes_, host_sizes_, 1);
  }
  a = upload(memory_a_, host_a_, shape.matrix_size());
  dense_a = a;
  if (shape.storage == Storage::packed_lower)
    dense_a = upload(memory_dense_, unpacked(shape, host_a_), std::int64_t{shape.n} * shape.n);
  if (shape.rhs_size() > 0) b = upload(memory_b_, host_b_, shape.rhs_size());
  const auto all = static_cast<std::size_t>(count);
  if (shape.solution_size() > 0) x = memory_x_.reserve<T>(all * static_cast<std::size_t>(shape.solution_size()));
  info = memory_info_.reserve<std::int32_t>(all);
  everything.x = x;
  everything.info = info;
  auto memory = memory_numbers_.begin();
  for_each_spd_number<T>([&]<class V>(const SpdNumber<T, V>& number) {
    if (number.is_of(shape)) everything.*number.in_solution = memory->template reserve<V>(all);
    ++memory;
  });
  workspace = memory_workspace_.reserve<std::byte>(spd_workspace_bytes<T>(shape, count, {}));
  bad_ = memory_bad_.reserve<unsigned long long>(1);
  check(cudaDeviceSynchronize());  // streams of the steps do not wait for the default stream
}

template <class T>
template <class V>
V* Systems<T>::upload(DeviceMemory& memory, const std::vector<V>& systems, std::int64_t stored) const {
  V* const to = memory.reserve<V>(static_cast<std::size_t>(count * stored));
  check(cudaMemcpy(to, systems.data(), systems.size() * sizeof(V), cudaMemcpyHostToDevice));
  check(cudaDeviceSynchronize());  // a small copy may still run after the call; streams do not wait for it
  for (std::int64_t there = distinct_; there < count; there *= 2) {
    const auto bytes = static_cast<std::size_t>(std::min(there, count - there) * stored) * sizeof(V);
    check(cudaMemcpy(to + there * stored, to, bytes, cudaMemcpyDeviceToDevice));
  }
  return to;
}

template <class T>
double Systems<T>::numbers_of_a() const {
  if (sizes == nullptr) return static_cast<double>(count * shape.matrix_size());
  double squares = 0;
  for (const std::int32_t size : host_sizes_) squares += static_cast<double>(size) * size;
  return squares * static_cast<double>(count) / static_cast<double>(distinct_);
}

template <class T>
SpdSolution<T> Systems<T>::solution(Stored stored) const {
  if (stored == Stored::everything) return everything;
  SpdSolution<T> some;
  some.x = x;
  some.info = info;
  if (stored == Stored::backward_error) some.backward_error = everything.backward_error;
  if (shape.determinant_only) some.log_determinant = everything.log_determinant;
  return some;
}

template <class T>
void Systems<T>::poison(cudaStream_t stream) const {
  const auto all = static_cast<std::size_t>(count);
  if (x != nullptr)
    check(cudaMemsetAsync(x, 0xff, all * static_cast<std::size_t>(shape.solution_size()) * sizeof(T), stream));
  for_each_spd_number<T>([&]<class V>(const SpdNumber<T, V>& number) {
    V* const values = everything.*number.in_solution;
    if (values != nullptr) check(cudaMemsetAsync(values, 0xff, all * sizeof(V), stream));
  });
  check(cudaMemsetAsync(info, 0, all * sizeof(std::int32_t), stream));
}

template <class T>
double Systems<T>::worst_error(Stored stored) const {
  const SpdSolution<T> answers = solution(stored);
  const std::int64_t size = shape.solution_size();
  check(cudaMemset(bad_, 0, sizeof(*bad_)));
  const auto count_not_finite = [&]<class V>(const V* values, std::int64_t numbers) {
    if (values != nullptr)
      check(launch_for_each_index(numbers, CountBad<V, NotFinite>{values, {}, bad_}, cudaStreamLegacy));
  };
  count_not_finite(answers.x, count * size);
  for_each_spd_number<T>([&](const auto& number) { count_not_finite(answers.*number.in_solution, count); });
  check(launch_for_each_index(count, CountBad<std::int32_t, NotZero>{info, {}, bad_}, cudaStreamLegacy));
  if (download(bad_, 1)[0] > 0) return std::numeric_limits<double>::infinity();

  constexpr std::int64_t samples = 200;
  Comparison comparison;
  for (std::int64_t i = 0; i < samples; ++i) {
    const std::int64_t p = i * (count - 1) / (samples - 1), q = p % distinct_;
    const std::vector<T> answer = x == nullptr ? std::vector<T>() : download(x + p * size, size);
    const std::vector<T> matrix =
        leading_block(host_a_.data() + q * shape.matrix_size(), shape, host_sizes_[static_cast<std::size_t>(q)]);
    SpdShape own = shape;
    own.n = host_sizes_[static_cast<std::size_t>(q)];
    const SpdJudgement judgement = judge_spd_solution(own, matrix.data(), host_b_.data() + q * shape.rhs_size(),
                                                      x == nullptr ? nullptr : answer.data(), 0);
    for (std::int64_t row = own.n; row < shape.n; ++row)
      comparison.add(error_over_bound(answer[static_cast<std::size_t>(row)], 0, 0), p);  // x must be 0 beyond the size
    if (x != nullptr) {
      comparison.add(judgement.residual_ratio / spd_ratio_limit, p);
      comparison.add(judgement.forward_ratio / spd_ratio_limit, p);
    }
    for_each_spd_number<T>([&](const auto& number) {
      const auto* const values = answers.*number.in_solution;
      if (values == nullptr) return;
      const auto got = static_cast<double>(download(values + p, 1)[0]);
      double expected = judgement.*number.in_values;
      const bool estimated = number.in_values == &SpdValues::rcond && own.n > spd_rcond_is_exact_up_to;
      if (estimated && !shape.wants_inverse() && got > expected)
        expected = std::min(got, spd_rcond_overestimate * expected);
      comparison.add(error_over_bound(got, expected, judgement.bounds.*number.in_values), p);
    });
  }
  return comparison.worst;
}

template class Systems<float>;
template class Systems<double>;

}  // namespace smallbatch
