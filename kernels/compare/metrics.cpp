#include "kernels/compare/metrics.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/compare/blocks.h"
#include "kernels/compare/cosine_sums.h"
#include "kernels/compare/metrics_reference.h"
#include "kernels/compare/pack.h"

namespace msrun {
namespace {

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

// One side of the pair, block by block as T, padded with zeros to whole packs.
template <class T>
class Side {
 public:
  explicit Side(const Tensor& tensor)
      : reader_(tensor), bytes_of_element_(static_cast<std::int64_t>(size_of(tensor.dtype()))) {}

  // n elements, valid until the next call.
  const T* next(std::int64_t n) {
    const T* block = read(n);
    ahead_ = reader_.address();
    width_ = reader_.bytes_in_a_row() >= block_size<T> * bytes_of_element_ ? bytes_of_element_ : 0;
    return block;
  }

  // The block at hand as something to be changed.
  T* changeable(const T* block, std::int64_t padded) {
    if (block != buffer_.data()) std::copy_n(block, padded, buffer_.data());
    return buffer_.data();
  }

  // Asks for what the next block has at the place of the pack that begins with element i of this one.
  MSRUN_INLINE void prefetch(std::int64_t i) const {
    __builtin_prefetch(ahead_ + i * width_);
    if (width_ == 8) __builtin_prefetch(ahead_ + i * width_ + 64);
  }

 private:
  const T* read(std::int64_t n) {
    if (n == block_size<T>) {
      const T* in_place = reader_.read_in_place<T>(std::is_same_v<T, float> ? DType::float32 : DType::float64, n);
      if (in_place != nullptr) return in_place;
    }
    reader_.read(buffer_.data(), n);
    std::fill(buffer_.data() + n, buffer_.data() + (n + lanes - 1) / lanes * lanes, T{});
    return buffer_.data();
  }

  Reader reader_;
  std::int64_t bytes_of_element_;
  const std::byte* ahead_ = nullptr;  // the next block
  std::int64_t width_ = 0;            // bytes from element to element there; 0 if they are scattered, or none are left
  alignas(64) std::array<T, block_size<T>> buffer_;
};

// The pass over a device array on grid D and a bench array on grid B. Blocks of finite values go through the vector
// loops; a block that holds others, an overflow of the device dtype included, is added element by element.
template <Grid D, Grid B>
class Pass {
 public:
  // Precision of the computation; results are rounded to W.
  using Real = std::conditional_t<D == Grid::real || B == Grid::real, double, float>;
  static constexpr Grid W = std::max(D, B);

  Pass(const Tensor& bench, const Tensor& device, StandardSet standards, bool compat)
      : task_(bench, device, standards, compat),
        bench_tensor_(bench),
        device_tensor_(device),
        bench_(bench),
        device_(device),
        rare_(task_) {}

  FloatMetrics run() {
    for (std::int64_t done = 0; done < task_.count; done += block_size<Real>) {
      n_ = std::min(block_size<Real>, task_.count - done);
      padded_ = (n_ + lanes - 1) / lanes * lanes;
      b_ = bench_.next(n_);
      d_ = device_.next(n_);
      if (!add_products() && (task_.compat || !settle() || !add_products())) {
        for (std::int64_t i = 0; i < n_; ++i) rare_.add(d_[i], b_[i]);
        continue;
      }
      add_errors();
      add_columns();
      finite_count_ += n_;
      padding_ += padded_ - n_;
    }
    const Tally tally = whole_tally();
    return metrics_of(task_, tally, cosine(tally));
  }

 private:
  using Int = IntOf<Real>;
  using Reals = Pack<Real>;
  using Counts = Pack<Int>;
  using Doubles = Pack<double>;

  static Reals all(double value) { return Reals::all(static_cast<Real>(value)); }

  // Largest magnitudes and the sums of the cosine. False, and nothing is added, if a value is not finite or overflows.
  bool add_products() {
    CosineSums sums = cosine_sums_;
    Tops<Real> tops;
    if constexpr (std::is_same_v<Real, float>) {
      tops = add_float_products(d_, b_, padded_, sums);
    } else {
      tops = msrun::add_products(d_, b_, padded_, sums);
    }
    if (!std::isfinite(tops.device) || !std::isfinite(msrun::on_grid(D, tops.bench))) return false;
    top_device_ = std::max(top_device_, tops.device);
    top_bench_ = std::max(top_bench_, tops.bench);
    cosine_sums_ = sums;
    return true;
  }

