// Merges the result files of all shares into the file that a run without --shard would have written. One file, because
// each kind of set goes through all steps of merging.
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "app/cli/interruption.hpp"
#include "app/cli/logging.hpp"
#include "app/cli/output_check.hpp"
#include "app/commands/commands.hpp"
#include "app/report/provenance.hpp"
#include "app/report/summary.hpp"
#include "app/run/cut_into_blocks.hpp"
#include "app/run/report_reader.hpp"
#include "app/verification/byte_verdict.hpp"
#include "app/verification/outcome.hpp"
#include "core/error.hpp"
#include "core/number_text.hpp"
#include "core/visible_text.hpp"
#include "io/format/byte_check.hpp"
#include "io/result_reader.hpp"
#include "io/result_writer.hpp"

namespace smallbatch {

namespace {

struct ResultsOfShare {
  std::string path;
  Share share;
  std::unique_ptr<ResultReader> reader;
};

Error unfit(const ResultsOfShare& results, const std::string& why, const std::string& remedy) {
  return {ErrorKind::bad_input, "cannot merge " + results.path, why, remedy};
}

/// Raises the limit of open files, as far as the system allows. The files of all shares are open at once, and shells
/// start with a low limit.
void allow_open_files(std::size_t shares) {
  constexpr std::size_t others = 256;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_max, std::max<rlim_t>(limit.rlim_cur, shares + others));
  ::setrlimit(RLIMIT_NOFILE, &limit);  // if this fails, opening a file reports it
}

/// Checks that no share is missing. `shares` are sorted and differ from each other.
void expect_all(const std::vector<ResultsOfShare>& shares) {
  const ResultsOfShare& first = shares.front();
  const auto given = static_cast<int>(shares.size());
  if (given == first.share.count) return;
  int missing = 0;  // the first missing share
  while (missing < given && shares[static_cast<std::size_t>(missing)].share.index == missing) ++missing;
  const std::string share = share_text({missing, first.share.count});
  throw Error(
      ErrorKind::bad_input,
      "cannot merge " + std::to_string(given) + " of " + std::to_string(first.share.count) + " shares",
      "share " + share + " is missing" +
          (first.share.count - given > 1 ? ", and " + std::to_string(first.share.count - given - 1) + " more" : ""),
      "Add its file; smallbatch run " + first.reader->provenance("problems") + " --shard " + share +
          " -o FILE makes it.");
}

/// Opens all shares and sorts them. Checks that they are shares of one run, that none is missing and none is given
/// twice.
std::vector<ResultsOfShare> open_shares(const std::vector<std::string>& paths) {
  std::vector<ResultsOfShare> shares;
  for (const std::string& path : paths) {
    const ByteCheck check = check_bytes(path, 0, stop_if_interrupted);
    refuse_damaged_numbers(path, check);  // otherwise damaged numbers would get a valid checksum in the merged file
    if (!check.moved.empty())
      throw Error(ErrorKind::bad_input, "cannot merge " + path,
                  check.moved.front() + " is not stored as it was written, so its numbers cannot be trusted",
                  "Restore the file from a copy, or run the share again.");
    if (!check.has_checksums) spdlog::warn("{}: {}.", path, check_words(check));
    if (!check.is_rest_unchanged) spdlog::warn("{}", words_on_rest(path));
    ResultsOfShare& results = shares.emplace_back(ResultsOfShare{path, {}, std::make_unique<ResultReader>(path)});
    auto share = parse_share(results.reader->provenance("share"));
    // The results of a run without --shard are share 1/1.
    if (!share && paths.size() == 1 && results.reader->provenance("share").empty()) share = Share();
    if (!share) throw unfit(results, "it is not a share of a run", "Merge result files of run --shard.");
    results.share = *share;
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const ResultsOfShare& a, const ResultsOfShare& b) { return a.share.index < b.share.index; });
  const ResultsOfShare& first = shares.front();
  for (std::size_t k = 0; k < shares.size(); ++k) {
    const ResultsOfShare& results = shares[k];
    const auto expect_same = [&](const std::string& what, const std::string& found, const std::string& expected) {
      if (found != expected)
        throw unfit(results, "its " + what + " is " + found + ", but that of " + first.path + " is " + expected,
                    "Run all shares with the same program and options.");
    };
    expect_same("number of shares", std::to_string(results.share.count), std::to_string(first.share.count));
    for (const char* key : {"commit", "problems", "method", "precision", "singular"})
      expect_same(key, results.reader->provenance(key), first.reader->provenance(key));
    expect_same("pivot_floor", number_text(results.reader->provenance_number("pivot_floor")),
                number_text(first.reader->provenance_number("pivot_floor")));
    if (k > 0 && results.share.index == shares[k - 1].share.index)
      throw unfit(results, "share " + share_text(results.share) + " is given twice, also as " + shares[k - 1].path,
                  "Give every share once.");
  }
  expect_all(shares);
  return shares;
}

