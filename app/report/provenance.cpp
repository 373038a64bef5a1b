#include "app/report/provenance.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <string_view>

#include "app/cli/quantities.hpp"
#include "app/cli/version.hpp"
#include "core/device.hpp"
#include "core/error.hpp"
#include "core/number_text.hpp"
#include "core/parallel.hpp"
#include "core/processor.hpp"
#include "core/visible_text.hpp"
#include "io/hdf5/quiet.hpp"

namespace smallbatch {

namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), length};
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

std::string working_directory() {
  std::error_code unknown;
  return std::filesystem::current_path(unknown).string();
}

template <class Writer>
void write_maker(Writer& writer, const std::string& command_line) {
  const auto note = [&](const char* key, const std::string& value) {
    if (!value.empty()) writer.provenance(key, value);
  };
  note("program", std::string("smallbatch ") + version_text);
  note("commit", commit_text);
  note("command_line", command_line);
  note("working_directory", working_directory());
  note("created", utc_now());
  note("host", host_name());
  note("cpu", processor().model);
  note("libraries", libraries_text());
}

template <class Writer>
void write_input(Writer& writer, const InputIdentity& input) {
  if (input.modified.empty()) return;
  writer.provenance("input_bytes", static_cast<double>(input.bytes));
  writer.provenance("input_modified", input.modified);
  if (input.hash.empty()) return;
  writer.provenance("input_hash", input.hash);
  writer.provenance("input_hashed_bytes", static_cast<double>(input.hashed_bytes));
}

template <class Writer>
void write_origin_of(Writer& writer, const std::string& command_line, const std::vector<std::string>& inputs) {
  write_maker(writer, command_line);
  if (inputs.empty()) return;
  writer.provenance("input", inputs[0]);
  if (inputs.size() > 1) writer.provenance("inputs", static_cast<double>(inputs.size()));
  write_input(writer, identify_input(inputs));
}

}  // namespace

std::string libraries_text() {
  std::string text = "HDF5 " + hdf5_version() + ", Eigen " + eigen_version_text;
  if (!std::string_view(cuda_compiler_text).empty()) text += std::string(", CUDA compiler ") + cuda_compiler_text;
  return text + ", " + compiler_text;
}

void write_origin(ProblemWriter& writer, const std::string& command_line, const std::vector<std::string>& inputs) {
  write_origin_of(writer, command_line, inputs);
}
void write_origin(ResultWriter& writer, const std::string& command_line, const std::vector<std::string>& inputs) {
  write_origin_of(writer, command_line, inputs);
}

void write_notes(ResultWriter& writer, const RunOptions& options, const RunReport& report,
                 std::span<const Backend> backends, const InputIdentity& input, const std::string& command_line,
                 int ranks) {
  for (const SetOutcome& set : report.sets) {
    writer.write_summary(set.kind, set.name, set.verification);
    writer.write_work(set.kind, set.name, {set.compute_seconds, set.work, static_cast<double>(set.values_checked)});
    writer.write_problems_hash(set.kind, set.name, set.problems_hash);
  }
  write_maker(writer, command_line);
  writer.provenance("problems", options.problems);
  write_input(writer, input);
  writer.provenance("device", report.device);
  if (report.on_gpus) {
    std::string names;
    for (const Backend& backend : backends) {
      DeviceInfo gpu;
      try {
        gpu = cuda_device(backend.device);
      } catch (const Error&) {  // this GPU was lost during the run, and other GPUs did its work
        continue;
      }
      names += (names.empty() ? "" : ", ") + gpu.name;
      writer.provenance("driver", gpu.driver_version);
      writer.provenance("cuda_runtime", gpu.runtime_version);
    }
    writer.provenance("gpu", names);
  }
  writer.provenance("threads", static_cast<double>(thread_count(options.threads)));
  const bool has_charges = report.has(PotentialSet::kind) || report.has(PairEnergySet::kind);
  if (has_charges) writer.provenance("precision", options.precision == ScalarType::float32 ? "float32" : "float64");
  for (const auto& [kind, key, things] : computers_of_kinds)
    if (report.has(kind)) writer.provenance(key, report.computer(kind));
  if (report.has(SolveSet::kind)) writer.provenance("method", std::string(spd_method_name(options.spd.method)));
  if (report.has(SolveSet::kind)) writer.provenance("pivot_floor", options.spd.pivot_floor);
  writer.provenance("verify", report.verify_mode);
  if (has_charges) writer.provenance("singular", options.singular == Singular::infinite ? "inf" : "skip");
  if (!options.share.is_everything()) writer.provenance("share", share_text(options.share));
  if (ranks > 1) writer.provenance("ranks", ranks);
  if (!report.identity_digits.empty()) writer.provenance("run_identity", report.identity_digits);
  if (report.blocks_taken_over > 0)
    writer.provenance("resumed_after_blocks", static_cast<double>(report.blocks_taken_over));
  const StageSeconds& seconds = report.seconds;
  for (const auto& [key, value] : {std::pair{"start_seconds", seconds.start},
                                   {"set_up_seconds", seconds.set_up},
                                   {"read_seconds", seconds.read},
                                   {"compute_seconds", seconds.compute},
                                   {"verify_seconds", seconds.verify},
                                   {"write_seconds", seconds.write},
                                   {"total_seconds", seconds.total}})
    writer.provenance(key, value);
  if (report.on_gpus) writer.provenance("kernel_seconds", seconds.kernels);
}

