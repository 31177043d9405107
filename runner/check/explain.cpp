#include "runner/check/explain.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/compare/estimates.h"
#include "kernels/compare/exact_results.h"
#include "kernels/compare/rounding_screens.h"
#include "kernels/compare/typical.h"
#include "kernels/tensor/changed_elements.h"
#include "runner/check/call_part.h"
#include "runner/check/complex_rows.h"
#include "runner/check/explain_texts.h"
#include "runner/check/noise.h"
#include "runner/check/row_lines.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

// So many times beyond what few samples explain, more of them would change nothing: unless it is at most one in eight
// elements (few_of_elements), whose noise these may have missed.
constexpr double hopeless_share = 100;
// Times what is explained of sums, of passes whose terms are too many to be measured.
constexpr double slack_of_large_calls = 8;
// So many times the relative roundoff of an operand is explained of a sum of products and of the spread of its terms:
// both factors are rounded, and terms that cancel may err in opposite directions.
constexpr double slack_of_operands = 4;
// The terms of a part of a complex product: four products and their sums make up what may be small.
constexpr std::int64_t terms_of_complex_arithmetic = 4;
// The errors of all elements together are at most so many times those of operands that are cut. Operands that are
// rounded err half as much, which the setting does not tell apart.
constexpr double times_of_cut_operands = 2;
constexpr double times_of_rounded_operands = 4;

// What rounding explains of a typical element, relative to it; 0 if nothing is known of any.
double typical_allowance(const Tensor& bench, DType dtype, const SumModel& model) {
  return median(allowed_shares(bench, dtype, model).all());
}

// A logarithm errs by what lies behind it and not by its own size, which the screens go by: it is held to its last
// steps.
std::int64_t chain_of_screens(const SumStatistics& sums, const SumModel& model) {
  return model.of_logarithms ? 1 : sums.chain;
}

bool passes_screens(const Tensor& bench, const Tensor& device, const SumStatistics& sums, const SumModel& model) {
  const std::int64_t chain = chain_of_screens(sums, model);
  return surely_rounding(bench, device, chain) || (sums.longest > 1 && surely_rounding_of_sums(bench, device, chain));
}

}  // namespace

bool Explainer::Judged::is_explained() const { return is_acceptable(fit, count); }

void Explainer::Judged::take_beside_steps() {
  if (is_explained() || !beside_steps || beside_steps->second.beyond >= fit.beyond) {
    beside_steps.reset();
    return;
  }
  std::swap(model, beside_steps->first);
  std::swap(fit, beside_steps->second);
}

Explainer::Explainer(const Operator& op, const MaterialisedCall& call, const Evaluation& bench,
                     const EvaluationOptions& benchmark_options, const DeviceArithmetic& arithmetic)
    : op_(op),
      call_(call),
      benchmark_options_(benchmark_options),
      terms_(bench.choices.terms),
      takes_positions_(bench.takes_positions),
      variations_(op, call, bench, benchmark_options),
      rounds_once_(op.traits().rounds_once && floating_arguments(call) <= 2),
      arithmetic_(arithmetic),
      operands_(arithmetic.operands.of(op.traits().operand_setting)),
      complex_arguments_(!op.traits().copies_only && has_complex_argument(call)) {}

Tensor Explainer::spread_of_terms(const RowCase& row, std::size_t samples) {
  if (terms_.defined() && !row.of_gradients && terms_.shape() == row.pair.bench.shape()) return terms_;
  if (const auto* terms = complex_arguments_ ? nullptr : variations_.squared_terms()) {
    const std::optional<Tensor> squares = row.of(terms->all);
    const std::optional<Tensor> exact = terms->of_flags ? row.of(*terms->of_flags) : std::nullopt;
    if (squares && exact.has_value() == terms->of_flags.has_value()) return root_of(*squares, exact);
  }
  const std::vector<Evaluation>& changed = variations_.changed_benchmarks(samples);
  if (changed.empty()) return {};
  std::optional<SpreadEstimate> estimate;
  for (const Evaluation& evaluation : changed) {
    const std::optional<Tensor> tensor = row.of(evaluation);
    if (!tensor) return {};
    if (!estimate) estimate.emplace(row.pair.bench, variations_.change_of(tensor->dtype()));
    estimate->add(*tensor);
  }
  return variations_.counts_few_times() ? steadied(estimate->spread()) : estimate->spread();
}

