#include "orchestrator/view/progress_view.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "kernels/base/text.h"
#include "kernels/base/version.h"
#include "orchestrator/view/consistency_json.h"
#include "orchestrator/view/difference_json.h"
#include "orchestrator/view/judgement_json.h"
#include "orchestrator/view/result_text.h"
#include "orchestrator/view/status_line.h"
#include "orchestrator/view/trust_json.h"
#include "runner/results/api_name.h"
#include "runner/results/rank_calls.h"
#include "runner/results/reason.h"

namespace msrun {

namespace {

using Json = nlohmann::ordered_json;

std::string died_text(const RunnerDied& event) {
  std::string text = "The runner of device " + std::to_string(event.device) + " died: " + event.reason + ".";
  if (event.calls.empty()) return sanitised(text);
  const auto list = [](const std::vector<std::string>& calls) {
    std::string names;
    for (std::size_t i = 0; i < calls.size(); ++i) names += (i == 0 ? "" : ", ") + calls[i];
    return names;
  };
  text += " It was on " + list(event.calls);
  if (event.skipped.empty()) return sanitised(text + "; retrying.");
  if (event.skipped.size() == event.calls.size()) return sanitised(text + "; recorded as SKIP.");
  return sanitised(text + "; " + list(event.skipped) + (event.skipped.size() == 1 ? " is" : " are") +
                   " recorded as SKIP, what else it was on runs again.");
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

// What happens goes to the log; how far the run is differs.
class HumanView : public ProgressView {
 public:
  explicit HumanView(Console& console) : console_(console) {}

  void run_started(const RunStarted& event) override { names_calls_ = !event.overflow_check; }
  void runner_died(const RunnerDied& event) override { spdlog::warn("{}", died_text(event)); }

  void api_result(const ApiResult& result) override {
    if (!names_calls_ || result.overflow) return;
    if (is_suspicious(result)) {
      name(spdlog::level::warn, result,
           "Suspicious: " + std::string(status_text(overall_status(result))) + " " + result.name + ": " +
               reason_text(reason_of(result)));
    } else if (result.outcome == Outcome::failed_to_run) {
      name(spdlog::level::err, result, "Run " + result.name + " acc_check Error: " + first_line(result.message));
    } else if (result.outcome == Outcome::not_checkable) {
      name(spdlog::level::warn, result, result.name + " was not checked: " + first_line(result.message));
    }
  }

 protected:
  Console& console() { return console_; }

 private:
  // One fault can hit every call of an API: those beyond the first few are counted, and in the result file.
  void name(spdlog::level::level_enum level, const ApiResult& result, const std::string& text) {
    constexpr std::uint64_t most = 3;
    const std::string api(api_of(without_rank(result.name)));
    const std::uint64_t count = ++named_[api];
    if (count > most) return;
    spdlog::log(level, "{}{}", text,
                count == most ? " (Further calls of " + api + " are counted without being named.)" : "");
  }

  Console& console_;
  bool names_calls_ = true;
  std::unordered_map<std::string, std::uint64_t> named_;  // calls by API
};

class TerminalView : public HumanView {
 public:
  TerminalView(Console& console, std::function<std::size_t()> width) : HumanView(console), width_(std::move(width)) {}

  // One column stays free: a line that fills the last one makes some terminals scroll.
  void progress(const ProgressState& state) override {
    console().set_status(terminal_line(state, std::max<std::size_t>(width_(), 2) - 1, console().paint()));
  }
  void run_finished(const RunFinished& event) override {
    console().set_status({});
    console().print_line(finished_line(event));
  }

 private:
  std::function<std::size_t()> width_;
};

class PlainView : public HumanView {
 public:
  PlainView(Console& console, double interval) : HumanView(console), interval_(interval) {}

  void progress(const ProgressState& state) override {
    if (state.elapsed - shown_at_ < interval_) return;
    shown_at_ = state.elapsed;
    console().print_line(plain_line(state));
  }
  void run_finished(const RunFinished& event) override { console().print_line(finished_line(event)); }

 private:
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
    line["ranks"] = nullptr;
    for (const RunStarted::RankFiles& rank : event.ranks) {
      line["ranks"].push_back(
          {{"rank", rank.rank}, {"result_csv", rank.result_path}, {"details_csv", rank.details_path}});
    }
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
    line["judgement"] = judgements_json(result);
    line["proves_little"] = proves_little_json(result);
    line["visible_faults"] = visible_faults_json(result);
    line["checksums"] = checksums_json(result);
    line["repeats"] = repeats_json(result);
    line["agreement"] = agreement_json(result);
    line["overflow"] = nullptr;
    if (result.overflow) {
      line["overflow"] = {{"cpu", result.overflow->bench},
                          {"device", result.overflow->device},
                          {"verdict", overflow_verdict(*result.overflow)}};
    }
    line["seconds"] = phases(result.times);
    print(line);
  }

  void runner_died(const RunnerDied& event) override {
    Json line{{"type", "runner_died"}};
    line["device"] = event.device;
    line["reason"] = event.reason;
    line["calls"] = event.calls;
    line["action"] = event.skipped.empty() ? "retry" : "skip";
    line["skipped"] = event.skipped;
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
    line["blamed_devices"] = Json::array();
    for (const auto& [device, calls] : event.blamed_devices) {
      line["blamed_devices"].push_back({{"device", device}, {"calls", calls}});
    }
    line["ranks"] = nullptr;
    for (const RankCounts& rank : event.ranks) {
      Json entry{{"rank", rank.rank}, {"calls", rank.calls}};
      add_counts(entry, rank.counts);
      line["ranks"].push_back(std::move(entry));
    }
    line["overflow"] = nullptr;
    if (event.overflow) {
      line["overflow"] = {{"no_overflow", event.overflow->none}, {"nothing_to_overflow", event.overflow->empty},
                          {"normal", event.overflow->normal},    {"abnormal", event.overflow->abnormal},
                          {"skipped", event.overflow->skipped},  {"failed_to_run", event.overflow->failed_to_run}};
    }
    line["elapsed_seconds"] = event.elapsed;
    line["seconds"] = phases(event.costs.phases);
    line["seconds"]["plan"] = event.costs.plan_seconds;
    line["seconds"]["journal"] = seconds(event.costs.journal_time);
    line["seconds"]["csv"] = seconds(event.costs.csv_time);
    line["peak_bytes"] = {{"supervisor", event.costs.supervisor_peak}, {"runners", event.costs.runners_peak}};
    line["resume_command"] = event.resume_command.empty() ? Json(nullptr) : Json(event.resume_command);
    line["report"] = event.report_path.empty() ? Json(nullptr) : Json(event.report_path);
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
    line["difference"] = nullptr;
    const Status status = overall_status(result);
    if (status == Status::pass && !is_suspicious(result)) return;
    if (status == Status::skip || result.overflow) {
      line["reason"] = result.message;
      return;
    }
    Reason reason = reason_of(result);
    if (!reason.output.empty()) line["output"] = std::exchange(reason.output, {});
    line["reason"] = reason_text(reason);
    if (reason.row != nullptr) line["difference"] = difference_json(reason.row->difference);
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
    line["proves_little"] = counts.weak;
    line["unsteady"] = counts.unsteady;
    line["devices_differ"] = counts.devices_differ;
    line["varying_as_declared"] = counts.varying;
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

std::unique_ptr<ProgressView> make_terminal_view(Console& console, std::function<std::size_t()> width) {
  return std::make_unique<TerminalView>(console, std::move(width));
}

std::unique_ptr<ProgressView> make_plain_view(Console& console, double interval) {
  return std::make_unique<PlainView>(console, interval);
}

std::unique_ptr<ProgressView> make_json_view(std::ostream& out, double interval) {
  return std::make_unique<JsonView>(out, interval);
}

std::unique_ptr<ProgressView> make_stdout_view(Console& console) {
  return can_redraw(STDOUT_FILENO) ? make_terminal_view(console, terminal_width) : make_plain_view(console);
}

}  // namespace msrun
