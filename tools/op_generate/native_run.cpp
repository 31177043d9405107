#include "tools/op_generate/native_run.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/compare/bounds/rounding.h"
#include "kernels/compare/compare.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/io/files/paths.h"
#include "tools/op_generate/drawn_inputs.h"
#include "tools/op_generate/python_text.h"
#include "tools/op_generate/table.h"

namespace msrun::op_generate {

namespace {

std::string values_text(const Tensor& tensor) {
  std::string text;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    text += i == 0 ? "" : ", ";
    if (tensor.dtype() == DType::boolean) {
      text += tensor.int_item(i) != 0 ? "true" : "false";
    } else if (is_integer(tensor.dtype())) {
      text += std::to_string(tensor.int_item(i));
    } else {
      const double value = tensor.item(i);
      text += std::isnan(value)   ? "NaN"
              : std::isinf(value) ? (value < 0 ? "-Infinity" : "Infinity")
                                  : python_float(value);
    }
  }
  return text;
}

// The tensors that were built, as JSON, in the order of a script.
class Listing {
 public:
  void add(const BuiltCall& drawn) {
    std::size_t place = 0;
    for_each_input(drawn.call, [&](const Tensor& tensor) { add(tensor, drawn.names[place++]); });
  }

  std::string text() const { return "[\n" + text_ + "\n]\n"; }

 private:
  void add(const Tensor& tensor, const std::string& name) {
    std::string shape;
    for (const std::int64_t size : tensor.shape()) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    text_ += (text_.empty() ? "" : ",\n") + std::string("{\"name\": ") + json_literal(name) +
             ", \"dtype\": " + json_literal(torch_name(tensor.dtype())) + ", \"shape\": [" + shape +
             "], \"values\": [" + values_text(tensor) + "]}";
  }

