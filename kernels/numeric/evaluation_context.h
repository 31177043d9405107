// How the operators of one evaluation compute beyond what the call says, and where they note what whoever judges the
// results wants to know. A tape carries one; kernels below the tape take it as a parameter.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/numeric/choices.h"
#include "kernels/numeric/dropping.h"
#include "kernels/numeric/stored_steps.h"
#include "kernels/tensor/arithmetic.h"
#include "kernels/tensor/recorded_dtypes.h"

namespace msrun {

// What the operators of an evaluation note. Notes are made on the thread that evaluates the call.
struct Notes {
  // Whether has_narrow_parameters(), positions(), gives_alternative() were asked, so that their answers make a
  // difference.
  bool takes_parameters = false;
  bool takes_positions = false;
  bool has_alternative = false;
  // Whether attention asked in which order to store its scores.
  bool has_scores = false;
  // The last decisions that dropout was to draw; nothing if there were none.
  std::optional<Dropping> dropping = std::nullopt;
  // What the operator was free to do.
  Choices choices = {};
};

struct EvaluationContext {
  Arithmetic arithmetic = {};
  // Which dtypes the tensors stand for; by default they stand for themselves.
  RecordedDTypes recorded = {};
  // If it is not 0, kernels move what others keep of a function's result by up to a place (roughness.h): results that a
  // gradient is computed from, positions between elements, gradients of intermediate results.
  std::uint32_t jitter_seed = 0;
  // Whether composed operators raise no arguments, and how attention then stores its scores (stored_steps.h).
  StoredSteps steps = {};
  // Whether dropout keeps everything, or drops everything, in place of what it draws.
  std::optional<bool> dropout_keeps = std::nullopt;
  // Null: nothing is noted. Copies of a context note in the same place.
  Notes* notes = nullptr;

  // The dtype that tensors of this dtype stand for.
  DType recorded_dtype(DType dtype) const { return recorded.of(dtype); }

  // Asked by operators of a number that they take as a parameter: whether kernels hold it in the half type.
  bool has_narrow_parameters() const {
    if (notes != nullptr) notes->takes_parameters = true;
    return recorded.narrow_parameters;
  }

  // Asked by operators that a call tells in which dtype to compute: whether what they give is to be more precise.
  bool in_benchmark() const { return recorded.of_benchmark; }

  // Asked by kernels that compute positions of tensors that stand for a half type.
  Positions positions() const {
    if (notes != nullptr) notes->takes_positions = true;
    return recorded.positions;
  }

  // Asked by operators of which two results are right somewhere (RecordedDTypes::alternative). Who can tell that no
  // element of a call is of that kind does not ask: where it is asked, calls may be computed once more.
  bool gives_alternative() const {
    if (notes != nullptr) notes->has_alternative = true;
    return recorded.alternative;
  }

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