  // Makes zeros of pairs that are equal without being finite. False if there are others: none is counted then.
  bool settle() {
    for (std::int64_t i = 0; i < n_; ++i) {
      const bool finite = std::isfinite(d_[i]) && std::isfinite(b_[i]);
      if (!finite && !same_nonfinite(task_, d_[i], b_[i])) return false;
    }
    Real* d = device_.changeable(d_, padded_);
    Real* b = bench_.changeable(b_, padded_);
    for (std::int64_t i = 0; i < n_; ++i) {
      double device = d[i];
      double bench = b[i];
      rare_.settle(device, bench);
      d[i] = static_cast<Real>(device);
      b[i] = static_cast<Real>(bench);
    }
    d_ = d;
    b_ = b;
    return true;
  }

  // Sections 5.1, 5.3 and 5.4. The divisions take so long that the next block can be fetched meanwhile.
  void add_errors() {
    const Reals eps = all(task_.eps);
    const Reals limit_100 = all(msrun::on_grid(W, 0.01));
    const Reals limit_1000 = all(msrun::on_grid(W, 0.001));
    const Reals limit_10000 = all(msrun::on_grid(W, 0.0001));
    Reals top = top_error_;
    Counts within_100 = within_100_;
    Counts within_1000 = within_1000_;
    Counts within_10000 = within_10000_;
    for (std::int64_t i = 0; i < padded_; i += lanes) {
      bench_.prefetch(i);
      device_.prefetch(i);
      const Reals d = Reals::load(d_ + i);
      const Reals b = Reals::load(b_ + i);
      const Reals error = on_grid<W>(magnitude(d - b));
      const Reals relative = on_grid<W>(error / on_grid<B>(magnitude(b) + eps));
      error.store(error_.data() + i);
      relative.store(relative_.data() + i);
      top = larger(top, error);
      msrun::count(within_100, relative < limit_100);
      msrun::count(within_1000, relative < limit_1000);
      msrun::count(within_10000, relative < limit_10000);
    }
    top_error_ = top;
    within_100_ = within_100;
    within_1000_ = within_1000;
    within_10000_ = within_10000;
  }

  void add_columns() {
    if (task_.wants(Standard::benchmark) || task_.wants(Standard::accumulative_error)) add_balance();
    if (task_.wants(Standard::benchmark)) task_.exact_squares ? add_benchmark<true>() : add_benchmark<false>();
    if (task_.wants_rates) add_rates();
    if (task_.wants(Standard::binary_consistency)) add_unequal();
    if (!task_.wants(Standard::ulp)) return;
    if (task_.compat || is_float8(task_.dtype)) {
      for (std::int64_t i = 0; i < n_; ++i) rare_.add_ulp(d_[i], b_[i]);
    } else if (is_half(task_.dtype)) {
      add_ulp(float_ulp_top_, float_ulp_over_);
    } else {
      add_ulp(ulp_top_, ulp_over_);
    }
  }

