#include "runner/judge/judge.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/compare/bounds/constants.h"
#include "kernels/compare/bounds/exact_results.h"
#include "kernels/compare/bounds/typical.h"
#include "runner/judge/causes.h"
#include "runner/judge/complex_rows.h"
#include "runner/judge/row_lines.h"
#include "runner/judge/rules.h"
#include "runner/judge/sentences.h"
#include "runner/judge/vetoes.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

// What rounding explains of a typical element, relative to it; 0 if nothing is known of any.
double typical_allowance(const Tensor& bench, DType dtype, const ErrorBudget& budget) {
  return median(allowed_shares(bench, dtype, budget).all());
}

// Why rounding explains a row.
std::string explanation_of(const RowCase& row, const Explanation& judged, DType dtype) {
  if (judged.operands != OperandRounding::none)
    return operands_text(judged.operands, row.arithmetic.settings_are_known, judged.fit);
  return judged.stored ? stored_text(judged.stored_as.value_or(dtype), judged.fit)
                       : explained_text(dtype, judged.budget, judged.fit);
}

Trust trust_of(const Tensor& bench, DType dtype, const Explanation& judged) {
  if (!judged.part.defined()) return trust_in(bench, dtype, judged.budget);
  // Whether all elements are equal is asked of all; what would have shown, of those that were measured.
  Trust trust = trust_in(bench, dtype, {});
  const Trust of_part = trust_in(judged.part, dtype, judged.budget);
  trust.visible = of_part.visible;
  if (trust.weak_evidence == WeakEvidence::none && of_part.weak_evidence == WeakEvidence::cancellation)
    trust.weak_evidence = of_part.weak_evidence;
  return trust;
}

// Of a result that is compared exactly: a device that always gives the same passes where the benchmark does so.
void note_equal_elements(DetailsRow& row, const Tensor& bench) {
  if (row.trust.weak_evidence != WeakEvidence::none) return;
  row.trust.weak_evidence = weak_evidence_of_exact(bench);
  if (row.trust.weak_evidence == WeakEvidence::none) return;
  add_verdict(row, weak_evidence_sentence(row.trust.weak_evidence));
}

// Where the row is among the tensors that are compared, of which there are so many.
RowOf row_of(const Select& select, std::size_t rows, std::size_t place) {
  return [&select, rows, place](const Evaluation& evaluation) -> std::optional<Tensor> {
    const std::vector<Value> values = select(evaluation);
    const Tensor* tensor = values.size() == rows ? values[place].get<Tensor>() : nullptr;
    return tensor == nullptr ? std::nullopt : std::optional(*tensor);
  };
}

// Gradients of copies may be sums that begin with 0.0.
void note_lost_signs(DetailsRow& row, const Tensor& bench, const Tensor& device) {
  const std::int64_t lost = lost_signs_of_zero(bench, device);
  if (lost == 0) return;
  make_suspicious(row, "Sign of zero: " + std::to_string(lost) + " of " + std::to_string(device.numel()) +
                           " elements are 0.0 in place of -0.0, which a copy keeps.");
}

// Whether a half type's result that is not explained would be if a processor had made it, of a recording that does not
// say what has.
bool is_rounding_on_a_cpu(RowCase row) {
  if (row.arithmetic.device_is_known || !is_half(row.pair.device.dtype())) return false;
  row.arithmetic = {.half_rounding = HalfRounding::every_step};
  row.operands = OperandRounding::none;
  const Explanation judged = explained(row);
  return judged.is_explained() && objecting(row, judged, false) == nullptr;
}

// Writes what explains a row, or why nothing does, into its Message.
void tell(RowCase& row, DetailsRow& details, const Explanation& judged) {
  const auto& [bench, device] = row.pair;
  const bool is_explained = judged.is_explained();
  if (details.trust.weak_evidence != WeakEvidence::none)
    add_verdict(details, weak_evidence_sentence(details.trust.weak_evidence));
  if (!std::string_view(judged.in_half).empty()) {
    add_verdict(details, half_steps_text(judged.in_half, device.dtype(), judged.fit));
    return;
  }
  if (is_explained && judged.in_series) {
    add_verdict(details, series_text(*judged.in_series, device.dtype(), judged.budget, judged.fit));
    return;
  }
  if (is_explained && details.status == Status::pass) return;
  std::string on_steps = judged.on_steps > 0 ? steps_text(judged.on_steps, device.numel()) : "";
  if (judged.alternatives > 0)
    on_steps += (on_steps.empty() ? "" : " ") + alternatives_text(judged.alternatives, device.numel());
  if (details.rounding_only) {
    // In one line with what explains the others, which the result file repeats.
    add_verdict(details, explanation_of(row, judged, device.dtype()) + (on_steps.empty() ? "" : " " + on_steps));
    return;
  }
  if (!on_steps.empty()) add_verdict(details, on_steps);
  add_verdict(details, unexplained_text(device.numel(), judged.fit));
  details.difference = difference_of(bench, device, judged.fit);
  details.difference->explained = typical_allowance(bench, device.dtype(), judged.budget);
  const std::string reason = finding(row, details.difference->map, judged);
  if (!reason.empty()) add_line(details, reason);
  if (is_rounding_on_a_cpu(row)) add_line(details, rounding_on_a_cpu_text());
}

