// Reads an SDF file, computes the charges of its molecules, and writes maps of their potential.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <smallbatch/core/error.hpp>
#include <smallbatch/core/systems.hpp>
#include <smallbatch/io/result_writer.hpp>

#include "molecules.hpp"
#include "stages.hpp"

namespace {

using namespace charge_equilibration;

constexpr const char* usage =
    "usage: charge_equilibration MOLECULES.sdf PARAMETERS.txt -o MAPS.h5 [options]\n"
    "  -o, --output FILE   maps of the file's molecules, one time step each, for ParaView\n"
    "  --charges FILE      also write the charges: molecule,site,element,charge\n"
    "  --copies N          compute N times as many molecules: copies, slightly moved (1)\n"
    "  --points N          points of the maps along each axis (32)\n"
    "  --margin LENGTH     distance from the outermost atom to the edge of the maps, angstrom (4)\n"
    "  --device cpu|cuda   what computes (cuda if there is a GPU)\n";

struct Options {
  std::string molecules, parameters, output, charges, device;
  std::int64_t copies = 1, points = 32;
  double margin = 4;
};

[[noreturn]] void refuse(const std::string& problem) {
  throw smallbatch::Error(smallbatch::ErrorKind::usage, problem + "\n" + usage);
}

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  std::vector<std::string> files;
  for (auto at = arguments.begin(); at != arguments.end(); ++at) {
    const std::string option = *at;
    if (option.rfind('-', 0) != 0) {
      files.push_back(option);
      continue;
    }
    if (++at == arguments.end()) refuse(option + " needs a value.");
    try {
      if (option == "-o" || option == "--output")
        options.output = *at;
      else if (option == "--charges")
        options.charges = *at;
      else if (option == "--device")
        options.device = *at;
      else if (option == "--copies")
        options.copies = std::stoll(*at);
      else if (option == "--points")
        options.points = std::stoll(*at);
      else if (option == "--margin")
        options.margin = std::stod(*at);
      else
        refuse("There is no option " + option + ".");
    } catch (const std::logic_error&) {
      refuse(option + " needs a number, not '" + *at + "'.");
    }
  }
  if (files.size() != 2 || options.output.empty()) refuse("Give a file of molecules, a file of parameters, and -o.");
  if (options.copies < 1 || options.points < 2 || !(options.margin > 0))
    refuse("--copies must be at least 1, --points at least 2, and --margin above 0.");
  if (!options.device.empty() && options.device != "cpu" && options.device != "cuda")
    refuse("--device must be cpu or cuda.");
  options.molecules = files[0];
  options.parameters = files[1];
  return options;
}

/// Appends minimum, maximum and mean of each map of a block. A map without finite values has NaN.
void add_statistics(const smallbatch::PotentialBlock<float>& maps, smallbatch::PotentialStatistics& statistics) {
  const auto points = static_cast<std::size_t>(maps.shape.points());
  for (std::size_t map = 0; map < static_cast<std::size_t>(maps.count); ++map) {
    smallbatch::PotentialSummary values;
    for (std::size_t i = map * points; i < (map + 1) * points; ++i) {
      const double v = maps.potential[i];
      if (std::isfinite(v)) values.add({v, v, v, 1});
    }
    constexpr double none = std::numeric_limits<double>::quiet_NaN();
    statistics.lowest.push_back(values.values > 0 ? values.lowest : none);
    statistics.highest.push_back(values.values > 0 ? values.highest : none);
    statistics.mean.push_back(values.values > 0 ? values.sum / static_cast<double>(values.values) : none);
  }
}

/// Writes the result file with the maps of all molecules of a job.
class MapWriter {
 public:
  MapWriter(const std::string& path, const Job& job) : writer_(path, true) {
    set_.name = "molecules";
    set_.batch = job.molecules.count();
    set_.offset = job.molecules.offset;
    set_.shape = job.shape;
    set_.origin = repeated(job.origin, set_.batch);
    set_.spacing = repeated(job.spacing, set_.batch);
    writer_.add(set_, smallbatch::ScalarType::float32);
    writer_.allocate();
  }

  void write(const smallbatch::PotentialBlock<float>& maps) {
    writer_.write(set_, maps);
    add_statistics(maps, statistics_);
  }
  void commit() {
    writer_.write_statistics(set_, statistics_);
    writer_.provenance("program", "charge_equilibration");
    writer_.commit();
  }

 private:
  smallbatch::PotentialSet set_;
  smallbatch::ResultWriter writer_;
  smallbatch::PotentialStatistics statistics_;
};

