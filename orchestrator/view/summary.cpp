#include "orchestrator/view/summary.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/base/counted.h"
#include "kernels/base/digits.h"
#include "kernels/base/shell_words.h"
#include "kernels/base/text.h"
#include "orchestrator/view/rank_table.h"
#include "runner/results/api_name.h"
#include "runner/results/rank_calls.h"
#include "runner/results/reason.h"

namespace msrun {

namespace {

constexpr std::size_t max_listed = 10;
// Reasons may name files, so that a dump can have as many of them as calls.
constexpr std::size_t max_kept_reasons = 1000;

// What the run says of the calls, beyond the documented verdicts. A line without calls is left out unless it is good
// news.
struct Conclusion {
  const char* title;
  const char* meaning;
  Style style;
  bool even_if_none;
  std::uint64_t (*count)(const VerdictCounts&);
};
constexpr std::array possible_conclusions{
    Conclusion{"suspicious", "results that rounding does not explain", Style::alarm, true,
               [](const VerdictCounts& counts) { return counts.suspicious(); }},
    Conclusion{"failed to run", "crashes, time-outs, want of memory, internal errors", Style::alarm, true,
               [](const VerdictCounts& counts) { return counts.failed_to_run; }},
    Conclusion{"unsteady", "other bits in another run with the same inputs", Style::alarm, false,
               [](const VerdictCounts& counts) { return counts.unsteady; }},
    Conclusion{"not the same everywhere", "other bits on another device", Style::alarm, false,
               [](const VerdictCounts& counts) { return counts.devices_differ; }},
    Conclusion{"varying as declared", "other bits in another run or on another device, as the operator may",
               Style::plain, false, [](const VerdictCounts& counts) { return counts.varying; }},
    Conclusion{"explained by rounding", "warnings and errors no larger than rounding makes them", Style::plain, false,
               [](const VerdictCounts& counts) { return counts.rounding_only; }},
    Conclusion{"not compared", "calls without an output that can be compared", Style::caution, false,
               [](const VerdictCounts& counts) { return counts.nothing_compared; }},
    Conclusion{"proves little", "results that agree where nothing else could be expected", Style::plain, false,
               [](const VerdictCounts& counts) { return counts.weak; }},
};

// Why calls were not checked, the most surprising first.
struct SkipGroup {
  Outcome outcome;
  const char* title;
  Style style;
};
constexpr std::array skip_groups{SkipGroup{Outcome::failed_to_run, "failed to run", Style::alarm},
                                 SkipGroup{Outcome::not_checkable, "cannot be checked", Style::caution},
                                 SkipGroup{Outcome::skipped_by_rule, "left out by rule", Style::plain}};

std::size_t skip_group(Outcome outcome) {
  const auto* group = std::ranges::find(skip_groups, outcome, &SkipGroup::outcome);
  return group == skip_groups.end() ? 1 : static_cast<std::size_t>(group - skip_groups.begin());
}

// What reasons have in common that differ in the name of their call and in numbers: those of devices, attempts, files.
// Digits within a word stay: float16 is not float32. A size is one in whatever unit.
std::string reason_key(std::string reason, const std::string& name) {
  if (const std::size_t at = reason.find(name); at != std::string::npos) reason.erase(at, name.size());
  std::string key;
  bool in_word = false;
  bool in_number = false;
  for (const char c : reason) {
    const bool digit = is_digit(c);
    in_number = digit && !in_word;
    if (!in_number) key += c;
    if (in_number && !key.ends_with('#')) key += '#';
    in_word = !in_number && (digit || c == '_' || is_letter(c));
  }
  for (const std::string_view unit : {"# KiB", "# MiB", "# GiB", "# TiB"}) {
    for (std::size_t at = 0; (at = key.find(unit, at)) != std::string::npos;) key.erase(at + 2, 1);
  }
  return key;
}

// Right-aligned in seven columns.
std::string number_column(std::uint64_t count) {
  std::string text = std::to_string(count);
  if (text.size() < 7) text.insert(0, 7 - text.size(), ' ');
  return text;
}

// What is drawn below the reason: a legend and at most so many lines as a picture has.
std::string picture_text(const DifferenceMap& map, const std::string& indent) {
  if (map.picture.empty()) return {};
  std::string text = cut_to_width(indent + "Where it is wrong: " + picture_legend(map), closing_width) + "\n";
  for (std::size_t i = 0; i < std::min<std::size_t>(map.picture.size(), picture_lines); ++i)
    text += indent + "  " + cut_to_width(sanitised(map.picture[i]), picture_columns) + "\n";
  return text;
}

// How much a status speaks against a call that is suspicious.
int severity(Status status) { return status == Status::error ? 2 : status == Status::warning ? 1 : 0; }

// A run may have been continued on another device.
std::string simulated_line(const VerdictCounts& counts) {
  std::string line = "Device under test: " + std::string(simulated_notice);
  if (counts.not_simulated > 0) {
    line += " (" + std::to_string(counts.simulated) + " of " + std::to_string(counts.simulated + counts.not_simulated) +
            " calls)";
  }
  return line;
}

// Breaks a shell command between words into lines that a shell joins again; a flag stays with its value where that is
// possible.
std::string wrapped_command(const std::string& command, const std::string& indent) {
  const std::size_t room = closing_width - indent.size() - 4;  // 4: further indentation and the continuation mark
  std::vector<std::string> pieces;
  for (std::string& word : shell_words(command)) {
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
    if (width + 1 + columns + 2 > closing_width) {
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
  Status status = overall_status(result);
  if (status == Status::skip) add_skip(result);
  if (is_weak_evidence(result)) add_doubt(result);
  add_blame(result);
  if (!is_suspicious(result)) return;
  if (status == Status::skip) status = result.backward.value_or(Status::skip);
  Finding& finding = findings_[std::string(api_of(without_rank(result.name)))];
  const bool worse = finding.name.empty() || severity(status) > severity(finding.status);
  const bool earlier = status == finding.status && result.task < finding.task;
  if (worse || earlier) {
    finding.status = status;
    finding.task = result.task;
    finding.name = result.name;
    Reason reason = reason_of(result);
    // The output that it is about.
    if (!reason.output.empty()) reason.lines.front().insert(0, reason.output + ": ");
    finding.reason = std::move(reason.lines);
    finding.map.reset();
    if (reason.row != nullptr && reason.row->difference) finding.map = reason.row->difference->map;
  }
  ++(status == Status::error ? finding.errors : status == Status::warning ? finding.warnings : finding.passes);
}

std::map<std::int32_t, std::uint64_t> Summary::blamed_devices() const {
  std::map<std::int32_t, std::uint64_t> devices;
  for (const auto& [device, blame] : blames_) devices[device] = blame.count;
  return devices;
}

void Summary::add_blame(const ApiResult& result) {
  if (!result.agreement) return;
  for (const DeviceAnswer& answer : result.agreement->answers) {
    if (!answer.blamed) continue;
    Blame& blame = blames_[answer.device];
    if (blame.count++ > 0 && result.task > blame.task) continue;
    blame.task = result.task;
    blame.name = result.name;
  }
}

void Summary::add_doubt(const ApiResult& result) {
  Doubt& doubt = doubts_[static_cast<std::size_t>(result.weak_evidence)];
  if (doubt.count++ == 0 || result.task < doubt.task) {
    doubt.task = result.task;
    doubt.name = result.name;
  }
}

void Summary::add_skip(const ApiResult& result) {
  std::string reason = first_line(result.message);
  const std::size_t group = skip_group(result.outcome);
  const std::string key = std::to_string(group) + reason_key(reason, std::string(without_rank(result.name)));
  const auto known = skips_.find(key);
  if (known == skips_.end() && skips_.size() == max_kept_reasons) {
    ++further_skips_;
    return;
  }
  Skipped& skipped = known != skips_.end() ? known->second : skips_[key];
  if (skipped.count++ == 0 || result.task < skipped.task) {
    skipped.group = group;
    skipped.task = result.task;
    skipped.name = result.name;
    skipped.reason = std::move(reason);
  }
}

std::string Summary::text(const std::string& reproduce_command, const SummaryStyle& style) const {
  const std::string conclusions =
      conclusions_text(style) + blames_text(style.paint) + findings_text(reproduce_command, style);
  const std::string documented = documented_text();
  return (style.documented_first ? documented + conclusions : conclusions + documented) + doubts_text() +
         skips_text(style.paint);
}

std::string Summary::conclusions_text(const SummaryStyle& summary_style) const {
  const Paint& paint = summary_style.paint;
  std::string text =
      "Conclusions from " + counted(counts_.total() + counts_.skip, "call") + summary_style.stand_for + "\n";
  for (const Conclusion& conclusion : possible_conclusions) {
    const std::uint64_t count = conclusion.count(counts_);
    if (count == 0 && !conclusion.even_if_none) continue;
    const Style style = count > 0 ? conclusion.style : Style::plain;
    text += "  " + number_column(count) + "  " + paint(style, conclusion.title) + ": " + conclusion.meaning + "\n";
  }
  if (!summary_style.not_counted.empty()) text += summary_style.not_counted + "\n";
  if (counts_.simulated > 0) text += paint(Style::caution, simulated_line(counts_)) + "\n";
  return text;
}

std::string Summary::blames_text(const Paint& paint) const {
  if (blames_.empty()) return {};
  std::string text = "Devices that differ from the others\n";
  for (const auto& [device, blame] : blames_) {
    const std::string title = "device " + std::to_string(device);
    const std::string rest = ": " + counted(blame.count, "call") + ", the first is " + sanitised(blame.name);
    text += "  " + paint(Style::alarm, title) + cut_to_width(rest, closing_width - 2 - title.size()) + "\n";
  }
  return text;
}

std::string Summary::documented_text() const {
  return "Overall Statistics\n" +
         boxed_table({{"Pass", std::to_string(counts_.pass)},
                      {"Warning", std::to_string(counts_.warning)},
                      {"Error", std::to_string(counts_.error)},
                      {"Passing Rate", counts_.passing_rate()},
                      {"Skip Tests", std::to_string(counts_.skip)}}) +
         "Detail Statistics\n" +
         boxed_table({{"Forward Error", std::to_string(counts_.forward_error)},
                      {"Backward Error", std::to_string(counts_.backward_error)},
                      {"Both Forward & Backward Error", std::to_string(counts_.both_error)}});
}

std::string Summary::findings_text(const std::string& reproduce_command, const SummaryStyle& summary_style) const {
  const Paint& paint = summary_style.paint;
  if (findings_.empty()) return {};
  std::vector<const Finding*> worst;
  worst.reserve(findings_.size());
  for (const auto& [api, finding] : findings_) worst.push_back(&finding);
  std::sort(worst.begin(), worst.end(), [](const Finding* a, const Finding* b) {
    if (a->status != b->status) return severity(a->status) > severity(b->status);
    return std::pair(a->task, std::string_view(a->name)) < std::pair(b->task, std::string_view(b->name));
  });
  std::string text = "APIs to look at first\n";
  for (std::size_t i = 0; i < std::min(worst.size(), max_listed); ++i) {
    const Finding& finding = *worst[i];
    std::string line = sanitised(finding.name);
    if (finding.errors + finding.warnings + finding.passes > 1) {
      line += " (" + sanitised(api_of(without_rank(finding.name))) + " in all: " + counted(finding.errors, "error") +
              ", " + counted(finding.warnings, "warning");
      if (finding.passes > 0) line += ", " + std::to_string(finding.passes) + " within the limits";
      line += ")";
    }
    const Style style = finding.status == Status::error ? Style::alarm : Style::caution;
    const std::string_view status = status_text(finding.status);
    text += "  " + paint(style, status) + std::string(9 - std::min<std::size_t>(status.size(), 8), ' ') +
            cut_to_width(line, closing_width - 11) + "\n";
    const std::string where = summary_style.calls_of ? summary_style.calls_of(finding.task) : "";
    if (!where.empty()) text += cut_to_width("           " + where, closing_width) + "\n";
    for (const std::string& reason : finding.reason) text += cut_to_width("           " + reason, closing_width) + "\n";
    if (i == 0 && finding.map) text += picture_text(*finding.map, "           ");
    text += wrapped_command(reproduce_command + " --only " + shell_quoted(finding.name), "           ");
  }
  if (worst.size() > max_listed) {
    text += "  and " + counted(worst.size() - max_listed, "more API") + "; all are in the result file.\n";
  }
  return text;
}

std::string Summary::doubts_text() const {
  if (counts_.weak == 0) return {};
  std::string text = "Results that prove little\n";
  for (std::size_t i = 0; i < doubts_.size(); ++i) {
    const Doubt& doubt = doubts_[i];
    if (doubt.count == 0) continue;
    const std::string line = "  " + number_column(doubt.count) + "  " + sanitised(doubt.name) +
                             (doubt.count > 1 ? ", ...: " : ": ") +
                             std::string(weak_evidence_text(static_cast<WeakEvidence>(i)));
    text += cut_to_width(line, closing_width) + "\n";
  }
  return text;
}

std::string Summary::skips_text(const Paint& paint) const {
  if (skips_.empty()) return {};
  std::vector<const Skipped*> reasons;
  reasons.reserve(skips_.size());
  for (const auto& [key, skipped] : skips_) reasons.push_back(&skipped);
  std::sort(reasons.begin(), reasons.end(), [](const Skipped* a, const Skipped* b) {
    if (a->group != b->group) return a->group < b->group;
    return a->count != b->count ? a->count > b->count : a->task < b->task;
  });
  std::string text = "Calls that were not checked\n";
  for (auto begin = reasons.begin(); begin != reasons.end();) {
    const std::size_t group = (*begin)->group;
    const auto end = std::find_if(begin, reasons.end(), [&](const Skipped* reason) { return reason->group != group; });
    std::uint64_t calls = 0;
    std::uint64_t rest = 0;
    std::string lines;
    for (auto reason = begin; reason != end; ++reason) {
      calls += (*reason)->count;
      if (reason - begin >= static_cast<std::ptrdiff_t>(max_listed)) {
        rest += (*reason)->count;
        continue;
      }
      const std::string line = "  " + number_column((*reason)->count) + "  " + sanitised((*reason)->name) +
                               ((*reason)->count > 1 ? ", ...: " : ": ") + (*reason)->reason;
      lines += cut_to_width(line, closing_width) + "\n";
    }
    text += std::string("  ") + paint(skip_groups[group].style, skip_groups[group].title) + ": " +
            counted(calls, "call") + "\n" + lines;
    if (rest > 0) text += "  and " + counted(rest, "call") + " for other reasons; all are in the result file.\n";
    begin = end;
  }
  if (further_skips_ > 0) {
    text += "  and " + counted(further_skips_, "call") + " for further reasons; all are in the result file.\n";
  }
  return text;
}

}  // namespace msrun
