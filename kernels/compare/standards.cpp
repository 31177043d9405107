#include "kernels/compare/standards.h"

#include <algorithm>
#include <array>
#include <span>

namespace msrun {
namespace {

using Names = std::span<const std::string_view>;

// precision_metrics.md 6.2. The lists are disjoint.
constexpr auto absolute_threshold_apis = std::to_array<std::string_view>({
    "mul",        "mul_",        "__mul__", "__imul__",   "__rmul__",    "add",      "add_",   "__add__",
    "__iadd__",   "__radd__",    "div",     "div_",       "__div__",     "__idiv__", "divide", "divide_",
    "leaky_relu", "leaky_relu_", "prelu",   "reciprocal", "reciprocal_", "rsqrt",    "rsqrt_", "square",
    "square_",    "sub",         "sub_",    "rsub",       "__isub__",    "__sub__",
});
constexpr auto binary_consistency_apis = std::to_array<std::string_view>({
    "abs",          "abs_",        "absolute",     "absolute_",  "argmin",        "bitwise_and",    "bitwise_and_",
    "broadcast_to", "ceil",        "ceil_",        "equal",      "fill_",         "flatten",        "floor",
    "floor_",       "gather",      "greater",      "greater_",   "greater_equal", "greater_equal_", "histc",
    "isfinite",     "isnan",       "less",         "less_",      "less_equal",    "less_equal_",    "logical_and",
    "logical_and_", "logical_not", "logical_not_", "logical_or", "logical_or_",   "masked_fill",    "masked_fill_",
    "max_pool3d",   "maximum",     "minimum",      "neg",        "neg_",          "nonzero",        "not_equal",
    "not_equal_",   "one_hot",     "pad",          "relu",       "reshape",       "round",          "round_",
    "select",       "sign",        "sign_",        "sort",       "tile",          "topk",           "transpose",
    "transpose_",   "tril",        "tril_",        "triu",       "triu_",         "type_as",
});
constexpr auto ulp_apis = std::to_array<std::string_view>({
    "__matmul__",
    "addbmm",
    "addbmm_",
    "addmm",
    "addmm_",
    "baddbmm",
    "baddbmm_",
    "bilinear",
    "bmm",
    "chain_matmul",
    "hspmm",
    "linear",
    "matmul",
    "mm",
    "mv",
    "smm",
    "sspaddmm",
});
constexpr auto dual_1000_apis = std::to_array<std::string_view>({"conv1d", "conv2d"});
constexpr auto accumulative_error_apis = std::to_array<std::string_view>({"test_api"});

struct ApiList {
  Standard standard;
  Names names;
};
constexpr auto api_lists = std::to_array<ApiList>({
    {Standard::absolute_threshold, absolute_threshold_apis},
    {Standard::binary_consistency, binary_consistency_apis},
    {Standard::ulp, ulp_apis},
    {Standard::dual_1000, dual_1000_apis},
    {Standard::accumulative_error, accumulative_error_apis},
});

constexpr auto hifloat8_names = std::to_array<std::string_view>({
    "torch_npu.HiFloat8Tensor",
    "<class 'torch_npu.utils.hif8_tensor.HiFloat8Tensor'>",
});

// precision_metrics.md 6.4; "GELU" is upstream's spelling and never meets "gelu".
constexpr auto level_2_apis = std::to_array<std::string_view>({
    "addmm",
    "npu_cross_entropy_loss",
    "npu_cross_entropy_loss_backward",
    "GELU",
    "layer_norm",
    "matmul",
    "mm",
    "index",
    "one_hot",
    "sum",
    "npu_rms_norm",
    "npu_rms_norm_backward",
    "nonzero",
});
constexpr auto level_1_apis = std::to_array<std::string_view>({
    "embedding",
    "npu_fusion_attention_grad",
    "npu_fusion_attention",
    "scatter_",
    "scatter_add_",
});
constexpr OperatorLevel level_0{"L0", 10, 2, 2, 2, 2};
constexpr OperatorLevel level_1{"L1", 5, 1.5, 1.5, 2, 2};
constexpr OperatorLevel level_2{"L2", 2, 1.2, 1.2, 2, 2};

constexpr Thresholds float16_thresholds{0x1p-10, 0x1p-16, 1e-16, 0x1p-10, 0x1p-8, 1, -14, 10, 1};
constexpr Thresholds bfloat16_thresholds{0x1p-10, 1e-16, 1e-16, 0x1p-8, 0x1p-7, 1, -126, 7, 1};
constexpr Thresholds float32_thresholds{0x1p-20, 0x1p-30, 0x1p-30, 0x1p-20, 0x1p-11, 1, -126, 23, 32};
// float8 has an ULP rule of its own that uses neither exponent nor fraction bits.
constexpr Thresholds other_thresholds{0x1p-20, 0x1p-30, 0x1p-30, 0x1p-20, 0x1p-11, 1, -126, 23, 1};

// precision_metrics.md 10.6. float8 has no row of its own: only its proportion is judged.
constexpr ComparisonLimits float16_limits{0x1p-11, 0, 0.001, 0x1p-20};
constexpr ComparisonLimits bfloat16_limits{0x1p-8, 0, 0.001, 0x1p-7};
constexpr ComparisonLimits float32_limits{0x1p-14, 64, 0.05, 0x1p-14};
constexpr ComparisonLimits other_limits{0x1p-14, 0, 0.001, 0x1p-14};

bool contains(Names names, std::string_view api) { return std::ranges::find(names, api) != names.end(); }

}  // namespace

const char* policy_text(Policy policy) { return policy == Policy::per_api ? "per_api" : "current"; }

std::optional<Policy> parse_policy(std::string_view text) {
  for (const Policy policy : {Policy::per_api, Policy::current}) {
    if (text == policy_text(policy)) return policy;
  }
  return std::nullopt;
}

const char* standard_text(Standard standard) {
  switch (standard) {
    case Standard::absolute_threshold:
      return "absolute_threshold";
    case Standard::binary_consistency:
      return "binary_consistency";
    case Standard::ulp:
      return "ulp_compare";
    case Standard::dual_1000:
      return "thousandth_threshold";
    case Standard::accumulative_error:
      return "accumulative_error_compare";
    case Standard::benchmark:
      break;
  }
  return "benchmark";
}

Standard select_standard(std::string_view api, DType output, bool fp8_input, Policy policy) {
  if (is_float8(output)) return Standard::ulp;
  if (fp8_input) return Standard::absolute_threshold;
  if (policy == Policy::current && is_floating(output)) return Standard::benchmark;
  if (!is_floating(output) && !is_complex(output)) return Standard::binary_consistency;
  for (const auto& [standard, names] : api_lists) {
    if (contains(names, api)) return standard;
  }
  return Standard::benchmark;
}

Standard select_standard(std::string_view api, std::string_view output_dtype, bool fp8_input, Policy policy) {
  if (contains(hifloat8_names, output_dtype)) return Standard::ulp;
  // A text that names no dtype is judged like an integer: it is in no float family.
  return select_standard(api, parse_dtype(output_dtype).value_or(DType::int64), fp8_input, policy);
}

const Thresholds& thresholds(DType device_dtype) {
  switch (device_dtype) {
    case DType::float16:
      return float16_thresholds;
    case DType::bfloat16:
      return bfloat16_thresholds;
    case DType::float32:
      return float32_thresholds;
    default:
      return other_thresholds;
  }
}

const OperatorLevel& operator_level(std::string_view api) {
  if (contains(level_2_apis, api)) return level_2;
  return contains(level_1_apis, api) ? level_1 : level_0;
}

const ComparisonLimits& comparison_limits(std::string_view device_dtype) {
  switch (parse_dtype(device_dtype).value_or(DType::int64)) {
    case DType::float16:
      return float16_limits;
    case DType::bfloat16:
      return bfloat16_limits;
    case DType::float32:
      return float32_limits;
    default:
      return other_limits;
  }
}

}  // namespace msrun
