// bench_journal: what the journal costs. Replaying a million records, resuming a finished run of a hundred thousand
// calls, and the journal's share of a run of small tensors.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/program_options.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/dump_writer.h"
#include "bench/measured_run.h"
#include "bench/options.h"
#include "bench/scratch_directory.h"
#include "bench/training_step.h"
#include "bench/typical_result.h"
#include "journal/reader.h"
#include "journal/writer.h"
#include "kernels/base/clock.h"
#include "kernels/base/guarded_main.h"
#include "orchestrator/output/results.h"
#include "runner/results/journal_records.h"
#include "runner/results/stored_results.h"

namespace msrun::bench {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

constexpr double megabyte = 1e6;
constexpr double replay_goal = 3;            // seconds
constexpr double replay_memory_goal = 500;   // MB
constexpr double resume_goal = 2;            // seconds
constexpr double journal_share_goal = 0.02;  // of the run

struct Settings {
  std::uint32_t records = 1'000'000;
  std::uint64_t calls = 100'000;
  std::size_t repeat = 5;
  int threads = 2;
};

double cpu_seconds(const rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double thread_cpu() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return cpu_seconds(usage);
}

// In batches of about a hundred, as a run with many small calls writes them, and in the order of a queue: not that of
// the dump.
void write_journal(const fs::path& path, std::uint32_t records) {
  journal::Writer writer = journal::Writer::create(path, "{}");
  for (std::uint32_t i = 0; i < records; ++i) {
    writer.append(encode(typical_result(static_cast<std::uint32_t>(std::uint64_t{i} * 7919 % records))));
    if (i % 100 == 99) writer.flush();
  }
  writer.close();
}

struct Replay {
  double seconds = 0;
  double cpu = 0;          // processor seconds
  std::uint64_t peak = 0;  // bytes
};

class NoView final : public ProgressView {
 public:
  void run_started(const RunStarted&) override {}
  void api_result(const ApiResult&) override {}
  void runner_died(const RunnerDied&) override {}
  void progress(const ProgressState&) override {}
  void run_finished(const RunFinished&) override {}
};

// Runs in a process of its own, for its peak.
Replay replay(const fs::path& path, std::uint32_t records) {
  int result_pipe[2];
  if (pipe(result_pipe) != 0) throw std::runtime_error("pipe failed");
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("fork failed");
  if (pid == 0) {
    const double start = steady_seconds();
    StoredResults stored(records);
    RecordHandlers handlers;
    handlers.result = [&](const ApiResult& result) { stored.put(result); };
    read_records(*journal::open_source(path), handlers);
    NoView view;
    ResultStore results(records, view);
    results.restore(std::move(stored), [](const ApiResult&) { return false; });
    const double seconds = results.done() == records ? steady_seconds() - start : -1;
    const bool sent = write(result_pipe[1], &seconds, sizeof(seconds)) == sizeof(seconds);
    _exit(sent ? 0 : 1);
  }
  close(result_pipe[1]);
  Replay replayed;
  const bool received = read(result_pipe[0], &replayed.seconds, sizeof(replayed.seconds)) == sizeof(replayed.seconds);
  close(result_pipe[0]);
  int status = 0;
  rusage usage{};
  if (wait4(pid, &status, 0, &usage) != pid || status != 0 || !received || replayed.seconds < 0) {
    throw std::runtime_error("the replay failed");
  }
  replayed.cpu = cpu_seconds(usage);
  replayed.peak = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return replayed;
}

void measure_replay(const Settings& settings, const fs::path& scratch) {
  const fs::path path = scratch / "many.journal";
  write_journal(path, settings.records);
  Replay best = replay(path, settings.records);
  for (std::size_t i = 1; i < settings.repeat; ++i) {
    const Replay next = replay(path, settings.records);
    best.seconds = std::min(best.seconds, next.seconds);
    best.cpu = std::min(best.cpu, next.cpu);
    best.peak = std::max(best.peak, next.peak);
  }
  std::printf(
      "Replay of %u records, a journal of %.0f MB: %.2f s (goal %.0f), %.2f s of processor time, peak %.0f MB (goal "
      "%.0f)\n",
      settings.records, static_cast<double>(fs::file_size(path)) / megabyte, best.seconds, replay_goal, best.cpu,
      static_cast<double>(best.peak) / megabyte, replay_memory_goal);
  fs::remove(path);
}

fs::path generate(const fs::path& directory, std::uint64_t calls) {
  fs::create_directories(directory);
  const fs::path file = directory / "dump.json";
  ModelShape model;
  model.layers = 16;
  DumpWriter out(file.string(), 1);
  while (out.calls() < calls) write_training_step(model, out);
  out.close();
  return file;
}

std::string result_csv(const fs::path& directory) {
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (entry.path().filename().string().starts_with("accuracy_checking_result_")) return entry.path().string();
  }
  throw std::runtime_error(directory.string() + ": there is no result file");
}

