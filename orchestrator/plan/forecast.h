// How long the calls of a plan will take: for --dry-run.
#pragma once

#include <cstdint>

#include "kernels/api/api_call.h"
#include "runner/shared/plan_view.h"

namespace msrun {

// How many times as long as the machine that the prices were fitted on another one takes, by what it does. Processors
// differ in each: vectors became wider, clocks hardly faster.
struct HostSlowness {
  double calls = 1;           // what a call takes whatever its size: tensors made, operators bound, rows written
  double elements = 1;        // of wider dtypes than half, in tensors that the caches hold
  double large_elements = 1;  // in tensors that they do not
  double half_elements = 1;
  double products = 1;       // multiply-adds of float32, whose benchmark is float64
  double half_products = 1;  // of half types, whose benchmark is float32
};

// A sum of what was measured: a call, its elements, its multiply-adds and its files each have a price, in seconds of
// one processor of the machine that they were fitted on (docs/ci.md). Other devices than the simulated one are taken to
// be as fast as it is.
class Forecast {
 public:
  explicit Forecast(const HostSlowness& slowness = {}) : slowness_(slowness) {}

  // Seconds of a call, with the gradients of its outputs, whose device runs it so many times.
  double seconds(const ApiCall& call, double runs = 1) const;
  // Seconds of what no other thread helps with: the start, the results of so many calls and the end of a run.
  double serial_seconds(double calls) const;

 private:
  HostSlowness slowness_;
};

// A call of the plan as it would run, with the gradients of its outputs.
ApiCall planned_call(const PlanView& plan, std::uint32_t task);

}  // namespace msrun
