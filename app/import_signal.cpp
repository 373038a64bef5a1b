// `import` of signals, a problem file of what a recorder has left, and of visibilities, a result file.
#include <algorithm>

#include "app/commands.hpp"
#include "app/interruption.hpp"
#include "app/json_text.hpp"
#include "app/output_check.hpp"
#include "app/provenance.hpp"
#include "app/set_json.hpp"
#include "core/error.hpp"
#include "core/text_streams.hpp"
#include "core/visible_text.hpp"
#include "io/problem_writer.hpp"
#include "io/raw_signal.hpp"
#include "io/result_writer.hpp"
#include "io/uvh5.hpp"

namespace smallbatch {

namespace {

constexpr std::int64_t bytes_of_step = std::int64_t{1} << 28;

void expect_one_file(const ImportOptions& options) {
  if (options.inputs.size() == 1) return;
  throw Error(ErrorKind::usage, "import takes one file of samples or visibilities",
              options.inputs[0] + " and " + std::to_string(options.inputs.size() - 1) + " more were given",
              "Import them one by one.");
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

  if (options.json) return json_text(json_of_imported(options, set));
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
      throw Error(ErrorKind::usage, name + " is for charges or samples", options.inputs[0] + " holds visibilities",
                  "Leave it out.");
    set.name = options.set;
  }
  refuse_output_that_is_input(options.inputs[0], options.output);
  ResultWriter writer(options.output, options.overwrite);
  writer.add(set);
  const std::int64_t step = std::max<std::int64_t>(1, bytes_of_step / (12 * set.baselines()));
  SignalBlock block;
  for (block.first_time = 0; block.first_time < set.times; ++block.first_time) {
    for (block.first = 0; block.first < set.batch; block.first += step) {
      stop_if_interrupted();
      block.channels = std::min(step, set.batch - block.first);
      file.read(block);
      writer.write(set, block);
    }
  }
  writer.write_summary(CorrelationSet::kind, set.name, {});
  write_origin(writer, command_line, options.inputs);
  writer.commit();

  if (options.json) {
    SetJson json = json_of_imported(options, set);
    json["kind"] = "results";
    return json_text(json);
  }
  TextWriter text;
  text << visible_text(options.output) << ": results, correlation/" << set.name << ", " << set.inputs << " inputs, "
       << set.batch << (set.batch == 1 ? " channel, " : " channels, ") << set.times
       << (set.times == 1 ? " integration\n" : " integrations\n");
  return text.str();
}

}  // namespace smallbatch
