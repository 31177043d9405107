// The numbers by which a generated script, and the comparison without one, measure and judge a floating output
// (op_generate_and_code_mapping.md A.5).
#pragma once

#include <array>
#include <optional>

#include "kernels/compare/metrics/standards.h"
#include "kernels/tensor/dtype.h"

namespace msrun::op_generate {

struct MetricLimits {
  std::optional<DType> dtype;  // of the device's output; none: every other one
  double rtol;
  double small;       // a benchmark's value up to it is small
  double small_atol;  // absolute error of small values
  int min_exponent;   // of the smallest normal value
  int mantissa_bits;
  double ulp_limit;
};

inline constexpr std::array metric_limits{
    MetricLimits{DType::float16, 1e-3, 1e-3, 1e-5, -14, 10, 1},
    MetricLimits{DType::bfloat16, 4e-3, 1e-3, 1e-5, -126, 7, 1},
    MetricLimits{std::nullopt, 1e-6, 1e-6, 1e-9, -126, 23, 32},
};

inline const MetricLimits& limits_of(DType dtype) {
  for (const MetricLimits& limits : metric_limits) {
    if (limits.dtype == dtype) return limits;
  }
  return metric_limits.back();
}

// Verdicts of the Benchmark Standard: the ratio of an error to that of a GPU's run, at most.
inline constexpr double ratio_passes = 1;
inline constexpr double ratio_warns = 2;
inline constexpr double ratio_of_maximum_warns = 10;  // of the maximum relative error

// "ULP error Standard".
constexpr const char* standard_title(Standard standard) {
  switch (standard) {
    case Standard::binary_consistency:
      return "Binary Equality Standard";
    case Standard::absolute_threshold:
      return "Absolute Threshold Standard";
    case Standard::ulp:
      return "ULP error Standard";
    case Standard::dual_1000:
      return "Thousandth Standard";
    default:
      return "Benchmark Standard";
  }
}

}  // namespace msrun::op_generate
