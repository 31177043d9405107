#include "runner/check/recorded_form.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/evaluate/precision.h"
#include "kernels/tensor/memory.h"
#include "runner/check/checksums.h"

namespace msrun {
namespace {

// The call's outputs in its own dtypes, or with a number in place of every element of its tensors; nothing where it
// cannot be evaluated so.
std::optional<List> outputs_of(const Operator& op, MaterialisedCall call, std::optional<double> every_element) {
  call.backward.run = false;
  if (every_element) {
    call = with_inputs(
        call, [&](const Tensor& tensor) { return Tensor::full(tensor.dtype(), tensor.shape(), *every_element); });
  }
  try {
    return leaves({compared_output(evaluate(op, call, {}).output, op.traits())});
  } catch (const SkipError&) {
    return std::nullopt;
  } catch (const NoTensorMemory&) {
    return std::nullopt;
  }
}

const Tensor* tensor_at(const List& values, std::size_t place) {
  return place < values.size() ? values[place].get<Tensor>() : nullptr;
}

// Whether the shape of an output is another one for other data: how many elements are not zero, say.
bool depends_on_data(const ComputedForms& forms, std::size_t place, const Dims& shape) {
  for (const double number : {0.0, 1.0}) {
    const std::optional<List> others = outputs_of(forms.op, forms.call, number);
    const Tensor* other = others ? tensor_at(*others, place) : nullptr;
    if (other != nullptr && other->shape() != shape) return true;
  }
  return false;
}

bool has_shape(const TensorSpec& recorded, const Tensor& tensor, const OperatorTraits& traits) {
  const bool adds_axis = traits.may_add_axis && tensor.rank() == 0 && recorded.shape == std::vector<std::int64_t>{1};
  return adds_axis || std::ranges::equal(recorded.shape, tensor.shape());
}

// How wide indices are differs from kernel to kernel.
bool are_widths_of_indices(DType a, DType b) {
  const auto is_index = [](DType dtype) { return dtype == DType::int32 || dtype == DType::int64; };
  return is_index(a) && is_index(b);
}

// Whether autocast may have made results of the dtype. What it makes of the steps inside an operator depends on the
// device, but where it casts to float32 no half type comes of arguments in float32.
bool may_be_of_autocast(const MaterialisedCall& call, const OperatorTraits& traits, DType dtype) {
  const std::optional<DType> cast = autocast_casts_to(call, traits);
  if (!cast || !is_floating(dtype)) return false;
  bool any_half = cast != DType::float32 || !is_half(dtype);
  for_each_argument(call, [&](const Tensor& tensor) { any_half = any_half || is_half(tensor.dtype()); });
  return any_half;
}

std::string text_of(std::size_t place, const char* what, const std::string& recorded, const std::string& computed) {
  return "Not the call that was recorded: output " + std::to_string(place) + " has the " + what + " " + recorded +
         " in the recording, and " + computed +
         " by the recorded arguments. An argument was not recorded, or parts of tensors were.";
}

}  // namespace

bool has_recorded_shapes(const OperatorTraits& traits, const List& recorded, const Value& results) {
  const List forms = leaves({compared_output(recorded, traits)});
  const List computed = leaves({compared_output(results, traits)});
  for (std::size_t i = 0; i < std::min(forms.size(), computed.size()); ++i) {
    const TensorSpec* spec = recorded_tensor(forms[i]);
    const Tensor* tensor = computed[i].get<Tensor>();
    if (spec != nullptr && tensor != nullptr && !has_shape(*spec, *tensor, traits)) return false;
  }
  return true;
}

std::string contradiction(const ComputedForms& forms) {
  const OperatorTraits& traits = forms.op.traits();
  const List all_recorded = leaves({compared_output(forms.recorded, traits)});
  const List computed = leaves({compared_output(forms.bench, traits)});
  const List of_device = forms.device == nullptr ? List{} : leaves({compared_output(*forms.device, traits)});
  std::optional<List> own;
  for (std::size_t i = 0; i < std::min(all_recorded.size(), computed.size()); ++i) {
    const TensorSpec* recorded = recorded_tensor(all_recorded[i]);
    const Tensor* bench = computed[i].get<Tensor>();
    if (recorded == nullptr || bench == nullptr) continue;
    if (!has_shape(*recorded, *bench, traits) && !depends_on_data(forms, i, bench->shape()))
      return text_of(i, "shape", tuple_text(recorded->shape), tuple_text(bench->shape()));
    const std::optional<DType> dtype = parse_dtype(recorded->dtype);
    const Tensor* device = tensor_at(of_device, i);
    // A device that gives the recorded dtype has been given the recorded call.
    if (!dtype || device == nullptr || device->dtype() == *dtype) continue;
    if (may_be_of_autocast(forms.call, traits, *dtype)) continue;
    if (!own) own = outputs_of(forms.op, forms.call, std::nullopt).value_or(List{});
    const Tensor* expected = tensor_at(*own, i);
    if (expected != nullptr && expected->dtype() != *dtype && !are_widths_of_indices(expected->dtype(), *dtype))
      return text_of(i, "dtype", std::string(name(*dtype)), std::string(name(expected->dtype())));
  }
  return {};
}

}  // namespace msrun
