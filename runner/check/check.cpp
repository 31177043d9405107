#include "runner/check/check.h"

#include <algorithm>
#include <new>
#include <utility>

#include "kernels/base/clock.h"
#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/compare/choices/freedom.h"
#include "kernels/compare/choices/order_choice.h"
#include "kernels/evaluate/trial.h"
#include "kernels/io/files/folder_below.h"
#include "kernels/tensor/memory.h"
#include "runner/check/backward.h"
#include "runner/check/damaged_files.h"
#include "runner/check/dropout_check.h"
#include "runner/check/input_checksum.h"
#include "runner/check/input_notes.h"
#include "runner/check/lowered_call.h"
#include "runner/check/output_choice.h"
#include "runner/check/overflow.h"
#include "runner/check/recorded_form.h"
#include "runner/check/repeated_run.h"
#include "runner/check/result_dtypes.h"
#include "runner/check/result_form.h"
#include "runner/check/rounded_inputs.h"
#include "runner/check/sampled.h"
#include "runner/check/second_look.h"
#include "runner/dialects/error_data.h"
#include "runner/judge/judge.h"
#include "runner/judge/row_lines.h"
#include "runner/results/counts.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

// Why an output without rows, or whose rows are all SKIP, proves little.
WeakEvidence weak_evidence_in(const Comparison& forward) {
  const auto compared = [](const DetailsRow& row) { return row.status != Status::skip; };
  const bool by_rows = !forward.rows.empty() && std::ranges::none_of(forward.rows, compared);
  return by_rows ? WeakEvidence::nothing_compared : forward.weak_evidence;
}

bool is_clean(const ApiResult& result) { return is_clean(result.forward_rows) && is_clean(result.backward_rows); }

// What a rule finds of a direction that may have no rows. Its status stays.
void add_finding(std::vector<DetailsRow>& rows, Status status, const std::string& finding) {
  if (finding.empty()) return;
  if (rows.empty()) rows.emplace_back().status = status;
  make_suspicious(rows.front(), finding);
}

// The row that says why a call is suspicious, which its Message repeats; else its first, if there is one.
DetailsRow* blamed_row(ApiResult& result) {
  const DetailsRow* blamed = reason_of(result).row;
  for (auto* rows : {&result.forward_rows, &result.backward_rows}) {
    for (DetailsRow& row : *rows) {
      if (blamed == nullptr || &row == blamed) return &row;
    }
  }
  return nullptr;
}

class Check {
 public:
  Check(const ApiCall& recorded, Device& device, const CheckOptions& options, ApiResult& result)
      : recorded_(recorded), device_(device), options_(options), result_(result) {}

  // Memory was short, and not only for the explanation of what was computed.
  bool lacked_memory() const { return refused_tensors() != refused_; }

  void run() {
    const std::optional<ApiName> name = ApiName::parse(recorded_.name);
    const Operator* op = name ? find_operator(name->type, name->api) : nullptr;
    if (op == nullptr) throw SkipError("API " + recorded_.name + " not support for acc_check. SKIP.");
    traits_ = &op->traits();
    const bool may_differ = run_once(*op, options_.materialise);
    if (may_differ && !(options_.compare.compat_msprobe ? is_clean(result_) : needs_no_explanation(result_))) {
      // The recording may come from hardware that does not round: each direction is right if it agrees with either
      // arithmetic. What explains the difference from rounded inputs is said of a device that has rounded them itself.
      ApiResult rounded = result_;
      MaterialiseOptions unrounded = options_.materialise;
      unrounded.round_to_hf32 = false;
      run_once(*op, unrounded);
      keep_what_agrees(rounded, result_);
      result_.inputs = rounded.inputs;
      result_.message = options_.dialect->result_message(result_);
    }
  }

  // In no direction that is judged by its shares of zeros do these differ more than chance makes them.
  bool shares_by_chance() const { return shares_by_chance_; }

