// The runner: one process per device, forked by the supervisor. Its threads take tasks from the shared queue, check
// them and send the results through their rings.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runner/check/check.h"
#include "runner/shared/plan_view.h"
#include "runner/shared/region.h"
#include "runner/shared/work_items.h"

namespace msrun {

// What is different for the calls of each of several ranks.
struct RankPlace {
  std::filesystem::path data_root;  // as in MaterialiseOptions
  std::vector<std::filesystem::path> data_folders;
  std::string rank;  // "step0/rank3"
};

struct RunnerSetup {
  PlanView plan;
  SharedQueue queue;
  std::size_t first_slot = 0;  // slots and rings [first_slot, first_slot + threads) are this runner's
  std::size_t threads = 1;
  WorkItems items = {};  // that the queue holds
  std::int32_t device_id = 0;
  int notify = -1;    // eventfd: written when a ring has something
  int lifeline = -1;  // end of a pipe: when the other end closes, the supervisor is gone
  CheckOptions check;
  std::vector<RankPlace> ranks;  // by PlanRecord::rank; empty: check says all
  // Data from torch's single stream: every thread advances a generator of its own to the task's position in it.
  bool stream = false;
  // Whether a crash leaves a core dump: as large as the system allows, or none, however large the shell allows it.
  bool core_dumps = false;
  // Whether the runner stays on the processors near a device that is hardware (affinity.h).
  bool near_device = true;
  std::function<std::unique_ptr<Device>(const DeviceSeat& seat)> make_device;
  // Items to run before those of the queue: what a dead runner left behind. With alone set, nothing else is run and one
  // thread runs them one after the other.
  std::vector<std::uint32_t> retries;
  bool alone = false;
};

// Body of the forked process. Returns when the queue has run dry or the run is being stopped.
void run_runner(const RunnerSetup& setup);

}  // namespace msrun