void measure_resume(const Settings& settings, const std::string& program, const fs::path& scratch) {
  const std::string dump = generate(scratch / "large", settings.calls).string();
  const std::string threads = std::to_string(settings.threads);
  const fs::path out = scratch / "large_out";
  const MeasuredRun whole = run_measured(program, {"-api_info", dump, "-n", threads, "-o", out.string()});
  const std::string csv = result_csv(out);
  MeasuredRun best;
  for (std::size_t i = 0; i < settings.repeat; ++i) {
    const MeasuredRun run = run_measured(program, {"-api_info", dump, "-n", threads, "-csv_path", csv});
    if (i == 0 || run.wall < best.wall) best = run;
  }
  std::printf(
      "Resuming a finished run of %llu calls, which took %.1f s: %.2f s (goal %.0f), of which the plan %.2f s; %.2f s "
      "of processor time, peak "
      "%.0f MB\n",
      static_cast<unsigned long long>(whole.calls), whole.wall, best.wall, resume_goal, best.plan, best.cpu,
      static_cast<double>(best.supervisor_peak) / megabyte);
  fs::remove_all(scratch / "large");
  fs::remove_all(out);
}

// Processor seconds per record that a supervisor spends on its journal: what it would save without one. Batches as
// large as those of a run of small calls on two threads.
double journal_cpu(const fs::path& path, std::size_t batch) {
  constexpr std::uint32_t records = 200'000;
  std::vector<std::string> encoded;
  for (std::uint32_t task = 0; task < 10'000; ++task) encoded.push_back(encode(typical_result(task * 97)));
  journal::Writer writer = journal::Writer::create(path, "{}");
  const double start = thread_cpu();
  for (std::uint32_t i = 0; i < records; ++i) {
    writer.append(encoded[i % encoded.size()]);
    if (i % batch == batch - 1) writer.flush();
  }
  const double used = thread_cpu() - start;
  writer.close();
  fs::remove(path);
  return used / records;
}

// Against the processor time of a whole run: the supervisor's wall time has its waiting for a processor in it.
void measure_share(const Settings& settings, const std::string& program, const fs::path& scratch) {
  const std::string dump = generate(scratch / "small", 4480).string();
  double run_cpu = 0;
  double batch = 0;
  for (std::size_t i = 0; i < settings.repeat; ++i) {
    const fs::path out = scratch / "small_out";
    const MeasuredRun run =
        run_measured(program, {"-api_info", dump, "-n", std::to_string(settings.threads), "-o", out.string()});
    const double per_call = run.cpu / static_cast<double>(run.calls);
    if (i == 0 || per_call < run_cpu) run_cpu = per_call;
    for (const fs::directory_entry& entry : fs::directory_iterator(out)) {
      if (entry.path().extension() != ".journal") continue;
      const journal::Recovery recovery = journal::read(entry.path(), [](std::string_view) {});
      batch = static_cast<double>(recovery.records) / static_cast<double>(recovery.frames);
    }
    fs::remove_all(out);
  }
  double used = journal_cpu(scratch / "cpu.journal", static_cast<std::size_t>(batch));
  for (std::size_t i = 1; i < settings.repeat; ++i) {
    used = std::min(used, journal_cpu(scratch / "cpu.journal", static_cast<std::size_t>(batch)));
  }
  std::printf(
      "Journal of a run of small calls, batches of %.0f: %.2f us of processor time per call, %.2f %% of the %.1f us "
      "that a call takes (goal %.0f %%)\n",
      batch, used * 1e6, used / run_cpu * 100, run_cpu * 1e6, journal_share_goal * 100);
  fs::remove_all(scratch / "small");
}

int run(int argc, char** argv) {
  Settings settings;
  po::options_description options(
      "bench_journal measures the journal of msrun, which it expects beside itself.\n\n"
      "Options");
  auto add = options.add_options();
  add("records", po::value(&settings.records)->default_value(settings.records), "to replay; 0: leave it out");
  add("calls", po::value(&settings.calls)->default_value(settings.calls), "of the run to resume; 0: leave it out");
  add("repeat", po::value(&settings.repeat)->default_value(settings.repeat), "times each is measured");
  add("threads", po::value(&settings.threads)->default_value(settings.threads), "msrun's -n");
  if (!parse_options(argc, argv, options)) return 0;
  const ScratchDirectory scratch;
  const std::string program = (fs::read_symlink("/proc/self/exe").parent_path() / "msrun").string();
  if (settings.records > 0) measure_replay(settings, scratch.path());
  if (settings.calls > 0) measure_resume(settings, program, scratch.path());
  measure_share(settings, program, scratch.path());
  return 0;
}

}  // namespace
}  // namespace msrun::bench

int main(int argc, char** argv) {
  return msrun::guarded_main("bench_journal", [&] { return msrun::bench::run(argc, argv); });
}
