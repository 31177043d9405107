#include "orchestrator/supervise/death_note.h"

#include <algorithm>

#include "kernels/api/call_codec.h"
#include "kernels/base/clock.h"
#include "runner/check/input_notes.h"

namespace msrun {

DeathNote death_note(const RunnerSeat& seat, const WorkItems& items, const std::vector<std::uint32_t>& in_flight,
                     const std::vector<std::uint32_t>& to_blame) {
  DeathNote note;
  const double now = unix_seconds();
  note.time = static_cast<std::uint64_t>(now * 1e6);
  note.device = seat.device();
  const double steady = steady_seconds();
  const std::vector<RunnerSeat::Activity> activities = seat.activities();
  for (const std::uint32_t item : in_flight) {
    DeathNote::Call call;
    call.task = items.task(item);
    call.blamed = std::ranges::find(to_blame, item) != to_blame.end();
    const auto activity = std::ranges::find(activities, item, &RunnerSeat::Activity::task);
    if (activity != activities.end()) {
      call.thread = activity->thread;
      if (activity->since > 0) call.began = static_cast<std::uint64_t>((now - (steady - activity->since)) * 1e6);
    }
    note.calls.push_back(call);
  }
  return note;
}

ApiResult result_of_death(const PlanView& plan, const DeathNote& note, const DeathNote::Call& call,
                          std::uint32_t attempts) {
  ApiResult result =
      skip_result(call.task, std::string(plan.title(call.task)),
                  "The runner of device " + std::to_string(note.device) +
                      " died while running this API: " + note.reason + ", attempt " + std::to_string(attempts) + ".",
                  Outcome::failed_to_run);
  result.device = note.device;
  result.run = {call.thread, call.began, call.began == 0 ? 0 : std::max(note.time, call.began) - call.began};
  result.input_notes = input_notes(decode_call(plan.call(call.task)));
  return result;
}

}  // namespace msrun
