// Calls with device arrays. device_workspace_bytes() measures a workspace. enqueue() divides the workspace and enqueues
// the call on the context's stream. The implementation is device_cuda.cpp, or device_nocuda.cpp in a build without
// CUDA.
#pragma once

#include <cstddef>

#include "c/potentials.hpp"
#include "c/systems.hpp"

namespace smallbatch {

/// Returns the calling thread's current device.
int current_device();
/// Waits until the context's stream has finished.
void synchronize(const Context& context);

/// Returns the bytes of workspace that a call needs. The workspace must start at a multiple of 256 bytes.
template <class T>
std::size_t device_workspace_bytes(const Context& context, const SystemsCall<T>& call);
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
