#include "app/cli/file_endings.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.hpp"

namespace smallbatch {
namespace {

struct Ending {
  std::string_view ending, promises;
  std::string_view to_write,  ///< remedy for a user who wants to write a file with this ending; may be empty
      to_read;                ///< remedy for a user who has a file with this ending; may be empty
};

constexpr std::string_view exported = "smallbatch export makes it from a result file.";
constexpr std::string_view in_paraview = "ParaView opens a result file directly if its name ends in .vtkhdf.";
constexpr std::string_view imported = "smallbatch import makes a problem file from it.";
constexpr std::string_view with_charges = "Add charges with pdb2pqr, then use smallbatch import with the PQR file.";
constexpr std::string_view only_pqr = "smallbatch import takes molecules with charges as PQR files.";
constexpr std::string_view by_h5py = "io/FORMAT.md shows how to make a problem file from arrays with h5py.";
constexpr std::array<Ending, 24> endings{{
    {".dx", "an OpenDX map", exported, ""},
    {".cube", "a Gaussian cube", exported, ""},
    {".png", "a picture", exported, ""},
    {".uvh5", "UVH5", exported, "smallbatch import makes a result file from it."},
    {".vtk", "a VTK file", in_paraview, ""},
    {".vti", "a VTK image", in_paraview, ""},
    {".vtu", "a VTK grid", in_paraview, ""},
    {".html", "a page", "smallbatch report makes it from a result file.", ""},
    {".svg", "a picture", "", ""},
    {".pdf", "a page", "", ""},
    {".json", "JSON", "With --json, run prints its summary to stdout.", ""},
    {".txt", "text", "", ""},
    {".log", "text", "--log-file writes what goes to stderr.", ""},
    {".csv", "a table", "", by_h5py},
    {".npy", "a NumPy array", "", by_h5py},
    {".npz", "NumPy arrays", "", by_h5py},
    {".pqr", "a molecule", "", imported},
    {".h5md", "an H5MD trajectory", "", imported},
    {".pdb", "a molecule", "", with_charges},
    {".cif", "a molecule", "", with_charges},
    {".xyz", "a molecule", "", only_pqr},
    {".mol2", "a molecule", "", only_pqr},
    {".sdf", "a molecule", "", only_pqr},
    {".gz", "a compressed file", "", "Unpack it with gunzip."},
}};

/// Returns the known ending of `path`, or null.
const Ending* ending_of(const std::string& path) {
  std::string lower = path;
  std::ranges::transform(lower, lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c; });
  const auto found = std::ranges::find_if(endings, [&](const Ending& known) { return lower.ends_with(known.ending); });
  return found == endings.end() ? nullptr : found;
}

[[noreturn]] void refuse(const std::string& problem, const std::string& why, std::string_view remedy) {
  throw Error(ErrorKind::usage, problem, why, std::string(remedy));
}

}  // namespace

void check_hdf5_output(const std::string& path) {
  if (path == "-")
    refuse("HDF5 cannot be written to stdout", "HDF5 is not written from beginning to end", "Name a file.");
  if (const Ending* const other = ending_of(path))
    refuse("the output cannot be " + path,
           "it would be HDF5, but " + std::string(other->ending) + " means " + std::string(other->promises),
           other->to_write.empty() ? "Choose a name that ends in .h5." : other->to_write);
}

void check_hdf5_input(const std::string& path) {
  if (path == "-") refuse("HDF5 cannot be read from stdin", "HDF5 is not read from beginning to end", "Name a file.");
  if (const Ending* const other = ending_of(path))
    refuse("cannot use " + path,
           "an HDF5 file is needed, but " + std::string(other->ending) + " means " + std::string(other->promises),
           other->to_read.empty() ? "Name a problem or result file." : other->to_read);
}

void check_page_output(const std::string& path) {
  if (path == "-") refuse("report cannot write to stdout", "the page must be a file", "Name a file.");
  const Ending* const other = ending_of(path);
  if ((other && other->ending != ".html") || path.ends_with(".h5") || path.ends_with(".vtkhdf"))
    refuse("the output cannot be " + path, "it would be an HTML page, but its ending means something else",
           "Choose a name that ends in .html.");
}

void check_export_output(const std::string& path) {
  if (path == "-") refuse("export cannot write to stdout", "the ending says what is written", "Name a file.");
  if (const Ending* const other = ending_of(path); other && other->to_write == in_paraview)
    refuse("export cannot write " + path, "it has no format for " + std::string(other->ending),
           "It is not needed: " + std::string(in_paraview));
  if (path.ends_with(".h5") || path.ends_with(".vtkhdf"))
    refuse("export cannot write " + path, "a result file is HDF5 already", in_paraview);
}

}  // namespace smallbatch
