// Checks of file names. The ending of a name promises a format. If a command does not write or read that format, these
// functions throw Error(usage). The message names a command that does, if there is one.
#pragma once

#include <string>

namespace smallbatch {

/// Checks that HDF5 may be written to `path`: not to stdout, and not to a name that promises another format.
void check_hdf5_output(const std::string& path);

/// Checks that `path` may be a problem or result file: not stdin, and not a file of another format.
void check_hdf5_input(const std::string& path);

/// Checks that `report` may write to `path`: not to stdout, and only to a name that ends in .html or has no known
/// ending.
void check_page_output(const std::string& path);

/// Checks that `export` may write to `path`: not to stdout, and not to the name of a result file or a VTK file.
void check_export_output(const std::string& path);

}  // namespace smallbatch
