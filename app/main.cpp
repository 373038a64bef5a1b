#include <spdlog/spdlog.h>

#include <cstdio>
#include <new>
#include <stdexcept>

#include "app/commands.hpp"
#include "app/exit_codes.hpp"
#include "app/interruption.hpp"
#include "app/logging.hpp"
#include "app/options.hpp"
#include "app/ranks.hpp"
#include "app/report.hpp"
#include "core/error.hpp"
#include "io/hdf5_quiet.hpp"
#include "io/uvh5.hpp"

namespace smallbatch {

namespace {

ExitCode print(const std::string& text) {
  if (std::fputs(text.c_str(), stdout) == EOF || std::fflush(stdout) == EOF)
    throw Error(ErrorKind::output, "the summary could not be written to stdout", "closed or full",
                "Redirect it elsewhere.");
  return ExitCode::verified;
}

ExitCode print(const RunReport& report, bool json) {
  if (!report.is_first_rank) return ExitCode::verified;  // for the same reason as FirstRankReports
  print(json ? report_json(report) : report_text(report));
  return report.all_right() ? ExitCode::verified : ExitCode::not_all_right;
}

struct Execute {
  const std::string& command_line;
  ExitCode operator()(const PrintText& o) const { return print(o.text); }
  ExitCode operator()(const RunOptions& o) const { return print(run(o, command_line), o.json); }
  ExitCode operator()(const MergeOptions& o) const { return print(merge(o, command_line)); }
  ExitCode operator()(const InfoOptions& o) const { return print(info(o)); }
  ExitCode operator()(const VerifyOptions& o) const { return print(verify(o), o.json); }
  ExitCode operator()(const GenerateSpdOptions& o) const { return print(generate(o, command_line)); }
  ExitCode operator()(const GenerateChargesOptions& o) const { return print(generate(o, command_line)); }
  ExitCode operator()(const GenerateSignalOptions& o) const { return print(generate(o, command_line)); }
  ExitCode operator()(const ImportOptions& o) const {
    if (o.signal.samples.inputs > 0) return print(import_signal(o, command_line));
    return print(is_uvh5(o.inputs[0]) ? import_visibilities(o, command_line) : import_charges(o, command_line));
  }
  ExitCode operator()(const ExportOptions& o) const { return print(export_map(o)); }
};

/// Which option does what an error of a library room says is to be done.
const char* option_for(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::no_device:
      return " --device cpu does, or --device auto, which takes a GPU only where there is one.";
    case ErrorKind::out_of_memory:
      return " In run, --memory says how much the blocks take.";
    case ErrorKind::output_exists:
      return " --overwrite replaces it.";
    default:
      return "";
  }
}

ExitCode run_command(int argc, const char* const* argv) {
  try {
    silence_hdf5();
    set_up_logging(Verbosity::normal);
    const Invocation call = parse_options(argc, argv);
    set_up_logging(call.verbosity);
    // The two that only look and convert end at once, as any program does.
    if (!std::holds_alternative<InfoOptions>(call.command) && !std::holds_alternative<ExportOptions>(call.command))
      catch_interruptions();
    return std::visit(Execute{call.command_line}, call.command);
  } catch (const Error& error) {
    spdlog::error("{}{}", error.what(), option_for(error.kind()));
    return exit_code_of(error.kind());
  } catch (const FirstRankReports&) {
    return ExitCode::verified;
  } catch (const std::length_error&) {  // a container larger than any memory
    spdlog::error(
        "the memory does not suffice (a size beyond any memory). Use a smaller --memory or a smaller lattice.");
    return ExitCode::out_of_memory;
  } catch (const std::bad_alloc&) {
    spdlog::error("the memory does not suffice (allocation failed). Use a smaller --memory or a larger machine.");
    return ExitCode::out_of_memory;
  } catch (const std::exception& error) {
    spdlog::error("something went wrong that should not ({}). Please report it with the command and the file.",
                  error.what());
    return ExitCode::internal;
  }
}

}  // namespace

}  // namespace smallbatch

int main(int argc, char** argv) { return static_cast<int>(smallbatch::run_command(argc, argv)); }
