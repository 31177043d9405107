// The columns of the precision standards (precision_metrics.md 5.5 to 5.7), accumulated with vectors over blocks of
// finite values. Included by metrics.cpp only, which is compiled without fused multiply-add.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/compare/metrics/blocks.h"
#include "kernels/compare/metrics/metrics_reference.h"
#include "kernels/compare/metrics/pack.h"
#include "kernels/compare/metrics/tally.h"

namespace msrun {

// Finite or infinite values, not NaN, rounded to float16.
template <class T>
Pack<T> rounded_to_half(const Pack<T>& value) {
  using I = IntOf<T>;
  constexpr int dropped = std::is_same_v<T, float> ? 13 : 42;  // fraction bits beyond those of float16
  constexpr I kept = ~((I{1} << dropped) - 1);
  const Pack<I> bits = bits_of(value);
  const Pack<T> size = magnitude(value);
  const Pack<I> odd = (bits_of(size) >> dropped) & Pack<I>::all(1);
  const Pack<I> normal = (bits_of(size) + Pack<I>::all(~kept >> 1) + odd) & Pack<I>::all(kept);
  // Below 2^-14 the adder rounds to multiples of 2^-24, the last place of its result.
  const Pack<T> beside = Pack<T>::all(std::is_same_v<T, float> ? T{0x1p-1} : T{0x1p28});
  const Pack<T> subnormal = (size + beside) - beside;
  Pack<T> result = select(size < Pack<T>::all(T{0x1p-14}), subnormal, with_bits(normal));
  result = select(Pack<T>::all(T{65520}) <= size, Pack<T>::all(std::numeric_limits<T>::infinity()), result);
  return with_bits(bits_of(result) | (bits & Pack<I>::all(~magnitude_bits<T>)));
}

template <Grid G, class T>
MSRUN_INLINE Pack<T> on_grid(const Pack<T>& value) {
  if constexpr (G == Grid::half) {
    return rounded_to_half(value);
  } else if constexpr (G == Grid::single) {
    return as<T>(as<float>(value));
  } else {
    return value;
  }
}

// The elements of a block of both sides, padded with zeros to whole packs, and their errors.
template <class Real>
struct Block {
  std::int64_t count = 0;
  std::int64_t padded = 0;
  const Real* b = nullptr;
  const Real* d = nullptr;
  alignas(64) std::array<Real, block_size<Real>> error;     // AE
  alignas(64) std::array<Real, block_size<Real>> relative;  // RE
};

// The precision in which arrays on these grids are computed; results are rounded to the finer grid of the two.
template <Grid D, Grid B>
using RealOf = std::conditional_t<D == Grid::real || B == Grid::real, double, float>;

// Sums and counts over the blocks of a device array on grid D and a bench array on grid B.
template <Grid D, Grid B>
class StandardColumns {
 public:
  using Real = RealOf<D, B>;

  explicit StandardColumns(const MetricTask& task) : task_(task) {}

  // ULP that the vector loop has no rule for are added to `rare`, element by element.
  void add(const Block<Real>& block, ElementTally& rare) {
    if (task_.wants(Standard::benchmark) || task_.wants(Standard::accumulative_error)) add_balance(block);
    if (task_.wants(Standard::benchmark))
      task_.exact_squares ? add_benchmark<true>(block) : add_benchmark<false>(block);
    if (task_.wants_rates) add_rates(block);
    if (task_.wants(Standard::binary_consistency)) add_unequal(block);
    if (!task_.wants(Standard::ulp)) return;
    if (is_float8(task_.dtype) || (task_.compat && !has_plain_exponents(block))) {
      for (std::int64_t i = 0; i < block.count; ++i) rare.add_ulp(block.d[i], block.b[i]);
    } else if (is_half(task_.dtype)) {
      add_ulp(block, float_ulp_top_, float_ulp_over_);
    } else {
      add_ulp(block, ulp_top_, ulp_over_);
    }
  }