/// Returns the provenance `key` of all shares, each different text once. Shares may come from several machines.
std::string said_by(const std::vector<ResultsOfShare>& shares, const std::string& key) {
  std::vector<std::string> said;
  for (const ResultsOfShare& results : shares) {
    const std::string text = results.reader->provenance(key);
    if (std::ranges::find(said, text) == said.end()) said.push_back(text);
  }
  std::string all;
  for (const std::string& text : said) all += (all.empty() ? "" : "; ") + text;
  return all;
}

bool is_alike(const SolveSet& a, const SolveSet& b) {
  return a.type == b.type && a.shape.n == b.shape.n && a.shape.nrhs == b.shape.nrhs &&
         a.shape.determinant_only == b.shape.determinant_only && a.shape.has_sizes == b.shape.has_sizes &&
         a.rhs_is_vector == b.rhs_is_vector;
}

/// Returns whether `a` and `b` have the same kinds of labels (names, steps, times) and the same unit of time.
bool are_known_alike(const ProblemLabels& a, const ProblemLabels& b) {
  return a.name.empty() == b.name.empty() && a.step.empty() == b.step.empty() && a.time.empty() == b.time.empty() &&
         a.time_unit == b.time_unit;
}

bool are_charges_alike(const ChargesOfSet& a, const ChargesOfSet& b) {
  return a.type == b.type && a.has_groups == b.has_groups && a.softening == b.softening && a.cutoff == b.cutoff &&
         a.screening_length == b.screening_length && a.width == b.width && a.has_widths == b.has_widths &&
         a.dielectric == b.dielectric && a.output_unit == b.output_unit && a.temperature == b.temperature &&
         (a.batch == 0 || b.batch == 0 || are_known_alike(a.labels, b.labels));
}

bool is_alike(const PotentialSet& a, const PotentialSet& b) {
  return are_charges_alike(a, b) && a.targets == b.targets && a.shape.nx == b.shape.nx && a.shape.ny == b.shape.ny &&
         a.shape.nz == b.shape.nz && a.has_field == b.has_field;
}

bool is_alike(const PairEnergySet& a, const PairEnergySet& b) {
  return are_charges_alike(a, b) && a.per_charge == b.per_charge;
}

bool is_alike(const CorrelationSet& a, const CorrelationSet& b) {
  return a.type == b.type && a.times == b.times && a.inputs == b.inputs && a.integrate == b.integrate &&
         a.is_mean == b.is_mean && a.sample_time == b.sample_time && a.start_time == b.start_time &&
         (a.batch == 0 || b.batch == 0 || a.frequency.empty() == b.frequency.empty()) &&
         a.input_position == b.input_position && a.labels == b.labels;
}

/// Returns the set at `index` of every share. Throws if these sets are not parts of one set.
template <class Set>
std::vector<const Set*> parts_of(const std::vector<ResultsOfShare>& shares, std::size_t index) {
  std::vector<const Set*> parts;
  for (const ResultsOfShare& results : shares) {
    const auto& found = std::get<std::vector<Set>>(results.reader->sets());
    const Set& expected = parts.empty() ? found[index] : *parts.front();
    if (found[index].name != expected.name || !is_alike(found[index], expected))
      throw unfit(results, "its sets are not those of " + shares.front().path, "Run all shares of one problem file.");
    parts.push_back(&found[index]);
  }
  return parts;
}

