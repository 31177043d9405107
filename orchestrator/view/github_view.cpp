#include "orchestrator/view/github_view.h"

#include <utility>

#include "kernels/base/text.h"
#include "orchestrator/view/status_line.h"
#include "runner/results/counts.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

std::string escaped(const std::string& text, bool is_property) {
  std::string out;
  for (const char c : visible(readable(text))) {
    if (c == '%') {
      out += "%25";
    } else if (c == '\n') {
      out += "%0A";
    } else if (is_property && c == ':') {
      out += "%3A";
    } else if (is_property && c == ',') {
      out += "%2C";
    } else {
      out += c;
    }
  }
  return out;
}

class GithubView : public ProgressView {
 public:
  GithubView(Console& console, std::unique_ptr<ProgressView> other) : console_(console), other_(std::move(other)) {}

  void run_started(const RunStarted& event) override { other_->run_started(event); }
  void runner_died(const RunnerDied& event) override { other_->runner_died(event); }
  void progress(const ProgressState& state) override { other_->progress(state); }

  void api_result(const ApiResult& result) override {
    other_->api_result(result);
    annotate(result);
  }

  // Annotations are those of one step of a pipeline, and the server shows no others beside the run.
  void earlier_result(const ApiResult& result) override {
    other_->earlier_result(result);
    annotate(result);
  }

  void run_finished(const RunFinished& event) override {
    other_->run_finished(event);
    const std::string counts = counts_text(event.counts, ", ");
    if (event.complete) return say("notice", "msrun", counts);
    say("error", "msrun",
        "not complete, " + std::to_string(event.done) + " of " + std::to_string(event.total) +
            " calls have a result: " + counts);
  }

 private:
  void annotate(const ApiResult& result) {
    if (result.outcome == Outcome::failed_to_run) {
      say("error", result.name, "failed to run: " + result.message);
    } else if (result.overflow) {
      if (result.overflow->verdict == OverflowFinding::Verdict::abnormal) say("error", result.name, result.message);
    } else if (is_suspicious(result)) {
      say("error", result.name, "suspicious: " + reason_text(reason_of(result)));
    } else if (result.outcome == Outcome::not_checkable) {
      say("warning", result.name, "not checked: " + result.message);
    }
  }

  void say(const char* kind, const std::string& title, const std::string& message) {
    console_.print_line(github_command(kind, title, message));
  }

  Console& console_;
  std::unique_ptr<ProgressView> other_;
};

}  // namespace

std::string github_command(const std::string& kind, const std::string& title, const std::string& message) {
  return "::" + kind + " title=" + escaped(title, true) + "::" + escaped(bounded(message), false);
}

std::unique_ptr<ProgressView> make_github_view(Console& console, std::unique_ptr<ProgressView> other) {
  return std::make_unique<GithubView>(console, std::move(other));
}

}  // namespace msrun