  // What is odd about the call's tensor files; empty if nothing is.
  std::string notes() const {
    std::string text;
    for (const std::string& note : notes_) text += (text.empty() ? "" : " ") + note;
    return text;
  }

 private:
  // The steps of a check, in their order. True if the recorded result may belong to other inputs: those before they
  // were rounded to HF32.
  bool run_once(const Operator& op, const MaterialiseOptions& options) {
    refused_ = refused_tensors();
    result_.outcome = Outcome::checked;
    const MaterialisedCall call = materialised(options);
    try_call(op, call);
    const std::optional<std::size_t> only_output =
        options_.compare.compat_msprobe ? traits_->differentiable_output : std::nullopt;
    DeviceResult device = run_device(op, call, only_output);
    if (options_.only_device) {
      result_.forward = Status::pass;
      return false;
    }
    if (is_settled_by_sample(op, call, device)) return false;
    const EvaluationOptions benchmark = options_of_benchmark(op, call, device, only_output);
    const Evaluation bench = run_benchmark(op, call, benchmark);
    require_recorded_call(op, call, bench.output, device.output);
    const bool lacked_memory_so_far = lacked_memory();
    // The recording is to blame; its gradients are compared all the same.
    const bool unreadable = device.output.is<Unsupported>();
    const bool is_reordered = put_in_form_of(bench, call, device.output);
    judge_call(op, call, bench, benchmark, device);
    if (is_reordered && !result_.forward_rows.empty()) add_line(result_.forward_rows.front(), OrderChoice::message);
    add_namesake(bench);
    if (unreadable) result_.outcome = Outcome::not_checkable;
    if (lacked_memory_so_far && result_.backward == Status::skip) result_.outcome = Outcome::failed_to_run;
    add_notes();
    run_again_after_error(op, call, only_output, device);
    if (keeps_tensors(result_, shares_by_chance_)) save(call, bench, device);
    keep_input_notes(call);
    return call.recorded && call.hf32_changed;
  }

  // The call with its inputs.
  MaterialisedCall materialised(const MaterialiseOptions& options) {
    const Stopwatch watch(result_.times.materialise);
    MaterialisedCall call = options_.dialect->materialise(recorded_, options);
    // A benchmark in float32 would be no better than the device.
    call.hf32 = call.hf32 && options_.compare.compat_msprobe;
    if (options.round_to_hf32) result_.inputs = input_checksum(call);
    notes_ = call.notes;
    return call;
  }

  // The benchmark's gradients are those of the device's choices. The call and the device's result outlive the options.
  EvaluationOptions options_of_benchmark(const Operator& op, const MaterialisedCall& call, const DeviceResult& device,
                                         std::optional<std::size_t> only_output) const {
    EvaluationOptions benchmark;
    benchmark.benchmark = true;
    benchmark.only_output = only_output;
    benchmark.forgets_dtypes = options_.compare.compat_msprobe;
    if (!options_.compare.compat_msprobe) {
      benchmark.adjust_gradients = [&, given = device.output](const Evaluation& so_far, const List& gradients) {
        const List turned = gradients_of_same_choice(op, call, so_far.output, device.output, gradients);
        return gradients_in_same_order(call, so_far, given, turned);
      };
    }
    return benchmark;
  }

  Evaluation run_benchmark(const Operator& op, const MaterialisedCall& call, const EvaluationOptions& options) {
    const Stopwatch watch(result_.times.benchmark);
    return evaluate(op, call, options);
  }

  // Gives the device's output the form of the benchmark's. True if that took another order, where the order is open.
  bool put_in_form_of(const Evaluation& bench, const MaterialisedCall& call, Value& output) const {
    if (call.recorded) output = in_form_of(bench.output, output);
    if (traits_->may_add_axis) output = without_added_axis(bench.output, output);
    return !options_.compare.compat_msprobe && put_in_order_of(bench, output);
  }

