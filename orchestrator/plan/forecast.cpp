#include "orchestrator/plan/forecast.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "kernels/api/call_codec.h"
#include "kernels/api/operators.h"

namespace msrun {
namespace {

// Seconds of one processor, near those with the least relative error of the calls of some twenty recordings.
constexpr double per_run = 0.011;  // start and end of a run
constexpr double per_result = 20e-6;
constexpr double per_call = 6e-6;
constexpr double per_backward = 11e-6;      // in addition
constexpr double per_product_call = 18e-6;  // in addition: binding, packing
constexpr double per_file = 15e-6;
constexpr double per_element = 3.2e-9;
constexpr double per_half_element = 2.5e-9;
constexpr double per_integer = 0.5e-9;        // and bool, which are neither raised nor differentiated
constexpr double per_large_element = 2.4e-9;  // in addition
constexpr double per_large_half_element = 0.9e-9;
constexpr double per_product = 0.044e-9;  // multiply-add, of each of the passes
constexpr double per_half_product = 0.0305e-9;
constexpr double large = 200e3;       // elements of a tensor that, with its copies, the caches do not hold
constexpr double device_share = 0.4;  // of a call's time: what each further run adds

struct ElementTime {
  double seconds = 0;  // of the elements, for an operator that is as fast as an addition
  double files = 0;
  bool half = false;
};

void add_elements(const Value& tree, const HostSlowness& slowness, ElementTime& time) {
  for_each_leaf(tree, [&](const Value& leaf) {
    const TensorSpec* spec = recorded_tensor(leaf);
    if (spec == nullptr) return;
    const double elements = recorded_elements(*spec);
    const DType dtype = parse_dtype(spec->dtype).value_or(DType::float32);
    const bool is_half = dtype == DType::float16 || dtype == DType::bfloat16;
    double price = slowness.elements * per_integer;
    if (is_half) {
      price = slowness.half_elements * (per_half_element + (elements < large ? 0 : per_large_half_element));
    } else if (is_floating(dtype) || is_complex(dtype)) {
      price = elements < large ? slowness.elements * per_element
                               : slowness.large_elements * (per_element + per_large_element);
    }
    time.seconds += price * elements;
    if (!spec->file().empty()) time.files += 1;
    time.half = time.half || is_half;
  });
}

}  // namespace

double Forecast::seconds(const ApiCall& call, double runs) const {
  ElementTime time;
  for (const Value& arg : call.args) add_elements(arg, slowness_, time);
  for (const auto& [key, value] : call.kwargs) add_elements(value, slowness_, time);
  const bool half = time.half;
  for (const Value& gradient : call.grad_inputs) add_elements(gradient, slowness_, time);
  const std::optional<ApiName> name = ApiName::parse(call.name);
  const OperatorTraits& traits = name ? traits_of(*name) : ordinary_traits;
  const bool multiplies = traits.multiply_adds != nullptr;
  double fixed = per_call + per_file * time.files;
  if (call.has_backward) fixed += per_backward;
  if (multiplies) fixed += per_product_call;
  double seconds = slowness_.calls * fixed;
  // How large the outputs are only their gradients tell.
  seconds += (call.has_backward || multiplies ? 1 : 2) * traits.element_work * time.seconds;
  if (multiplies) {
    const double passes = call.has_backward ? 3 : 1;
    const double price = half ? slowness_.half_products * per_half_product : slowness_.products * per_product;
    seconds += price * traits.multiply_adds(call.args) * passes;
  }
  seconds *= 1 + device_share * (runs - 1);
  return std::min(seconds, 1e12);
}

double Forecast::serial_seconds(double calls) const { return slowness_.calls * (per_run + per_result * calls); }

ApiCall planned_call(const PlanView& plan, std::uint32_t task) {
  ApiCall call = decode_call(plan.call(task));
  std::string_view gradients = plan.gradients(task);
  if (gradients.empty()) return call;
  call.has_backward = true;
  Value decoded = decode_value(gradients);
  if (const List* list = decoded.get<List>()) call.grad_inputs = *list;
  return call;
}

}  // namespace msrun
