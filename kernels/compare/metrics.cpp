#include "kernels/compare/metrics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/compare/blocks.h"

namespace msrun {
namespace {

// bfloat16 and float8 are widened to float32 before they are compared, and a bfloat16 device tensor takes bench along.
Grid grid_of(DType dtype, DType device_dtype) {
  if (device_dtype == DType::bfloat16) return Grid::single;
  if (dtype == DType::float16) return Grid::half;
  return dtype == DType::float64 ? Grid::real : Grid::single;
}

Cell cell_on(Grid grid, double value) {
  if (grid == Grid::half) return Cell::fp16(value);
  return grid == Grid::single ? Cell::fp32(value) : Cell::fp64(value);
}

// A share of a set that may be empty: then the integer 0.
Cell share_of(std::int64_t count, std::int64_t total) {
  if (total == 0) return Cell::integer(0);
  return Cell::fp64(static_cast<double>(count) / static_cast<double>(total));
}

// From which magnitude on a value becomes infinite when it is rounded to dtype; infinity for dtypes as wide as the
// computation.
double overflow_limit(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 65520;
    case DType::bfloat16:
      return 0x1.FFp127;
    case DType::float32:
      return 0x1.FFFFFFp127;
    case DType::float8_e5m2:
      return 61440;
    default:
      return std::numeric_limits<double>::infinity();
  }
}

bool has_standard_columns(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16 || dtype == DType::float32 || is_float8(dtype);
}

// precision_metrics.md 5.7, float8 outputs; h and x both limited to exponents of at least -22, so that equal values
// have no error.
double float8_ulp(double x, double h) {
  constexpr double tiny = 0x1p-1000;
  constexpr double lowest = -22;
  const double exponent_x = std::max(std::log2(std::abs(x) + tiny), lowest);
  const double exponent = std::floor(exponent_x);
  const double magnitude = std::abs(exponent);
  const int width = magnitude <= 3 ? 3 : magnitude <= 7 ? 2 : magnitude <= 15 ? 1 : 0;
  if (width > 0) return std::abs(std::ldexp(h - x, width - static_cast<int>(exponent)));
  if (std::isnan(x) || std::isnan(h)) return std::numeric_limits<double>::quiet_NaN();
  const double exponent_h = std::max(std::log2(std::abs(h) + tiny), lowest);
  return std::abs((h >= 0 ? exponent_h : -exponent_h) - (x >= 0 ? exponent_x : -exponent_x));
}

// All metrics of a device array on grid D and a bench array on grid B. Names follow precision_metrics.md 5.1.
template <Grid D, Grid B>
class Accumulator {
 public:
  // Precision of the computation, and of the results W it is rounded to.
  using Real = std::conditional_t<D == Grid::real || B == Grid::real, double, float>;
  static constexpr Grid W = std::max(D, B);

  Accumulator(const Tensor& bench, const Tensor& device, Standard standard, bool compat)
      : bench_tensor_(bench),
        device_tensor_(device),
        dtype_(device.dtype()),
        limits_(thresholds(dtype_)),
        compat_(compat),
        exact_squares_(!compat || device.rank() == 0),
        count_(device.numel()),
        eps_(epsilon(dtype_)) {
    if (!has_standard_columns(dtype_)) return;
    standard_ = standard;
    wants_columns_ = true;
    accumulative_ = standard == Standard::accumulative_error;
    small_value_ = static_cast<Real>(accumulative_ ? limits_.accumulative_small_value : limits_.small_value);
    rtol_ = static_cast<Real>(accumulative_ ? limits_.accumulative_bound : limits_.rtol);
    const double atol = accumulative_                              ? limits_.accumulative_bound
                        : standard == Standard::absolute_threshold ? limits_.absolute_threshold_atol
                                                                   : limits_.atol;
    atol_ = on_grid<W>(static_cast<Real>(atol));
  }

  FloatMetrics run() {
    Reader bench(bench_tensor_);
    Reader device(device_tensor_);
    for (std::int64_t done = 0; done < count_; done += block_size) {
      n_ = std::min(block_size, count_ - done);
      padded_ = (n_ + lanes - 1) / lanes * lanes;
      bench.read(bench_.data(), n_);
      device.read(device_.data(), n_);
      for (std::int64_t i = n_; i < padded_; ++i) bench_[i] = device_[i] = 0;
      if (!compat_) settle_nonfinite();
      add_common();
      if (wants_columns_) add_columns();
    }
    return result();
  }

