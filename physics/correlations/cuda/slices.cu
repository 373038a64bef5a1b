// The sums of slices on the tensor cores (tile.cuh).
//
// Up to 64 inputs: a warp sums a slice and keeps all its baselines in registers. Each warp copies the signal to a ring
// buffer in shared memory (cp.async), a few kilobytes ahead of the multiplications. Warps do not wait for each other.
// For 1, 2 and 4 inputs, several times are read as one row of 8 inputs. The diagonal blocks of their 8 x 8 sums, one
// for each time, are added at the end.
//
// More inputs: a block of four warps sums the triangle of 128 inputs (diagonal_panels), or 128 inputs with 64 previous
// inputs (other_panels). Its warps share a ring buffer. For int8, operands are read during the previous multiplication.
// The kernel diagonal_panels runs first, because it also sums the real parts that other_panels needs for int8.
#include <type_traits>

#include "core/gpu_plans.cuh"
#include "physics/correlations/cuda/kernels.cuh"
#include "physics/correlations/cuda/tile.cuh"

namespace smallbatch {

namespace {

__device__ std::uint32_t shared_address(const void* place) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(place));
}
__device__ void end_of_stage() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Stages>
__device__ void wait_for_all_but() {
  asm volatile("cp.async.wait_group %0;" ::"n"(Stages) : "memory");
}

/// Reads the block's number again. The number is needed once more after the sums, and during the sums it would occupy a
/// register.
__device__ unsigned block_of_grid() {
  unsigned block = blockIdx.x;
  asm volatile("" : "+r"(block));
  return block;
}

/// The samples of a slice.
struct Slice {
  std::int64_t first = 0;  ///< index channel * times + time of the first time
  int times = 0;
};
/// Finds slice `index`. There are fewer than 2^31 slices.
__device__ Slice slice_of(const CorrelationSlices& all, std::uint32_t index) {
  const auto slices = static_cast<std::uint32_t>(all.slices), channels = static_cast<std::uint32_t>(all.channels);
  const std::uint32_t of_all = index / slices, channel = of_all % channels, integration = of_all / channels;
  const std::int64_t first = integration * all.integrate + index % slices * all.slice;
  const std::int64_t end = min(min(first + all.slice, (integration + 1) * all.integrate), all.times);
  return {channel * all.times + first, static_cast<int>(max(end - first, std::int64_t{0}))};
}

/// Copies a tile of `Width` inputs into shared memory, StageTimes times at once, with `Threads` threads. Chunks beyond
/// the slice or the row become zero. For floats, a thread keeps one source address and increments it after each chunk,
/// to save registers. From 64 inputs on, it also computes the destination again for each stage.
template <class Signal, int Width, int StageTimes, int Threads>
class TileCopy {
 public:
  /// `signal` is the tile's first input at the slice's first time. `bytes_there` is the number of bytes from there to
  /// the end of the row.
  __device__ TileCopy(const char* signal, std::int64_t row_bytes, std::int64_t bytes_there, int times, int thread)
      : row_bytes_(row_bytes) {
    if (saves_registers) asm volatile("" : "+r"(thread));  // so no derived value stays in a register for copy_stage()
    const int time = thread / row_chunks, chunk = thread % row_chunks;
    const bool is_there = 16 * chunk < bytes_there;
    left_ = is_there ? times - time : 0;
    from_ = signal + time * row_bytes + 16 * chunk;
    place_ = place_of<Signal, Width>(time, chunk);
  }
  /// Copies the next stage to `to`, a multiple of a row's bytes.
  __device__ void copy_stage(std::uint32_t to) {
    const std::uint32_t thread = threadIdx.x % Threads;
    to += saves_registers ? place_of<Signal, Width>(thread / row_chunks, thread % row_chunks) : place_;
#pragma unroll
    for (int m = 0; m < copies; ++m) {
      // Without bytes to copy, cp.async reads nothing, so the address may lie beyond the signal.
      const bool is_there = m * times_apart < left_;
      // A thread's first time is below times_apart, a power of two. Its other times add multiples of times_apart. No
      // bits overlap, so XOR gives the place in a row.
      constexpr std::uint32_t row = Width * Signal::bytes;
      const std::uint32_t further = place_of<Signal, Width>(m * times_apart, 0);
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((to ^ further % row) + further / row * row),
                   "l"(one_by_one ? from_ : from_ + m * times_apart * row_bytes_), "r"(is_there ? 16 : 0)
                   : "memory");
      if (one_by_one) from_ += times_apart * row_bytes_;
    }
    if (!one_by_one) from_ += StageTimes * row_bytes_;
    left_ -= StageTimes;
  }

 private:
  static constexpr int row_chunks = Width * Signal::bytes / 16, copies = StageTimes * row_chunks / Threads;
  static constexpr int times_apart = Threads / row_chunks;  // between two copies of a thread
  static_assert(copies * Threads == StageTimes * row_chunks && times_apart * row_chunks == Threads);
  static_assert((times_apart & (times_apart - 1)) == 0);
  static constexpr bool one_by_one = Signal::bytes == 8, saves_registers = one_by_one && Width >= 64;
  const char* from_;
  std::int64_t row_bytes_;
  int left_;  // number of times left, from this thread's time on
  std::uint32_t place_;
};

