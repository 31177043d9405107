// One call, evaluated again in other ways: with another arithmetic, or with inputs that are changed a little. What the
// results have in common with the device's, and how far they lie apart, tells rounding from faults (rules.h).
//
// What is computed is bounded by the call's size alone, and random changes are drawn by the call's name, so that the
// same recording always gets the same answers.
#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/evaluate/evaluate.h"
#include "kernels/tensor/arithmetic.h"
#include "runner/judge/step_sides.h"

namespace msrun {

// Elements of the floating tensors among the arguments of a call and the gradients of its outputs;
// masks and indices cost nothing beside them.
double floating_elements(const MaterialisedCall& call);

// Whether a tensor among the arguments of a call is complex.
bool has_complex_argument(const MaterialisedCall& call);

// Up to how many additions behind its results, and elements of its floating inputs, a call is computed again.
struct CostLimit {
  double additions;
  double elements;
  bool operator==(const CostLimit&) const = default;

  static const CostLimit many;      // of all that is measured of small calls; so many results are kept
  static const CostLimit few;       // of a few results that are kept
  static const CostLimit one_more;  // of a computation with the inputs that the call has, which needs no copies of them
};
inline constexpr CostLimit CostLimit::many{.additions = 3e8, .elements = 4e6};
inline constexpr CostLimit CostLimit::few{.additions = 3e9, .elements = 1.6e7};
inline constexpr CostLimit CostLimit::one_more{.additions = 3e9, .elements = 6.4e7};

class Variations {
 public:
  // bench is the call's benchmark, made with these options. All of them outlive this object.
  Variations(const Operator& op, const MaterialisedCall& call, const Evaluation& bench,
             const EvaluationOptions& benchmark_options);

  // Whether the call costs no more than that.
  bool is_within(const CostLimit& limit) const;
  // Whether it is small enough for all that is measured.
  bool is_small() const { return is_within(CostLimit::many); }

  // Whether its inputs leave memory for as many results as are kept of a small call.
  bool has_room_for_samples() const;

  // Whether it is so small that computing it many times costs next to nothing.
  bool is_cheap() const;

  // How many elements its floating inputs have, and how many additions are behind its results.
  double elements() const;
  double additions() const;

  // The relative size of the changes of changed_benchmarks: small beside the curvature of functions, large beside
  // rounding. raised is the dtype of a benchmark's input or result, which are of one, unless a result is wider than an
  // input, as where a call names the dtype in which it is computed: then the change is that of the wider one.
  double change_of(DType raised) const;

  // At least so many benchmarks whose every input is changed by plus or minus change_of(). None if they cannot be had;
  // those that were computed before, if the call costs more than the limit.
  // Where the order of elements matters (traits), those of the first argument keep it. Elements that two arguments of
  // one shape have in common at a place are changed alike.
  const std::vector<Evaluation>& changed_benchmarks(std::size_t samples, const CostLimit& limit);

  // The benchmark of an operator that is linear in each of its arguments and in the gradients of its results
  // (rounds_once in its traits, but not divides_sums) for squared inputs: the sums of the squares of the terms behind
  // each element of the results.
  struct SquaredTerms {
    Evaluation all;
    // The sums over the terms whose every factor may be a flag, as changed_benchmarks leaves them: they are exact.
    // Nothing if no factor may be one.
    std::optional<Evaluation> of_flags;
  };
  // Null for other operators, and if it cannot be had within the limit.
  const SquaredTerms* squared_terms(const CostLimit& limit);

  // The benchmark for other numbers in place of those that may be copied to the row: of the upstream gradients, or, for
  // outputs, of the arguments.
  struct Substituted {
    Evaluation by_function;  // each by substitute()
    Evaluation by_one;
    Evaluation by_magnitude;
  };
  // No sum of two numbers, no product and no multiple but the number itself is substituted by what it is formed of.
  static double substitute(double value) { return 1 + value * value; }
  // Null if it cannot be had.
  const Substituted* substituted(bool of_gradients);

  // For calls that round to an integer within, or decide by a number that a half type rounds, or by a position that is
  // stored in one, if the device does so, the benchmark with the sides of steps that the device is on (step_sides.h).
  // For calls with elements of which two results are right, that with the device's; of calls that are too large to be
  // computed again, this alone. row gives the compared tensor of another evaluation, if it has one. Nothing for other
  // calls.
  std::optional<StepSides> sides_of_steps(const Tensor& bench, const Tensor& device, const RowOf& row, Steps steps,
                                          bool stores_positions) const;

  // The call in the dtypes it was recorded in; null if it cannot be had within the limit.
  const Evaluation* with(const Arithmetic& arithmetic, const CostLimit& limit);

  // The same with every step of a composed operator stored (kernels/numeric/stored_steps.h): in each of the orders in
  // which frameworks store scores, if the call has some. Empty if it cannot be had within the limit.
  const std::vector<Evaluation>& with_stored_steps(const CostLimit& limit);

  // How the call is computed with inputs a few places beside the recorded ones.
  struct Perturbation {
    Arithmetic arithmetic = {};
    bool rough = false;       // functions are off by a place (kernels/numeric/roughness.h)
    bool in_float32 = false;  // inputs of other floating dtypes are float32 numbers of all their digits
    bool stored = false;  // each product is rounded only where it is stored (kernels/numeric/stored_products.h), ...
    double smallest = 0;  // ... and the factors of attention to multiples of this, if it is not 0
    bool composed =
        false;  // each operator that another is composed of stores its result (kernels/numeric/stored_steps.h)
    bool operator==(const Perturbation&) const = default;
  };
  // The results for such inputs, in the benchmark's precision and so.
  struct Nearby {
    Evaluation bench;
    Evaluation rounded;
    bool has_products;   // of those computed with stored products
    bool adds_products;  // some of these are added to each other
  };
  // At least so many of them. None if they cannot be had; those that were computed before, if the call costs more than
  // the limit.
  const std::vector<Nearby>& nearby(const Perturbation& how, std::size_t samples, const CostLimit& limit);

 private:
  struct PerturbedResults {
    Perturbation how;
    std::vector<Nearby> results;
    bool refused = false;  // the operator does not take such inputs, or cannot be computed so
  };
  // The call in its own dtypes; nothing if it cannot be computed so.
  std::optional<Evaluation> computed_with(const Arithmetic& arithmetic, const StoredSteps& steps = {}) const;
  // The benchmark of a sample for inputs beside the call's, if it is known from one that was computed in another way of
  // the same inputs; else null.
  const Evaluation* known_bench(const Perturbation& how, std::size_t sample) const;

  const Operator& op_;
  const MaterialisedCall& call_;
  const Evaluation& bench_;
  const EvaluationOptions& benchmark_options_;
  std::vector<Evaluation> changed_;
  std::vector<PerturbedResults> nearby_;
  std::vector<std::pair<Arithmetic, std::optional<Evaluation>>> variants_;
  std::vector<Evaluation> stored_steps_;
  bool has_tried_stored_steps_ = false;
  std::optional<SquaredTerms> squared_terms_;
  std::array<std::optional<Substituted>, 2> substituted_;
  bool has_wide_results_ = false;  // float64
  bool unchangeable_ = false;      // the operator takes no changed inputs
};

}  // namespace msrun
