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
#include "kernels/compare/metrics/standards.h"
#include "tools/api_precision_compare/details_columns.h"
#include "tools/api_precision_compare/details_file.h"

namespace msrun::api_precision_compare {

struct Rules {
  Policy policy = Policy::per_api;
  bool compat_msprobe = false;
  bool english = false;  // titles and texts
  int decimals = 14;     // of the numbers in the files
};

struct Judgement {
  Status status = Status::skip;
  std::optional<Standard> standard;  // unset: none could judge
  std::array<std::string, output_count> columns;
  std::string message;
  // Whether upstream would have been silent about the reason of a SKIP or an error, or would have passed the output.
  bool beyond_upstream = false;

  std::string unreadable;  // which values that the verdict needs are no numbers; never as upstream does
  bool row_error = false;  // only as upstream does: the row was given up, message says why

  // The worst value of an output that failed, for the closing table, which is English: what it is, how large, and how
  // many times its limit, infinite where there is no limit to exceed.
  std::string worst;
  double excess = 0;

  // Forgets what another row left.
  void clear();
  // Keeps the worst of what is noted.
  void note_worst(const std::string& what, double of_limit);
  std::string& operator[](Output column) { return columns[static_cast<std::size_t>(column)]; }
};

// An output whose result does not count in upstream's result file.
bool is_unsupported_dtype(std::string_view dtype);

// api is the short name of the API. gpu needs no texts but status.
void judge(std::string_view api, const OutputRow& npu, const OutputRow& gpu, const Rules& rules, Judgement& judgement);

}  // namespace msrun::api_precision_compare