/// Checks that every share has the number of problems that --shard K/N gives it. `problems` is their name in error
/// messages.
template <class Set>
void expect_equal_shares(const std::vector<ResultsOfShare>& shares, const std::vector<const Set*>& parts,
                         const Set& whole, const char* problems) {
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::int64_t expected = part_of(whole, shares[k].share).set.batch;
    if (parts[k]->batch != expected)
      throw unfit(shares[k],
                  "it has " + std::to_string(parts[k]->batch) + " " + problems + " of " + set_path(whole) +
                      ", but its share of all " + std::to_string(whole.batch) + " has " + std::to_string(expected),
                  "Run all shares of one problem file.");
  }
}

SolveSet whole_of(const std::vector<ResultsOfShare>& shares, const std::vector<const SolveSet*>& parts) {
  SolveSet whole = *parts.front();
  whole.batch = 0;
  for (const SolveSet* part : parts) whole.batch += part->batch;
  expect_equal_shares(shares, parts, whole, "systems");
  return whole;
}

CorrelationSet whole_of(const std::vector<ResultsOfShare>& shares, const std::vector<const CorrelationSet*>& parts) {
  CorrelationSet whole = *parts.front();
  whole.batch = 0;
  whole.frequency.clear();
  for (const CorrelationSet* part : parts) {
    whole.batch += part->batch;
    whole.frequency.insert(whole.frequency.end(), part->frequency.begin(), part->frequency.end());
  }
  expect_equal_shares(shares, parts, whole, "channels");
  return whole;
}

void append_offsets(std::vector<std::int64_t>& offset, const std::vector<std::int64_t>& more) {
  if (more.empty()) return;
  if (offset.empty()) offset.push_back(0);
  const std::int64_t before = offset.back();
  for (std::size_t p = 1; p < more.size(); ++p) offset.push_back(before + more[p]);
}

PotentialSet whole_of(const std::vector<ResultsOfShare>& /*shares*/, const std::vector<const PotentialSet*>& parts) {
  PotentialSet whole = *parts.front();
  whole.batch = 0;
  whole.labels = {{}, {}, {}, whole.labels.time_unit};
  for (auto* list : {&whole.offset, &whole.point_offset}) list->clear();
  for (auto* list : {&whole.origin, &whole.spacing}) list->clear();
  for (const PotentialSet* part : parts) {
    whole.batch += part->batch;
    append_offsets(whole.offset, part->offset);
    append(whole.labels, part->labels);
    append_offsets(whole.point_offset, part->point_offset);
    whole.origin.insert(whole.origin.end(), part->origin.begin(), part->origin.end());
    whole.spacing.insert(whole.spacing.end(), part->spacing.begin(), part->spacing.end());
  }
  return whole;
}

PairEnergySet whole_of(const std::vector<ResultsOfShare>& /*shares*/, const std::vector<const PairEnergySet*>& parts) {
  PairEnergySet whole = *parts.front();
  whole.batch = 0;
  whole.labels = {{}, {}, {}, whole.labels.time_unit};
  whole.offset.clear();
  for (const PairEnergySet* part : parts) {
    whole.batch += part->batch;
    append_offsets(whole.offset, part->offset);
    append(whole.labels, part->labels);
  }
  return whole;
}

template <class T>
void copy_values(const ResultReader& from, const SolveSet& set, ResultWriter& to) {
  SpdBlock<T> block;
  for (const SystemRange& range : cut_into_blocks(set, cpu_block_bytes)) {
    stop_if_interrupted();
    from.read(set, range.first, range.count, block);
    to.write(set, block);
  }
}

