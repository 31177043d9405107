// How the operators of one evaluation compute beyond what the call says, and where they note what whoever judges the
// results wants to know. A tape carries one; kernels below the tape take it as a parameter.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/numeric/choices.h"
#include "kernels/numeric/dropping.h"
#include "kernels/numeric/held_sums.h"
#include "kernels/numeric/stored_products.h"
#include "kernels/numeric/stored_steps.h"
#include "kernels/numeric/sums.h"
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
  // Whether products were formed that are stored, of whatever dtype, and whether some of them were then added to each
  // other, so that a result is rounded more than once.
  bool has_products = false;
  bool adds_products = false;
  // Whether attention asked in which order to store its scores.
  bool has_scores = false;
  // The last decisions that dropout was to draw; nothing if there were none.
  std::optional<Dropping> dropping = std::nullopt;
  // What the operator was free to do.
  Choices choices = {};
  SumStatistics sums = {};
  HeldSums held_sums = {};  // those behind gradients
};

struct EvaluationContext {
  Arithmetic arithmetic = {};
  // Which dtypes the tensors stand for; by default they stand for themselves.
  RecordedDTypes recorded = {};
  // If it is not 0, kernels move what others keep of a function's result by up to a place (roughness.h): results that a
  // gradient is computed from, positions between elements, gradients of intermediate results.
  std::uint32_t jitter_seed = 0;
  // Whether products and sums are formed wide and stored (stored_products.h).
  std::optional<StoredProducts> stored_products = std::nullopt;
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

  // Asked by kernels of products, of which the notes then know.
  bool stores_products() const {
    if (stored_products && notes != nullptr) notes->has_products = true;
    return stored_products.has_value();
  }

  // Noted by kernels that add stored products to each other.
  void note_added_products() const {
    if (notes != nullptr) notes->adds_products = true;
  }

  // Asked by other kernels, of which nothing is noted: whether what they hold on the way to their results, sums,
  // statistics, positions, is wide.
  bool computes_wide() const { return stored_products.has_value(); }

  // What such a kernel holds on the way in place of a dtype: float64 for float32 where it computes wide, else that
  // dtype.
  DType held_dtype(DType dtype) const { return dtype == DType::float32 && computes_wide() ? DType::float64 : dtype; }

  // What sums are formed in, in place of a dtype: the held one, unless their accumulator is narrow.
  DType dtype_of_sums(DType dtype) const {
    return arithmetic.summation.accumulator == Accumulator::wide ? held_dtype(dtype) : dtype;
  }

  // Of what the factors of attention are multiples; 0: of nothing.
  double smallest_stored() const { return stored_products ? stored_products->smallest : 0; }

  // Called by a kernel once per tensor it computes, before it does, on the thread that evaluates the call: every one of
  // results elements is a sum of up to this many terms. They count as work of the call: throws SkipError where that is
  // out of proportion (kernels/tensor/work.h).
  void note_sums(std::int64_t terms, std::int64_t results, SumForm form = SumForm::series) const;

  // Called by a derivative: see HeldSums::release().
  void release_sums(std::int64_t terms, const Tensor& sums) const {
    if (notes != nullptr) notes->held_sums.release(terms, sums);
  }

  // The context of what deviating arithmetic leaves alone.
  EvaluationContext with_sound_arithmetic() const {
    EvaluationContext sound = *this;
    sound.arithmetic = {};
    return sound;
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
