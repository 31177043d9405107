#include "orchestrator/run.h"

#include <fnmatch.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <sstream>
#include <thread>
#include <unordered_map>

#include <spdlog/spdlog.h>
#include <nlohmann/json.hpp>

#include "journal/error.h"
#include "journal/reader.h"
#include "kernels/api/operators.h"
#include "kernels/base/clock.h"
#include "kernels/base/text.h"
#include "kernels/io/dump/dump_json.h"
#include "orchestrator/command/config.h"
#include "orchestrator/input.h"
#include "orchestrator/output/results.h"
#include "orchestrator/supervisor.h"
#include "runner/device/recorded/recorded.h"
#include "runner/device/sim/sim.h"
#include "runner/results/attempts.h"
#include "runner/results/journal_records.h"

namespace msrun {
namespace {

using nlohmann::json;

// Of --durability power. Until a result is on the storage device up to a tenth of a second and one sync come on top.
constexpr std::chrono::milliseconds power_sync_delay{250};

// Why a call is skipped by rule; empty if it runs (acc_check_pytorch.md 5.1).
std::string rule_skip(const std::string& full_name, const Config& config) {
  const std::string unsupported = "API " + full_name + " not support for acc_check. SKIP.";
  const std::optional<ApiName> name = ApiName::parse(full_name);
  if (!name || name->type == "Distributed" || name->type == "MindSpeed") return unsupported;
  if (config.list_verdict(name->api) != ListVerdict::run) {
    return "API " + name->api + " in black list or not in white list. SKIP.";
  }
  return find_operator(name->type, name->api) == nullptr ? unsupported : "";
}

std::uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string key;
    std::uint64_t kibibytes = 0;
    if (words >> key >> kibibytes && key == "MemAvailable:") return kibibytes * 1024;
  }
  return std::uint64_t{4} << 30;
}

}  // namespace

std::uint64_t memory_budget(const MemoryLimit& limit) {
  return limit.bytes > 0 ? limit.bytes
                         : static_cast<std::uint64_t>(static_cast<double>(available_memory()) * limit.share);
}

namespace {

// Threads of each device, in the order of options.devices.
std::vector<std::size_t> spread_threads(const Options& options) {
  const auto devices = options.devices.size();
  std::vector<std::size_t> threads(devices, static_cast<std::size_t>(options.threads) / devices);
  for (std::size_t i = 0; i < static_cast<std::size_t>(options.threads) % devices; ++i) ++threads[i];
  for (std::size_t& count : threads) count = std::clamp<std::size_t>(count, 1, max_threads_per_device);
  return threads;
}

}  // namespace

SupervisorOptions supervisor_options(const Options& options, const Backend& backend, const Plan& plan) {
  SupervisorOptions supervision;
  supervision.devices = options.devices;
  supervision.threads = spread_threads(options);
  supervision.task_timeout = options.task_timeout;
  supervision.retries = options.retries;
  supervision.max_device_failures = options.max_device_failures;
  supervision.memory_budget = memory_budget(options.memory);
  supervision.processors = std::max(1U, std::thread::hardware_concurrency());
  supervision.check.materialise.seed = options.seed;
  if (plan.real_data()) supervision.check.materialise.data_root = data_root(options);
  supervision.stream = options.seed_mode == SeedMode::stream;
  supervision.make_device = backend.make_device;
  return supervision;
}

RunFinished run_finished(const ResultStore& results, const Plan& plan, bool complete, int exit_code, double elapsed) {
  RunFinished event;
  event.complete = complete;
  event.exit_code = exit_code;
  event.elapsed = elapsed;
  event.done = results.done();
  event.total = plan.size();
  event.counts = results.summary().counts();
  return event;
}

