#include "orchestrator/session/limits.h"

#include <algorithm>
#include <thread>

#include "kernels/base/available_memory.h"
#include "orchestrator/session/input.h"

namespace msrun {

std::uint64_t memory_budget(const MemoryLimit& limit) {
  return limit.bytes > 0 ? limit.bytes : memory_share(limit.share);
}

std::vector<std::size_t> spread_threads(const Options& options) {
  const auto devices = options.devices.size();
  std::vector<std::size_t> threads(devices, static_cast<std::size_t>(options.threads) / devices);
  for (std::size_t i = 0; i < static_cast<std::size_t>(options.threads) % devices; ++i) ++threads[i];
  for (std::size_t& count : threads) count = std::clamp<std::size_t>(count, 1, max_threads_per_device);
  return threads;
}

TestedOn tested_on(const Backend& backend) {
  if (backend.is_real) return TestedOn::hardware;
  return backend.needs_results ? TestedOn::recorded : TestedOn::simulated;
}

SupervisorOptions supervisor_options(const SessionState& session) {
  const Options& options = session.options;
  SupervisorOptions supervision;
  supervision.devices = options.devices;
  supervision.threads = spread_threads(options);
  supervision.task_timeout = options.task_timeout;
  supervision.retries = options.retries;
  supervision.max_device_failures = options.max_device_failures;
  supervision.memory_budget = memory_budget(options.memory);
  supervision.core_dumps = options.core_dumps;
  supervision.near_device = options.near_device;
  supervision.max_failures = options.max_failures;
  supervision.processors = std::max(1U, std::thread::hardware_concurrency());
  supervision.check.dialect = &session.plan.dialect();
  supervision.check.tested_on = tested_on(*session.backend.row);
  supervision.check.materialise.seed = options.seed.value_or(session.plan.dialect().usual_seed());
  supervision.check.repeat = options.repeat;
  if (session.plan.real_data()) {
    supervision.check.materialise.data_root = data_root(options, session.plan.tensor_folder());
    supervision.check.materialise.data_folders = data_folders(options, session.plan.tensor_folder());
  }
  for (const PlannedRank& rank : session.plan.ranks()) {
    RankPlace& place = supervision.ranks.emplace_back();
    place.rank = rank.calls.rank;
    if (!rank.real_data) continue;
    place.data_root = data_root(options, rank.tensor_folder);
    place.data_folders = data_folders(options, rank.tensor_folder);
  }
  supervision.share = session.share;
  supervision.stream = options.seed_mode == SeedMode::stream;
  supervision.make_device = session.backend.make_device;
  return supervision;
}

}  // namespace msrun
