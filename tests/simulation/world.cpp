#include "tests/simulation/world.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <exception>
#include <utility>

namespace msrun::simulation {
namespace {

constexpr Nanoseconds second = 1'000'000'000;
constexpr Nanoseconds tick = second / 10;
// A run that takes more steps than this does not end.
constexpr std::uint64_t most_steps = 20'000'000;
constexpr int most_signals = 3;

World* current = nullptr;

Nanoseconds in_nanoseconds(double seconds) { return static_cast<Nanoseconds>(seconds * 1e9); }

}  // namespace

// A thread of a runner.
struct World::Thread {
  Process* process;
  std::unique_ptr<Fiber> fiber;
  Nanoseconds wakes = 0;
  std::optional<std::uint32_t> item{};   // whose check is under way
  std::optional<std::uint32_t> sends{};  // the last that was checked
};

class World::Process final : public RunnerProcess {
 public:
  Process(World& world, std::size_t place) : world_(world), place_(place) { world.processes_.push_back(this); }
  ~Process() override {
    end_threads();
    std::erase(world_.processes_, this);
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  void start(const RunnerSetup& setup) override;
  bool running() const override { return is_started_; }
  void kill() override {
    if (world_.dies_now()) world_.die();
    // The kernel takes its time.
    doomed = std::min(doomed, world_.now_ + world_.random_.below(2) * world_.random_.below(second / 1000));
  }
  std::optional<int> reap() override {
    if (!is_started_ || alive) return std::nullopt;
    if (world_.dies_now()) world_.die();
    is_started_ = false;
    return status;
  }
  void end_now() override {
    if (!is_started_) return;
    if (alive) end(SIGKILL, true);
    is_started_ = false;
  }
  std::uint64_t peak() const override { return 0; }

  // Ends it as it is, from the outside.
  void end(int wait_status, bool by_supervisor = false) {
    if (!alive) return;
    world_.count_death(*this, by_supervisor);
    alive = false;
    status = wait_status;
    end_threads();
  }
  void end_threads() {
    // The one that runs, if it is among them, ends when it next pauses.
    for (Thread& thread : threads) {
      if (Fiber::current() != thread.fiber.get()) thread.fiber->end();
      thread.item.reset();
    }
  }
  bool is_stopped() const { return stopped_until > world_.now_; }
  std::size_t place() const { return place_; }

  bool alive = false;
  int status = 0;
  bool opening_fails = false;
  Nanoseconds opens = never;  // when its device is made
  Nanoseconds doomed = never;
  Nanoseconds stopped_until = 0;
  RunnerSetup setup;
  std::atomic<std::size_t> next_retry{0};
  std::vector<Thread> threads;

 private:
  World& world_;
  std::size_t place_;
  bool is_started_ = false;
};

// What a thread does, but for what checking a call takes.
class World::Loop final : public WorkerLoop {
 public:
  Loop(World& world, Process& process, std::size_t index)
      : WorkerLoop(process.setup, index, process.next_retry), world_(world), process_(process), index_(index) {}

 private:
  std::optional<ApiResult> check(std::uint32_t item) override;
  void wake() override { world_.results_announced_ = true; }

