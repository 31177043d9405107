#include "kernels/api/api_call.h"

#include <algorithm>

namespace msrun {

std::optional<ApiName> ApiName::parse(std::string_view full) {
  const auto dots = std::count(full.begin(), full.end(), '.');
  if (dots != 2 && dots != 3) return std::nullopt;
  const std::size_t first = full.find('.');
  const std::size_t last = full.rfind('.');
  const std::string_view type = full.substr(0, first);
  std::string_view api = full.substr(first + 1, last - first - 1);
  if (type == "Aten") api = api.substr(0, api.find('.'));
  return ApiName{std::string(type), std::string(api), std::string(full.substr(last + 1))};
}

bool ApiName::in_place() const {
  // "__index__", "__int__" and "__invert__" are of another kind.
  if (api.ends_with("__")) return api.starts_with("__i") && !api.starts_with("__in");
  return api.ends_with('_');
}

std::optional<Direction> split_direction(std::string_view entry, std::string_view& base) {
  const std::size_t dot = entry.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view last = entry.substr(dot + 1);
  base = entry.substr(0, dot);
  if (last == "forward") return Direction::forward;
  if (last == "backward") return Direction::backward;
  return std::nullopt;
}

}  // namespace msrun
