// The search for the first bad one in a row of versions, apart from what a version is and how it is tried.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace msrun::run_bisect {

enum class Verdict : unsigned char { good, bad, skip };

struct Found {
  // The first bad one of the versions asked about, if it could be told.
  std::optional<std::size_t> first_bad;
  // Else those that may be it, rising; the last of them is bad, the others could not be tried.
  std::vector<std::size_t> candidates;
};

// count versions in a row, the last of which is known to be bad and the one before the first to be good. try_version is
// asked about one version at a time, never twice, and never about the last: at most ceil(log2(count)) times if it skips
// none. Of versions that it skips the nearest that are not are tried. What try_version throws reaches the caller.
Found find_first_bad(std::size_t count, const std::function<Verdict(std::size_t)>& try_version);

}  // namespace msrun::run_bisect
