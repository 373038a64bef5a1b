// Calls a fuzz target with its corpus and with 3000 mutations of the corpus, the same ones each time. This test is part
// of every run of the suite. libFuzzer searches further, but it needs minutes and clang (CONTRIBUTING.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/target.hpp"

namespace smallbatch::testing {
namespace {

using Bytes = std::vector<std::uint8_t>;

struct CorpusInput {
  std::string name;
  Bytes bytes;
};

/// Reads the corpus of this program's target, sorted by name. The target's name is part of the program's name.
std::vector<CorpusInput> read_corpus() {
  const std::string program = program_invocation_short_name;
  const auto folder =
      std::filesystem::path(SMALLBATCH_SOURCE_DIR) / "tests/fuzz/corpus" / program.substr(program.rfind("fuzz_") + 5);
  std::vector<CorpusInput> inputs;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    inputs.push_back({entry.path().filename().string(), Bytes(std::istreambuf_iterator<char>(file), {})});
  }
  std::ranges::sort(inputs, {}, &CorpusInput::name);
  return inputs;
}

/// Random mutations of a corpus, the same ones on every machine. Distributions of the standard library are not used,
/// because they may differ between libraries.
class Mutations {
 public:
  explicit Mutations(const std::vector<CorpusInput>& corpus) : corpus_(corpus) {}

  Bytes next() {
    Bytes bytes = corpus_[below(corpus_.size())].bytes;
    for (std::size_t left = 1 + below(4); left > 0; --left) mutate(bytes);
    return bytes;
  }

 private:
  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }

  void mutate(Bytes& bytes) {
    const std::size_t at = below(bytes.size() + 1), count = below(std::min<std::size_t>(bytes.size() - at, 32) + 1);
    const auto here = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = here + static_cast<std::ptrdiff_t>(count);
    switch (below(6)) {
      case 0:
        if (at < bytes.size()) *here = static_cast<std::uint8_t>(*here ^ (1U << below(8)));
        break;
      case 1:
        bytes.insert(here, static_cast<std::uint8_t>(below(256)));
        break;
      case 2:
        bytes.erase(here, end);
        break;
      case 3: {
        const Bytes again(here, end);
        bytes.insert(here, again.begin(), again.end());
        break;
      }
      case 4: {  // extreme numbers where a size may be
        constexpr std::array<std::uint64_t, 6> numbers{0, 1, 0x7fffffff, 0xffffffff, INT64_MAX, UINT64_MAX};
        const std::uint64_t number = numbers.at(below(numbers.size()));
        const std::size_t size = std::min<std::size_t>(bytes.size() - at, std::size_t{1} << below(4));
        if (size > 0) std::memcpy(bytes.data() + at, &number, size);
        break;
      }
      default: {
        const Bytes& other = corpus_[below(corpus_.size())].bytes;
        bytes.resize(at);
        bytes.insert(bytes.end(), other.begin() + static_cast<std::ptrdiff_t>(below(other.size() + 1)), other.end());
      }
    }
  }

  const std::vector<CorpusInput>& corpus_;
  std::mt19937_64 random_{18};
};

std::string hexadecimal(const Bytes& bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) text.append({digits[byte >> 4], digits[byte & 15]});
  return text;
}

void expect_holds(const std::string& name, const Bytes& bytes) {
  try {
    EXPECT_EQ(LLVMFuzzerTestOneInput(bytes.data(), bytes.size()), 0);
  } catch (const std::exception& problem) {
    ADD_FAILURE() << name << ": " << problem.what() << "\n" << hexadecimal(bytes);
  }
}

TEST(Corpus, holds) {
  const auto corpus = read_corpus();
  ASSERT_FALSE(corpus.empty());
  for (const auto& [name, bytes] : corpus) expect_holds(name, bytes);
  expect_holds("nothing", {});
}

TEST(Corpus, mutations_of_it_hold) {
  const auto corpus = read_corpus();
  ASSERT_FALSE(corpus.empty());
  Mutations mutations(corpus);
  for (int i = 0; i < 3000 && !::testing::Test::HasFailure(); ++i)
    expect_holds("mutation " + std::to_string(i), mutations.next());
}

}  // namespace
}  // namespace smallbatch::testing
