// The supervisor: forks one runner per device, collects their results, replaces those that die or hang, and stops when
// told to.
//
// One thread and one event loop, so that it may fork at any time and can be read from top to bottom. All handling of
// signals and child processes is here.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orchestrator/output/results.h"
#include "orchestrator/plan/plan.h"
#include "runner/runner.h"

namespace msrun {

struct SupervisorOptions {
  std::vector<int> devices;
  std::vector<std::size_t> threads;  // per device, in the order of devices
  // Seconds for one call, 0 for no limit; unset: by its cost, at least five minutes.
  std::optional<double> task_timeout;
  std::uint32_t retries = 2;              // after the first attempt; the last one runs alone
  std::uint32_t max_device_failures = 3;  // deaths of a runner that was on no task, before its device is given up
  std::uint64_t memory_budget = 0;        // bytes
  std::uint32_t processors = 1;
  CheckOptions check;
  bool stream = false;
  // Calls that may have taken the host down: run one after the other when nothing else runs any more.
  std::vector<std::uint32_t> last_and_alone;
  std::function<std::unique_ptr<Device>()> make_device;
  // Called in a forked child before anything else: closes what the child must not hold.
  std::function<void()> in_child;
};

// Holds SIGINT, SIGTERM and SIGHUP back, so that files are opened and completed without being interrupted; a Supervisor
// that runs meanwhile acts on them. What nobody acted on by the end is dropped: there is nothing left to stop.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_;
};

enum class RunEnd : std::uint8_t { complete, interrupted, no_devices };

class Supervisor {
 public:
  Supervisor(const Plan& plan, const SupervisorOptions& options, ResultStore& results, ProgressView& view);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Runs all tasks that have no result yet. When it returns or throws, no runner is left. Throws what
  // ResultStore::commit throws.
  RunEnd run();

  // Largest resident sizes in bytes of the runners that have ended, added up over the devices.
  std::uint64_t runners_peak() const;

 private:
  struct Runner {
    int device = 0;
    std::size_t first_slot = 0;
    std::size_t threads = 0;
    pid_t pid = -1;
    int pidfd = -1;
    int notify = -1;
    std::vector<std::string> received;     // per ring: bytes not yet complete as a record
    std::vector<std::uint32_t> retries;    // given to it at its start
    std::vector<std::uint32_t> timed_out;  // why the supervisor killed it
    std::uint32_t failures = 0;
    std::uint64_t peak = 0;  // resident bytes, of the largest of its processes
    bool given_up = false;
  };

  void handle_events();
  void start_runner(Runner& runner);
  bool start_last();
  [[noreturn]] void become_runner(const Runner& runner, bool alone);
  void on_runner_exit(Runner& runner);
  std::vector<std::uint32_t> unfinished_tasks(const Runner& runner) const;
  void blame(Runner& runner, const std::vector<std::uint32_t>& in_flight, int wait_status);
  void record_death(std::uint32_t task, int device, const std::string& how);
  void drain(Runner& runner);
  void collect();
  void on_tick();
  double time_limit(std::uint32_t task) const;
  void note_in_flight();
  void on_signal();
  void request_stop();
  void kill_runners();
  bool any_running() const;
  bool work_left() const;
  ProgressState progress_state() const;
  void record_rule_skips();

  const Plan& plan_;
  const SupervisorOptions& options_;
  ResultStore& results_;
  ProgressView& view_;
  QueueMemory memory_;
  SharedQueue queue_;
  std::vector<Runner> runners_;
  std::vector<std::uint8_t> attempts_;          // deaths a task is blamed for
  std::vector<std::uint32_t> waiting_retries_;  // to be given to the next runner that starts
  std::vector<std::uint32_t> waiting_alone_;    // each needs a runner of its own
  std::vector<std::uint32_t> last_;             // each needs the host for itself
  std::vector<std::uint32_t> noted_in_flight_;  // what the journal says
  std::vector<std::uint32_t> warned_slow_;
  std::vector<double> work_before_;  // by place in the queue: work of all places before it
  double started_ = 0;               // steady seconds
  double stop_requested_ = 0;
  int epoll_ = -1;
  int signals_ = -1;
  int timer_ = -1;
  // Runners watch the reading end: it closes with the supervisor, however that ends.
  int lifeline_read_ = -1;
  int lifeline_write_ = -1;
  std::uint32_t interrupts_ = 0;
  bool results_pending_ = false;
  double last_collect_ = 0;
};

}  // namespace msrun
