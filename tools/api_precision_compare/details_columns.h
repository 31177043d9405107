// The columns of the details file that this tool writes (precision_metrics.md 10.7).
#pragma once

#include <cstdint>
#include <string>

#include "kernels/compare/metrics/standards.h"

namespace msrun::api_precision_compare {

// The columns of the details file of this tool between API Name and 比对结果, in file order.
enum class Output : std::uint8_t {
  small_value_ratio,
  small_value_status,
  rmse_ratio,
  rmse_status,
  max_relative_ratio,
  max_relative_status,
  mean_relative_ratio,
  mean_relative_status,
  error_balance_ratio,
  error_balance_status,
  inf_nan_rate,
  inf_nan_status,
  relative_rate,
  relative_status,
  absolute_rate,
  absolute_status,
  binary_rate,
  binary_status,
  ulp_mean,
  ulp_proportion,
  ulp_ratio,
  ulp_status,
  dual_1000,
  dual_1000_status,
};
inline constexpr int output_count = 24;

// Column titles of the details file: Chinese or English.
std::string details_titles(bool english);
// The name of a standard in the column 比对算法.
const char* algorithm_text(Standard standard, bool english);

}  // namespace msrun::api_precision_compare