template <class T>
void copy_values(const ResultReader& from, const PotentialSet& set, ResultWriter& to) {
  PotentialSet cut = set;  // result files have offsets of charges only if V is at the charges
  if (cut.offset.empty()) cut.offset.assign(static_cast<std::size_t>(set.batch) + 1, 0);
  PotentialBlock<T> block;
  for (const PlaneRange& range : cut_into_blocks(cut, scalar_type_of<T>, cpu_block_bytes, gpu_block_pairs)) {
    stop_if_interrupted();
    block.first = range.first;
    block.count = range.count;
    block.first_plane = range.first_plane;
    block.plane_count = range.plane_count;
    from.read(set, block);
    if (set.targets == TargetKind::points) block.point_offset = offsets_of(set.point_offset, range.first, range.count);
    if (set.targets == TargetKind::charges) block.offset = offsets_of(set.offset, range.first, range.count);
    to.write(set, block);
  }
  to.write_statistics(set, from.statistics(set));
}

void copy_values(const ResultReader& from, const PairEnergySet& set, ResultWriter& to) {
  PairEnergySet cut = set;  // result files have offsets of charges only if each charge has its energy
  if (cut.offset.empty()) cut.offset.assign(static_cast<std::size_t>(set.batch) + 1, 0);
  PairEnergyBlock block;
  for (const SystemRange& range : cut_into_blocks(cut, cpu_block_bytes, std::numeric_limits<double>::infinity())) {
    stop_if_interrupted();
    block.first = range.first;
    block.count = range.count;
    from.read(set, block);
    to.write(set, block);
  }
}

void copy_values(const ResultReader& from, const CorrelationSet& set, ResultWriter& to) {
  CorrelationSet stored = set;  // holds visibilities only, as if each integration had one sample
  stored.integrate = 1;
  stored.times = set.integrations();
  SignalBlock block;
  std::vector<std::int32_t> info(static_cast<std::size_t>(set.batch));
  for (const SignalRange& range : cut_into_blocks(stored, cpu_block_bytes)) {
    stop_if_interrupted();
    block.first = range.first;
    block.channels = range.channels;
    block.first_time = range.first_time * set.integrate;
    block.times = std::min(range.times * set.integrate, set.times - block.first_time);
    from.read(set, block);
    to.write(set, block);
    std::copy(block.info.begin(), block.info.end(), info.begin() + block.first);
  }
  to.write_info(set, 0, info);
}

template <class Set>
void copy_values(const ResultReader& from, const Set& set, ResultWriter& to) {
  set.type == ScalarType::float32 ? copy_values<float>(from, set, to) : copy_values<double>(from, set, to);
}

void add(ResultWriter& writer, const SolveSet& set) { writer.add(set); }
void add(ResultWriter& writer, const PotentialSet& set) { writer.add(set, set.type); }
void add(ResultWriter& writer, const PairEnergySet& set) { writer.add(set, set.type); }
void add(ResultWriter& writer, const CorrelationSet& set) { writer.add(set); }

/// Merges one set of all shares, with values and verdicts.
template <class Set>
SetOutcome merge_set(const std::vector<ResultsOfShare>& shares, const std::vector<const Set*>& parts,
                     ResultWriter& writer) {
  const std::string kind = Set::kind;
  Progress progress(kind + "/" + parts.front()->name, static_cast<double>(parts.size()));
  SetOutcome outcome;
  outcome.kind = kind;
  outcome.name = parts.front()->name;
  VerificationSummary& summary = outcome.verification;
  WorkOfSet work;
  ShareStart start;
  bool is_known = true;  // whether every share has the hash of its problems
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const Set& part = *parts[k];
    const ResultReader& reader = *shares[k].reader;
    writer.begin_at(part, start);
    copy_values(reader, part, writer);
    outcome.count_statuses(reader, set_path(part), start.problem, part.batch);
    const StoredVerdicts verdicts = reader.verdicts(kind, part.name, part.batch);
    writer.write_verdicts(kind, part.name, 0, verdicts.verdict, verdicts.error_over_bound);
    const VerificationSummary found = reader.verification(kind, part.name);
    summary.criterion = found.criterion;
    summary.add(found, start.problem);
    const auto hash = reader.problems_hash(kind, part.name);
    is_known = is_known && hash;
    outcome.problems_hash += hash.value_or(0);
    const WorkOfSet of_share = reader.work(kind, part.name);
    work.compute_seconds = std::max(work.compute_seconds, of_share.compute_seconds);
    work.amount += of_share.amount;
    work.values_checked += of_share.values_checked;
    start.problem += part.batch;
    outcome.batch += part.batch;
    if constexpr (std::is_same_v<Set, PotentialSet>) start.target += part.targets_before(part.batch);
    if constexpr (std::is_same_v<Set, PairEnergySet>) start.target += part.charges();
    progress.advance(1);
  }
  writer.write_summary(kind, parts.front()->name, summary);
  writer.write_work(kind, parts.front()->name, work);
  if (is_known) writer.write_problems_hash(kind, parts.front()->name, outcome.problems_hash);
  return outcome;
}

}  // namespace

