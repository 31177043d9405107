// What a call may come to from one run to the next, and what msrun diff calls it.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runner/results/result.h"
#include "tests/tools/diff/run_journal_file.h"

namespace msrun::testing {

using Plant = std::function<void(ApiResult&)>;

inline const Plant nothing = [](ApiResult&) {};

inline void set_row(DetailsRow& row, Status status, bool rounding_only, bool beyond) {
  row.status = status;
  row.rounding_only = rounding_only;
  row.beyond_rounding = beyond;
  if (beyond) row.message = "\nNot explained by rounding: 3 of 6 elements differ.";
}

inline Plant forward(Status status, bool rounding_only, bool beyond) {
  return [=](ApiResult& result) {
    result.forward = status;
    set_row(result.forward_rows[0], status, rounding_only, beyond);
  };
}
inline Plant backward(Status status, bool rounding_only, bool beyond) {
  return [=](ApiResult& result) {
    result.backward = status;
    set_row(result.backward_rows[0], status, rounding_only, beyond);
  };
}
inline Plant skipped(Outcome outcome) {
  return [=](ApiResult& result) {
    ApiResult skip = skip_result(result.task, result.name, "because of " + std::string(outcome_text(outcome)), outcome);
    skip.inputs = outcome == Outcome::failed_to_run ? 0 : result.inputs;
    result = skip;
  };
}

inline const Plant suspicious_error = forward(Status::error, false, true);
inline const Plant suspicious_warning = forward(Status::warning, false, true);
inline const Plant suspicious_pass = forward(Status::pass, false, true);
inline const Plant rounding_warning = forward(Status::warning, true, false);
inline const Plant rounding_error = forward(Status::error, true, false);
inline const Plant weak = [](ApiResult& result) {
  result.forward_rows[0].trust.weak_evidence = static_cast<WeakEvidence>(1);
};
inline const Plant failed = skipped(Outcome::failed_to_run);
inline const Plant by_rule = skipped(Outcome::skipped_by_rule);
inline const Plant not_checkable = skipped(Outcome::not_checkable);
inline const Plant other_metric = [](ApiResult& result) {
  result.forward_rows[0][Metric::max_abs_error] = Cell::fp64(0.5);
  result.checksums.outputs[0] = 5;
};
inline const Plant other_bits = [](ApiResult& result) { result.checksums.gradients[0] = 5; };
inline const Plant other_inputs = [](ApiResult& result) { result.inputs = 18; };
inline const Plant other_shape = [](ApiResult& result) { result.backward_rows[0].shape = "(3, 2)"; };
inline const Plant unsteady = [](ApiResult& result) { result.repeats = Repeats{3, 1, false, "forward.output.0", ""}; };
inline const Plant backward_failed = [](ApiResult& result) {
  result.backward = Status::skip;
  result.outcome = Outcome::failed_to_run;
  result.message = "out of memory";
};
inline const Plant without_backward = [](ApiResult& result) {
  result.backward.reset();
  result.backward_rows.clear();
  result.checksums.gradients.clear();
};

inline Plant both(const Plant& one, const Plant& other) {
  return [=](ApiResult& result) {
    one(result);
    other(result);
  };
}

struct Transition {
  const char* title;
  Plant before;
  Plant after;
  const char* change;
};

// All of them stand in one pair of runs.
inline const std::vector<Transition> transitions{
    {"nothing", nothing, nothing, "same"},
    {"pass to suspicious error", nothing, suspicious_error, "new"},
    {"pass to suspicious warning", nothing, suspicious_warning, "new"},
    {"pass to suspicious pass", nothing, suspicious_pass, "new"},
    {"pass to failed", nothing, failed, "new"},
    {"rounding to suspicious", rounding_warning, suspicious_warning, "new"},
    {"SKIP by rule to suspicious", by_rule, suspicious_error, "new"},
    {"not checkable to failed", not_checkable, failed, "new"},
    {"suspicious to failed", suspicious_error, failed, "new"},
    {"failed to suspicious", failed, suspicious_error, "new"},
    {"suspicious warning to error", suspicious_warning, suspicious_error, "new"},
    {"suspicious pass to warning", suspicious_pass, suspicious_warning, "new"},
    {"another output as well", suspicious_error, both(suspicious_error, backward(Status::error, false, true)), "new"},
    {"pass to unsteady", nothing, unsteady, "new"},
    {"backward fails", nothing, backward_failed, "new"},
    {"still suspicious", suspicious_error, suspicious_error, "still"},
    {"still, milder", suspicious_error, suspicious_warning, "still"},
    {"still, other metrics", suspicious_error, both(suspicious_error, other_metric), "still"},
    {"still failed", failed, failed, "still"},
    {"suspicious to pass", suspicious_error, nothing, "fixed"},
    {"suspicious to rounding", suspicious_warning, rounding_warning, "fixed"},
    {"suspicious to weak", suspicious_error, weak, "fixed"},
    {"failed to pass", failed, nothing, "fixed"},
    {"suspicious to SKIP by rule", suspicious_error, by_rule, "changed status"},
    {"failed to not checkable", failed, not_checkable, "changed status"},
    {"pass to SKIP by rule", nothing, by_rule, "changed status"},
    {"pass to not checkable", nothing, not_checkable, "changed status"},
    {"SKIP by rule to pass", by_rule, nothing, "changed status"},
    {"pass to weak", nothing, weak, "changed status"},
    {"pass to rounding", nothing, rounding_error, "changed status"},
    {"rounding to pass", rounding_warning, nothing, "changed status"},
    {"one backward less", nothing, without_backward, "changed status"},
    {"other metric", nothing, other_metric, "changed metrics"},
    {"other shape", nothing, other_shape, "changed metrics"},
    {"weak, other metric", weak, both(weak, other_metric), "changed metrics"},
    {"other bits", nothing, other_bits, "changed bits"},
    {"other bits of rounding", rounding_warning, both(rounding_warning, other_bits), "changed bits"},
    {"other inputs", nothing, other_inputs, "not comparable"},
    {"other inputs, suspicious", nothing, both(suspicious_error, other_inputs), "not comparable"},
    {"SKIP by rule in both", by_rule, by_rule, "same"},
};

inline std::string name_of(const Transition& transition) {
  std::string name = "Torch.";
  for (const char* c = transition.title; *c != '\0'; ++c) name += *c == ' ' || *c == ',' ? '_' : *c;
  return name + ".0";
}

}  // namespace msrun::testing
