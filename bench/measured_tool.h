// One run of a tool that lies beside the benchmark, measured from outside.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace msrun::bench {

struct MeasuredTool {
  double seconds = 0;      // from start to end of the process
  double cpu = 0;          // seconds of all its threads, user and system
  std::uint64_t peak = 0;  // largest resident size in bytes
};

// What the tool prints is thrown away. Throws std::runtime_error if it cannot be started or does not end with exit code
// 0.
MeasuredTool run_tool(const std::string& name, const std::vector<std::string>& arguments);

// The fastest of several runs, with the largest peak of all; run gets their numbers.
template <class Run>
MeasuredTool fastest(std::size_t runs, const Run& run) {
  MeasuredTool best;
  for (std::size_t i = 0; i < runs; ++i) {
    const MeasuredTool next = run(i);
    const std::uint64_t peak = best.peak > next.peak ? best.peak : next.peak;
    if (i == 0 || next.seconds < best.seconds) best = next;
    best.peak = peak;
  }
  return best;
}

}  // namespace msrun::bench
