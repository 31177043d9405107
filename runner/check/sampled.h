// The check of a large product by a part of its benchmark (--benchmark sampled).
//
// Of every index of the product (kernels/api/product_axes.h) a few places are drawn, whose rows or columns the
// benchmark computes in full; they are compared and judged as the whole result would be. Everything else is looked at
// through random sums: the device's result, summed with random signs over groups of places, against what the benchmark
// gives for the arguments summed so, and likewise for gradients. Rounding errors of the elements behind such a sum are
// independent of each other, which says how far it may be off.
//
// A sampled check never accuses: whatever does not come out as that of a sound device, or proves little, is left to the
// whole benchmark.
#pragma once

#include <optional>
#include <vector>

#include "runner/check/check.h"

namespace msrun {

struct SampledInput {
  const ApiCall& recorded;
  const Operator& op;
  const MaterialisedCall& call;
  const DeviceResult& device;
  const CheckOptions& options;
  DeviceArithmetic arithmetic = {};
};

struct SampledResult {
  Status forward = Status::pass;
  std::vector<DetailsRow> forward_rows;
  std::optional<Status> backward;  // nothing: the call has no gradients
  std::vector<DetailsRow> backward_rows;
};

// Nothing where the call is none that can be checked so, or is to be computed in full.
std::optional<SampledResult> check_sampled(const SampledInput& input);

// The chance that one wrong element, off by so much, leaves a random sum within its limit: the sum's other errors are
// normal, of that deviation.
double chance_to_miss(double error, double limit, double deviation);

}  // namespace msrun