  // Compares both results and judges what differs; of a call that autocast lowers, by the lowered one.
  void judge_call(const Operator& op, const MaterialisedCall& call, const Evaluation& bench,
                  const EvaluationOptions& benchmark, const DeviceResult& device) {
    const Stopwatch watch(result_.times.compare);
    std::optional<LoweredCall> lowered;
    refused_ = refused_tensors();
    if (!options_.compare.compat_msprobe) lowered = LoweredCall::of(op, call, benchmark);
    require_memory_for_judging();
    CallCase call_case(op, lowered ? lowered->call : call, lowered ? lowered->bench : bench, benchmark,
                       device_.arithmetic());
    lowered_ = {lowered ? &call_case : nullptr, lowered ? &*lowered : nullptr};
    compare(op, call, bench, benchmark, device, call_case);
  }

  void add_notes() {
    if (notes_.empty() || result_.forward_rows.empty() || options_.compare.compat_msprobe) return;
    add_line(result_.forward_rows.front(), notes());
  }

  // Whether an error comes again tells a device that varies from one that errs.
  void run_again_after_error(const Operator& op, const MaterialisedCall& call, std::optional<std::size_t> only_output,
                             const DeviceResult& device) {
    const bool error = result_.forward == Status::error || result_.backward == Status::error;
    const bool once = options_.repeat == 1;
    if (!error || !once || call.recorded || options_.compare.compat_msprobe) return;
    look_again(device_, {call, op.name, *traits_, only_output, run_of_second_look, options_.rank}, device, result_);
  }

  // What the inputs of a call were like that somebody will look at.
  void keep_input_notes(const MaterialisedCall& call) {
    if (!is_clean(result_) || is_unsteady(result_)) {
      result_.input_notes = input_notes(call);
    } else if (result_.forward != Status::pass || (result_.backward && *result_.backward != Status::pass)) {
      // Of what rounding explains the recording tells enough, and takes no look at elements.
      result_.input_notes = input_notes(recorded_);
    }
  }

  // Whether a part of the benchmark was enough. Its result is that of the call then.
  bool is_settled_by_sample(const Operator& op, const MaterialisedCall& call, const DeviceResult& device) {
    if (!options_.sampled_work) return false;
    // What is odd about dtypes and shapes is found beside the whole benchmark.
    if (knows_dtypes(call) && !has_plain_dtypes(op.traits(), call, device)) return false;
    if (!has_recorded_shapes(op.traits(), recorded_.output_forms, device.output)) return false;
    std::optional<SampledResult> sampled;
    {
      const Stopwatch watch(result_.times.benchmark);
      sampled = check_sampled({recorded_, op, call, device, options_, device_.arithmetic()});
    }
    refused_ = refused_tensors();
    if (!sampled) return false;
    ApiResult settled = result_;
    settled.forward = sampled->forward;
    settled.forward_rows = std::move(sampled->forward_rows);
    settled.backward = sampled->backward;
    settled.backward_rows = std::move(sampled->backward_rows);
    // Kept are whole tensors of the benchmark.
    if (keeps_tensors(settled, true)) return false;
    settled.message = options_.dialect->result_message(settled);
    if (!notes_.empty() && !settled.forward_rows.empty()) add_line(settled.forward_rows.front(), notes());
    if (is_unsteady(settled)) settled.input_notes = input_notes(call);
    result_ = std::move(settled);
    shares_by_chance_ = true;
    return true;
  }

  // Throws SkipError for a call that is not the one that was recorded. A file that holds another tensor than the
  // recording says has been noted, and counts.
  void require_recorded_call(const Operator& op, const MaterialisedCall& call, const Value& bench,
                             const Value& device) const {
    if (options_.compare.compat_msprobe || !options_.dialect->knows_result_dtypes()) return;
    if (recorded_.output_forms.empty() || !notes_.empty()) return;
    const bool has_output = call.kwargs.end() != std::ranges::find(call.kwargs, "out", &Dict::value_type::first);
    const Value* dtypes_of = knows_dtypes(call) && !has_output ? &device : nullptr;
    const std::string found = contradiction({op, call, recorded_.output_forms, bench, dtypes_of});
    if (!found.empty()) throw SkipError(found);
  }

