#include "runner/results/reason.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <string_view>
#include <utility>

#include "kernels/base/text.h"
#include "kernels/compare/metrics/message_lines.h"
#include "runner/results/counts.h"

namespace msrun {
namespace {

// Beyond it a distance in units of the last place tells nothing but that the values have nothing in common.
constexpr double most_ulps = 1e6;

// What stands in a Message from the sentence on that judges the rounding: the most telling lines.
std::vector<std::string> explanation_in(const std::string& message) {
  std::vector<std::string> lines;
  std::size_t start = std::string::npos;
  for (const std::string_view line : {unexplained_line, explained_line, half_steps_line}) {
    if (start == std::string::npos) start = find_verdict(message, line);
  }
  if (start == std::string::npos) return lines;
  for (std::string_view rest = std::string_view(message).substr(start); !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    lines.push_back(sanitised(rest.substr(0, end)));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return lines;
}

std::string metrics_text(const DetailsRow& row) {
  std::string text;
  for (const auto& [metric, label] : {std::pair{Metric::cosine, "cosine "},
                                      {Metric::max_abs_error, "max abs error "},
                                      {Metric::max_relative_error, "max rel error "},
                                      {Metric::binary_error_rate, "mismatch rate "},
                                      {Metric::ulp_max, "max ULP "}}) {
    if (row[metric].kind == Cell::Kind::blank) continue;
    const double value = row[metric].value;
    text += (text.empty() ? "" : ", ") + std::string(label) +
            (metric == Metric::ulp_max ? ulp_text(value) : short_number(value));
  }
  return text;
}

Reason reason_in(const char* direction, std::size_t index, const DetailsRow& row) {
  Reason reason{std::string(direction) + ".output." + std::to_string(index), explanation_in(row.message), &row};
  if (reason.lines.empty()) reason.lines.push_back(first_line(row.message));
  if (reason.lines.front().empty()) reason.lines.front() = metrics_text(row);
  if (reason.lines.front().empty()) reason.lines.front() = "its row in the details file says no more";
  return reason;
}

std::string device_names(const std::vector<const DeviceAnswer*>& answers) {
  std::string text = answers.size() == 1 ? "device " : "devices ";
  for (std::size_t i = 0; i < answers.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == answers.size() ? " and " : ", ") + std::to_string(answers[i]->device);
  }
  return text;
}

std::string in_brackets(const std::string& output) { return output.empty() ? "" : " (" + output + ")"; }

std::string repeats_line(const Repeats& repeats) {
  const std::string runs = std::to_string(repeats.different) + " of " + std::to_string(repeats.runs) + " runs";
  if (repeats.may_vary)
    return "Varies from run to run, as its operator may: " + runs + in_brackets(repeats.output) + ".";
  if (!repeats.problem.empty()) {
    return "Not the same in every run: " + runs + " differ" + in_brackets(repeats.output) +
           ", and one gave nothing: " + first_line(repeats.problem);
  }
  return "Not the same in every run: with the same inputs " + runs + " gave other bits than the rest" +
         in_brackets(repeats.output) + ".";
}

std::string agreement_line(const Agreement& agreement) {
  std::vector<const DeviceAnswer*> all;
  std::vector<const DeviceAnswer*> blamed;
  std::vector<const DeviceAnswer*> others;
  for (const DeviceAnswer& answer : agreement.answers) {
    all.push_back(&answer);
    (answer.blamed ? blamed : others).push_back(&answer);
  }
  if (agreement.verdict == Agreement::Verdict::may_vary) {
    return "Varies between " + device_names(all) + ", as its operator may" + in_brackets(agreement.output) + ".";
  }
  if (agreement.verdict == Agreement::Verdict::undecided) {
    return "Not the same on every device: the bits of " + device_names(all) + " differ" +
           in_brackets(agreement.output) + ", and nothing tells which are wrong.";
  }
  std::string text = device_names(blamed);
  text.front() = 'D';
  text += blamed.size() == 1 ? " differs from " : " differ from ";
  text += device_names(others) + in_brackets(agreement.output);
  return text + (agreement.reason.empty() ? "." : ": " + first_line(agreement.reason));
}

bool has_verdict(const ApiResult& result) {
  const Status status = overall_status(result);
  return status == Status::warning || status == Status::error;
}

// What is said of the first row of the result's status, one that rounding does not explain before those that it
// explains.
Reason reason_by_values(const ApiResult& result) {
  const Status status = overall_status(result);
  const auto is_worst = [&](const DetailsRow& row) {
    return status != Status::pass && row.status == status && !row.rounding_only;
  };
  const auto is_explained = [&](const DetailsRow& row) { return row.status == status && row.rounding_only; };
  using Test = std::function<bool(const DetailsRow&)>;
  for (const Test& test : {Test(is_worst), Test(&DetailsRow::beyond_rounding), Test(is_explained)}) {
    for (const auto& [direction, rows] :
         {std::pair{"forward", &result.forward_rows}, {"backward", &result.backward_rows}}) {
      const auto row = std::ranges::find_if(*rows, test);
      if (row == rows->end()) continue;
      // What had nothing to compare has no number.
      const auto is_numbered = [](const DetailsRow& r) { return r.status != Status::skip || !r.message.empty(); };
      return reason_in(direction, static_cast<std::size_t>(std::count_if(rows->begin(), row, is_numbered)), *row);
    }
  }
  // A result that was read back from a file without rows has a Message alone.
  for (const std::string_view mark : {suspicious_mark, rounding_mark}) {
    if (result.message.starts_with(mark)) return {"", {first_line(result.message.substr(mark.size()))}, nullptr};
  }
  return {"",
          {result.rounding_only ? "the shares of zeros of a dropout differ no more than chance makes them"
                                : "no details row says why (dropout: the shares of zeros differ)"},
          nullptr};
}

}  // namespace

std::string first_line(const std::string& message) {
  const std::size_t begin = message.find_first_not_of("\r\n ");
  if (begin == std::string::npos) return {};
  return sanitised(message.substr(begin, message.find_first_of("\r\n", begin) - begin));
}

std::string ulp_text(double ulps) {
  if (ulps > most_ulps) return "more than 1e6";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", ulps);
  return text.data();
}

std::vector<std::string> consistency_lines(const ApiResult& result) {
  std::vector<std::string> lines;
  if (result.repeats && result.repeats->different > 0) lines.push_back(repeats_line(*result.repeats));
  if (result.agreement && result.agreement->verdict != Agreement::Verdict::same) {
    lines.push_back(agreement_line(*result.agreement));
  }
  return lines;
}

Reason reason_of(const ApiResult& result) {
  Reason reason;
  if (!is_suspicious(result) || is_suspicious_by_values(result)) reason = reason_by_values(result);
  for (std::string& line : consistency_lines(result)) reason.lines.push_back(std::move(line));
  return reason;
}

std::string reason_text(const Reason& reason) {
  std::string text = reason.output.empty() ? "" : reason.output + ":";
  for (const std::string& line : reason.lines) text += (text.empty() ? "" : " ") + line;
  return text;
}

std::string message_with_reason(const ApiResult& result) {
  // That of a file which was read back.
  if (result.message.starts_with(suspicious_mark) || result.message.starts_with(rounding_mark)) return result.message;
  if (!has_verdict(result) && !is_suspicious(result)) {
    std::string text = result.message;
    for (const std::string& line : consistency_lines(result)) text += (text.empty() ? "" : " ") + line;
    if (!result.unsaved.empty()) text += (text.empty() ? "" : " ") + result.unsaved;
    return text;
  }
  std::string text(is_suspicious(result) ? suspicious_mark : rounding_mark);
  text += reason_text(reason_of(result));
  const bool is_skip = result.forward == Status::skip || result.backward == Status::skip;
  if (!result.message.empty()) text += (is_skip ? " SKIP of a direction: " : " Not checked: ") + result.message;
  if (result.tested_on == TestedOn::simulated) text += " (" + std::string(simulated_notice) + ")";
  if (!result.unsaved.empty()) text += " " + result.unsaved;
  return text;
}

}  // namespace msrun