  // Zeros that fill up the last pack are small.
  void write(Tally& tally, std::int64_t finite_count, std::int64_t padding) const {
    tally.top_relative = largest(top_relative_);
    tally.top_ulp = std::max(largest(ulp_top_), static_cast<double>(largest(float_ulp_top_)));
    tally.error_squares = total(error_squares_);
    tally.relative_sum = total(relative_sum_);
    tally.ulp_sum = total(ulp_sum_);
    tally.above = total_count(above_);
    tally.below = total_count(below_);
    tally.unequal = total_count(unequal_);
    tally.ulp_over = total_count(ulp_over_) + total_count(float_ulp_over_);
    if (task_.wants(Standard::benchmark)) {
      tally.small = total_count(small_) - padding;
      tally.small_errors = total_count(small_errors_);
      tally.normal = finite_count - tally.small;
    }
    if (task_.wants_rates) {
      tally.rate_small = total_count(rate_small_) - padding;
      tally.rate_small_errors = total_count(rate_small_errors_);
      tally.rate_normal = finite_count - tally.rate_small;
      tally.rate_normal_errors = total_count(rate_normal_errors_);
    }
  }

 private:
  static constexpr Grid W = std::max(D, B);
  using Int = IntOf<Real>;
  using Reals = Pack<Real>;
  using Counts = Pack<Int>;
  using Doubles = Pack<double>;

  static Reals all(double value) { return Reals::all(static_cast<Real>(value)); }

  // D - Bd has the sign of the comparison.
  void add_balance(const Block<Real>& block) {
    Counts above = above_;
    Counts below = below_;
    for (std::int64_t i = 0; i < block.padded; i += lanes) {
      const Reals d = Reals::load(block.d + i);
      const Reals loaded = Reals::load(block.b + i);
      Reals b = loaded;
      if constexpr (D < B) b = on_grid<D>(loaded);
      msrun::count(above, b < d);
      msrun::count(below, d < b);
    }
    above_ = above;
    below_ = below;
  }

  // Section 5.5 without the error balance.
  template <bool exact_squares>
  void add_benchmark(const Block<Real>& block) {
    const Reals small_value = all(task_.small_value);
    const Reals atol = all(task_.atol);
    const Reals zero = all(0);
    Counts small = small_;
    Counts small_errors = small_errors_;
    Reals top = top_relative_;
    Doubles error_squares = error_squares_;
    Doubles relative_sum = relative_sum_;
    for (std::int64_t i = 0; i < block.padded; i += lanes) {
      const Counts is_small = magnitude(Reals::load(block.b + i)) <= small_value;
      const Reals error = Reals::load(block.error.data() + i);
      const Reals relative = select(is_small, zero, Reals::load(block.relative.data() + i));
      const Reals normal_error = select(is_small, zero, error);
      msrun::count(small, is_small);
      msrun::count(small_errors, is_small & (atol < error));
      top = larger(top, relative);
      relative_sum = relative_sum + widened(relative);
      if constexpr (exact_squares) {
        const Doubles wide = widened(normal_error);
        error_squares = error_squares + wide * wide;
      } else {
        error_squares = error_squares + widened(on_grid<W>(normal_error * normal_error));
      }
    }
    small_ = small;
    small_errors_ = small_errors;
    top_relative_ = top;
    error_squares_ = error_squares;
    relative_sum_ = relative_sum;
  }

  // Section 5.6, and the rates of the accumulative-error standard.
  void add_rates(const Block<Real>& block) {
    const Reals small_value = all(task_.rate_small_value);
    const Reals atol = all(task_.rate_atol);
    const Reals rtol = all(task_.rate_rtol);
    Counts small = rate_small_;
    Counts small_errors = rate_small_errors_;
    Counts normal_errors = rate_normal_errors_;
    for (std::int64_t i = 0; i < block.padded; i += lanes) {
      const Reals size = magnitude(Reals::load(block.b + i));
      const Counts is_small = size <= small_value;
      msrun::count(small, is_small);
      msrun::count(small_errors, is_small & (atol < Reals::load(block.error.data() + i)));
      msrun::count(normal_errors, (small_value < size) & (rtol < Reals::load(block.relative.data() + i)));
    }
    rate_small_ = small;
    rate_small_errors_ = small_errors;
    rate_normal_errors_ = normal_errors;
  }

  void add_unequal(const Block<Real>& block) {
    Counts unequal = unequal_;
    for (std::int64_t i = 0; i < block.padded; i += lanes) {
      msrun::count(unequal, Reals::load(block.d + i) != Reals::load(block.b + i));
    }
    unequal_ = unequal;
  }

