#include "orchestrator/session/last_failed.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "journal/run_files.h"
#include "kernels/base/text.h"
#include "orchestrator/command/journal_contents.h"
#include "orchestrator/plan/call_filter.h"
#include "runner/results/counts.h"

namespace msrun {
namespace {

namespace fs = std::filesystem;

std::string newest_journal(const std::string& folder) {
  std::optional<RunFiles> newest;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() != ".journal") continue;
    std::optional<RunFiles> files = files_of_run_file(entry->path().string());
    if (files && (!newest || files->stamp > newest->stamp)) newest = std::move(files);
  }
  if (!newest) throw UserError("--last-failed: there is no journal of an earlier run in " + sanitised(folder));
  return newest->journal;
}

// A pattern that means this name alone.
std::string pattern_of(const std::string& name) {
  std::string pattern;
  for (const char c : name) {
    if (c == '\\') {
      pattern += "\\\\";
    } else if (c == '*' || c == '?' || c == '[' || c == ',') {
      pattern += std::string("[") + c + "]";
    } else {
      pattern += c;
    }
  }
  return pattern;
}

bool is_meant(const std::vector<std::string>& only, const std::string& name) {
  return only.empty() ||
         std::ranges::any_of(only, [&](const std::string& pattern) { return matches_call(pattern, name); });
}

}  // namespace

void select_last_failed(Options& options) {
  const std::string path = newest_journal(options.out_path);
  const JournalContents contents = read_journal(path);
  std::vector<std::string> only;
  for (std::uint32_t task = 0; task < contents.results.tasks(); ++task) {
    if (!contents.results.has(task)) continue;
    const ApiResult result = contents.results.outline(task);
    const bool failed = is_suspicious(result) || result.outcome == Outcome::failed_to_run;
    if (failed && is_meant(options.only, result.name)) only.push_back(pattern_of(result.name));
  }
  const std::string missing = contents.finished < contents.calls
                                  ? " It is not complete: " + std::to_string(contents.calls - contents.finished) +
                                        " calls have no result and are left out."
                                  : "";
  options.notices.push_back("--last-failed: " + std::to_string(only.size()) + (only.size() == 1 ? " call" : " calls") +
                            " of " + path + " to check again." + missing);
  options.only = std::move(only);
}

}  // namespace msrun
