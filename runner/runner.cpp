#include "runner/runner.h"

#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "kernels/api/call_codec.h"
#include "kernels/base/parallel.h"
#include "kernels/tensor/memory.h"
#include "kernels/tensor/storage_pool.h"
#include "runner/affinity.h"
#include "runner/device/device_wait.h"
#include "runner/device/reply.h"
#include "runner/process_memory.h"
#include "runner/shared/queue_steps.h"
#include "runner/token_watch.h"
#include "runner/worker_loop.h"

namespace msrun {
namespace {

// Says which thread's task the process died of; a thread that helps another one works at the other's task.
extern "C" void note_fatal_signal(int signal_number) {
  auto* slot = static_cast<WorkerSlot*>(work_owner());
  if (slot != nullptr) slot->fatal_signal.store(static_cast<std::uint32_t>(signal_number));
  // SA_RESETHAND has restored the default action.
  std::raise(signal_number);
}

void catch_fatal_signals() {
  struct sigaction action {};
  action.sa_handler = note_fatal_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER | SA_ONSTACK);
  for (const int signal_number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(signal_number, &action, nullptr);
}

// A stack of its own for the handler, so that an overflow of the thread's stack is noted too. The one that was there
// (sanitizers have their own) comes back at the end.
class SignalStack {
 public:
  SignalStack() {
    stack_t stack{};
    stack.ss_sp = memory_.data();
    stack.ss_size = memory_.size();
    sigaltstack(&stack, &before_);
  }
  ~SignalStack() { sigaltstack(&before_, nullptr); }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::array<char, 16384> memory_;
  stack_t before_{};
};

class Worker final : public WorkerLoop {
 public:
  Worker(const RunnerSetup& setup, std::size_t index, Device& device, std::atomic<std::size_t>& next_retry,
         std::atomic<std::size_t>& busy)
      : WorkerLoop(setup, index, next_retry),
        device_(device),
        busy_(busy),
        check_(setup.check),
        generator_(static_cast<std::uint32_t>(setup.check.materialise.seed)) {}

  void work() {
    const SignalStack stack;
    work_owner() = &slot();
    // Its token is for others while it waits; where the run is being stopped, it goes on without.
    const WaitTerms terms{[this] { slot().computing.store(0); }, [this] { take_processor_again(); },
                          [this](bool waits) { slot().kept_waiting.store(waits ? 1 : 0); }};
    wait_terms() = &terms;
    const LastWords words = [this](std::string_view text) {
      slot().last_words[text.copy(slot().last_words.data(), slot().last_words.size() - 1)] = 0;
    };
    last_words() = &words;
    run();
    wait_terms() = nullptr;
    last_words() = nullptr;
    help_others();
  }

 private:
  // First with a fair share of the memory; a call whose outputs are far beyond the estimate is run again with all of
  // it, while no other call holds any.
  std::optional<ApiResult> check(std::uint32_t item) override {
    const std::uint32_t task = setup().items.task(item);
    take_part(item);
    const QueueControl& control = *setup().queue.control;
    const std::uint64_t at_a_time = std::min<std::uint64_t>(control.processors, setup().queue.slots.size());
    const std::uint64_t share = std::max(control.memory_budget / at_a_time, 2 * setup().plan.tasks[task].memory);
    {
      const TensorMemoryScope scope(std::min(share, control.memory_budget));
      ApiResult result = check_task(task);
      if (!scope.exceeded() || share >= control.memory_budget) return result;
    }
    if (!begin_again(control.memory_budget)) return std::nullopt;
    const TensorMemoryScope scope(control.memory_budget);
    return check_task(task);
  }

  void wake() override {
    const std::uint64_t one = 1;
    // The counter cannot overflow; a failed write only delays the supervisor to its next tick.
    [[maybe_unused]] const ssize_t written = write(setup().notify, &one, sizeof(one));
  }

