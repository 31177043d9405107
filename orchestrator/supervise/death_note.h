// What the journal is told of a runner that has died.
#pragma once

#include <cstdint>
#include <vector>

#include "orchestrator/supervise/runner_seat.h"
#include "runner/results/record.h"
#include "runner/shared/plan_view.h"
#include "runner/shared/work_items.h"

namespace msrun {

// The items that were in flight in a process that has just ended, with what its slots tell of them; those to blame are
// marked. Reason, and what becomes of device and calls, are the caller's to say.
DeathNote death_note(const RunnerSeat& seat, const WorkItems& items, const std::vector<std::uint32_t>& in_flight,
                     const std::vector<std::uint32_t>& to_blame);

// The result of a call that does not run again: SKIP after so many attempts.
ApiResult result_of_death(const PlanView& plan, const DeathNote& note, const DeathNote::Call& call,
                          std::uint32_t attempts);

}  // namespace msrun
