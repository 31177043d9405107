// Results of half types that a device rounds on the way: between its kernels, or after every step.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kernels/compare/estimates.h"
#include "runner/check/explain.h"
#include "runner/check/noise.h"

namespace msrun {
namespace {

// So many roundings of one number, a scale or the mean of a loss, may err in one direction. ...
constexpr double roundings_in_common = 3;
// ... Beyond them a device errs at most so many times as much as samples do, of which there are few.
constexpr double times_of_common_error = 8;

}  // namespace

bool Explainer::never_rounds_on_the_way(const Comparison& comparison, std::size_t row, const Select& select,
                                        const Judged& judged) {
  const DType dtype = comparison.pairs[row].device.dtype();
  return arithmetic_.half_rounding == HalfRounding::nothing || !is_half(dtype) ||
         errs_as_no_cpu_does(comparison, row, select, judged);
}

bool Explainer::is_one_kernel(const Comparison& comparison, std::size_t row) const {
  if (op_.traits().rounds_once) return true;
  if (!op_.traits().one_kernel || comparison.of_gradients) return false;
  // Arguments of another dtype are cast by a kernel before it.
  bool casts = comparison.pairs[row].device.dtype() != DType::bfloat16;
  for_each_argument(call_, [&](const Tensor& tensor) {
    casts = casts || (is_floating(tensor.dtype()) && tensor.dtype() != DType::bfloat16);
  });
  return !casts;
}

bool Explainer::rounds_on_the_way(const Comparison& comparison, std::size_t row, const Select& select,
                                  std::size_t samples, Judged& judged) {
  const Tensor& bench = comparison.pairs[row].bench;
  const Tensor& device = comparison.pairs[row].device;
  const DType dtype = device.dtype();
  // Errors are in proportion to the unit roundoff, and those of float32 can be computed.
  const double in_proportion = epsilon(dtype) / epsilon(DType::float32);
  const bool between_kernels = arithmetic_.half_rounding == HalfRounding::between_kernels;
  const bool one_kernel = between_kernels && is_one_kernel(comparison, row);
  // Of those that round once it depends on the call whether products are among its steps.
  if (one_kernel && !op_.traits().rounds_once) return false;
  Variations::Beside by_steps{.rough = true, .in_float32 = true, .stored = between_kernels};
  if (between_kernels && dtype == DType::float16) by_steps.smallest = 0x1p-24 / in_proportion;
  // Of the steps alone: another explanation is not to excuse what only they lose.
  Tensor lost = judged.model.lost.defined() ? judged.model.lost.clone() : Tensor();
  Tensor of_steps = noise_beside(by_steps, comparison, row, select, samples, lost);
  const bool wide_sums = between_kernels && of_steps.defined() && variations_.nearby(by_steps, 1).front().has_products;
  if (one_kernel && !wide_sums) return false;
  const bool adds_in_half = between_kernels && op_.traits().adds_in_half(comparison.of_gradients);
  SumModel model = judged.model;
  model.nearest = wide_sums && rounds_once_ && !variations_.nearby(by_steps, 1).front().adds_products;
  // A step that overflows is one of those.
  std::optional<Tensor> sound = computed_with({}, comparison, row, select);
  if (sound && !is_acceptable(fit_rounding(bench, *sound, model), bench.numel())) model.with_stored = std::move(*sound);
  const auto explains = [&](const Tensor& noise, const char* what, const std::vector<Rounding>& roundings) {
    if (!noise.defined() || !errs_like(bench, device, noise, times_of_noise)) return false;
    model.lost = lost;
    model.noise = noise_of_many(noise, bench, dtype);
    RoundingFit fit = fit_rounding(bench, device, model);
    if ((wide_sums || adds_in_half) && !rounds_once_ && fit.beyond > 0 && fit.beyond <= most_outliers(judged.count)) {
      model.noise = noise_of_outliers(noise, bench, dtype);
      fit = fit_rounding(bench, device, model);
    }
    if (!is_acceptable(fit, judged.count) || has_common_error(model, roundings, comparison, row, select, samples))
      return false;
    judged.model = model;
    judged.fit = fit;
    judged.in_half = what;
    return true;
  };
  // What they are formed in is float32, of which a place shows where steps cancel to nothing.
  const Variations::Beside in_float32{.rough = true, .in_float32 = true};
  const Tensor of_float32 = noise_beside(in_float32, comparison, row, select, samples, lost);
  of_steps = combined_noise(of_steps, of_float32, in_proportion, times_of_float32);
  // Steps that leave the range of float16, at either end, do not leave that of float32.
  const Variations::Beside composed{.rough = true, .composed = true};
  if (dtype == DType::float16)
    of_steps = larger_noise(of_steps, noise_beside(composed, comparison, row, select, samples, lost));
  std::vector<Rounding> roundings{{by_steps, in_proportion}, {in_float32, times_of_float32}};
  if (dtype == DType::float16) roundings.push_back({composed, 1});
  if (between_kernels && explains(of_steps, "intermediate results", roundings)) return true;
  if (wide_sums || (between_kernels && !adds_in_half)) return false;
  const Accumulator accumulator = dtype == DType::float16 ? Accumulator::float16 : Accumulator::bfloat16;
  const Variations::Beside narrow{{.summation = {.accumulator = accumulator}}};
  Tensor of_sums = noise_beside(narrow, comparison, row, select, samples, lost);
  if (model.longest > 1) of_sums = in_any_order(std::move(of_sums), model.spread, dtype);
  if (model.longest > 1 && explains(of_sums, "partial sums", {{narrow, 1}})) return true;
  roundings.push_back({narrow, 1});
  return explains(combined_noise(of_sums, of_steps, 1, 1), "intermediate results", roundings);
}

bool Explainer::has_common_error(const SumModel& model, const std::vector<Rounding>& roundings,
                                 const Comparison& comparison, std::size_t row, const Select& select,
                                 std::size_t samples) {
  const auto& [bench, device] = comparison.pairs[row];
  double factor = std::abs(common_factor(bench, device));
  if (model.with_stored.defined()) factor = std::min(factor, std::abs(common_factor(model.with_stored, device)));
  const double allowed = roundings_in_common * epsilon(device.dtype()) / 2;
  if (factor <= allowed || !has_many_values(bench)) return false;
  double squares = 0;
  for (const auto& [how, times] : roundings) {
    double of_samples = 0;
    std::size_t count = 0;
    for (const Variations::Nearby& one : variations_.nearby(how, samples)) {
      const std::optional<Tensor> exact = tensor_of_row(one.bench, comparison, row, select);
      const std::optional<Tensor> rounded = tensor_of_row(one.rounded, comparison, row, select);
      if (!exact || !rounded) continue;
      const double of_sample = times * common_factor(*exact, *rounded);
      of_samples += of_sample * of_sample;
      ++count;
    }
    if (count > 0) squares += of_samples / static_cast<double>(count);
  }
  return factor > allowed + times_of_common_error * std::sqrt(squares);
}

}  // namespace msrun