  // Whether the dtypes of results are judged. A recording has what the device has that was recorded.
  bool knows_dtypes(const MaterialisedCall& call) const {
    return options_.dialect->knows_result_dtypes() && !call.recorded && !options_.compare.compat_msprobe &&
           !has_float8_input(call);
  }

  DeviceResult run_device(const Operator& op, const MaterialisedCall& call, std::optional<std::size_t> only_output) {
    const Stopwatch watch(result_.times.device);
    RepeatedRun run = run_repeatedly(device_, {call, op.name, *traits_, only_output, options_.first_run, options_.rank},
                                     options_.repeat);
    result_.checksums = std::move(run.checksums);
    result_.repeats = std::move(run.repeats);
    return std::move(run.first);
  }

  // The gradients that ask the benchmark for the derivative the device was asked for, where their outputs differ by the
  // freedom of a decomposition.
  static List gradients_of_same_choice(const Operator& op, const MaterialisedCall& call, const Value& bench,
                                       const Value& device, const List& gradients) {
    const auto alignment = Alignment::find(op.traits().freedom, bench, device, first_argument(op, call).value);
    if (!alignment) return gradients;
    const Value turned = alignment->turned(gradients);
    return std::get<List>(turned.variant());
  }

  // Likewise where they differ by an order that is open. `given` are the device's outputs in its own order.
  static List gradients_in_same_order(const MaterialisedCall& call, const Evaluation& bench, const Value& given,
                                      const List& gradients) {
    if (!bench.notes.choices.order) return gradients;
    const auto order = OrderChoice::find(*bench.notes.choices.order, bench.output,
                                         call.recorded ? in_form_of(bench.output, given) : given);
    return order ? std::get<List>(order->turned(gradients).variant()) : gradients;
  }

  // Whether the device's outputs were in another order, where that is open.
  static bool put_in_order_of(const Evaluation& bench, Value& output) {
    if (!bench.notes.choices.order) return false;
    const auto order = OrderChoice::find(*bench.notes.choices.order, bench.output, output);
    if (order) output = order->turned(output);
    return order.has_value();
  }

  void compare(const Operator& op, const MaterialisedCall& call, const Evaluation& bench,
               const EvaluationOptions& benchmark, const DeviceResult& device, CallCase& call_case) {
    const bool float8 = has_float8_input(call);
    const OutputChoice choice =
        options_.compare.compat_msprobe ? OutputChoice{} : OutputChoice(op, call, bench, device.output);
    const Value device_output = compared_output(device.output, *traits_);
    const bool has_none = traits_->returns_nothing && (options_.compare.compat_msprobe || device_output.is_none());
    const Value bench_output = has_none ? Value(None{}) : compared_output(choice.applied(bench), *traits_);
    Comparison forward = options_.dialect->compare_outputs({op, call, options_.compare, float8}, bench_output,
                                                           has_none ? bench_output
                                                           : float8 ? narrow_float8_result(device_output)
                                                                    : device_output);
    if (const std::string message = choice.message(); choice.row() < forward.rows.size() && !message.empty()) {
      add_line(forward.rows[choice.row()], message);
    }
    explain(call_case, forward, bench.output_sums, [&](const Evaluation& evaluation) {
      return leaves({compared_output(choice.applied(evaluation), *traits_)});
    });
    const bool judges_dtypes = knows_dtypes(call);
    if (judges_dtypes) judge_output_dtypes(op, call, forward);
    result_.forward = forward.status;
    result_.weak_evidence = weak_evidence_in(forward);
    bool forward_by_chance = forward.is_chance();
    result_.forward_rows = std::move(forward.rows);
    const BackwardInput backward{
        op, call, bench, benchmark, device, options_, device_.arithmetic(), forward.status == Status::error, float8};
    BackwardResult gradients = check_backward(backward, call_case,
                                              [&](CallCase& of, Comparison& comparison, const SumStatistics& sums,
                                                  const Select& select) { explain(of, comparison, sums, select); });
    result_.backward = gradients.status;
    result_.backward_rows = std::move(gradients.rows);
    if (judges_dtypes) judge_gradient_dtypes(call, *options_.dialect, device.gradients, result_.backward_rows);
    if (traits_->random_zeros && !options_.compare.compat_msprobe) {
      const auto [output_is_sound, gradients_are_sound] = judge_dropout(op, call, benchmark, device, judges_dtypes);
      forward_by_chance = forward_by_chance || output_is_sound;
      gradients.shares_by_chance = gradients.shares_by_chance || gradients_are_sound;
    }
    shares_by_chance_ = forward_by_chance && gradients.shares_by_chance;
    result_.message = options_.dialect->result_message(result_);
  }

