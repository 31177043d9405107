// The verdict on one output: the NPU's row against the GPU's by the standard of the API (precision_metrics.md 10.4 to
// 10.6). By default what upstream gets wrong is put right: a number that was not computed is never taken for zero, and
// an output that acc_check found wrong passes only if the ratios can see its errors. --compat msprobe judges as
// upstream.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/compare/details.h"
#include "kernels/compare/standards.h"
#include "tools/api_precision_compare/details_file.h"

namespace msrun::api_precision_compare {

struct Rules {
  Policy policy = Policy::per_api;
  bool compat_msprobe = false;
  bool english = false;  // titles and texts
};

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

struct Judgement {
  Status status = Status::skip;
  std::optional<Standard> standard;  // unset: none could judge
  std::array<std::string, output_count> columns;
  std::string message;
  // Whether upstream would have been silent about the reason of a SKIP or an error, or would have passed the output.
  bool beyond_upstream = false;

  bool row_error = false;  // only as upstream does: the row was given up, message says why

  // The worst value of an output that failed, for the closing table, which is English: what it is, how large, and how
  // many times its limit, infinite where there is no limit to exceed.
  std::string worst;
  double excess = 0;

  // Forgets what another row left.
  void clear();
  std::string& operator[](Output column) { return columns[static_cast<std::size_t>(column)]; }
};

// Column titles of the details file: Chinese or English.
std::string details_titles(bool english);
// The name of a standard in the column 比对算法.
const char* algorithm_text(Standard standard, bool english);

// An output whose result does not count in upstream's result file.
bool is_unsupported_dtype(std::string_view dtype);

// api is the short name of the API. gpu needs no texts but status.
void judge(std::string_view api, const OutputRow& npu, const OutputRow& gpu, const Rules& rules, Judgement& judgement);

}  // namespace msrun::api_precision_compare
