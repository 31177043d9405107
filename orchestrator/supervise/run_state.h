// What a run keeps beyond the supervisor of one share of its calls: with leases a run has one supervisor after the
// other, and what is told of its progress, stops it, or is known of its devices is of the whole run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "orchestrator/output/results.h"
#include "orchestrator/plan/plan.h"

namespace msrun {

struct SupervisorOptions;

// What a device has shown so far, apart from the calls that were checked on it.
struct DeviceRecord {
  std::uint32_t failures = 0;    // deaths of its runners without working on a call
  std::uint32_t idle_stops = 0;  // of them in a row, not counted as failures: stopped from outside
  bool given_up = false;
};

struct RunState {
  // A run that begins now: results are those of the run that it continues. Its calls are those of the options' share.
  RunState(const Plan& plan, const SupervisorOptions& options, const ResultStore& results);

  double started;                     // steady seconds
  std::size_t total;                  // results that there are when the run is complete
  std::uint64_t earlier_failures;     // of the results that were restored
  bool enough_failures = false;       // as many since as are to stop the run
  bool has_begun = false;             // which the journal says once, whatever leases follow
  std::vector<DeviceRecord> devices;  // in the order of the options' devices
};

// Whether the call is one of the share; all are of an empty one.
inline bool is_shared(const std::vector<bool>& share, std::uint32_t task) { return share.empty() || share[task]; }

// Results that there are when all calls of the share have one.
std::size_t complete_results(const Plan& plan, const ResultStore& results, const std::vector<bool>& share);

// Calls that are suspicious or failed to run.
std::uint64_t failures_of(const VerdictCounts& counts);

}  // namespace msrun
