// Evaluation of a materialised call with msrun's own operators: the benchmark, and the simulated device.
//
// In this folder: recorded calls become inputs (materialise), the benchmark's raised precision (precision), and results
// (evaluate). Not here: what an operator is known for, which is in its TRAITS line, and the comparison of results.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/evaluate/precision.h"
#include "kernels/numeric/evaluation_context.h"
#include "kernels/tensor/recorded_dtypes.h"

namespace msrun {

struct Evaluation {
  // What the call returned; tensor leaves are Tensors.
  Value output;
  // One per tensor in args, then one per tensor in kwargs, depth first: Tensor, or None where no gradient was asked
  // for.
  List gradients;
  // Why the backward could not be run although it was asked for; empty otherwise.
  std::string backward_problem;
  // What is known of the steps that EvaluationOptions::last_step asks for: LastStep::any_layout and moves_only, how
  // many are known, and LastSteps::of_unknown.
  bool any_layout = false;
  bool moves_only = false;
  std::size_t known_steps = 0;
  std::size_t of_unknown_step = 0;
  // Behind the output, and behind output and gradients together.
  SumStatistics output_sums;
  SumStatistics gradient_sums;
  // Of its choices, writes only of an operator that overwrites (traits). Whether parameters and positions may be held
  // in a half type is what the forward asked (EvaluationOptions::narrow_parameters, positions).
  Notes notes;
};

struct EvaluationOptions {
  Arithmetic arithmetic;
  // Raises every tensor to the benchmark's precision first.
  bool benchmark = false;
  // A benchmark that takes the dtypes it has raised for those of the call, as msProbe's does: Python numbers beside
  // tensors keep the precision that the device does not give them.
  bool forgets_dtypes = false;
  // The numbers that kernels of half types take as parameters are rounded to the half type (as_parameter).
  bool narrow_parameters = false;
  // How kernels of half types hold the positions that they compute of elements.
  Positions positions = Positions::wide;
  // If it is not 0, kernels move what others keep of a function's result by up to a place
  // (kernels/numeric/roughness.h).
  std::uint32_t jitter_seed = 0;
  // Products and sums are formed wide and stored.
  std::optional<StoredProducts> stored_products = std::nullopt;
  // How composed operators store what they are composed of.
  StoredSteps steps = {};
  // Dropout keeps everything, or drops everything, in place of what it draws.
  std::optional<bool> dropout_keeps = std::nullopt;
  // Operators give the other result where two are right (RecordedDTypes::alternative).
  bool alternative = false;
  // Which outputs are differentiated: by default all for which the call has a gradient, otherwise only this one.
  std::optional<std::size_t> only_output;
  // Changes the floating inputs and gradients of a benchmark after they are raised, of complex ones the numbers that
  // they consist of (pairs_of). Empty: they are taken as they are.
  std::function<Tensor(const Tensor&)> change_input;
  // Does so with the floating and complex tensors of the arguments, of which it is told the number, from 0 on; only
  // beside change_input, which then changes gradients alone. Empty: change_input changes them.
  std::function<Tensor(const Tensor&, std::size_t number)> change_argument;
  // Changes the gradients of the outputs once the outputs, and what the operator was free to do, are known: where these
  // are free up to a sign or their order, a gradient belongs to one choice of it. Empty: they are taken as they are.
  std::function<List(const Evaluation& so_far, const List& gradients)> adjust_gradients;
  // Differentiates what is perhaps the last step inside the operator (kernels/api/last_steps.h), the one of this index,
  // by its own inputs: these are then what the gradients are of. Unset: the call by its arguments. No gradients if
  // there is no such step.
  std::optional<std::size_t> last_step;
};

// The leaves of an evaluation's values, depth first.
std::vector<Value> leaves(const List& trees);

// Throws SkipError where the forward cannot be evaluated. Re-entrant.
Evaluation evaluate(const Operator& op, const MaterialisedCall& call, const EvaluationOptions& options);

}  // namespace msrun
