#include "orchestrator/supervise/linux_host.h"

#include <utility>

#include "orchestrator/supervise/forked_runner.h"

namespace msrun {
namespace {

constexpr double tick_interval = 0.1;  // seconds

}  // namespace

class LinuxHost::Process final : public RunnerProcess {
 public:
  Process(LinuxHost& host, std::size_t place) : host_(host), place_(place), results_(make_counter()) {
    host_.loop_.watch(results_.get(), [this] {
      take_count(results_.get());
      host_.news_.results = true;
    });
  }
  ~Process() override {
    host_.loop_.forget(results_.get());
    if (process_.running()) end_now();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void start(const RunnerSetup& setup) override {
    process_.start(setup.device_id, [&] {
      if (host_.in_child_) host_.in_child_();
      host_.lifeline_.write.reset();
      RunnerSetup own = setup;
      own.notify = results_.get();
      own.lifeline = host_.lifeline_.read.get();
      run_runner(own);
    });
    host_.loop_.watch(process_.end_descriptor(), [this] { host_.news_.ended.push_back(place_); });
  }

  bool running() const override { return process_.running(); }
  void kill() override { process_.kill(); }

  std::optional<int> reap() override {
    if (!running()) return std::nullopt;
    const std::optional<int> wait_status = process_.reap();
    if (wait_status) host_.loop_.forget(process_.end_descriptor());
    return wait_status;
  }

  void end_now() override {
    if (!running()) return;
    process_.end_now();
    host_.loop_.forget(process_.end_descriptor());
  }

  std::uint64_t peak() const override { return process_.peak(); }

 private:
  LinuxHost& host_;
  std::size_t place_;
  UniqueFd results_;  // a counter that the runner adds to when a ring has something
  ForkedRunner process_;
};

LinuxHost::LinuxHost(std::function<void()> in_child)
    : in_child_(std::move(in_child)), signals_(signal_queue()), timer_(make_timer(tick_interval)) {
  loop_.watch(signals_.get(), [this] {
    while (const std::optional<int> number = next_signal(signals_.get())) news_.signals.push_back(*number);
  });
  loop_.watch(timer_.get(), [this] {
    take_count(timer_.get());
    news_.tick = true;
  });
}

std::unique_ptr<RunnerProcess> LinuxHost::runner(std::size_t place) { return std::make_unique<Process>(*this, place); }

Host::News LinuxHost::wait(double seconds) {
  news_ = {};
  loop_.wait(seconds);
  return std::move(news_);
}

}  // namespace msrun
