// Confines a process that reads an untrusted file, so that it can do nothing else. Private to io/.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace smallbatch {

/// Memory that the process may take in addition to what it has, in bytes.
inline constexpr std::uint64_t sandbox_bytes = std::uint64_t{1} << 30;

/// Confines this process for good. It can still compute, read from these descriptors, and send through those that are
/// sockets. Every other descriptor is closed, and memory is limited. All other system calls fail (EPERM), such as
/// opening a file, connecting, or starting or signalling a process. On a kernel without seccomp the process has an
/// empty network, and these limits: no new descriptor, no growing file, no core dump.
void enter_sandbox(std::initializer_list<int> descriptors);

}  // namespace smallbatch
