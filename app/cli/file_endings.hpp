// Checks of file names. The ending of a name promises a format. If a command does not write or read that format, these
// functions throw Error(usage). The message names a command that does, if there is one.
#pragma once

#include <string>

namespace smallbatch {

/// Checks that HDF5 may be written to `path`. Refuses stdout, and names that promise another format.
void check_hdf5_output(const std::string& path);

/// Checks that `path` may be a problem or result file. Refuses stdin, and names that promise another format.
void check_hdf5_input(const std::string& path);

/// Checks that `report` may write to `path`. Refuses stdout, and names with a known ending other than .html.
void check_page_output(const std::string& path);

/// Checks that `export` may write to `path`. Refuses stdout, and the name of a result file or of a VTK file.
void check_export_output(const std::string& path);

}  // namespace smallbatch
