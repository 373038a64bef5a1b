// Generated signals, as the inputs of a uniform linear array receive them from some sources,
//
//     x_i(c, t) = noise n_i(c, t) + sum_s amplitude_s a_s(c, t) exp(2 pi i nu_c tau_s i).
//
// The numbers n and a are independent and random, with mean square 1. The mean visibility therefore tends to
//
//     V_ij / weight = sum_s amplitude_s^2 exp(2 pi i nu_c tau_s (i - j)) + noise^2 [i = j].
//
// With two sources or more, its magnitude has fringes over baselines and channels. A triple (seed, channel, time) gives
// the same samples in any split of the signal. Each random number is a hash of the seed, the channel, the time, and the
// input or source.
#pragma once

#include <cstdint>
#include <vector>

#include "core/signals.hpp"

namespace smallbatch {

struct SignalSource {
  double amplitude = 1;
  double delay = 0;  ///< tau, in seconds: how much earlier the source reaches an input than the previous input
};

struct SignalModel {
  std::vector<SignalSource> sources;
  double noise = 1;
  double first_frequency = 0, channel_width = 1;  ///< nu_c = first_frequency + c channel_width, in hertz
  /// Factor of all samples. Integers are then rounded to -127 .. 127 or -7 .. 7.
  double scale = 1;
  std::uint64_t seed = 1;
};

/// Fills the signal of a block that already has its size.
void make_signal(const SignalModel& model, SignalBlock& block);

}  // namespace smallbatch