  std::string text_;
};

// The call with other tensors in place of its arguments; the gradients of its outputs stay.
MaterialisedCall with_arguments(const MaterialisedCall& call, const std::function<Tensor(const Tensor&)>& change) {
  MaterialisedCall other = with_inputs(call, change);
  other.gradients = call.gradients;
  return other;
}

// A tensor of the benchmark, or the gradient of an output, raised as the script raises it.
Tensor raised(const Tensor& tensor, const CallPrecision& precision) {
  if (is_castable(tensor.dtype()) && precision.raised_to) return tensor.to(*precision.raised_to);
  if (is_half(tensor.dtype())) return tensor.to(DType::float32);
  if (tensor.dtype() == DType::complex64) return tensor.to(DType::complex128);
  return tensor.dtype() == DType::float32 ? tensor.to(DType::float64) : tensor;
}

// What a script compares: the output, or a list of the gradients that were asked for.
Value compared(const Operator& op, const MaterialisedCall& call) {
  Evaluation evaluation = evaluate(op, call, {});
  if (!call.backward.run) return std::move(evaluation.output);
  if (!evaluation.backward_problem.empty()) throw SkipError(evaluation.backward_problem);
  List wanted;
  for (std::size_t i = 0; i < evaluation.gradients.size() && i < call.requires_grad.size(); ++i) {
    if (call.requires_grad[i]) wanted.push_back(evaluation.gradients[i]);
  }
  return wanted;
}

// As under the autocast of the recorded call. Gradients have the dtypes of the arguments.
Value of_device(const Operator& op, const RecordedCase& recorded, const MaterialisedCall& call) {
  const std::optional<DType> casts_to = recorded.precision.casts_to;
  if (!casts_to) return compared(op, call);
  Value result = compared(op, with_arguments(call, [&](const Tensor& tensor) {
                            return is_castable(tensor.dtype()) ? tensor.to(*casts_to) : tensor;
                          }));
  List* gradients = call.backward.run ? result.get<List>() : nullptr;
  std::size_t place = 0;
  std::size_t wanted = 0;
  for_each_argument(call, [&](const Tensor& tensor) {
    if (gradients == nullptr || !call.requires_grad[place++] || wanted >= gradients->size()) return;
    Value& gradient = (*gradients)[wanted++];
    if (const Tensor* made = gradient.get<Tensor>()) gradient = made->to(tensor.dtype());
  });
  return result;
}

// The arguments are those that the device's operator is given: rounded where autocast lowers them.
Value of_benchmark(const Operator& op, const RecordedCase& recorded, const MaterialisedCall& call) {
  if (!recorded.raises) return compared(op, call);
  const CallPrecision& precision = recorded.precision;
  const bool lowers = precision.casts_to && precision.casts_to == precision.autocast;
  const MaterialisedCall rounded = with_arguments(call, [&](const Tensor& tensor) {
    return lowers && is_castable(tensor.dtype()) ? tensor.to(*precision.casts_to).to(tensor.dtype()) : tensor;
  });
  return compared(op, with_inputs(rounded, [&](const Tensor& tensor) { return raised(tensor, precision); }));
}

// Of gradients the dtype that each was computed in, where autocast has lowered its argument.
std::vector<std::optional<DType>> computed_dtypes(const RecordedCase& recorded, const MaterialisedCall& call) {
  std::vector<std::optional<DType>> dtypes;
  const CallPrecision& precision = recorded.precision;
  if (!call.backward.run || !precision.casts_to || precision.casts_to != precision.autocast) return dtypes;
  std::size_t place = 0;
  for_each_argument(call, [&](const Tensor& tensor) {
    if (!call.requires_grad[place++]) return;
    dtypes.push_back(is_castable(tensor.dtype()) ? precision.casts_to : std::nullopt);
  });
  return dtypes;
}

// A table is judged by its standard alone; a pre-check looks at the cosine and the largest absolute error first, and
// passes sums that cancel, whose relative errors are large. Of what it does not pass it asks whether rounding explains
// it: the last place of a bfloat16 is more than a thousandth. index: of the table,
// empty or "1".
void tell_what_is_no_fault(const Operator& op, const RecordedCase& recorded, const Value& device, const Value& bench,
                           const std::string& index, const NativeRun& run) {
  const List* list = device.get<List>();
  const List* other = bench.get<List>();
  for (std::size_t i = 0; list != nullptr && other != nullptr && i < std::min(list->size(), other->size()); ++i) {
    const std::string place = index.empty() ? std::to_string(i) : index + "." + std::to_string(i);
    tell_what_is_no_fault(op, recorded, (*list)[i], (*other)[i], place, run);
  }
  const Tensor* tensor = device.get<Tensor>();
  if (tensor == nullptr || !bench.is<Tensor>() || !is_floating(tensor->dtype())) return;
  if (comparison_text(device, bench, recorded.standard).find("| error ") == std::string::npos) return;
  const Comparison judged = compare_outputs(recorded.name, op.traits(), bench, device, false, {}, nullptr);
  const std::string subject = (index.empty() ? "" : "index " + index + ": ") + "the standard calls it an error; ";
  if (judged.status == Status::pass) {
    run.report(subject + "a pre-check passes it, because its largest absolute error is below 0.001.");
    return;
  }
  const Tensor& expected = *bench.get<Tensor>();
  if (expected.shape() != tensor->shape() || !is_floating(expected.dtype())) return;
  ErrorBudget budget;
  budget.longest = 1;
  if (is_acceptable(fit_rounding(expected, *tensor, budget), tensor->numel())) {
    run.report(subject + "rounding to " + std::string(torch_name(tensor->dtype())) +
               " explains it, and nothing speaks against it.");
  }
}

}  // namespace

void run_natively(const RecordedCase& recorded, const NativeRun& run, std::ostream& out) try {
  const Operator* op = operator_of(recorded.type, recorded.api);
  if (op == nullptr) throw UserError("msrun has no operator for " + recorded.type + "." + recorded.api + ".");
  DrawnInputs inputs(recorded, run.seed_mode, run.report);
  Listing listing;
  std::int64_t unknown = 0;
  for (std::int64_t i = 0; i < recorded.iterations; ++i) {
    out << "iter: " << i << ":\n";
    const BuiltCall drawn = inputs.next();
    if (!run.inputs_path.empty()) listing.add(drawn);
    const Value device = of_device(*op, recorded, drawn.call);
    const Value bench = of_benchmark(*op, recorded, drawn.call);
    const ComparedOutputs found =
        compared_results(device, bench, recorded.standard, computed_dtypes(recorded, drawn.call));
    out << "Compare result:\n" << found.text;
    unknown += found.unknown;
    tell_what_is_no_fault(*op, recorded, device, bench, "", run);
  }
  if (unknown > 0) out << nan_notice(unknown);
  out << "Compare finished.\n";
  if (run.inputs_path.empty()) return;
  AtomicFile file(run.inputs_path);
  file.write(listing.text());
  file.commit();
} catch (const SkipError& error) {
  throw UserError(recorded.key() + " cannot be run: " + error.what());
}

}  // namespace msrun::op_generate