constexpr int warps_per_block = 4, warp_stages = 4;
/// Bytes of a stage. Stages are larger for 64 inputs, because registers then allow few warps.
template <int ColumnBlocks>
constexpr int warp_stage_bytes = ColumnBlocks == 8 ? 4096 : 2048;

/// Sums slices with one warp each. `Groups` is the number of times in a row of 8 inputs.
template <class Signal, int ColumnBlocks, int Groups>
__global__ void __launch_bounds__(32 * warps_per_block)
    slices_by_warps(const char* signal, CorrelationSlices slices, ComplexSum<typename Signal::Sum>* sums) {
  using Pair = ComplexSum<typename Signal::Sum>;
  constexpr int width = 8 * ColumnBlocks, stage_bytes = warp_stage_bytes<ColumnBlocks>;
  constexpr int stage_times = stage_bytes / (width * Signal::bytes);
  extern __shared__ __align__(1024) char memory[];
  const int warp = threadIdx.x / 32, lane = threadIdx.x & 31;
  const std::uint32_t index = blockIdx.x * warps_per_block + warp;
  if (index >= slices.count()) return;
  const Slice slice = slice_of(slices, index);
  const std::uint32_t ring = shared_address(memory) + warp * warp_stages * stage_bytes;
  int rows = slice.times / Groups;  // rows that are left
  const std::int64_t row_bytes = slices.row_bytes * Groups;
  TileCopy<Signal, width, stage_times, 32> copy(signal + slice.first * slices.row_bytes, row_bytes, row_bytes, rows,
                                                lane);
  for (int s = 0; s < warp_stages - 1; ++s) {
    if (s * stage_times < rows) copy.copy_stage(ring + s * stage_bytes);
    end_of_stage();
  }
  using Tile = WarpTile<Signal, (ColumnBlocks + 1) / 2, ColumnBlocks, true, true>;
  Tile tile;
  tile.clear();
  const TileReader<Signal, width> reader(0, 0);
  std::uint32_t stage = ring;
  for (; rows > 0; rows -= stage_times) {
    wait_for_all_but<warp_stages - 2>();
    __syncwarp();  // every lane's copies of this stage are there, and all lanes have read the previous stage
    constexpr int ahead = warp_stages - 1;
    if (rows > ahead * stage_times) copy.copy_stage(stage == ring ? ring + ahead * stage_bytes : stage - stage_bytes);
    end_of_stage();
#pragma unroll(Signal::bytes == 2 ? 2 : ColumnBlocks <= 4 ? 2 : 1)
    for (const std::uint32_t end = stage + stage_bytes; stage != end;
         stage += stage_bytes / stage_times * Signal::times) {
      typename Tile::Operands operands;
      tile.load(operands, reader, reader, stage, stage, 0);
      tile.add(operands, reader, stage, 0);
    }
    if (stage == ring + warp_stages * stage_bytes) stage = ring;
  }
  const int inputs = slices.inputs;
  Pair* const to = sums + std::int64_t{index} * baselines_of(inputs);
  if constexpr (Groups == 1) {
    tile.for_each([&](int i, int j, const Pair& v) {
      if (i < inputs && j <= i) to[baseline_of(i, j)] = {v.re, i == j ? 0 : v.im};
    });
  } else {
    constexpr int in_group = 8 / Groups;
    Pair* const product = reinterpret_cast<Pair*>(memory + warp * warp_stages * stage_bytes);  // 8 x 8
    wait_for_all_but<0>();
    __syncwarp();  // the ring is no longer in use
    tile.for_each([&](int i, int j, const Pair& v) {
      if (i < 8) product[8 * i + j] = v;
    });
    __syncwarp();  // the whole product is there
    const int i = lane / in_group, j = lane % in_group;
    if (i >= in_group || j > i) return;
    Pair sum{0, 0};
    for (int g = 0; g < Groups; ++g) {
      const Pair& v = product[(g * in_group + i) * 8 + g * in_group + j];
      sum.re += v.re;
      sum.im += v.im;
    }
    to[baseline_of(i, j)] = {sum.re, i == j ? 0 : sum.im};
  }
}

