#include "app/cli/file_endings.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/error.hpp"

namespace smallbatch {
namespace {

struct Ending {
  std::string_view ending, promises;
  std::string_view to_write,
      to_read;  ///< what to do instead, for a user who wants to write or has such a file; may be empty
};

constexpr std::string_view exported = "smallbatch export makes that of a result file.";
constexpr std::string_view in_paraview = "ParaView opens result files by themselves, if they are called x.vtkhdf.";
constexpr std::string_view imported = "smallbatch import makes a problem file of it.";
constexpr std::string_view with_charges = "pdb2pqr gives it charges, and smallbatch import takes the PQR file.";
constexpr std::string_view only_pqr = "smallbatch import takes molecules with charges as PQR files.";
constexpr std::string_view by_h5py = "io/FORMAT.md says how h5py makes a problem file of arrays.";
constexpr std::array<Ending, 24> endings{{
    {".dx", "an OpenDX map", exported, ""},
    {".cube", "a Gaussian cube", exported, ""},
    {".png", "a picture", exported, ""},
    {".uvh5", "UVH5", exported, "smallbatch import makes a result file of it."},
    {".vtk", "a VTK file", in_paraview, ""},
    {".vti", "a VTK image", in_paraview, ""},
    {".vtu", "a VTK grid", in_paraview, ""},
    {".html", "a page", "smallbatch report makes that of a result file.", ""},
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
    {".gz", "a packed file", "", "gunzip unpacks it."},
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
    refuse("HDF5 cannot be written to stdout", "it is written in several places, and stdout has one", "Name a file.");
  if (const Ending* const other = ending_of(path))
    refuse("the output cannot be " + path,
           "it is HDF5, and " + std::string(other->ending) + " promises " + std::string(other->promises),
           other->to_write.empty() ? "Let its name end in .h5." : other->to_write);
}

void check_hdf5_input(const std::string& path) {
  if (path == "-")
    refuse("HDF5 cannot be read from stdin", "it is read in several places, and stdin has one", "Name a file.");
  if (const Ending* const other = ending_of(path))
    refuse("cannot use " + path,
           "HDF5 is wanted, and " + std::string(other->ending) + " promises " + std::string(other->promises),
           other->to_read.empty() ? "Name a problem or result file." : other->to_read);
}

void check_page_output(const std::string& path) {
  if (path == "-") refuse("report cannot write to stdout", "a page is a file", "Name one.");
  const Ending* const other = ending_of(path);
  if ((other && other->ending != ".html") || path.ends_with(".h5") || path.ends_with(".vtkhdf"))
    refuse("the output cannot be " + path, "it is a page, and its ending promises something else",
           "Let its name end in .html.");
}

void check_export_output(const std::string& path) {
  if (path == "-") refuse("export cannot write to stdout", "the ending says what is written", "Name a file.");
  if (const Ending* const other = ending_of(path); other && other->to_write == in_paraview)
    refuse("export cannot write " + path, "it has no format for " + std::string(other->ending),
           "It need not: " + std::string(in_paraview));
  if (path.ends_with(".h5") || path.ends_with(".vtkhdf"))
    refuse("export cannot write " + path, "a result file is HDF5 already", in_paraview);
}

}  // namespace smallbatch
