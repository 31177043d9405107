#include "orchestrator/view/progress_view.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "kernels/base/text.h"
#include "kernels/base/version.h"
#include "runner/results/reason.h"

namespace msrun {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* to_start_and_erase = "\r\x1b[K";

std::string counts_text(const VerdictCounts& counts, const char* separator) {
  std::string text = "pass " + std::to_string(counts.pass) + separator + "warning " + std::to_string(counts.warning) +
                     separator + "error " + std::to_string(counts.error) + separator + "SKIP " +
                     std::to_string(counts.skip);
  if (counts.warning + counts.error > 0)
    text += std::string(separator) + "suspicious " + std::to_string(counts.suspicious());
  return text;
}

std::string rate_text(double rate) {
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), rate < 9.95 ? "%.1f" : "%.0f", rate);
  return std::string(buffer.data()) + " calls/s";
}

// Rounded down, so that 100% means all.
std::string percent_text(const ProgressState& state) {
  return std::to_string(state.total == 0 ? 100 : state.done * 100 / state.total) + "%";
}

std::string left_text(const ProgressState& state) {
  const double left = seconds_left(state);
  return (left < 0 ? "?" : duration_text(left)) + " left";
}

// The call a device is on for the longest time stands for all.
std::string activity_text(const DeviceActivity& activity) {
  std::string text = std::to_string(activity.device) + ": ";
  const auto longest = std::max_element(activity.calls.begin(), activity.calls.end(),
                                        [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  if (longest == activity.calls.end()) return text + "idle";
  text += sanitised(longest->name) + " " + std::to_string(std::lround(std::max(0.0, longest->seconds))) + "s";
  if (activity.calls.size() > 1) text += " +" + std::to_string(activity.calls.size() - 1);
  return text;
}

std::string died_text(const RunnerDied& event) {
  std::string text = "The runner of device " + std::to_string(event.device) + " died: " + event.reason + ".";
  if (event.calls.empty()) return sanitised(text);
  text += " It was on ";
  for (std::size_t i = 0; i < event.calls.size(); ++i) text += (i == 0 ? "" : ", ") + event.calls[i];
  return sanitised(text + (event.retried ? "; retrying." : "; recorded as SKIP."));
}

bool can_redraw() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

// 80 columns if the terminal does not tell.
std::size_t terminal_width() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string finished_line(const RunFinished& event) {
  return (event.complete ? "completed " : "stopped at ") + std::to_string(event.done) + "/" +
         std::to_string(event.total) + " in " + duration_text(event.elapsed) + ", " + counts_text(event.counts, ", ");
}

class TerminalView : public ProgressView {
 public:
  TerminalView(Console& console, std::function<std::size_t()> width) : console_(console), width_(std::move(width)) {}

  void run_started(const RunStarted&) override {}
  void api_result(const ApiResult&) override {}
  void runner_died(const RunnerDied& event) override { spdlog::warn("{}", died_text(event)); }
  // One column stays free: a line that fills the last one makes some terminals scroll.
  void progress(const ProgressState& state) override {
    console_.set_status(terminal_line(state, std::max<std::size_t>(width_(), 2) - 1));
  }
  void run_finished(const RunFinished& event) override {
    console_.set_status({});
    console_.print_line(finished_line(event));
  }

 private:
  Console& console_;
  std::function<std::size_t()> width_;
};

class PlainView : public ProgressView {
 public:
  PlainView(Console& console, double interval) : console_(console), interval_(interval) {}

  void run_started(const RunStarted&) override {}
  void api_result(const ApiResult&) override {}
  void runner_died(const RunnerDied& event) override { spdlog::warn("{}", died_text(event)); }
  void progress(const ProgressState& state) override {
    if (state.elapsed - shown_at_ < interval_) return;
    shown_at_ = state.elapsed;
    console_.print_line(plain_line(state));
  }
  void run_finished(const RunFinished& event) override { console_.print_line(finished_line(event)); }

 private:
  Console& console_;
  double interval_;
  double shown_at_ = 0;
};

class JsonView : public ProgressView {
 public:
  JsonView(std::ostream& out, double interval) : out_(out), interval_(interval) {}

  void run_started(const RunStarted& event) override {
    Json line{{"type", "run_started"}};
    line["version"] = program_version();
    line["api_info"] = event.api_info;
    line["result_csv"] = event.result_path;
    line["details_csv"] = event.details_path;
    line["journal"] = event.journal_path;
    line["backend"] = event.backend;
    line["tested_on"] = tested_on_text(event.tested_on);
    add_notice(line, event.tested_on == TestedOn::simulated);
    line["devices"] = event.devices;
    line["threads"] = event.threads;
    line["total"] = event.total;
    line["resumed"] = event.resumed;
    print(line);
  }

  void api_result(const ApiResult& result) override {
    Json line{{"type", "api_result"}};
    line["name"] = result.name;
    line["device"] = result.device;
    line["forward"] = status_text(result.forward);
    line["backward"] = result.backward ? Json(status_text(*result.backward)) : Json(nullptr);
    line["outcome"] = outcome_text(result.outcome);
    line["tested_on"] = result.tested_on == TestedOn::unknown ? Json(nullptr) : Json(tested_on_text(result.tested_on));
    line["message"] = result.message;
    line["rounding_only"] = result.rounding_only;
    add_reason(line, result);
    line["overflow"] = nullptr;
    if (result.overflow) line["overflow"] = {{"cpu", result.overflow->bench}, {"device", result.overflow->device}};
    line["seconds"] = phases(result.times);
    print(line);
  }

  void runner_died(const RunnerDied& event) override {
    Json line{{"type", "runner_died"}};
    line["device"] = event.device;
    line["reason"] = event.reason;
    line["calls"] = event.calls;
    line["action"] = event.retried ? "retry" : "skip";
    print(line);
  }

  void progress(const ProgressState& state) override {
    if (shown_at_ && state.elapsed - *shown_at_ < interval_) return;
    shown_at_ = state.elapsed;
    Json line{{"type", "progress"}};
    line["done"] = state.done;
    line["total"] = state.total;
    add_counts(line, state.counts);
    line["elapsed_seconds"] = state.elapsed;
    line["calls_per_second"] = calls_per_second(state);
    const double left = seconds_left(state);
    line["seconds_left"] = left < 0 ? Json(nullptr) : Json(left);
    line["devices"] = Json::array();
    for (const DeviceActivity& activity : state.devices) {
      Json calls = Json::array();
      for (const auto& call : activity.calls) calls.push_back({{"name", call.name}, {"seconds", call.seconds}});
      line["devices"].push_back({{"device", activity.device}, {"calls", calls}});
    }
    print(line);
  }

  void run_finished(const RunFinished& event) override {
    Json line{{"type", "run_finished"}};
    line["complete"] = event.complete;
    line["exit_code"] = event.exit_code;
    line["done"] = event.done;
    line["total"] = event.total;
    add_counts(line, event.counts);
    add_notice(line, event.counts.simulated > 0);
    line["forward_error"] = event.counts.forward_error;
    line["backward_error"] = event.counts.backward_error;
    line["both_error"] = event.counts.both_error;
    line["elapsed_seconds"] = event.elapsed;
    line["seconds"] = phases(event.costs.phases);
    line["seconds"]["plan"] = event.costs.plan_seconds;
    line["seconds"]["journal"] = seconds(event.costs.journal_time);
    line["seconds"]["csv"] = seconds(event.costs.csv_time);
    line["peak_bytes"] = {{"supervisor", event.costs.supervisor_peak}, {"runners", event.costs.runners_peak}};
    line["resume_command"] = event.resume_command.empty() ? Json(nullptr) : Json(event.resume_command);
    print(line);
  }

 private:
  static double seconds(std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

  static Json phases(const PhaseTimes& times) {
    return {{"materialise", seconds(times.materialise)},
            {"device", seconds(times.device)},
            {"benchmark", seconds(times.benchmark)},
            {"compare", seconds(times.compare)}};
  }

  // Which output the verdict is from and why, where there is one that needs a reason.
  static void add_reason(Json& line, const ApiResult& result) {
    line["suspicious"] = is_suspicious(result);
    line["output"] = nullptr;
    line["reason"] = nullptr;
    const Status status = overall_status(result);
    if (status == Status::pass) return;
    if (status == Status::skip || result.overflow) {
      line["reason"] = result.message;
      return;
    }
    Reason reason = reason_of(result);
    if (!reason.output.empty()) line["output"] = std::exchange(reason.output, {});
    line["reason"] = reason_text(reason);
  }

  static void add_notice(Json& line, bool simulated) {
    line["notice"] = simulated ? Json(simulated_notice) : Json(nullptr);
  }

  static void add_counts(Json& line, const VerdictCounts& counts) {
    line["pass"] = counts.pass;
    line["warning"] = counts.warning;
    line["error"] = counts.error;
    line["skip"] = counts.skip;
    line["failed_to_run"] = counts.failed_to_run;
    line["skipped_by_rule"] = counts.skipped_by_rule;
    line["not_checkable"] = counts.not_checkable;
    line["simulated"] = counts.simulated;
    line["suspicious"] = counts.suspicious();
    line["rounding_only"] = counts.rounding_only;
  }

  // Bytes that are not UTF-8 become U+FFFD: names and messages may come from foreign files.
  void print(const Json& line) {
    out_ << line.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n' << std::flush;
  }

  std::ostream& out_;
  double interval_;
  std::optional<double> shown_at_;
};

}  // namespace

double calls_per_second(const ProgressState& state) {
  if (!(state.elapsed > 0) || state.done < state.resumed) return 0;
  return static_cast<double>(state.done - state.resumed) / state.elapsed;
}

double seconds_left(const ProgressState& state) {
  if (state.done >= state.total) return 0;
  if (state.work_done >= 0) {
    const double share = std::min(state.work_done, 1.0);
    return share > 0 ? state.elapsed * (1 - share) / share : -1;
  }
  const double rate = calls_per_second(state);
  return rate > 0 ? static_cast<double>(state.total - state.done) / rate : -1;
}

void Console::print_line(std::string_view line) {
  if (!status_.empty()) out_ << to_start_and_erase;
  out_ << line << '\n' << status_ << std::flush;
}

void Console::set_status(std::string line) {
  if (line.empty() && status_.empty()) return;
  status_ = std::move(line);
  out_ << to_start_and_erase << status_ << std::flush;
}

std::unique_ptr<ProgressView> make_terminal_view(Console& console, std::function<std::size_t()> width) {
  return std::make_unique<TerminalView>(console, std::move(width));
}

std::unique_ptr<ProgressView> make_plain_view(Console& console, double interval) {
  return std::make_unique<PlainView>(console, interval);
}

std::unique_ptr<ProgressView> make_json_view(std::ostream& out, double interval) {
  return std::make_unique<JsonView>(out, interval);
}

std::unique_ptr<ProgressView> make_stdout_view(bool json, Console& console) {
  if (json) return make_json_view(std::cout);
  return can_redraw() ? make_terminal_view(console, terminal_width) : make_plain_view(console);
}

std::string terminal_line(const ProgressState& state, std::size_t width) {
  std::string line = std::to_string(state.done) + "/" + std::to_string(state.total) + " " + percent_text(state) + " " +
                     rate_text(calls_per_second(state)) + " " + left_text(state) + " | " +
                     counts_text(state.counts, " ");
  for (const DeviceActivity& activity : state.devices) line += " | " + activity_text(activity);
  return cut_to_width(line, width);
}

std::string plain_line(const ProgressState& state) {
  return "progress " + std::to_string(state.done) + "/" + std::to_string(state.total) + " (" + percent_text(state) +
         "), " + rate_text(calls_per_second(state)) + ", " + left_text(state) + ", " + counts_text(state.counts, ", ");
}

}  // namespace msrun