constexpr int panel = 128, panel_threads = 128, half_panel = 64;
constexpr int stage_shared_bytes = 4 * 16384;  // 16 KiB in which each of four warps stages its tile

/// Barrier of a block's warps. If `AreTogether` is false, warps may call it from different branches of the code.
template <bool AreTogether>
__device__ void wait_for_warps() {
  if constexpr (AreTogether)
    __syncthreads();
  else
    asm volatile("barrier.cta.sync 1, %0;" ::"n"(panel_threads) : "memory");
}

/// Ring buffer of stages. A stage has `times` times of a tile of `Rows` inputs, then of a tile of `Columns` inputs.
template <class Signal, int Rows, int Columns>
struct PanelRing {
  static constexpr int times = 128 / Signal::bytes;  // 16 KiB for 128 inputs
  static constexpr int row_bytes = times * Rows * Signal::bytes, bytes = row_bytes + times * Columns * Signal::bytes;
  static constexpr int stages = 72 * 1024 / bytes;
  static constexpr int shared_bytes = stages * bytes;
  static_assert(shared_bytes >= stage_shared_bytes && shared_bytes <= shared_bytes_everywhere);
};

/// Adds a slice of `times` times to a warp's tile. copy(address) copies the next stage to this address in the ring
/// buffer. All warps of the block must call this function (wait_for_warps). A warp with `is_needed` false only copies.
template <class Signal, class Ring, bool AreTogether, class Tile, class RowReader, class ColumnReader, class Copy>
__device__ void add_all(Tile& tile, const RowReader& rows, const ColumnReader& columns, std::uint32_t ring,
                        std::uint32_t columns_at, int times, bool is_needed, const Copy& copy) {
  constexpr int steps = Ring::times / Signal::times;
  const auto wait_for_stage = [] {
    wait_for_all_but<Ring::stages - 2>();
    wait_for_warps<AreTogether>();  // every thread's copies are there, and all threads have read the previous stage
  };
  constexpr int ahead = Ring::stages - 1;
  for (int s = 0; s < ahead; ++s) {
    if (s * Ring::times < times) copy(ring + s * Ring::bytes);
    end_of_stage();
  }
  std::uint32_t stage = ring;
  const auto copy_next = [&](std::uint32_t stage_before) {
    if (times > ahead * Ring::times) copy(stage_before);
    end_of_stage();
  };
  if constexpr (Tile::reads_ahead) {
    typename Tile::Operands operands[2];
    wait_for_stage();
    tile.load(operands[0], rows, columns, stage, stage + columns_at, 0);
    std::uint32_t before = ring + ahead * Ring::bytes;
    for (; times > 0; times -= Ring::times) {
      copy_next(before);
      before = stage;
#pragma unroll
      for (int k = 0; k < steps; ++k) {
        if (k + 1 < steps)
          tile.load(operands[(k + 1) & 1], rows, columns, stage, stage + columns_at, (k + 1) * Signal::times);
        if (is_needed) tile.add(operands[k & 1], columns, stage + columns_at, k * Signal::times);
        if (k + 1 == steps) {
          wait_for_stage();
          stage = stage == ring + ahead * Ring::bytes ? ring : stage + Ring::bytes;
          tile.load(operands[(k + 1) & 1], rows, columns, stage, stage + columns_at, 0);
        }
      }
    }
  } else {
    for (; times > 0; times -= Ring::times) {
      wait_for_stage();
      copy_next(stage == ring ? ring + ahead * Ring::bytes : stage - Ring::bytes);
      if (is_needed) {
        constexpr int column_bytes = Ring::bytes - Ring::row_bytes,
                      fewer = column_bytes == 0 ? 1 : Ring::row_bytes / column_bytes;
#pragma unroll 1
        for (std::uint32_t row_at = stage; row_at != stage + Ring::row_bytes; row_at += Ring::row_bytes / steps) {
          const std::uint32_t column_at = stage + columns_at + (row_at - stage) / fewer;
          typename Tile::Operands operands;
          tile.load(operands, rows, columns, row_at, column_at, 0);
          tile.add(operands, columns, column_at, 0);
        }
      }
      stage = stage == ring + ahead * Ring::bytes ? ring : stage + Ring::bytes;
    }
  }
  wait_for_all_but<0>();
  wait_for_warps<AreTogether>();  // the ring is no longer in use
}

