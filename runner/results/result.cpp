#include "runner/results/result.h"

#include <algorithm>
#include <array>
#include <utility>

#include "kernels/base/text.h"
#include "runner/results/reason.h"

namespace msrun {

namespace {

// Whether the rows of a result that is warning or error are all explained by rounding.
bool explained_by_rounding(const ApiResult& result, bool shares_by_chance) {
  const auto failed = [](Status status) { return status == Status::warning || status == Status::error; };
  const auto unexplained = [&](const DetailsRow& row) { return failed(row.status) && !row.rounding_only; };
  bool any = false;
  const auto direction_is = [&](std::optional<Status> status, const std::vector<DetailsRow>& rows) {
    if (!status || !failed(*status)) return true;
    any = true;
    const bool has_row =
        std::any_of(rows.begin(), rows.end(), [&](const DetailsRow& row) { return failed(row.status); });
    return (has_row || shares_by_chance) && std::none_of(rows.begin(), rows.end(), unexplained);
  };
  return direction_is(result.forward, result.forward_rows) && direction_is(result.backward, result.backward_rows) &&
         any;
}

template <class Test>
const DetailsRow* find_row(const ApiResult& result, const Test& test) {
  for (const std::vector<DetailsRow>* rows : {&result.forward_rows, &result.backward_rows}) {
    const auto found = std::ranges::find_if(*rows, test);
    if (found != rows->end()) return &*found;
  }
  return nullptr;
}

}  // namespace

void conclude_from_rows(ApiResult& result, bool shares_by_chance) {
  result.beyond_rounding = find_row(result, &DetailsRow::beyond_rounding) != nullptr;
  result.rounding_only = !result.beyond_rounding && explained_by_rounding(result, shares_by_chance);
  const auto* doubtful =
      find_row(result, [](const DetailsRow& row) { return row.trust.weak_evidence != WeakEvidence::none; });
  if (doubtful != nullptr) result.weak_evidence = doubtful->trust.weak_evidence;
  const bool lacks_gradients = find_row(result, [](const DetailsRow& row) {
                                 return row.trust.weak_evidence == WeakEvidence::backward_unchecked;
                               }) != nullptr;
  if (lacks_gradients) result.weak_evidence = WeakEvidence::backward_unchecked;
  if (!has_unchecked_backward(result) || result.weak_evidence == WeakEvidence::nothing_compared) return;
  result.weak_evidence =
      is_backward_left_out(result) ? WeakEvidence::backward_left_out : WeakEvidence::backward_unchecked;
}

bool has_unchecked_backward(const ApiResult& result) {
  return result.outcome == Outcome::checked && result.forward != Status::skip &&
         (result.backward == Status::skip || result.weak_evidence == WeakEvidence::backward_unchecked);
}

bool is_backward_left_out(const ApiResult& result) { return first_line(result.message).ends_with(", skip backward."); }

std::string_view outcome_text(Outcome outcome) {
  constexpr std::array<std::string_view, 4> texts{"checked", "skipped_by_rule", "not_checkable", "failed_to_run"};
  return texts[static_cast<std::size_t>(outcome)];
}

std::string_view tested_on_text(TestedOn tested_on) {
  constexpr std::array<std::string_view, 4> texts{"", "simulated", "recorded", "hardware"};
  return texts[static_cast<std::size_t>(tested_on)];
}

Outcome outcome_by_reason(const ApiResult& result) {
  if (result.forward != Status::skip && result.backward != Status::skip) return Outcome::checked;
  constexpr std::array<std::string_view, 5> failures{"The runner of device ", "Not enough memory ",
                                                     "Internal error: ", "The call could not be run.",
                                                     "The call needs more than the "};
  const bool failed = std::any_of(failures.begin(), failures.end(),
                                  [&](std::string_view reason) { return result.message.starts_with(reason); });
  if (failed) return Outcome::failed_to_run;
  return result.forward == Status::skip ? Outcome::not_checkable : Outcome::checked;
}

ApiResult skip_result(std::uint32_t task, std::string name, const std::string& reason, Outcome outcome) {
  ApiResult result;
  result.task = task;
  result.name = std::move(name);
  result.outcome = outcome;
  result.backward = Status::skip;
  // Reasons quote names, dtypes and keys of the recording.
  result.message = bounded(readable(reason));
  DetailsRow row;
  row.status = Status::skip;
  row.message = result.message;
  result.forward_rows.push_back(std::move(row));
  return result;
}

}  // namespace msrun
