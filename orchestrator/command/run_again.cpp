// The command lines that msrun prints: to repeat one call, to continue a run.
#include <array>
#include <charconv>

#include "kernels/base/text.h"
#include "kernels/compare/details.h"
#include "orchestrator/command/command_line.h"
#include "orchestrator/command/option_values.h"
#include "orchestrator/command/recorded_options.h"

namespace msrun {

namespace {

std::string number_text(double value) {
  std::array<char, 64> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
}

// Words of a command line that is built up option by option.
class Words {
 public:
  void add(const char* flag) { options_.push_back({flag}); }
  void add(const char* flag, const std::string& value) { options_.push_back({flag, value}); }

  void add_if_given(const char* flag, const std::string& value) {
    if (!value.empty()) add(flag, value);
  }

  void add_each(const char* flag, const std::vector<std::string>& values) {
    for (const std::string& value : values) add(flag, value);
  }

  void add_devices(const std::vector<int>& devices) {
    OptionWords words{"-d"};
    for (const int device : devices) words.push_back(std::to_string(device));
    options_.push_back(std::move(words));
  }

  const std::vector<OptionWords>& options() const { return options_; }

  std::string line(const Options& options, const char* command = "") const {
    std::string line = shell_quoted(options.program);
    if (*command != '\0') line += std::string(" ") + command;
    for (const OptionWords& option : options_) {
      line += " " + option.front();
      for (std::size_t i = 1; i < option.size(); ++i) {
        // A value that begins with a dash is tied to its flag, so that it is not read as a flag itself.
        line += (option[i].starts_with('-') ? "=" : " ") + shell_quoted(option[i]);
      }
    }
    return line;
  }

