#include "kernels/evaluate/evaluate.h"

#include <utility>

#include "kernels/api/last_steps.h"
#include "kernels/base/error.h"
#include "kernels/evaluate/trial.h"
#include "kernels/ops/common/functions.h"
#include "kernels/tensor/complex.h"
#include "kernels/tensor/convert.h"
#include "kernels/tensor/recorded_dtypes.h"
#include "kernels/tensor/work.h"

namespace msrun {
namespace {

// Turns the tensors of one side into Vars, in the order of requires_grad.
class SideBuilder {
 public:
  SideBuilder(const MaterialisedCall& call, const Operator& op, const EvaluationOptions& options, const RaisePlan& plan,
              Tape& tape)
      : call_(call),
        name_(op.name),
        takes_complex_(op.traits().takes_complex()),
        tape_(tape),
        benchmark_(options.benchmark),
        options_(options),
        plan_(plan) {
    if (!benchmark_) cast_to_ = autocast_casts_to(call, op.traits());
  }

  Value build(const Value& tree) {
    return transform_leaves(tree, [&](const Value& leaf) -> Value {
      const Tensor* tensor = leaf.get<Tensor>();
      if (tensor == nullptr) return leaf;
      if (!benchmark_) return input(*tensor);
      const DType raised = raised_dtype(tensor->dtype(), plan_, inputs_.size());
      if (options_.change_input && is_floating_or_complex(raised)) {
        const std::size_t number = changed_++;
        return input(number_by_number(tensor->to(raised), [&](const Tensor& numbers) {
          return options_.change_argument ? options_.change_argument(numbers, number) : options_.change_input(numbers);
        }));
      }
      // Products and lookups take elements as they are stored. Of small tensors a copy costs nothing.
      const bool one_step_wider = (is_half(tensor->dtype()) && raised == DType::float32) ||
                                  (tensor->dtype() == DType::float32 && raised == DType::float64);
      const bool when_asked = one_step_wider && tensor->numel() >= large_input;
      return when_asked ? input(*tensor, raised) : input(tensor->to(raised));
    });
  }

  // Their places on the tape.
  const std::vector<Var>& inputs() const { return inputs_; }
  const RaisePlan& plan() const { return plan_; }

 private:
  static constexpr std::int64_t large_input = 1 << 16;

  // Meant in `wide`, if that is given.
  Var input(const Tensor& tensor, std::optional<DType> wide = std::nullopt) {
    if (is_complex(tensor.dtype()) && !takes_complex_)
      throw SkipError("Complex tensors are not supported by " + name_ + ".");
    const bool differentiate =
        call_.backward.run && inputs_.size() < call_.requires_grad.size() && call_.requires_grad[inputs_.size()];
    const bool differentiable = is_floating(tensor.dtype()) || is_complex(tensor.dtype());
    Var var = differentiate && differentiable ? tape_.leaf(tensor) : tape_.constant(tensor);
    if (wide) var = tape_.widened(var, *wide);
    inputs_.push_back(Tape::place_of(var));
    const bool castable = is_half(tensor.dtype()) || tensor.dtype() == DType::float32;
    return cast_to_ && castable ? cast(var, *cast_to_) : var;
  }