  // The queue has run dry: the large calls that others are still at may use this thread.
  void help_others() {
    if (busy_.fetch_sub(1) == 1) {
      wake_helpers();
      return;
    }
    HelpTerms terms;
    terms.done = [&] { return busy_.load() == 0; };
    terms.enter = [&] { return setup().queue.acquire_processor(slot(), [&] { return busy_.load() != 0; }); };
    terms.leave = [&] { setup().queue.release(slot()); };
    help_until(terms);
    setup().queue.release(slot());
  }

  // While others have the processors its call gets no older.
  void take_processor_again() {
    slot().kept_waiting.store(1);
    setup().queue.acquire_processor(slot(), [] { return true; });
    slot().kept_waiting.store(0);
  }

  // What is done for this item. Runs of a call on different devices have different numbers.
  void take_part(std::uint32_t item) {
    if (!setup().items.on_all_devices()) return;
    const std::uint32_t part = setup().items.part(item);
    check_.only_device = !setup().items.is_check(part);
    check_.further_check = part > 0;
    check_.first_run = part % setup().items.devices() * check_.repeat;
  }

  ApiResult check_task(std::uint32_t task) {
    ApiCall call = decode_call(setup().plan.call(task));
    const std::string_view gradients = setup().plan.gradients(task);
    if (!gradients.empty()) {
      call.has_backward = true;
      call.grad_inputs = decode_list(gradients);
    }
    const std::string_view forms = setup().plan.output_forms(task);
    if (!forms.empty()) call.output_forms = decode_list(forms);
    const std::string_view outputs = setup().plan.outputs(task);
    if (!outputs.empty()) {
      call.recorded.emplace();
      call.recorded->outputs = decode_list(outputs);
      const std::string_view output_gradients = setup().plan.output_gradients(task);
      if (!output_gradients.empty()) call.recorded->gradients = decode_list(output_gradients);
    }
    if (setup().stream) move_stream(setup().plan.tasks[task].stream_word);
    if (!setup().ranks.empty()) be_at(setup().ranks[setup().plan.tasks[task].rank]);
    ApiResult result = check_api(call, task, device_, setup().device_id, check_);
    result.name = setup().plan.title(task);
    return result;
  }

  void be_at(const RankPlace& place) {
    check_.materialise.data_root = place.data_root;
    check_.materialise.data_folders = place.data_folders;
    check_.rank = place.rank;
  }

  static List decode_list(std::string_view encoded) { return *decode_value(encoded).get<List>(); }

  void move_stream(std::uint64_t word) {
    if (generator_.position() > word) {
      generator_ = MersenneTwister(static_cast<std::uint32_t>(setup().check.materialise.seed));
    }
    generator_.discard(word - generator_.position());
    check_.materialise.stream = &generator_;
  }

  Device& device_;
  std::atomic<std::size_t>& busy_;  // threads of this process that still take tasks
  CheckOptions check_;
  MersenneTwister generator_;
};

// A file of gigabytes in the folder that the user stands in is no help to most. The soft limit is what decides it, and
// unlike PR_SET_DUMPABLE it leaves the process open to a debugger; a program that the system hands core dumps to is not
// bound by it and puts them elsewhere.
void limit_core_dumps(bool wanted) {
  rlimit limit{};
  if (getrlimit(RLIMIT_CORE, &limit) != 0) return;
  limit.rlim_cur = wanted ? limit.rlim_max : 0;
  setrlimit(RLIMIT_CORE, &limit);
}

std::size_t runners_of(const RunnerSetup& setup) {
  return std::max<std::size_t>(1, setup.queue.slots.size() / std::max<std::size_t>(1, setup.threads));
}

// Calls of other runners may be admitted up to the whole budget: what is kept here must not come on top of it.
void make_room_for_others(const SharedQueue& queue, WorkerSlot& slot) {
  slot.kept.store(storage_pool_state().kept, std::memory_order_relaxed);
  const std::uint64_t wanted = queue.memory_in_use() + queue.memory_kept();
  if (wanted <= queue.control->memory_budget) return;
  give_back_storage(wanted - queue.control->memory_budget);
  slot.kept.store(storage_pool_state().kept, std::memory_order_relaxed);
}

// The device whose processes have to go on for the heart to beat.
class PulseOf {
 public:
  bool is_stopped() {
    const std::lock_guard lock(mutex_);
    return device_ != nullptr && device_->is_stopped();
  }
  void set(const Device* device) {
    const std::lock_guard lock(mutex_);
    device_ = device;
  }