  // Only the functions of torch have namesakes: those of torch.linalg, whose module the newest dumps leave out.
  void add_namesake(const Evaluation& bench) {
    const std::string_view namesake = bench.notes.choices.namesake;
    if (namesake.empty() || options_.compare.compat_msprobe || !recorded_.name.starts_with("Torch.")) return;
    if (!result_.forward_rows.empty()) add_line(result_.forward_rows.front(), namesake);
  }

  void explain(CallCase& call_case, Comparison& comparison, const SumStatistics& sums, const Select& select) {
    refused_ = refused_tensors();
    try {
      if (&call_case == lowered_.first) lowered_.second->judge(select(lowered_.second->bench), comparison);
      judge(call_case, comparison, sums, select, options_.compare.compat_msprobe);
    } catch (const SkipError&) {
      // Where what it computes is too much work, the rows stay unexplained; where memory is short, nothing of the call
      // counts.
    }
    require_memory_for_judging();
  }

  // What is computed to judge a result goes on with less where a tensor is refused; the verdict, which would then
  // depend on the memory of the host, does not.
  void require_memory_for_judging() const {
    if (lacked_memory()) throw SkipError("Judging the results needs more memory than the call may take (--memory).");
  }

  // The documented comparison of a dropout looks at the shares of zeros alone. True for the output, and for the
  // gradients, if every value is one that a dropout may give.
  std::pair<bool, bool> judge_dropout(const Operator& op, const MaterialisedCall& call,
                                      const EvaluationOptions& benchmark, const DeviceResult& device,
                                      bool results_have_dtypes) {
    DropoutCheck::Verdict output;
    DropoutCheck::Verdict gradients;
    refused_ = refused_tensors();
    try {
      DropoutCheck dropout(op, call, benchmark, results_have_dtypes);
      if (result_.forward != Status::skip) output = dropout.of_output(device.output);
      if (result_.backward && *result_.backward != Status::skip) gradients = dropout.of_gradients(device.gradients);
    } catch (const SkipError&) {
      // Too much work leaves the values of a dropout unjudged; want of memory is told below.
    }
    require_memory_for_judging();
    // Without draws few elements prove as much as many.
    if (output.exact && result_.weak_evidence == WeakEvidence::nothing_compared)
      result_.weak_evidence = WeakEvidence::none;
    add_finding(result_.forward_rows, result_.forward, output.finding);
    add_finding(result_.backward_rows, result_.backward.value_or(Status::skip), gradients.finding);
    return {output.is_sound(), gradients.is_sound()};
  }

  // Whether -save_error_data keeps the tensors of a call, of whose result only the rows are there.
  bool keeps_tensors(const ApiResult& result, bool shares_by_chance) const {
    if (!options_.error_data) return false;
    ApiResult concluded = result;
    conclude_from_rows(concluded, shares_by_chance);
    return options_.dialect->keeps_error_data(concluded);
  }

  // Below the folder of error data. Several devices may check a call: the first has the place that it has in any run.
  std::string place_of_tensors() const {
    if (!options_.further_check) return options_.rank;
    return (options_.rank.empty() ? "" : options_.rank + "/") + error_data_device(result_.device);
  }