  const MaterialisedCall& call_;
  const std::string& name_;
  bool takes_complex_;
  Tape& tape_;
  bool benchmark_;
  const EvaluationOptions& options_;
  const RaisePlan& plan_;
  std::optional<DType> cast_to_;
  std::size_t changed_ = 0;  // floating and complex tensors
  std::vector<Var> inputs_;
};

// The outputs that are differentiated, each with its recorded gradient, or an undefined one where that is 1.
std::vector<std::pair<Var, Tensor>> differentiated(const Value& output, const MaterialisedCall& call,
                                                   const List& gradients, const EvaluationOptions& options) {
  List outputs;
  if (const List* list = output.get<List>()) {
    outputs = *list;
  } else {
    outputs.push_back(output);
  }
  std::vector<std::pair<Var, Tensor>> result;
  for (std::size_t i = 0; i < outputs.size() && i < gradients.size(); ++i) {
    if (options.only_output && *options.only_output != i) continue;
    const Tensor* gradient = gradients[i].get<Tensor>();
    const Var* var = outputs[i].get<Var>();
    if (var == nullptr) continue;
    if (gradient == nullptr && call.implicit_gradient && outputs.size() == 1) {
      if (var->tensor().numel() != 1) throw SkipError("grad can be implicitly created only for scalar outputs");
      result.emplace_back(*var, Tensor());
    }
    if (gradient == nullptr) continue;
    // With several outputs those without a graph simply get no gradient; a single one must have it.
    if (!var->requires_grad() && outputs.size() > 1) continue;
    // That of one element may be recorded of a torch that gives the result another number of axes.
    const bool single = gradient->numel() == 1 && var->tensor().numel() == 1;
    result.emplace_back(*var, single ? gradient->reshape(var->shape()) : *gradient);
  }
  return result;
}

// A gradient of an output as an evaluation takes it: a benchmark's is raised, and changed where that is asked for.
Tensor taken_gradient(const Tensor& gradient, const RaisePlan& plan, const EvaluationOptions& options) {
  if (!options.benchmark) return gradient;
  const Tensor raised = raise_gradient(gradient, plan);
  const bool change = options.change_input && is_floating_or_complex(raised.dtype());
  return change ? number_by_number(raised, options.change_input) : raised;
}

void run_backward(const Value& output, const MaterialisedCall& call, const List& gradients, const RaisePlan& plan,
                  const EvaluationOptions& options, Tape& tape) {
  const std::vector<std::pair<Var, Tensor>> of_outputs = differentiated(output, call, gradients, options);
  if (of_outputs.empty()) throw SkipError("Backward input of " + call.name + " is empty.");
  for (std::size_t i = 0; i < of_outputs.size(); ++i) {
    const auto& [var, gradient] = of_outputs[i];
    const Tensor upstream =
        gradient.defined() ? taken_gradient(gradient, plan, options) : Tensor::full(var.dtype(), var.shape(), 1);
    const bool last = i + 1 == of_outputs.size();
    tape.backward(var, upstream, last ? Afterwards::release : Afterwards::keep);
  }
}

// The gradient of the first output, as an evaluation takes it; undefined if there is none.
Tensor first_upstream(const MaterialisedCall& call, const RaisePlan& plan, const EvaluationOptions& options) {
  const Tensor* gradient = call.gradients.empty() ? nullptr : call.gradients.front().get<Tensor>();
  return gradient == nullptr ? Tensor() : taken_gradient(*gradient, plan, options);
}

List gradients_of(const std::vector<Var>& inputs, const Tape& tape) {
  List gradients;
  for (const Var& input : inputs) {
    const Tensor gradient = tape.gradient(input);
    gradients.push_back(gradient.defined() ? Value(gradient.contiguous()) : Value(None{}));
  }
  return gradients;
}

void run_last_step(const LastSteps& steps, const MaterialisedCall& call, const SideBuilder& builder,
                   const EvaluationOptions& options, Tape& tape, Evaluation& result) {
  result.known_steps = steps.known.size();
  result.of_unknown_step = steps.of_unknown;
  if (*options.last_step >= steps.known.size()) return;
  const LastStep& step = steps.known[*options.last_step];
  const Tensor upstream = first_upstream(call, builder.plan(), options);
  if (!upstream.defined()) throw SkipError("The gradient of the first output is not known.");
  tape.backward(step.result, upstream, Afterwards::release);
  result.any_layout = step.any_layout;
  result.moves_only = step.moves_only;
  result.gradients = gradients_of(step.inputs.empty() ? builder.inputs() : step.inputs, tape);
}

// Behind gradients that hold these sums; the additions are those of the whole evaluation.
SumStatistics behind_gradients(const Notes& notes) {
  return {.longest = notes.held_sums.longest(), .chain = notes.held_sums.chain(), .additions = notes.sums.additions};
}

// The output as the first argument holds it, where a call in place gives it another dtype. A benchmark keeps the
// precision of floating numbers.
Value held_in_first(const Value& output, const List& args, bool benchmark) {
  const Var* result = output.get<Var>();
  const Var* first = args.empty() ? nullptr : args.front().get<Var>();
  if (result == nullptr || first == nullptr || result->dtype() == first->dtype()) return output;
  if (benchmark && is_floating_or_complex(result->dtype()) && is_floating_or_complex(first->dtype())) return output;
  return cast(*result, first->dtype());
}

// Which dtypes the tensors of a side stand for.
RecordedDTypes recorded_dtypes(const MaterialisedCall& call, const EvaluationOptions& options, const RaisePlan& plan) {
  RecordedDTypes recorded;
  if (options.benchmark && !options.forgets_dtypes) {
    std::size_t number = 0;
    for_each_argument(call, [&](const Tensor& tensor) {
      recorded.note(tensor.dtype(), raised_dtype(tensor.dtype(), plan, number++), tensor.rank() > 0);
    });
  }
  recorded.narrow_parameters = options.narrow_parameters;
  recorded.of_benchmark = options.benchmark && !options.forgets_dtypes;
  recorded.positions = options.positions;
  recorded.alternative = options.alternative;
  return recorded;
}

// How the operators of a side compute.
EvaluationContext context_of(const MaterialisedCall& call, const EvaluationOptions& options, const RaisePlan& plan,
                             Notes& notes) {
  EvaluationContext context;
  context.arithmetic = options.arithmetic;
  if (context.arithmetic.rounds_to_zero) context.arithmetic.summation.accumulator = Accumulator::truncated_float32;
  context.recorded = recorded_dtypes(call, options, plan);
  context.jitter_seed = options.jitter_seed;
  context.stored_products = options.stored_products;
  context.steps = options.steps;
  context.dropout_keeps = options.dropout_keeps;
  context.notes = &notes;
  return context;
}

}  // namespace

std::vector<Value> leaves(const List& trees) {
  std::vector<Value> result;
  for (const Value& tree : trees) for_each_leaf(tree, [&](const Value& leaf) { result.push_back(leaf); });
  return result;
}

Evaluation evaluate(const Operator& op, const MaterialisedCall& call, const EvaluationOptions& options) {
  const WorkScope work(elements_of(call));
  const StoreRounding rounding(options.arithmetic.rounds_to_zero);
  const RaisePlan plan = plan_raise(call, op.traits());
  Notes notes;
  Tape tape(context_of(call, options, plan, notes));
  SideBuilder builder(call, op, options, plan, tape);
  List args;
  for (const Value& arg : call.args) args.push_back(builder.build(arg));
  Dict kwargs;
  for (const auto& [key, value] : call.kwargs) kwargs.emplace_back(key, builder.build(value));
  Value output = op.call(args, kwargs, tape);
  if (call.parts.in_place()) output = held_in_first(output, args, options.benchmark);
  Evaluation result;
  result.output_sums = notes.sums;
  result.output = transform_leaves(output, [](const Value& leaf) -> Value {
    const Var* var = leaf.get<Var>();
    return var == nullptr ? leaf : Value(var->tensor().contiguous());
  });
  result.notes = notes;
  if (!op.traits().overwrites) result.notes.choices.writes.reset();
  if (!call.backward.run || output.is_none()) return result;
  for_each_leaf(output, [&](const Value& leaf) {
    if (const Var* var = leaf.get<Var>()) notes.held_sums.add_result(var->tensor());
  });
  bool are_of_arguments = false;
  try {
    if (options.last_step) {
      run_last_step(last_steps(op, args, kwargs, output, tape), call, builder, options, tape, result);
    } else {
      // What no derivative needs is freed before gradients are made.
      args.clear();
      kwargs.clear();
      const bool adjust = static_cast<bool>(options.adjust_gradients);
      run_backward(output, call, adjust ? options.adjust_gradients(result, call.gradients) : call.gradients,
                   builder.plan(), options, tape);
      are_of_arguments = true;
    }
    result.gradient_sums = behind_gradients(notes);
  } catch (const SkipError& error) {
    result.backward_problem = error.what();
  }
  result.notes.has_products = notes.has_products;
  result.notes.adds_products = notes.adds_products;
  if (!are_of_arguments) return result;
  // Derivatives may have alternatives of their own.
  result.notes.has_alternative = notes.has_alternative;
  result.gradients = gradients_of(builder.inputs(), tape);
  // Their gradients are known only now.
  result.notes.choices.windows = notes.choices.windows;
  return result;
}

}  // namespace msrun
