#include "kernels/numeric/stored_steps.h"

namespace msrun {
namespace {

thread_local StoredSteps* current = nullptr;

}  // namespace

StoredSteps::StoredSteps(bool active, std::optional<ScoreSteps> of_scores)
    : active_(active), of_scores_(of_scores), innermost_(current, this) {}

bool stores_steps() { return current != nullptr && current->active_; }

std::optional<ScoreSteps> stored_score_steps() {
  if (!stores_steps()) return std::nullopt;
  current->any_scores_ = true;
  return current->of_scores_;
}

}  // namespace msrun
