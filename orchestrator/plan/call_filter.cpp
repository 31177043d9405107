#include "orchestrator/plan/call_filter.h"

#include <fnmatch.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/base/lower_case.h"
#include "kernels/base/text.h"
#include "runner/results/api_name.h"

namespace msrun {
namespace {

constexpr std::size_t most_apis = 100000;
constexpr std::size_t most_shown = 3;
constexpr std::size_t least_part = 3;  // characters of a name that are enough to mean it

bool is_glob_match(const std::string& pattern, const std::string& name, int flags = 0) {
  return fnmatch(pattern.c_str(), name.c_str(), flags) == 0;
}

std::string_view without_direction(std::string_view pattern) {
  for (const std::string_view direction : {".forward", ".backward"}) {
    if (pattern.ends_with(direction)) return pattern.substr(0, pattern.size() - direction.size());
  }
  return pattern;
}

// The name of the call in that of one of its arguments or results, as rows of details and files of tensors have it.
std::string_view without_part(std::string_view pattern) {
  for (const std::string_view direction : {".forward.", ".backward."}) {
    const std::size_t at = pattern.find(direction);
    if (at != std::string_view::npos) return pattern.substr(0, at);
  }
  return without_direction(pattern);
}

// What is left of a pattern without wildcards at its ends and without the number of a call, in lower case.
std::string core_of(std::string_view pattern) {
  constexpr std::string_view wild = "*?.";
  pattern.remove_prefix(std::min(pattern.find_first_not_of(wild), pattern.size()));
  const auto trim = [&] { pattern = pattern.substr(0, pattern.find_last_not_of(wild) + 1); };
  trim();
  const std::size_t dot = pattern.rfind('.');
  if (dot != std::string_view::npos && pattern.find_first_not_of("0123456789", dot + 1) == std::string_view::npos) {
    pattern = pattern.substr(0, dot);
    trim();
  }
  return lower_case(pattern);
}

// Edits from the core of a pattern to an API, given with or without its type; nothing if they are too many to be slips.
std::optional<int> distance(const std::string& core, std::string_view api) {
  const std::string whole = lower_case(api);
  const std::string bare = whole.substr(whole.find('.') + 1);
  const int edits = std::min(edit_distance(core, whole), edit_distance(core, bare) + (core == bare ? 0 : 1));
  return edits <= std::max(1, static_cast<int>(core.size()) / 3) ? std::optional(edits) : std::nullopt;
}

std::string quoted(const std::string& pattern) { return shell_quoted(sanitised(pattern)); }

// "step0/rank0, step0/rank1 and 6 more".
std::string listed(const std::vector<std::string>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most_shown, ranks.size()); ++i) text += (i == 0 ? "" : ", ") + ranks[i];
  return ranks.size() > most_shown ? text + " and " + std::to_string(ranks.size() - most_shown) + " more" : text;
}

}  // namespace

bool matches_call(const std::string& pattern, const std::string& name) {
  if (is_glob_match(pattern, name)) return true;
  const std::string_view whole = without_direction(pattern);
  return whole.size() < pattern.size() && is_glob_match(std::string(whole), name);
}

void CallNames::see(const CallNames& other) {
  for (const Api& api : other.apis_) {
    const auto found = places_.find(api.name);
    if (found != places_.end()) {
      apis_[found->second].calls += api.calls;
    } else if (apis_.size() < most_apis) {
      places_.emplace(api.name, apis_.size());
      apis_.push_back(api);
    }
  }
}

void CallNames::see(const std::string& name) {
  const auto found = places_.find(std::string(api_of(name)));
  if (found != places_.end()) {
    ++apis_[found->second].calls;
  } else if (apis_.size() < most_apis) {
    places_.emplace(api_of(name), apis_.size());
    apis_.push_back({std::string(api_of(name)), name, 1});
  }
}

std::vector<const CallNames::Api*> CallNames::nearest(const std::string& pattern) const {
  const std::string whole(without_part(pattern));
  std::vector<const Api*> found;
  // A pattern for a part of the name, or in other letters.
  std::vector<std::string> wider_patterns{whole, whole + ".*", "*." + whole, "*." + whole + ".*"};
  if (whole.size() >= least_part) wider_patterns.push_back("*" + whole + "*");
  for (const std::string& wider : wider_patterns) {
    for (const Api& api : apis_) {
      if (found.size() == most_shown) break;
      if (is_glob_match(wider, api.first_call, FNM_CASEFOLD)) found.push_back(&api);
    }
    if (!found.empty()) return found;
  }
  const std::string core = core_of(whole);
  std::vector<std::pair<int, const Api*>> near;
  for (const Api& api : apis_) {
    if (const std::optional<int> edits = distance(core, api.name)) near.emplace_back(*edits, &api);
  }
  std::ranges::stable_sort(near, {}, &std::pair<int, const Api*>::first);
  for (const auto& [edits, api] : near) {
    if (found.size() == most_shown || edits > near.front().first + 1) break;
    found.push_back(api);
  }
  return found;
}

std::string CallNames::shown(const std::vector<const Api*>& apis) const {
  std::string text;
  for (const Api* api : apis) {
    text += (text.empty() ? "" : ", ") + quoted(api->name + ".*") + " (" + std::to_string(api->calls) +
            (api->calls == 1 ? " call)" : " calls)");
  }
  return text;
}