bool Explainer::measure(const RowCase& row, std::size_t samples, Judged& judged) {
  const auto& [bench, device] = row.pair;
  judged.model.spread = spread_of_terms(row, samples);
  if (!judged.model.spread.defined()) return false;
  judged.fit = fit_rounding(bench, device, judged.model);
  return judged.is_explained();
}

bool Explainer::rounds_operands(const RowCase& row, Judged& judged) {
  if (operands_ == OperandRounding::none || !judged.model.spread.defined()) return false;
  const std::optional<Tensor> rounded = computed_with({.summation = {}, .operands = {operands_, operands_}}, row);
  if (!rounded) return false;
  return errs_like_operands(row, *rounded, times_of_operands()) && grant_operands(row, judged);
}

double Explainer::times_of_operands() const {
  return operands_ == OperandRounding::truncated_tf32 ? times_of_cut_operands : times_of_rounded_operands;
}

bool Explainer::grant_operands(const RowCase& row, Judged& judged) const {
  if (operands_ == OperandRounding::none) return false;
  SumModel model = judged.model;
  model.nearest = false;
  model.of_operands = slack_of_operands * roundoff_of_operand(operands_);
  const auto& [bench, device] = row.pair;
  RoundingFit fit = fit_rounding(bench, device, model, FitUntil::first_beyond);
  if (!fit.explained()) return false;
  judged.model = std::move(model);
  judged.fit = std::move(fit);
  judged.operands = operands_;
  return true;
}

std::optional<Tensor> Explainer::computed_with(const Arithmetic& arithmetic, const RowCase& row) {
  const Evaluation* evaluation = variations_.with(arithmetic);
  if (evaluation == nullptr) return std::nullopt;
  std::optional<Tensor> tensor = row.of(*evaluation);
  return tensor && is_floating(tensor->dtype()) ? std::move(tensor) : std::nullopt;
}

bool Explainer::stores_intermediates(const RowCase& row, Judged& judged) {
  const auto& [bench, device] = row.pair;
  const std::optional<Tensor> sound = computed_with({}, row);
  if (!sound) return false;
  const RoundingFit of_sound = fit_rounding(bench, *sound, judged.model);
  if (is_acceptable(of_sound, bench.numel())) return false;
  SumModel model = judged.model;
  model.with_stored = *sound;
  RoundingFit fit = fit_rounding(bench, device, model, FitUntil::first_beyond);
  // Results that are rounded on the way differ by a place the more often; those of the device not oftener.
  if (!fit.explained() || judged.fit.misrounded > 2 * of_sound.misrounded + tolerated_misrounded(bench.numel()))
    return false;
  fit.misrounded = 0;
  judged.model = std::move(model);
  judged.fit = std::move(fit);
  judged.stored = true;
  return true;
}

Tensor Explainer::noise_beside(const Variations::Beside& how, const RowCase& row, std::size_t samples, Tensor& lost) {
  const std::vector<Variations::Nearby>& nearby = variations_.nearby(how, samples);
  if (nearby.empty()) return {};
  // Of what float32 holds with fewer digits, or not at all, it says nothing about float64.
  const bool stands_for_float64 = how.in_float32 && row.pair.device.dtype() == DType::float64;
  NoiseEstimate estimate(row.pair.bench.shape(), stands_for_float64 ? smallest_normal(DType::float32) : 0);
  for (const Variations::Nearby& one : nearby) {
    const std::optional<Tensor> exact = row.of(one.bench);
    const std::optional<Tensor> rounded = row.of(one.rounded);
    if (!exact || !rounded) return {};
    // What the arithmetic itself makes of the call is beside the benchmark, as an alternative (with_stored).
    estimate.add(*exact, *rounded, !how.rough && how.arithmetic == Arithmetic{});
    // float32 ends long before float64 does.
    const bool of_device = how.rough || how.arithmetic.summation.accumulator != Accumulator::wide;
    if (of_device && row.pair.device.dtype() != DType::float64) mark_lost(*exact, *rounded, lost);
  }
  return variations_.counts_few_times() ? steadied(estimate.noise()) : estimate.noise();
}

