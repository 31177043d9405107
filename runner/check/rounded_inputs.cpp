#include "runner/check/rounded_inputs.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "kernels/compare/metrics/message_lines.h"
#include "runner/judge/row_lines.h"

namespace msrun {
namespace {

bool is_plain(const std::vector<DetailsRow>& rows) {
  return is_clean(rows) && std::ranges::none_of(rows, &DetailsRow::rounding_only);
}

// Whether the largest error of no row is larger than in the others, and of some smaller.
bool is_nearer(const std::vector<DetailsRow>& rows, const std::vector<DetailsRow>& others) {
  bool any = false;
  for (std::size_t i = 0; i < std::min(rows.size(), others.size()); ++i) {
    const Cell& error = rows[i][Metric::max_abs_error];
    const Cell& other = others[i][Metric::max_abs_error];
    if (error.kind == Cell::Kind::blank || other.kind == Cell::Kind::blank) continue;
    if (!(error.value <= other.value)) return false;
    any = any || error.value < other.value;
  }
  return any;
}

// The largest share of elements that a suspicious row of one direction has wrong; 0 if there is no such row.
double wrong_share(const std::vector<DetailsRow>& rows) {
  double largest = 0;
  for (const DetailsRow& row : rows) {
    if (!is_suspicious(row)) continue;
    const bool is_known = row.difference && row.difference->map.elements > 0;
    const double share =
        is_known ? static_cast<double>(row.difference->map.wrong) / static_cast<double>(row.difference->map.elements)
                 : 1;
    largest = std::max(largest, share);
  }
  return largest;
}

// Whether a suspicious row says more than that it is one.
bool names_cause(const std::vector<DetailsRow>& rows) {
  return std::ranges::any_of(rows, [](const DetailsRow& row) {
    const std::size_t verdict = find_verdict(row.message, unexplained_line);
    if (!is_suspicious(row) || verdict == std::string::npos) return false;
    const std::size_t end = row.message.find('\n', verdict);
    return end != std::string::npos && end + 1 < row.message.size();
  });
}

template <class DirectionStatus>
void choose(std::vector<DetailsRow>& rounded, std::vector<DetailsRow>& unrounded, DirectionStatus rounded_status,
            DirectionStatus& unrounded_status) {
  const bool agrees_better = is_clean(unrounded) && !is_plain(rounded) && is_nearer(unrounded, rounded);
  if (!is_clean(unrounded) && !is_clean(rounded)) {
    // The arithmetic that leaves less of it wrong is the device's, or that in which its mistake is known.
    const double of_unrounded = wrong_share(unrounded);
    const double of_rounded = wrong_share(rounded);
    const bool is_known = of_unrounded <= of_rounded && names_cause(unrounded) && !names_cause(rounded);
    if (of_unrounded < of_rounded || is_known) return;
  }
  if (!agrees_better && (is_clean(rounded) || !is_clean(unrounded))) {
    unrounded = std::move(rounded);
    unrounded_status = rounded_status;
    return;
  }
  for (DetailsRow& row : unrounded) add_line(row, "Agrees with inputs that are not rounded to HF32.");
}

}  // namespace

bool needs_no_explanation(const ApiResult& result) {
  return is_plain(result.forward_rows) && is_plain(result.backward_rows);
}

void keep_what_agrees(ApiResult& rounded, ApiResult& unrounded) {
  choose(rounded.forward_rows, unrounded.forward_rows, rounded.forward, unrounded.forward);
  choose(rounded.backward_rows, unrounded.backward_rows, rounded.backward, unrounded.backward);
}

}  // namespace msrun
