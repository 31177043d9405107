#include "runner/check/explain.h"

#include <cmath>
#include <cstdio>

#include "kernels/base/error.h"
#include "kernels/compare/findings.h"
#include "kernels/tensor/random.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

// Additions behind results, and elements of tensors, up to which a call is computed again.
constexpr double most_additions = 3e8;
constexpr double most_elements = 4e6;
constexpr int spread_samples = 3;

// The relative change of the inputs for a spread: small beside the curvature of functions, large beside rounding.
double input_change(DType raised) { return raised == DType::float64 ? 0x1p-20 : 0x1p-10; }

// 0, 1, -1, 2 and -2 may be flags, of which a little more or less is another thing altogether; where they are numbers,
// sums of them are exact.
bool may_be_flag(double value) { return std::abs(value) <= 2 && value == std::trunc(value); }

// Every element times 1 + change or 1 - change, by the words.
Tensor change_signs(const Tensor& tensor, RandomWords& words) {
  const double change = input_change(tensor.dtype());
  Tensor wide = tensor.to(DType::float64).clone();
  double* values = wide.mutable_data<double>();
  std::array<std::uint32_t, 64> bits{};
  for (std::int64_t i = 0; i < wide.numel(); ++i) {
    const auto at = static_cast<std::size_t>(i % 2048);
    if (at == 0) words.fill(bits);
    if (may_be_flag(values[i])) continue;
    values[i] *= (bits[at / 32] >> (at % 32) & 1U) != 0 ? 1 + change : 1 - change;
  }
  return wide.to(tensor.dtype());
}

// Of floating tensors: masks and indices cost nothing beside them.
double elements_in(const MaterialisedCall& call) {
  double total = 0;
  const auto count = [&](const Value& leaf) {
    const Tensor* tensor = leaf.get<Tensor>();
    if (tensor != nullptr && is_floating(tensor->dtype())) total += static_cast<double>(tensor->numel());
  };
  for (const Value& arg : call.args) for_each_leaf(arg, count);
  for (const auto& [key, value] : call.kwargs) for_each_leaf(value, count);
  for (const Value& gradient : call.gradients) for_each_leaf(gradient, count);
  return total;
}

// The tensor of a row among the values that were compared.
const Tensor* tensor_of_row(const std::vector<Value>& values, std::size_t row, std::size_t rows) {
  return values.size() == rows ? values[row].get<Tensor>() : nullptr;
}

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

std::string explained_text(DType dtype, const SumModel& model, const RoundingFit& fit) {
  const std::string stored = std::string(name(dtype));
  if (model.longest == 0) {
    return fit.max_ulps == 0 ? "Explained by " + stored + " rounding: every element is the rounded benchmark.\n"
                             : "Explained by " + stored + " rounding: at most 1 ULP.\n";
  }
  const std::string inner(name(dtype == DType::float64 ? dtype : DType::float32));
  const std::string what = model.longest == 1 ? "operations in " + inner
                                              : "sums of up to " + std::to_string(model.longest) + " terms in " + inner;
  return "Explained by rounding: " + what + (stored == inner ? "" : ", stored as " + stored) + "; at most " +
         number(fit.max_share) + " of their error bound.\n";
}

std::string unexplained_text(std::int64_t count, const RoundingFit& fit) {
  const std::string ulps = ulp_text(fit.max_ulps);
  const std::string size = !std::isfinite(fit.max_ulps)    ? "beyond any ULP"
                           : ulps.starts_with("more than") ? "by " + ulps + " ULP"
                                                           : "by up to " + ulps + " ULP";
  return "Not explained by rounding: " + std::to_string(fit.beyond) + " of " + std::to_string(count) +
         " elements differ, " + size + ".\n";
}

}  // namespace

Explainer::Explainer(const Operator& op, const MaterialisedCall& call, const Evaluation& bench,
                     const EvaluationOptions& benchmark_options)
    : op_(op), call_(call), bench_(bench), benchmark_options_(benchmark_options), elements_(elements_in(call)) {}

bool Explainer::is_small() const {
  const double additions = std::max(bench_.output_sums.additions, bench_.gradient_sums.additions);
  return additions <= most_additions && elements_ <= most_elements;
}

const std::vector<Evaluation>& Explainer::changed_benchmarks() {
  if (changed_) return *changed_;
  changed_.emplace();
  if (!is_small()) return *changed_;
  try {
    for (int sample = 0; sample < spread_samples; ++sample) {
      Philox words(random_key(0, call_.name, "spread." + std::to_string(sample)));
      EvaluationOptions options = benchmark_options_;
      options.change_input = [&](const Tensor& tensor) { return change_signs(tensor, words); };
      changed_->push_back(evaluate(op_, call_, options));
    }
  } catch (const SkipError&) {
    // The changed inputs are outside of what the operator takes.
    changed_->clear();
  }
  return *changed_;
}

const Evaluation* Explainer::variant(Variant which) {
  const auto index = static_cast<std::size_t>(which);
  if (variant_tried_[index]) return variants_[index] ? &*variants_[index] : nullptr;
  variant_tried_[index] = true;
  EvaluationOptions options;
  options.only_output = benchmark_options_.only_output;
  options.adjust_gradients = benchmark_options_.adjust_gradients;
  if (which == Variant::fp16_accumulation) options.arithmetic.summation.accumulator = Accumulator::float16;
  if (which == Variant::bf16_accumulation) options.arithmetic.summation.accumulator = Accumulator::bfloat16;
  options.arithmetic.summation.drops_last = which == Variant::dropped_term;
  options.arithmetic.rounds_to_zero = which == Variant::rounding_to_zero;
  options.arithmetic.hf32_inputs = which == Variant::hf32_inputs;
  options.arithmetic.flush_subnormals = which == Variant::flush_subnormals;
  if (!is_small()) return nullptr;
  try {
    variants_[index] = evaluate(op_, call_, options);
  } catch (const SkipError&) {
    return nullptr;
  }
  return &*variants_[index];
}