bool Explainer::measure_noise(const RowCase& row, std::size_t samples, bool rough, Judged& judged) {
  const auto& [bench, device] = row.pair;
  // The benchmark of float64 is computed in the same arithmetic. Errors are in proportion to the unit roundoff.
  const bool in_float32 = device.dtype() == DType::float64 && bench.dtype() == DType::float64;
  Tensor noise = noise_beside({.rough = rough, .in_float32 = in_float32}, row, samples, judged.model.lost);
  if (in_float32) noise = combined_noise(noise, noise, 0, epsilon(DType::float64) / epsilon(DType::float32));
  // In its own dtypes a call of float64 and float32 tensors rounds to float32 what it makes of these alone.
  if (in_float32 && rough) noise = larger_noise(noise, noise_beside({.rough = true}, row, samples, judged.model.lost));
  // The float32 in which half types are computed, as their benchmark is, errs as seen from float64 alone.
  if (rough && is_half(device.dtype())) {
    const Tensor of_float32 = noise_beside({.rough = true, .in_float32 = true}, row, samples, judged.model.lost);
    if (of_float32.defined()) noise = combined_noise(noise, of_float32, 1, times_of_float32);
  }
  judged.model.noise = std::move(noise);
  if (!judged.model.noise.defined()) return false;
  // Beside elements that are lost are others that a quotient by infinity has made zero.
  if (judged.model.lost.defined()) {
    if (std::optional<Tensor> sound = computed_with({}, row)) judged.model.with_stored = *sound;
  }
  judged.fit = fit_rounding(bench, device, judged.model);
  judged.stored = judged.is_explained();
  return judged.stored;
}

bool Explainer::is_sound(const RowCase& row, const SumModel& model) {
  const std::optional<Tensor> sound = computed_with({}, row);
  return sound && surely_rounding(*sound, row.pair.device, chain_of_screens(row.sums, model));
}

Steps Explainer::steps_of(const RowCase& row) const {
  const auto steps_of_call = op_.traits().steps;
  const Steps steps = steps_of_call == nullptr ? Steps::none : steps_of_call(call_.args, call_.kwargs);
  const bool of_gradients = row.of_gradients && (steps != Steps::none || steps_of_call == nullptr);
  return of_gradients ? op_.traits().gradient_steps : steps;
}

bool Explainer::judge_steps(RowCase& row, Judged& judged) {
  auto& [bench, device] = row.pair;
  Steps steps = steps_of(row);
  const bool rounds = steps != Steps::none && steps != Steps::at_a_kink;
  if (rounds && arithmetic_.half_rounding == HalfRounding::nothing) steps = Steps::of_float32;
  std::optional<StepSides> sides = variations_.sides_of_steps(
      bench, device, [&](const Evaluation& evaluation) { return row.of(evaluation); }, steps,
      arithmetic_.half_rounding != HalfRounding::nothing);
  if (!sides) return false;
  bench = std::move(sides->bench);
  judged.on_steps = sides->exchanged;
  judged.alternatives = sides->alternatives;
  const bool measured = sides->spread.defined();
  if (measured) judged.model.longest = std::max<std::int64_t>(judged.model.longest, 1);
  if (measured) judged.model.spread = std::move(sides->spread);
  judged.fit = fit_rounding(bench, device, judged.model);
  return measured || judged.is_explained();
}

