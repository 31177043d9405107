#include "runner/check/backward.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "kernels/api/last_steps.h"
#include "kernels/base/error.h"
#include "kernels/compare/choices/ties.h"
#include "kernels/compare/choices/window_ties.h"
#include "kernels/compare/metrics/metrics.h"
#include "kernels/ops/common/functions.h"
#include "runner/check/layout.h"
#include "runner/check/result_dtypes.h"
#include "runner/judge/row_lines.h"

namespace msrun {
namespace {

BackwardResult skipped_backward(const std::string& reason) {
  DetailsRow row;
  row.status = Status::skip;
  row.message = reason;
  return {Status::skip, {row}, true};
}

std::size_t tensors_in(const List& values) {
  const std::vector<Value> all = leaves(values);
  return static_cast<std::size_t>(std::ranges::count_if(all, [](const Value& leaf) { return leaf.is<Tensor>(); }));
}

bool was_compared(const DetailsRow& row) { return row.status != Status::skip; }

void add_to_rows(Comparison& comparison, const std::string& sentence) {
  for (DetailsRow& row : comparison.rows) add_line(row, sentence);
}

// Frameworks give no gradient in place of one of zeros, and zeros in place of none, as they like: of two lists that
// differ in that, the first gets zeros where it has none.
List with_zeros(const List& gradients, const List& others) {
  List result = gradients;
  for (std::size_t i = 0; i < std::min(gradients.size(), others.size()); ++i) {
    const Tensor* other = others[i].get<Tensor>();
    if (!gradients[i].is_none() || other == nullptr || is_complex(other->dtype()) ||
        zero_count(*other) != other->numel()) {
      continue;
    }
    result[i] = Tensor::zeros(other->dtype(), other->shape());
  }
  return result;
}

Tensor sum_of(const Tensor& a, const Tensor& b) {
  Tape tape;
  return add(tape.constant(a), tape.constant(b)).tensor();
}

// Whether there are gradients, and the device's are the benchmark's, rounded to their dtypes. Those of a dropout are
// only if it drops nothing.
bool are_equal(const List& bench, const List& device) {
  bool any = false;
  for (std::size_t i = 0; i < std::max(bench.size(), device.size()); ++i) {
    const Tensor* ours = i < bench.size() ? bench[i].get<Tensor>() : nullptr;
    const Tensor* theirs = i < device.size() ? device[i].get<Tensor>() : nullptr;
    if (ours == nullptr && theirs == nullptr) continue;
    if (ours == nullptr || theirs == nullptr || !bitwise_equal(ours->to(theirs->dtype()), *theirs)) return false;
    any = true;
  }
  return any;
}

// A way to read the device's gradients, compared with the benchmark's.
struct Reading {
  Comparison comparison;
  CallCase* call = nullptr;
  const SumStatistics* sums = nullptr;
  Select select;
  bool of_arguments = true;
  bool moves_only = false;  // what is compared is the gradient of the output
  bool complete = true;     // uses all recorded gradients
  bool is_equal = false;    // gradients that have no rows, because some may be random, are the benchmark's bit by bit
  bool explained = false;

  bool passes() const {
    return comparison.status == Status::pass && (is_equal || std::ranges::any_of(comparison.rows, was_compared));
  }
};

// For every tensor of the call the first one that is the same bit by bit, or itself.
std::vector<std::size_t> same_tensors(const MaterialisedCall& call) {
  std::vector<Tensor> tensors;
  for_each_argument(call, [&](const Tensor& tensor) { tensors.push_back(tensor); });
  std::vector<std::size_t> first(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    first[i] = i;
    for (std::size_t j = 0; j < i && first[i] == i; ++j) {
      if (bitwise_equal(tensors[i], tensors[j])) first[i] = j;
    }
  }
  return first;
}

class BackwardCheck {
 public:
  BackwardCheck(const BackwardInput& input, CallCase& call, const ExplainBackward& explain)
      : input_(input),
        call_(call),
        explain_(explain),
        recorded_(input.device.recorded_gradients),
        compat_(input.options.compare.compat_msprobe),
        positional_(tensors_in(input.call.args)),
        doubt_(input.device.gradient_doubt) {}

  BackwardResult run() {
    const bool settled = read_as_arguments(input_.device.gradients) ||
                         std::ranges::any_of(input_.device.other_gradients,
                                             [&](const List& reading) { return read_as_arguments(reading); });
    if (readings_.empty()) return {};
    // A device that computes gradients computes those of the arguments.
    if (settled || recorded_.empty()) return result_of(readings_[settled ? readings_.size() - 1 : 0]);
    if (!read_as_one_argument()) read_as_last_steps();
    return choose();
  }

