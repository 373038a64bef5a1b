// The first byte of the input chooses an option, and the other bytes are its text. The parser returns a valid value, or
// throws Error(usage).
#include "app/cli/option_texts.hpp"

#include <cmath>
#include <set>

#include "core/error.hpp"
#include "core/parallel.hpp"
#include "io/share.hpp"
#include "tests/fuzz/target.hpp"

using namespace smallbatch;
using namespace smallbatch::testing;

namespace {

bool is_length(double value) { return std::isfinite(value) && value > 0; }

void parse(unsigned which, const std::string& text) {
  switch (which) {
    case 0: {
      const DeviceRequest device = parse_device(text);
      require(device.indices.size() == std::set<int>(device.indices.begin(), device.indices.end()).size(), "--device");
      return require(std::ranges::all_of(device.indices, [](int index) { return index >= 0; }), "--device");
    }
    case 1: {
      const VerifyMode mode = parse_verify(text);
      return require((mode.kind == VerifyMode::Kind::sample) == (mode.sample > 0), "--verify");
    }
    case 2:
      return require(parse_threads(text) <= 4096, "threads");
    case 3:
      return require(parse_unit(text) == parse_unit(potential_unit_name(parse_unit(text))), "--unit");
    case 4: {
      const auto [least, most] = parse_sizes(text);
      return require(0 <= least && least <= most && 1 <= most && most <= max_system_size, "--sizes");
    }
    case 5: {
      const LatticeShape shape = parse_shape(text);
      return require(shape.nx > 0 && shape.ny > 0 && shape.nz > 0 && shape.points() > 0, "--shape");
    }
    case 6:
      return require(is_length(parse_spacing(text)), "--spacing");
    case 7:
      return require(std::ranges::all_of(parse_origin(text), [](double x) { return std::isfinite(x); }), "--origin");
    case 8:
      return require(std::ranges::all_of(parse_delays(text), [](double x) { return std::isfinite(x); }), "--delays");
    case 9:
      check_set_name(text);
      return require(!text.empty() && text.find('/') == std::string::npos, "--set");
    case 10: {
      const auto share = parse_share(text);
      return require(!share || (share->index >= 0 && share->index < share->count), "--shard");
    }
    default: {
      const auto cores = cores_of_quota(text);
      return require(!cores || (*cores >= 1 && *cores <= 1'000'000), "a quota");
    }
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  Input input(bytes, count);
  const unsigned which = input.take<std::uint8_t>() % 12U;
  try {
    parse(which, input.text());
  } catch (const Error& error) {
    require(error.kind() == ErrorKind::usage, "another kind of error");
  }
  return 0;
}
