// bench_macro: runs the real msrun over dumps, several times each, and prints calls per second, where the time goes,
// peak memory, and all of it in proportion to the baselines.
#include <boost/program_options.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/baselines.h"
#include "bench/dump_writer.h"
#include "bench/measured_run.h"
#include "bench/options.h"
#include "bench/scratch_directory.h"
#include "bench/training_step.h"
#include "kernels/base/error.h"
#include "kernels/base/guarded_main.h"

namespace msrun::bench {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

constexpr double megabyte = 1e6;
constexpr const char* tiny_name = "tiny_4480";
constexpr const char* plan_name = "plan";
// One call of the planned dump, so that nearly all of the run is planning.
constexpr const char* planned_call = "Tensor.cos.0";

struct Settings {
  std::size_t repeat = 5;
  int threads = 2;
  std::vector<std::string> devices{"0"};
  std::vector<std::string> dumps;  // empty: the default list
  std::uint64_t plan_bytes = 300'000'000;
  bool json = false;
};

struct Case {
  std::string name;
  fs::path dump;
  std::vector<std::string> only;
};

struct Result {
  Case what;
  std::uint64_t dump_bytes = 0;
  std::vector<MeasuredRun> runs;  // by wall time, fastest first

  const MeasuredRun& best() const { return runs.front(); }
  const MeasuredRun& median() const { return runs[runs.size() / 2]; }
  double earliest_result() const {
    return std::min_element(runs.begin(), runs.end(), [](auto& a, auto& b) { return a.first_result < b.first_result; })
        ->first_result;
  }
  double least_cpu() const {
    return std::min_element(runs.begin(), runs.end(), [](auto& a, auto& b) { return a.cpu < b.cpu; })->cpu;
  }
  double shortest_plan() const {
    return std::min_element(runs.begin(), runs.end(), [](auto& a, auto& b) { return a.plan < b.plan; })->plan;
  }
  std::uint64_t peak() const {
    std::uint64_t most = 0;
    for (const MeasuredRun& run : runs) most = std::max(most, run.supervisor_peak + run.runners_peak);
    return most;
  }
  std::uint64_t largest_process() const {
    std::uint64_t most = 0;
    for (const MeasuredRun& run : runs) most = std::max(most, run.largest_peak);
    return most;
  }
};

double rate(const MeasuredRun& run) { return static_cast<double>(run.calls) / run.wall; }

const Baseline* baseline_of(const std::string& name) {
  const auto* found =
      std::find_if(baselines.begin(), baselines.end(), [&](const Baseline& entry) { return entry.dump == name; });
  return found == baselines.end() ? nullptr : found;
}

Case given_case(const std::string& text) {
  const fs::path path(text);
  const fs::path file = fs::is_directory(path) ? path / "dump.json" : path;
  if (!fs::is_regular_file(file)) throw UserError(text + ": there is no such dump.");
  return {fs::absolute(file).parent_path().filename().string(), file, {}};
}

std::vector<Case> cases_of(const Settings& settings, const fs::path& scratch) {
  std::vector<Case> cases;
  if (!settings.dumps.empty()) {
    for (const std::string& dump : settings.dumps) cases.push_back(given_case(dump));
    return cases;
  }
  for (const char* name : {"llama_bf16", "llama_fp32", "llama_mid_bf16", "cnn_fp32", "unet_fp32", "vit_fp32",
                           "moe_bf16", "zoo_stat", "npu_fused_synth_bf16", "npu_fused_synth_fp32"}) {
    cases.push_back(given_case((fs::path(SAMPLE_DUMPS) / name).string()));
  }
  cases.push_back({tiny_name, write_small_calls(scratch / tiny_name, 8), {}});
  if (settings.plan_bytes > 0) {
    cases.push_back(
        {plan_name, write_small_calls(scratch / plan_name, 1, settings.plan_bytes), {"--only", planned_call}});
  }
  return cases;
}

Result measure(const Case& what, const Settings& settings, const std::string& program, const fs::path& scratch) {
  Result result{what, fs::file_size(what.dump), {}};
  std::vector<std::string> arguments{"-api_info", what.dump.string(), "-n", std::to_string(settings.threads), "-d"};
  arguments.insert(arguments.end(), settings.devices.begin(), settings.devices.end());
  arguments.insert(arguments.end(), what.only.begin(), what.only.end());
  for (std::size_t i = 0; i < settings.repeat; ++i) {
    const fs::path out = scratch / "out";
    std::vector<std::string> with_output = arguments;
    with_output.insert(with_output.end(), {"-o", out.string()});
    result.runs.push_back(run_measured(program, with_output));
    fs::remove_all(out);
  }
  std::sort(result.runs.begin(), result.runs.end(), [](const auto& a, const auto& b) { return a.wall < b.wall; });
  return result;
}

void print_speed(const std::vector<Result>& results) {
  std::printf("\n%-21s %6s %5s | %8s %9s %9s %8s %8s | %7s %7s | %8s %8s %8s\n", "dump", "calls", "SKIP", "wall s",
              "calls/s", "calls/s", "CPU us", "first", "peak", "largest", "x speed", "x speed", "x peak");
  std::printf("%-21s %6s %5s | %8s %9s %9s %8s %8s | %7s %7s | %8s %8s %8s\n", "", "", "", "best", "best", "median",
              "per call", "ms", "MB", "process", "best", "median", "MB");
  for (const Result& result : results) {
    const double calls = static_cast<double>(result.best().calls);
    std::printf("%-21s %6.0f %5llu | %8.3f %9.0f %9.0f %8.0f %8.1f | %7.1f %7.1f |", result.what.name.c_str(), calls,
                static_cast<unsigned long long>(result.best().skipped), result.best().wall, rate(result.best()),
                rate(result.median()), result.least_cpu() / calls * 1e6, result.earliest_result() * 1e3,
                static_cast<double>(result.peak()) / megabyte,
                static_cast<double>(result.largest_process()) / megabyte);
    if (const Baseline* baseline = baseline_of(result.what.name)) {
      std::printf(" %8.1f %8.1f %8.2f", rate(result.best()) / baseline->calls_per_second,
                  rate(result.median()) / baseline->calls_per_second,
                  static_cast<double>(result.peak()) / megabyte / baseline->peak_megabytes);
    }
    std::printf("\n");
  }
  std::printf("x: in proportion to %.*s.\nGoals: x speed 50 (llama_mid_bf16: 5), x peak %.1f, first result %.0f ms.\n",
              static_cast<int>(baseline_source.size()), baseline_source.data(), memory_goal, first_result_goal * 1e3);
}

void print_split(const std::vector<Result>& results) {
  std::printf("\nSeconds of the fastest run; materialise to compare are sums over all threads\n");
  std::printf("%-21s %8s | %8s %11s %8s %9s %8s %8s %8s\n", "dump", "CPU", "plan", "materialise", "device", "benchmark",
              "compare", "journal", "CSV");
  for (const Result& result : results) {
    const MeasuredRun& run = result.best();
    std::printf("%-21s %8.3f | %8.3f %11.3f %8.3f %9.3f %8.3f %8.3f %8.3f\n", result.what.name.c_str(), run.cpu,
                run.plan, run.materialise, run.device, run.benchmark, run.compare, run.journal, run.csv);
  }
}

void print_planning(const std::vector<Result>& results) {
  std::printf("\nPlanning (goals: %.0f MB/s, peak at most %.0f times the file)\n", plan_speed_goal, plan_memory_goal);
  std::printf("%-21s %9s %9s %12s\n", "dump", "file MB", "MB/s", "peak / file");
  for (const Result& result : results) {
    const double size = static_cast<double>(result.dump_bytes);
    // A small file says nothing about either.
    if (size < 5 * megabyte) continue;
    std::printf("%-21s %9.1f %9.0f %12.2f\n", result.what.name.c_str(), size / megabyte,
                size / megabyte / result.shortest_plan(), static_cast<double>(result.best().supervisor_peak) / size);
  }
}

nlohmann::ordered_json as_json(const MeasuredRun& run) {
  return {
      {"wall_seconds", run.wall},
      {"cpu_seconds", run.cpu},
      {"first_result_seconds", run.first_result},
      {"calls_per_second", rate(run)},
      {"seconds",
       {{"plan", run.plan},
        {"materialise", run.materialise},
        {"device", run.device},
        {"benchmark", run.benchmark},
        {"compare", run.compare},
        {"journal", run.journal},
        {"csv", run.csv}}},
      {"peak_bytes",
       {{"supervisor", run.supervisor_peak}, {"runners", run.runners_peak}, {"largest_process", run.largest_peak}}}};
}

void print_json(const std::vector<Result>& results) {
  nlohmann::ordered_json document{{"baseline", baseline_source}, {"dumps", nlohmann::ordered_json::array()}};
  for (const Result& result : results) {
    nlohmann::ordered_json entry{{"name", result.what.name},
                                 {"dump_bytes", result.dump_bytes},
                                 {"calls", result.best().calls},
                                 {"skip", result.best().skipped},
                                 {"runs", nlohmann::ordered_json::array()}};
    for (const MeasuredRun& run : result.runs) entry["runs"].push_back(as_json(run));
    if (const Baseline* baseline = baseline_of(result.what.name)) {
      entry["times_baseline_speed"] = rate(result.best()) / baseline->calls_per_second;
      entry["times_baseline_peak"] = static_cast<double>(result.peak()) / megabyte / baseline->peak_megabytes;
    }
    document["dumps"].push_back(std::move(entry));
  }
  std::cout << document.dump(1) << "\n";
}

int run(int argc, char** argv) {
  Settings settings;
  po::options_description options("bench_macro measures msrun, which it expects beside itself.\n\nOptions");
  auto add = options.add_options();
  add("repeat", po::value(&settings.repeat)->default_value(settings.repeat), "runs of each dump");
  add("threads", po::value(&settings.threads)->default_value(settings.threads), "msrun's -n");
  add("devices", po::value(&settings.devices)->multitoken(), "msrun's -d (default 0)");
  add("dumps", po::value(&settings.dumps)->multitoken(),
      "dump.json files or their directories, in place of the default list");
  add("plan-bytes", po::value(&settings.plan_bytes)->default_value(settings.plan_bytes),
      "size of the generated dump that is only planned; 0: leave it out");
  add("json", po::bool_switch(&settings.json), "print JSON with every run in place of the tables");
  if (!parse_options(argc, argv, options)) return 0;
  if (settings.repeat < 1) throw UserError("--repeat: at least 1.");
  const ScratchDirectory scratch;
  const std::string program = (fs::read_symlink("/proc/self/exe").parent_path() / "msrun").string();
  std::vector<Result> results;
  for (const Case& what : cases_of(settings, scratch.path())) {
    results.push_back(measure(what, settings, program, scratch.path()));
  }
  if (settings.json) {
    print_json(results);
  } else {
    print_speed(results);
    print_split(results);
    print_planning(results);
  }
  return 0;
}

}  // namespace
}  // namespace msrun::bench

int main(int argc, char** argv) {
  return msrun::guarded_main("bench_macro", [&] { return msrun::bench::run(argc, argv); });
}
