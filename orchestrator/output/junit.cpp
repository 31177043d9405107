#include "orchestrator/output/junit.h"

#include <array>
#include <cstdio>

#include "kernels/base/text.h"
#include "kernels/base/time_text.h"
#include "kernels/base/xml_characters.h"
#include "runner/results/api_name.h"
#include "runner/results/counts.h"
#include "runner/results/rank_calls.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

enum class Case : std::uint8_t { passed, failed, in_error, skipped };

Case case_of(const ApiResult& result, bool documented) {
  if (result.outcome == Outcome::failed_to_run) return documented ? Case::in_error : Case::failed;
  const Status status = overall_status(result);
  if (is_suspicious(result) || (documented && status == Status::error)) return Case::failed;
  return status == Status::skip ? Case::skipped : Case::passed;
}

std::string seconds_text(double seconds) {
  std::array<char, 48> text{};
  return {text.data(), static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.6f", seconds))};
}

double seconds_of(const ApiResult& result) {
  const PhaseTimes& times = result.times;
  return static_cast<double>(times.materialise + times.device + times.benchmark + times.compare) * 1e-9;
}

std::string attribute(const char* name, const std::string& value) {
  return " " + std::string(name) + "=\"" + xml_text(value) + "\"";
}

// What is to be said of a call that was checked.
std::string words_of(const ApiResult& result) {
  std::string text = message_with_reason(result);
  if (is_weak_evidence(result)) {
    text += (text.empty() ? "" : "\n") + weak_evidence_sentence(result.weak_evidence);
  }
  return text;
}

std::string element(const char* tag, const char* type, const std::string& text) {
  return "      <" + std::string(tag) + attribute("message", first_line(text)) +
         (*type == '\0' ? "" : attribute("type", type)) + ">" + xml_text(text) + "</" + tag + ">\n";
}

// The same of one that passes here, whatever its documented Status.
std::string words_of_passed(const ApiResult& result) {
  const Status status = overall_status(result);
  const bool passes = status != Status::warning && status != Status::error;
  return (passes ? "" : "Status by the documented limits: " + std::string(status_text(status)) + ".\n") +
         words_of(result);
}

std::string failure_of(const ApiResult& result) {
  if (result.outcome == Outcome::failed_to_run) return element("failure", "failed to run", result.message);
  return element("failure", is_suspicious(result) ? "suspicious" : "error", words_of(result));
}

std::string case_text(const ApiResult& result, Case kind) {
  std::string inside;
  switch (kind) {
    case Case::in_error:
      inside = element("error", "failed to run", result.message);
      break;
    case Case::skipped:
      inside = "      <skipped" + attribute("message", first_line(result.message)) + "/>\n";
      break;
    case Case::failed:
      inside = failure_of(result);
      break;
    case Case::passed:
      if (const std::string words = words_of_passed(result); !words.empty())
        inside = "      <system-out>" + xml_text(words) + "</system-out>\n";
      break;
  }
  std::string text = "    <testcase" + attribute("name", result.name) +
                     attribute("classname", std::string(api_of(without_rank(result.name)))) +
                     attribute("time", seconds_text(seconds_of(result)));
  if (inside.empty()) return text + "/>\n";
  return text + ">\n" + inside + "    </testcase>\n";
}

struct Counts {
  std::array<std::uint64_t, 4> cases{};
  double seconds = 0;

  std::uint64_t of(Case kind) const { return cases[static_cast<std::size_t>(kind)]; }
  std::uint64_t all() const { return cases[0] + cases[1] + cases[2] + cases[3]; }
};

}  // namespace

std::string xml_text(const std::string& text) {
  std::string escaped;
  for (const char c : without_noncharacters(readable(text))) {
    if (c == '&') {
      escaped += "&amp;";
    } else if (c == '<') {
      escaped += "&lt;";
    } else if (c == '>') {
      escaped += "&gt;";
    } else if (c == '"') {
      escaped += "&quot;";
    } else if (c == '\n') {
      escaped += "&#10;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

void write_junit(AtomicFile& file, const JunitFacts& facts, const EachResult& each_result) {
  Counts counts;
  each_result([&](const ApiResult& result) {
    ++counts.cases[static_cast<std::size_t>(case_of(result, facts.documented))];
    counts.seconds += seconds_of(result);
  });
  std::string missing = facts.stopped;
  if (facts.planned > counts.all()) {
    missing = std::to_string(facts.planned - counts.all()) + " of " + std::to_string(facts.planned) +
              " calls have no result." + (facts.stopped.empty() ? "" : " " + facts.stopped);
  }
  const std::uint64_t in_error = counts.of(Case::in_error) + (missing.empty() ? 0 : 1);
  const std::string sums = attribute("tests", std::to_string(counts.all() + (missing.empty() ? 0 : 1))) +
                           attribute("failures", std::to_string(counts.of(Case::failed))) +
                           attribute("errors", std::to_string(in_error));
  const std::string time = attribute("time", seconds_text(counts.seconds));
  file.write("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + attribute("name", "msrun") + sums + time +
             ">\n  <testsuite" + attribute("name", facts.recording) + sums +
             attribute("skipped", std::to_string(counts.of(Case::skipped))) + time +
             attribute("timestamp", local_time_text(facts.started, "%Y-%m-%dT%H:%M:%S")) + ">\n");
  each_result([&](const ApiResult& result) { file.write(case_text(result, case_of(result, facts.documented))); });
  if (!missing.empty()) {
    const std::string text = "The run is not complete: " + missing;
    file.write("    <testcase" + attribute("name", "the whole run") + attribute("classname", "msrun") +
               attribute("time", "0") + ">\n" + element("error", "not complete", text) + "    </testcase>\n");
  }
  file.write("  </testsuite>\n</testsuites>\n");
}

}  // namespace msrun
