// Conversions of charge_layouts.hpp on the GPU. A thread converts one charge or one offset at a time.
#include "physics/charge_layouts.cuh"

#include "core/grid_stride.cuh"

namespace smallbatch {

template <class T>
cudaError_t launch_split_charges(std::int64_t count, const SplitCharge<T>& split, cudaStream_t stream) {
  return launch_for_each_index(count, split, stream);
}

cudaError_t launch_even_offsets(std::int64_t problems, const EvenOffset& even, cudaStream_t stream) {
  return launch_for_each_index(problems + 1, even, stream);
}

template cudaError_t launch_split_charges(std::int64_t, const SplitCharge<float>&, cudaStream_t);
template cudaError_t launch_split_charges(std::int64_t, const SplitCharge<double>&, cudaStream_t);

}  // namespace smallbatch
