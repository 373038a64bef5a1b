// What the ending of a file's name promises, where a command cannot keep it. All of these throw Error(usage), with the
// command that can.
#pragma once

#include <string>

namespace smallbatch {

/// That HDF5 may be written there: not to stdout, nor to a name that promises another format.
void check_hdf5_output(const std::string& path);

/// That it may be a problem or result file: not stdin, nor a file of another format.
void check_hdf5_input(const std::string& path);

/// That export may write there: not to stdout, nor what a result file is without it.
/// Of `report`.
void check_page_output(const std::string& path);
void check_export_output(const std::string& path);

}  // namespace smallbatch
