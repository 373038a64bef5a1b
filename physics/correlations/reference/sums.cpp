#include "physics/correlations/reference/sums.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

namespace smallbatch {

namespace {

constexpr std::int64_t times_together = 256, words = times_together / 64;
constexpr std::int64_t block_inputs = 128;  // in one product of matrices

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

/// Sets the samples of one input to 0 if they are not finite. Real and imaginary parts of the input alternate in
/// memory. The distance from one part to the next is `apart` elements. Returns sum |x|^2 of the finite samples.
double without_bad_samples(double* part, std::int64_t apart, std::int64_t times) {
  double power = 0;
  for (std::int64_t t = 0; t < times; ++t, part += 2 * apart) {
    if (!std::isfinite(part[0]) || !std::isfinite(part[apart])) part[0] = part[apart] = 0;
    power += part[0] * part[0] + part[apart] * part[apart];
  }
  return power;
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
      loops_(usable_product_loops().front()) {
  const auto count = static_cast<std::size_t>(baselines_.empty() ? baselines_of(inputs) : baselines_.size());
  sum_.assign(2 * count, 0);
  weight_.assign(count, 0);
  if (baselines_.empty()) {
    const std::int64_t most = 2 * std::min(inputs, block_inputs);
    product_.resize(static_cast<std::size_t>(most * most));
    return;
  }
  for_each([&](const Baseline& baseline, std::int64_t) {
    listed_.push_back(baseline.i);
    listed_.push_back(baseline.j);
  });
  std::sort(listed_.begin(), listed_.end());
  listed_.erase(std::unique(listed_.begin(), listed_.end()), listed_.end());
  by_input_.resize(samples_.size());
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

void ReferenceSums::merge(const ReferenceSums& other) {
  const auto add = [](auto& to, const auto& from) {
    std::transform(to.begin(), to.end(), from.begin(), to.begin(), std::plus<>());
  };
  add(sum_, other.sum_);
  add(weight_, other.weight_);
  add(power_, other.power_);
  std::transform(is_bad_.begin(), is_bad_.end(), other.is_bad_.begin(), is_bad_.begin(), std::bit_or<>());
  any_is_bad_ |= other.any_is_bad_;
}

template <SampleType type>
void ReferenceSums::unpack(const SignalBatch& signal, std::int64_t first_sample, std::int64_t times) {
  const std::uint8_t* const flag = signal.flag == nullptr ? nullptr : signal.flag + first_sample;
  any_is_flagged_ = flag != nullptr && std::any_of(flag, flag + times * inputs_, [](std::uint8_t f) { return f != 0; });
  for (std::int64_t first = 0; first < inputs_; first += block_inputs) {
    const std::int64_t count = std::min(block_inputs, inputs_ - first);
    double* const block = &samples_[2 * first * times];
    double power[block_inputs]{};
    for (std::int64_t t = 0; t < times; ++t) {
      const std::int64_t sample = t * inputs_ + first;
      double *const re = block + 2 * t * count, *const im = re + count;
      for (std::int64_t i = 0; i < count; ++i)
        std::tie(re[i], im[i]) = sample_at<type>(signal.signal, first_sample + sample + i);
      if (any_is_flagged_)
        for (std::int64_t i = 0; i < count; ++i)
          if (flag[sample + i] != 0) re[i] = im[i] = 0;
      for (std::int64_t i = 0; i < count; ++i) power[i] += re[i] * re[i] + im[i] * im[i];
    }
    for (std::int64_t i = 0; i < count; ++i) {
      // A sum of squares of finite floats is always finite in double precision.
      if (!std::isfinite(power[i])) {
        is_bad_[first + i] = any_is_bad_ = true;
        power[i] = without_bad_samples(block + i, count, times);
      }
      power_[first + i] += power[i];
    }
  }
  if (!any_is_flagged_) return;
  std::fill(counts_.begin(), counts_.end(), 0);
  for (std::int64_t t = 0; t < times; ++t)
    for (std::int64_t i = 0; i < inputs_; ++i)
      counts_[i * words + t / 64] |= static_cast<std::uint64_t>(flag[t * inputs_ + i] == 0) << (t % 64);
}

void ReferenceSums::add_all(std::int64_t times) {
  for (std::int64_t first_i = 0; first_i < inputs_; first_i += block_inputs)
    for (std::int64_t first_j = 0; first_j <= first_i; first_j += block_inputs) {
      const std::int64_t rows = std::min(block_inputs, inputs_ - first_i);
      const std::int64_t columns = std::min(block_inputs, inputs_ - first_j);
      loops_.multiply(&samples_[2 * first_j * times], 2 * columns, &samples_[2 * first_i * times], 2 * rows, times,
                      product_.data());
      // Rows of the product are the real parts of inputs i, then their imaginary parts. Columns are the same parts of
      // inputs j. If i and j are the same block, only one triangle is computed.
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
  // Copies the samples so that the times of each input are consecutive.
  for (const std::int64_t i : listed_) {
    const std::int64_t first = i / block_inputs * block_inputs, count = std::min(block_inputs, inputs_ - first);
    const double* from = &samples_[2 * first * times + i - first];
    double *const re = &by_input_[2 * i * times_together], *const im = re + times_together;
    for (std::int64_t t = 0; t < times; ++t, from += 2 * count) {
      re[t] = from[0];
      im[t] = from[count];
    }
  }
  for_each([&](const Baseline& baseline, std::int64_t k) {
    const double* const x = &by_input_[2 * baseline.i * times_together];
    const double* const y = &by_input_[2 * baseline.j * times_together];
    loops_.add_product(x, x + times_together, y, y + times_together, times, &sum_[2 * k]);
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
