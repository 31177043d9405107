// What happens in one simulated run, as its seed decides: how large it is, what its calls do, and what befalls
// processes, host and disk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/simulation/random.h"

namespace msrun::simulation {

// What a call does to the process that checks it, or to the whole host.
enum class Deed : std::uint8_t { none, crash, end_in_order, hang, take_host_down };

struct CallPlan {
  Deed deed = Deed::none;
  // So many attempts do it, the further ones do not.
  std::uint32_t times = 0;
  double seconds = 0;            // that a check takes
  std::size_t message_size = 0;  // of its result, bytes
  bool differs = false;          // device 1 gives other bits than the others
};

struct Schedule {
  // Everything follows from the seed; calls is the number of calls of the plan.
  Schedule(std::uint64_t seed, std::size_t calls);

  std::string text() const;

  std::uint64_t seed;
  std::size_t devices;
  std::vector<std::size_t> threads;  // by device
  std::uint32_t processors;
  double memory_share;  // of the memory that all calls together need
  std::uint32_t retries;
  double task_timeout;
  bool on_all_devices = false;
  std::uint64_t max_failures = 0;
  std::vector<CallPlan> calls;

  // Probabilities, for each step of a worker or each device that is opened.
  double outside_kill;
  double stop;
  double stop_for_ever;  // of the processes that are stopped
  double failed_opening;
  double endless_opening;

  // The supervisors before the last one, which nothing befalls but its runners; each of the others may be killed, be
  // told to stop, lose the host's power or find its disk full.
  std::uint32_t lives;
  double supervisor_kill;           // for each thing that it asks of host or disk
  double power_loss;                // of these, so many take the host along
  double signal;                    // for each time that it waits
  std::optional<std::size_t> disk;  // bytes that a life before the last can add to its journal
};

}  // namespace msrun::simulation
