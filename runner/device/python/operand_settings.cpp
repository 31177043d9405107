#include "runner/device/python/operand_settings.h"

#include <algorithm>
#include <array>

namespace msrun {
namespace {

struct Setting {
  std::string_view kind;
  std::string_view products;
  std::string_view convolutions;
  OperandRounding rounding;
};

// By the names that the workers give them (msrun_torch_worker/devices.py).
constexpr std::array settings_of_kinds{
    Setting{"cuda", "cuda.matmul.allow_tf32", "cudnn.allow_tf32", OperandRounding::truncated_tf32},
    Setting{"npu", "matmul.allow_hf32", "conv.allow_hf32", OperandRounding::hf32},
};

}  // namespace

Operands operands_by_settings(std::string_view kind, const std::vector<std::pair<std::string, std::string>>& settings) {
  const auto value = [&](std::string_view name) -> std::string_view {
    const auto found = std::ranges::find(settings, name, &std::pair<std::string, std::string>::first);
    return found == settings.end() ? std::string_view{} : std::string_view(found->second);
  };
  const auto known = std::ranges::find(settings_of_kinds, kind, &Setting::kind);
  if (known == settings_of_kinds.end()) return {};
  // NVIDIA's libraries heed this variable whatever the framework says.
  const bool forbidden = value("NVIDIA_TF32_OVERRIDE") == "0";
  const auto rounding = [&](std::string_view name) {
    return value(name) == "true" && !forbidden ? known->rounding : OperandRounding::none;
  };
  return {.products = rounding(known->products), .convolutions = rounding(known->convolutions)};
}

}  // namespace msrun
