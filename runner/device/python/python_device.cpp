#include "runner/device/python/python_device.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/process_end.h"
#include "kernels/base/processes.h"
#include "kernels/base/text.h"
#include "runner/device/device_wait.h"
#include "runner/device/python/arena.h"
#include "runner/device/python/operand_settings.h"
#include "runner/device/python/wire.h"
#include "runner/device/reply.h"
#include "runner/workers/frames.h"
#include "runner/workers/hello.h"
#include "runner/workers/worker_process.h"

namespace msrun {
namespace {

// What a lane keeps of its memory between calls.
constexpr std::size_t kept_bytes = std::size_t{64} << 20;

// One of at most so many places.
class Places {
 public:
  explicit Places(std::size_t count) : free_(count) {}
  void take() {
    std::unique_lock lock(mutex_);
    if (free_ == 0) {
      const WaitForOthers wait;
      changed_.wait(lock, [&] { return free_ > 0; });
    }
    --free_;
  }
  void give() {
    const std::lock_guard lock(mutex_);
    ++free_;
    changed_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t free_;
};

class Place {
 public:
  explicit Place(Places& places) : places_(places) { places_.take(); }
  ~Place() { places_.give(); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  Places& places_;
};

struct Worker {
  Worker(const WorkerProcess::Start& start, std::size_t lanes) : process(start), places(lanes) {}
  WorkerProcess process;
  Places places;
  std::mutex dying;
  bool is_dead = false;
  // Python's identity of the thread in which the worker caught a fatal signal, and that signal.
  std::optional<std::uint64_t> culprit;
  int fatal_signal = 0;
};

// The way of one thread of the runner into a thread of a worker.
struct Lane {
  Worker* worker = nullptr;
  UniqueFd socket;
  Arena arena;
  std::uint64_t ident = 0;  // of the worker's thread
  std::uint64_t calls = 0;
  std::string reply;
};

class PythonDevice final : public Device {
 public:
  PythonDevice(WorkerOptions options, const DeviceSeat& seat, ForkServer forks)
      : options_(std::move(options)), seat_(seat) {
    const std::size_t count = seat.alone ? 1 : options_.workers;
    for (std::size_t i = 0; i < count; ++i) {
      workers_.push_back(std::make_unique<Worker>(WorkerProcess::Start{.options = options_,
                                                                       .device_id = seat.device_id,
                                                                       .blocking = seat.alone,
                                                                       .memory = seat.memory,
                                                                       .forks = forks},
                                                  options_.lanes));
    }
    for (const auto& worker : workers_) {
      const Hello hello = await_hello(worker->process, options_);
      operands_ = operands_by_settings(options_.kind, hello.settings);
      stored_parts_ = stored_parts_by_settings(options_.kind, hello.settings);
    }
  }

  ~PythonDevice() override {
    lanes_.clear();
    for (const auto& worker : workers_) worker->process.dismiss();
  }

  DeviceArithmetic arithmetic() const override {
    return {.half_rounding = is_processor() ? HalfRounding::every_step : HalfRounding::between_kernels,
            .operands = operands_,
            .stored_parts = stored_parts_};
  }
  bool computes_here() const override { return false; }

  bool is_stopped() const override {
    return std::ranges::any_of(workers_, [](const auto& worker) {
      // Who holds it has seen its end.
      const std::unique_lock lock(worker->dying, std::try_to_lock);
      return lock && !worker->is_dead && msrun::is_stopped(worker->process.forks().pid);
    });
  }

  DeviceResult run(const DeviceCall& call) override {
    Lane& lane = lane_of_this_thread();
    std::optional<DeviceWait> wait;
    if (!is_processor()) wait.emplace();
    Reply reply = turns_.run([&] { return ask(lane, call); }, [&] { give_back_memory(); });
    wait.reset();
    if (reply.status == ReplyStatus::lost) {
      end_runner(seat_.device_id, "its " + worker_name() + " lost the device: " + readable(bounded(reply.error)));
    }
    return result_of(std::move(reply), call, options_.backend());
  }

 private:
  bool is_processor() const { return options_.kind == "cpu"; }

  std::string worker_name() const { return std::string(options_.framework->name) + " worker"; }