namespace {

/// Names of /provenance attributes for people, in reading order.
constexpr std::pair<const char*, const char*> names_of_keys[]{{"program", "program"},
                                                              {"commit", "commit"},
                                                              {"created", "created"},
                                                              {"command_line", "command line"},
                                                              {"working_directory", "working directory"},
                                                              {"problems", "problems"},
                                                              {"input", "input"},
                                                              {"inputs", "number of inputs"},
                                                              {"input_bytes", "size of the input"},
                                                              {"input_modified", "input last modified"},
                                                              {"input_hash", "hash of the input"},
                                                              {"input_hashed_bytes", "hashed part"},
                                                              {"share", "share"},
                                                              {"merged_shares", "merged shares"},
                                                              {"ranks", "ranks"},
                                                              {"run_identity", "identity of the run"},
                                                              {"resumed_after_blocks", "resumed after blocks"},
                                                              {"host", "host"},
                                                              {"cpu", "CPU"},
                                                              {"gpu", "GPU"},
                                                              {"driver", "driver's CUDA version"},
                                                              {"cuda_runtime", "CUDA runtime"},
                                                              {"device", "computed on"},
                                                              {"threads", "threads"},
                                                              {"precision", "precision"},
                                                              {"solver", "solver"},
                                                              {"method", "method"},
                                                              {"pivot_floor", "pivot floor"},
                                                              {"potential", "potential"},
                                                              {"pair_energy", "pair energy"},
                                                              {"correlator", "correlator"},
                                                              {"verify", "verified"},
                                                              {"singular", "singular places"},
                                                              {"libraries", "libraries"},
                                                              {"start_seconds", "time: start"},
                                                              {"set_up_seconds", "time: set-up"},
                                                              {"read_seconds", "time: read"},
                                                              {"compute_seconds", "time: compute"},
                                                              {"kernel_seconds", "time: kernels"},
                                                              {"verify_seconds", "time: verify"},
                                                              {"write_seconds", "time: write"},
                                                              {"total_seconds", "time: total"},
                                                              {"kind", ""}};

std::string value_text(const std::string& key, const ProvenanceValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return visible_text(*text);
  const double found = std::get<double>(value);
  if (key.ends_with("_bytes")) return number_text(found) + " bytes";
  if (key.ends_with("_seconds")) return seconds_text(found);
  return number_text(found);
}

}  // namespace

std::vector<OriginLine> origin_lines(std::map<std::string, ProvenanceValue> found) {
  std::vector<OriginLine> lines;
  for (const auto& [key, name] : names_of_keys) {
    const auto value = found.find(key);
    if (value == found.end()) continue;
    if (std::string text = value_text(key, value->second); *name != '\0' && !text.empty())
      lines.push_back({name, std::move(text)});
    found.erase(value);
  }
  for (const auto& [key, value] : found) lines.push_back({visible_text(key), value_text(key, value)});
  return lines;
}

}  // namespace smallbatch
