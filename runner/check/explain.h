// Why a result differs: whether rounding explains a warning or error, and if not, what the numbers tell about the
// cause.
//
// The statuses stay as the documented limits have them. A row that rounding explains is marked (rounding_only) and says
// so in its Message; any other row says how far it is from explained and, where the evidence is strong, why: by the
// pattern of the differences, or because the call, computed once more with another arithmetic (float16 accumulation,
// HF32 operands, flushed denormals), gives the device's result. What is computed once more is bounded by the call's
// size alone, so that the same recording always gets the same Messages.
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "kernels/compare/compare.h"
#include "kernels/compare/rounding.h"
#include "kernels/evaluate/evaluate.h"

namespace msrun {

class Explainer {
 public:
  // bench is the call's benchmark, made with these options. All of them outlive the explainer.
  Explainer(const Operator& op, const MaterialisedCall& call, const Evaluation& bench,
            const EvaluationOptions& benchmark_options);

  // Looks at the rows of one direction that are warning or error. select gives the values that were compared, of an
  // evaluation of the call, one leaf per row; silent leaves the Messages as they are.
  using Select = std::function<std::vector<Value>(const Evaluation&)>;
  void explain(Comparison& comparison, const SumStatistics& sums, const Select& select, bool silent);

 private:
  enum class Variant : std::uint8_t {
    sound,
    fp16_accumulation,
    bf16_accumulation,
    hf32_inputs,
    flush_subnormals,
    dropped_term,
    rounding_to_zero,
  };
  static constexpr std::size_t variant_count = 7;

  bool is_small() const;
  const std::vector<Evaluation>& changed_benchmarks();
  const Evaluation* variant(Variant which);
  // The tensor that a variant gives in place of the device's; nothing if it cannot be had.
  std::optional<Tensor> variant_tensor(Variant which, const Comparison& comparison, std::size_t row,
                                       const Select& select);
  // Whether sound arithmetic itself leaves the bound because it rounds intermediate results, and the device no more
  // than that; model and fit are then those that say so.
  bool stores_intermediates(const Comparison& comparison, std::size_t row, SumModel& model, RoundingFit& fit,
                            const Select& select);
  Tensor spread(const Comparison& comparison, std::size_t row, const Select& select);
  std::string finding(const Comparison& comparison, std::size_t row, const SumModel& model, const RoundingFit& fit,
                      const Select& select);

  const Operator& op_;
  const MaterialisedCall& call_;
  const Evaluation& bench_;
  const EvaluationOptions& benchmark_options_;
  double elements_ = 0;  // of the call's tensors
  std::optional<std::vector<Evaluation>> changed_;
  std::array<std::optional<Evaluation>, variant_count> variants_;
  std::array<bool, variant_count> variant_tried_{};
};

}  // namespace msrun
