#include "orchestrator/view/summary.h"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/text.h"
#include "runner/results/reason.h"

namespace msrun {

namespace {

constexpr std::size_t max_width = 120;
constexpr std::size_t max_listed = 10;
// Reasons may name files, so that a dump can have as many of them as calls.
constexpr std::size_t max_kept_reasons = 1000;

std::string first_line(const std::string& message) {
  std::size_t begin = message.find_first_not_of("\r\n ");
  if (begin == std::string::npos) return {};
  return sanitised(message.substr(begin, message.find_first_of("\r\n", begin) - begin));
}

// The lines of the reason, the first with the output that it is about.
std::vector<std::string> reason_lines(const ApiResult& result) {
  Reason reason = reason_of(result);
  if (!reason.output.empty()) reason.lines.front().insert(0, reason.output + ": ");
  return std::move(reason.lines);
}

// "Functional.conv2d" of "Functional.conv2d.3".
std::string api_of(const std::string& name) { return name.substr(0, name.rfind('.')); }

std::string counted(std::uint64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

// A run may have been continued on another device.
std::string simulated_line(const VerdictCounts& counts) {
  std::string line = "Device under test: " + std::string(simulated_notice);
  if (counts.not_simulated > 0) {
    line += " (" + std::to_string(counts.simulated) + " of " + std::to_string(counts.simulated + counts.not_simulated) +
            " calls)";
  }
  return line + "\n";
}

std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : command) {
    if (c == '\'') quoted = !quoted;
    if (c == ' ' && !quoted) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

// Breaks a shell command between words into lines that a shell joins again; a flag stays with its value where that is
// possible.
std::string wrapped_command(const std::string& command, const std::string& indent) {
  const std::size_t room = max_width - indent.size() - 4;  // 4: further indentation and the continuation mark
  std::vector<std::string> pieces;
  for (std::string& word : words_of(command)) {
    const bool value = !pieces.empty() && pieces.back().starts_with('-') && !word.starts_with('-');
    if (value && display_width(pieces.back()) + 1 + display_width(word) <= room) {
      pieces.back() += " " + word;
    } else {
      pieces.push_back(std::move(word));
    }
  }
  std::string text = indent + pieces.front();
  std::size_t width = display_width(text);
  for (std::size_t i = 1; i < pieces.size(); ++i) {
    const std::size_t columns = display_width(pieces[i]);
    if (width + 1 + columns + 2 > max_width) {
      text += " \\\n" + indent + "  ";
      width = indent.size() + 2;
    } else {
      text += ' ';
      ++width;
    }
    text += pieces[i];
    width += columns;
  }
  return text + "\n";
}

}  // namespace

void Summary::add(const ApiResult& result) {
  counts_.add(result);
  const Status status = overall_status(result);
  if (status == Status::skip) add_skip(result);
  if (status != Status::warning && status != Status::error) return;
  if (result.rounding_only) return;
  Finding& finding = findings_[api_of(result.name)];
  const bool worse = finding.name.empty() || (status == Status::error && finding.status == Status::warning);
  const bool earlier = status == finding.status && result.task < finding.task;
  if (worse || earlier) {
    finding.status = status;
    finding.task = result.task;
    finding.name = result.name;
    finding.reason = reason_lines(result);
  }
  ++(status == Status::error ? finding.errors : finding.warnings);
}

void Summary::add_skip(const ApiResult& result) {
  std::string reason = first_line(result.message);
  std::string key = reason;
  if (const std::size_t at = key.find(result.name); at != std::string::npos) key.erase(at, result.name.size());
  const auto known = skips_.find(key);
  if (known == skips_.end() && skips_.size() == max_kept_reasons) {
    ++further_skips_;
    return;
  }
  Skipped& skipped = known != skips_.end() ? known->second : skips_[key];
  if (skipped.count++ == 0 || result.task < skipped.task) {
    skipped.by_rule = result.outcome == Outcome::skipped_by_rule;
    skipped.task = result.task;
    skipped.name = result.name;
    skipped.reason = std::move(reason);
  }
}

std::string Summary::text(const std::string& reproduce_command) const {
  std::string text = "Overall Statistics\n" + boxed_table({{"Pass", std::to_string(counts_.pass)},
                                                           {"Warning", std::to_string(counts_.warning)},
                                                           {"Error", std::to_string(counts_.error)},
                                                           {"Passing Rate", counts_.passing_rate()},
                                                           {"Skip Tests", std::to_string(counts_.skip)}});
  text += "Detail Statistics\n" + boxed_table({{"Forward Error", std::to_string(counts_.forward_error)},
                                               {"Backward Error", std::to_string(counts_.backward_error)},
                                               {"Both Forward & Backward Error", std::to_string(counts_.both_error)}});
  if (counts_.warning + counts_.error > 0) {
    text += "Warnings and Errors\n" + boxed_table({{"Suspicious", std::to_string(counts_.suspicious())},
                                                   {"Explained by Rounding", std::to_string(counts_.rounding_only)}});
  }
  if (counts_.failed_to_run > 0) text += counted(counts_.failed_to_run, "call") + " failed to run.\n";
  if (counts_.simulated > 0) text += simulated_line(counts_);
  return text + findings_text(reproduce_command) + skips_text();
}

std::string Summary::findings_text(const std::string& reproduce_command) const {
  if (findings_.empty()) return {};
  std::vector<const Finding*> worst;
  worst.reserve(findings_.size());
  for (const auto& [api, finding] : findings_) worst.push_back(&finding);
  std::sort(worst.begin(), worst.end(), [](const Finding* a, const Finding* b) {
    if (a->status != b->status) return a->status == Status::error;
    return std::pair(a->task, std::string_view(a->name)) < std::pair(b->task, std::string_view(b->name));
  });
  std::string text = "APIs to look at first\n";
  for (std::size_t i = 0; i < std::min(worst.size(), max_listed); ++i) {
    const Finding& finding = *worst[i];
    std::string line = "  " + std::string(status_text(finding.status));
    line.resize(11, ' ');
    line += sanitised(finding.name);
    if (finding.errors + finding.warnings > 1) {
      line += " (" + sanitised(api_of(finding.name)) + " in all: " + counted(finding.errors, "error") + ", " +
              counted(finding.warnings, "warning") + ")";
    }
    text += cut_to_width(line, max_width) + "\n";
    for (const std::string& reason : finding.reason) text += cut_to_width("           " + reason, max_width) + "\n";
    text += wrapped_command(reproduce_command + " --only " + shell_quoted(finding.name), "           ");
  }
  if (worst.size() > max_listed) {
    text += "  and " + counted(worst.size() - max_listed, "more API") + "; all are in the result file.\n";
  }
  return text;
}

// What a rule of the pre-check leaves out comes last: it was to be expected.
std::string Summary::skips_text() const {
  if (skips_.empty()) return {};
  std::vector<const Skipped*> reasons;
  reasons.reserve(skips_.size());
  for (const auto& [key, skipped] : skips_) reasons.push_back(&skipped);
  std::sort(reasons.begin(), reasons.end(), [](const Skipped* a, const Skipped* b) {
    if (a->by_rule != b->by_rule) return b->by_rule;
    return a->count != b->count ? a->count > b->count : a->task < b->task;
  });
  std::string text = "Calls that were not checked\n";
  for (std::size_t i = 0; i < std::min(reasons.size(), max_listed); ++i) {
    const Skipped& skipped = *reasons[i];
    std::string count = std::to_string(skipped.count);
    if (count.size() < 7) count.insert(0, 7 - count.size(), ' ');
    std::string line = "  " + count + "  " + sanitised(skipped.name);
    line += skipped.count > 1 ? ", ...: " : ": ";
    line += skipped.reason;
    text += cut_to_width(line, max_width) + "\n";
  }
  if (reasons.size() > max_listed || further_skips_ > 0) {
    std::uint64_t rest = further_skips_;
    for (std::size_t i = max_listed; i < reasons.size(); ++i) rest += reasons[i]->count;
    text += "  and " + counted(rest, "call") + " for other reasons; all are in the result file.\n";
  }
  return text;
}

}  // namespace msrun
