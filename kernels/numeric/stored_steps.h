// What frameworks that compose an operator of others leave of it in a half type: each of these stores what it gives,
// and what is beyond the range of the dtype, or below its normal numbers, is lost with what follows from it. The
// composed operators here raise their arguments instead and round once. Whoever wants to know how much that differs
// computes a call so.
#pragma once

#include <cstdint>
#include <optional>

namespace msrun {

// In which order a framework that composes attention of products and a softmax scales and stores the scores.
enum class ScoreSteps : std::uint8_t {
  product_then_scaled,  // the product is stored, and once more when it is scaled
  scaled_product,       // stored once, scaled
  scaled_query,         // the query is scaled and stored before the product
  scaled_factors,       // query and key are, each by the root of the scale
};
inline constexpr std::uint8_t score_steps = 4;  // so many orders

struct StoredSteps {
  // Whether composed operators raise no arguments.
  bool are_stored = false;
  // With an order for scores, attention stores these and what it makes of them, too.
  std::optional<ScoreSteps> of_scores = std::nullopt;
};

}  // namespace msrun