void Explainer::judge_large(const RowCase& row, Judged& judged) {
  const Tensor& bench = row.pair.bench;
  const Tensor& device = row.pair.device;
  judged.fit = fit_rounding(bench, device, judged.model);
  if (judged.is_explained()) return;
  const auto grant_slack = [&] {
    SumModel model = judged.model;
    model.slack = slack_of_large_calls;
    model.nearest = false;
    return std::pair(model, fit_rounding(bench, device, model));
  };
  const auto part =
      part_of_call({op_, call_, benchmark_options_, variations_.elements(), variations_.additions(), device}, bench,
                   judged.fit, [&](const Evaluation& evaluation) { return row.of_any_shape(evaluation); });
  if (!part) {
    if (rounds_operands_of_large(row, judged)) return;
    if (measure_few_times(row, judged)) return;
    if (row.passes) std::tie(judged.model, judged.fit) = grant_slack();
    return;
  }
  RowCase looked_at = row.part(part->of(bench), part->of(device));
  Explainer explainer(op_, part->call, part->bench, benchmark_options_, arithmetic_);
  Judged of_part = explainer.judge(looked_at);
  of_part.part = looked_at.pair.bench;
  if (of_part.is_explained()) {
    judged = std::move(of_part);
    return;
  }
  // Elements that no part has may be sound, unless they are far off.
  auto [model, fit] = grant_slack();
  if (!fit.explained()) std::tie(judged.model, judged.fit) = std::pair(std::move(model), std::move(fit));
}

Trust Explainer::trust_of(const Tensor& bench, DType dtype, const Judged& judged) {
  if (!judged.part.defined()) return trust_in(bench, dtype, judged.model);
  // Whether all elements are equal is asked of all; what would have shown, of those that were measured.
  Trust trust = trust_in(bench, dtype, {});
  const Trust of_part = trust_in(judged.part, dtype, judged.model);
  trust.visible = of_part.visible;
  if (trust.mistrust == Mistrust::none && of_part.mistrust == Mistrust::cancellation) trust.mistrust = of_part.mistrust;
  return trust;
}

