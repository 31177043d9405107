// The supervisor over real runners that die, are stopped, or never end, at every step of the shared queue: all calls
// have their results in the end, and nobody is blamed for what he did not do.
#include "orchestrator/supervise/supervisor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <map>
#include <new>
#include <thread>

#include "orchestrator/supervise/linux_host.h"
#include "runner/device/device_wait.h"
#include "runner/device/sim/sim.h"
#include "runner/shared/queue_steps.h"
#include "tests/orchestrator/supervise/support.h"
#include "tests/support/msrun_process.h"
#include "tests/support/temporary_directory.h"

namespace msrun {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// What the test and all runners share.
struct Shared {
  std::atomic<int> passes_left{0};  // at the armed step
  std::atomic<int> runs{0};         // of the device, in all processes
};

Shared& shared() {
  static Shared* const instance = [] {
    void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return new (memory) Shared;
  }();
  return *instance;
}

struct Trap {
  QueueStep step{};
  int signal_number = 0;
  pid_t supervisor = 0;
};
Trap trap;

// The passes_left-th runner thread to come past the step gets the signal; a signal to the thread and not to the process
// lets it come no further.
void spring_trap(QueueStep step) {
  if (step == trap.step && getpid() != trap.supervisor && shared().passes_left.fetch_sub(1) == 1) {
    raise(trap.signal_number);
  }
}

void sleep_forever() {
  while (true) pause();
}

class SupervisorTest : public ::testing::Test {
 protected:
  static constexpr std::size_t calls = 40;