  // D - Bd has the sign of the comparison.
  void add_balance() {
    Counts above = above_;
    Counts below = below_;
    for (std::int64_t i = 0; i < padded_; i += lanes) {
      const Reals d = Reals::load(d_ + i);
      const Reals loaded = Reals::load(b_ + i);
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
  void add_benchmark() {
    const Reals small_value = all(task_.small_value);
    const Reals atol = all(task_.atol);
    const Reals zero = all(0);
    Counts small = small_;
    Counts small_errors = small_errors_;
    Reals top = top_relative_;
    Doubles error_squares = error_squares_;
    Doubles relative_sum = relative_sum_;
    for (std::int64_t i = 0; i < padded_; i += lanes) {
      const Counts is_small = magnitude(Reals::load(b_ + i)) <= small_value;
      const Reals error = Reals::load(error_.data() + i);
      const Reals relative = select(is_small, zero, Reals::load(relative_.data() + i));
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
  void add_rates() {
    const Reals small_value = all(task_.rate_small_value);
    const Reals atol = all(task_.rate_atol);
    const Reals rtol = all(task_.rate_rtol);
    Counts small = rate_small_;
    Counts small_errors = rate_small_errors_;
    Counts normal_errors = rate_normal_errors_;
    for (std::int64_t i = 0; i < padded_; i += lanes) {
      const Reals size = magnitude(Reals::load(b_ + i));
      const Counts is_small = size <= small_value;
      msrun::count(small, is_small);
      msrun::count(small_errors, is_small & (atol < Reals::load(error_.data() + i)));
      msrun::count(normal_errors, (small_value < size) & (rtol < Reals::load(relative_.data() + i)));
    }
    rate_small_ = small;
    rate_small_errors_ = small_errors;
    rate_normal_errors_ = normal_errors;
  }

  void add_unequal() {
    Counts unequal = unequal_;
    for (std::int64_t i = 0; i < padded_; i += lanes) {
      msrun::count(unequal, Reals::load(d_ + i) != Reals::load(b_ + i));
    }
    unequal_ = unequal;
  }

  // Section 5.7: differences in T, times 2^(1 - exponent of the bench value), which is a normal number.
  template <class T>
  void add_ulp(Pack<T>& ulp_top, Pack<IntOf<T>>& ulp_over) {
    constexpr int fraction_bits = std::is_same_v<Real, float> ? 23 : 52;
    constexpr Int bias = std::is_same_v<Real, float> ? 127 : 1023;
    const Counts least = Counts::all(task_.limits.ulp_min_exponent + bias);
    const Counts of_zero = Counts::all(bias);
    const Reals zero = all(0);
    const auto limit = Pack<T>::all(static_cast<T>(task_.limits.ulp_limit / task_.ulp_unit));
    Doubles sum = ulp_sum_;
    Pack<T> top = ulp_top;
    Pack<IntOf<T>> over = ulp_over;
    for (std::int64_t i = 0; i < padded_; i += lanes) {
      const Reals b = Reals::load(b_ + i);
      const Counts stored = larger(bits_of(magnitude(b)) >> fraction_bits, least);
      const Counts exponent = select(b == zero, of_zero, stored);
      const Reals scale = with_bits((Counts::all(2 * bias + 1) - exponent) << fraction_bits);
      const Pack<T> difference = as<T>(Reals::load(d_ + i)) - as<T>(b);
      const Pack<T> errors = magnitude(difference) * as<T>(scale);
      sum = sum + widened(errors);
      top = larger(top, errors);
      msrun::count(over, limit < errors);
    }
    ulp_sum_ = sum;
    ulp_top = top;
    ulp_over = over;
  }

  // Zeros that fill up the last pack are within all limits, and small.
  Tally whole_tally() const {
    Tally tally;
    tally.top_device = top_device_;
    tally.top_bench = top_bench_;
    tally.top_error = largest(top_error_);
    tally.top_relative = largest(top_relative_);
    tally.top_ulp = std::max(largest(ulp_top_), static_cast<double>(largest(float_ulp_top_)));
    tally.products = total(cosine_sums_.products);
    tally.device_squares = total(cosine_sums_.device_squares);
    tally.bench_squares = total(cosine_sums_.bench_squares);
    tally.error_squares = total(error_squares_);
    tally.relative_sum = total(relative_sum_);
    tally.ulp_sum = total(ulp_sum_);
    tally.within_100 = total_count(within_100_) - padding_;
    tally.within_1000 = total_count(within_1000_) - padding_;
    tally.within_10000 = total_count(within_10000_) - padding_;
    tally.above = total_count(above_);
    tally.below = total_count(below_);
    tally.unequal = total_count(unequal_);
    tally.ulp_over = total_count(ulp_over_) + total_count(float_ulp_over_);
    if (task_.wants(Standard::benchmark)) {
      tally.small = total_count(small_) - padding_;
      tally.small_errors = total_count(small_errors_);
      tally.normal = finite_count_ - tally.small;
    }
    if (task_.wants_rates) {
      tally.rate_small = total_count(rate_small_) - padding_;
      tally.rate_small_errors = total_count(rate_small_errors_);
      tally.rate_normal = finite_count_ - tally.rate_small;
      tally.rate_normal_errors = total_count(rate_normal_errors_);
    }
    merge(tally, rare_.tally());
    return tally;
  }

  // Section 5.2, step 5: without dividing by the largest values where no square exceeds float64.
  double cosine(const Tally& tally) {
    double product = tally.products;
    double device_square = tally.device_squares;
    double bench_square = tally.bench_squares;
    if (!std::isfinite(product) || !std::isfinite(device_square) || !std::isfinite(bench_square)) {
      sum_scaled(tally, product, device_square, bench_square);
    }
    return product / (std::sqrt(device_square) * std::sqrt(bench_square));
  }

  // A second pass, over both sides divided by their maxima.
  void sum_scaled(const Tally& tally, double& product, double& device_square, double& bench_square) const {
    product = device_square = bench_square = 0;
    if (!std::isfinite(tally.top_device) || !std::isfinite(tally.top_bench)) return;
    Side<Real> device_side(device_tensor_);
    Side<Real> bench_side(bench_tensor_);
    for (std::int64_t done = 0; done < task_.count; done += block_size<Real>) {
      const std::int64_t n = std::min(block_size<Real>, task_.count - done);
      const Real* d = device_side.next(n);
      const Real* b = bench_side.next(n);
      for (std::int64_t i = 0; i < n; ++i) {
        const double x = d[i] / tally.top_device;
        const double y = b[i] / tally.top_bench;
        if (!std::isfinite(x) || !std::isfinite(y)) continue;  // only where settled as equal
        product += x * y;
        device_square += x * x;
        bench_square += y * y;
      }
    }
  }

  const MetricTask task_;
  const Tensor& bench_tensor_;
  const Tensor& device_tensor_;
  Side<Real> bench_;
  Side<Real> device_;
  ElementTally rare_;

  // The block at hand: n_ elements, and zeros up to padded_.
  std::int64_t n_ = 0;
  std::int64_t padded_ = 0;
  const Real* b_ = nullptr;
  const Real* d_ = nullptr;
  alignas(64) std::array<Real, block_size<Real>> error_;     // AE
  alignas(64) std::array<Real, block_size<Real>> relative_;  // RE

  // Of the finite blocks. A lane of float32 counts in 32 bits: enough for 2^35 elements.
  std::int64_t finite_count_ = 0;
  std::int64_t padding_ = 0;
  Real top_device_ = 0;
  Real top_bench_ = 0;
  Reals top_error_ = all(0);
  Reals top_relative_ = all(0);
  CosineSums cosine_sums_;
  Doubles error_squares_ = Doubles::all(0);
  Doubles relative_sum_ = Doubles::all(0);
  Doubles ulp_sum_ = Doubles::all(0);
  Counts within_100_ = Counts::all(0);
  Counts within_1000_ = Counts::all(0);
  Counts within_10000_ = Counts::all(0);
  Counts above_ = Counts::all(0);
  Counts below_ = Counts::all(0);
  Counts small_ = Counts::all(0);
  Counts small_errors_ = Counts::all(0);
  Counts rate_small_ = Counts::all(0);
  Counts rate_small_errors_ = Counts::all(0);
  Counts rate_normal_errors_ = Counts::all(0);
  Counts unequal_ = Counts::all(0);
  // Of T as float32, and as float64.
  Pack<float> float_ulp_top_ = Pack<float>::all(0);
  Pack<double> ulp_top_ = Pack<double>::all(0);
  Pack<std::int32_t> float_ulp_over_ = Pack<std::int32_t>::all(0);
  Pack<std::int64_t> ulp_over_ = Pack<std::int64_t>::all(0);
};

}  // namespace

FloatMetrics float_metrics(const Tensor& bench, const Tensor& device, StandardSet standards, bool compat) {
  const MetricTask task(bench, device, standards, compat);
  const auto with_bench = [&]<Grid D>() {
    switch (task.bench_grid) {
      case Grid::half:
        return Pass<D, Grid::half>(bench, device, standards, compat).run();
      case Grid::single:
        return Pass<D, Grid::single>(bench, device, standards, compat).run();
      case Grid::real:
        break;
    }
    return Pass<D, Grid::real>(bench, device, standards, compat).run();
  };
  switch (task.device_grid) {
    case Grid::half:
      return with_bench.template operator()<Grid::half>();
    case Grid::single:
      return with_bench.template operator()<Grid::single>();
    case Grid::real:
      break;
  }
  return with_bench.template operator()<Grid::real>();
}

}  // namespace msrun