 private:
  using Bits = BitsOf<Real>;
  static constexpr Real infinity = std::numeric_limits<Real>::infinity();

  // Plain array with signed indices.
  template <class T>
  struct Block {
    alignas(64) std::array<T, block_size> values;
    T* data() { return values.data(); }
    T& operator[](std::int64_t i) { return values[static_cast<std::size_t>(i)]; }
    T operator[](std::int64_t i) const { return values[static_cast<std::size_t>(i)]; }
  };

  static Real epsilon(DType dtype) {
    if (dtype == DType::bfloat16) return static_cast<Real>(0x1p-8);
    return static_cast<Real>(B == Grid::half ? 0x1p-10 : B == Grid::single ? 0x1p-23 : 0x1p-52);
  }

  // |clip(D) - clip(Bd)| / ABE, clip to the finite range of the device dtype (precision_metrics.md 5.6).
  bool clipped_within(Real d, Real b, Real rtol) const {
    const Real end = static_cast<Real>(is_float8(dtype_) ? max_finite(DType::float32) : max_finite(dtype_));
    const Real distance = on_grid<D>(std::abs(std::clamp(d, -end, end) - std::clamp(on_grid<D>(b), -end, end)));
    return on_grid<W>(distance / on_grid<B>(std::abs(b) + eps_)) <= rtol;
  }

  // Replaces positions where both sides are NaN, or the same infinity, by zeros, and counts them and those that differ.
  void settle_nonfinite() {
    Bits top = 0;
    for (std::int64_t i = 0; i < n_; ++i) {
      top = std::max(top, std::max(bits_of(std::abs(device_[i])), bits_of(std::abs(bench_[i]))));
    }
    if (top < bits_of(infinity)) return;
    const double overflow = overflow_limit(dtype_);
    for (std::int64_t i = 0; i < n_; ++i) {
      const Real d = device_[i];
      const Real b = bench_[i];
      if (std::isfinite(d) && std::isfinite(b)) continue;
      const bool both_nan = std::isnan(d) && std::isnan(b);
      const bool same_infinity =
          std::isinf(d) && std::signbit(d) == std::signbit(b) && static_cast<double>(std::abs(b)) >= overflow;
      if (both_nan || same_infinity) {
        device_[i] = bench_[i] = 0;
        ++nonfinite_equal_;
      } else if (!std::isfinite(b) || std::isnan(d) || !clipped_within(d, b, static_cast<Real>(limits_.rtol))) {
        ++nonfinite_unequal_;
      }
    }
  }

  // Sections 5.2 to 5.4.
  void add_common() {
    const Real limit_100 = on_grid<W>(static_cast<Real>(0.01));
    const Real limit_1000 = on_grid<W>(static_cast<Real>(0.001));
    const Real limit_10000 = on_grid<W>(static_cast<Real>(0.0001));
    const Real eps = eps_;
    Bits top_device = 0;
    Bits top_bench = 0;
    Bits top_error = 0;
    Bits within_100 = 0;
    Bits within_1000 = 0;
    Bits within_10000 = 0;
    for (std::int64_t i = 0; i < n_; ++i) {
      const Real d = device_[i];
      const Real b = bench_[i];
      const Real error = on_grid<W>(std::abs(d - b));
      const Real relative = on_grid<W>(error / on_grid<B>(std::abs(b) + eps));
      error_[i] = error;
      relative_[i] = relative;
      top_device = std::max(top_device, bits_of(std::abs(d)));
      top_bench = std::max(top_bench, bits_of(std::abs(b)));
      top_error = std::max(top_error, bits_of(error));
      within_100 += relative < limit_100 ? 1 : 0;
      within_1000 += relative < limit_1000 ? 1 : 0;
      within_10000 += relative < limit_10000 ? 1 : 0;
    }
    top_device_ = std::max(top_device_, top_device);
    top_bench_ = std::max(top_bench_, top_bench);
    top_error_ = std::max(top_error_, top_error);
    within_100_ += within_100;
    within_1000_ += within_1000;
    within_10000_ += within_10000;
    for (std::int64_t i = 0; i < padded_; i += lanes) {
      for (std::int64_t k = 0; k < lanes; ++k) {
        const double d = device_[i + k];
        const double b = bench_[i + k];
        products_[k] += d * b;
        device_squares_[k] += d * d;
        bench_squares_[k] += b * b;
      }
    }
  }