Explainer::Judged Explainer::judge(RowCase& row) {
  const auto& [bench, device] = row.pair;
  const bool passes = row.passes;
  Judged judged;
  judged.count = device.numel();
  judged.model.nearest = rounds_once_ && !complex_arguments_;
  judged.model.adds_terms = op_.traits().rounds_once;
  judged.model.of_logarithms = op_.traits().logarithm_of_sums && !row.of_gradients;
  if (call_.unbounded) judged.model.not_finite = other_not_finite(row);
  judged.model.exact = row.sums.longest <= 1 && !complex_arguments_ &&
                       (op_.traits().copies_only || select_standard(call_.parts.api, device.dtype(), false,
                                                                    Policy::per_api) == Standard::binary_consistency);
  if (judged.model.exact) {
    if (passes && surely_equal(bench, device)) return judged;
    judged.fit = fit_rounding(bench, device, judged.model);
    if (!judged.is_explained() && judge_steps(row, judged)) return judged;
    // Gradients of what was copied several times are sums after all.
    const std::optional<Tensor> sound = computed_with({}, row);
    if (judged.is_explained() || !sound || surely_equal(bench, *sound)) return judged;
    judged.model.exact = false;
    judged.fit = {};
  }
  if (!passes) {
    judged.fit = fit_rounding(bench, device, judged.model);
    if (judged.is_explained()) return judged;
  }
  judged.model.longest = row.sums.longest;
  judged.model.chain = row.sums.chain;
  if (passes && passes_screens(bench, device, row.sums, judged.model)) return judged;
  // A row has a fit of its own from here on: one that is found nowhere to be explained must not pass for explained.
  if (row.sums.longest > 1 || passes) judged.fit = fit_rounding(bench, device, judged.model);
  // Without sums the typical result says nothing about what lies behind one element; of passes in wide dtypes the
  // screen has said it already.
  if ((row.sums.longest > 1 || (passes && is_half(device.dtype()))) && judged.is_explained()) return judged;
  if (passes && is_sound(row, judged.model)) {
    judged.fit = {};
    return judged;
  }
  if (!variations_.is_small()) {
    if (judge_steps(row, judged) && judged.is_explained()) return judged;
    Judged few_times = judged;
    judge_large(row, judged);
    const bool by_slack = judged.model.slack > 1;
    if (judged.is_explained() && !by_slack) return judged;
    if (!by_slack && !judged.part.defined()) few_times.model = judged.model;
    if (adds_in_series(row, few_times)) return few_times;
    const bool is_open = !judge_few_times(row, few_times);
    // What is granted for want of anything measured is worth nothing beside noise.
    if (by_slack && few_times.model.noise.defined()) return few_times;
    // Of two that leave it open, the one that knows of noise tells better which elements are wrong.
    return is_open && few_times.fit.beyond >= judged.fit.beyond ? judged : few_times;
  }
  if (rounds_nowhere(row)) judge_unrounded(row, judged);
  if (judged.model.unrounded && judged.is_explained()) return judged;
  judged.model.most = most_of_few_terms(row);
  // Gradients of half types are sums of what is rounded on the way, too, but for those of one element at a kink.
  const bool at_a_kink = op_.traits().gradient_steps == Steps::at_a_kink;
  const bool ends_at_steps = !row.of_gradients || !is_half(device.dtype()) || at_a_kink;
  if (judge_steps(row, judged) && (ends_at_steps || judged.is_explained())) return judged;
  if (measure(row, first_samples, judged)) return judged;
  if (rounds_operands(row, judged)) return judged;
  if (adds_in_series(row, judged)) return judged;
  if (stores_intermediates(row, judged)) return judged;
  if (stores_composed_steps(row, judged)) return judged;
  if (stores_parts(row, first_noise_samples, judged)) return judged;
  if (measure_noise(row, first_noise_samples, false, judged)) return judged;
  // Half types are computed in float32 as well, of which a place shows where terms cancel.
  if (measure_noise(row, first_noise_samples, true, judged)) return judged;
  const auto by_steps = [&](std::size_t samples) { return rounds_as_the_device(row, samples, judged); };
  // What explains most results of half types, before more samples of anything else are computed, which cost more; what
  // these explain without steps is known better, where they cost nothing.
  if (!variations_.is_cheap() && by_steps(first_noise_samples)) return judged;
  const bool few_are_open = judged.fit.beyond * few_of_elements <= judged.count;
  if (judged.fit.max_share <= hopeless_share || few_are_open || variations_.is_cheap()) {
    if (measure(row, most_samples, judged)) return judged;
    if (measure_noise(row, most_noise_samples, true, judged)) return judged;
    if (by_steps(first_noise_samples)) return judged;
  }
  by_steps(most_noise_samples);
  judged.take_beside_steps();
  return judged;
}

namespace {

// Of a result that is compared exactly: a device that always gives the same passes where the benchmark does so.
void mistrust_equal_elements(DetailsRow& row, const Tensor& bench) {
  if (row.trust.mistrust != Mistrust::none) return;
  row.trust.mistrust = mistrust_of_exact(bench);
  if (row.trust.mistrust == Mistrust::none) return;
  add_verdict(row, mistrust_sentence(row.trust.mistrust));
}

// Where the row is among the tensors that are compared, of which there are so many.
RowOf row_of(const Explainer::Select& select, std::size_t rows, std::size_t place) {
  return [&select, rows, place](const Evaluation& evaluation) -> std::optional<Tensor> {
    const std::vector<Value> values = select(evaluation);
    const Tensor* tensor = values.size() == rows ? values[place].get<Tensor>() : nullptr;
    return tensor == nullptr ? std::nullopt : std::optional(*tensor);
  };
}

// Gradients of copies may be sums that begin with 0.0.
void accuse_lost_signs(DetailsRow& row, const Tensor& bench, const Tensor& device) {
  const std::int64_t lost = lost_signs_of_zero(bench, device);
  if (lost == 0) return;
  accuse(row, "Sign of zero: " + std::to_string(lost) + " of " + std::to_string(device.numel()) +
                  " elements are 0.0 in place of -0.0, which a copy keeps.");
}

}  // namespace

