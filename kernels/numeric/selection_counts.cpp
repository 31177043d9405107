// How many values meet where a selection is written.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/numeric/evaluation_context.h"
#include "kernels/numeric/selection.h"

namespace msrun {

std::int64_t most_at_one_place(const Selection& selection, std::int64_t elements) {
  const std::int64_t run = std::max<std::int64_t>(selection.run, 1);
  const auto is_row = [run](std::int64_t start) { return start % run == 0; };
  // Runs that are no rows may overlap.
  if (!std::ranges::all_of(selection.starts, is_row)) return std::ssize(selection.starts);
  const std::int64_t places = elements / run + 1;
  constexpr std::int64_t sparse = 8;
  std::int64_t most = 0;
  if (places > sparse * std::ssize(selection.starts)) {
    std::vector<std::int64_t> sorted = selection.starts;
    std::ranges::sort(sorted);
    std::int64_t equal = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      equal = i > 0 && sorted[i] == sorted[i - 1] ? equal + 1 : 1;
      most = std::max(most, equal);
    }
    return most;
  }
  std::vector<std::int64_t> counts(static_cast<std::size_t>(places));
  for (const std::int64_t start : selection.starts)
    most = std::max(most, ++counts[static_cast<std::size_t>(start / run)]);
  return most;
}

void note_sums_of(const EvaluationContext& context, const Selection& selection, std::int64_t elements) {
  const std::int64_t terms = most_at_one_place(selection, elements) + 1;
  context.note_sums(terms, (std::ssize(selection.starts) * selection.run + terms - 1) / terms);
}

}  // namespace msrun
