// What frameworks that compose an operator of others leave of it in a half type: each of these stores what it gives,
// and what is beyond the range of the dtype, or below its normal numbers, is lost with what follows from it. The
// composed operators here raise their arguments instead and round once. Whoever wants to know how much that differs
// computes a call so.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/base/replaced.h"

namespace msrun {

// In which order a framework that composes attention of products and a softmax scales and stores the scores.
enum class ScoreSteps : std::uint8_t {
  product_then_scaled,  // the product is stored, and once more when it is scaled
  scaled_product,       // stored once, scaled
  scaled_query,         // the query is scaled and stored before the product
  scaled_factors,       // query and key are, each by the root of the scale
};
inline constexpr std::uint8_t score_steps = 4;  // so many orders

// While one that is `active` lives, composed operators on the calling thread raise no arguments. With an order for
// scores, attention stores these and what it makes of them, too.
class StoredSteps {
 public:
  explicit StoredSteps(bool active, std::optional<ScoreSteps> of_scores = std::nullopt);

  // Whether there were scores.
  bool any_scores() const { return any_scores_; }

 private:
  friend bool stores_steps();
  friend std::optional<ScoreSteps> stored_score_steps();

  bool active_;
  std::optional<ScoreSteps> of_scores_;
  bool any_scores_ = false;
  Replaced<StoredSteps*> innermost_;
};

// Asked by composed operators: whether one lives on the calling thread.
bool stores_steps();

// Asked by attention: in which order it stores scores, if it does.
std::optional<ScoreSteps> stored_score_steps();

}  // namespace msrun