namespace {

// What must be equal for a journal to be continued: the dump and everything that changes a result. The rest is there to
// read.
json fingerprint(const Plan& plan, const Options& options) {
  return {{"dump", hexadecimal(plan.fingerprint())},
          {"calls", plan.size()},
          {"seed", options.seed},
          {"seed_mode", options.seed_mode == SeedMode::stream ? "stream" : "per-api"},
          {"standard", options.standard == StandardPolicy::current ? "current" : "per_api"},
          {"compat", options.compat_msprobe ? "msprobe" : "none"}};
}

std::string journal_metadata(const Plan& plan, const Options& options, const std::string& backend) {
  // A path may hold bytes that are not UTF-8.
  const json metadata{{"program", "msrun"},
                      {"version", MSRUN_VERSION},
                      {"started", std::time(nullptr)},
                      {"command", reproduce_command(options)},
                      {"threads", options.threads},
                      {"devices", options.devices},
                      {"fingerprint", fingerprint(plan, options)},
                      {"api_info", options.api_info},
                      {"forward", options.forward},
                      {"backward", options.backward},
                      {"backend", backend},
                      {"sim_faults", options.sim_faults}};
  return metadata.dump(-1, ' ', false, json::error_handler_t::replace);
}

void require_same_run(const std::string& metadata, const json& expected, const std::string& journal) {
  const json recorded = json::parse(metadata, nullptr, false);
  if (recorded.is_discarded() || !recorded.is_object() || !recorded.contains("fingerprint") ||
      !recorded["fingerprint"].is_object()) {
    throw UserError(journal + ": its header does not say which run it belongs to.");
  }
  std::string differences;
  for (const auto& [key, value] : expected.items()) {
    const json earlier = recorded["fingerprint"].value(key, json());
    if (earlier == value) continue;
    differences += differences.empty() ? "" : ", ";
    differences += key == "dump" ? "the dump, or what --only, -f and -config leave of it"
                                 : key + " (" + earlier.dump() + " then, " + value.dump() + " now)";
  }
  if (!differences.empty()) {
    throw UserError("-csv_path: the run in " + journal +
                    " cannot be continued with this dump and these options; different are " + differences + ".");
  }
}

// A file that this run has created and removes again unless it comes to start.
class NewFile {
 public:
  NewFile() = default;
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove(path_, ignored);
  }
  void created(const std::string& path) { path_ = path; }
  void keep() { path_.clear(); }

 private:
  std::string path_;
};

}  // namespace

Backend choose_backend(const Options& options) {
  if (options.backend == "sim" || options.backend == "auto") {
    std::vector<SimFault> faults;
    for (const std::string& text : options.sim_faults) faults.push_back(parse_sim_fault(text));
    return {"sim", [faults] { return make_sim_device(faults); }};
  }
  if (options.backend == "recorded") return {"recorded", [] { return make_recorded_device(); }};
  throw UserError("--backend " + options.backend + " is not part of this build; there are 'sim' and 'recorded'.");
}

namespace {

class Run {
 public:
  explicit Run(const Options& options)
      : options_(options),
        console_(std::cout),
        view_(make_stdout_view(options.message_format == MessageFormat::json, console_)),
        started_(steady_seconds()) {}

  int execute() {
    setup_logging(options_.message_format == MessageFormat::json, console_);
    for (const std::string& notice : options_.notices) spdlog::warn("{}", notice);
    const bool resumed = !options_.csv_path.empty();
    read_config();
    backend_ = choose_backend(options_);
    make_plan();
    if (resumed) {
      files_ = resumed_run_files(options_.csv_path);
    } else {
      prepare_output_directory(options_.out_path);
      files_ = fresh_files();
    }
    const HeldSignals held;
    if (options_.save_error_data) {
      error_data_ = error_data_directory(config_.error_data_path, files_.stamp);
      prepare_output_directory(error_data_);
    }
    std::optional<journal::Writer> journal;
    StoredResults restored(plan_.size());
    if (resumed) {
      journal.emplace(reopen_journal(restored));
    } else {
      journal.emplace(journal::Writer::create(files_.journal, journal_metadata(plan_, options_, backend_.name)));
      new_journal_.created(files_.journal);
    }
    ResultStore results(plan_.size(), options_.devices, files_, {config_.precision, options_.english_titles}, *journal,
                        *view_);
    if (options_.durability == Durability::power) results.sync_within(power_sync_delay);
    if (resumed) restore(results, std::move(restored));
    try {
      resumed ? results.rewrite_and_open_csvs() : results.open_fresh_csvs();
    } catch (const WriteError& error) {
      if (!resumed) throw;
      new_journal_.keep();
      return stopped(results, error.what());
    }
    new_journal_.keep();
    return supervise(results, *journal);
  }

