// A view that keeps what a supervisor tells, and a device that fails as a test wants it to.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "orchestrator/supervise/supervisor.h"
#include "runner/device/sim/sim.h"

namespace msrun::testing {

// Keeps what it is told of a run.
class Recorder final : public ProgressView {
 public:
  void run_started(const RunStarted&) override {}
  void api_result(const ApiResult& result) override {
    verdicts[result.name] = status_text(result.forward);
    messages[result.name] = result.message;
    if (result.agreement) agreements[result.name] = *result.agreement;
  }
  void runner_died(const RunnerDied& event) override { deaths.push_back(event); }
  void progress(const ProgressState& state) override { last_progress = state; }
  void run_finished(const RunFinished&) override {}

  std::vector<std::string> reasons() const {
    std::vector<std::string> result;
    for (const RunnerDied& death : deaths) result.push_back(death.reason);
    return result;
  }

  std::map<std::string, std::string> verdicts;
  std::map<std::string, std::string> messages;
  std::map<std::string, Agreement> agreements;
  std::vector<RunnerDied> deaths;
  ProgressState last_progress;
};

// A device of which a test says what goes wrong in it.
class TestDevice final : public Device {
 public:
  using Hook = std::function<void(const std::string& name)>;
  TestDevice(Hook before, std::function<void()> at_end) : before_(std::move(before)), at_end_(std::move(at_end)) {}
  ~TestDevice() override {
    if (at_end_) at_end_();
  }
  DeviceResult run(const DeviceCall& call) override {
    if (before_) before_(call.materialised.name);
    return sim_->run(call);
  }

 private:
  std::unique_ptr<Device> sim_ = make_sim_device({});
  Hook before_;
  std::function<void()> at_end_;
};

}  // namespace msrun::testing
