// The precision standards as data: which standard judges an API's output, the constants of each output dtype, and the
// operator levels. Everything here is a table of precision_metrics.md sections 5.9 and 6; nothing is computed, and
// `msrun --list-standards` prints the same tables.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "kernels/compare/metrics/columns.h"
#include "kernels/tensor/dtype.h"

namespace msrun {

// per_api: every API has the standard that the user documentation lists for it. current: the newest msProbe's
// behaviour, the benchmark standard for every float16, bfloat16, float32 and float64 output.
enum class Policy : std::uint8_t { per_api, current };

// "per_api", "current".
const char* policy_text(Policy policy);

enum class Standard : std::uint8_t {
  absolute_threshold,
  binary_consistency,
  ulp,
  dual_1000,
  accumulative_error,
  benchmark,
};

// Several standards at once.
class StandardSet {
 public:
  constexpr StandardSet() = default;
  constexpr StandardSet(Standard standard) : bits_(1U << static_cast<unsigned>(standard)) {}  // NOLINT: one is a set
  constexpr bool contains(Standard standard) const { return (bits_ & StandardSet(standard).bits_) != 0; }
  constexpr StandardSet operator|(StandardSet other) const {
    other.bits_ |= bits_;
    return other;
  }

 private:
  unsigned bits_ = 0;
};
// Every column: all but the accumulative-error standard, which has the columns of others with limits of its own.
inline constexpr StandardSet all_standards = StandardSet(Standard::absolute_threshold) | Standard::binary_consistency |
                                             Standard::ulp | Standard::dual_1000 | Standard::benchmark;

// The name in which upstream's code knows a standard: "absolute_threshold", "ulp_compare"...
const char* standard_text(Standard standard);
std::optional<Standard> parse_standard(std::string_view text);

// Selection order of precision_metrics.md 6.1. api is the short name ("softmax", "linalg.inv"), matched exactly;
// fp8_input is set when an input tensor of the API is float8 or HiFloat8.
Standard select_standard(std::string_view api, DType output, bool fp8_input, Policy policy);
// Selects by the dtype as a details file has it: "torch.float16", a HiFloat8 class name, "<class 'int'>".
Standard select_standard(std::string_view api, std::string_view output_dtype, bool fp8_input, Policy policy);

// The tables themselves, for those who show them.

// The columns that a standard fills in the details file, apart from those of the status walk, which every float output
// has.
std::span<const Metric> standard_columns(Standard standard);

// The APIs that a standard is meant for, in the order in which the lists are searched. The benchmark standard has
// none: it takes what is left.
struct ApiList {
  Standard standard;
  std::span<const std::string_view> apis;
};
std::span<const ApiList> api_lists();

// What is compared: one output of an API.
struct Output {
  std::string_view api;
  DType dtype;
  bool hifloat8;
  bool fp8_input;
};

// One step of the selection: the first that applies decides.
struct SelectionStep {
  const char* condition;
  bool only_current;  // not taken under per_api
  bool (*applies)(const Output& output);
  std::optional<Standard> standard;  // none: that of the first list with the API's name
};
std::span<const SelectionStep> selection_steps();

// Which small values, and which absolute errors of them, count: `current`, those of the tool in use, 1e-16 for some of
// them as its code has it; `documented`, those that its user documentation names for float16, bfloat16 and float32.
enum class Limits : std::uint8_t { current, documented };

// "current", "documented".
const char* limits_text(Limits limits);

// Constants of a device dtype (precision_metrics.md 5.7, 5.9 and D2, D3).
struct Thresholds {
  double small_value;              // |bench| at or below it is judged by absolute error
  double absolute_threshold_atol;  // absolute error limit there, absolute-threshold standard
  double atol;                     // the same for every other standard
  double rtol;
  double accumulative_bound;  // rtol and atol at once of the accumulative-error standard
  double accumulative_small_value;
  int ulp_min_exponent;  // exponent of the smallest normal value
  int ulp_fraction_bits;
  double ulp_limit;  // errors above it count in the proportion
};
const Thresholds& thresholds(DType device_dtype, Limits limits = Limits::current);

struct DTypeThresholds {
  std::optional<DType> dtype;  // none: every other one
  Thresholds values;
};
std::span<const DTypeThresholds> thresholds_table(Limits limits = Limits::current);

// Limits of the benchmark standard's ratios (NPU error to GPU error), precision_metrics.md 6.4.
struct OperatorLevel {
  const char* name;  // "L0", "L1", "L2"
  double max_relative_error;
  double mean_relative_error;
  double rmse;
  double small_value_error;
  double error_balance;
};
// Whose names an API has to meet: those of the user documentation, as dumps spell them, or upstream's own spelling.
enum class LevelNames : std::uint8_t { documented, upstream };
const OperatorLevel& operator_level(std::string_view api, LevelNames names = LevelNames::documented);

// A name of the levels that upstream spells so that no API meets it.
struct MissedName {
  std::string_view name;
  std::string_view upstream;
};
std::span<const MissedName> missed_level_names();

// Limits of api_precision_compare by the device dtype, as a details file has it (precision_metrics.md 10.6).
struct ComparisonLimits {
  double least_error;     // what the GPU's error counts at least when the NPU's is divided by it
  double ulp_mean;        // a mean ULP error below it passes; 0: none does
  double ulp_proportion;  // a share of errors over the ULP limit below it passes
  double error_balance;   // of the accumulative-error standard
};
const ComparisonLimits& comparison_limits(std::string_view device_dtype);

struct DTypeLimits {
  std::optional<DType> dtype;  // none: every other one
  ComparisonLimits values;
};
std::span<const DTypeLimits> comparison_limits_table();
inline constexpr double dual_1000_limit = 0.999;  // passes, as does what is above it
inline constexpr double ulp_ratio_limit = 1;      // under --compat msprobe a ratio below it passes

struct LevelApis {
  OperatorLevel level;
  std::span<const std::string_view> apis;  // empty: all that no other level names
};
// In the order in which they are searched.
std::span<const LevelApis> operator_levels();

}  // namespace msrun