  SupervisorTest() {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::string data;
    for (std::size_t i = 0; i < calls; ++i) {
      // The first is the largest and so the first in the queue.
      data += (i == 0 ? "" : ",") + std::string(R"("Functional.relu.)") + std::to_string(i) +
              R"(.forward":{"input_args":[{"type":"torch.Tensor","dtype":"torch.float32","shape":[)" +
              std::to_string(2 * calls - i) + R"(,8],"Max":1,"Min":0,"Mean":0.5,"Norm":1,"requires_grad":true}],)" +
              R"("input_kwargs":{},"output":[]})";
    }
    const std::string path = scratch_.write(
        "dump.json", R"({"framework":"pytorch","task":"statistics","dump_data_dir":null,"data":{)" + data + "}}");
    PlanOptions everything;
    everything.refusal = [](const Dialect& /*dialect*/, const std::string& /*name*/) { return Refusal{}; };
    plan_ = Plan::read(path, everything);
    options_.devices = {0, 1, 2, 3};
    options_.threads = {2, 2, 2, 2};
    // One token, and memory for hardly more than one call: whoever loses some of either stops everybody else.
    options_.processors = 1;
    options_.memory_budget = 1 << 20;
    options_.task_timeout = 2;
    options_.max_device_failures = 3;
    make_device(nullptr, nullptr);
    trap = {};
    // Whatever hangs, the test does not.
    alarm(120);
  }

  ~SupervisorTest() override {
    alarm(0);
    step_hook = nullptr;
  }

  void make_device(const testing::TestDevice::Hook& before, const std::function<void()>& at_end) {
    options_.make_device = [before, at_end](const DeviceSeat&) {
      return std::make_unique<testing::TestDevice>(before, at_end);
    };
  }

  void set_trap(QueueStep step, int signal_number, int pass) {
    trap = {step, signal_number, getpid()};
    shared().passes_left = pass;
    step_hook = spring_trap;
  }

  RunEnd run() {
    ResultStore results(plan_.size(), seen_);
    if (on_all_devices_) {
      results.join(
          WorkItems(static_cast<std::uint32_t>(plan_.size()), static_cast<std::uint32_t>(options_.devices.size())));
    }
    RunState run(plan_, options_, results);
    const RunEnd end = run_share(run, results);
    results.finish();
    return end;
  }

  RunEnd run_share(RunState& run, ResultStore& results) {
    LinuxHost host;
    Supervisor supervisor(plan_, options_, run, results, seen_, host);
    return supervisor.run();
  }

  // Of the calls from begin to end.
  static std::vector<bool> share(std::size_t begin, std::size_t end) {
    std::vector<bool> result(calls);
    std::fill(result.begin() + static_cast<std::ptrdiff_t>(begin), result.begin() + static_cast<std::ptrdiff_t>(end),
              true);
    return result;
  }

  void expect_all_passed() {
    EXPECT_THAT(seen_.verdicts, SizeIs(calls));
    for (const auto& [name, verdict] : seen_.verdicts) EXPECT_EQ(verdict, "pass") << name << seen_.messages[name];
  }

  // A process beside the supervisor, which may not have a second thread.
  template <class Body>
  pid_t beside(Body body) {
    const pid_t supervisor = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
      alarm(60);
      body(supervisor);
      _exit(0);
    }
    return pid;
  }

  testing::TemporaryDirectory scratch_;
  Plan plan_;
  SupervisorOptions options_;
  bool on_all_devices_ = false;
  testing::Recorder seen_;
};

class AtEveryStep : public SupervisorTest, public ::testing::WithParamInterface<int> {
 protected:
  QueueStep step() const { return static_cast<QueueStep>(GetParam()); }

  // A call whose first attempt fails in each device, so that there is something to be given again.
  void crash_once() {
    shared().runs = 0;
    make_device(
        [](const std::string& name) {
          if (name == "Functional.relu.1" && shared().runs.fetch_add(1) == 0) raise(SIGSEGV);
        },
        nullptr);
  }

  // Has the signal end a runner as it comes to the step, for which the reason is given. One that another thread's crash
  // is ending as it comes there does not get it, and one that the host gives little time may not come to it a second
  // time: another try.
  void end_at(int signal, int pass, const std::string& reason) {
    const auto is_told = Contains(HasSubstr(reason));
    for (int tries = 0; tries < 4; ++tries) {
      crash_once();
      set_trap(step(), signal, pass);
      seen_ = {};
      EXPECT_EQ(run(), RunEnd::complete);
      expect_all_passed();
      if (::testing::Value(seen_.reasons(), is_told)) return;
    }
    EXPECT_THAT(seen_.reasons(), is_told) << "the step was not passed";
  }
};

TEST_P(AtEveryStep, ADeathCostsNoResult) {
  for (const int pass : {1, 2}) {
    SCOPED_TRACE(pass);
    end_at(SIGKILL, step() == QueueStep::retry_taken ? 1 : pass, "killed by signal 9 (SIGKILL)");
  }
}

TEST_P(AtEveryStep, ADeathCostsNoResultOfCallsForAllDevices) {
  on_all_devices_ = true;
  options_.processors = 2;
  crash_once();
  set_trap(step(), SIGKILL, 1);
  EXPECT_EQ(run(), RunEnd::complete);
  EXPECT_LE(shared().passes_left.load(), 0) << "the step was not passed";
  expect_all_passed();
  for (const auto& [name, agreement] : seen_.agreements) {
    EXPECT_EQ(agreement.verdict, Agreement::Verdict::same) << name;
    EXPECT_THAT(agreement.answers, SizeIs(4)) << name;
  }
}

TEST_P(AtEveryStep, AStopEndsAndIsNobodysFault) {
  options_.retries = 1;
  end_at(SIGSTOP, 1, "stopped from outside");
}

INSTANTIATE_TEST_SUITE_P(Steps, AtEveryStep, ::testing::Range(0, queue_steps));

// The runner that holds the only token works on; the others wait for it, and one of them is stopped.
TEST_F(SupervisorTest, AStoppedRunnerThatWaitsForATokenIsEnded) {
  make_device(
      [](const std::string& name) {
        // The others take some time as well, so that the token is passed on before all are done.
        std::this_thread::sleep_for(std::chrono::milliseconds(name == "Functional.relu.0" ? 1000 : 20));
      },
      nullptr);
  options_.threads = {1, 1, 1, 1};
  // Three of the four are stopped for good while the fourth is at the first call.
  const pid_t attacker = beside([](pid_t supervisor) {
    std::map<pid_t, std::string> runners;
    // A child has its name a while after it was forked.
    const auto is_named = [](const auto& child) { return child.second.starts_with("msrun-dev"); };
    while (std::ranges::count_if(runners, is_named) < 4) runners = testing::children(supervisor);
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    for (const auto& [pid, name] : runners) {
      if (name == "msrun-dev1" || name == "msrun-dev2" || name == "msrun-dev3") kill(pid, SIGSTOP);
    }
  });
  EXPECT_EQ(run(), RunEnd::complete);
  waitpid(attacker, nullptr, 0);
  expect_all_passed();
  EXPECT_THAT(seen_.reasons(), Contains(HasSubstr("stopped from outside")));
}

// While a call is on its device, the token goes to one that needs the memory that this call holds.
TEST_F(SupervisorTest, CallsOnTheirDeviceAndCallsThatWaitForMemoryDoNotBlockEachOther) {
  make_device(
      [](const std::string&) {
        const DeviceWait wait;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      },
      nullptr);
  options_.retries = 0;
  EXPECT_EQ(run(), RunEnd::complete);
  expect_all_passed();
  EXPECT_THAT(seen_.deaths, IsEmpty());
}

TEST_F(SupervisorTest, ACallIsNotToBlameIfItsRunnerIsStopped) {
  shared().runs = 0;
  make_device(
      [](const std::string& name) {
        if (name == "Functional.relu.0" && shared().runs.fetch_add(1) < 2) raise(SIGSTOP);
      },
      nullptr);
  options_.retries = 0;
  EXPECT_EQ(run(), RunEnd::complete);
  expect_all_passed();
  int stops = 0;
  for (const RunnerDied& death : seen_.deaths) {
    EXPECT_EQ(death.reason, "stopped from outside, no sign of life within 2 s");
    EXPECT_THAT(death.skipped, IsEmpty());
    stops += static_cast<int>(std::count(death.calls.begin(), death.calls.end(), "Functional.relu.0"));
  }
  EXPECT_EQ(stops, 2);
}

TEST_F(SupervisorTest, ARunnerThatDoesNotEndIsEnded) {
  make_device(nullptr, sleep_forever);
  EXPECT_EQ(run(), RunEnd::complete);
  expect_all_passed();
  EXPECT_THAT(seen_.deaths, IsEmpty());
}

TEST_F(SupervisorTest, ACallThatMakesItsProcessExitIsToBlame) {
  make_device(
      [](const std::string& name) {
        if (name == "Functional.relu.3") _exit(0);
      },
      nullptr);
  options_.retries = 1;
  EXPECT_EQ(run(), RunEnd::complete);
  EXPECT_THAT(seen_.verdicts, SizeIs(calls));
  EXPECT_EQ(seen_.verdicts["Functional.relu.3"], "SKIP");
  EXPECT_THAT(seen_.messages["Functional.relu.3"], HasSubstr("ended with exit code 0, attempt 2"));
  EXPECT_THAT(seen_.deaths.back().skipped, ::testing::ElementsAre("Functional.relu.3"));
}

TEST_F(SupervisorTest, DevicesThatCannotBeMadeAreGivenUp) {
  options_.make_device = [](const DeviceSeat&) -> std::unique_ptr<Device> { _exit(0); };
  EXPECT_EQ(run(), RunEnd::no_devices);
  EXPECT_THAT(seen_.verdicts, IsEmpty());
  EXPECT_THAT(seen_.reasons(), Each("ended with exit code 0"));
}

TEST_F(SupervisorTest, ADeviceThatTakesLongToBeOpenedIsNamed) {
  options_.slow_opening = 0.2;
  options_.make_device = [](const DeviceSeat&) {
    usleep(700000);
    return std::make_unique<testing::TestDevice>(nullptr, nullptr);
  };
  ::testing::internal::CaptureStdout();
  const RunEnd end = run();
  const std::string said = ::testing::internal::GetCapturedStdout();
  EXPECT_EQ(end, RunEnd::complete);
  EXPECT_THAT(said, HasSubstr("Device 2 has been opened for 0 s and is not ready yet; it is ended after 300 s."));
}

TEST_F(SupervisorTest, ADeviceThatIsGivenUpIsNotTriedWithTheNextShare) {
  shared().runs = 0;
  options_.make_device = [](const DeviceSeat& seat) -> std::unique_ptr<Device> {
    if (seat.device_id == 2) {
      shared().runs.fetch_add(1);
      _exit(1);
    }
    // Else there may be no call left by the time that the device is asked for.
    testing::eventually(1, [] { return shared().runs.load() > 0; });
    return make_sim_device({});
  };
  options_.max_device_failures = 1;
  ResultStore results(plan_.size(), seen_);
  RunState run_state(plan_, options_, results);
  for (const std::size_t begin : {0, 20}) {
    options_.share = share(begin, begin + 20);
    EXPECT_EQ(run_share(run_state, results), RunEnd::complete);
  }
  results.finish();
  expect_all_passed();
  EXPECT_EQ(shared().runs.load(), 1);
  EXPECT_THAT(seen_.deaths, SizeIs(1));
}

TEST_F(SupervisorTest, NoShareIsBegunWithoutADevice) {
  ResultStore results(plan_.size(), seen_);
  RunState run_state(plan_, options_, results);
  for (DeviceRecord& device : run_state.devices) device.given_up = true;
  options_.share = share(0, 20);
  EXPECT_EQ(run_share(run_state, results), RunEnd::no_devices);
  EXPECT_THAT(seen_.verdicts, IsEmpty());
}

TEST_F(SupervisorTest, ProgressIsThatOfAllShares) {
  ResultStore results(plan_.size(), seen_);
  RunState run_state(plan_, options_, results);
  // So much earlier the first share would have begun.
  run_state.started -= 100;
  for (const std::size_t begin : {0, 20}) {
    options_.share = share(begin, begin + 20);
    EXPECT_EQ(run_share(run_state, results), RunEnd::complete);
    EXPECT_EQ(seen_.last_progress.done, begin + 20);
    EXPECT_EQ(seen_.last_progress.total, calls);
    EXPECT_GE(seen_.last_progress.elapsed, 100);
  }
}

TEST_F(SupervisorTest, FailuresOfAllSharesCount) {
  options_.make_device = [](const DeviceSeat&) {
    return make_sim_device({parse_sim_fault("*=scale=2"), parse_sim_fault("*=slow=0.01")});
  };
  options_.devices = {0};
  options_.threads = {1};
  options_.max_failures = 15;
  ResultStore results(plan_.size(), seen_);
  RunState run_state(plan_, options_, results);
  options_.share = share(0, 10);
  EXPECT_EQ(run_share(run_state, results), RunEnd::complete);
  EXPECT_FALSE(run_state.enough_failures);
  options_.share = share(10, calls);
  EXPECT_EQ(run_share(run_state, results), RunEnd::enough_failures);
  EXPECT_TRUE(run_state.enough_failures);
  EXPECT_LT(results.done(), calls);
}

// The device id of a call's answer that is blamed alone; -1 if none or several are.
int blamed_device(const Agreement& agreement) {
  int device = -1;
  for (const DeviceAnswer& answer : agreement.answers) {
    if (answer.blamed && device >= 0) return -1;
    if (answer.blamed) device = answer.device;
  }
  return device;
}

TEST_F(SupervisorTest, ACallThatOneDeviceOfAllCannotRunNamesThatDevice) {
  on_all_devices_ = true;
  options_.retries = 0;
  options_.make_device = [](const DeviceSeat& seat) {
    return std::make_unique<testing::TestDevice>(
        [id = seat.device_id](const std::string& name) {
          if (id == 2 && name == "Functional.relu.5") raise(SIGSEGV);
        },
        nullptr);
  };
  EXPECT_EQ(run(), RunEnd::complete);
  EXPECT_THAT(seen_.verdicts, SizeIs(calls));
  for (const auto& [name, agreement] : seen_.agreements) {
    EXPECT_EQ(blamed_device(agreement), name == "Functional.relu.5" ? 2 : -1) << name;
  }
  EXPECT_THAT(seen_.agreements["Functional.relu.5"].reason, HasSubstr("killed by signal 11"));
}

TEST_F(SupervisorTest, TheRightOneOfTwoDevicesIsNamedByAFurtherCheck) {
  on_all_devices_ = true;
  options_.devices = {0, 1};
  options_.threads = {2, 2};
  options_.make_device = [](const DeviceSeat& seat) {
    return make_sim_device({parse_sim_fault("*=wrong-on-device=1")}, seat.device_id);
  };
  EXPECT_EQ(run(), RunEnd::complete);
  EXPECT_THAT(seen_.agreements, SizeIs(calls));
  for (const auto& [name, agreement] : seen_.agreements) EXPECT_EQ(blamed_device(agreement), 1) << name;
}

// With three or more the fewer are named; whose values are judged does not matter.
TEST_F(SupervisorTest, TheRightDeviceIsNamedEachTime) {
  on_all_devices_ = true;
  options_.threads = {1, 1, 1, 1};
  for (const int sick : {0, 1, 2, 3}) {
    options_.make_device = [sick](const DeviceSeat& seat) {
      return make_sim_device({parse_sim_fault("*=wrong-on-device=" + std::to_string(sick))}, seat.device_id);
    };
    seen_ = {};
    EXPECT_EQ(run(), RunEnd::complete);
    EXPECT_THAT(seen_.agreements, SizeIs(calls));
    for (const auto& [name, agreement] : seen_.agreements) EXPECT_EQ(blamed_device(agreement), sick) << name;
  }
}

TEST_F(SupervisorTest, ADeviceThatIsGivenUpLeavesCallsForAllUnfinished) {
  on_all_devices_ = true;
  options_.make_device = [](const DeviceSeat& seat) -> std::unique_ptr<Device> {
    if (seat.device_id == 3) _exit(0);
    return make_sim_device({});
  };
  EXPECT_EQ(run(), RunEnd::no_devices);
  EXPECT_THAT(seen_.verdicts, IsEmpty());
}

TEST_F(SupervisorTest, ACallThatIsOverItsTimeIsStillBlamed) {
  make_device(
      [](const std::string& name) {
        if (name == "Functional.relu.3") sleep_forever();
      },
      nullptr);
  options_.retries = 0;
  EXPECT_EQ(run(), RunEnd::complete);
  EXPECT_EQ(seen_.verdicts["Functional.relu.3"], "SKIP");
  EXPECT_THAT(seen_.messages["Functional.relu.3"], HasSubstr("no result within 2 s"));
}

// Supervisor and runners are stopped and continued together, as by Ctrl-Z, for longer than a call may take.
TEST_F(SupervisorTest, TimeInWhichTheJobIsStoppedCountsForNoCall) {
  shared().runs = 0;
  make_device(
      [](const std::string& name) {
        if (name != "Functional.relu.0") return;
        shared().runs = 1;
        // Its process runs for a second, however long that takes.
        for (int i = 0; i < 20; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      },
      nullptr);
  options_.retries = 0;
  options_.task_timeout = 3;
  const pid_t job = beside([&](pid_t) {
    setpgid(0, 0);
    const bool complete = run() == RunEnd::complete;
    bool passed = complete && seen_.deaths.empty() && seen_.verdicts.size() == calls;
    for (const auto& [name, verdict] : seen_.verdicts) passed = passed && verdict == "pass";
    _exit(passed ? 0 : 1);
  });
  ASSERT_TRUE(testing::eventually(30, [] { return shared().runs.load() == 1; }));
  kill(-job, SIGSTOP);
  std::this_thread::sleep_for(std::chrono::seconds(4));
  kill(-job, SIGCONT);
  int status = 0;
  EXPECT_EQ(waitpid(job, &status, 0), job);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace msrun
