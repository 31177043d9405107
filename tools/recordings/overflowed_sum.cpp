#include "tools/recordings/overflowed_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/recordings/not_finite.h"

namespace msrun::recordings {
namespace {

constexpr double largest_float = std::numeric_limits<float>::max();
constexpr double largest_half = 65504;

}  // namespace

bool is_float16(std::string_view dtype) {
  return (dtype.ends_with("float16") && !dtype.ends_with("bfloat16")) || dtype == "torch.half" || dtype == "Float16";
}

bool is_overflowed_sum(Statistic statistic, double value, const Extent& extent) {
  if (!std::isinf(value) || !std::isfinite(extent.max) || !std::isfinite(extent.min) || extent.elements <= 0) {
    return false;
  }
  const auto elements = static_cast<double>(extent.elements);
  if (statistic == mean_value) {
    // Only what lies on that side of zero can bring the sum there.
    const double reach = value > 0 ? extent.max : -extent.min;
    return reach * elements > largest_float;
  }
  if (statistic != norm_value || value < 0) return false;
  const double reach = std::max(std::abs(extent.max), std::abs(extent.min));
  return reach * reach * elements > largest_float || (extent.half && reach * std::sqrt(elements) > largest_half);
}

bool is_overflowed_sum(const Recording& side, const Leaf& leaf, Statistic statistic) {
  const auto number = [&](Statistic which) { return number_of(side.texts, leaf.statistics[which]); };
  const std::optional<double> value = number(statistic);
  if (!value || !std::isinf(*value)) return false;
  const std::optional<double> max = number(max_value);
  const std::optional<double> min = number(min_value);
  if (!max || !min) return false;
  return is_overflowed_sum(statistic, *value,
                           {*max, *min, elements_of(side.text(leaf.shape)), is_float16(side.text(leaf.dtype))});
}

}  // namespace msrun::recordings