/// The triangle of a panel. Two warps have triangles of 64 inputs, and two have the rectangle between them.
template <class Signal>
__global__ void __launch_bounds__(panel_threads, 2)
    diagonal_panels(const char* signal, CorrelationSlices slices, ComplexSum<typename Signal::Sum>* sums,
                    std::int32_t* real_sums) {
  using Ring = PanelRing<Signal, panel, 0>;
  extern __shared__ __align__(1024) char memory[];
  const int role = threadIdx.x / 32;
  const unsigned panels = (slices.inputs + panel - 1) / panel, index = blockIdx.x / panels;
  const int first = static_cast<int>(blockIdx.x % panels) * panel;
  const Slice slice = slice_of(slices, index);
  const std::uint32_t ring = shared_address(memory), stage = ring + role * 16384;
  TileCopy<Signal, panel, Ring::times, panel_threads> panel_copy(
      signal + slice.first * slices.row_bytes + first * Signal::bytes, slices.row_bytes,
      slices.row_bytes - first * Signal::bytes, slice.times, threadIdx.x);
  const auto copy = [&](std::uint32_t to) { panel_copy.copy_stage(to); };
  const auto of_slice = [&](auto* all, std::int64_t size) { return all + block_of_grid() / panels * size; };
  const int row = role == 0 ? 0 : half_panel, rows = min(half_panel, slices.inputs - first - row);
  if (role < 2) {
    WarpTile<Signal, 4, 8, true, true> tile;
    const TileReader<Signal, panel> reader(role * half_panel, role * half_panel);
    tile.clear();
    add_all<Signal, Ring, false>(tile, reader, reader, ring, 0, slice.times, rows > 0, copy);
    tile.store(of_slice(sums, baselines_of(slices.inputs)), first + row, first + row, rows, stage);
    if constexpr (Signal::bytes == 2)
      if (real_sums != nullptr) tile.store_reals(of_slice(real_sums, slices.inputs) + first + row, rows);
  } else {
    WarpTile<Signal, 4, 4, false, true> tile;
    const int column = 32 * (role - 2);
    const TileReader<Signal, panel> reader(row, column);
    tile.clear();
    add_all<Signal, Ring, false>(tile, reader, reader, ring, 0, slice.times, rows > 0, copy);
    tile.store(of_slice(sums, baselines_of(slices.inputs)), first + row, first + column, rows, stage);
  }
}

/// A panel with half of a previous panel. Four warps have 64 x 32 baselines each. Two blocks of threads share a
/// multiprocessor, so one multiplies while the other stores.
template <class Signal>
__global__ void __launch_bounds__(panel_threads, 2)
    other_panels(const char* signal, CorrelationSlices slices, ComplexSum<typename Signal::Sum>* sums,
                 const std::int32_t* real_sums) {
  using Ring = PanelRing<Signal, panel, half_panel>;
  extern __shared__ __align__(1024) char memory[];
  const int warp = threadIdx.x / 32;
  const unsigned panels = (slices.inputs + panel - 1) / panel, pairs = panels * (panels - 1),
                 index = blockIdx.x / pairs;
  struct Firsts {
    int row, column;
  };
  const auto first_of = [&](unsigned block) {
    int i = 1, j = static_cast<int>(block % pairs);  // panel i, and half panel j of the 2 i half panels before it
    while (j >= 2 * i) j -= 2 * i++;
    return Firsts{panel * i, half_panel * j};
  };
  const Slice slice = slice_of(slices, index);
  const auto [first_row, first_column] = first_of(blockIdx.x);
  const char* const from = signal + slice.first * slices.row_bytes;
  TileCopy<Signal, panel, Ring::times, panel_threads> row_copy(from + first_row * Signal::bytes, slices.row_bytes,
                                                               slices.row_bytes - first_row * Signal::bytes,
                                                               slice.times, threadIdx.x);
  TileCopy<Signal, half_panel, Ring::times, panel_threads> column_copy(
      from + first_column * Signal::bytes, slices.row_bytes, slices.row_bytes - first_column * Signal::bytes,
      slice.times, threadIdx.x);
  WarpTile<Signal, 4, 4, false, false> tile;
  const int row = half_panel * (warp / 2), column = 32 * (warp % 2),
            rows = min(half_panel, slices.inputs - first_row - row);
  const std::uint32_t ring = shared_address(memory);
  tile.clear();
  tile.load_reals(real_sums + std::int64_t{index} * slices.inputs + first_row + row, rows);
  add_all<Signal, Ring, true>(tile, TileReader<Signal, panel>(row, 0), TileReader<Signal, half_panel>(0, column), ring,
                              Ring::row_bytes, slice.times, rows > 0, [&](std::uint32_t to) {
                                row_copy.copy_stage(to);
                                column_copy.copy_stage(to + Ring::row_bytes);
                              });
  const unsigned block = block_of_grid();  // computed again, to save registers
  const auto [row_again, column_again] = first_of(block);
  tile.store(sums + std::int64_t{block / pairs} * baselines_of(slices.inputs), row_again + row, column_again + column,
             min(half_panel, slices.inputs - row_again - row), ring + warp * 16384);
}

