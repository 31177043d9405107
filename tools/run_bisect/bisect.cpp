#include "tools/run_bisect/bisect.h"

#include <fnmatch.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "kernels/base/counted.h"
#include "kernels/base/standard_output.h"
#include "kernels/base/text.h"
#include "tools/run_bisect/made_runs.h"
#include "tools/run_bisect/search.h"
#include "tools/run_bisect/versions.h"
#include "tools/run_diff/compare.h"
#include "tools/run_diff/report.h"
#include "tools/run_diff/standing.h"
#include "tools/shrink/process.h"

namespace msrun::run_bisect {
namespace {

using run_diff::CallChange;
using run_diff::Change;

constexpr std::size_t most_named = 5;

void say(const std::string& line) { print_text(line + "\n"); }

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most_named); ++i)
    text += (i == 0 ? "" : ", ") + sanitised(names[i]);
  if (names.size() > most_named) text += " and " + std::to_string(names.size() - most_named) + " more";
  return text;
}

class Bisection {
 public:
  explicit Bisection(const Options& options) : options_(options), made_(options.out_path, options.command) {}

  int run() {
    const bool good_is_run = is_run(options_.good);
    const bool bad_is_run = is_run(options_.bad);
    choose_versions(good_is_run, bad_is_run);
    good_ = end_run("good", options_.good, good_is_run);
    const runs::Run bad = end_run("bad", options_.bad, bad_is_run);
    follow(bad);
    const std::size_t before = made_.started();
    const Found found = find_first_bad(versions_.size(), [this](std::size_t i) { return try_version(versions_[i]); });
    return tell(found, made_.started() - before);
  }

 private:
  bool is_listed(const std::string& end) const {
    return std::ranges::find(options_.versions, end) != options_.versions.end();
  }

  // A version may have the name of a folder: the list says that it is one.
  bool is_run(const std::string& end) const {
    std::error_code ignored;
    return !is_listed(end) && std::filesystem::exists(end, ignored);
  }

  void choose_versions(bool good_is_run, bool bad_is_run) {
    if (!options_.versions.empty()) {
      versions_ = versions_within(options_.versions, options_.good, options_.bad);
      // A bad end beside the list is a version of its own.
      if (!bad_is_run && !is_listed(options_.bad)) versions_.push_back(options_.bad);
    } else if (good_is_run || bad_is_run) {
      throw UserError("--versions is needed: " + shell_quoted(sanitised(good_is_run ? options_.good : options_.bad)) +
                      " is a run and does not say which versions there are");
    } else {
      versions_ = versions_between(options_.good, options_.bad);
    }
  }

  runs::Run end_run(const std::string& which, const std::string& end, bool is_there) {
    if (is_there) return runs::read_run(end);
    say("Run of the " + which + " end " + sanitised(end) + " ...");
    MadeRun made = made_.run_of(end);
    if (!made.run) {
      throw UserError("the " + which + " end " + sanitised(end) + " cannot be tried: " + made.problem + " (" +
                      made_.log_of(end) + ")");
    }
    return *std::move(made.run);
  }

  bool is_meant(const std::string& name) const {
    if (options_.api.empty()) return true;
    return fnmatch(options_.api.c_str(), name.c_str(), 0) == 0 || name.starts_with(options_.api + ".");
  }

  // Which calls tell good from bad.
  void follow(const runs::Run& bad) {
    const run_diff::Comparison comparison = run_diff::compare(good_, bad);
    std::vector<std::string> other_states;
    std::size_t met = 0;
    for (const CallChange& call : comparison.calls) {
      if (!is_meant(call.name)) continue;
      ++met;
      if (call.change == Change::appeared) {
        followed_.insert(call.name);
        names_.push_back(call.name);
      } else if (run_diff::is_problem(call.before.state)) {
        other_states.push_back(call.name + " (" + std::string(state_text(call.before.state)) + ")");
      }
    }
    const std::string ends = "from " + sanitised(options_.good) + " to " + sanitised(options_.bad);
    if (!followed_.empty()) {
      say("New " + ends + ": " + list_of(names_) + ".");
      return;
    }
    if (met == 0) throw UserError("--api: no call matches " + shell_quoted(sanitised(options_.api)));
    if (comparison.count(Change::not_comparable) > 0 && other_states.empty()) {
      throw UserError("the two ends cannot be compared: " + std::string(run_diff::conclusion(comparison)) +
                      " msrun diff tells why");
    }
    if (!options_.api.empty() && !other_states.empty()) {
      throw UserError("the good end is not good: " + list_of(other_states) + " there already");
    }
    throw UserError("there is nothing to find: nothing is new " + ends +
                    (other_states.empty()
                         ? ", so that the bad end is not bad"
                         : "; what is wrong at the bad end is wrong at the good end, too: " + list_of(other_states)));
  }

  Verdict try_version(const std::string& version) {
    say("Trying " + sanitised(version) + " ...");
    MadeRun made = made_.run_of(version);
    const std::string remembered = made.was_there ? " (its run was there)" : "";
    if (!made.run) return skip(version, made.problem + "; " + made_.log_of(version) + remembered);
    std::vector<std::string> bad;
    std::size_t judged = 0;
    for (const CallChange& call : run_diff::compare(good_, *made.run).calls) {
      if (!followed_.contains(call.name)) continue;
      const bool is_judged = call.change != Change::not_comparable && call.change != Change::removed &&
                             (run_diff::is_checked(call.after.state) || call.change == Change::appeared);
      if (is_judged) ++judged;
      if (call.change == Change::appeared) bad.push_back(call.name);
    }
    if (bad.empty() && judged < followed_.size()) {
      return skip(version, "its run does not tell of all calls that are followed" + remembered);
    }
    say("  " + sanitised(version) + " is " + (bad.empty() ? "good" : "bad: " + list_of(bad)) + remembered);
    if (bad.empty()) return Verdict::good;
    at_[version] = bad;
    return Verdict::bad;
  }

  static Verdict skip(const std::string& version, const std::string& why) {
    say("  " + sanitised(version) + " cannot be tried and is skipped: " + sanitised(why));
    return Verdict::skip;
  }

  int tell(const Found& found, std::size_t runs) {
    const std::string effort = " (" + counted(runs, "run") + " for " + counted(versions_.size(), "version") + ")";
    if (!found.first_bad) {
      std::vector<std::string> names;
      for (const std::size_t i : found.candidates) names.push_back(versions_[i]);
      std::string text = "The first bad version is one of";
      for (const std::string& name : names) text += " " + sanitised(name);
      say(text + ": those before the last cannot be tried" + effort + ".");
      return exit_fail_on;
    }
    const std::string& version = versions_[*found.first_bad];
    const auto at = at_.find(version);
    say("The first bad version is " + sanitised(version) + effort + ".");
    say("New there: " + list_of(at == at_.end() ? names_ : at->second) + ".");
    return exit_completed;
  }

  const Options& options_;
  MadeRuns made_;
  std::vector<std::string> versions_;
  runs::Run good_;
  std::set<std::string> followed_;
  std::vector<std::string> names_;                      // of these, worst first
  std::map<std::string, std::vector<std::string>> at_;  // what is new at the bad versions that were tried
};

}  // namespace

int run(const Options& options) {
  const shrink::Interrupts interrupts;
  try {
    return Bisection(options).run();
  } catch (const shrink::SearchEnds&) {
    say("Interrupted. The same command goes on with the runs in " + sanitised(options.out_path) + ".");
    return exit_incomplete;
  }
}

}  // namespace msrun::run_bisect