std::string CallNames::hint(const std::string& pattern) const {
  if (apis_.empty()) return {};
  const std::vector<const Api*> near = nearest(pattern);
  if (!near.empty()) return "; the nearest among the calls to check: " + shown(near);
  std::vector<const Api*> first;
  for (std::size_t i = 0; i < std::min(most_shown, apis_.size()); ++i) first.push_back(&apis_[i]);
  return "; the calls to check are of " + shown(first) +
         (apis_.size() > first.size() ? " and " + std::to_string(apis_.size() - first.size()) + " other APIs" : "");
}

std::string CallNames::explanation() const {
  const std::string example = apis_.empty() ? "Torch.matmul.0" : apis_.front().first_call;
  return "A pattern stands for whole names of calls, such as " + sanitised(example) + " or " +
         quoted(std::string(api_of(example)) + ".*") +
         ", upper and lower case told apart; several are separated by commas.";
}

void CallFilter::Patterns::keep_those_of(const std::string& rank) {
  for (const std::string& pattern : patterns) {
    const RankedPattern parts = ranked_pattern(pattern);
    of_rank.push_back(parts.rank.empty() || matches_rank(parts.rank, rank) ? parts.calls : "");
  }
  sort_places();
}

void CallFilter::Patterns::sort_places() {
  places.clear();
  wild.clear();
  for (std::size_t i = 0; i < current().size(); ++i) {
    const std::string& pattern = current()[i];
    if (pattern.find_first_of("*?[\\") != std::string::npos) {
      wild.push_back(i);
      continue;
    }
    places[pattern].push_back(i);
    const std::string_view whole = without_direction(pattern);
    if (whole.size() < pattern.size()) places[std::string(whole)].push_back(i);
  }
}

bool CallFilter::Patterns::match(const std::string& name) {
  bool any = false;
  if (const auto found = places.find(name); found != places.end()) {
    any = true;
    for (const std::size_t i : found->second) met[i] = true;
  }
  for (const std::size_t i : wild) {
    if ((any && met[i]) || !matches_call(current()[i], name)) continue;
    any = met[i] = true;
  }
  return any;
}

bool CallFilter::Patterns::any_unmet() const { return std::ranges::find(met, false) != met.end(); }

CallFilter::CallFilter(const std::vector<std::string>& only, const std::vector<std::string>& except,
                       const std::string& rank)
    : CallFilter(only, except) {
  rank_ = rank;
  only_.keep_those_of(rank);
  except_.keep_those_of(rank);
  for (std::size_t i = 0; i < except.size(); ++i) {
    // Whether there are such calls is not looked up for it.
    if (except_.of_rank[i] == "*") except_.met[i] = true;
  }
}

bool CallFilter::may_want_any() const {
  const auto says_something = [](const std::string& calls) { return !calls.empty(); };
  if (!only_.patterns.empty() && std::ranges::none_of(only_.of_rank, says_something)) return false;
  return std::ranges::find(except_.of_rank, "*") == except_.of_rank.end();
}

void CallFilter::absorb(const CallFilter& of_rank) {
  for (std::size_t i = 0; i < only_.met.size(); ++i) only_.met[i] = only_.met[i] || of_rank.only_.met[i];
  for (std::size_t i = 0; i < except_.met.size(); ++i) except_.met[i] = except_.met[i] || of_rank.except_.met[i];
  names_.see(of_rank.names_);
  ranks_.push_back(of_rank.rank_);
}

bool CallFilter::is_wanted(const std::string& name) {
  if (only_.patterns.empty() && except_.patterns.empty()) return true;
  names_.see(name);
  const bool chosen = only_.patterns.empty() || only_.match(name);
  return !except_.match(name) && chosen;
}

void CallFilter::add_unmet(const Patterns& patterns, std::vector<std::string>& sentences) const {
  for (std::size_t i = 0; i < patterns.patterns.size(); ++i) {
    if (patterns.met[i]) continue;
    const std::string& pattern = patterns.patterns[i];
    const RankedPattern parts = ranks_.empty() ? RankedPattern{{}, pattern} : ranked_pattern(pattern);
    const auto is_meant = [&](const std::string& rank) { return matches_rank(parts.rank, rank); };
    if (!parts.rank.empty() && std::ranges::none_of(ranks_, is_meant)) {
      sentences.push_back(std::string(patterns.option) + ": no rank matches " + quoted(parts.rank) + " of " +
                          quoted(pattern) + "; the ranks are " + listed(ranks_) + ".");
      continue;
    }
    sentences.push_back(std::string(patterns.option) + ": no call matches " + quoted(pattern) +
                        names_.hint(parts.calls) + ".");
  }
}

std::vector<std::string> CallFilter::warnings() const {
  std::vector<std::string> sentences;
  add_unmet(only_, sentences);
  add_unmet(except_, sentences);
  return sentences;
}

std::string CallFilter::refusal() const {
  std::vector<std::string> sentences;
  if (only_.any_unmet()) add_unmet(only_, sentences);
  if (sentences.empty()) sentences.emplace_back("--except leaves no call to check.");
  std::string text;
  for (const std::string& sentence : sentences) text += sentence + " ";
  return text + names_.explanation();
}

}  // namespace msrun