  // Whether the stored exponent of every bench value is upstream's, which is the integer part of a logarithm that was
  // rounded to the precision of the array, and whether the scale made of it is finite. The logarithm of a value just
  // below a power of two may be rounded up: in float32, whose logarithms go up to 128, that of a value within 2^-18 of
  // it. Values within 2^-15 are left out here.
  bool has_plain_exponents(const Block<Real>& block) const {
    if constexpr (B == Grid::half) return false;
    constexpr int fraction_bits = std::is_same_v<Real, float> ? 23 : 52;
    constexpr Int fraction = (Int{1} << fraction_bits) - 1;
    constexpr Int near_next = fraction - (fraction >> 14);
    const Counts fractions = Counts::all(fraction);
    const Counts near = Counts::all(near_next - 1);
    const Reals zero = all(0);
    const Reals tiny = all(0x1p-100);
    Counts unusual = Counts::all(0);
    for (std::int64_t i = 0; i < block.padded; i += lanes) {
      const Reals b = magnitude(Reals::load(block.b + i));
      msrun::count(unusual, near < (bits_of(b) & fractions));
      msrun::count(unusual, (zero < b) & (b < tiny));
    }
    return total_count(unusual) == 0;
  }

  // Section 5.7: differences in T, times 2^(1 - exponent of the bench value), which is a normal number; upstream counts
  // whole units of the last place.
  template <class T>
  void add_ulp(const Block<Real>& block, Pack<T>& ulp_top, Pack<IntOf<T>>& ulp_over) {
    constexpr int fraction_bits = std::is_same_v<Real, float> ? 23 : 52;
    constexpr Int bias = std::is_same_v<Real, float> ? 127 : 1023;
    const Counts least = Counts::all(task_.thresholds.ulp_min_exponent + bias);
    const Counts of_zero = Counts::all(bias);
    const Counts of_scale = Counts::all(2 * bias + (task_.compat ? task_.thresholds.ulp_fraction_bits : 1));
    const Reals zero = all(0);
    const auto limit = Pack<T>::all(static_cast<T>(task_.thresholds.ulp_limit / task_.ulp_unit));
    Doubles sum = ulp_sum_;
    Pack<T> top = ulp_top;
    Pack<IntOf<T>> over = ulp_over;
    for (std::int64_t i = 0; i < block.padded; i += lanes) {
      const Reals b = Reals::load(block.b + i);
      const Counts stored = larger(bits_of(magnitude(b)) >> fraction_bits, least);
      const Counts exponent = select(b == zero, of_zero, stored);
      const Reals scale = with_bits((of_scale - exponent) << fraction_bits);
      const Pack<T> difference = as<T>(Reals::load(block.d + i)) - as<T>(b);
      const Pack<T> errors = magnitude(difference) * as<T>(scale);
      sum = sum + widened(errors);
      top = larger(top, errors);
      msrun::count(over, limit < errors);
    }
    ulp_sum_ = sum;
    ulp_top = top;
    ulp_over = over;
  }

  const MetricTask& task_;
  // A lane of float32 counts in 32 bits: enough for 2^35 elements.
  Reals top_relative_ = all(0);
  Doubles error_squares_ = Doubles::all(0);
  Doubles relative_sum_ = Doubles::all(0);
  Doubles ulp_sum_ = Doubles::all(0);
  Counts above_ = Counts::all(0);
  Counts below_ = Counts::all(0);
  Counts small_ = Counts::all(0);
  Counts small_errors_ = Counts::all(0);
  Counts rate_small_ = Counts::all(0);
  Counts rate_small_errors_ = Counts::all(0);
  Counts rate_normal_errors_ = Counts::all(0);
  Counts unequal_ = Counts::all(0);
  // For a computation in float32, and in float64.
  Pack<float> float_ulp_top_ = Pack<float>::all(0);
  Pack<double> ulp_top_ = Pack<double>::all(0);
  Pack<std::int32_t> float_ulp_over_ = Pack<std::int32_t>::all(0);
  Pack<std::int64_t> ulp_over_ = Pack<std::int64_t>::all(0);
};

}  // namespace msrun