  // Of all workers, before the call runs again: the memory that it needs may be another one's. Nothing else is asked or
  // told meanwhile.
  void give_back_memory() {
    std::vector<Worker*> asked;
    for (const auto& worker : workers_) {
      if (send_frame(worker->process.control(), R"({"trim":1})")) asked.push_back(worker.get());
    }
    std::string answer;
    try {
      // One that has died meanwhile is found out by the next call.
      for (Worker* worker : asked) receive_frame(worker->process.control(), answer);
    } catch (const BadFrame& error) {
      worker_talks_nonsense(error.what());
    }
  }

  Lane& lane_of_this_thread() {
    const std::lock_guard lock(mutex_);
    const auto found = lanes_.find(std::this_thread::get_id());
    if (found != lanes_.end()) return *found->second;
    // Kept only when it is open: where a descriptor was lacking once, the thread's next call tries again.
    auto lane = std::make_unique<Lane>();
    const std::size_t number = lanes_.size();
    lane->worker = workers_[number % workers_.size()].get();
    open(*lane, number);
    return *lanes_.emplace(std::this_thread::get_id(), std::move(lane)).first->second;
  }

  void open(Lane& lane, std::size_t number) {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      throw_errno("socketpair");
    }
    lane.socket.reset(ends[0]);
    UniqueFd other(ends[1]);
    const std::array descriptors{other.get(), lane.arena.descriptor()};
    const std::string text = R"({"lane":)" + std::to_string(number) + "}";
    if (!send_frame(lane.worker->process.control(), text, descriptors)) worker_ended(lane);
    // The worker's end is in the message now; while ours is open, its death would go unseen.
    other.reset();
    try {
      if (!receive_frame(lane.socket.get(), lane.reply)) worker_ended(lane);
      lane.ident = decode_lane(lane.reply);
    } catch (const BadFrame& error) {
      worker_talks_nonsense(error.what());
    }
  }

  Reply ask(Lane& lane, const DeviceCall& call) {
    const std::uint64_t id = ++lane.calls;
    const std::string request = encode_call(call, id, lane.arena);
    if (request.size() > longest_frame) throw SkipError("The call has more values than can be sent to the device.");
    try {
      const Place place(lane.worker->places);
      if (!send_frame(lane.socket.get(), request) || !receive_frame(lane.socket.get(), lane.reply)) {
        worker_ended(lane);
      }
    } catch (const BadFrame& error) {
      worker_talks_nonsense(error.what());
    }
    try {
      Reply reply = decode_reply(lane.reply, id, lane.arena);
      lane.arena.give_back(kept_bytes);
      return reply;
    } catch (const BadFrame& error) {
      worker_talks_nonsense(error.what());
    }
  }

  // A process that came to its end takes this one with it, so that the supervisor's rules for calls that kill their
  // runner hold for those that kill their worker.
  [[noreturn]] void worker_ended(Lane& lane) {
    Worker& worker = *lane.worker;
    int exit_code = 0;
    {
      const std::lock_guard lock(worker.dying);
      if (!worker.is_dead) {
        const WorkerProcess::End end = worker.process.end();
        worker.is_dead = true;
        if (WIFSIGNALED(end.wait_status)) {
          worker.fatal_signal = WTERMSIG(end.wait_status);
          worker.culprit = faulting_thread(end.fault);
        }
        say_runner_ends(seat_.device_id, "its " + worker_name() + " " + end_text(end.wait_status));
        exit_code = WIFEXITED(end.wait_status) ? WEXITSTATUS(end.wait_status) : 0;
        if (worker.fatal_signal == 0) _exit(exit_code == 0 ? 1 : exit_code);
      }
    }
    if (worker.culprit == lane.ident) {
      std::raise(worker.fatal_signal);
    } else if (worker.culprit) {
      // The thread to blame is about to end this process.
      std::this_thread::sleep_for(std::chrono::seconds(5));
    }
    kill(getpid(), SIGKILL);
    while (true) pause();
  }

  [[noreturn]] void worker_talks_nonsense(const char* what) const {
    end_runner(seat_.device_id, "its " + worker_name() + " does not keep to the protocol: " + what);
  }

  WorkerOptions options_;
  OperandSettings operands_;
  StoredParts stored_parts_;
  DeviceSeat seat_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::mutex mutex_;
  std::map<std::thread::id, std::unique_ptr<Lane>> lanes_;
  CallTurns turns_;
};

}  // namespace

std::unique_ptr<Device> make_python_device(const WorkerOptions& options, const DeviceSeat& seat, ForkServer forks) {
  return std::make_unique<PythonDevice>(options, seat, forks);
}

}  // namespace msrun
