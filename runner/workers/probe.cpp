#include "runner/workers/probe.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "kernels/base/child_process.h"
#include "kernels/base/clock.h"
#include "kernels/base/error.h"
#include "kernels/base/processes.h"
#include "runner/workers/shared_forks.h"

namespace msrun {

WorkerProbe::WorkerProbe(WorkerOptions options, std::int32_t device_id)
    : options_(std::move(options)), device_id_(device_id), shared_(shared_forks(options_)) {
  if (shared_) answer_ = ask_for_hello(shared_->socket, device_id_);
  if (!answer_) start();
}

void WorkerProbe::start() {
  shared_.reset();
  WorkerProcess::Start start{.options = options_, .device_id = device_id_, .inspect = true};
  process_.emplace(start);
  if (WorkerProcess::can_fork(options_)) answer_ = ask_for_hello(process_->control(), device_id_);
}

Hello WorkerProbe::wait(int silence) {
  const Patience patience{.stopped = silence};
  if (shared_) {
    if (std::optional<Hello> hello = answered_hello(answer_, options_, shared_->pid, patience).hello) return *hello;
    start();
  }
  if (!WorkerProcess::can_fork(options_)) return await_hello(*process_, options_, patience);
  // Whoever stops them one after the other means it.
  constexpr int most_starts = 3;
  for (int starts = 1; answer_; ++starts) {
    HelloAnswer answer = answered_hello(answer_, options_, process_->forks().pid, patience);
    if (answer.hello) return *std::move(answer.hello);
    if (!answer.was_stopped || starts == most_starts) break;
    start();
  }
  refuse_ended(*process_, options_);
}

ForkServer WorkerProbe::forks() const {
  if (shared_) return *shared_;
  return WorkerProcess::can_fork(options_) ? process_->forks() : ForkServer{};
}

void require_devices(const Hello& hello, const WorkerOptions& options, const std::vector<int>& ids) {
  if (options.kind == "cpu") return;
  std::string there;
  for (const ListedDevice& device : hello.devices) there += (there.empty() ? "" : ", ") + std::to_string(device.id);
  for (const int id : ids) {
    if (std::ranges::find(hello.devices, id, &ListedDevice::id) != hello.devices.end()) continue;
    throw UserError("-d: there is no device " + std::to_string(id) + " of " + options.backend() + "; " +
                    (there.empty() ? "there is none at all" : "its ids are " + there));
  }
}

std::string_view accelerator_of_host(const std::string& device_files) {
  std::error_code ignored;
  const std::filesystem::path folder(device_files);
  if (std::filesystem::exists(folder / "davinci_manager", ignored)) return "npu";
  if (std::filesystem::exists(folder / "nvidiactl", ignored)) return "cuda";
  return {};
}

bool finds_packages(const std::string& python, const WorkerFramework& framework, std::string_view kind) {
  const auto lacks = [](std::string_view package) { return "not u.find_spec('" + std::string(package) + "')"; };
  // Python searches the current folder first for what it imports on behalf of such code. sys is part of the
  // interpreter.
  std::string code =
      "import sys\nsys.path[:] = filter(None, sys.path)\nimport importlib.util as u\nsys.exit(" + lacks(framework.name);
  if (kind == "npu" && !framework.npu_package.empty()) code += " or " + lacks(framework.npu_package);
  code += ")";
  const pid_t pid = start_child({python, "-B", "-c", code}, Streams::nowhere);
  if (pid < 0) return false;
  constexpr double patience = 5;  // seconds
  const double deadline = steady_seconds() + patience;
  std::optional<int> status;
  while (!(status = end_of(pid))) {
    if (steady_seconds() > deadline) {
      kill(pid, SIGKILL);
      await_end(pid);
      return false;
    }
    usleep(2000);
  }
  return WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
}

}  // namespace msrun
