// A process that is to read a stranger's file, and can do nothing else. Private to io/.
#pragma once

#include <cstdint>
#include <initializer_list>

namespace smallbatch {

/// What the process may take, besides what it has.
inline constexpr std::uint64_t sandbox_bytes = std::uint64_t{1} << 30;

/// From here on this process can read from these descriptors, which it had before, send through those of them that are
/// sockets, and compute; every other descriptor is closed, memory is limited, and what else the system is asked for
/// fails (EPERM): to open a file, to connect, to start a process, to signal one. There is no way back. On a kernel
/// without seccomp it is the limits that hold (no new descriptor, no file that grows, no core dump), and an empty
/// network.
void enter_sandbox(std::initializer_list<int> descriptors);

}  // namespace smallbatch
