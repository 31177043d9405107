// One run of the msrun program as a process of its own, measured from outside (time, memory, first result) and by what
// it reports itself in its run_finished event (--message-format json).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace msrun::bench {

struct MeasuredRun {
  double wall = 0;          // seconds from start to end of the process
  double cpu = 0;           // seconds of all its processes and threads, user and system
  double first_result = 0;  // seconds from start until the first result arrived in the pipe; 0: there was none
  std::uint64_t calls = 0;
  std::uint64_t skipped = 0;
  // Seconds; those of materialise to compare are sums over all threads.
  double plan = 0;
  double materialise = 0;
  double device = 0;
  double benchmark = 0;
  double compare = 0;
  double journal = 0;
  double csv = 0;
  // Largest resident sizes in bytes, of the supervisor and of all runners together. Pages that they share count twice.
  std::uint64_t supervisor_peak = 0;
  std::uint64_t runners_peak = 0;
  std::uint64_t largest_peak = 0;  // of any one process, as wait4(2) reports it
};

// Runs program with these arguments and --message-format json. Throws std::runtime_error if it cannot be started, fails
// or does not complete.
MeasuredRun run_measured(const std::string& program, std::vector<std::string> arguments);

}  // namespace msrun::bench