  void add_columns() {
    switch (standard_) {
      case Standard::benchmark:
        add_balance();
        add_normal_errors();
        break;
      case Standard::accumulative_error:
        add_balance();
        add_error_rates();
        break;
      case Standard::absolute_threshold:
        add_error_rates();
        break;
      case Standard::ulp:
        add_ulp();
        break;
      case Standard::binary_consistency:
        for (std::int64_t i = 0; i < n_; ++i) unequal_ += device_[i] != bench_[i] ? 1 : 0;
        break;
      case Standard::dual_1000:
        break;
    }
  }

  // The difference D - Bd has the sign of the comparison, except that equal infinities and NaN have none.
  void add_balance() {
    Bits above = 0;
    Bits below = 0;
    for (std::int64_t i = 0; i < n_; ++i) {
      const Real b = on_grid<D>(bench_[i]);
      above += device_[i] > b ? 1 : 0;
      below += device_[i] < b ? 1 : 0;
    }
    above_ += above;
    below_ += below;
  }

  // Section 5.5 without the error balance.
  void add_normal_errors() {
    const Real small_value = small_value_;
    const Real atol = atol_;
    Bits small = 0;
    Bits small_errors = 0;
    Bits normal = 0;
    Bits top_relative = 0;
    for (std::int64_t i = 0; i < n_; ++i) {
      const bool finite = (std::abs(device_[i]) < infinity) & (std::abs(on_grid<D>(bench_[i])) < infinity);
      const bool is_small = finite & (std::abs(bench_[i]) <= small_value);
      const bool is_normal = finite & !is_small;
      small += is_small ? 1 : 0;
      small_errors += is_small & (error_[i] > atol) ? 1 : 0;
      normal += is_normal ? 1 : 0;
      const Real relative = is_normal ? relative_[i] : 0;
      relative_[i] = relative;
      error_[i] = is_normal ? error_[i] : 0;
      top_relative = std::max(top_relative, bits_of(relative));
    }
    small_ += small;
    small_errors_ += small_errors;
    normal_ += normal;
    top_relative_ = std::max(top_relative_, top_relative);
    for (std::int64_t i = n_; i < padded_; ++i) relative_[i] = error_[i] = 0;
    if (exact_squares_) {
      for (std::int64_t i = 0; i < padded_; i += lanes) {
        for (std::int64_t k = 0; k < lanes; ++k) {
          const double error = error_[i + k];
          error_squares_[k] += error * error;
          relative_sum_[k] += relative_[i + k];
        }
      }
    } else {
      for (std::int64_t i = 0; i < padded_; i += lanes) {
        for (std::int64_t k = 0; k < lanes; ++k) {
          error_squares_[k] += on_grid<W>(error_[i + k] * error_[i + k]);
          relative_sum_[k] += relative_[i + k];
        }
      }
    }
  }

  // Section 5.6, and the rates of the accumulative-error standard.
  void add_error_rates() {
    const Real small_value = small_value_;
    const Real atol = atol_;
    const Real rtol = rtol_;
    Bits small = 0;
    Bits small_errors = 0;
    Bits normal = 0;
    Bits normal_errors = 0;
    for (std::int64_t i = 0; i < n_; ++i) {
      const bool finite = (std::abs(device_[i]) < infinity) & (std::abs(on_grid<D>(bench_[i])) < infinity);
      const bool is_small = finite & (std::abs(bench_[i]) <= small_value);
      const bool is_normal = finite & !is_small;
      small += is_small ? 1 : 0;
      small_errors += is_small & (error_[i] > atol) ? 1 : 0;
      normal += is_normal ? 1 : 0;
      normal_errors += is_normal & (relative_[i] > rtol) ? 1 : 0;
    }
    small_ += small;
    small_errors_ += small_errors;
    normal_ += normal;
    normal_errors_ += normal_errors;
    if (small + normal == n_) return;
    for (std::int64_t i = 0; i < n_; ++i) {
      const Real d = device_[i];
      const Real b = bench_[i];
      if (std::isfinite(d) && std::isfinite(on_grid<D>(b))) continue;
      ++nonfinite_;
      // An infinite bench value divides every finite distance to zero, which upstream takes for agreement.
      const bool comparable = compat_ || std::isfinite(b);
      const bool agrees = (std::isnan(d) && std::isnan(b)) || (comparable && clipped_within(d, b, rtol_));
      nonfinite_errors_ += agrees ? 0 : 1;
    }
  }

