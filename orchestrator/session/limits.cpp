#include "orchestrator/session/limits.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "orchestrator/session/input.h"

namespace msrun {
namespace {

std::uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t kibibytes = 0;
    if (words >> key >> kibibytes && key == "MemAvailable:") return kibibytes * 1024;
  }
  return std::uint64_t{4} << 30;
}

}  // namespace

std::uint64_t memory_budget(const MemoryLimit& limit) {
  return limit.bytes > 0 ? limit.bytes
                         : static_cast<std::uint64_t>(static_cast<double>(available_memory()) * limit.share);
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
  supervision.processors = std::max(1U, std::thread::hardware_concurrency());
  supervision.check.dialect = &session.plan.dialect();
  supervision.check.tested_on = tested_on(*session.backend.row);
  supervision.check.materialise.seed = options.seed;
  if (session.plan.real_data()) {
    supervision.check.materialise.data_root = data_root(options, session.plan);
    supervision.check.materialise.data_folders = data_folders(options, session.plan);
  }
  supervision.stream = options.seed_mode == SeedMode::stream;
  supervision.make_device = session.backend.make_device;
  return supervision;
}

}  // namespace msrun