  World& world_;
  Process& process_;
  std::size_t index_;
};

std::optional<ApiResult> World::Loop::check(std::uint32_t item) {
  const CallPlan& call = world_.schedule_.calls[setup().items.task(item)];
  process_.threads[index_].item = item;
  world_.check_admission();
  if (world_.history_.sent.contains(item)) world_.violate("a call is checked though its result was sent");
  const std::uint32_t attempt = ++world_.history_.attempts[item];
  world_.pause(std::chrono::nanoseconds(in_nanoseconds(call.seconds * (0.5 + world_.random_.fraction()))));
  if (attempt <= call.times) {
    switch (call.deed) {
      case Deed::crash:
        slot().fatal_signal.store(SIGSEGV);
        process_.end(SIGSEGV);
        Fiber::pause();
        break;
      case Deed::end_in_order:
        process_.end(0);
        Fiber::pause();
        break;
      case Deed::hang:
        while (true) world_.pause(std::chrono::hours(1));
      case Deed::take_host_down:
        // The supervisor has looked at what is under way.
        world_.pause(std::chrono::milliseconds(150));
        if (world_.is_last_) break;
        world_.history_.took_host_down = setup().items.task(item);
        while (true) world_.pause(std::chrono::hours(1));
      case Deed::none:
        break;
    }
  }
  process_.threads[index_].item.reset();
  process_.threads[index_].sends = item;
  return world_.checked(process_, item);
}

void World::Process::start(const RunnerSetup& new_setup) {
  if (world_.dies_now()) world_.die();
  Random& random = world_.random_;
  setup = new_setup;
  next_retry = 0;
  threads.clear();
  is_started_ = true;
  alive = true;
  doomed = never;
  stopped_until = 0;
  opening_fails = !world_.is_last_ && random.chance(world_.schedule_.failed_opening);
  const bool never_opens = !world_.is_last_ && random.chance(world_.schedule_.endless_opening);
  opens = never_opens ? never : world_.now_ + in_nanoseconds(random.of_any_size(1e-5, 1));
}

World::World(const Schedule& schedule, Random& random, CallHistory& history, Nanoseconds now, bool is_last)
    : schedule_(schedule), random_(random), history_(history), now_(now), is_last_(is_last), next_tick_(now + tick) {
  history_.deaths.clear();
  history_.crashes.clear();
  history_.sent.clear();
  history_.alone.clear();
  history_.took_host_down.reset();
  current = this;
  time_source = this;
  step_hook = &World::on_step;
  look_hook = &World::on_look;
}

World::~World() {
  look_hook = nullptr;
  step_hook = nullptr;
  time_source = nullptr;
  current = nullptr;
}

std::unique_ptr<RunnerProcess> World::runner(std::size_t place) { return std::make_unique<Process>(*this, place); }

std::uint64_t World::steady_nanoseconds() {
  passed_by_supervisor(0.05);
  return now_ += 100;
}

double World::unix_seconds() { return 1.7e9 + static_cast<double>(now_) * 1e-9; }

void World::pause(std::chrono::nanoseconds duration) {
  const auto time = static_cast<Nanoseconds>(duration.count());
  if (thread_ == nullptr) {
    now_ += time;
    return;
  }
  thread_->wakes = now_ + time;
  Fiber::pause();
}

void World::on_step(QueueStep step) {
  if (current->thread_ != nullptr) return current->passed_by_worker(step);
  current->passed_by_supervisor(0.3);
}

void World::on_look() { current->passed_by_supervisor(0.3); }

void World::passed_by_worker(QueueStep step) {
  if (thread_->fiber->is_ending()) return;
  Process& process = *thread_->process;
  if (step == QueueStep::result_sent) history_.sent.insert(*thread_->sends);
  if (!is_last_ && random_.chance(schedule_.outside_kill)) {
    process.end(SIGKILL);
    Fiber::pause();
  }
  if (!is_last_ && random_.chance(schedule_.stop)) {
    const bool ends = random_.chance(1 - schedule_.stop_for_ever);
    process.stopped_until = ends ? now_ + in_nanoseconds(random_.of_any_size(1e-4, 20)) : never;
    Fiber::pause();
  }
  if (random_.chance(0.5)) Fiber::pause();
}

// While the supervisor is between two steps of its own, runners take theirs.
void World::passed_by_supervisor(double probability) {
  if (thread_ != nullptr || stands_still_ || is_dead_) return;
  while (random_.chance(probability) && step()) {
  }
}

// One thread that could go on does. False if there is none.
bool World::step() {
  std::vector<Thread*> ready;
  for (Process* process : processes_) {
    if (!process->alive || process->is_stopped()) continue;
    for (Thread& thread : process->threads) {
      if (!thread.fiber->is_done() && thread.wakes <= now_) ready.push_back(&thread);
    }
  }
  if (ready.empty()) return false;
  ++steps_;
  thread_ = ready[random_.below(ready.size())];
  Process& process = *thread_->process;
  thread_->fiber->resume();
  thread_ = nullptr;
  now_ += 200 + random_.below(5000);
  if (!process.alive) {
    process.end_threads();
  } else if (std::ranges::all_of(process.threads, [](const Thread& thread) { return thread.fiber->is_done(); })) {
    process.end(0);
  }
  return true;
}

void World::open_devices() {
  for (Process* process : processes_) {
    if (!process->alive || process->opens > now_ || process->is_stopped()) continue;
    process->opens = never;
    if (process->opening_fails) {
      process->end(4 << 8);
      continue;
    }
    process->setup.queue.slots[process->setup.first_slot].ready.store(1);
    const std::size_t threads = process->setup.alone ? 1 : process->setup.threads;
    process->threads.reserve(threads);
    for (std::size_t i = 0; i < threads; ++i) {
      process->threads.push_back(
          {process, std::make_unique<Fiber>([this, process, i] { Loop(*this, *process, i).run(); })});
    }
  }
}

void World::kill_doomed() {
  for (Process* process : processes_) {
    if (process->doomed <= now_) process->end(SIGKILL, true);
  }
}

Nanoseconds World::next_event() const {
  Nanoseconds next = next_tick_;
  if (!signals_.empty()) next = std::min(next, signals_.begin()->first);
  for (const Process* process : processes_) {
    if (!process->alive) continue;
    next = std::min(next, process->doomed);
    if (process->is_stopped()) {
      next = std::min(next, process->stopped_until);
      continue;
    }
    next = std::min(next, process->opens);
    for (const Thread& thread : process->threads) {
      if (!thread.fiber->is_done()) next = std::min(next, thread.wakes);
    }
  }
  return std::max(next, now_);
}

// Of a process that a call has crashed, or that the supervisor has ended, only the call that did it, or that hung, may
// be blamed; of others every call that it was at.
void World::count_death(const Process& process, bool by_supervisor) {
  const RunnerSetup& setup = process.setup;
  const auto slots = setup.queue.slots.subspan(setup.first_slot, setup.threads);
  const bool crashed = std::ranges::any_of(slots, [](const WorkerSlot& slot) { return slot.fatal_signal.load() != 0; });
  for (const WorkerSlot& slot : slots) {
    const std::uint32_t item = slot.task.load();
    if (item == WorkerSlot::idle) continue;
    const bool hangs = schedule_.calls[setup.items.task(item)].deed == Deed::hang;
    const bool has_crashed_it = slot.fatal_signal.load() != 0;
    if (!hangs && !has_crashed_it && (crashed || by_supervisor)) continue;
    ++history_.deaths[item];
    if (has_crashed_it && ++history_.crashes[item] > schedule_.retries + 1) violate("a call was tried once too often");
  }
}

bool World::has_news() const {
  return results_announced_ || now_ >= next_tick_ || (!signals_.empty() && signals_.begin()->first <= now_) ||
         std::ranges::any_of(processes_, [](const Process* process) { return process->running() && !process->alive; });
}

Host::News World::take_news() {
  News news;
  while (!signals_.empty() && signals_.begin()->first <= now_) {
    news.signals.push_back(signals_.begin()->second);
    signals_.erase(signals_.begin());
  }
  news.results = std::exchange(results_announced_, false);
  for (const Process* process : processes_) {
    if (process->running() && !process->alive) news.ended.push_back(process->place());
  }
  if (now_ >= next_tick_) {
    news.tick = true;
    next_tick_ = now_ + tick;
    for (const Process* process : processes_) {
      if (process->alive && !process->is_stopped()) {
        process->setup.queue.slots[process->setup.first_slot].heartbeat.fetch_add(1);
      }
    }
  }
  return news;
}

Host::News World::wait(double seconds) {
  require_order();
  if (dies_now()) die();
  const Nanoseconds until = seconds < 0 ? never : now_ + in_nanoseconds(seconds);
  if (!is_last_ && signals_sent_ < most_signals && random_.chance(schedule_.signal)) {
    ++signals_sent_;
    constexpr std::array numbers{SIGINT, SIGTERM, SIGHUP};
    signals_[now_ + in_nanoseconds(random_.of_any_size(1e-6, 1))] = numbers[random_.below(numbers.size())];
  }
  while (now_ < until) {
    if (history_.took_host_down) die();
    kill_doomed();
    open_devices();
    if (has_news() && random_.chance(0.7)) break;
    if (!step()) now_ = std::min(next_event(), until);
    if (++steps_ > most_steps) throw Violation("the run does not end");
  }
  return take_news();
}

// Not while an exception is on its way: what comes out of a destructor then would end this program.
bool World::dies_now() {
  if (is_last_ || is_dead_ || stands_still_ || std::uncaught_exceptions() > 0) return false;
  if (history_.took_host_down) return true;
  return random_.chance(schedule_.supervisor_kill);
}

void World::die() {
  is_dead_ = true;
  for (Process* process : processes_) process->end_now();
  throw SupervisorKilled();
}

// What was admitted together fits the memory, and computes on no more processors than there are.
void World::check_admission() {
  std::uint64_t memory = 0;
  std::uint64_t under_way = 0;
  const SharedQueue* queue = nullptr;
  std::vector<std::uint32_t> items;
  for (const Process* process : processes_) {
    for (const Thread& thread : process->threads) {
      if (!process->alive || !thread.item) continue;
      queue = &process->setup.queue;
      items.push_back(*thread.item);
      memory += process->setup.plan.tasks[process->setup.items.task(*thread.item)].memory;
      ++under_way;
    }
  }
  if (under_way <= 1) return;
  if (memory > queue->control->memory_budget) violate("calls under way need more memory than there is");
  if (under_way > queue->control->processors) violate("more calls are under way than processors");
  std::ranges::sort(items);
  if (std::ranges::adjacent_find(items) != items.end()) violate("two threads are at the same call");
  for (const std::uint32_t item : items) {
    if (history_.alone.contains(thread_->process->setup.items.task(item))) {
      violate("a call that may take the host down is not checked alone");
    }
  }
}

void World::violate(const std::string& rule) {
  if (violation_.empty()) violation_ = rule;
}

void World::require_order() const {
  if (!violation_.empty()) throw Violation(violation_);
}

ApiResult World::checked(const Process& process, std::uint32_t item) const {
  const std::uint32_t task = process.setup.items.task(item);
  const CallPlan& call = schedule_.calls[task];
  ApiResult result;
  result.task = task;
  result.name = process.setup.plan.title(task);
  result.device = process.setup.device_id;
  result.forward = Status::pass;
  result.message = "result of call " + std::to_string(task) + std::string(call.message_size, '.');
  const bool differs = call.differs && result.device == 1;
  result.checksums.outputs = {std::uint64_t{task} + 1, differs ? std::uint64_t{2} : std::uint64_t{1}};
  return result;
}

}  // namespace msrun::simulation