  // Section 5.7.
  void add_ulp() {
    if (is_float8(dtype_)) {
      for (std::int64_t i = 0; i < n_; ++i) ulp_[i] = float8_ulp(bench_[i], device_[i]);
    } else if (!compat_) {
      ulp_exact();
    } else if (dtype_ == DType::float32) {
      ulp_upstream<double>();
    } else {
      ulp_upstream<float>();
    }
    for (std::int64_t i = n_; i < padded_; ++i) ulp_[i] = 0;
    const double limit = limits_.ulp_limit;
    std::int64_t top = 0;
    std::int64_t over = 0;
    for (std::int64_t i = 0; i < n_; ++i) {
      top = std::max(top, bits_of(ulp_[i]));
      over += ulp_[i] > limit ? 1 : 0;
    }
    top_ulp_ = std::max(top_ulp_, top);
    over_ulp_ += over;
    for (std::int64_t i = 0; i < padded_; i += lanes) {
      for (std::int64_t k = 0; k < lanes; ++k) ulp_sum_[k] += ulp_[i + k];
    }
  }

  // Distances in units of the last place, by an exact power of two in float64.
  void ulp_exact() {
    constexpr int fraction_bits = std::is_same_v<Real, float> ? 23 : 52;
    constexpr Bits exponent_mask = std::is_same_v<Real, float> ? 0xFF : 0x7FF;
    constexpr std::int64_t bias = std::is_same_v<Real, float> ? 127 : 1023;
    const std::int64_t min_exponent = limits_.ulp_min_exponent;
    const std::int64_t places = limits_.ulp_fraction_bits;
    for (std::int64_t i = 0; i < n_; ++i) {
      const Real b = bench_[i];
      const std::int64_t stored = (bits_of(b) >> fraction_bits) & exponent_mask;
      const std::int64_t exponent = b == 0 ? 0 : std::max(stored - bias, min_exponent);
      const double scale = std::bit_cast<double>((places - exponent + 1023) << 52);
      ulp_[i] = std::abs(static_cast<double>(device_[i]) - static_cast<double>(b)) * scale;
    }
  }

  // Upstream: logarithm and scale in the bench dtype, the rest in T.
  template <class T>
  void ulp_upstream() {
    for (std::int64_t i = 0; i < n_; ++i) {
      const Real b = bench_[i];
      Real exponent = b == 0 ? 0 : std::floor(on_grid<B>(std::log2(std::abs(b))));
      if (exponent < static_cast<Real>(limits_.ulp_min_exponent))
        exponent = static_cast<Real>(limits_.ulp_min_exponent);
      const Real scale = on_grid<B>(std::exp2(static_cast<Real>(limits_.ulp_fraction_bits) - exponent));
      const T difference = static_cast<T>(device_[i]) - static_cast<T>(b);
      ulp_[i] = std::abs(difference * static_cast<T>(scale));
    }
  }

  static double value_of(Bits bits) { return std::bit_cast<Real>(bits); }

  double share(std::int64_t count) const { return static_cast<double>(count) / static_cast<double>(count_); }

  FloatMetrics result() {
    FloatMetrics result;
    set_cosine(result);
    result.max_abs_error = cell_on(W, value_of(top_error_));
    result.within_100 = share(within_100_);
    result.within_1000 = share(within_1000_);
    result.within_10000 = share(within_10000_);
    result.nonfinite_equal = nonfinite_equal_;
    result.nonfinite_unequal = nonfinite_unequal_;
    if (wants_columns_) set_columns(result);
    return result;
  }

