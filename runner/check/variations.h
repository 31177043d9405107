// One call, evaluated again in other ways: with another arithmetic, or with inputs that are changed a little. What the
// results have in common with the device's, and how far they lie apart, tells rounding from faults (explain.h).
//
// What is computed is bounded by the call's size alone, and random changes are drawn by the call's name, so that the
// same recording always gets the same answers.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "kernels/evaluate/evaluate.h"
#include "kernels/tensor/arithmetic.h"

namespace msrun {

class Variations {
 public:
  // bench is the call's benchmark, made with these options. All of them outlive this object.
  Variations(const Operator& op, const MaterialisedCall& call, const Evaluation& bench,
             const EvaluationOptions& benchmark_options);

  // Whether the call is small enough to be computed again.
  bool is_small() const;

  // The relative size of the changes of changed_benchmarks: small beside the curvature of functions, large beside
  // rounding. raised is the dtype of a benchmark's result.
  static double input_change(DType raised);

  // At least so many benchmarks whose every input is changed by plus or minus input_change; none if they cannot be had.
  const std::vector<Evaluation>& changed_benchmarks(std::size_t samples);

  // The call in the dtypes it was recorded in; null if it cannot be had.
  const Evaluation* with(const Arithmetic& arithmetic);

  // The call with inputs that are a few places beside the recorded ones, in the benchmark's precision and in the dtypes
  // it was recorded in.
  struct Nearby {
    Evaluation bench;
    Evaluation sound;
  };
  // At least so many of them; none if they cannot be had.
  const std::vector<Nearby>& nearby(std::size_t samples);

 private:
  const Operator& op_;
  const MaterialisedCall& call_;
  const Evaluation& bench_;
  const EvaluationOptions& benchmark_options_;
  double elements_ = 0;  // of the floating tensors among arguments and gradients
  std::vector<Evaluation> changed_;
  std::vector<Nearby> nearby_;
  std::vector<std::pair<Arithmetic, std::optional<Evaluation>>> variants_;
  bool unchangeable_ = false;  // the operator takes no changed inputs
};

}  // namespace msrun
