#include "tests/simulation/simulated_run.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include "journal/error.h"
#include "journal/reader.h"
#include "orchestrator/session/run_journal.h"
#include "runner/results/journal_records.h"

namespace msrun::simulation {

// Keeps what is told of results and deaths.
class SimulatedRun::View final : public ProgressView {
 public:
  explicit View(SimulatedRun& run) : run_(run) {}
  void run_started(const RunStarted& /*event*/) override {}
  void api_result(const ApiResult& result) override {
    if (!run_.told_.insert(result.task).second) {
      throw Violation("the result of call " + std::to_string(result.task) + " is told twice");
    }
    if (result.forward == Status::skip) ++run_.seen_.skipped_calls;
  }
  void runner_died(const RunnerDied& /*event*/) override { ++run_.seen_.runner_deaths; }
  void progress(const ProgressState& state) override {
    if (state.done > state.total) throw Violation("more calls are done than there are");
  }
  void run_finished(const RunFinished& /*event*/) override {}

 private:
  SimulatedRun& run_;
};

SimulatedRun::SimulatedRun(const Plan& plan, std::uint64_t seed)
    : plan_(plan), schedule_(seed, plan.size()), random_(seed) {}

void SimulatedRun::run() {
  for (std::uint32_t life = 0; life < schedule_.lives; ++life) {
    if (live(false) == LifeEnd::complete) return;
  }
  if (live(true) != LifeEnd::complete)
    throw Violation("the last supervisor, which nothing befell, did not complete it");
}

SimulatedRun::LifeEnd SimulatedRun::live(bool is_last) {
  ++seen_.lives;
  if (schedule_.disk) disk_.room = disk_.bytes.size() + *schedule_.disk;
  if (is_last) disk_.room.reset();
  World world(schedule_, random_, history_, now_, is_last);
  LifeEnd end = LifeEnd::incomplete;
  bool lost_power = false;
  try {
    end = supervise(world, is_last);
  } catch (const SupervisorKilled&) {
    ++seen_.supervisor_deaths;
    lost_power = random_.chance(schedule_.power_loss);
  } catch (const journal::WriteError&) {
    ++seen_.full_disks;
  }
  now_ = world.now() + 1'000'000'000;
  seen_.checks = 0;
  for (const auto& [item, attempts] : history_.attempts) seen_.checks += attempts;
  if (lost_power) {
    ++seen_.power_losses;
    disk_.lose_power(random_);
  }
  for (const auto& [item, deaths] : history_.deaths) {
    if (deaths > schedule_.retries) may_fail_.insert(item % static_cast<std::uint32_t>(plan_.size()));
  }
  judge_journal(lost_power);
  if (history_.took_host_down) judge_host_taken_down();
  if (end == LifeEnd::complete && told_.size() != plan_.size()) throw Violation("a complete run lacks results");
  return end;
}

SupervisorOptions SimulatedRun::options(bool is_last) const {
  SupervisorOptions options;
  options.devices.resize(schedule_.devices);
  std::iota(options.devices.begin(), options.devices.end(), 0);
  options.threads = schedule_.threads;
  options.task_timeout = schedule_.task_timeout;
  options.retries = schedule_.retries;
  std::uint64_t memory = 0;
  for (const PlanRecord& record : plan_.view().tasks) memory += record.memory;
  options.memory_budget = static_cast<std::uint64_t>(schedule_.memory_share * static_cast<double>(memory));
  options.processors = schedule_.processors;
  if (!is_last) options.max_failures = schedule_.max_failures;
  return options;
}

SimulatedRun::LifeEnd SimulatedRun::supervise(World& world, bool is_last) {
  View view(*this);
  auto file = std::make_unique<JournalFile>(disk_, world, random_);
  std::optional<JournalledRun> earlier;
  try {
    earlier = read_run(*file, plan_.size(), 0);
  } catch (const journal::Error&) {
    // Its first supervisor died before the header was whole, or with the host before it was on the device.
    if (!told_.empty()) throw Violation("the journal cannot be read");
    disk_.bytes.clear();
    disk_.synced = 0;
  }
  journal::Writer journal =
      earlier ? journal::Writer::resume(std::move(file), earlier->recovery.valid_size, earlier->recovery.next_sequence)
              : journal::Writer::create(std::move(file), "{}");
  SupervisorOptions options = this->options(is_last);
  ResultStore results(plan_.size(), options.devices,
                      run_files(std::filesystem::temp_directory_path().string(), "simulated"), {}, journal, view);
  results.sync_within(std::chrono::milliseconds(500));
  const WorkItems items(static_cast<std::uint32_t>(plan_.size()), static_cast<std::uint32_t>(schedule_.devices));
  if (schedule_.on_all_devices) results.join(items);
  if (earlier) {
    results.restore(std::move(earlier->results), [](const ApiResult& /*result*/) { return false; });
    for (const ResultPart& part : earlier->parts) results.restore(part);
    for (const std::uint32_t task : earlier->attempts.suspects(2)) {
      if (results.is_done(task)) continue;
      options.last_and_alone.push_back(task);
      history_.alone.insert(task);
    }
  }
  RunState run(plan_, options, results);
  RunEnd end = RunEnd::complete;
  {
    Supervisor supervisor(plan_, options, run, results, view, world);
    end = supervisor.run();
    world.stand_still();
  }
  world.require_order();
  for (const DeviceRecord& device : run.devices) seen_.devices_given_up += device.given_up ? 1 : 0;
  if (end == RunEnd::interrupted) ++seen_.interrupted;
  if (end == RunEnd::enough_failures) ++seen_.enough_failures;
  if (end != RunEnd::complete) return LifeEnd::incomplete;
  return LifeEnd::complete;
}

// Nothing that was told is lost but with the host, and no call has two results.
void SimulatedRun::judge_journal(bool lost_power) {
  std::set<std::uint32_t> journalled;
  try {
    RecordHandlers handlers;
    handlers.result = [&](ApiResult&& result) {
      judge_result(result);
      if (!journalled.insert(result.task).second) {
        throw Violation("the journal has two results of call " + std::to_string(result.task));
      }
    };
    read_records(journal::MemorySource(disk_.bytes), handlers);
  } catch (const journal::Error&) {
    // No supervisor came further than the header.
  }
  if (lost_power) {
    told_ = journalled;
    return;
  }
  if (!std::ranges::includes(journalled, told_)) throw Violation("a result that was told is not in the journal");
  // What was written and not told before its supervisor died counts as well.
  told_ = journalled;
}

// A call that has taken the host down twice runs when nothing else is left but calls that were in flight as often, and
// when it has done so once more, when nothing else is left at all.
void SimulatedRun::judge_host_taken_down() {
  ++seen_.hosts_taken_down;
  const bool others_can_run = schedule_.failed_opening == 0 && schedule_.endless_opening == 0 &&
                              schedule_.supervisor_kill == 0 && schedule_.power_loss == 0 &&
                              schedule_.outside_kill == 0 && schedule_.stop == 0 && schedule_.signal == 0 &&
                              schedule_.max_failures == 0 && !schedule_.disk;
  if (++taken_down_ <= 3 || !others_can_run || told_.size() + 1 == plan_.size()) return;
  throw Violation("a call has taken the host down " + std::to_string(taken_down_) +
                  " times before others were checked");
}

void SimulatedRun::judge_result(const ApiResult& result) const {
  const CallPlan& call = schedule_.calls[result.task];
  const std::string name = "call " + std::to_string(result.task);
  if (result.forward == Status::skip) {
    if (!may_fail_.contains(result.task)) {
      throw Violation(name + " is SKIP, and no process died of it: " + result.message);
    }
    return;
  }
  if (result.message.find("result of " + name) == std::string::npos) {
    throw Violation(name + " has the result of another call: " + result.message);
  }
  if (call.deed != Deed::none && call.times >= 1000) {
    throw Violation(name + " never gives a result, and has one");
  }
}

}  // namespace msrun::simulation
