#include "orchestrator/session/host_slowness.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/base/clock.h"
#include "runner/check/check.h"
#include "runner/device/sim/sim.h"

namespace msrun {
namespace {

Value tensor(const char* dtype, std::vector<std::int64_t> shape) {
  auto spec = std::make_shared<TensorSpec>();
  spec->dtype = dtype;
  spec->shape = std::move(shape);
  spec->max = 4.0;
  spec->min = -4.0;
  spec->requires_grad = true;
  return std::shared_ptr<const TensorSpec>(std::move(spec));
}

// A call with two square matrices, and with the gradient of their sum or product.
ApiCall call_of(const char* name, const char* dtype, std::int64_t size) {
  ApiCall call;
  call.name = name;
  call.args = {tensor(dtype, {size, size}), tensor(dtype, {size, size})};
  call.output_dtype = dtype;
  call.has_backward = true;
  call.grad_inputs = {tensor(dtype, {size, size})};
  return call;
}

// One kind of work: a call of which it is nearly all, and how long a check of it takes on the machine that the prices
// were fitted on.
struct Probe {
  double HostSlowness::*kind;
  const char* name;
  const char* dtype;
  std::int64_t size;
  int checks;  // in a round
  double seconds;
};
constexpr int rounds = 4;
constexpr std::array probes{
    Probe{&HostSlowness::calls, "Torch.add.0", "torch.float32", 4, 30, 11.9e-6},
    Probe{&HostSlowness::elements, "Torch.add.0", "torch.float32", 128, 5, 145e-6},
    Probe{&HostSlowness::large_elements, "Torch.add.0", "torch.float32", 512, 1, 2.8e-3},
    Probe{&HostSlowness::half_elements, "Torch.add.0", "torch.bfloat16", 256, 2, 444e-6},
    Probe{&HostSlowness::products, "Torch.matmul.0", "torch.float32", 192, 1, 1.40e-3},
    Probe{&HostSlowness::half_products, "Torch.matmul.0", "torch.bfloat16", 224, 1, 1.32e-3},
};

// The fastest of some rounds of every kind, after one that finds memory and code for the first time: what else the host
// does at this moment says little about the hours of a run. The rounds of a kind do not follow one another, so that a
// short disturbance is not in all of them.
HostSlowness slowness_of_this_thread() {
  const std::unique_ptr<Device> device = make_sim_device({});
  const CheckOptions options;
  std::array<double, probes.size()> fastest{};
  for (int round = 0; round <= rounds; ++round) {
    for (std::size_t i = 0; i < probes.size(); ++i) {
      const Probe& probe = probes[i];
      const ApiCall call = call_of(probe.name, probe.dtype, probe.size);
      const int checks = round == 0 ? 1 : probe.checks;
      const double start = steady_seconds();
      for (int check = 0; check < checks; ++check) check_api(call, 0, *device, 0, options);
      const double seconds = (steady_seconds() - start) / checks;
      fastest[i] = round <= 1 ? seconds : std::min(fastest[i], seconds);
    }
  }
  HostSlowness slowness;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    slowness.*probes[i].kind = std::clamp(fastest[i] / probes[i].seconds, 0.01, 1000.0);
  }
  return slowness;
}

}  // namespace

HostSlowness measured_slowness(std::size_t threads) {
  std::vector<HostSlowness> measured(std::max<std::size_t>(threads, 1));
  std::size_t begun = 1;
  {
    std::vector<std::jthread> others;
    try {
      for (; begun < measured.size(); ++begun) {
        others.emplace_back([&slowness = measured[begun]] { slowness = slowness_of_this_thread(); });
      }
    } catch (const std::system_error&) {
      // The host has no more threads; what those tell that there are is near enough.
    }
    measured.front() = slowness_of_this_thread();
  }
  HostSlowness mean;
  for (const Probe& probe : probes) {
    double sum = 0;
    for (std::size_t i = 0; i < begun; ++i) sum += measured[i].*probe.kind;
    mean.*probe.kind = sum / static_cast<double>(begun);
  }
  return mean;
}

}  // namespace msrun
