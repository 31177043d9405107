// How the operators of one evaluation compute beyond what the call says, and where they note what whoever judges the
// results wants to know. A tape carries one; kernels below the tape take it as a parameter.
#pragma once

#include <optional>

#include "kernels/numeric/choices.h"
#include "kernels/numeric/dropping.h"
#include "kernels/numeric/stored_steps.h"
#include "kernels/tensor/arithmetic.h"

namespace msrun {

// What the operators of an evaluation note. Notes are made on the thread that evaluates the call.
struct Notes {
  // Whether attention asked in which order to store its scores.
  bool has_scores = false;
  // The last decisions that dropout was to draw; nothing if there were none.
  std::optional<Dropping> dropping = std::nullopt;
  // What the operator was free to do.
  Choices choices = {};
};

struct EvaluationContext {
  Arithmetic arithmetic = {};
  // Whether composed operators raise no arguments, and how attention then stores its scores (stored_steps.h).
  StoredSteps steps = {};
  // Whether dropout keeps everything, or drops everything, in place of what it draws.
  std::optional<bool> dropout_keeps = std::nullopt;
  // Null: nothing is noted. Copies of a context note in the same place.
  Notes* notes = nullptr;

  // Asked by attention of half types: in which order it stores scores, if it does.
  std::optional<ScoreSteps> stored_score_steps() const {
    if (notes != nullptr) notes->has_scores = true;
    return steps.of_scores;
  }

  // Where an operator notes what it was free to do; null where nothing is noted.
  Choices* choices() const { return notes == nullptr ? nullptr : &notes->choices; }

  // Asked by dropout before it draws: whether it keeps everything or nothing. Nothing: it draws.
  std::optional<bool> decided_dropping(double probability, const Dims& shape) const {
    if (notes != nullptr) notes->dropping = Dropping{probability, shape};
    return dropout_keeps;
  }
};

}  // namespace msrun