 private:
  void read_config() {
    if (options_.config_path.empty()) return;
    config_ = load_config(options_.config_path, is_known_api);
    for (const std::string& notice : config_.notices) spdlog::warn("{}", notice);
  }

  void make_plan() {
    check_input(options_);
    PlanOptions plan_options;
    plan_options.skip_reason = [&](const std::string& name) { return rule_skip(name, config_); };
    plan_options.only = options_.only;
    plan_options.filter_duplicates = options_.filter_api;
    plan_options.filter_compat = options_.filter_compat;
    plan_options.keep_results = backend_.name == "recorded";
    plan_options.stream_words = options_.seed_mode == SeedMode::stream;
    const double start = steady_seconds();
    if (options_.filter_api) spdlog::info("Start filtering the api in the api_info_file.");
    plan_ = read_plan(options_, plan_options);
    plan_seconds_ = steady_seconds() - start;
    if (options_.filter_api)
      spdlog::info("Finish filtering the api in the api_info_file; repeated calls that are left out: {}.",
                   plan_.filtered());
    for (const std::string& warning : plan_.warnings()) spdlog::warn("{}", warning);
    if (!options_.forward.empty() && options_.backward.empty()) {
      spdlog::warn("No -backward file is given: only the forward of each call is checked.");
    }
    if (backend_.name == "recorded") require_recorded_results(options_, plan_);
    warn_if_data_is_missing(options_, plan_);
    if (plan_.size() == 0) {
      spdlog::warn(options_.only.empty() ? "data field is empty, no overflow data found." : "No call matches --only.");
    } else {
      for (const std::string& pattern : options_.only) warn_if_unmatched("--only", pattern);
      for (const std::string& fault : options_.sim_faults) {
        warn_if_unmatched("--sim-fault", parse_sim_fault(fault).pattern);
      }
    }
  }

  // A pattern with a slip in it would go unnoticed.
  void warn_if_unmatched(const char* option, const std::string& pattern) const {
    for (std::uint32_t task = 0; task < plan_.size(); ++task) {
      if (fnmatch(pattern.c_str(), std::string(plan_.view().name(task)).c_str(), 0) == 0) return;
    }
    spdlog::warn("{}: no call matches {}.", option, shell_quoted(sanitised(pattern)));
  }

  // Two runs that start in the same second must not meet in one file.
  RunFiles fresh_files() const {
    std::time_t now = std::time(nullptr);
    while (true) {
      const RunFiles files = run_files(options_.out_path, timestamp(now));
      std::error_code ignored;
      if (!std::filesystem::exists(files.result, ignored) && !std::filesystem::exists(files.details, ignored) &&
          !std::filesystem::exists(files.journal, ignored)) {
        return files;
      }
      ++now;
    }
  }

  journal::Writer reopen_journal(StoredResults& restored) {
    std::error_code ignored;
    if (std::filesystem::exists(files_.journal, ignored)) {
      // Locked first: what is read and what is continued are the same then.
      std::unique_ptr<journal::File> file = journal::open_file(files_.journal);
      require_same_run(journal::read_header(*file).metadata, fingerprint(plan_, options_), files_.journal);
      const journal::Recovery recovery = replay(*file, restored);
      if (recovery.torn_tail) {
        spdlog::warn("{}: {} bytes at its end were cut off: the write of a batch had not been completed.",
                     files_.journal, recovery.torn_bytes);
      }
      if (recovery.damaged_regions > 0) {
        spdlog::warn("{}: {} bytes in {} places are damaged; the calls recorded there are checked again.",
                     files_.journal, recovery.damaged_bytes, recovery.damaged_regions);
      }
      return journal::Writer::resume(std::move(file), recovery.valid_size);
    }
    // The files of a tool that keeps no journal: what its result file holds is finished.
    ImportedCsv imported = import_csv(files_.result, files_.details, config_.precision);
    for (const std::string& note : imported.notes) spdlog::warn("{}", note);
    std::unordered_map<std::string_view, std::uint32_t> tasks;
    for (std::uint32_t task = 0; task < plan_.size(); ++task) tasks.emplace(plan_.view().name(task), task);
    journal::Writer writer = journal::Writer::create(files_.journal, journal_metadata(plan_, options_, backend_.name));
    new_journal_.created(files_.journal);
    for (ApiResult& result : imported.results) {
      const auto task = tasks.find(result.name);
      if (task == tasks.end()) {
        spdlog::warn("{}: {} is not in the dump and is dropped.", files_.result, result.name);
        continue;
      }
      result.task = task->second;
      restored.put(result);
      writer.append(encode(result));
    }
    writer.flush();
    return writer;
  }