void write_charges(const std::string& path, const std::vector<Molecule>& molecules, const std::vector<double>& charge) {
  std::ofstream file(path);
  file << "molecule,site,element,charge\n";
  std::size_t i = 0;
  for (std::size_t m = 0; m < molecules.size(); ++m) {
    for (std::size_t site = 0; site < molecules[m].element.size(); ++site, ++i) {
      std::array<char, 32> number{};
      std::snprintf(number.data(), number.size(), "%.17g", charge[i]);
      file << m << ',' << site << ',' << molecules[m].element[site] << ',' << number.data() << '\n';
    }
  }
  file.close();
  if (!file)
    throw smallbatch::Error(smallbatch::ErrorKind::output, "cannot write " + path + ". Check the folder and the disk.");
}

void print_stage(const char* name, double seconds, std::int64_t molecules, const std::string& what) {
  std::printf("%-10s %9.4f s  %9.3g molecules/s  %s\n", name, seconds, static_cast<double>(molecules) / seconds,
              what.c_str());
}

int run(const Options& options) {
  const std::vector<Molecule> molecules = read_sdf(options.molecules);
  std::vector<std::string> complaints;
  const MoleculeSet of_file = make_set(molecules, read_parameters(options.parameters), complaints);
  const MoleculeSet set = with_copies(of_file, options.copies, 0.02);

  const double side = 2 * (half_extent(of_file) + options.margin);
  Job job{of_file, {options.points, options.points, options.points}, {}, {}, 0};
  job.origin.fill(-side / 2);
  job.spacing.fill(side / static_cast<double>(options.points - 1));

  const bool has_gpu = !gpu_name().empty(), on_gpu = options.device == "cuda" || (options.device.empty() && has_gpu);
  if (on_gpu && !has_gpu)
    throw smallbatch::Error(smallbatch::ErrorKind::no_device, "there is no GPU here, or no CUDA in this program",
                            "--device cuda was asked for", "Take --device cpu.");
  // A GPU loads a kernel at its first call. This call, which is not measured, loads the kernels.
  if (on_gpu) run_on_gpu(job, [](const auto&) {});

  const Job of_all{set, job.shape, job.origin, job.spacing, of_file.count()};
  MapWriter writer(options.output, job);
  double writing = 0;
  const auto take_maps = [&](const smallbatch::PotentialBlock<float>& maps) {
    Clock clock;
    writer.write(maps);
    writing += clock.lap();
  };
  const Answer answer = on_gpu ? run_on_gpu(of_all, take_maps) : run_on_cpu(of_all, take_maps);
  Clock clock;
  writer.commit();
  writing += clock.lap();
  if (!options.charges.empty()) write_charges(options.charges, molecules, answer.charge);

  double worst = 0;
  std::int64_t failed = 0;
  for (std::size_t m = 0; m < answer.info.size(); ++m) {
    if (answer.info[m] != 0)
      ++failed;
    else
      worst = std::max(worst, answer.backward_error[m]);
  }
  const StageSeconds& seconds = answer.seconds;
  const std::int64_t count = set.count();
  const std::string n = std::to_string(site_capacity), points = std::to_string(options.points);
  std::printf("molecules  %lld, %lld of them from the file, %lld sites\n", static_cast<long long>(count),
              static_cast<long long>(of_file.count()), static_cast<long long>(set.sites()));
  std::printf("device     %s\n", on_gpu ? gpu_name().c_str() : "cpu");
  print_stage("matrices", seconds.matrices, count, n + " x " + n + ", float64");
  print_stage("solve", seconds.solve, count, "LDL^T, with backward errors");
  print_stage("charges", seconds.charges, count, "");
  print_stage("maps", seconds.maps, count, points + " x " + points + " x " + points + " points, float32");
  print_stage("all", seconds.matrices + seconds.solve + seconds.charges + seconds.maps, count, "");
  if (on_gpu) print_stage("copies", seconds.copies, count, "from and to the host");
  std::printf("worst backward error %.2g\n", worst);
  std::printf("%s: %lld maps, written in %.3f s\n", options.output.c_str(), static_cast<long long>(of_file.count()),
              writing);

  for (const std::string& complaint : complaints) std::fprintf(stderr, "%s\n", complaint.c_str());
  for (std::size_t m = 0; m < molecules.size(); ++m) {
    if (answer.info[m] == 0) continue;
    const std::string why = answer.info[m] > 0 ? " (its charges have no equilibrium: are two atoms too close?)" : "";
    std::fprintf(stderr, "molecule %zu (%s) has no charges: %s%s\n", m, molecules[m].name.c_str(),
                 smallbatch::describe_spd_info(answer.info[m]).c_str(), why.c_str());
  }
  if (failed > 0)
    std::fprintf(stderr, "%lld of %lld molecules have no charges\n", static_cast<long long>(failed),
                 static_cast<long long>(count));
  return failed > 0 ? 1 : 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    return run(parse({arguments + 1, arguments + count}));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "charge_equilibration: %s\n", error.what());
    return 2;
  }
}
