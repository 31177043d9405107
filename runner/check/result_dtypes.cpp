#include "runner/check/result_dtypes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "kernels/base/error.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/tensor/memory.h"
#include "runner/check/checksums.h"
#include "runner/device/device.h"
#include "runner/judge/row_lines.h"

namespace msrun {
namespace {

void mark(DetailsRow& row, const char* what, DType found, DType expected) {
  make_suspicious(row, text_of_other_dtype(what, found, expected));
}

// The dtypes of floating arguments, and those that the call names.
std::set<DType> floating_dtypes(const MaterialisedCall& call) {
  std::set<DType> found;
  const auto see = [&](const Value& leaf) {
    if (const auto* tensor = leaf.get<Tensor>()) found.insert(tensor->dtype());
    if (const auto* dtype = leaf.get<DType>()) found.insert(*dtype);
  };
  for_each_leaf(call.args, see);
  for (const auto& [key, value] : call.kwargs) for_each_leaf(value, see);
  std::erase_if(found, [](DType dtype) { return !is_floating(dtype); });
  return found;
}

// What dtype a floating output of a call has as a rule.
class PlainDTypes {
 public:
  PlainDTypes(const MaterialisedCall& call, const OperatorTraits& traits) : of_arguments_(floating_dtypes(call)) {
    for (const Value& form : leaves({compared_output(call.output_forms, traits)})) {
      const TensorSpec* spec = recorded_tensor(form);
      recorded_.push_back(spec == nullptr ? std::nullopt : parse_dtype(spec->dtype));
    }
    if (recorded_.empty()) recorded_.push_back(parse_dtype(call.output_dtype));
  }

  bool contains(std::size_t output, DType found) const {
    const bool is_recorded = output < recorded_.size() && recorded_[output];
    return is_recorded ? found == *recorded_[output] : of_arguments_.contains(found);
  }

 private:
  std::set<DType> of_arguments_;
  std::vector<std::optional<DType>> recorded_;  // of the outputs that are compared
};

// The tensors of the outputs that are compared, evaluated in the call's own dtypes; empty if there is no memory for it.
List own_outputs(const Operator& op, MaterialisedCall call) {
  call.backward.run = false;
  try {
    return leaves({compared_output(evaluate(op, call, {}).output, op.traits())});
  } catch (const SkipError&) {
    return {};
  } catch (const NoTensorMemory&) {
    return {};
  }
}

}  // namespace

std::string text_of_other_dtype(const char* what, DType found, DType expected) {
  return std::string(what) + " has the dtype " + std::string(name(found)) + " in place of " +
         std::string(name(expected)) + ".";
}

void judge_as_cast(const MaterialisedCall& call, const OperatorTraits& traits, Comparison& gradients) {
  const std::optional<DType> computed_in = autocast_casts_to(call, traits);
  if (!computed_in || !is_half(*computed_in)) return;
  for (Comparison::Pair& pair : gradients.pairs) {
    if (pair.device.defined() && pair.device.dtype() == DType::float32) pair.device = pair.device.to(*computed_in);
  }
}

bool computed_in_float32(const MaterialisedCall& call) {
  std::optional<DType> with_axes;
  bool yields = false;
  for_each_argument(call, [&](const Tensor& tensor) {
    if (!is_floating(tensor.dtype())) return;
    if (tensor.rank() > 0) with_axes = with_axes ? promote(*with_axes, tensor.dtype()) : tensor.dtype();
    yields = yields || (tensor.rank() == 0 && tensor.dtype() == DType::float64);
  });
  return yields && with_axes == DType::float32;
}

void judge_output_dtypes(const Operator& op, const MaterialisedCall& call, Comparison& forward) {
  const PlainDTypes plain(call, op.traits());
  const auto is_plain = [&](std::size_t output, DType found, DType bench) {
    return is_floating(found) ? plain.contains(output, found) : found == bench;
  };
  std::optional<List> own;
  for (std::size_t i = 0; i < forward.rows.size() && i < forward.pairs.size(); ++i) {
    const auto& [bench, device] = forward.pairs[i];
    // Without elements there is nothing to compare, but a dtype all the same.
    const bool skipped = forward.rows[i].status == Status::skip && device.numel() > 0;
    if (skipped || !bench.defined() || !device.defined()) continue;
    const DType found = device.dtype();
    if (is_plain(i, found, bench.dtype())) continue;
    if (!own) own = own_outputs(op, call);
    const Tensor* expected = own->size() == forward.rows.size() ? (*own)[i].get<Tensor>() : nullptr;
    if (expected != nullptr && expected->dtype() != found)
      mark(forward.rows[i], "the result", found, expected->dtype());
  }
}

bool has_plain_dtypes(const OperatorTraits& traits, const MaterialisedCall& call, const DeviceResult& device) {
  const PlainDTypes plain(call, traits);
  const std::vector<Value> outputs = leaves({compared_output(device.output, traits)});
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor* tensor = outputs[i].get<Tensor>();
    if (tensor != nullptr && is_floating(tensor->dtype()) && !plain.contains(i, tensor->dtype())) return false;
  }
  std::vector<DType> arguments;
  for_each_argument(call, [&](const Tensor& tensor) { arguments.push_back(tensor.dtype()); });
  for (std::size_t i = 0; i < std::min(arguments.size(), device.gradients.size()); ++i) {
    const Tensor* gradient = device.gradients[i].get<Tensor>();
    if (gradient != nullptr && gradient->dtype() != arguments[i]) return false;
  }
  return true;
}

void judge_gradient_dtypes(const MaterialisedCall& call, const Dialect& dialect, const List& gradients,
                           std::vector<DetailsRow>& rows) {
  List arguments;
  for_each_argument(call, [&](const Tensor& tensor) { arguments.emplace_back(tensor); });
  if (arguments.size() != gradients.size()) return;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].is<Tensor>()) arguments[i] = Value();
  }
  List found = dialect.compared_gradients(call, gradients, false);
  List expected = dialect.compared_gradients(call, arguments, false);
  // An argument without a gradient has a row, unless no row is of one.
  if (found.size() != rows.size()) {
    for (List* list : {&found, &expected}) std::erase_if(*list, [](const Value& value) { return !value.is<Tensor>(); });
  }
  if (found.size() != rows.size() || expected.size() != rows.size()) return;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Tensor* gradient = found[i].get<Tensor>();
    const Tensor* argument = expected[i].get<Tensor>();
    if (gradient == nullptr || argument == nullptr || rows[i].status == Status::skip) continue;
    if (gradient->dtype() != argument->dtype()) mark(rows[i], "the gradient", gradient->dtype(), argument->dtype());
  }
}

}  // namespace msrun