 private:
  List compared(const List& all) const { return input_.options.dialect->compared_gradients(input_.call, all, compat_); }

  std::optional<Comparison> compare(const List& bench, const List& device) const {
    const ComparedCall of{input_.op, input_.call, input_.options.compare, input_.fp8_input};
    std::optional<Comparison> comparison =
        compat_ ? input_.options.dialect->compare_gradients(of, bench, device)
                : input_.options.dialect->compare_gradients(of, with_zeros(without_copied(bench, device), device),
                                                            with_zeros(device, bench));
    if (!comparison) return comparison;
    comparison->of_gradients = true;
    if (!compat_) judge_as_cast(input_.call, input_.op.traits(), *comparison);
    // A tensor without axes is given in its own dtype what was computed in that of the others.
    if (computed_in_float32(input_.call)) {
      for (Comparison::Pair& pair : comparison->pairs) {
        if (pair.bench.defined() && pair.bench.dtype() == DType::float64) pair.bench = pair.bench.to(DType::float32);
      }
    }
    return comparison;
  }

  // The benchmark's gradients but for that of a tensor which the framework has copied, and the device gives none of.
  List without_copied(const List& bench, const List& device) const {
    List result = bench;
    const std::optional<std::size_t> copied = copied_tensor(input_.op.name);
    if (copied && *copied < std::min(bench.size(), device.size()) && device[*copied].is_none())
      result[*copied] = None{};
    return result;
  }

  // The benchmark's gradients with those of the first argument's equal elements in the device's order, where the call
  // is free to pick any of them and picked right.
  std::optional<List> exchange_ties(const List& bench, const List& device) const {
    const MaterialisedCall& call = input_.call;
    const auto& picks = input_.op.traits().picks;
    if (!picks || compat_ || input_.forward_is_error) return std::nullopt;
    const auto from = picked_from(*picks, call.args, call.kwargs);
    const FirstArgument first = first_argument(input_.op, call);
    const Tensor* argument = first.as_tensor();
    const Tensor* ours = first.gradient_in(bench);
    const Tensor* theirs = first.gradient_in(device);
    if (!from || argument == nullptr || ours == nullptr || theirs == nullptr) return std::nullopt;
    std::optional<Tensor> exchanged = exchange_tied_gradients(*argument, *from, *ours, *theirs);
    if (!exchanged) return std::nullopt;
    List result = bench;
    result[first.tensor] = std::move(*exchanged);
    return result;
  }

  // Which of equal elements of the windows of a maximum the device picked; nothing where that changes nothing.
  std::optional<WindowChoice> windows_of(const List& device) const {
    const List& bench = input_.bench.gradients;
    const auto& picks = input_.bench.notes.choices.windows;
    if (compat_ || input_.forward_is_error || !picks) return std::nullopt;
    const FirstArgument first = first_argument(input_.op, input_.call);
    const Tensor* argument = first.as_tensor();
    const Tensor* ours = first.gradient_in(bench);
    const Tensor* theirs = first.gradient_in(device);
    if (argument == nullptr || ours == nullptr || theirs == nullptr) return std::nullopt;
    return WindowChoice::find(*picks, *argument, *ours, *theirs);
  }

  List with_windows(const Evaluation& evaluation, const WindowChoice& choice) const {
    List result = evaluation.gradients;
    const FirstArgument first = first_argument(input_.op, input_.call);
    const Tensor* gradient = first.gradient_in(result);
    if (gradient != nullptr && evaluation.notes.choices.windows)
      result[first.tensor] = choice.applied(*gradient, *evaluation.notes.choices.windows);
    return result;
  }

  // True if the reading is right, and no other need be tried.
  bool take(Reading reading) {
    readings_.push_back(std::move(reading));
    Reading& taken = readings_.back();
    if (!taken.passes() || !taken.complete) return false;
    if (recorded_.empty()) return true;
    explain(taken);
    return is_clean(taken.comparison.rows);
  }

