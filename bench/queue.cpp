// bench_queue: what the queue alone can do. Workers that compute nothing take tasks, claim processor and memory, and
// send results, which one thread drains as the supervisor does.
#include <boost/program_options.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/options.h"
#include "kernels/base/guarded_main.h"
#include "runner/shared/region.h"

namespace msrun::bench {
namespace {

namespace po = boost::program_options;

constexpr double goal = 1e6;  // tasks per second

struct Settings {
  std::uint32_t tasks = 2'000'000;
  std::size_t workers = 64;
  std::size_t result_bytes = 120;
  std::size_t repeat = 3;
};

struct Measured {
  double seconds = 0;
  double cpu = 0;  // processor seconds of all threads
};

double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void send(const SharedQueue& queue, ResultRing& ring, std::string_view framed) {
  while (!framed.empty()) {
    framed.remove_prefix(ring.push(framed));
    queue.control->results_waiting.exchange(1);
    if (!framed.empty()) std::this_thread::yield();
  }
}

// One worker until the queue has run dry; with_results is false where it only takes.
void work(const SharedQueue& queue, std::size_t number, std::string_view framed, bool with_results) {
  WorkerSlot& slot = queue.slots[number];
  while (queue.take(slot)) {
    if (!with_results) continue;
    if (!queue.admit(slot, 1)) return;
    send(queue, queue.rings[number], framed);
    queue.release(slot);
  }
}

Measured measure(const Settings& settings, bool with_results) {
  std::vector<std::uint32_t> order(settings.tasks);
  std::iota(order.begin(), order.end(), 0);
  const QueueMemory memory(order, settings.workers, std::uint64_t{1} << 40,
                           static_cast<std::uint32_t>(settings.workers));
  const SharedQueue queue = memory.view();
  const std::string framed = frame_record(std::string(settings.result_bytes, 'r'));
  const double cpu_before = processor_seconds();
  const auto start = std::chrono::steady_clock::now();
  std::atomic<std::size_t> running{settings.workers};
  std::vector<std::thread> pool;
  for (std::size_t i = 0; i < settings.workers; ++i) {
    pool.emplace_back([&, i] {
      work(queue, i, framed, with_results);
      running.fetch_sub(1);
    });
  }
  std::size_t received = 0;
  std::string bytes;
  const auto drain = [&] {
    queue.control->results_waiting.store(0);
    for (ResultRing& ring : queue.rings) ring.drain(bytes);
    received += bytes.size();
    bytes.clear();
  };
  while (with_results && running.load() > 0) {
    drain();
    std::this_thread::yield();
  }
  for (std::thread& thread : pool) thread.join();
  drain();
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
  if (with_results && received != framed.size() * settings.tasks) throw std::runtime_error("results were lost");
  return {wall.count(), processor_seconds() - cpu_before};
}

void report(const char* name, const Settings& settings, bool with_results) {
  Measured best;
  for (std::size_t i = 0; i < std::max<std::size_t>(settings.repeat, 1); ++i) {
    const Measured run = measure(settings, with_results);
    if (i == 0 || run.seconds < best.seconds) best.seconds = run.seconds;
    if (i == 0 || run.cpu < best.cpu) best.cpu = run.cpu;
  }
  const double tasks = settings.tasks;
  std::printf("| %s | %zu | %.0f | %.2f | %s |\n", name, settings.workers, tasks / best.seconds, best.cpu / tasks * 1e6,
              tasks / best.seconds >= goal ? "met" : "missed");
}

int run(int argc, char** argv) {
  Settings settings;
  po::options_description options(
      "bench_queue measures the queue of msrun with workers that compute nothing.\n\n"
      "Options");
  auto add = options.add_options();
  add("tasks", po::value(&settings.tasks)->default_value(settings.tasks), "in the queue");
  add("workers", po::value(&settings.workers)->default_value(settings.workers), "threads that take them");
  add("result-bytes", po::value(&settings.result_bytes)->default_value(settings.result_bytes), "of each result");
  add("repeat", po::value(&settings.repeat)->default_value(settings.repeat), "times each is measured");
  if (!parse_options(argc, argv, options)) return 0;
  std::printf(
      "| workers that | threads | tasks/s | processor us per task | goal of 1,000,000/s |\n|---|---|---|---|---|\n");
  report("only take", settings, false);
  report("take, claim and send results", settings, true);
  return 0;
}

}  // namespace
}  // namespace msrun::bench

int main(int argc, char** argv) {
  return msrun::guarded_main("bench_queue", [&] { return msrun::bench::run(argc, argv); });
}
