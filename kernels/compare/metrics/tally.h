// What a pass over a pair of float tensors collects, and the cells and notes made from it. The pass itself is written
// twice: element by element in metrics_reference, which is the specification, and with vectors in metrics.
#pragma once

#include <cstdint>

#include "kernels/compare/metrics/metrics.h"

namespace msrun {

// The values of an array of this precision: what a result is rounded to.
enum class Grid : std::uint8_t { half, single, real };

double on_grid(Grid grid, double value);

// What is asked of one pair. Names follow precision_metrics.md 5.1; constants are rounded to the working precision.
struct MetricTask {
  MetricTask(const Tensor& bench, const Tensor& device, StandardSet standards, bool compat,
             Limits limits = Limits::current);

  bool wants(Standard standard) const { return standards.contains(standard); }

  DType dtype;  // of the device
  std::int64_t count;
  bool zero_dimensional;
  bool compat;
  StandardSet standards;  // empty for dtypes that have no columns
  Grid device_grid;
  Grid bench_grid;
  Grid working;  // W
  double eps;
  bool exact_squares;  // of the RMSE, else rounded to W
  const Thresholds& thresholds;

  // Benchmark standard.
  double small_value;
  double atol;
  // The rates of the absolute-threshold or the accumulative-error standard.
  bool wants_rates;
  double rate_small_value;
  double rate_atol;
  double rate_rtol;
  // ULP: the errors are tallied in units of 2^(fraction bits - 1) units of the last place.
  double ulp_unit;
};

// |clip(D) - clip(Bd)| / ABE <= rtol, clip to the finite range of the device dtype (precision_metrics.md 5.6).
bool clipped_within(const MetricTask& task, double d, double b, double rtol);

struct Tally {
  // Largest of each, NaN if one of them is.
  double top_device = 0;
  double top_bench = 0;
  double top_error = 0;
  double top_relative = 0;
  double top_ulp = 0;

  double products = 0;
  double device_squares = 0;
  double bench_squares = 0;
  double error_squares = 0;
  double relative_sum = 0;
  double ulp_sum = 0;

  std::int64_t within_100 = 0;
  std::int64_t within_1000 = 0;
  std::int64_t within_10000 = 0;
  std::int64_t above = 0;
  std::int64_t below = 0;
  std::int64_t small = 0;  // equal NaN and infinities among them
  std::int64_t small_errors = 0;
  std::int64_t normal = 0;
  std::int64_t rate_small = 0;
  std::int64_t rate_small_errors = 0;
  std::int64_t rate_normal = 0;
  std::int64_t rate_normal_errors = 0;
  std::int64_t nonfinite = 0;
  std::int64_t nonfinite_errors = 0;
  std::int64_t nonfinite_equal = 0;
  std::int64_t nonfinite_unequal = 0;
  std::int64_t ulp_over = 0;
  std::int64_t unequal = 0;
};

// The larger of two maxima, NaN if one is.
double larger_or_nan(double a, double b);

// tally takes in other, a part of the same pair.
void merge(Tally& tally, const Tally& other);

// cosine is the quotient of precision_metrics.md 5.2, step 5, where it comes to that.
FloatMetrics metrics_of(const MetricTask& task, const Tally& tally, double cosine);

}  // namespace msrun
