// What a call costs, estimated from the shapes that were recorded.
#pragma once

#include <cstdint>

#include "kernels/api/api_call.h"

namespace msrun {

struct CostEstimate {
  double work = 0;           // nanoseconds of one core, about
  std::uint64_t memory = 0;  // bytes at the peak
};
CostEstimate estimate_cost(const ApiCall& call);

}  // namespace msrun
