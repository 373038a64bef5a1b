// Calls with device arrays: workspaces are measured and divided, and everything is enqueued on the context's stream.
// device_cuda.cpp; a build without CUDA has device_nocuda.cpp.
#pragma once

#include <cstddef>

#include "c/potentials.hpp"
#include "c/systems.hpp"

namespace smallbatch {

/// The calling thread's.
int current_device();
/// Waits for the context's stream.
void synchronize(const Context& context);

/// Bytes of workspace, from a multiple of 256 on.
template <class T>
std::size_t device_workspace_bytes(const SystemsCall<T>& call);
template <class T>
std::size_t device_workspace_bytes(const PotentialCall<T>& call);
std::size_t device_workspace_bytes(const PairEnergyCall& call);
std::size_t device_workspace_bytes(const CorrelationCall& call);

template <class T>
void enqueue(const Context& context, const SystemsCall<T>& call, void* workspace);
template <class T>
void enqueue(const Context& context, const PotentialCall<T>& call, void* workspace);
void enqueue(const Context& context, const PairEnergyCall& call, void* workspace);
void enqueue(const Context& context, const CorrelationCall& call, void* workspace);

}  // namespace smallbatch