 private:
  std::vector<OptionWords> options_;
};

// What is checked, on what, and how it is judged: the input, and what decides_results
// (runner/results/recorded_option.h).
void add_words_of_results(const Options& options, Words& words) {
  const Options defaults;
  words.add_if_given("-api_info", options.api_info);
  words.add_if_given("-forward", options.forward);
  words.add_if_given("-backward", options.backward);
  words.add_if_given("-real_data_path", options.real_data_path);
  if (options.allow_outside_data) words.add("--allow-outside-data");
  if (options.backend != defaults.backend) {
    words.add("--backend", options.backend + (options.backend_kind.empty() ? "" : ":" + options.backend_kind));
  }
  words.add_if_given("--recorded-on", options.recorded_on);
  words.add_if_given("--python", options.python);
  if (options.torch_lanes != defaults.torch_lanes) words.add("--torch-lanes", std::to_string(options.torch_lanes));
  if (options.torch_workers != defaults.torch_workers)
    words.add("--torch-workers", std::to_string(options.torch_workers));
  words.add_each("--sim-fault", options.sim_faults);
  if (options.require_device) words.add("--require-device");
  if (options.jit_compile) words.add("-j");
  if (options.repeat != defaults.repeat) words.add("--repeat", std::to_string(options.repeat));
  if (options.seed) words.add("--seed", std::to_string(*options.seed));
  if (options.seed_mode == SeedMode::stream) words.add("--seed-mode", "stream");
  if (options.standard == Policy::current) words.add("--standard", "current");
  if (options.max_abs_error != defaults.max_abs_error) {
    std::string limit;
    append_python_number(limit, options.max_abs_error);
    words.add("--max-abs-err", limit);
  }
  if (options.sampled_work) words.add("--benchmark", benchmark_text(options.sampled_work));
  if (options.limits == Limits::documented) words.add("--limits", "documented");
  if (options.compat_msprobe) words.add("--compat", "msprobe");
  if (options.layout == ReportLayout::att) words.add("--layout", "att");
  if (options.layout == ReportLayout::att_raw) words.add("--compat", "att");
}

// With calls that do not end, or do not end well.
void add_patience(const Options& options, Words& words) {
  const Options defaults;
  if (options.task_timeout) words.add("--task-timeout", number_text(*options.task_timeout));
  if (options.retries != defaults.retries) words.add("--retries", std::to_string(options.retries));
  if (options.max_device_failures != defaults.max_device_failures)
    words.add("--max-device-failures", std::to_string(options.max_device_failures));
  if (options.max_failures > 0) words.add("--max-failures", std::to_string(options.max_failures));
}

void add_memory(const Options& options, Words& words) {
  if (options.memory.bytes != 0) {
    words.add("--memory", std::to_string(options.memory.bytes));
  } else if (options.memory.share != Options().memory.share) {
    words.add("--memory", number_text(options.memory.share * 100) + "%");
  }
  if (options.core_dumps) words.add("--core-dumps");
  if (!options.near_device) words.add("--affinity", "none");
}

void add_fail_on(const Options& options, Words& words) {
  if (options.fail_on == FailOn::never) return;
  constexpr std::array levels{"", "error", "warning", "suspicious", "skip", "unsteady"};
  words.add("--fail-on", levels[static_cast<std::size_t>(options.fail_on)]);
}

// Which part of the calls.
void add_part(const Options& options, Words& words) {
  if (options.shard) {
    words.add("--shard", std::to_string(options.shard->number) + "/" + std::to_string(options.shard->of));
  }
  if (!options.steal) return;
  words.add("--steal");
  if (options.leases != 0) words.add("--leases", std::to_string(options.leases));
  if (options.lease_timeout != Options().lease_timeout) {
    words.add("--lease-timeout", number_text(options.lease_timeout));
  }
}

// What is told while it runs and at its end.
void add_presentation(const Options& options, Words& words) {
  if (options.message_format == MessageFormat::json) words.add("--message-format", "json");
  if (options.message_format == MessageFormat::github) words.add("--message-format", "github");
  words.add_if_given("--junit", options.junit_path);
  if (options.junit_status == JunitStatus::documented) words.add("--junit-status", "documented");
  if (options.durations > 0) words.add("--durations", std::to_string(options.durations));
}

// What decides about a run, and with presentation where its files go and how it is shown.
Words words_of_run(const Options& options, bool presentation) {
  Words words;
  add_words_of_results(options, words);
  words.add_if_given("-config", options.config_path);
  words.add_each("--only", options.only);
  words.add_each("--except", options.except);
  if (options.filter_api) words.add("-f");
  if (options.filter_compat) words.add("--filter-compat");
  if (options.across_ranks == AcrossRanks::values) words.add("--across-ranks", "values");
  if (options.across_ranks == AcrossRanks::off) words.add("--across-ranks", "off");
  add_part(options, words);
  if (options.save_error_data) words.add("-save_error_data");
  if (presentation && options.out_path != Options().out_path) words.add("-o", options.out_path);
  if (options.english_titles) words.add("--titles", "en");
  if (options.report) words.add(*options.report ? "--report" : "--no-report");
  if (presentation) add_presentation(options, words);
  if (presentation && options.summary) words.add(*options.summary ? "--summary" : "--no-summary");
  add_fail_on(options, words);
  words.add("-n", std::to_string(options.threads));
  words.add_devices(options.devices);
  if (options.same_on_all) words.add("--same-on-all");
  add_patience(options, words);
  add_memory(options, words);
  if (options.durability == Durability::power) words.add("--durability", "power");
  return words;
}

}  // namespace

std::string reproduce_command(const Options& options) {
  Words words;
  add_words_of_results(options, words);
  if (options.same_on_all) {
    words.add_devices(options.devices);
    words.add("--same-on-all");
  }
  return words.line(options);
}

std::string overflow_command(const Options& options) {
  Words words;
  add_words_of_results(options, words);
  words.add_each("--only", options.only);
  words.add_each("--except", options.except);
  if (options.out_path_given) words.add("-o", options.out_path);
  add_presentation(options, words);
  words.add("-d", std::to_string(options.devices.front()));
  add_fail_on(options, words);
  add_patience(options, words);
  add_memory(options, words);
  return words.line(options, "run_overflow_check");
}

std::vector<OptionWords> recorded_options(const Options& options) { return words_of_run(options, false).options(); }

std::string resume_command(const Options& options, std::string_view csv_path) {
  Words words = words_of_run(options, true);
  if (options.retry_skip) words.add("--retry-skip");
  words.add("-csv_path", std::string(csv_path));
  return words.line(options, options.command == Command::acc_check ? "acc_check" : "");
}

}  // namespace msrun
