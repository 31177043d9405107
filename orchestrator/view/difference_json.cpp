#include "orchestrator/view/difference_json.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace msrun {
namespace {

using Json = nlohmann::ordered_json;

// Pairs of a bound and the elements up to it, where there are some. JSON has no infinity.
Json sizes_json(const std::vector<std::uint64_t>& counts, double (*bound)(std::size_t)) {
  Json sizes = Json::array();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const double up_to = bound(i);
    sizes.push_back(Json::array({std::isfinite(up_to) ? Json(up_to) : Json(nullptr), counts[i]}));
  }
  return sizes;
}

Json if_any(std::int64_t number) { return number > 0 ? Json(number) : Json(nullptr); }

}  // namespace

Json difference_json(const std::optional<Difference>& difference) {
  if (!difference) return nullptr;
  const DifferenceMap& map = difference->map;
  return {{"kind", kind_text(map.kind)},
          {"elements", map.elements},
          {"wrong", map.wrong},
          {"region", map.region},
          {"first", map.first},
          {"last", map.last},
          {"place", map.place.empty() ? Json(nullptr) : Json(map.place)},
          {"block", if_any(map.block)},
          {"period", if_any(map.period)},
          {"axis", map.axis < 0 ? Json(nullptr) : Json(map.axis)},
          {"picture", map.picture},
          {"cell_rows", if_any(map.cell_rows)},
          {"cell_columns", if_any(map.cell_columns)},
          {"relative_errors", sizes_json(difference->errors.relative, relative_bound)},
          {"ulps", sizes_json(difference->errors.ulps, ulp_bound)}};
}

}  // namespace msrun