  bool read_as_arguments(const List& gradients) {
    const std::optional<WindowChoice> windows = windows_of(gradients);
    const std::optional<List> exchanged = windows ? std::optional(with_windows(input_.bench, *windows))
                                                  : exchange_ties(input_.bench.gradients, gradients);
    std::optional<Comparison> comparison =
        compare(compared(exchanged.value_or(input_.bench.gradients)), compared(gradients));
    if (!comparison) return false;
    if (exchanged && !comparison->rows.empty()) {
      comparison->rows.front().message +=
          "Elements of equal value: which of them got which gradient is taken as the device chose.\n";
    }
    Reading reading = of_arguments(std::move(*comparison));
    reading.complete = recorded_.empty() || tensors_in(gradients) == recorded_.size();
    reading.is_equal = reading.comparison.rows.empty() && are_equal(input_.bench.gradients, gradients);
    reading.select = [this, gradients, windows](const Evaluation& evaluation) {
      // Another evaluation picks as freely as the benchmark did.
      if (windows) return leaves(compared(with_windows(evaluation, *windows)));
      const std::optional<List> picked = exchange_ties(evaluation.gradients, gradients);
      return leaves(compared(picked.value_or(evaluation.gradients)));
    };
    return take(std::move(reading));
  }

  Reading of_arguments(Comparison comparison) {
    Reading reading;
    reading.comparison = std::move(comparison);
    reading.call = &call_;
    reading.sums = &input_.bench.gradient_sums;
    return reading;
  }

  // x * x: whoever asks for the gradient of x gets that of both factors together.
  bool read_as_one_argument() {
    const std::vector<std::size_t> first = same_tensors(input_.call);
    const auto added = [first](const List& gradients) {
      List sums = gradients;
      for (std::size_t i = 0; i < gradients.size() && i < first.size(); ++i) {
        const Tensor* more = gradients[i].get<Tensor>();
        const Tensor* so_far = first[i] == i ? nullptr : sums[first[i]].get<Tensor>();
        if (more != nullptr && so_far != nullptr && more->shape() == so_far->shape()) {
          sums[first[i]] = sum_of(*so_far, *more);
        }
      }
      for (std::size_t i = 0; i < gradients.size() && i < first.size(); ++i) {
        if (gradients[i].is<Tensor>() && sums[first[i]].is<Tensor>()) sums[i] = sums[first[i]];
      }
      return sums;
    };
    bool shared = false;
    for (std::size_t i = 0; i < first.size(); ++i) {
      const auto has_gradient = [&](std::size_t at) {
        return at < input_.bench.gradients.size() && input_.bench.gradients[at].is<Tensor>();
      };
      shared = shared || (first[i] != i && has_gradient(i) && has_gradient(first[i]));
    }
    if (!shared) return false;
    std::optional<Comparison> comparison =
        compare(compared(added(input_.bench.gradients)), compared(input_.device.gradients));
    if (!comparison) return false;
    add_to_rows(*comparison, "Of arguments that are one tensor, the gradient is that of all together.");
    Reading reading = of_arguments(std::move(*comparison));
    reading.complete = tensors_in(input_.device.gradients) == recorded_.size();
    reading.select = [this, added](const Evaluation& evaluation) {
      return leaves(compared(added(evaluation.gradients)));
    };
    return take(std::move(reading));
  }

  void read_as_last_steps() {
    for (std::size_t step = 0;; ++step) {
      EvaluationOptions options = input_.benchmark;
      options.last_step = step;
      Evaluation bench;
      try {
        bench = evaluate(input_.op, input_.call, options);
      } catch (const SkipError& error) {
        // There is no memory for it beside the call itself.
        bench.backward_problem = error.what();
      }
      const bool known = bench.backward_problem.empty();
      if (known ? bench.of_unknown_step == recorded_.size() : knows_last_steps(input_.op.name)) {
        note_doubt("The dump may hold the gradients of a step inside " + input_.call.parts.api +
                   " that cannot be computed.");
      }
      if (!known || step >= bench.known_steps || read_as_step(std::move(options), std::move(bench))) return;
    }
  }

  void note_doubt(const std::string& doubt) {
    if (doubt_.empty()) doubt_ = doubt;
  }

  bool read_as_step(EvaluationOptions options, Evaluation bench) {
    List gradients;
    for (const Value& gradient : bench.gradients) {
      if (gradient.is<Tensor>()) gradients.push_back(gradient);
    }
    if (gradients.empty() || gradients.size() != recorded_.size()) return false;
    std::vector<Layout> layouts;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const Tensor& ours = *gradients[i].get<Tensor>();
      const Tensor& theirs = *recorded_[i].get<Tensor>();
      if (ours.numel() != theirs.numel()) return false;
      layouts.push_back(nearest_layout(ours, theirs, bench.any_layout));
    }
    const auto laid_out = [layouts](const List& all) {
      List result;
      for (const Value& gradient : all) {
        const Tensor* tensor = gradient.get<Tensor>();
        if (tensor != nullptr && result.size() < layouts.size()) result.push_back(layouts[result.size()].of(*tensor));
      }
      return result;
    };
    std::optional<Comparison> comparison = compare(laid_out(gradients), recorded_);
    if (!comparison) return false;
    const std::string held = "The dump holds the gradients of the last step inside " + input_.call.parts.api;
    add_to_rows(*comparison, held + (bench.moves_only ? ", which computes nothing: it is that of the output."
                                                      : ": these are compared."));
    Step& step = *steps_.emplace_back(std::make_unique<Step>(Step{std::move(options), std::move(bench), nullptr}));
    step.call = std::make_unique<CallCase>(input_.op, input_.call, step.bench, step.options, input_.arithmetic);
    Reading reading;
    reading.moves_only = step.bench.moves_only;
    reading.comparison = std::move(*comparison);
    reading.call = step.call.get();
    reading.sums = &step.bench.gradient_sums;
    reading.select = [laid_out](const Evaluation& evaluation) {
      const List values = laid_out(evaluation.gradients);
      return std::vector<Value>(values.begin(), values.end());
    };
    reading.of_arguments = false;
    return take(std::move(reading));
  }