void Explainer::explain(Comparison& comparison, const SumStatistics& sums, const Select& select, bool silent) {
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    DetailsRow& details = comparison.rows[i];
    auto& [bench, device] = comparison.pairs[i];
    if (details.status == Status::skip || (silent && details.status == Status::pass)) continue;
    if (!bench.defined() || !device.defined() || bench.shape() != device.shape() || device.numel() == 0) continue;
    RowCase row{.pair = {bench, device},
                .of_gradients = comparison.of_gradients,
                .passes = details.status == Status::pass,
                .sums = sums,
                .of_any_shape = row_of(select, comparison.rows.size(), i)};
    if (is_floating(bench.dtype()) && is_floating(device.dtype())) {
      explain_row(row, details, silent);
      bench = row.pair.bench;
      const bool is_copy = op_.traits().copies_only && !comparison.of_gradients;
      if (is_copy && !silent && !details.beyond_rounding) accuse_lost_signs(details, bench, device);
    } else if (is_complex(bench.dtype()) && is_complex(device.dtype())) {
      RowCase parts = with_parts(row);
      if (!op_.traits().copies_only) {
        parts.sums.longest = std::max(sums.longest, terms_of_complex_arithmetic);
        parts.sums.chain = std::max(sums.chain, terms_of_complex_arithmetic);
      }
      explain_row(parts, details, silent);
    } else if (!silent && details.status == Status::pass && !is_complex(bench.dtype())) {
      mistrust_equal_elements(details, bench);
    }
  }
}

std::string Explainer::explanation_of(const Judged& judged, DType dtype) const {
  if (judged.operands != OperandRounding::none)
    return operands_text(judged.operands, arithmetic_.settings_are_known, judged.fit);
  return judged.stored ? stored_text(judged.stored_as.value_or(dtype), judged.fit)
                       : explained_text(dtype, judged.model, judged.fit);
}

void Explainer::explain_row(RowCase& row, DetailsRow& details, bool silent) {
  const auto& [bench, device] = row.pair;
  Judged judged = judge(row);
  if (judged.is_explained() && (errs_in_common(row, judged) || (!silent && is_otherwise_chosen(row, judged))))
    refuse_common_error(row, judged);
  const bool explained = judged.is_explained();
  details.beyond_rounding = !explained;
  details.rounding_only = explained && details.status != Status::pass;
  if (explained && !silent) details.trust = trust_of(bench, device.dtype(), judged);
  const bool in_half = !std::string_view(judged.in_half).empty();
  if (in_half && !silent) details.trust.mistrust = Mistrust::half_steps;
  if (explained && !silent && judged.fit.overflowed > 0) details.trust.mistrust = Mistrust::overflow;
  const bool doubtful = details.trust.mistrust != Mistrust::none;
  if (silent || (explained && details.status == Status::pass && !doubtful && !judged.in_series)) return;
  if (doubtful) add_verdict(details, mistrust_sentence(details.trust.mistrust));
  if (in_half) {
    add_verdict(details, half_steps_text(judged.in_half, device.dtype(), judged.fit));
    return;
  }
  if (explained && judged.in_series) {
    add_verdict(details, series_text(*judged.in_series, device.dtype(), judged.model, judged.fit));
    return;
  }
  if (explained && details.status == Status::pass) return;
  std::string on_steps = judged.on_steps > 0 ? steps_text(judged.on_steps, device.numel()) : "";
  if (judged.alternatives > 0)
    on_steps += (on_steps.empty() ? "" : " ") + alternatives_text(judged.alternatives, device.numel());
  if (details.rounding_only) {
    // In one line with what explains the others, which the result file repeats.
    add_verdict(details, explanation_of(judged, device.dtype()) + (on_steps.empty() ? "" : " " + on_steps));
    return;
  }
  if (!on_steps.empty()) add_verdict(details, on_steps);
  add_verdict(details, unexplained_text(device.numel(), judged.fit));
  details.difference = difference_of(bench, device, judged.fit);
  details.difference->explained = typical_allowance(bench, device.dtype(), judged.model);
  const std::string reason = finding(row, details.difference->map, judged);
  if (!reason.empty()) add_line(details, reason);
  if (is_rounding_on_a_cpu(row)) add_line(details, rounding_on_a_cpu_text());
}

}  // namespace msrun
