// The supervisor: starts one runner per device, collects their results, replaces those that die or hang, and stops when
// told to. One thread and one event loop, so that it may fork at any time and can be read from top to bottom. A run has
// one supervisor for each share of its calls, one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "orchestrator/output/results.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/supervise/host.h"
#include "orchestrator/supervise/lanes.h"
#include "orchestrator/supervise/run_state.h"
#include "orchestrator/supervise/runner_clock.h"
#include "orchestrator/supervise/runner_seat.h"
#include "orchestrator/supervise/time_left.h"
#include "orchestrator/supervise/time_limits.h"
#include "runner/results/record.h"
#include "runner/runner.h"
#include "runner/shared/work_items.h"

namespace msrun {

struct SupervisorOptions {
  std::vector<int> devices;
  std::vector<std::size_t> threads;  // per device, in the order of devices
  // Seconds for one call, 0 for no limit; unset: by its cost, at least five minutes.
  std::optional<double> task_timeout;
  double slow_opening = 20;               // seconds for which a device is opened before that is said
  std::uint32_t retries = 2;              // after the first attempt; the last one runs alone
  std::uint32_t max_device_failures = 3;  // deaths of a runner that was on no task, before its device is given up
  std::uint64_t memory_budget = 0;        // bytes
  std::uint32_t processors = 1;
  bool core_dumps = false;  // of runners that crash
  bool near_device = true;  // RunnerSetup::near_device
  // Calls that are suspicious or failed to run, after which no further one is begun; 0: no such limit.
  std::uint64_t max_failures = 0;
  CheckOptions check;
  std::vector<RankPlace> ranks;  // of a plan of several
  bool stream = false;
  // By call, whether it is to be checked here; empty: all are.
  std::vector<bool> share;
  // Calls that may have taken the host down: run one after the other when nothing else runs any more.
  std::vector<std::uint32_t> last_and_alone;
  std::function<std::unique_ptr<Device>(const DeviceSeat& seat)> make_device;
  // Called ten times a second: what does not belong to the run goes on meanwhile.
  std::function<void()> on_tick;
  // Asked ten times a second. Once it says no, the calls under way are finished and no other is begun.
  std::function<bool()> may_go_on;
  // Whether other processes check calls of the run as well, so that nobody knows what is left for this one.
  bool with_others = false;
};

// How Supervisor::run ended: all calls have a result, the user stopped it, no device was left to run on, may_go_on said
// no, or so many calls were failures as were to stop it.
enum class RunEnd : std::uint8_t { complete, interrupted, no_devices, withdrawn, enough_failures };

class Supervisor {
 public:
  // All references outlive the supervisor, which changes the state of the run. Throws std::system_error.
  Supervisor(const Plan& plan, const SupervisorOptions& options, RunState& run, ResultStore& results,
             ProgressView& view, Host& host);
  // No runner is left behind.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Runs all tasks of the share that have no result yet. When it returns or throws, no runner is left. Throws what
  // ResultStore::commit throws, and std::system_error.
  RunEnd run();

  // Whether a signal has asked it to stop, even if everything was done by then.
  bool interrupted() const { return interrupts_ > 0; }

  // Largest resident sizes in bytes of the runners that have ended, added up over the devices.
  std::uint64_t runners_peak() const;

 private:
  // Why the supervisor has killed a runner, if it has.
  enum class Ended : std::uint8_t { not_by_us, call_over_time, stopped_from_outside, not_started, nothing_left };

  struct Runner {
    RunnerSeat seat;
    std::unique_ptr<RunnerProcess> process;
    Lane* lane = nullptr;
    DeviceRecord* device = nullptr;
    RunnerClock clock{seat.slots()};
    std::vector<std::uint32_t> given{};  // items to run again, at its start
    bool alone = false;                  // with these
    Ended ended = Ended::not_by_us;
    bool opening_told = false;               // that its device takes long to be opened
    double limit = 0;                        // seconds that it was over
    std::vector<std::uint32_t> timed_out{};  // calls, of one that was ended for them
  };

  // The loop.
  void handle_events();
  void on_signal(int number);
  void on_tick();
  void on_runner_end(Runner& runner);
  void watch_over(Runner& runner, double seconds);

  // Starting and stopping.
  void start_runner(Runner& runner);
  RunnerSetup setup_of(const Runner& runner) const;
  Runner* usable_runner(const Lane& lane);
  bool start_lost();
  bool start_last();
  void replace(Runner& runner);
  void request_stop();
  void stop_after_failures();
  void kill_runners();
  bool stopping() const;
  bool any_running() const;
  bool nothing_left_for(const Runner& runner) const;

  // Deaths.
  std::vector<std::uint32_t> unfinished_tasks(const Runner& runner, bool under_way) const;
  void blame(Runner& runner, const std::vector<std::uint32_t>& in_flight, int wait_status);
  static std::vector<std::uint32_t> suspects(const Runner& runner, const std::vector<std::uint32_t>& in_flight);
  bool is_failure(Runner& runner) const;
  static std::string reason_of(const Runner& runner, int wait_status);
  void take_back_lost();
  void record_death(std::uint32_t item, const Runner& runner, const DeathNote& note, const DeathNote::Call& call);

  // Results and what is said about them.
  void collect();
  void drain(Runner& runner);
  void note_queued_checks();
  void queue_wanted();
  void record_planned_skips();
  void note_in_flight();
  ProgressState progress_state();

  const Plan& plan_;
  const SupervisorOptions& options_;
  RunState& run_;
  ResultStore& results_;
  ProgressView& view_;
  std::size_t total_;  // results that there are when the share is complete
  WorkItems items_;
  QueueMemory memory_;
  QueueControl& control_;
  std::vector<Lane> lanes_;
  std::unordered_set<std::uint32_t> queued_checks_;  // items: checks on further devices that a queue or lane has had
  TimeLeft time_left_;
  TimeLimits limits_;
  Host& host_;
  std::vector<Runner> runners_;
  std::vector<std::uint32_t> noted_in_flight_;  // tasks: what the journal says
  OwnTime own_time_;
  std::uint32_t interrupts_ = 0;
  bool withdrawn_ = false;
  double terminated_ = 0;  // steady seconds of a SIGTERM or SIGHUP; 0: none has come
  bool results_pending_ = false;
  double last_collect_ = 0;  // steady seconds
};

}  // namespace msrun
