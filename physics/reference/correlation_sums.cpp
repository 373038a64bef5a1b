#include "physics/reference/correlation_sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace smallbatch {

namespace {

constexpr std::int64_t times_together = 256, words = times_together / 64;
constexpr std::int64_t block_inputs = 128;  // of one product of matrices

template <SampleType type>
std::pair<double, double> sample_at(const void* signal, std::int64_t sample) {
  if constexpr (type == SampleType::complex_float32) {
    const float* const parts = static_cast<const float*>(signal) + 2 * sample;
    return {parts[0], parts[1]};
  } else if constexpr (type == SampleType::complex_int8) {
    const std::int8_t* const parts = static_cast<const std::int8_t*>(signal) + 2 * sample;
    return {parts[0], parts[1]};
  } else {
    const int both = static_cast<const std::uint8_t*>(signal)[sample], high = both / 16, low = both % 16;
    return {high < 8 ? high : high - 16, low < 8 ? low : low - 16};
  }
}

}  // namespace

ReferenceSums::ReferenceSums(SampleType type, std::int64_t inputs, std::vector<std::int64_t> baselines)
    : type_(type),
      inputs_(inputs),
      baselines_(std::move(baselines)),
      power_(static_cast<std::size_t>(inputs)),
      is_bad_(static_cast<std::size_t>(inputs)),
      samples_(static_cast<std::size_t>(2 * inputs * times_together)),
      counts_(static_cast<std::size_t>(inputs * words)),
      is_wanted_(static_cast<std::size_t>(inputs)),
      loops_(usable_product_loops().front()) {
  const auto count = static_cast<std::size_t>(baselines_.empty() ? baselines_of(inputs) : baselines_.size());
  sum_.assign(2 * count, 0);
  weight_.assign(count, 0);
  for_each([&](const Baseline& baseline, std::int64_t) { is_wanted_[baseline.i] = is_wanted_[baseline.j] = 1; });
  const std::int64_t most = 2 * std::min(inputs, block_inputs);
  product_.resize(baselines_.empty() ? static_cast<std::size_t>(most * most) : 0);
}

void ReferenceSums::add(const SignalBatch& signal, std::int64_t channel, std::int64_t first_time, std::int64_t times) {
  for (std::int64_t done = 0; done < times; done += times_together) {
    const std::int64_t now = std::min(times_together, times - done);
    const std::int64_t first_sample = (channel * signal.times + first_time + done) * inputs_;
    switch (type_) {
      case SampleType::complex_float32:
        unpack<SampleType::complex_float32>(signal, first_sample, now);
        break;
      case SampleType::complex_int8:
        unpack<SampleType::complex_int8>(signal, first_sample, now);
        break;
      case SampleType::complex_int4:
        unpack<SampleType::complex_int4>(signal, first_sample, now);
        break;
    }
    if (baselines_.empty())
      add_all(now);
    else
      add_listed(now);
    add_weights(now);
  }
}

template <SampleType type>
void ReferenceSums::unpack(const SignalBatch& signal, std::int64_t first_sample, std::int64_t times) {
  any_is_flagged_ = false;
  std::fill(counts_.begin(), counts_.end(), 0);
  const bool all = baselines_.empty();
  for (std::int64_t first = 0; first < inputs_; first += block_inputs) {
    const std::int64_t last = std::min(inputs_, first + block_inputs);
    for (std::int64_t t = 0; t < times; ++t)
      for (std::int64_t i = first; i < last; ++i) {
        const std::int64_t sample = first_sample + t * inputs_ + i;
        auto [re, im] = sample_at<type>(signal.signal, sample);
        const bool is_flagged = signal.flag != nullptr && signal.flag[sample] != 0;
        if (is_flagged)
          any_is_flagged_ = true;
        else
          counts_[i * words + t / 64] |= std::uint64_t{1} << (t % 64);
        const bool is_finite = std::isfinite(re) && std::isfinite(im);
        if (!is_finite && !is_flagged) is_bad_[i] = any_is_bad_ = true;
        if (is_flagged || !is_finite) re = im = 0;
        power_[i] += re * re + im * im;
        if (!all && is_wanted_[i] == 0) continue;
        double* const to = all ? &samples_[2 * first * times + t * 2 * (last - first) + i - first]
                               : &samples_[2 * i * times_together + t];
        to[0] = re;
        to[all ? last - first : times_together] = im;
      }
  }
}

void ReferenceSums::add_all(std::int64_t times) {
  for (std::int64_t first_i = 0; first_i < inputs_; first_i += block_inputs)
    for (std::int64_t first_j = 0; first_j <= first_i; first_j += block_inputs) {
      const std::int64_t rows = std::min(block_inputs, inputs_ - first_i);
      const std::int64_t columns = std::min(block_inputs, inputs_ - first_j);
      loops_.multiply(&samples_[2 * first_j * times], 2 * columns, &samples_[2 * first_i * times], 2 * rows, times,
                      product_.data());
      // Real parts times real parts, and so on. On the diagonal that of row r and column c is that of c and r.
      const auto product = [&](std::int64_t r, std::int64_t c) {
        if (first_i == first_j && c > r) std::swap(r, c);
        return product_[r * 2 * columns + c];
      };
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t c = 0; c < columns && first_j + c <= first_i + r; ++c) {
          const std::int64_t k = baseline_of(first_i + r, first_j + c);
          sum_[2 * k] += product(r, c) + product(rows + r, columns + c);
          sum_[2 * k + 1] += product(rows + r, c) - product(r, columns + c);
        }
    }
}

void ReferenceSums::add_listed(std::int64_t times) {
  for_each([&](const Baseline& baseline, std::int64_t k) {
    const double* const a = &samples_[2 * baseline.i * times_together];
    const double* const c = &samples_[2 * baseline.j * times_together];
    const double *const b = a + times_together, *const d = c + times_together;
    double re = 0, im = 0;
    for (std::int64_t t = 0; t < times; ++t) {
      re += a[t] * c[t] + b[t] * d[t];
      im += b[t] * c[t] - a[t] * d[t];
    }
    sum_[2 * k] += re;
    sum_[2 * k + 1] += im;
  });
}

void ReferenceSums::add_weights(std::int64_t times) {
  if (!any_is_flagged_) {
    for (std::int32_t& weight : weight_) weight += static_cast<std::int32_t>(times);
    return;
  }
  for_each([&](const Baseline& baseline, std::int64_t k) {
    for (std::int64_t word = 0; word < words; ++word)
      weight_[k] += std::popcount(counts_[baseline.i * words + word] & counts_[baseline.j * words + word]);
  });
}

}  // namespace smallbatch
