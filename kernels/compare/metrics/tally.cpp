#include "kernels/compare/metrics/tally.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/compare/metrics/walk_limits.h"

namespace msrun {
namespace {

// The nearest float16 value, to even in the middle.
double rounded_to_half(double value) {
  const double size = std::abs(value);
  if (!(size < 65520)) return std::isnan(value) ? value : std::copysign(std::numeric_limits<double>::infinity(), value);
  // The addition rounds to the last place of its result: 2^-24 beside 2^28, or 2^42 times that of size.
  const double beside = size < 0x1p-14 ? 0x1p28 : std::ldexp(1.0, std::ilogb(size) + 42);
  return std::copysign((size + beside) - beside, value);
}

// bfloat16 and float8 are widened to float32 before they are compared, and a bfloat16 device tensor takes bench along.
Grid grid_of(DType dtype, DType device_dtype) {
  if (device_dtype == DType::bfloat16) return Grid::single;
  if (dtype == DType::float16) return Grid::half;
  return dtype == DType::float64 ? Grid::real : Grid::single;
}

bool has_columns(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16 || dtype == DType::float32 || is_float8(dtype);
}

double epsilon_of(DType dtype, Grid bench_grid) {
  if (dtype == DType::bfloat16) return 0x1p-8;
  return bench_grid == Grid::half ? 0x1p-10 : bench_grid == Grid::single ? 0x1p-23 : 0x1p-52;
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

class Cells {
 public:
  Cells(const MetricTask& task, const Tally& tally) : task_(task), tally_(tally) {}

  FloatMetrics metrics(double cosine) const {
    FloatMetrics result;
    set_cosine(result, cosine);
    result.max_abs_error = cell_on(task_.working, tally_.top_error);
    result.within_100 = share(tally_.within_100);
    result.within_1000 = share(tally_.within_1000);
    result.within_10000 = share(tally_.within_10000);
    result.nonfinite_equal = tally_.nonfinite_equal;
    result.nonfinite_unequal = tally_.nonfinite_unequal;
    set_columns(result);
    return result;
  }

 private:
  double share(std::int64_t count) const { return static_cast<double>(count) / static_cast<double>(task_.count); }

  // Section 5.2. An infinity makes the normalised array, and so the cosine, NaN.
  void set_cosine(FloatMetrics& result, double cosine) const {
    constexpr double zero = 0x1p-52;
    result.cosine_passes = true;
    if (task_.count == 1) {
      result.cosine_note = CosineNote::scalar;
    } else if (tally_.top_device <= zero && tally_.top_bench <= zero) {
      if (tally_.nonfinite_equal == 0) result.cosine_note = CosineNote::both_zero;
    } else if (tally_.top_device <= zero || tally_.top_bench <= zero) {
      result.cosine_note = tally_.top_device <= zero ? CosineNote::device_zero : CosineNote::bench_zero;
      result.cosine_passes = false;
    } else {
      const bool finite = std::isfinite(tally_.top_device) && std::isfinite(tally_.top_bench);
      const double value = finite ? std::clamp(cosine, -1.0, 1.0) : std::numeric_limits<double>::quiet_NaN();
      result.cosine = Cell::fp64(value);
      if (std::isnan(value)) {
        result.cosine_note = CosineNote::nan;
      } else {
        result.cosine_passes = value > least_cosine;
      }
    }
  }

  void set_columns(FloatMetrics& result) const {
    const auto cell = [&](Metric metric) -> Cell& { return result.cells[static_cast<std::size_t>(metric)]; };
    if (task_.wants(Standard::benchmark) || task_.wants(Standard::accumulative_error)) {
      cell(Metric::error_balance) = Cell::fp64(share(std::abs(tally_.above - tally_.below)));
    }
    if (task_.wants(Standard::benchmark)) {
      cell(Metric::rmse) = Cell::fp64(rmse());
      cell(Metric::small_value_error_ratio) = share_of(tally_.small_errors, tally_.small - tally_.nonfinite_equal);
      cell(Metric::max_relative_error) = relative_cell(tally_.top_relative);
      cell(Metric::mean_relative_error) =
          relative_cell(on_grid(task_.working, tally_.relative_sum / static_cast<double>(tally_.normal)));
    }
    if (task_.wants_rates) {
      cell(Metric::inf_nan_error_rate) = share_of(tally_.nonfinite_errors, tally_.nonfinite + tally_.nonfinite_equal);
      cell(Metric::relative_error_rate) = share_of(tally_.rate_normal_errors, tally_.rate_normal);
      cell(Metric::absolute_error_rate) =
          share_of(tally_.rate_small_errors, tally_.rate_small - tally_.nonfinite_equal);
    }
    if (task_.wants(Standard::ulp)) {
      const Grid grid = is_half(task_.dtype) ? Grid::single : Grid::real;
      const double mean = tally_.ulp_sum * task_.ulp_unit / static_cast<double>(task_.count);
      cell(Metric::ulp_max) = cell_on(grid, on_grid(grid, tally_.top_ulp * task_.ulp_unit));
      cell(Metric::ulp_mean) = cell_on(grid, on_grid(grid, mean));
      cell(Metric::ulp_over_limit) = Cell::fp64(share(tally_.ulp_over));
    }
    if (task_.wants(Standard::binary_consistency)) cell(Metric::binary_error_rate) = Cell::fp64(share(tally_.unequal));
    if (task_.wants(Standard::dual_1000)) cell(Metric::dual_1000) = Cell::fp64(result.within_1000);
  }

  // Relative errors of a 0-d tensor are widened to float64 (precision_metrics.md 1).
  Cell relative_cell(double value) const {
    if (tally_.normal == 0) return Cell::integer(0);
    return task_.zero_dimensional ? Cell::fp64(value) : cell_on(task_.working, value);
  }

  double rmse() const {
    const auto count = static_cast<double>(task_.count);
    double mean = tally_.error_squares / count;
    if (!task_.exact_squares) mean = on_grid(task_.working, mean);
    return std::sqrt(mean * (count / (static_cast<double>(tally_.normal) + 0.0001) + 0.0001));
  }

  const MetricTask& task_;
  const Tally& tally_;
};

}  // namespace

double on_grid(Grid grid, double value) {
  if (grid == Grid::half) return rounded_to_half(value);
  return grid == Grid::single ? static_cast<float>(value) : value;
}

MetricTask::MetricTask(const Tensor& bench, const Tensor& device, StandardSet wanted, bool compat_msprobe,
                       Limits limits)
    : dtype(device.dtype()),
      count(device.numel()),
      zero_dimensional(device.rank() == 0),
      compat(compat_msprobe),
      standards(has_columns(dtype) ? wanted : StandardSet{}),
      device_grid(grid_of(dtype, dtype)),
      bench_grid(grid_of(bench.dtype(), dtype)),
      working(std::max(device_grid, bench_grid)),
      eps(epsilon_of(dtype, bench_grid)),
      exact_squares(!compat || zero_dimensional),
      thresholds(msrun::thresholds(dtype, limits)),
      small_value(thresholds.small_value),
      atol(on_grid(working, thresholds.atol)),
      wants_rates(wants(Standard::absolute_threshold) || wants(Standard::accumulative_error)),
      rate_small_value(thresholds.small_value),
      rate_atol(on_grid(working, thresholds.absolute_threshold_atol)),
      rate_rtol(thresholds.rtol),
      ulp_unit(1) {
  if (wants(Standard::accumulative_error)) {
    rate_small_value = thresholds.accumulative_small_value;
    rate_atol = rate_rtol = thresholds.accumulative_bound;
  }
  if (!compat && !is_float8(dtype)) ulp_unit = std::ldexp(1.0, thresholds.ulp_fraction_bits - 1);
}

bool clipped_within(const MetricTask& task, double d, double b, double rtol) {
  const double end = is_float8(task.dtype) ? max_finite(DType::float32) : max_finite(task.dtype);
  const double distance = std::abs(
      on_grid(task.device_grid, std::clamp(d, -end, end) - std::clamp(on_grid(task.device_grid, b), -end, end)));
  const double size = on_grid(task.bench_grid, std::abs(b) + task.eps);
  return on_grid(task.working, distance / size) <= rtol;
}

double larger_or_nan(double a, double b) { return std::isnan(a) || a > b ? a : b; }

void merge(Tally& tally, const Tally& other) {
  for (const auto top :
       {&Tally::top_device, &Tally::top_bench, &Tally::top_error, &Tally::top_relative, &Tally::top_ulp}) {
    tally.*top = larger_or_nan(tally.*top, other.*top);
  }
  for (const auto sum : {&Tally::products, &Tally::device_squares, &Tally::bench_squares, &Tally::error_squares,
                         &Tally::relative_sum, &Tally::ulp_sum}) {
    tally.*sum += other.*sum;
  }
  for (const auto count :
       {&Tally::within_100, &Tally::within_1000, &Tally::within_10000, &Tally::above, &Tally::below, &Tally::small,
        &Tally::small_errors, &Tally::normal, &Tally::rate_small, &Tally::rate_small_errors, &Tally::rate_normal,
        &Tally::rate_normal_errors, &Tally::nonfinite, &Tally::nonfinite_errors, &Tally::nonfinite_equal,
        &Tally::nonfinite_unequal, &Tally::ulp_over, &Tally::unequal}) {
    tally.*count += other.*count;
  }
}

FloatMetrics metrics_of(const MetricTask& task, const Tally& tally, double cosine) {
  return Cells(task, tally).metrics(cosine);
}

}  // namespace msrun