  BackwardResult choose() {
    if (std::ranges::any_of(readings_, [](const Reading& reading) { return reading.complete; })) {
      std::erase_if(readings_, [](const Reading& reading) { return !reading.complete; });
    }
    for (const bool with_failing : {false, true}) {
      for (Reading& reading : readings_) {
        if (!with_failing && !reading.passes()) continue;
        if (std::ranges::none_of(reading.comparison.rows, was_compared)) continue;
        explain(reading);
        if (is_clean(reading.comparison.rows)) return result_of(reading);
      }
    }
    if (!doubt_.empty()) return skipped_backward(doubt_);
    return result_of(readings_.front());
  }

  void explain(Reading& reading) {
    if (!reading.explained) explain_(*reading.call, reading.comparison, *reading.sums, reading.select);
    reading.explained = true;
  }

  BackwardResult result_of(Reading& reading) {
    Comparison& comparison = reading.comparison;
    if (input_.call.recorded && !comparison.rows.empty() && std::ranges::none_of(comparison.rows, was_compared)) {
      comparison.status = Status::skip;
    }
    explain(reading);
    for (DetailsRow& row : comparison.rows) {
      if (reading.moves_only && !compat_ && !is_suspicious(row)) note_unchecked_gradient(row);
    }
    const bool several_outputs = input_.bench.output.is<List>() && !input_.op.traits().differentiable_output &&
                                 !input_.options.dialect->knows_several_outputs();
    for (std::size_t i = 0; reading.of_arguments && i < comparison.rows.size(); ++i) {
      DetailsRow& row = comparison.rows[i];
      if (i >= positional_) add_line(row, "Gradient of a keyword argument, which msProbe does not compare.");
      if (several_outputs) add_line(row, "Gradient through several outputs, which msProbe does not compare.");
    }
    const bool by_chance = comparison.is_chance();
    return {comparison.status, std::move(comparison.rows), by_chance};
  }

  // A step's benchmark, which its call and its reading refer to.
  struct Step {
    EvaluationOptions options;
    Evaluation bench;
    std::unique_ptr<CallCase> call;
  };

  const BackwardInput& input_;
  CallCase& call_;
  const ExplainBackward& explain_;
  const List& recorded_;  // tensors; empty for a device that computes
  bool compat_;
  std::size_t positional_;
  std::string doubt_;  // why a difference may prove nothing
  std::vector<Reading> readings_;
  std::vector<std::unique_ptr<Step>> steps_;
};

}  // namespace

BackwardResult check_backward(const BackwardInput& input, CallCase& call_case, const ExplainBackward& explain) {
  const MaterialisedCall& call = input.call;
  std::string message = call.backward.message;
  const bool compat = input.options.compare.compat_msprobe;
  const bool is_refused = compat && input.bench.output.is<List>() && !input.op.traits().differentiable_output &&
                          !input.options.dialect->knows_several_outputs();
  const bool fails = compat && !is_refused && input.options.dialect->fails_with_backward();
  if (fails && !call.backward.failure.empty()) throw SkipError(call.backward.failure);
  if (is_refused && call.backward.run) message += "Multiple backward is not supported.";
  if (!message.empty()) return skipped_backward(message);
  if (!call.backward.run || input.bench.output.is_none()) return {};
  const std::string& of_bench = input.bench.backward_problem;
  if (fails && !of_bench.empty()) throw SkipError(of_bench);
  const std::string& problem = of_bench.empty() ? input.device.backward_problem : of_bench;
  if (!problem.empty()) return skipped_backward(problem);
  return BackwardCheck(input, call_case, explain).run();
}

}  // namespace msrun
