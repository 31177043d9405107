#include "tools/op_generate/native_run.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <ostream>

#include "kernels/api/operators.h"
#include "kernels/base/error.h"
#include "kernels/compare/compare.h"
#include "kernels/compare/rounding.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/io/files/paths.h"
#include "kernels/io/numpy/npy.h"
#include "kernels/io/torch/pt_file.h"
#include "kernels/numeric/sums.h"
#include "tools/op_generate/python_text.h"
#include "tools/op_generate/script.h"
#include "tools/op_generate/table.h"

namespace msrun::op_generate {

namespace {

double least_of(DType dtype) {
  if (is_floating(dtype)) return -max_finite(dtype);
  return visit_dtype(dtype, [](auto zero) -> double {
    if constexpr (std::is_integral_v<decltype(zero)>) {
      return static_cast<double>(std::numeric_limits<decltype(zero)>::min());
    } else {
      return 0;
    }
  });
}

double most_of(DType dtype) {
  if (is_floating(dtype)) return max_finite(dtype);
  return visit_dtype(dtype, [](auto zero) -> double {
    if constexpr (std::is_integral_v<decltype(zero)>) {
      return static_cast<double>(std::numeric_limits<decltype(zero)>::max());
    } else {
      return 0;
    }
  });
}

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

// Builds the tensors of a call in the order of a script, and lists them.
class InputBuilder {
 public:
  InputBuilder(const RecordedCase& recorded, const NativeRun& run)
      : recorded_(recorded), run_(run), stream_(static_cast<std::uint32_t>(recorded.seed)) {}

  MaterialisedCall call(std::int64_t iteration) {
    iteration_ = iteration;
    MaterialisedCall call;
    call.name = recorded_.name;
    call.parts = {recorded_.type, recorded_.api, recorded_.name.substr(recorded_.name.rfind('.') + 1)};
    call.autocast = false;
    for (std::size_t i = 0; i < recorded_.args.size(); ++i) {
      call.args.push_back(value(recorded_.args[i], indexed_name("arg", i), call.requires_grad));
    }
    for (const auto& [key, recorded_value] : recorded_.kwargs) {
      call.kwargs.emplace_back(key, value(recorded_value, "kwarg_" + key, call.requires_grad));
    }
    std::vector<bool> ignored;
    for (std::size_t i = 0; i < recorded_.gradients.size(); ++i) {
      call.gradients.push_back(value(recorded_.gradients[i], indexed_name("arg", i), ignored));
    }
    call.backward.run = recorded_.propagation == Direction::backward;
    return call;
  }

  std::string listing() const { return "[\n" + listing_ + "\n]\n"; }

 private:
  Value value(const Value& recorded, const std::string& name, std::vector<bool>& requires_grad) {
    if (const List* list = recorded.get<List>()) {
      List result;
      for (std::size_t i = 0; i < list->size(); ++i) {
        result.push_back(value((*list)[i], indexed_name(name, i), requires_grad));
      }
      return result;
    }
    if (const Dict* dict = recorded.get<Dict>()) {
      Dict result;
      for (const auto& [key, entry] : *dict) result.emplace_back(key, value(entry, name + "_" + key, requires_grad));
      return result;
    }
    const TensorSpec* spec = recorded_tensor(recorded);
    if (spec == nullptr) return recorded;
    const Tensor tensor = build(*spec, name);
    requires_grad.push_back(spec->requires_grad && is_floating(tensor.dtype()));
    list_tensor(tensor, name);
    return tensor;
  }

  Tensor build(const TensorSpec& spec, const std::string& name) {
    const std::optional<DType> dtype = parse_dtype(spec.dtype);
    if (recorded_.data_mode == DataMode::real_data && !spec.data_path.empty()) return load(spec, dtype);
    if (!dtype || is_complex(*dtype) || is_float8(*dtype)) throw UserError(spec.dtype + " is not supported!");
    if (element_count(spec.shape) == 0) return Tensor::zeros(*dtype, spec.shape);
    if (!spec.max || !spec.min) {
      run_.report(name + ": no range was recorded; all its values are 0.");
      return Tensor::zeros(*dtype, spec.shape);
    }
    ValueRange range{spec.min, spec.max, {}, {}};
    if (*dtype == DType::boolean) {
      range.min = finite(*spec.min, 0, name + " Min");
      range.max = finite(*spec.max, 1, name + " Max");
    } else {
      const auto [low, high] = numbers(*spec.min, *spec.max, *dtype, name);
      range.min = bound(low, *dtype, least_of(*dtype), name + " Min");
      range.max = bound(high, *dtype, most_of(*dtype), name + " Max");
    }
    if (is_integer(*dtype) && *range.min > *range.max) {
      run_.report(name + ": Min is greater than Max; they were exchanged.");
      std::swap(range.min, range.max);
    }
    if (run_.seed_mode == SeedMode::stream) {
      // Where torch's own steps would give infinity, scripts interpolate as RangeRule::finite does.
      const bool overflows = is_floating(*dtype) && !(std::abs(*range.max - *range.min) <= max_finite(*dtype));
      return random_tensor(*dtype, spec.shape, range, stream_, overflows ? RangeRule::finite : RangeRule::torch);
    }
    Philox words(random_key(static_cast<std::uint64_t>(recorded_.seed + iteration_), recorded_.name, name));
    return random_tensor(*dtype, spec.shape, range, words, RangeRule::finite);
  }