  // Of a call with several results, run again for its SKIP, the last counts.
  journal::Recovery replay(const journal::Source& source, StoredResults& restored) {
    RecordHandlers handlers;
    handlers.result = [&](const ApiResult& result) {
      if (result.task < restored.tasks()) restored.put(result);
    };
    handlers.attempt = [&](const AttemptNote& note) { attempts_.see(note); };
    return read_records(source, handlers);
  }

  void restore(ResultStore& results, StoredResults restored) {
    std::size_t again = 0;
    results.restore(std::move(restored), [&](const ApiResult& result) {
      const bool is_skip = result.forward == Status::skip || result.backward == Status::skip;
      const bool by_rule = plan_.view().tasks[result.task].skip_size > 0;
      const bool runs_again = options_.retry_skip && is_skip && !by_rule;
      if (runs_again) ++again;
      return runs_again;
    });
    if (options_.retry_skip) spdlog::info("--retry-skip: {} calls that were SKIP run again.", again);
  }

  int supervise(ResultStore& results, journal::Writer& journal) {
    SupervisorOptions supervision = supervisor_options(options_, backend_, plan_);
    for (const std::uint32_t task : attempts_.suspects(2)) {
      if (task < plan_.size() && !results.is_done(task)) supervision.last_and_alone.push_back(task);
    }
    if (!supervision.last_and_alone.empty()) {
      spdlog::warn(
          "{} calls were in flight when a run died, twice or more; they are run last and alone. The first is {}.",
          supervision.last_and_alone.size(), plan_.view().name(supervision.last_and_alone.front()));
    }
    supervision.check.compare.policy = options_.standard == StandardPolicy::current ? Policy::current : Policy::per_api;
    supervision.check.compare.compat_msprobe = options_.compat_msprobe;
    supervision.check.compare.quantization_apis = config_.quantization_api_list;
    supervision.check.error_data = error_data_;
    supervision.in_child = [&journal] { journal.close_in_child(); };
    announce(results, supervision);

    RunEnd end = RunEnd::no_devices;
    try {
      Supervisor supervisor(plan_, supervision, results, *view_);
      end = supervisor.run();
      runners_peak_ = supervisor.runners_peak();
      results.finish();
    } catch (const journal::WriteError& error) {
      return stopped(results, error.what());
    } catch (const WriteError& error) {
      return stopped(results, error.what());
    } catch (const std::system_error& error) {
      // No process could be started, or no memory or descriptor was left for it.
      return stopped(results, error.what());
    }
    return close(results, end);
  }

  void announce(const ResultStore& results, const SupervisorOptions& supervision) const {
    spdlog::info("start acc_check test");
    if (options_.backend == "auto") {
      spdlog::info("Device under test: {} (no NPU or GPU backend is installed, so the simulated device is taken).",
                   backend_.name);
      if (plan_.real_data())
        spdlog::info("The dump holds tensors: --backend recorded checks the results that were recorded with them.");
    } else {
      spdlog::info("Device under test: {}.", backend_.name);
    }
    spdlog::info("acc_check task result will be saved in {}", files_.result);
    spdlog::info("acc_check task details will be saved in {}", files_.details);
    if (!error_data_.empty()) spdlog::info("acc_check task error_data will be saved in {}", error_data_);
    if (results.restored() > 0) {
      spdlog::info("{} of {} calls were finished by the earlier run.", results.restored(), plan_.size());
    }
    RunStarted event;
    event.api_info = options_.api_info.empty() ? options_.forward : options_.api_info;
    event.result_path = files_.result;
    event.details_path = files_.details;
    event.journal_path = files_.journal;
    event.backend = backend_.name;
    event.devices = options_.devices;
    for (const std::size_t threads : supervision.threads) event.threads += static_cast<int>(threads);
    event.total = plan_.size();
    event.resumed = results.restored();
    view_->run_started(event);
  }

