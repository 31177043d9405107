#include "kernels/compare/metrics/metrics_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace msrun {
namespace {

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

}  // namespace

bool same_nonfinite(const MetricTask& task, double d, double b) {
  if (std::isnan(d) || std::isnan(b)) return std::isnan(d) && std::isnan(b);
  return std::isinf(d) && std::signbit(d) == std::signbit(b) && std::abs(b) >= overflow_limit(task.dtype);
}

void ElementTally::remove_nonfinite(double& d, double& b) {
  if (std::isfinite(d) && std::isfinite(b)) return;
  if (same_nonfinite(task_, d, b)) {
    d = b = 0;
    ++tally_.nonfinite_equal;
  } else if (!std::isfinite(b) || std::isnan(d) || !clipped_within(task_, d, b, task_.thresholds.rtol)) {
    ++tally_.nonfinite_unequal;
  }
}

void ElementTally::add(double d, double b) {
  if (!task_.compat) remove_nonfinite(d, b);
  add_common(d, b);
  if (task_.wants(Standard::benchmark) || task_.wants(Standard::accumulative_error)) {
    // D - Bd has the sign of the comparison, except that equal infinities and NaN have none.
    const double rounded = on_grid(task_.device_grid, b);
    tally_.above += d > rounded ? 1 : 0;
    tally_.below += d < rounded ? 1 : 0;
  }
  if (task_.wants(Standard::benchmark)) add_benchmark(d, b);
  if (task_.wants_rates) add_rates(d, b);
  if (task_.wants(Standard::ulp)) add_ulp(d, b);
  if (task_.wants(Standard::binary_consistency)) tally_.unequal += d != b ? 1 : 0;
}

// Sections 5.1 to 5.4.
void ElementTally::add_common(double d, double b) {
  error_ = on_grid(task_.working, std::abs(d - b));
  relative_ = on_grid(task_.working, error_ / on_grid(task_.bench_grid, std::abs(b) + task_.eps));
  tally_.top_device = larger_or_nan(tally_.top_device, std::abs(d));
  tally_.top_bench = larger_or_nan(tally_.top_bench, std::abs(b));
  tally_.top_error = larger_or_nan(tally_.top_error, error_);
  tally_.within_100 += relative_ < on_grid(task_.working, 0.01) ? 1 : 0;
  tally_.within_1000 += relative_ < on_grid(task_.working, 0.001) ? 1 : 0;
  tally_.within_10000 += relative_ < on_grid(task_.working, 0.0001) ? 1 : 0;
  tally_.products += d * b;
  tally_.device_squares += d * d;
  tally_.bench_squares += b * b;
}

// Section 5.5.
void ElementTally::add_benchmark(double d, double b) {
  if (!std::isfinite(d) || !std::isfinite(on_grid(task_.device_grid, b))) return;
  if (std::abs(b) <= task_.small_value) {
    ++tally_.small;
    tally_.small_errors += error_ > task_.atol ? 1 : 0;
    return;
  }
  ++tally_.normal;
  tally_.top_relative = larger_or_nan(tally_.top_relative, relative_);
  tally_.relative_sum += relative_;
  tally_.error_squares += task_.exact_squares ? error_ * error_ : on_grid(task_.working, error_ * error_);
}

// Section 5.6, and the rates of the accumulative-error standard.
void ElementTally::add_rates(double d, double b) {
  if (!std::isfinite(d) || !std::isfinite(on_grid(task_.device_grid, b))) {
    ++tally_.nonfinite;
    // An infinite bench value divides every finite distance to zero, which upstream takes for agreement.
    const bool comparable = task_.compat || std::isfinite(b);
    const bool both_nan = std::isnan(d) && std::isnan(b);
    tally_.nonfinite_errors += both_nan || (comparable && clipped_within(task_, d, b, task_.rate_rtol)) ? 0 : 1;
  } else if (std::abs(b) <= task_.rate_small_value) {
    ++tally_.rate_small;
    tally_.rate_small_errors += error_ > task_.rate_atol ? 1 : 0;
  } else {
    ++tally_.rate_normal;
    tally_.rate_normal_errors += relative_ > task_.rate_rtol ? 1 : 0;
  }
}

// Section 5.7.
void ElementTally::add_ulp(double d, double b) {
  double error = 0;
  if (is_float8(task_.dtype)) {
    error = float8_ulp(b, d);
  } else {
    error = task_.compat ? ulp_upstream(d, b) : ulp(d, b);
  }
  tally_.top_ulp = larger_or_nan(tally_.top_ulp, error);
  tally_.ulp_sum += error;
  tally_.ulp_over += error > task_.thresholds.ulp_limit / task_.ulp_unit ? 1 : 0;
}

// The difference in the precision T, scaled by an exact power of two, in units of task_.ulp_unit.
double ElementTally::ulp(double d, double b) const {
  const Grid t = is_half(task_.dtype) ? Grid::single : Grid::real;
  const int least = task_.thresholds.ulp_min_exponent;
  const int exponent = b == 0 ? 0 : std::isfinite(b) ? std::max(std::ilogb(b), least) : 128;
  const double difference = on_grid(t, on_grid(t, d) - on_grid(t, b));
  return std::abs(on_grid(t, std::ldexp(difference, 1 - exponent)));
}

// Upstream: logarithm and scale in the bench dtype, the rest in T.
double ElementTally::ulp_upstream(double d, double b) const {
  const Grid t = is_half(task_.dtype) ? Grid::single : Grid::real;
  double exponent = b == 0 ? 0 : std::floor(on_grid(task_.bench_grid, std::log2(std::abs(b))));
  exponent = exponent < task_.thresholds.ulp_min_exponent ? task_.thresholds.ulp_min_exponent : exponent;
  const double scale = on_grid(t, on_grid(task_.bench_grid, std::exp2(task_.thresholds.ulp_fraction_bits - exponent)));
  return std::abs(on_grid(t, on_grid(t, on_grid(t, d) - on_grid(t, b)) * scale));
}

FloatMetrics float_metrics_reference(const Tensor& bench, const Tensor& device, StandardSet standards, bool compat,
                                     Limits limits) {
  const MetricTask task(bench, device, standards, compat, limits);
  const Tensor bench_values = bench.to(DType::float64).contiguous();
  const Tensor device_values = device.to(DType::float64).contiguous();
  // A bfloat16 device tensor takes bench along to float32.
  const auto b = [&](std::int64_t i) { return on_grid(task.bench_grid, bench_values.data<double>()[i]); };
  const auto d = [&](std::int64_t i) { return device_values.data<double>()[i]; };
  ElementTally elements(task);
  for (std::int64_t i = 0; i < task.count; ++i) elements.add(d(i), b(i));

  // Section 5.2, step 5.
  double product = 0;
  double device_square = 0;
  double bench_square = 0;
  for (std::int64_t i = 0; i < task.count; ++i) {
    if (!compat && same_nonfinite(task, d(i), b(i))) continue;
    const double x = d(i) / elements.tally().top_device;
    const double y = b(i) / elements.tally().top_bench;
    product += x * y;
    device_square += x * x;
    bench_square += y * y;
  }
  return metrics_of(task, elements.tally(), product / (std::sqrt(device_square) * std::sqrt(bench_square)));
}

}  // namespace msrun
