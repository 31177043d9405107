// The queues of a run, each with the devices that take from it: one for all devices or, if every call is for all of
// them, one for each.
#pragma once

#include <cstdint>
#include <vector>

#include "orchestrator/output/results.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/supervise/retries.h"
#include "runner/shared/region.h"

namespace msrun {

// A queue and what is run again of it.
struct Lane {
  SharedQueue queue;
  Retries retries;
  std::uint32_t settled = 0;  // positions of the queue before it are done

  // How much of the queue has been taken.
  std::uint32_t taken() const;
  bool work_left() const { return retries.any_waiting() || taken() < queue.lane->size; }
};

// The items of each queue, in the order in which they are taken: those of the calls of share (all, if it is empty) that
// have no result, but for the calls that run last.
std::vector<std::vector<std::uint32_t>> queue_orders(const Plan& plan, const ResultStore& results,
                                                     const std::vector<bool>& share,
                                                     const std::vector<std::uint32_t>& last, bool dump_order);

// One lane for each queue in memory, which outlives them. most_retries and last as in Retries; last are calls.
std::vector<Lane> make_lanes(const QueueMemory& memory, const ResultStore& results, std::uint32_t most_retries,
                             const std::vector<std::uint32_t>& last);

std::vector<SharedQueue> queues_of(const std::vector<Lane>& lanes);

}  // namespace msrun
