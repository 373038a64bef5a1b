// Ctrl-C and SIGTERM: a run stops at the next block, or between two pieces of one that is verified, and leaves nothing
// behind.
#pragma once

namespace smallbatch {

/// Catches SIGINT and SIGTERM, and ignores SIGXFSZ and SIGPIPE so that a write that fails is an error and not a death.
void catch_interruptions();

/// Throws Error(interrupted) once a signal has come.
void stop_if_interrupted();

}  // namespace smallbatch
