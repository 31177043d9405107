// The first NaN or infinity over all ranks, through communications (dump_compare.md 14).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tools/recordings/recording.h"

namespace msrun::overflow_check {

struct Anomaly {
  std::size_t rank = 0;    // place in the list of ranks
  std::uint32_t call = 0;  // of the recording
  bool source = false;     // the call only sees what is in its inputs already
  // Numbers of ranks that take part in a communication and have no call of it, so that it may come from them.
  std::vector<std::uint64_t> absent;
};

// Calls whose inputs are clean and whose outputs are not, those that another one explains left out, the earliest first;
// if there is none, the first calls that have such inputs.
std::vector<Anomaly> find_anomalies(const std::vector<std::pair<std::uint64_t, const recordings::Recording*>>& ranks);

}  // namespace msrun::overflow_check