  // The verdict stands whether or not the tensors can be kept; who continues the run has them kept then.
  void save(const MaterialisedCall& call, const Evaluation& bench, const DeviceResult& device) {
    std::string problem;
    try {
      const Folder folder = folder_below(*options_.error_data, place_of_tensors());
      options_.dialect->save_error_data(folder, call, bench, device, result_);
      const std::string notice = options_.dialect->error_data_notice(folder, call);
      if (!notice.empty()) result_.message = notice;
      return;
    } catch (const std::bad_alloc&) {
      problem = "not enough memory";
    } catch (const std::exception& error) {
      problem = error.what();
    }
    result_.unsaved = "The tensors could not be saved in " + options_.error_data->path() + ": " + problem;
    if (!result_.unsaved.ends_with('.')) result_.unsaved += '.';
  }

  const ApiCall& recorded_;
  Device& device_;
  const CheckOptions& options_;
  ApiResult& result_;
  const OperatorTraits* traits_ = &ordinary_traits;  // of the call's operator, once that is found
  bool shares_by_chance_ = false;
  // Who judges by a lowered call, and which; none if autocast has lowered none.
  std::pair<const CallCase*, const LoweredCall*> lowered_;
  std::vector<std::string> notes_;             // on the tensor files of the call
  std::uint64_t refused_ = refused_tensors();  // before the step that runs now
};

// Reasons quote the recording and its files of tensors, either of which may be damaged.
ApiResult with_readable_messages(ApiResult result) {
  result.message = bounded(readable(std::move(result.message)));
  result.unsaved = bounded(readable(std::move(result.unsaved)));
  if (result.repeats) result.repeats->problem = bounded(readable(std::move(result.repeats->problem)));
  for (auto* rows : {&result.forward_rows, &result.backward_rows}) {
    for (DetailsRow& row : *rows) row.message = bounded(readable(std::move(row.message)));
  }
  return result;
}

}  // namespace

ApiResult check_api(const ApiCall& call, std::uint32_t task, Device& device, std::int32_t device_id,
                    const CheckOptions& options) {
  ApiResult result;
  result.task = task;
  result.name = call.name;
  result.device = device_id;
  result.tested_on = options.tested_on;
  std::string reason;
  Outcome outcome = Outcome::failed_to_run;
  Check check(call, device, options, result);
  try {
    if (options.overflow) {
      check_overflow(call, device, options, result);
    } else {
      check.run();
      conclude_from_rows(result, check.shares_by_chance());
      if (is_suspicious(result) && !options.compare.compat_msprobe) {
        if (DetailsRow* const row = blamed_row(result)) {
          if (row != result.forward_rows.data() && !check.notes().empty()) add_line(*row, check.notes());
          note_damaged_files(call, options.materialise, *row);
        }
      }
    }
    return with_readable_messages(std::move(result));
  } catch (const SkipError& error) {
    reason = error.what();
    if (!check.lacked_memory()) outcome = Outcome::not_checkable;
    if (const std::string notes = check.notes(); !notes.empty()) reason += " " + notes;
  } catch (const NoTensorMemory& error) {
    reason = error.what();
  } catch (const DeviceError& error) {
    reason = error.what();
  } catch (const std::bad_alloc&) {
    reason = "Not enough memory to run the call.";
  } catch (const std::exception& error) {
    // Our own mistake; the other calls are not to suffer from it.
    reason = std::string("Internal error: ") + error.what();
  }
  if (reason.empty()) reason = "The call could not be run.";
  ApiResult skipped = skip_result(task, call.name, reason, outcome);
  options.dialect->complete_skip(skipped, true, call.has_backward);
  skipped.device = device_id;
  skipped.tested_on = options.tested_on;
  skipped.times = result.times;
  skipped.inputs = result.inputs;
  skipped.checksums = std::move(result.checksums);
  skipped.repeats = std::move(result.repeats);
  if (outcome == Outcome::failed_to_run) skipped.input_notes = input_notes(call);
  return with_readable_messages(std::move(skipped));
}

}  // namespace msrun