  RunCosts costs(const ResultStore& results) const {
    RunCosts costs;
    costs.plan_seconds = plan_seconds_;
    costs.phases = results.times();
    costs.journal_time = results.journal_time();
    costs.csv_time = results.csv_time();
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    costs.supervisor_peak = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
    costs.runners_peak = runners_peak_;
    return costs;
  }

  RunFinished finished_event(const ResultStore& results, bool complete, int code) const {
    RunFinished event = msrun::run_finished(results, plan_, complete, code, steady_seconds() - started_);
    event.costs = costs(results);
    if (!complete && can_resume()) event.resume_command = resume_command(options_, files_.result);
    return event;
  }

  // A file could not be written: everything committed before stands, and the run can be continued.
  int stopped(const ResultStore& results, const std::string& cause) const {
    spdlog::error("{}", cause);
    view_->run_finished(finished_event(results, false, exit_incomplete));
    print_resume_line();
    return exit_incomplete;
  }

  int close(const ResultStore& results, RunEnd end) {
    const bool complete = end == RunEnd::complete;
    const VerdictCounts& counts = results.summary().counts();
    int code = complete ? exit_completed : exit_incomplete;
    if (complete && ((options_.fail_on == FailOn::error && counts.error > 0) ||
                     (options_.fail_on == FailOn::suspicious && counts.suspicious() > 0) ||
                     (options_.fail_on == FailOn::warning && counts.error + counts.warning > 0))) {
      code = exit_fail_on;
    }
    view_->run_finished(finished_event(results, complete, code));
    if (options_.message_format == MessageFormat::human) {
      if (complete) {
        spdlog::info("acc_check task result csv is saved in {}", files_.result);
        spdlog::info("acc_check task details csv is saved in {}", files_.details);
        spdlog::info("Successfully completed acc_check/multi_acc_check.");
      }
      print_times(results);
      if (options_.summary.value_or(isatty(STDOUT_FILENO) != 0)) {
        std::cout << results.summary().text(reproduce_command(options_)) << std::flush;
      }
    }
    if (end == RunEnd::no_devices) spdlog::error("No device is left to run on.");
    if (!complete) print_resume_line();
    return code;
  }

  // From the journal, or without it from both CSVs.
  bool can_resume() const {
    const auto exists = [](const std::string& path) {
      std::error_code ignored;
      return std::filesystem::exists(path, ignored);
    };
    return exists(files_.journal) || (exists(files_.result) && exists(files_.details));
  }

  void print_resume_line() const {
    if (options_.message_format != MessageFormat::human) return;
    if (!can_resume()) {
      spdlog::warn("The acc_check task has not been completed, and its files are no longer in {}: start it again.",
                   files_.directory);
      return;
    }
    spdlog::warn("The acc_check task has not been completed. Continue it with: {}",
                 resume_command(options_, files_.result));
  }

  void print_times(const ResultStore& results) const {
    const PhaseTimes& times = results.times();
    const auto seconds = [](std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-9; };
    spdlog::debug(
        "seconds: plan {:.3f}; all threads: materialise {:.3f}, device {:.3f}, benchmark {:.3f}, compare {:.3f}; "
        "journal "
        "{:.3f}, CSV {:.3f}; whole run {:.3f}",
        plan_seconds_, seconds(times.materialise), seconds(times.device), seconds(times.benchmark),
        seconds(times.compare), seconds(results.journal_time()), seconds(results.csv_time()),
        steady_seconds() - started_);
  }

  const Options& options_;
  Console console_;
  std::unique_ptr<ProgressView> view_;
  double started_;
  double plan_seconds_ = 0;
  std::uint64_t runners_peak_ = 0;
  Config config_;
  Backend backend_;
  Plan plan_;
  RunFiles files_;
  std::string error_data_;
  AttemptHistory attempts_;
  NewFile new_journal_;
};

}  // namespace

int run_check(const Options& options) { return Run(options).execute(); }

}  // namespace msrun
