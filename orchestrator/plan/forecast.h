// How long the calls of a plan will take: for --dry-run.
#pragma once

#include <cstdint>

#include "kernels/api/api_call.h"
#include "runner/shared/plan_view.h"

namespace msrun {

// A sum of what was measured: a call, its elements, its multiply-adds and its files each have a price, in seconds of
// one processor of the machine that they were fitted on. The prices are those with the least relative error over the
// sample recordings (docs/ci.md), which then are forecast to within 30 % or little more; other devices than the
// simulated one are as fast as it is.
class Forecast {
 public:
  // slowness: how many times as long as that machine this one takes.
  explicit Forecast(double slowness = 1) : slowness_(slowness) {}

  // Of a call, with the gradients of its outputs, whose device runs it so many times.
  double seconds(const ApiCall& call, double runs = 1) const;
  // Until the first call of a run begins, and from the end of its last.
  double start_seconds() const;

 private:
  double slowness_;
};

// A call of the plan as it would run, with the gradients of its outputs.
ApiCall planned_call(const PlanView& plan, std::uint32_t task);

// Runs a fixed piece of arithmetic for some milliseconds, under whatever else this machine has to do.
double measured_slowness();

}  // namespace msrun
