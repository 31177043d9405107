// The first NaN or infinity over all ranks, through communications (dump_compare.md 14).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/recordings/recording.h"

namespace msrun::overflow_check {

// Where a value that is not finite was before the call that is named.
enum class Source : std::uint8_t {
  none,        // the call made it
  input,       // in what it was given
  parameters,  // in a parameter of the module that is named
  inside,      // the module that is named made it, or held it, outside of the recorded calls
};

struct Anomaly {
  std::size_t rank = 0;    // place in the list of ranks
  std::uint32_t call = 0;  // of the recording
  Source source = Source::none;
  // Numbers of ranks that take part in a communication and have no call of it, so that it may come from them.
  std::vector<std::uint64_t> absent;
  // Where a module is named: the first recorded call in it that has the value, and what holds it, "input.1" of that
  // call or "weight" of the module.
  std::optional<std::uint32_t> seen_by;
  std::string holder;
};

// The first calls of the ranks that make what is not finite from what is, or that are given it although no call before
// them has handed it on; those that another one explains are left out, and the earliest comes first. If there is none,
// the first calls that have such inputs.
std::vector<Anomaly> find_anomalies(const std::vector<std::pair<std::uint64_t, const recordings::Recording*>>& ranks);

}  // namespace msrun::overflow_check
