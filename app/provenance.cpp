#include "app/provenance.hpp"

#include <array>
#include <ctime>

#include "app/version.hpp"

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
}  // namespace

void write_notes(ResultWriter& writer, const RunOptions& options, const RunReport& report,
                 const std::string& command_line, int ranks) {
  for (const SetOutcome& set : report.sets) writer.write_summary(set.kind, set.name, set.verification);
  writer.provenance("program", std::string("smallbatch ") + version_text);
  writer.provenance("commit", commit_text);
  writer.provenance("command_line", command_line);
  writer.provenance("problems", options.problems);
  writer.provenance("created", utc_now());
  writer.provenance("device", report.device);
  writer.provenance("solver", report.solver);
  writer.provenance("potential", report.potential);
  writer.provenance("pair_energy", report.pair_energy);
  writer.provenance("correlator", report.correlator);
  writer.provenance("method", std::string(spd_method_name(options.spd.method)));
  writer.provenance("pivot_floor", options.spd.pivot_floor);
  writer.provenance("verify", report.verify_mode);
  writer.provenance("singular", options.singular == Singular::infinite ? "inf" : "skip");
  if (!options.share.is_everything()) writer.provenance("share", share_text(options.share));
  if (ranks > 1) writer.provenance("ranks", ranks);
  writer.provenance("read_seconds", report.seconds.read);
  writer.provenance("compute_seconds", report.seconds.compute);
  writer.provenance("verify_seconds", report.seconds.verify);
  writer.provenance("write_seconds", report.seconds.write);
}

}  // namespace smallbatch
