// What sound arithmetic errs by for inputs beside those of the call.
#include <utility>
#include <vector>

#include "kernels/compare/bounds/estimates.h"
#include "runner/judge/evidence.h"
#include "runner/judge/noise.h"
#include "runner/judge/rules.h"

namespace msrun {

Tensor nearby_noise(const Variations::Perturbation& how, const RowCase& row, std::size_t samples, Tensor& lost) {
  const std::vector<Variations::Nearby>& nearby = row.call.variations.nearby(how, samples, row.limit);
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
  return row.limit == CostLimit::many ? estimate.noise() : steadied(estimate.noise());
}

bool measure_noise(const RowCase& row, std::size_t samples, bool rough, Explanation& judged) {
  const auto& [bench, device] = row.pair;
  // The benchmark of float64 is computed in the same arithmetic. Errors are in proportion to the unit roundoff.
  const bool in_float32 = device.dtype() == DType::float64 && bench.dtype() == DType::float64;
  Tensor noise = nearby_noise({.rough = rough, .in_float32 = in_float32}, row, samples, judged.budget.lost);
  if (in_float32) noise = combined_noise(noise, noise, 0, epsilon(DType::float64) / epsilon(DType::float32));
  // In its own dtypes a call of float64 and float32 tensors rounds to float32 what it makes of these alone.
  if (in_float32 && rough) noise = larger_noise(noise, nearby_noise({.rough = true}, row, samples, judged.budget.lost));
  // The float32 in which half types are computed, as their benchmark is, errs as seen from float64 alone.
  if (rough && is_half(device.dtype())) {
    const Tensor of_float32 = nearby_noise({.rough = true, .in_float32 = true}, row, samples, judged.budget.lost);
    if (of_float32.defined()) noise = combined_noise(noise, of_float32, 1, times_of_float32);
  }
  judged.budget.noise = std::move(noise);
  if (!judged.budget.noise.defined()) return false;
  // Beside elements that are lost are others that a quotient by infinity has made zero.
  if (judged.budget.lost.defined()) {
    if (std::optional<Tensor> sound = row.computed_with({})) judged.budget.with_stored = *sound;
  }
  judged.fit = fit_rounding(bench, device, judged.budget);
  judged.stored = judged.is_explained();
  return judged.stored;
}

namespace rule {

Answer noise_of_inputs(RowCase& row, Explanation& known) {
  return explained_if(measure_noise(row, first_noise_samples, false, known));
}

// Half types are computed in float32 as well, of which a place shows where terms cancel.
Answer noise_of_functions(RowCase& row, Explanation& known) {
  return explained_if(measure_noise(row, first_noise_samples, true, known));
}

Answer noise_by_more_samples(RowCase& row, Explanation& known) {
  return explained_if(measure_noise(row, most_noise_samples, true, known));
}

}  // namespace rule
}  // namespace msrun
