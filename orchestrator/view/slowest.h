// The calls of a run that took the longest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runner/results/result.h"

namespace msrun {

struct SlowCall {
  std::uint32_t task = 0;
  std::string name;
  PhaseTimes times;

  std::uint64_t total() const { return times.materialise + times.device + times.benchmark + times.compare; }
};

// Keeps the slowest of the calls that it sees.
class Slowest {
 public:
  explicit Slowest(std::size_t most) : most_(most) {}

  void see(const ApiResult& result);
  // Slowest first; of equally slow ones the earlier in the recording.
  const std::vector<SlowCall>& calls() const { return calls_; }
  // A title and a line for each, with the parts of its time; empty without calls.
  std::string text() const;

 private:
  std::size_t most_;
  std::vector<SlowCall> calls_;
};

}  // namespace msrun