RunReport merge(const MergeOptions& options, const std::string& command_line) {
  for (const std::string& share : options.shares) refuse_output_that_is_input(share, options.output);
  allow_open_files(options.shares.size());
  const std::vector<ResultsOfShare> shares = open_shares(options.shares);
  const ResultReader& first = *shares.front().reader;
  for (const ResultsOfShare& results : shares)
    for_each_kind(first.sets(), [&]<class Set>(const std::vector<Set>& sets) {
      if (std::get<std::vector<Set>>(results.reader->sets()).size() != sets.size())
        throw unfit(results, "its sets are not those of " + shares.front().path, "Run all shares of one problem file.");
    });
  ResultWriter writer(options.output, options.overwrite, 1);
  for_each_kind(first.sets(), [&]<class Set>(const std::vector<Set>& sets) {
    for (std::size_t k = 0; k < sets.size(); ++k) add(writer, whole_of(shares, parts_of<Set>(shares, k)));
  });
  for (const ResultsOfShare& results : shares)
    if (results.reader->provenance("input_hash") != first.provenance("input_hash"))
      throw unfit(results, "the hash of its problem file differs from that of " + shares.front().path,
                  "Run all shares of one problem file.");
  RunReport report;
  for_each_kind(first.sets(), [&]<class Set>(const std::vector<Set>& sets) {
    for (std::size_t k = 0; k < sets.size(); ++k)
      report.sets.push_back(merge_set(shares, parts_of<Set>(shares, k), writer));
  });
  write_origin(writer, command_line);
  for (const char* key : {"program", "host", "cpu", "gpu", "driver", "cuda_runtime", "libraries", "device", "solver",
                          "potential", "pair_energy", "correlator", "verify", "input_modified"})
    if (const std::string text = said_by(shares, key); !text.empty()) writer.provenance(key, text);
  for (const char* key : {"commit", "problems", "input_hash", "precision", "created", "method", "singular"})
    if (const std::string text = first.provenance(key); !text.empty()) writer.provenance(key, text);
  if (!first.solve_sets().empty()) writer.provenance("pivot_floor", first.provenance_number("pivot_floor"));
  for (const char* key : {"input_bytes", "input_hashed_bytes"}) writer.provenance(key, first.provenance_number(key));
  writer.provenance("merged_shares", static_cast<double>(shares.size()));
  writer.commit();
  return report;
}

std::string merge_text(const MergeOptions& options, const RunReport& merged) {
  if (options.json) {
    RunReport report = read_report(ResultReader(options.output), options.output);
    report.command = "merge";
    report.merged_shares = static_cast<std::int64_t>(options.shares.size());
    return report_json(report);
  }
  std::string text = visible_text(options.output) + ": " + std::to_string(options.shares.size()) +
                     (options.shares.size() == 1 ? " share merged" : " shares merged");
  std::int64_t failed = 0, disagreed = 0;
  for (const SetOutcome& set : merged.sets) {
    failed += set.failed_count();
    disagreed += set.verification.disagreed;
  }
  if (failed > 0) text += ", " + std::to_string(failed) + " failed";
  if (disagreed > 0) text += ", " + std::to_string(disagreed) + " DISAGREE";
  return text + "\n";
}

}  // namespace smallbatch
