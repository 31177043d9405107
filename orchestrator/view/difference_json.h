// Where and how far an output is wrong, for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "kernels/compare/diagnosis/difference.h"

namespace msrun {

// The members that docs/events.md lists; null without a difference.
nlohmann::ordered_json difference_json(const std::optional<Difference>& difference);

}  // namespace msrun