Tensor Explainer::spread(const Comparison& comparison, std::size_t row, const Select& select) {
  const std::vector<Evaluation>& changed = changed_benchmarks();
  if (changed.empty()) return {};
  const Tensor& bench = comparison.pairs[row].bench;
  SpreadEstimate estimate(bench, input_change(bench.dtype()));
  for (const Evaluation& evaluation : changed) {
    const std::vector<Value> values = select(evaluation);
    const Tensor* tensor = tensor_of_row(values, row, comparison.rows.size());
    if (tensor == nullptr || tensor->shape() != bench.shape()) return {};
    estimate.add(*tensor);
  }
  return estimate.spread();
}

std::optional<Tensor> Explainer::variant_tensor(Variant which, const Comparison& comparison, std::size_t row,
                                                const Select& select) {
  const Evaluation* evaluation = variant(which);
  if (evaluation == nullptr) return std::nullopt;
  const std::vector<Value> values = select(*evaluation);
  const Tensor* tensor = tensor_of_row(values, row, comparison.rows.size());
  const Tensor& device = comparison.pairs[row].device;
  if (tensor == nullptr || tensor->shape() != device.shape() || !is_floating(tensor->dtype())) return std::nullopt;
  return *tensor;
}

bool Explainer::stores_intermediates(const Comparison& comparison, std::size_t row, SumModel& model, RoundingFit& fit,
                                     const Select& select) {
  const auto& [bench, device] = comparison.pairs[row];
  const std::optional<Tensor> sound = variant_tensor(Variant::sound, comparison, row, select);
  if (!sound || fit_rounding(bench, *sound, model).explained()) return false;
  model.with_stored = *sound;
  fit = fit_rounding(bench, device, model);
  return true;
}

std::string Explainer::finding(const Comparison& comparison, std::size_t row, const SumModel& model,
                               const RoundingFit& fit, const Select& select) {
  const auto& [bench, device] = comparison.pairs[row];
  struct Candidate {
    Variant variant;
    const char* text;
  };
  static constexpr std::array candidates{
      Candidate{Variant::hf32_inputs, "Inputs rounded to HF32: computed so, the call gives this result."},
      Candidate{Variant::fp16_accumulation,
                "Errors are those of float16 accumulation: computed so, the call gives this result."},
      Candidate{Variant::bf16_accumulation,
                "Errors are those of bfloat16 accumulation: computed so, the call gives this result."},
      Candidate{Variant::flush_subnormals, "Denormals flushed: computed so, the call gives this result."},
      Candidate{Variant::rounding_to_zero,
                "Results are truncated, not rounded to nearest: computed so, the call gives this result."},
      Candidate{Variant::dropped_term,
                "One of K products is missing: computed without the last, the call gives this result."},
  };
  for (const Candidate& candidate : candidates) {
    const std::optional<Tensor> tensor = variant_tensor(candidate.variant, comparison, row, select);
    if (!tensor) continue;
    if (fit_rounding(*tensor, device, model).explained()) return candidate.text;
    if (candidate.variant != Variant::fp16_accumulation || model.longest < 16) continue;
    // Another order of the additions gives other errors of the same size.
    if (same_error_distribution(bench, device, *tensor, fit, fit_rounding(bench, *tensor, model)))
      return "Errors have the size and spread of those of float16 accumulation.";
  }
  return difference_pattern(bench, device, fit);
}

void Explainer::explain(Comparison& comparison, const SumStatistics& sums, const Select& select, bool silent) {
  for (std::size_t i = 0; i < comparison.rows.size(); ++i) {
    DetailsRow& row = comparison.rows[i];
    const auto& [bench, device] = comparison.pairs[i];
    if (row.status != Status::warning && row.status != Status::error) continue;
    if (!bench.defined() || !device.defined() || bench.shape() != device.shape()) continue;
    if (!is_floating(bench.dtype()) || !is_floating(device.dtype()) || device.numel() == 0) continue;
    SumModel model;
    model.exact =
        select_standard(call_.parts.api, device.dtype(), false, Policy::per_api) == Standard::binary_consistency;
    RoundingFit fit = fit_rounding(bench, device, model);
    if (!fit.explained() && !model.exact) {
      model.longest = sums.longest;
      // Without sums the typical result says nothing about what lies behind one element.
      if (sums.longest > 1) fit = fit_rounding(bench, device, model);
    }
    if (!fit.explained() && !model.exact) {
      model.spread = spread(comparison, i, select);
      if (model.spread.defined()) fit = fit_rounding(bench, device, model);
    }
    const bool stored = !fit.explained() && !model.exact && stores_intermediates(comparison, i, model, fit, select);
    row.rounding_only = fit.explained();
    if (silent) continue;
    if (row.rounding_only) {
      row.message += stored ? "Explained by rounding: intermediate results are stored as " +
                                  std::string(name(device.dtype())) + "; at most " + number(fit.max_share) +
                                  " of their error bound.\n"
                            : explained_text(device.dtype(), model, fit);
      continue;
    }
    row.message += unexplained_text(device.numel(), fit);
    const std::string reason = finding(comparison, i, model, fit, select);
    if (!reason.empty()) row.message += reason + "\n";
  }
}

}  // namespace msrun
