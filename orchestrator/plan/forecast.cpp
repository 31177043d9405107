#include "orchestrator/plan/forecast.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <string_view>

#include "kernels/api/call_codec.h"
#include "kernels/api/operators.h"
#include "kernels/base/clock.h"

namespace msrun {
namespace {

// Seconds, fitted by non-negative least squares of the relative error.
constexpr double per_run = 0.0157;         // start and end of a run
constexpr double per_call = 20e-6;         // whatever it is
constexpr double per_backward = 170e-6;    // in addition
constexpr double per_element = 1.5e-9;     // of the arguments, of a call with a backward
constexpr double per_lone_element = 8e-9;  // of a call without, for which the outputs are not known
constexpr double per_gradient = 34e-9;     // element of the outputs' gradients
constexpr double per_product = 0.165e-9;   // multiply-add, of each of the passes
constexpr double per_half_product = 0.062e-9;
constexpr double per_file = 51e-6;
constexpr double probe_seconds = 0.0026;  // of the probe
constexpr double device_share = 0.4;      // of a call's time: what each further run adds

struct Volume {
  double elements = 0;
  double files = 0;
  bool half = false;
};

void add_volume(const Value& tree, Volume& volume) {
  for_each_leaf(tree, [&](const Value& leaf) {
    const auto* spec = leaf.get<std::shared_ptr<const TensorSpec>>();
    if (spec == nullptr) return;
    volume.elements += recorded_elements(**spec);
    if (!(*spec)->file().empty()) volume.files += 1;
    const std::optional<DType> dtype = parse_dtype((*spec)->dtype);
    volume.half = volume.half || dtype == DType::float16 || dtype == DType::bfloat16;
  });
}

// Arithmetic that takes as long for any state but 0.
std::uint64_t probe(std::uint64_t state) {
  double sum = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    sum += static_cast<double>(state >> 11) * 0x1p-53;
  }
  return (state ^ std::bit_cast<std::uint64_t>(sum)) | 1;
}

}  // namespace

double Forecast::seconds(const ApiCall& call, double runs) const {
  Volume inputs;
  Volume gradients;
  for (const Value& arg : call.args) add_volume(arg, inputs);
  for (const auto& [key, value] : call.kwargs) add_volume(value, inputs);
  for (const Value& gradient : call.grad_inputs) add_volume(gradient, gradients);
  const std::optional<ApiName> name = ApiName::parse(call.name);
  const OperatorTraits& traits = name ? traits_of(*name) : ordinary_traits;
  double seconds =
      per_call + per_file * (inputs.files + gradients.files) + per_gradient * gradients.elements +
      (call.has_backward ? per_backward + per_element * inputs.elements : per_lone_element * inputs.elements);
  if (traits.multiply_adds != nullptr) {
    const double passes = call.has_backward ? 3 : 1;
    seconds += (inputs.half ? per_half_product : per_product) * traits.multiply_adds(call.args) * passes;
  }
  seconds *= slowness_ * (1 + device_share * (runs - 1));
  return std::min(seconds, 1e12);
}

double Forecast::start_seconds() const { return per_run * slowness_; }

ApiCall planned_call(const PlanView& plan, std::uint32_t task) {
  ApiCall call = decode_call(plan.call(task));
  std::string_view gradients = plan.gradients(task);
  if (gradients.empty()) return call;
  call.has_backward = true;
  Value decoded = decode_value(gradients);
  if (const List* list = decoded.get<List>()) call.grad_inputs = *list;
  return call;
}

double measured_slowness() {
  // Volatile, so that no compiler knows what comes out. Once for the caches and the processor's clock.
  volatile std::uint64_t state = 0x9E3779B97F4A7C15;
  state = probe(state);
  std::array<double, 40> seconds{};
  for (double& one : seconds) {
    const double start = steady_seconds();
    state = probe(state);
    one = steady_seconds() - start;
  }
  // The mean, because what else the machine does slows down the run, too; but for the few in which it did most.
  constexpr std::size_t kept = seconds.size() - seconds.size() / 10;
  std::ranges::sort(seconds);
  const double sum = std::accumulate(seconds.begin(), seconds.begin() + kept, 0.0);
  return std::clamp(sum / kept / probe_seconds, 0.05, 100.0);
}

}  // namespace msrun
