// Results whose elements are each within their bound, but off by one factor, all of them together.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/compare/common_error.h"
#include "kernels/compare/estimates.h"
#include "kernels/compare/rounding_terms.h"
#include "kernels/compare/typical.h"
#include "kernels/tensor/changed_elements.h"
#include "runner/check/explain.h"
#include "runner/check/noise.h"

namespace msrun {
namespace {

// What constants, reciprocals and approximations of functions may make all elements of float32 err by, in places.
constexpr double places_in_common = 8;
// Roundings to a half type of one number on which all elements depend, of a device that rounds between its steps.
constexpr double half_roundings_in_common = 3;
// What errors have in common by chance is at most so many times its deviation.
constexpr double times_of_chance = 8;
// Sound computations of the call are few: a device may err so many times as much in common as they do.
constexpr double times_of_samples = 2;
constexpr std::size_t samples_of_common_errors = 2;
// What errors of rounded operands have in common may be so large a share of the roundoff beside what is computed.
constexpr double share_of_roundoff = 1.0 / 4;

// The numbers between which a factor lies.
struct Interval {
  double least = 0;
  double most = 0;

  void reach(double factor) {
    least = std::min(least, factor);
    most = std::max(most, factor);
  }
  bool holds(double factor, double slack) const { return factor >= least - slack && factor <= most + slack; }
};

bool is_measured(const SumModel& model) {
  return model.spread.defined() || model.noise.defined() || model.with_stored.defined();
}

}  // namespace

double Explainer::allowed_in_common(const RowCase& row) const {
  const auto& [bench, device] = row.pair;
  const DType dtype = rounding::coarser(bench, device);
  if (dtype == DType::float32) return places_in_common * epsilon(dtype);
  const bool rounds_once = arithmetic_.half_rounding == HalfRounding::nothing ||
                           (arithmetic_.half_rounding == HalfRounding::between_kernels && is_one_kernel(row));
  return (rounds_once ? 1 : half_roundings_in_common) * epsilon(dtype) / 2;
}

bool Explainer::is_held_to_common_error(const RowCase& row, const Judged& judged) const {
  const SumModel& model = judged.model;
  // Who rounds operands or steps to a half type has been asked for it there.
  const bool is_asked = judged.operands != OperandRounding::none || !std::string_view(judged.in_half).empty();
  if (is_asked || model.exact || call_.unbounded || judged.fit.overflowed > 0) return false;
  const auto& [bench, device] = row.pair;
  const DType dtype = rounding::coarser(bench, device);
  if (is_half(dtype)) return true;
  // Without sums, and nothing measured, the bound of each element is as tight.
  if (dtype != DType::float32 || (model.longest <= 1 && !is_measured(model))) return false;
  // What a half type holds on the way errs as one.
  bool has_half = false;
  for_each_argument(call_, [&](const Tensor& tensor) { has_half = has_half || is_half(tensor.dtype()); });
  return !has_half;
}

bool Explainer::errs_in_common(const RowCase& row, const Judged& judged) {
  return is_held_to_common_error(row, judged) && has_factor_in_common(row, judged);
}

bool Explainer::has_factor_in_common(const RowCase& row, const Judged& judged, const std::optional<Tensor>& in_half) {
  const auto& [bench, device] = row.pair;
  const double allowed = allowed_in_common(row);
  if (!may_have_common_error(bench, device, allowed) || !has_many_values(bench)) return false;
  // Statistics that so many terms make up are no more than there are such numbers of elements.
  const std::int64_t longest = std::max<std::int64_t>(judged.model.longest, 1);
  const std::int64_t independent = device.numel() / longest;
  const CommonError common =
      common_error(bench, device, is_half(device.dtype()) ? std::max(independent, groups_of_half_types) : independent);
  const double slack = allowed + times_of_chance * common.deviation;
  if (std::abs(common.factor) <= slack) return false;
  // What sound arithmetic has in common, as that of rows which are alike, or of numbers that are stored on the way.
  Interval sound;
  const auto add = [&](const std::optional<Tensor>& exact, const std::optional<Tensor>& rounded) {
    if (exact && rounded) sound.reach(times_of_samples * common_factor(*exact, *rounded));
  };
  add(bench, computed_with({}, row));
  add(bench, in_half);
  for (const Variations::Nearby& one : variations_.nearby({.rough = true}, samples_of_common_errors))
    add(row.of(one.bench), row.of(one.rounded));
  return !sound.holds(common.factor, slack);
}

void Explainer::refuse_common_error(const RowCase& row, Judged& judged) {
  const auto& [bench, device] = row.pair;
  SumModel nothing;
  nothing.exact = true;
  RoundingFit fit = fit_rounding(bench, device, nothing);
  fit.max_share = 1;
  fit.shares_beyond.assign(fit.shares_beyond.size(), 1);
  judged.fit = std::move(fit);
  judged.on_steps = 0;
  judged.alternatives = 0;
  judged.in_half = "";
  if (!judged.part.defined()) return;
  // What is known of the elements of a part is of another shape.
  SumModel of_all;
  of_all.longest = judged.model.longest;
  of_all.chain = judged.model.chain;
  of_all.of_logarithms = judged.model.of_logarithms;
  judged.model = std::move(of_all);
  judged.part = {};
}

bool Explainer::errs_like_operands(const RowCase& row, const Tensor& rounded, double times) {
  const auto& [bench, device] = row.pair;
  NoiseEstimate of_operands(bench.shape());
  of_operands.add(bench, rounded);
  if (!errs_like(bench, device, of_operands.noise(), times)) return false;
  // What is cut is too small, of what is rounded no more than of the exact operands.
  const double roundoff = roundoff_of_operand(operands_);
  Interval sound;
  sound.reach(common_factor(bench, rounded));
  if (operands_ != OperandRounding::truncated_tf32) sound.reach(-2 * roundoff);
  const double factor = common_factor(bench, device);
  const double slack = share_of_roundoff * roundoff;
  if (sound.holds(factor, slack)) return true;
  const auto nearest = operands_ == OperandRounding::truncated_tf32 ? OperandRounding::tf32 : operands_;
  const std::optional<Tensor> to_nearest = computed_with({.summation = {}, .operands = {nearest, nearest}}, row);
  if (to_nearest) sound.reach(common_factor(bench, *to_nearest));
  return sound.holds(factor, slack);
}

bool Explainer::rounds_operands_of_large(const RowCase& row, Judged& judged) {
  if (operands_ == OperandRounding::none || op_.traits().multiply_adds == nullptr) return false;
  const Variations::FewTimes few(variations_);
  const auto& [bench, device] = row.pair;
  if (few.allows()) {
    const std::optional<Tensor> rounded = computed_with({.summation = {}, .operands = {operands_, operands_}}, row);
    return rounded && errs_like_operands(row, *rounded, times_of_operands()) && grant_operands(row, judged);
  }
  // Cut operands make every term smaller by as much as one roundoff, and less than half as much apart from another.
  const double roundoff = roundoff_of_operand(operands_);
  const double typical = median(finite_magnitudes(rounding::sampled(bench.contiguous())));
  const Tensor noise = changed_elements(bench.to(DType::float64), [&](double value, std::int64_t) {
    return std::isfinite(value) ? roundoff * (std::abs(value) + typical) / 2 : 0;
  });
  const Interval sound{.least = (operands_ == OperandRounding::truncated_tf32 ? -1 : -2) * roundoff, .most = 0};
  return errs_like(bench, device, noise, times_of_operands()) &&
         sound.holds(common_factor(bench, device), share_of_roundoff * roundoff) && grant_operands(row, judged);
}

}  // namespace msrun