template <class Signal, int ColumnBlocks, int Groups>
cudaError_t launch_by_warps(const void* signal, const CorrelationSlices& slices, void* sums, cudaStream_t stream) {
  constexpr int shared_bytes = warps_per_block * warp_stages * warp_stage_bytes<ColumnBlocks>;
  static_assert(shared_bytes <= shared_bytes_everywhere);
  const auto kernel = slices_by_warps<Signal, ColumnBlocks, Groups>;
  if (const auto status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
      status != cudaSuccess)
    return status;
  const std::int64_t blocks = (slices.count() + warps_per_block - 1) / warps_per_block;
  if (blocks > 0x7fffffff) return cudaErrorInvalidValue;
  kernel<<<static_cast<unsigned>(blocks), 32 * warps_per_block, shared_bytes, stream>>>(
      static_cast<const char*>(signal), slices, static_cast<ComplexSum<typename Signal::Sum>*>(sums));
  return cudaGetLastError();
}

template <class Signal>
cudaError_t launch_by_panels(const void* signal, const CorrelationSlices& slices, void* sums, std::int32_t* real_sums,
                             cudaStream_t stream) {
  const std::int64_t panels = (slices.inputs + panel - 1) / panel;
  const std::int64_t diagonal = slices.count() * panels, others = slices.count() * panels * (panels - 1);
  if (diagonal > 0x7fffffff || others > 0x7fffffff) return cudaErrorInvalidValue;
  const auto from = static_cast<const char*>(signal);
  const auto to = static_cast<ComplexSum<typename Signal::Sum>*>(sums);
  const auto launch = [&](auto kernel, std::int64_t blocks, int shared_bytes, std::int32_t* reals) {
    if (blocks == 0) return cudaSuccess;
    const auto status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes);
    if (status != cudaSuccess) return status;
    kernel<<<static_cast<unsigned>(blocks), panel_threads, shared_bytes, stream>>>(from, slices, to, reals);
    return cudaGetLastError();
  };
  const auto status = launch(diagonal_panels<Signal>, diagonal, PanelRing<Signal, panel, 0>::shared_bytes,
                             others > 0 ? real_sums : nullptr);
  if (status != cudaSuccess) return status;
  return launch(other_panels<Signal>, others, PanelRing<Signal, panel, half_panel>::shared_bytes, real_sums);
}

template <class Signal>
cudaError_t launch_type(const void* signal, const CorrelationSlices& slices, void* sums, std::int32_t* real_sums,
                        cudaStream_t stream) {
  const int inputs = slices.inputs;
  if (slices.groups == 8) return launch_by_warps<Signal, 1, 8>(signal, slices, sums, stream);
  if (slices.groups == 4) return launch_by_warps<Signal, 1, 4>(signal, slices, sums, stream);
  if (slices.groups == 2) return launch_by_warps<Signal, 1, 2>(signal, slices, sums, stream);
  if (inputs <= 8) return launch_by_warps<Signal, 1, 1>(signal, slices, sums, stream);
  if (inputs <= 16) return launch_by_warps<Signal, 2, 1>(signal, slices, sums, stream);
  if (inputs <= 32) return launch_by_warps<Signal, 4, 1>(signal, slices, sums, stream);
  if (inputs <= 64) return launch_by_warps<Signal, 8, 1>(signal, slices, sums, stream);
  return launch_by_panels<Signal>(signal, slices, sums, real_sums, stream);
}

}  // namespace

cudaError_t launch_slices(SampleType type, const void* signal, const CorrelationSlices& slices, void* sums,
                          std::int32_t* real_sums, cudaStream_t stream) {
  if (slices.count() == 0) return cudaSuccess;
  if (slices.count() > 0x7fffffff) return cudaErrorInvalidValue;
  return type == SampleType::complex_float32 ? launch_type<Float32Signal>(signal, slices, sums, real_sums, stream)
                                             : launch_type<Int8Signal>(signal, slices, sums, real_sums, stream);
}

}  // namespace smallbatch