  // Section 5.2. An infinity makes the normalised array, and so the cosine, NaN.
  void set_cosine(FloatMetrics& result) {
    constexpr double zero = 0x1p-52;
    const double top_device = value_of(top_device_);
    const double top_bench = value_of(top_bench_);
    result.cosine_passes = true;
    if (count_ == 1) {
      result.cosine_note = CosineNote::scalar;
    } else if (top_device <= zero && top_bench <= zero) {
      if (nonfinite_equal_ == 0) result.cosine_note = CosineNote::both_zero;
    } else if (top_device <= zero || top_bench <= zero) {
      result.cosine_note = top_device <= zero ? CosineNote::device_zero : CosineNote::bench_zero;
      result.cosine_passes = false;
    } else {
      const double cosine = compute_cosine(top_device, top_bench);
      result.cosine = Cell::fp64(cosine);
      if (std::isnan(cosine)) {
        result.cosine_note = CosineNote::nan;
      } else {
        result.cosine_passes = cosine > 0.99;
      }
    }
  }

  double compute_cosine(double top_device, double top_bench) {
    if (!std::isfinite(top_device) || !std::isfinite(top_bench)) return std::numeric_limits<double>::quiet_NaN();
    double product = products_.total();
    double device_square = device_squares_.total();
    double bench_square = bench_squares_.total();
    if (!std::isfinite(product) || !std::isfinite(device_square) || !std::isfinite(bench_square)) {
      sum_scaled(top_device, top_bench, product, device_square, bench_square);
    }
    return std::clamp(product / (std::sqrt(device_square) * std::sqrt(bench_square)), -1.0, 1.0);
  }

  // A second pass over data whose squares exceed float64, both sides divided by their maxima.
  void sum_scaled(double top_device, double top_bench, double& product, double& device_square, double& bench_square) {
    LaneSum products;
    LaneSum device_squares;
    LaneSum bench_squares;
    Reader bench(bench_tensor_);
    Reader device(device_tensor_);
    for (std::int64_t done = 0; done < count_; done += block_size) {
      const std::int64_t n = std::min(block_size, count_ - done);
      bench.read(bench_.data(), n);
      device.read(device_.data(), n);
      for (std::int64_t i = 0; i < n; ++i) {
        double d = device_[i] / top_device;
        double b = bench_[i] / top_bench;
        if (!std::isfinite(d) || !std::isfinite(b)) d = b = 0;  // only where settled as equal
        products[i % lanes] += d * b;
        device_squares[i % lanes] += d * d;
        bench_squares[i % lanes] += b * b;
      }
    }
    product = products.total();
    device_square = device_squares.total();
    bench_square = bench_squares.total();
  }

  void set_columns(FloatMetrics& result) {
    const auto cell = [&](Metric metric) -> Cell& { return result.cells[static_cast<std::size_t>(metric)]; };
    // Equal NaN and infinities stand in the blocks as equal zeros, which are small values.
    const std::int64_t small = small_ - nonfinite_equal_;
    const Cell balance = Cell::fp64(share(std::abs(above_ - below_)));
    switch (standard_) {
      case Standard::benchmark:
        cell(Metric::error_balance) = balance;
        cell(Metric::rmse) = Cell::fp64(rmse());
        cell(Metric::small_value_error_ratio) = share_of(small_errors_, small);
        cell(Metric::max_relative_error) = relative_cell(value_of(top_relative_));
        cell(Metric::mean_relative_error) =
            relative_cell(on_grid<W>(static_cast<Real>(relative_sum_.total() / static_cast<double>(normal_))));
        break;
      case Standard::accumulative_error:
        cell(Metric::error_balance) = balance;
        [[fallthrough]];
      case Standard::absolute_threshold:
        cell(Metric::inf_nan_error_rate) = share_of(nonfinite_errors_, nonfinite_ + nonfinite_equal_);
        cell(Metric::relative_error_rate) = share_of(normal_errors_, normal_);
        cell(Metric::absolute_error_rate) = share_of(small_errors_, small);
        break;
      case Standard::ulp: {
        const double mean = ulp_sum_.total() / static_cast<double>(count_);
        const double top = std::bit_cast<double>(top_ulp_);
        const bool narrow = is_half(dtype_);
        cell(Metric::ulp_max) = narrow ? Cell::fp32(static_cast<float>(top)) : Cell::fp64(top);
        cell(Metric::ulp_mean) = narrow ? Cell::fp32(static_cast<float>(mean)) : Cell::fp64(mean);
        cell(Metric::ulp_over_limit) = Cell::fp64(share(over_ulp_));
        break;
      }
      case Standard::binary_consistency:
        cell(Metric::binary_error_rate) = Cell::fp64(share(unequal_));
        break;
      case Standard::dual_1000:
        cell(Metric::dual_1000) = Cell::fp64(result.within_1000);
        break;
    }
  }

