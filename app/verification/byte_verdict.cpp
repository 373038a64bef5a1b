#include "app/verification/byte_verdict.hpp"

#include <algorithm>
#include <vector>

#include "core/error.hpp"
#include "core/visible_text.hpp"

namespace smallbatch {

namespace {

constexpr std::size_t most_places_named = 12;

std::string joined(const std::vector<std::string>& places) {
  std::string text;
  for (std::size_t k = 0; k < std::min(places.size(), most_places_named); ++k)
    text += (k > 0 ? "; " : "") + visible_text(places[k]);
  if (places.size() > most_places_named)
    text += "; and " + std::to_string(places.size() - most_places_named) + " more places";
  return text;
}

void refuse(const std::string& path, const ByteCheck& check, bool is_rest_named) {
  std::vector<std::string> places = check.changed;
  for (const std::string& object : check.damaged) places.push_back("the header of " + object + " (shape, attributes)");
  if (is_rest_named)
    for (const std::string& dataset : check.moved) places.push_back(dataset + " (not stored as it was written)");
  if (is_rest_named && !check.is_rest_unchanged && check.damaged.empty())
    places.emplace_back("bytes outside all datasets, written by another program or damaged where HDF5 has no checksum");
  if (places.empty()) return;
  throw Error(ErrorKind::bad_input, path + " has changed since it was written", joined(places),
              "Restore the file from a copy, or run the problem file again.");
}

}  // namespace

void refuse_damaged_numbers(const std::string& path, const ByteCheck& check) { refuse(path, check, false); }

void refuse_unless_as_written(const std::string& path, const ByteCheck& check) {
  if (!check.has_checksums)
    throw Error(ErrorKind::bad_input, "the bytes of " + path + " cannot be checked",
                "results before format 1.7 have no checksums",
                "Use verify, which compares the numbers with the problem file.");
  refuse(path, check, true);
}

std::string words_on_rest(const std::string& path) {
  return path +
         ": bytes outside all datasets have changed. Another program wrote to the file, or it is damaged where HDF5 " +
         "has no checksum.";
}

std::string check_words(const ByteCheck& check) {
  if (!check.has_checksums) return "bytes not compared: results before format 1.7 have no checksums";
  return "all " + std::to_string(check.bytes) + " bytes are unchanged (" + std::to_string(check.datasets) +
         " datasets and the rest of the file)";
}

}  // namespace smallbatch
