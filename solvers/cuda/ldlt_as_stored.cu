// One pass (ldlt_one_pass.cuh) over matrices that are kept as they are stored: packed, or dense at any address and with
// rows of any length.
#include <array>

#include "solvers/cuda/ldlt_one_pass.cuh"

namespace smallbatch {

namespace {

/// Numbers from one system to the next in shared memory, whole pieces, such that lanes that read a column of their rows
/// meet as many banks as may be.
template <class T>
int stored_step(const SpdBatch<T>& batch, int lanes) {
  constexpr int piece = 16 / sizeof(T), banks = 32 / (sizeof(T) / 4);
  const bool packed = batch.shape.storage == Storage::packed_lower;
  const int n = batch.shape.n, first = (static_cast<int>(batch.shape.matrix_size()) + 2 * (piece - 1)) / piece * piece;
  int best = first, fewest = banks + 1;
  for (int step = first; step < first + banks; step += piece) {
    std::array<int, banks> reads{};
    for (int place = 0; place < banks; ++place) {
      const int system = place / lanes, row = lanes + place % lanes;
      const auto skipped = static_cast<int>(system * batch.a_step() % piece);
      ++reads[(system * step + skipped + (packed ? row * (row + 1) / 2 : row * n)) % banks];
    }
    const int most = *std::max_element(reads.begin(), reads.end());
    if (most < fewest) best = step, fewest = most;
  }
  return best;
}

}  // namespace

template <class T>
cudaError_t launch_ldlt_as_stored(const SpdBatch<T>& batch, const SpdSolution<T>& solution, Mark* marks,
                                  cudaStream_t stream) {
  const OnePassKernel<T> chosen = one_pass_kernel_of<T, true>(batch.shape.n);
  const int systems = warp_lanes / chosen.lanes;
  Arguments<T> arguments = arguments_of(batch, solution, marks);
  arguments.vectors = reinterpret_cast<std::uintptr_t>(batch.a) % 16 == 0;
  arguments.kept_step = stored_step(batch, chosen.lanes);
  const std::size_t numbers = systems * arguments.kept_step + chosen.lanes * chosen.rows;
  return launch(chosen.kernel, systems, arguments, stream, 1 << 15, (numbers * sizeof(T) + 15) / 16 * 16);
}

template cudaError_t launch_ldlt_as_stored(const SpdBatch<float>&, const SpdSolution<float>&, Mark*, cudaStream_t);
template cudaError_t launch_ldlt_as_stored(const SpdBatch<double>&, const SpdSolution<double>&, Mark*, cudaStream_t);

}  // namespace smallbatch
