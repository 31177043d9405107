#include "runner/device/python/operand_settings.h"

#include <algorithm>
#include <array>

namespace msrun {
namespace {

// The names of settings that let a device round operands: a flag, and what the name of a precision has replaced it with
// in newer versions.
struct Names {
  std::string_view flag;
  std::string_view precision = {};
};

struct Setting {
  std::string_view kind;
  Names products;
  Names convolutions;
  Names recurrences;
  std::string_view lowest;  // the precision that lets it round
  OperandRounding rounding;
};

// By the names that the workers give them (msrun_torch_worker/devices.py).
constexpr std::array settings_of_kinds{
    Setting{"cuda",
            {"cuda.matmul.allow_tf32", "cuda.matmul.fp32_precision"},
            {"cudnn.allow_tf32", "cudnn.conv.fp32_precision"},
            {"cudnn.allow_tf32", "cudnn.rnn.fp32_precision"},
            "tf32",
            OperandRounding::truncated_tf32},
    Setting{"npu", {"matmul.allow_hf32"}, {"conv.allow_hf32"}, {"matmul.allow_hf32"}, {}, OperandRounding::hf32},
};

std::string_view value_of(const std::vector<std::pair<std::string, std::string>>& settings, std::string_view name) {
  const auto found = std::ranges::find(settings, name, &std::pair<std::string, std::string>::first);
  return found == settings.end() ? std::string_view{} : std::string_view(found->second);
}

}  // namespace

OperandSettings operands_by_settings(std::string_view kind,
                                     const std::vector<std::pair<std::string, std::string>>& settings) {
  const auto value = [&](std::string_view name) { return value_of(settings, name); };
  const auto known = std::ranges::find(settings_of_kinds, kind, &Setting::kind);
  if (known == settings_of_kinds.end()) return {};
  // NVIDIA's libraries heed this variable whatever the framework says.
  const bool forbidden = value("NVIDIA_TF32_OVERRIDE") == "0";
  const auto rounding = [&](const Names& names) {
    const bool is_low = !names.precision.empty() && value(names.precision) == known->lowest;
    return (value(names.flag) == "true" || is_low) && !forbidden ? known->rounding : OperandRounding::none;
  };
  return {.products = rounding(known->products),
          .convolutions = rounding(known->convolutions),
          .recurrences = rounding(known->recurrences)};
}

StoredParts stored_parts_by_settings(std::string_view kind,
                                     const std::vector<std::pair<std::string, std::string>>& settings) {
  if (kind == "cpu") return {};
  // Frameworks for other accelerators have taken the setting over, under names of their own before it.
  const auto lets = [&](std::string_view name) {
    return std::ranges::any_of(
        settings, [name](const auto& setting) { return setting.first.ends_with(name) && setting.second == "true"; });
  };
  return {.float16 = lets("matmul.allow_fp16_reduced_precision_reduction"),
          .bfloat16 = lets("matmul.allow_bf16_reduced_precision_reduction")};
}

}  // namespace msrun
