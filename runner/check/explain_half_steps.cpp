// Results of half types that a device rounds on the way: between its kernels, or after every step.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/base/replaced.h"
#include "kernels/compare/common_error.h"
#include "kernels/compare/error_shape.h"
#include "kernels/compare/estimates.h"
#include "kernels/tensor/changed_elements.h"
#include "runner/check/explain.h"
#include "runner/check/narrow_sums.h"
#include "runner/check/noise.h"

namespace msrun {
namespace {

// So many roundings of one number, a scale or the mean of a loss, may err in one direction. ...
constexpr double roundings_in_common = 3;
// ... Beyond them a device errs at most so many times as much as samples do, of which there are few.
constexpr double times_of_common_error = 8;
// Samples whose factor is so many times what their own scatter makes likely have it by more than chance.
constexpr double most_by_chance = 4;
// Where errors lie to one side, they are so many times what samples have in common at most.
constexpr double times_of_leaning = 1.5;
// The errors of all elements together are at most so many times those of a product whose parts are stored, because the
// sums of parts may be stored, too.
constexpr double times_of_parts = 2;
// The errors of a piece of the result are at most so many times those of others, in the mean square.
constexpr double most_concentration = 32;

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

// The numbers from exact to narrow that lie next to the device's; exact ones where a narrow one is not finite.
Tensor nearest_between(const Tensor& exact, const Tensor& narrow, const Tensor& device) {
  const Tensor ends = narrow.to(DType::float64).contiguous();
  const Tensor values = device.to(DType::float64).contiguous();
  return changed_elements(exact.to(DType::float64), [&](double value, std::int64_t i) {
    const double end = ends.data<double>()[i];
    if (!std::isfinite(end) || !std::isfinite(value) || std::isnan(values.data<double>()[i])) return value;
    return std::clamp(values.data<double>()[i], std::min(value, end), std::max(value, end));
  });
}

}  // namespace

bool Explainer::never_rounds_on_the_way(const RowCase& row, const Judged& judged) {
  const DType dtype = row.pair.device.dtype();
  return arithmetic_.half_rounding == HalfRounding::nothing || !is_half(dtype) || errs_as_no_cpu_does(row, judged);
}

bool Explainer::is_one_kernel(const RowCase& row) const {
  if (op_.traits().rounds_once) return true;
  if (!op_.traits().one_kernel || row.of_gradients) return false;
  // Arguments of another dtype are cast by a kernel before it.
  bool casts = row.pair.device.dtype() != DType::bfloat16;
  for_each_argument(call_, [&](const Tensor& tensor) {
    casts = casts || (is_floating(tensor.dtype()) && tensor.dtype() != DType::bfloat16);
  });
  return !casts;
}

bool Explainer::sums_over(std::int64_t elements) const {
  return std::ranges::any_of(call_.gradients, [elements](const Value& gradient) {
    const auto* tensor = gradient.get<Tensor>();
    return tensor != nullptr && tensor->numel() > elements;
  });
}

bool Explainer::rounds_as_the_device(const RowCase& row, std::size_t samples, Judged& judged) {
  if (never_rounds_on_the_way(row, judged)) return false;
  if (rounds_on_the_way(row, samples, 1, judged)) return true;
  if (arithmetic_.half_rounding != HalfRounding::every_step) return false;
  // Where sums stand still that are added one by one, those of vectors go on.
  if (sums_stand_still(row, samples, 1) && !sums_stand_still(row, samples, lanes_of_vectors) &&
      rounds_on_the_way(row, samples, lanes_of_vectors, judged))
    return true;
  const Replaced<HalfRounding> between(arithmetic_.half_rounding, HalfRounding::between_kernels);
  return rounds_on_the_way(row, samples, 1, judged);
}

bool Explainer::rounds_on_the_way(const RowCase& row, std::size_t samples, std::int64_t lanes, Judged& judged) {
  const Tensor& bench = row.pair.bench;
  const Tensor& device = row.pair.device;
  const DType dtype = device.dtype();
  // Errors are in proportion to the unit roundoff, and those of float32 can be computed.
  const double in_proportion = epsilon(dtype) / epsilon(DType::float32);
  const bool between_kernels = arithmetic_.half_rounding == HalfRounding::between_kernels;
  const bool one_kernel = between_kernels && is_one_kernel(row);
  // Of those that round once it depends on the call whether products are among its steps.
  if (one_kernel && !op_.traits().rounds_once) return false;
  const bool known = op_.traits().adds_in_half(row.of_gradients);
  // Where sums of a half type stand still, a device that gives the result at all has added in float32.
  const bool adds_wide = between_kernels || (!known && sums_stand_still(row, samples, lanes));
  Variations::Beside by_steps{.rough = true, .in_float32 = true, .stored = adds_wide || known};
  if (between_kernels && dtype == DType::float16) by_steps.smallest = 0x1p-24 / in_proportion;
  // Of the steps alone: another explanation is not to excuse what only they lose.
  Tensor lost = judged.model.lost.defined() ? judged.model.lost.clone() : Tensor();
  Tensor of_steps = noise_beside(by_steps, row, samples, lost);
  const bool wide_sums = between_kernels && of_steps.defined() && variations_.nearby(by_steps, 1).front().has_products;
  if (one_kernel && !wide_sums) return false;
  const bool adds_in_half = between_kernels && known;
  SumModel model = judged.model;
  model.nearest = wide_sums && rounds_once_ && !variations_.nearby(by_steps, 1).front().adds_products;
  // A step that overflows is one of those. Sums in bfloat16 do not, and how much they may lose term by term is known.
  std::optional<Tensor> sound = computed_with({}, row);
  const bool may_overflow = !known || dtype == DType::float16;
  if (sound && may_overflow && !is_acceptable(fit_rounding(bench, *sound, model), bench.numel()))
    model.with_stored = std::move(*sound);
  const auto explains = [&](const Tensor& numbers, const Tensor& noise, const char* what,
                            const std::vector<Rounding>& roundings) {
    if (!noise.defined()) return false;
    model.lost = lost;
    model.noise = noise_of_many(noise, numbers, dtype);
    RoundingFit fit = fit_rounding(numbers, device, model);
    if (&numbers == &bench && fit.beyond > 0) judged.beside_steps.emplace(model, fit);
    if (!errs_like(numbers, device, noise, times_of_noise)) return false;
    if ((wide_sums || adds_in_half) && !rounds_once_ && fit.beyond > 0 && fit.beyond <= most_outliers(judged.count)) {
      model.noise = noise_of_outliers(noise, numbers, dtype);
      fit = fit_rounding(numbers, device, model);
    }
    if (!is_acceptable(fit, judged.count) || has_common_error(numbers, model, roundings, row, samples) ||
        (!between_kernels && !known &&
         errs_in_one_place(numbers, device, noise, common_errors(roundings, row, samples))))
      return false;
    judged.model = model;
    judged.fit = fit;
    judged.in_half = what;
    return true;
  };
  std::vector<Rounding> roundings{{by_steps, in_proportion}};
  of_steps = noise_around_steps(std::move(of_steps), row, samples, lost, roundings);
  if (adds_wide && explains(bench, of_steps, "intermediate results", roundings)) return true;
  // Scores that were stored are others than those of the benchmark; what follows from them errs as it does there.
  if (wide_sums && !rounds_once_) {
    for (const Tensor& stored : with_stored_steps(row)) {
      if (explains(stored, of_steps, "intermediate results", roundings)) return true;
    }
  }
  if (wide_sums || (adds_wide && !adds_in_half)) return false;
  const Variations::Beside narrow{.arithmetic = narrow_sums(dtype, lanes)};
  Tensor of_sums = noise_beside(narrow, row, samples, lost);
  if (!of_sums.defined()) return false;
  // Devices that are known to add up so may lose whatever such sums do; of others it is a fault.
  const std::optional<Tensor> one_by_one = known ? computed_with(narrow.arithmetic, row) : std::nullopt;
  const Tensor exact = one_by_one ? nearest_between(bench, *one_by_one, device) : bench;
  // A gradient of fewer elements than a result has is a sum of what these give, as that of a bias.
  const bool sums_alone = known || model.adds_terms || (row.of_gradients && sums_over(bench.numel()));
  const Tensor most = most_of_narrow_sums(exact, model, sums_alone, dtype);
  Rounding of_additions{.how = narrow};
  if (model.longest > 1) of_sums = in_any_order(std::move(of_sums), model.spread, dtype);
  of_sums = smaller_noise(of_sums, most);
  if (model.longest > 1 && explains(exact, of_sums, "partial sums", {of_additions})) return true;
  roundings.push_back(of_additions);
  return explains(exact, combined_noise(of_sums, of_steps, 1, 1), "intermediate results", roundings);
}

Tensor Explainer::noise_around_steps(Tensor of_steps, const RowCase& row, std::size_t samples, Tensor& lost,
                                     std::vector<Rounding>& roundings) {
  // What they are formed in is float32, of which a place shows where steps cancel to nothing.
  const Variations::Beside in_float32{.rough = true, .in_float32 = true};
  const Tensor of_float32 = noise_beside(in_float32, row, samples, lost);
  of_steps = combined_noise(of_steps, of_float32, roundings.front().times, times_of_float32);
  roundings.push_back({in_float32, times_of_float32});
  if (row.pair.device.dtype() != DType::float16) return of_steps;
  // Steps that leave the range of float16, at either end, do not leave that of float32.
  const Variations::Beside composed{.rough = true, .composed = true};
  roundings.push_back({composed, 1});
  return larger_noise(of_steps, noise_beside(composed, row, samples, lost));
}

bool Explainer::sums_stand_still(const RowCase& row, std::size_t samples, std::int64_t lanes) {
  double sum = 0;
  double count = 0;
  const Variations::Beside narrow{.arithmetic = narrow_sums(row.pair.device.dtype(), lanes)};
  for (const Variations::Nearby& one : variations_.nearby(narrow, samples)) {
    const std::optional<Tensor> exact = row.of(one.bench);
    const std::optional<Tensor> rounded = row.of(one.rounded);
    if (!exact || !rounded) continue;
    sum += common_factor(*exact, *rounded);
    ++count;
  }
  return std::abs(sum) > most_lost_by_rounding * count;
}

bool Explainer::errs_in_one_place(const Tensor& bench, const Tensor& device, const Tensor& noise,
                                  const CommonErrors& expected) const {
  if (takes_positions_ || !has_many_values(bench)) return false;
  const ErrorShape shape = shape_of_errors(bench, device, noise);
  if (shape.concentration > most_concentration) return true;
  // To the side to which such arithmetic leads its results, they may lie. Samples show it of operators that are one
  // sum; of others kernels have steps that samples have not.
  if (!op_.traits().rounds_once) return false;
  const double factor = common_factor(bench, device);
  const double allowed = roundings_in_common * epsilon(device.dtype()) / 2;
  const bool has_factor =
      factor < times_of_leaning * expected.least - allowed || factor > times_of_leaning * expected.most + allowed;
  return has_factor && shape.lean > 1;
}

bool Explainer::stores_composed_steps(const RowCase& row, Judged& judged) {
  std::optional<DType> half;
  for_each_argument(call_, [&](const Tensor& tensor) {
    if (is_half(tensor.dtype())) half = tensor.dtype();
  });
  if (arithmetic_.half_rounding == HalfRounding::nothing || !half) return false;
  SumModel model = judged.model;
  model.nearest = false;
  for (const Tensor& stored : with_stored_steps(row)) {
    RoundingFit fit = fit_rounding(stored, row.pair.device, model, FitUntil::first_beyond);
    if (!fit.explained()) continue;
    judged.model = std::move(model);
    judged.fit = std::move(fit);
    judged.stored = true;
    judged.stored_as = half;
    return true;
  }
  return false;
}

std::vector<Tensor> Explainer::with_stored_steps(const RowCase& row) {
  std::vector<Tensor> results;
  const std::optional<Tensor> plain = computed_with({}, row);
  if (!plain) return results;
  for (const Evaluation& evaluation : variations_.with_stored_steps()) {
    std::optional<Tensor> stored = row.of(evaluation);
    if (stored && !bitwise_equal(*stored, *plain)) results.push_back(std::move(*stored));
  }
  return results;
}

bool Explainer::stores_parts(const RowCase& row, std::size_t samples, Judged& judged) {
  const auto& [bench, device] = row.pair;
  const OperatorTraits& traits = op_.traits();
  const bool is_product =
      traits.rounds_once && traits.multiply_adds != nullptr && traits.operand_setting == OperandSetting::products;
  if (!is_product || !arithmetic_.stored_parts.of(device.dtype()) || !judged.model.spread.defined()) return false;
  if (errs_as_no_cpu_does(row, judged)) return false;
  SumModel model = judged.model;
  model.nearest = false;
  model.noise = noise_of_parts(bench, model.spread, device.dtype());
  if (!errs_like(bench, device, model.noise, times_of_parts)) return false;
  RoundingFit fit = fit_rounding(bench, device, model);
  if (!is_acceptable(fit, judged.count) || has_common_error(bench, model, {}, row, samples)) return false;
  judged.model = std::move(model);
  judged.fit = std::move(fit);
  judged.in_half = "partial sums";
  return true;
}

bool Explainer::is_rounding_on_a_cpu(RowCase row) {
  if (arithmetic_.device_is_known || !is_half(row.pair.device.dtype())) return false;
  const Replaced<DeviceArithmetic> processor(arithmetic_, {.half_rounding = HalfRounding::every_step});
  const Replaced<OperandRounding> operands(operands_, OperandRounding::none);
  const Judged judged = judge(row);
  return judged.is_explained() && !errs_in_common(row, judged) && !is_otherwise_chosen(row, judged);
}

bool Explainer::has_common_error(const Tensor& bench, const SumModel& model, const std::vector<Rounding>& roundings,
                                 const RowCase& row, std::size_t samples) {
  const Tensor& device = row.pair.device;
  double factor = common_factor(bench, device);
  if (model.with_stored.defined()) {
    const double beside_stored = common_factor(model.with_stored, device);
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
      std::max(device.numel() / std::max<std::int64_t>(model.longest, 1), groups_of_half_types);
  return is_beyond(times_of_common_error * common_error(bench, device, independent).deviation) &&
         have_factor_by_chance(roundings, row, samples, independent);
}

bool Explainer::have_factor_by_chance(const std::vector<Rounding>& roundings, const RowCase& row, std::size_t samples,
                                      std::int64_t independent) {
  bool by_chance = true;
  for (const Rounding& rounding : roundings) {
    for (const Variations::Nearby& one : variations_.nearby(rounding.how, samples)) {
      const std::optional<Tensor> exact = row.of(one.bench);
      const std::optional<Tensor> rounded = row.of(one.rounded);
      if (!exact || !rounded) return false;
      const CommonError common = common_error(*exact, *rounded, independent);
      by_chance = by_chance && std::abs(common.factor) <= most_by_chance * common.deviation;
    }
  }
  return by_chance;
}

Explainer::CommonErrors Explainer::common_errors(const std::vector<Rounding>& roundings, const RowCase& row,
                                                 std::size_t samples) {
  CommonErrors errors;
  for (const Rounding& rounding : roundings) {
    CommonFactors factors;
    for (const Variations::Nearby& one : variations_.nearby(rounding.how, samples)) {
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

}  // namespace msrun
