// Results whose elements are each within their bound, but off by one factor, all of them together.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/compare/bounds/common_error.h"
#include "kernels/compare/bounds/constants.h"
#include "kernels/compare/bounds/estimates.h"
#include "kernels/compare/bounds/rounding_terms.h"
#include "kernels/compare/bounds/typical.h"
#include "kernels/tensor/changed_elements.h"
#include "runner/judge/evidence.h"
#include "runner/judge/noise.h"
#include "runner/judge/vetoes.h"

namespace msrun {
namespace {

// The factors that the errors of samples have in common, and between which those of a device may lie: it may err less
// than a sample does in the direction that all of them err in, and in both as chance lets them differ.
class CommonFactors {
 public:
  void add(double factor) {
    sum_ += factor;
    squares_ += factor * factor;
    ++count_;
  }

  double mean() const { return count_ > 0 ? sum_ / count_ : 0; }

  // The standard deviation; that of few samples, which may be alike by chance, is an eighth of their size at least.
  double deviation() const {
    if (count_ < 2) return std::sqrt(squares_);
    const double square = squares_ / count_;
    const double variance = std::max(square - mean() * mean(), 0.0) * count_ / (count_ - 1);
    return std::max(std::sqrt(variance), std::sqrt(square) / 8);
  }

 private:
  double sum_ = 0;
  double squares_ = 0;
  double count_ = 0;
};

bool is_measured(const ErrorBudget& budget) {
  return budget.spread.defined() || budget.noise.defined() || budget.with_stored.defined();
}

// What all elements of a row may err by together, relative to them.
double allowed_in_common(const RowCase& row) {
  const auto& [bench, device] = row.pair;
  const DType dtype = rounding::coarser(bench, device);
  if (dtype == DType::float32) return places_in_common * epsilon(dtype);
  const bool rounds_once = row.arithmetic.half_rounding == HalfRounding::nothing ||
                           (row.arithmetic.half_rounding == HalfRounding::between_kernels && is_one_kernel(row));
  return (rounds_once ? 1 : half_roundings_in_common) * epsilon(dtype) / 2;
}

bool is_held_to_common_error(const RowCase& row, const Explanation& judged) {
  const ErrorBudget& budget = judged.budget;
  // Who rounds operands or steps to a half type has been asked for it there.
  const bool is_asked = judged.operands != OperandRounding::none || !std::string_view(judged.in_half).empty();
  if (is_asked || budget.exact || row.call.materialised.unbounded || judged.fit.overflowed > 0) return false;
  const auto& [bench, device] = row.pair;
  const DType dtype = rounding::coarser(bench, device);
  if (is_half(dtype)) return true;
  // Without sums, and nothing measured, the bound of each element is as tight.
  if (dtype != DType::float32 || (budget.longest <= 1 && !is_measured(budget))) return false;
  // What a half type holds on the way errs as one.
  bool has_half = false;
  for_each_argument(row.call.materialised,
                    [&](const Tensor& tensor) { has_half = has_half || is_half(tensor.dtype()); });
  return !has_half;
}

// Whether the factors that samples computed so have in common are no larger than the scatter of their own elements,
// rows and indices makes likely, as many as there are independent ones.
bool have_factor_by_chance(const std::vector<Rounding>& roundings, const RowCase& row, std::size_t samples,
                           std::int64_t independent) {
  bool by_chance = true;
  for (const Rounding& rounding : roundings) {
    for (const Variations::Nearby& one : row.call.variations.nearby(rounding.how, samples, row.limit)) {
      const std::optional<Tensor> exact = row.of(one.bench);
      const std::optional<Tensor> rounded = row.of(one.rounded);
      if (!exact || !rounded) return false;
      const CommonError common = common_error(*exact, *rounded, independent);
      by_chance = by_chance && std::abs(common.factor) <= most_by_chance * common.deviation;
    }
  }
  return by_chance;
}

}  // namespace

bool has_factor_in_common(const RowCase& row, const Explanation& judged, const std::optional<Tensor>& in_half) {
  const auto& [bench, device] = row.pair;
  const double allowed = allowed_in_common(row);
  if (!may_have_common_error(bench, device, allowed) || !has_many_values(bench)) return false;
  // Statistics that so many terms make up are no more than there are such numbers of elements.
  const std::int64_t longest = std::max<std::int64_t>(judged.budget.longest, 1);
  const std::int64_t independent = device.numel() / longest;
  const CommonError common = common_error(
      bench, device, is_half(device.dtype()) ? std::max<std::int64_t>(independent, groups_of_half_types) : independent);
  const double slack = allowed + chance_of_common_error * common.deviation;
  if (std::abs(common.factor) <= slack) return false;
  // What sound arithmetic has in common, as that of rows which are alike, or of numbers that are stored on the way.
  Interval sound;
  const auto add = [&](const std::optional<Tensor>& exact, const std::optional<Tensor>& rounded) {
    if (exact && rounded) sound.reach(times_of_samples * common_factor(*exact, *rounded));
  };
  add(bench, row.computed_with({}));
  add(bench, in_half);
  for (const Variations::Nearby& one : row.call.variations.nearby({.rough = true}, samples_of_common_errors, row.limit))
    add(row.of(one.bench), row.of(one.rounded));
  return !sound.holds(common.factor, slack);
}

CommonErrors common_errors(const std::vector<Rounding>& roundings, const RowCase& row, std::size_t samples) {
  CommonErrors errors;
  for (const Rounding& rounding : roundings) {
    CommonFactors factors;
    for (const Variations::Nearby& one : row.call.variations.nearby(rounding.how, samples, row.limit)) {
      const std::optional<Tensor> exact = row.of(one.bench);
      const std::optional<Tensor> rounded = row.of(one.rounded);
      if (exact && rounded) factors.add(common_factor(*exact, *rounded));
    }
    const double mean = rounding.times * factors.mean();
    (mean < 0 ? errors.least : errors.most) += mean;
    errors.variance += std::pow(rounding.times * factors.deviation(), 2);
  }
  return errors;
}

bool has_common_error(const Tensor& bench, const ErrorBudget& budget, const std::vector<Rounding>& roundings,
                      const RowCase& row, std::size_t samples) {
  const Tensor& device = row.pair.device;
  double factor = common_factor(bench, device);
  if (budget.with_stored.defined()) {
    const double beside_stored = common_factor(budget.with_stored, device);
    if (std::abs(beside_stored) < std::abs(factor)) factor = beside_stored;
  }
  const double allowed = roundings_in_common * epsilon(device.dtype()) / 2;
  if (std::abs(factor) <= allowed || !has_many_values(bench)) return false;
  const CommonErrors expected = common_errors(roundings, row, samples);
  const auto is_beyond = [&](double by_chance) {
    return factor < expected.least - allowed - by_chance || factor > expected.most + allowed + by_chance;
  };
  if (is_beyond(times_of_common_error * std::sqrt(expected.variance))) return true;
  // Rows that err apart from each other have a factor in common by chance alone, and their scatter tells how large.
  const std::int64_t independent =
      std::max<std::int64_t>(device.numel() / std::max<std::int64_t>(budget.longest, 1), groups_of_half_types);
  return is_beyond(times_of_common_error * common_error(bench, device, independent).deviation) &&
         have_factor_by_chance(roundings, row, samples, independent);
}

namespace veto {

bool errs_in_common(const RowCase& row, const Explanation& judged) {
  return is_held_to_common_error(row, judged) && has_factor_in_common(row, judged);
}

}  // namespace veto
}  // namespace msrun