void judge_row(RowCase& row, DetailsRow& details, bool silent) {
  const auto& [bench, device] = row.pair;
  Explanation judged = explained(row);
  const Veto* const veto = judged.is_explained() ? objecting(row, judged, silent) : nullptr;
  if (!judged.is_at_a_glance || veto != nullptr || !row.passes) {
    details.judgement = {judged.asked, judged.is_explained(), veto == nullptr ? std::uint8_t{0} : veto->code};
  }
  if (veto != nullptr) refuse(row, judged);
  const bool is_explained = judged.is_explained();
  details.beyond_rounding = !is_explained;
  details.rounding_only = is_explained && details.status != Status::pass;
  if (silent) return;
  if (is_explained) details.trust = trust_of(bench, device.dtype(), judged);
  if (!std::string_view(judged.in_half).empty()) details.trust.weak_evidence = WeakEvidence::half_steps;
  if (is_explained && judged.fit.overflowed > 0) details.trust.weak_evidence = WeakEvidence::overflow;
  tell(row, details, judged);
}

}  // namespace

void Explanation::take_without_steps() {
  if (is_explained() || !without_steps || without_steps->second.beyond >= fit.beyond) {
    without_steps.reset();
    return;
  }
  std::swap(budget, without_steps->first);
  std::swap(fit, without_steps->second);
}

Explanation explained(RowCase& row) {
  Explanation known = nothing_known(row);
  std::vector<AskedRules::Asked> asked;
  AskedRules::Asked latest;
  std::optional<Stage> reached;
  bool asks = false;
  bool ends = false;
  for (const Rule& rule : rules()) {
    if (rule.stage != reached) asks = is_asked(rule.stage, row, known);
    reached = rule.stage;
    if (!asks) continue;
    ends = rule.ask(row, known) != Answer::open;
    // Of a part of the call these are the rules that were asked of it.
    asked.insert(asked.end(), known.asked.begin(), known.asked.end());
    known.asked.clear();
    latest = {rule.code, static_cast<std::uint64_t>(known.fit.beyond), known.fit.max_share};
    const bool is_like_last = !asked.empty() && asked.back().open == latest.open && asked.back().share == latest.share;
    if (!is_like_last) asked.push_back(latest);
    if (ends) break;
  }
  if (asked.empty() || asked.back().rule != latest.rule) asked.push_back(latest);
  if (!ends) known.take_without_steps();
  known.asked = std::move(asked);
  known.is_at_a_glance = reached == Stage::glance;
  return known;
}

void judge(CallCase& call, Comparison& comparison, const SumStatistics& sums, const Select& select, bool silent) {
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    DetailsRow& details = comparison.rows[i];
    auto& [bench, device] = comparison.pairs[i];
    if (details.status == Status::skip || (silent && details.status == Status::pass)) continue;
    if (!bench.defined() || !device.defined() || bench.shape() != device.shape() || device.numel() == 0) continue;
    RowCase row{.call = call,
                .pair = {bench, device},
                .of_gradients = comparison.of_gradients,
                .passes = details.status == Status::pass,
                .sums = sums,
                .of_any_shape = row_of(select, comparison.rows.size(), i)};
    if (is_floating(bench.dtype()) && is_floating(device.dtype())) {
      judge_row(row, details, silent);
      bench = row.pair.bench;
      const bool is_copy = call.op.traits().copies_only && !comparison.of_gradients;
      if (is_copy && !silent && !details.beyond_rounding) note_lost_signs(details, bench, device);
    } else if (is_complex(bench.dtype()) && is_complex(device.dtype())) {
      RowCase parts = with_parts(row);
      if (!call.op.traits().copies_only) {
        parts.sums.longest = std::max<std::int64_t>(sums.longest, terms_of_complex_arithmetic);
        parts.sums.chain = std::max<std::int64_t>(sums.chain, terms_of_complex_arithmetic);
      }
      judge_row(parts, details, silent);
    } else if (!silent && details.status == Status::pass && !is_complex(bench.dtype())) {
      note_equal_elements(details, bench);
    }
  }
}

}  // namespace msrun
