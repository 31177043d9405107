#include "orchestrator/session/last_failed.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "kernels/base/counted.h"
#include "kernels/base/text.h"
#include "orchestrator/command/journal_contents.h"
#include "orchestrator/session/call_patterns.h"
#include "runner/results/counts.h"
#include "runner/results/journal_records.h"
#include "runner/results/newest_run.h"
#include "runner/results/run_header.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Names = std::unordered_set<std::string>;

// The calls that a part leaves out may have failed before, so that it is no last run; nor is a run before it.
RunFiles last_run(const std::string& folder) {
  std::error_code ignored;
  const auto run_of = [](const std::string& path) {
    return fs::path(path).extension() == ".journal" ? files_of_run_file(path) : std::nullopt;
  };
  const std::optional<RunFiles> newest = newest_run(folder, run_of, ignored);
  if (!newest) throw UserError("--last-failed: there is no journal of an earlier run in " + sanitised(folder));
  if (!is_of_part(*newest)) return *newest;
  throw UserError("--last-failed: the newest journal in " + sanitised(folder) + " is of a part of a run, " +
                  sanitised(newest->journal) +
                  "; make one run of all parts with msrun merge, and give its folder as -o");
}

bool means(const std::string& pattern, const std::string& title) {
  return matches_call_of_rank(ranked_pattern(pattern), std::string(rank_in(title)), std::string(without_rank(title)));
}

bool is_chosen(const Options& options, const std::string& title) {
  const auto means_it = [&](const std::string& pattern) { return means(pattern, title); };
  return (options.only.empty() || std::ranges::any_of(options.only, means_it)) &&
         std::ranges::none_of(options.except, means_it);
}

// The calls that the run of this journal was to check. Of a journal that does not tell its options, all there are.
PlanOptions selection_of(const Json& metadata, PlanOptions options) {
  options.only.clear();
  options.except.clear();
  options.filter_duplicates = options.filter_compat = options.keep_results = false;
  options.across_ranks = AcrossRanks::calls;
  for (const OptionWords& words : options_in(metadata).value_or(std::vector<OptionWords>())) {
    const std::string& flag = words.front();
    const std::string value = words.size() > 1 ? words[1] : "";
    if (flag == "--only") options.only.push_back(value);
    if (flag == "--except") options.except.push_back(value);
    if (flag == "-f") options.filter_duplicates = true;
    if (flag == "--filter-compat") options.filter_compat = true;
    if (flag != "--across-ranks") continue;
    options.across_ranks = value == "off" ? AcrossRanks::off : AcrossRanks::values;
  }
  return options;
}

std::vector<std::string> titles_of(const Plan& plan) {
  std::vector<std::string> titles;
  for (std::uint32_t task = 0; task < plan.size(); ++task) titles.emplace_back(plan.view().title(task));
  return titles;
}

// What passed in another recording says nothing about this one.
void require_same_recording(const SessionState& session, const PlanOptions& plan_options,
                            const JournalContents& contents) {
  PlanOptions whole = selection_of(nullptr, plan_options);
  whole.across_ranks = AcrossRanks::off;
  whole.refusal = [](const Dialect&, const std::string&) { return Refusal{}; };
  const std::vector<std::string> titles = titles_of(read_plan(session.options, session.recordings, whole));
  const Names known(titles.begin(), titles.end());
  std::size_t strangers = 0;
  std::string first;
  for (std::uint32_t task = 0; task < contents.results.tasks(); ++task) {
    if (!contents.results.has(task)) continue;
    const std::string title = contents.results.outline(task).name;
    if (!known.contains(title) && strangers++ == 0) first = title;
  }
  if (strangers == 0) return;
  throw UserError("--last-failed: " + sanitised(contents.path) + " is of another recording than " +
                  sanitised(recording_of(session.options)) + ", which does not have " + counted(strangers, "call") +
                  " of it; the first is " + sanitised(first));
}

// The journal of the run names the calls in its header.
void require_header_to_hold(const std::vector<std::string>& patterns, const std::string& journal) {
  constexpr std::size_t most_bytes = std::size_t{12} << 20;
  constexpr std::size_t around_one = 16;  // bytes
  std::size_t bytes = 0;
  for (const std::string& pattern : patterns) bytes += pattern.size() + around_one;
  if (bytes <= most_bytes) return;
  throw UserError("--last-failed: more calls of " + sanitised(journal) +
                  " are left than the journal of a run can name; continue that run with -csv_path, or choose among "
                  "them with --only");
}

std::vector<std::string> losses(const JournalContents& contents) {
  const std::string text = losses_text(contents.recovery, contents.unreadable);
  if (text.empty()) return {};
  return {contents.path + " is damaged (" + text + "): calls whose results are lost count as not checked."};
}

}  // namespace

LastFailed find_last_failed(const SessionState& session, const PlanOptions& plan_options) {
  const RunFiles files = last_run(session.options.out_path);
  const JournalContents contents = read_journal(files.journal);
  if (contents.writer) {
    throw UserError("--last-failed: the last run is not over, " + journal::holder_text(*contents.writer) + " writes " +
                    sanitised(files.journal));
  }
  require_same_recording(session, plan_options, contents);
  LastFailed last;
  last.warnings = losses(contents);
  std::vector<std::string> titles;
  Names have_result;
  for (std::uint32_t task = 0; task < contents.results.tasks(); ++task) {
    if (!contents.results.has(task)) continue;
    const ApiResult result = contents.results.outline(task);
    have_result.insert(result.name);
    if (is_suspicious(result) || result.outcome == Outcome::failed_to_run) titles.push_back(result.name);
  }
  const std::size_t failed = titles.size();
  if (contents.finished < contents.calls) {
    const PlanOptions selection = selection_of(contents.metadata, plan_options);
    for (std::string& title : titles_of(read_plan(session.options, session.recordings, selection))) {
      if (!have_result.contains(title)) titles.push_back(std::move(title));
    }
  }
  last.left = titles.size();
  std::size_t without_result = 0;
  std::vector<std::string> chosen;
  for (std::size_t i = 0; i < titles.size(); ++i) {
    if (!is_chosen(session.options, titles[i])) continue;
    if (i >= failed) ++without_result;
    chosen.push_back(std::move(titles[i]));
  }
  last.calls = patterns_of(chosen);
  require_header_to_hold(last.calls, contents.path);
  if (last.calls.empty() && last.left > 0) {
    last.sentence = counted(last.left, "call") + " of " + files.journal +
                    " to check again, but --only and --except leave none of them: nothing is checked.";
    return last;
  }
  last.sentence = counted(chosen.size(), "call") + " of " + files.journal + " to check again";
  if (chosen.size() < last.left) last.sentence += ", of " + std::to_string(last.left) + " that are left";
  if (without_result > 0) {
    last.sentence += ", " + std::to_string(without_result) + " of them because they have no result there";
  }
  last.sentence += last.calls.empty() ? ". There is nothing to run." : ".";
  return last;
}

}  // namespace msrun
