#include "tests/simulation/schedule.h"

#include <sstream>

namespace msrun::simulation {
namespace {

// Half of all schedules are without the fault, so that others show by themselves.
double rate(Random& random, double low, double high) { return random.chance(0.5) ? 0 : random.of_any_size(low, high); }

Deed any_deed(Random& random) {
  switch (random.below(5)) {
    case 0:
      return Deed::hang;
    case 1:
      return Deed::end_in_order;
    default:
      return Deed::crash;
  }
}

}  // namespace

Schedule::Schedule(std::uint64_t seed_of_all, std::size_t number_of_calls) : seed(seed_of_all) {
  Random random(seed_of_all ^ 0x5EED);
  devices = random.from_to(1, 4);
  for (std::size_t i = 0; i < devices; ++i) threads.push_back(random.from_to(1, 3));
  processors = random.from_to(1, 4);
  memory_share = random.of_any_size(0.05, 1);
  retries = random.from_to(0, 3);
  task_timeout = 1;
  on_all_devices = devices > 1 && random.chance(0.2);
  if (random.chance(0.1)) max_failures = random.from_to(1, 3);
  const double guilty = rate(random, 0.01, 0.5);
  const double large = random.chance(0.02) ? 0.3 : 0;  // more than a ring holds
  const double differing = rate(random, 0.01, 0.5);
  for (std::size_t i = 0; i < number_of_calls; ++i) {
    CallPlan call;
    if (random.chance(guilty)) {
      call.deed = any_deed(random);
      call.times = random.chance(0.5) ? 1000 : random.from_to(1, 4);
    }
    call.seconds = random.of_any_size(1e-6, task_timeout / 8);
    call.message_size = random.chance(large) ? 270'000 : random.below(60);
    call.differs = random.chance(differing);
    calls.push_back(call);
  }
  const bool host_is_taken_down = random.chance(0.05);
  if (host_is_taken_down) {
    CallPlan& call = calls[random.below(calls.size())];
    call.deed = Deed::take_host_down;
    call.times = 5;
  }
  outside_kill = rate(random, 1e-4, 0.03);
  stop = rate(random, 1e-5, 0.01);
  stop_for_ever = random.fraction();
  failed_opening = rate(random, 0.01, 0.7);
  endless_opening = random.chance(0.01) ? 0.2 : 0;
  lives = random.below(4) == 0 ? 0 : random.from_to(1, 4);
  if (host_is_taken_down) lives += 6;
  supervisor_kill = rate(random, 1e-3, 0.2);
  power_loss = random.chance(0.3) ? 0.5 : 0;
  signal = rate(random, 1e-3, 0.2);
  if (random.chance(0.2)) disk = random.below(4000);
}

std::string Schedule::text() const {
  std::ostringstream out;
  out << "seed " << seed << ": " << calls.size() << " calls, " << devices << " devices with";
  for (const std::size_t count : threads) out << ' ' << count;
  out << " threads, " << processors << " processors, memory " << memory_share << ", retries " << retries << ", timeout "
      << task_timeout << (on_all_devices ? ", on all devices" : "") << ", max failures " << max_failures << ", kill "
      << outside_kill << ", stop " << stop << " (for ever " << stop_for_ever << "), opening fails " << failed_opening
      << ", never ends " << endless_opening << ", lives " << lives << ", supervisor killed " << supervisor_kill
      << " (power " << power_loss << "), signal " << signal;
  if (disk) out << ", disk " << *disk;
  return out.str();
}

}  // namespace msrun::simulation
