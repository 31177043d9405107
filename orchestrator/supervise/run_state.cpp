#include "orchestrator/supervise/run_state.h"

#include "kernels/base/clock.h"
#include "orchestrator/supervise/supervisor.h"

namespace msrun {

RunState::RunState(const Plan& plan, const SupervisorOptions& options, const ResultStore& results)
    : started(steady_seconds()),
      total(complete_results(plan, results, options.share)),
      earlier_failures(failures_of(results.summary().counts())),
      devices(options.devices.size()) {}

std::size_t complete_results(const Plan& plan, const ResultStore& results, const std::vector<bool>& share) {
  std::size_t total = results.done();
  for (std::uint32_t task = 0; task < plan.size(); ++task) {
    if (is_shared(share, task) && !results.is_done(task)) ++total;
  }
  return total;
}

std::uint64_t failures_of(const VerdictCounts& counts) { return counts.suspicious() + counts.failed_to_run; }

}  // namespace msrun
