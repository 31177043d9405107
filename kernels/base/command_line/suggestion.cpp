#include "kernels/base/command_line/suggestion.h"

#include <algorithm>

#include "kernels/base/text.h"

namespace msrun {

namespace {

constexpr std::size_t least_beginning = 3;  // characters of the beginning of a word that are enough to mean it

// Edits up to which a word of this length still counts as mistyped rather than as another one.
int most_edits(std::size_t length) { return length <= least_beginning ? 1 : std::max(2, static_cast<int>(length) / 3); }

}  // namespace

std::string with_hyphens(std::string_view text) {
  std::string result(text);
  std::ranges::replace(result, '_', '-');
  return result;
}

std::optional<std::size_t> nearest_word(std::string_view word, std::span<const std::string> candidates) {
  const std::string wanted = with_hyphens(word);
  int best = most_edits(wanted.size()) + 1;
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::string known = with_hyphens(candidates[i]);
    const bool begins = wanted.size() >= least_beginning && known.starts_with(wanted);
    // However much is missing, the beginning of a word is as near as one edit.
    const int distance = begins ? 1 : edit_distance(wanted, known);
    if (distance >= best) continue;
    best = distance;
    found = i;
  }
  return found;
}

}  // namespace msrun