 private:
  std::mutex mutex_;
  const Device* device_ = nullptr;
};

// A thread that tells the supervisor that neither this process nor one of its device is stopped, whatever its other
// threads are at, and ends it when nobody is left to take its results.
std::shared_ptr<PulseOf> start_pulse(const RunnerSetup& setup) {
  constexpr int interval = 50;  // milliseconds
  auto pulse = std::make_shared<PulseOf>();
  const bool alone = runners_of(setup) == 1;
  std::thread([descriptor = setup.lifeline, queue = setup.queue, &slot = setup.queue.slots[setup.first_slot], alone,
               pulse] {
    pollfd lifeline{descriptor, POLLIN, 0};
    bool is_stopped = false;
    for (int beats = 1; poll(&lifeline, 1, interval) <= 0; ++beats) {
      if (beats % (500 / interval) == 0) is_stopped = pulse->is_stopped();
      if (!is_stopped) slot.heartbeat.fetch_add(1, std::memory_order_relaxed);
      // What no tensor has asked for in five seconds may serve others.
      if (beats % (5000 / interval) == 0) give_back_idle_storage();
      if (!alone) make_room_for_others(queue, slot);
    }
    _exit(0);
  }).detach();
  return pulse;
}

// The pulse is that of the device as long as this lives.
class BeatsFor {
 public:
  BeatsFor(PulseOf& pulse, const Device& device) : pulse_(pulse) { pulse_.set(&device); }
  ~BeatsFor() { pulse_.set(nullptr); }
  BeatsFor(const BeatsFor&) = delete;
  BeatsFor& operator=(const BeatsFor&) = delete;

 private:
  PulseOf& pulse_;
};

// Null where the host gives no thread for it, or no memory: calls that wait then keep others waiting.
std::unique_ptr<TokenWatch> watch_tokens(const RunnerSetup& setup, std::vector<std::thread>& pool) {
  try {
    return std::make_unique<TokenWatch>(setup.queue.slots.subspan(setup.first_slot, pool.size()), pool);
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace

void run_runner(const RunnerSetup& setup) {
  limit_core_dumps(setup.core_dumps);
  if (setup.near_device && setup.check.tested_on == TestedOn::hardware) {
    const auto visible = visible_devices();
    const auto processors = visible ? processors_near("/sys", setup.device_id, *visible) : std::nullopt;
    if (processors) stay_on(*processors);
  }
  // The runners of all devices share the memory that calls may take.
  keep_freed_memory(setup.queue.control->memory_budget / runners_of(setup), setup.queue.control->processors);
  catch_fatal_signals();
  passed(QueueStep::runner_started);
  const std::shared_ptr<PulseOf> pulse = start_pulse(setup);
  passed(QueueStep::pulse_started);
  const std::unique_ptr<Device> device =
      setup.make_device({setup.device_id, setup.alone, setup.queue.control->memory_budget});
  const BeatsFor device_beats(*pulse, *device);
  setup.queue.slots[setup.first_slot].ready.store(1);
  passed(QueueStep::device_made);
  std::atomic<std::size_t> next_retry{0};
  const std::size_t threads = setup.alone ? 1 : setup.threads;
  std::atomic<std::size_t> busy{threads};
  std::vector<std::thread> pool;
  pool.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) {
    try {
      pool.emplace_back([&, i] { Worker(setup, i, *device, next_retry, busy).work(); });
    } catch (const std::exception&) {
      busy.fetch_sub(threads - i);
      wake_helpers();
      // The host gives no more threads, or no memory for one; with those that run the work goes on.
      if (pool.empty()) throw;
      break;
    }
  }
  std::unique_ptr<TokenWatch> watch;
  if (device->computes_here()) watch = watch_tokens(setup, pool);
  for (std::thread& thread : pool) thread.join();
  passed(QueueStep::threads_joined);
}

}  // namespace msrun
