#include "kernels/compare/metrics/standards.h"

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
// A name that no API has is all that upstream's list holds: of real calls the standard judges none. Details files of
// other programs may have rows of that name, and are judged by it.
constexpr auto accumulative_error_apis = std::to_array<std::string_view>({"test_api"});

constexpr auto lists = std::to_array<ApiList>({
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

// precision_metrics.md 6.4, as dumps spell the names.
constexpr auto level_2_apis = std::to_array<std::string_view>({
    "addmm",
    "npu_cross_entropy_loss",
    "npu_cross_entropy_loss_backward",
    "gelu",
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
constexpr auto levels = std::to_array<LevelApis>({
    {{"L2", 2, 1.2, 1.2, 2, 2}, level_2_apis},
    {{"L1", 5, 1.5, 1.5, 2, 2}, level_1_apis},
    {{"L0", 10, 2, 2, 2, 2}, {}},
});

// The tool in use compares its own spelling with the names of a dump, and the two differ in case.
constexpr auto missed_names = std::to_array<MissedName>({{"gelu", "GELU"}});

// float8 has an ULP rule of its own that uses neither exponent nor fraction bits.
constexpr auto dtype_thresholds = std::to_array<DTypeThresholds>({
    {DType::float16, {0x1p-10, 0x1p-16, 1e-16, 0x1p-10, 0x1p-8, 1, -14, 10, 1}},
    {DType::bfloat16, {0x1p-10, 1e-16, 1e-16, 0x1p-8, 0x1p-7, 1, -126, 7, 1}},
    {DType::float32, {0x1p-20, 0x1p-30, 0x1p-30, 0x1p-20, 0x1p-11, 1, -126, 23, 32}},
    {std::nullopt, {0x1p-20, 0x1p-30, 0x1p-30, 0x1p-20, 0x1p-11, 1, -126, 23, 1}},
});

// What the user documentation says of small values and of their absolute errors; of other dtypes it says nothing.
constexpr auto documented_thresholds = [] {
  auto table = dtype_thresholds;
  for (DTypeThresholds& entry : table) {
    const auto set = [&](double small_value, double atol) {
      entry.values.small_value = small_value;
      entry.values.absolute_threshold_atol = entry.values.atol = atol;
    };
    if (entry.dtype == DType::float16) set(0x1p-11, 0x1p-16);
    if (entry.dtype == DType::bfloat16) set(0x1p-8, 0x1p-16);
    if (entry.dtype == DType::float32) set(0x1p-14, 0x1p-30);
  }
  return table;
}();

constexpr std::array rate_columns{Metric::inf_nan_error_rate, Metric::relative_error_rate, Metric::absolute_error_rate};
constexpr std::array accumulative_columns{Metric::error_balance, Metric::inf_nan_error_rate,
                                          Metric::relative_error_rate, Metric::absolute_error_rate};
constexpr std::array ulp_columns{Metric::ulp_max, Metric::ulp_mean, Metric::ulp_over_limit};
constexpr std::array benchmark_columns{Metric::error_balance, Metric::rmse, Metric::small_value_error_ratio,
                                       Metric::max_relative_error, Metric::mean_relative_error};
constexpr std::array binary_columns{Metric::binary_error_rate};
constexpr std::array dual_1000_columns{Metric::dual_1000};

struct StandardEntry {
  Standard standard;
  const char* text;
  std::span<const Metric> columns;
};
constexpr auto standards = std::to_array<StandardEntry>({
    {Standard::absolute_threshold, "absolute_threshold", rate_columns},
    {Standard::binary_consistency, "binary_consistency", binary_columns},
    {Standard::ulp, "ulp_compare", ulp_columns},
    {Standard::dual_1000, "thousandth_threshold", dual_1000_columns},
    {Standard::accumulative_error, "accumulative_error_compare", accumulative_columns},
    {Standard::benchmark, "benchmark", benchmark_columns},
});

const StandardEntry& entry_of(Standard standard) {
  return *std::ranges::find(standards, standard, &StandardEntry::standard);
}

// precision_metrics.md 10.6. float8 has no row of its own: only its proportion is judged.
constexpr auto dtype_limits = std::to_array<DTypeLimits>({
    {DType::float16, {0x1p-11, 0, 0.001, 0x1p-20}},
    {DType::bfloat16, {0x1p-8, 0, 0.001, 0x1p-7}},
    {DType::float32, {0x1p-14, 64, 0.05, 0x1p-14}},
    {std::nullopt, {0x1p-14, 0, 0.001, 0x1p-14}},
});

bool contains(Names names, std::string_view api) { return std::ranges::find(names, api) != names.end(); }

const ApiList* list_with(std::string_view api) {
  const auto* found = std::ranges::find_if(lists, [&](const ApiList& list) { return contains(list.apis, api); });
  return found == lists.end() ? nullptr : found;
}

// precision_metrics.md 6.1.
constexpr auto steps = std::to_array<SelectionStep>({
    {"the output is float8_e4m3fn, float8_e5m2 or HiFloat8", false,
     [](const Output& output) { return output.hifloat8 || is_float8(output.dtype); }, Standard::ulp},
    {"an input tensor is float8 or HiFloat8", false, [](const Output& output) { return output.fp8_input; },
     Standard::absolute_threshold},
    {"the output is float16, bfloat16, float32 or float64", true,
     [](const Output& output) { return is_floating(output.dtype); }, Standard::benchmark},
    {"the output is neither floating-point nor complex", false,
     [](const Output& output) { return !is_floating(output.dtype) && !is_complex(output.dtype); },
     Standard::binary_consistency},
    {"the API is in one of the lists", false, [](const Output& output) { return list_with(output.api) != nullptr; },
     std::nullopt},
    {"otherwise", false, [](const Output&) { return true; }, Standard::benchmark},
});

Standard select(const Output& output, Policy policy) {
  for (const SelectionStep& step : steps) {
    if (step.only_current && policy != Policy::current) continue;
    if (step.applies(output)) return step.standard ? *step.standard : list_with(output.api)->standard;
  }
  return Standard::benchmark;
}

}  // namespace

const char* policy_text(Policy policy) { return policy == Policy::per_api ? "per_api" : "current"; }

const char* standard_text(Standard standard) { return entry_of(standard).text; }

std::optional<Standard> parse_standard(std::string_view text) {
  for (const StandardEntry& entry : standards) {
    if (text == entry.text) return entry.standard;
  }
  return std::nullopt;
}

Standard select_standard(std::string_view api, DType output, bool fp8_input, Policy policy) {
  return select({api, output, false, fp8_input}, policy);
}

Standard select_standard(std::string_view api, std::string_view output_dtype, bool fp8_input, Policy policy) {
  // A text that names no dtype is judged like an integer: it is in no float family.
  const DType dtype = parse_dtype(output_dtype).value_or(DType::int64);
  return select({api, dtype, contains(hifloat8_names, output_dtype), fp8_input}, policy);
}

std::span<const Metric> standard_columns(Standard standard) { return entry_of(standard).columns; }

std::span<const ApiList> api_lists() { return lists; }

std::span<const SelectionStep> selection_steps() { return steps; }

const char* limits_text(Limits limits) { return limits == Limits::current ? "current" : "documented"; }

std::span<const DTypeThresholds> thresholds_table(Limits limits) {
  return limits == Limits::current ? dtype_thresholds : documented_thresholds;
}

const Thresholds& thresholds(DType device_dtype, Limits limits) {
  return std::ranges::find_if(
             thresholds_table(limits),
             [&](const DTypeThresholds& entry) { return !entry.dtype || *entry.dtype == device_dtype; })
      ->values;
}

std::span<const LevelApis> operator_levels() { return levels; }

std::span<const MissedName> missed_level_names() { return missed_names; }

const OperatorLevel& operator_level(std::string_view api, LevelNames names) {
  if (names == LevelNames::upstream) {
    for (const MissedName& missed : missed_names) {
      if (api == missed.upstream) return operator_level(missed.name);
      if (api == missed.name) return levels.back().level;
    }
  }
  const auto* found = std::ranges::find_if(
      levels, [&](const LevelApis& entry) { return entry.apis.empty() || contains(entry.apis, api); });
  return found->level;
}

std::span<const DTypeLimits> comparison_limits_table() { return dtype_limits; }

const ComparisonLimits& comparison_limits(std::string_view device_dtype) {
  const std::optional<DType> dtype = parse_dtype(device_dtype);
  const auto* found = std::ranges::find_if(
      dtype_limits, [&](const DTypeLimits& entry) { return !entry.dtype || entry.dtype == dtype; });
  return found->values;
}

}  // namespace msrun
