// `import` of signals and of visibilities. A raw recording of signals becomes a problem file. A UVH5 file of
// visibilities becomes a result file.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "app/cli/interruption.hpp"
#include "app/cli/json_text.hpp"
#include "app/cli/output_check.hpp"
#include "app/commands/commands.hpp"
#include "app/report/provenance.hpp"
#include "app/report/set_json.hpp"
#include "core/error.hpp"
#include "core/text_streams.hpp"
#include "core/visible_text.hpp"
#include "io/interchange/raw_signal.hpp"
#include "io/interchange/uvh5.hpp"
#include "io/problem_writer.hpp"
#include "io/result_writer.hpp"

namespace smallbatch {

namespace {

constexpr std::int64_t bytes_of_step = std::int64_t{1} << 28;

void expect_one_file(const ImportOptions& options) {
  if (options.inputs.size() == 1) return;
  throw Error(ErrorKind::usage, "import takes one file of samples or visibilities",
              options.inputs[0] + " and " + std::to_string(options.inputs.size() - 1) + " more were given",
              "Import them one by one.");
}

/// Warns about all data of the UVH5 file that the result file lacks or changes.
void warn_of_losses(const std::string& path, const Uvh5File& file, const Uvh5Counts& counts,
                    const std::vector<std::string>& left_out) {
  const std::string of_all = " of the " + std::to_string(counts.visibilities) + " visibilities of " + path;
  if (counts.uncounted > 0)
    spdlog::warn("{}{} are not flagged, but their nsamples is not a positive number; each counts as 1 sample.",
                 counts.uncounted, of_all);
  if (counts.not_finite > 0)
    spdlog::warn("{}{} are not flagged, but not finite as float32; they become NaN, with a weight of 0.",
                 counts.not_finite, of_all);
  if (counts.visibilities > 0 && counts.flagged + counts.not_finite == counts.visibilities)
    spdlog::warn("No visibility of {} is left: all are flagged or not finite.", path);
  if (const std::string type = file.type_name();
      type.find("64") != std::string::npos || type.find("int32") != std::string::npos)
    spdlog::warn("The visibilities of {} are {}; they are rounded to float32.", path, type);
  constexpr std::size_t most_names = 20;
  std::string names;
  for (std::size_t k = 0; k < std::min(most_names, left_out.size()); ++k)
    names += (k > 0 ? ", " : "") + visible_text(left_out[k]);
  if (left_out.size() > most_names) names += " and " + std::to_string(left_out.size() - most_names) + " more";
  if (!names.empty())
    spdlog::warn("{} of {} cannot be kept and {} left out.", names, path, left_out.size() > 1 ? "are" : "is");
}

}  // namespace

std::string import_signal(const ImportOptions& options, const std::string& command_line) {
  expect_one_file(options);
  const SignalImport& asked = options.signal;
  const RawSignal signal(options.inputs[0], asked.samples);
  CorrelationSet set;
  set.name = options.set;
  set.type = asked.samples.type;
  set.batch = asked.samples.channels;
  set.times = signal.times();
  set.inputs = asked.samples.inputs;
  set.integrate = std::max<std::int64_t>(1, asked.integrate > 0 ? std::min(asked.integrate, set.times) : set.times);
  set.is_mean = asked.is_mean;
  set.sample_time = asked.sample_time;
  set.start_time = asked.start_time;
  for (std::int64_t c = 0; asked.channel_width > 0 && c < set.batch; ++c)
    set.frequency.push_back(asked.first_frequency + static_cast<double>(c) * asked.channel_width);

  refuse_output_that_is_input(options.inputs[0], options.output);
  ProblemWriter writer(options.output, options.overwrite);
  writer.add(set);
  const std::int64_t step = std::max<std::int64_t>(1, bytes_of_step / (bytes_of(set.type) * set.batch * set.inputs));
  SignalBlock block;
  for (std::int64_t first = 0; first < set.times; first += step) {
    stop_if_interrupted();
    signal.read(first, std::min(step, set.times - first), block);
    writer.write(set, block);
  }
  write_origin(writer, command_line, options.inputs);
  writer.commit();

  if (options.json) return json_text(json_of_made(options, set));
  TextWriter text;
  text << visible_text(options.output) << ": correlation/" << set.name << ", " << set.inputs << " inputs, " << set.batch
       << (set.batch == 1 ? " channel, " : " channels, ") << set.times << " samples, " << set.integrations()
       << (set.integrations() == 1 ? " integration\n" : " integrations\n");
  return text.str();
}

std::string import_visibilities(const ImportOptions& options, const std::string& command_line) {
  expect_one_file(options);
  const Uvh5File file(options.inputs[0]);
  CorrelationSet set = file.set();
  set.name = "visibilities";
  for (const std::string& name : options.given) {
    if (name != "--set")
      throw Error(ErrorKind::usage, name + " applies to charges or samples", options.inputs[0] + " holds visibilities",
                  "Leave it out.");
    set.name = options.set;
  }
  refuse_output_that_is_input(options.inputs[0], options.output);
  ResultWriter writer(options.output, options.overwrite);
  writer.add(set);
  const std::int64_t step = std::max<std::int64_t>(1, bytes_of_step / (12 * set.baselines()));
  const std::vector<std::string> left_out = writer.keep(set, file);
  Uvh5Counts counts;
  SignalBlock block;
  for (block.first_time = 0; block.first_time < set.times; ++block.first_time) {
    for (block.first = 0; block.first < set.batch; block.first += step) {
      stop_if_interrupted();
      block.channels = std::min(step, set.batch - block.first);
      counts.add(file.read(block));
      writer.write(set, block);
    }
  }
  writer.write_summary(CorrelationSet::kind, set.name, {});
  write_origin(writer, command_line, options.inputs);
  writer.commit();

  warn_of_losses(visible_text(options.inputs[0]), file, counts, left_out);
  if (options.json) {
    SetJson json = json_of_made(options, set);
    json["kind"] = "results";
    json["visibilities"] = counts.visibilities;
    json["flagged"] = counts.flagged;
    return json_text(json);
  }
  TextWriter text;
  text << visible_text(options.output) << ": results, correlation/" << set.name << ", " << set.inputs << " inputs, "
       << set.batch << (set.batch == 1 ? " channel, " : " channels, ") << set.times
       << (set.times == 1 ? " integration, " : " integrations, ") << counts.flagged << " of " << counts.visibilities
       << " visibilities flagged\n";
  return text.str();
}

}  // namespace smallbatch
