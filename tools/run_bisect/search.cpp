#include "tools/run_bisect/search.h"

namespace msrun::run_bisect {
namespace {

// The version nearest to the middle of those from first to last, without last, that was not skipped.
std::optional<std::size_t> next_to_try(std::size_t first, std::size_t last, const std::vector<bool>& skipped) {
  const std::size_t middle = first + (last - first - 1) / 2;
  for (std::size_t distance = 0; distance < last - first; ++distance) {
    if (middle >= first + distance && !skipped[middle - distance]) return middle - distance;
    if (middle + distance < last && !skipped[middle + distance]) return middle + distance;
  }
  return std::nullopt;
}

}  // namespace

Found find_first_bad(std::size_t count, const std::function<Verdict(std::size_t)>& try_version) {
  Found found;
  if (count == 0) return found;
  std::vector<bool> skipped(count, false);
  std::size_t first = 0;         // everything before it is good
  std::size_t last = count - 1;  // it is bad, and so is everything behind it
  while (first < last) {
    const std::optional<std::size_t> version = next_to_try(first, last, skipped);
    if (!version) break;
    switch (try_version(*version)) {
      case Verdict::good:
        first = *version + 1;
        break;
      case Verdict::bad:
        last = *version;
        break;
      case Verdict::skip:
        skipped[*version] = true;
        break;
    }
  }
  if (first == last) {
    found.first_bad = last;
  } else {
    for (std::size_t i = first; i <= last; ++i) found.candidates.push_back(i);
  }
  return found;
}

}  // namespace msrun::run_bisect