  // Relative errors of a 0-d tensor are widened to float64 (precision_metrics.md 1).
  Cell relative_cell(double value) const {
    if (normal_ == 0) return Cell::integer(0);
    return device_tensor_.rank() == 0 ? Cell::fp64(value) : cell_on(W, value);
  }

  double rmse() const {
    const auto count = static_cast<double>(count_);
    double mean = error_squares_.total() / count;
    if (!exact_squares_) mean = on_grid<W>(static_cast<Real>(mean));
    return std::sqrt(mean * (count / (static_cast<double>(normal_) + 0.0001) + 0.0001));
  }

  const Tensor& bench_tensor_;
  const Tensor& device_tensor_;
  const DType dtype_;
  const Thresholds& limits_;
  const bool compat_;
  const bool exact_squares_;
  const std::int64_t count_;
  const Real eps_;
  bool wants_columns_ = false;
  bool accumulative_ = false;
  Standard standard_ = Standard::benchmark;
  Real small_value_ = 0;
  Real atol_ = 0;
  Real rtol_ = 0;

  // The block at hand: n_ elements, the rest up to padded_ is zero where sums need it.
  std::int64_t n_ = 0;
  std::int64_t padded_ = 0;
  Block<Real> device_;
  Block<Real> bench_;
  Block<Real> error_;     // AE
  Block<Real> relative_;  // RE
  Block<double> ulp_;

  LaneSum products_;
  LaneSum device_squares_;
  LaneSum bench_squares_;
  LaneSum error_squares_;
  LaneSum relative_sum_;
  LaneSum ulp_sum_;
  Bits top_device_ = 0;
  Bits top_bench_ = 0;
  Bits top_error_ = 0;
  Bits top_relative_ = 0;
  std::int64_t top_ulp_ = 0;
  std::int64_t within_100_ = 0;
  std::int64_t within_1000_ = 0;
  std::int64_t within_10000_ = 0;
  std::int64_t above_ = 0;
  std::int64_t below_ = 0;
  std::int64_t small_ = 0;
  std::int64_t small_errors_ = 0;
  std::int64_t normal_ = 0;
  std::int64_t normal_errors_ = 0;
  std::int64_t nonfinite_ = 0;
  std::int64_t nonfinite_errors_ = 0;
  std::int64_t nonfinite_equal_ = 0;
  std::int64_t nonfinite_unequal_ = 0;
  std::int64_t over_ulp_ = 0;
  std::int64_t unequal_ = 0;
};

template <Grid D>
FloatMetrics metrics_on(const Tensor& bench, const Tensor& device, Standard standard, bool compat) {
  switch (grid_of(bench.dtype(), device.dtype())) {
    case Grid::half:
      return Accumulator<D, Grid::half>(bench, device, standard, compat).run();
    case Grid::single:
      return Accumulator<D, Grid::single>(bench, device, standard, compat).run();
    case Grid::real:
      break;
  }
  return Accumulator<D, Grid::real>(bench, device, standard, compat).run();
}

}  // namespace

FloatMetrics float_metrics(const Tensor& bench, const Tensor& device, Standard standard, bool compat) {
  switch (grid_of(device.dtype(), device.dtype())) {
    case Grid::half:
      return metrics_on<Grid::half>(bench, device, standard, compat);
    case Grid::single:
      return metrics_on<Grid::single>(bench, device, standard, compat);
    case Grid::real:
      break;
  }
  return metrics_on<Grid::real>(bench, device, standard, compat);
}

}  // namespace msrun
