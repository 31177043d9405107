#include "kernels/api/rank_pattern.h"

#include <fnmatch.h>

#include <vector>

namespace msrun {
namespace {

bool is_glob_match(const std::string& pattern, const std::string& name) {
  return fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

std::vector<std::string> folders_of(const std::string& path) {
  std::vector<std::string> folders(1);
  for (const char c : path) {
    if (c == '/') {
      folders.emplace_back();
    } else {
      folders.back() += c;
    }
  }
  return folders;
}

}  // namespace

RankedPattern ranked_pattern(const std::string& pattern) {
  std::size_t bracket_end = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (i < bracket_end) continue;
    if (pattern[i] == ':') return {pattern.substr(0, i), pattern.substr(i + 1)};
    const std::size_t end = pattern[i] == '[' ? pattern.find(']', i + 2) : std::string::npos;
    if (end != std::string::npos) bracket_end = end;
  }
  return {{}, pattern};
}

bool matches_rank(const std::string& pattern, const std::string& rank) {
  const std::vector<std::string> wanted = folders_of(pattern);
  const std::vector<std::string> folders = folders_of(rank);
  for (std::size_t first = 0; first + wanted.size() <= folders.size(); ++first) {
    std::size_t same = 0;
    while (same < wanted.size() && is_glob_match(wanted[same], folders[first + same])) ++same;
    if (same == wanted.size()) return true;
  }
  return false;
}

bool matches_call_of_rank(const RankedPattern& pattern, const std::string& rank, const std::string& call) {
  return (pattern.rank.empty() || matches_rank(pattern.rank, rank)) && is_glob_match(pattern.calls, call);
}

}  // namespace msrun