  // What a tensor held that overflowed says nothing of what the call was made for, and numbers at the end of the range
  // would overflow on the side that is less precise alone.
  std::pair<double, double> numbers(double low, double high, DType dtype, const std::string& name) const {
    if (!is_floating(dtype) || (std::isfinite(low) && std::isfinite(high))) return {low, high};
    double reach = 1;
    for (const double bound : {low, high}) {
      if (std::isfinite(bound)) reach = std::min(2 * std::max(reach, std::abs(bound)), most_of(dtype));
    }
    low = finite(low, -reach, name + " Min");
    return {low, finite(high, reach, name + " Max")};
  }

  double finite(double bound, double instead, const std::string& name) const {
    if (std::isfinite(bound)) return bound;
    run_.report(name + ": " + python_float(bound) + " says nothing of the range; " + python_float(instead) +
                " is taken in its place.");
    return instead;
  }

  double bound(double value, DType dtype, double limit, const std::string& name) const {
    if (std::isfinite(value) && value >= least_of(dtype) && value <= most_of(dtype)) return value;
    run_.report(name + ": " + python_float(value) + " lies outside of the range of the dtype; " + python_float(limit) +
                " is taken in its place.");
    return limit;
  }

  Tensor load(const TensorSpec& spec, std::optional<DType> dtype) const {
    const std::string& path = spec.data_path;
    std::error_code error;
    if (!std::filesystem::exists(path, error)) throw UserError("ERROR: The file path " + path + " does not exist.");
    if (!path.ends_with(".npy")) return read_pt(path);
    const Tensor tensor = read_npy(path);
    return dtype ? tensor.to(*dtype) : tensor;
  }

  void list_tensor(const Tensor& tensor, const std::string& name) {
    if (run_.inputs_path.empty()) return;
    std::string shape;
    for (const std::int64_t size : tensor.shape()) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    listing_ += (listing_.empty() ? "" : ",\n") + std::string("{\"name\": ") + string_literal(name) +
                ", \"dtype\": " + string_literal(torch_name(tensor.dtype())) + ", \"shape\": [" + shape +
                "], \"values\": [" + values_text(tensor) + "]}";
  }

  const RecordedCase& recorded_;
  const NativeRun& run_;
  MersenneTwister stream_;
  std::int64_t iteration_ = 0;
  std::string listing_;
};

Tensor raised(const Tensor& tensor) {
  if (is_half(tensor.dtype())) return tensor.to(DType::float32);
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

// A table is judged by its standard alone; a pre-check looks at the cosine and the largest absolute error first, and
// passes sums that cancel, whose relative errors are large. Of what it does not pass it asks whether rounding explains
// it: the last place of a bfloat16 is more than a thousandth. longest: terms of the longest sum. index: of the table,
// empty or "1".
void tell_what_is_no_fault(const Operator& op, const RecordedCase& recorded, const Value& device, const Value& bench,
                           std::int64_t longest, const std::string& index, const NativeRun& run) {
  const List* list = device.get<List>();
  const List* other = bench.get<List>();
  for (std::size_t i = 0; list != nullptr && other != nullptr && i < std::min(list->size(), other->size()); ++i) {
    const std::string place = index.empty() ? std::to_string(i) : index + "." + std::to_string(i);
    tell_what_is_no_fault(op, recorded, (*list)[i], (*other)[i], longest, place, run);
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
  SumModel model;
  model.longest = longest;
  if (is_acceptable(fit_rounding(expected, *tensor, model), tensor->numel())) {
    run.report(subject + "rounding to " + std::string(torch_name(tensor->dtype())) +
               " explains it, and nothing speaks against it.");
  }
}

}  // namespace

void run_natively(const RecordedCase& recorded, const NativeRun& run, std::ostream& out) try {
  const Operator* op = operator_of(recorded.type, recorded.api);
  if (op == nullptr) throw UserError("msrun has no operator for " + recorded.type + "." + recorded.api + ".");
  InputBuilder inputs(recorded, run);
  for (std::int64_t i = 0; i < recorded.iterations; ++i) {
    out << "iter: " << i << ":\n";
    const MaterialisedCall call = inputs.call(i);
    const Value device = compared(*op, call);
    const SumRecorder sums;
    const Value bench = compared(*op, recorded.raises ? with_inputs(call, raised) : call);
    out << "Compare result:\n" << comparison_text(device, bench, recorded.standard);
    tell_what_is_no_fault(*op, recorded, device, bench, sums.seen().longest, "", run);
  }
  out << "Compare finished.\n";
  if (run.inputs_path.empty()) return;
  AtomicFile file(run.inputs_path);
  file.write(inputs.listing());
  file.commit();
} catch (const SkipError& error) {
  throw UserError(recorded.key() + " cannot be run: " + error.what());
}

}  // namespace msrun::op_generate
