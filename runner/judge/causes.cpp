// What the numbers of a result that rounding does not explain tell about the cause.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/compare/bounds/constants.h"
#include "kernels/compare/diagnosis/findings.h"
#include "runner/judge/causes.h"
#include "runner/judge/evidence.h"

namespace msrun {
namespace {

// Below, that arithmetic of some kind gives the device's elements could be chance.
constexpr std::int64_t enough_elements = 8;

// A quarter of the output at most, in a regular place.
bool is_in_one_place(const DifferenceMap& map) {
  const bool regular = map.kind != DifferenceMap::Kind::scattered && map.kind != DifferenceMap::Kind::everywhere;
  return regular && map.wrong * 4 <= map.elements;
}

// Whether an element that is not explained is a number other than 0. Zeros, infinities and NaN are what many ways of
// adding come to where results leave the range, and say nothing about which of them it was.
bool differs_in_numbers(const Tensor& device, const RoundingFit& fit) {
  if (fit.misrounded > 0) return true;
  const Tensor values = device.to(DType::float64).contiguous();
  const double* const all = values.data<double>();
  for (std::size_t i = 0; i < fit.is_beyond.size(); ++i) {
    if (fit.is_beyond[i] && std::isfinite(all[i]) && all[i] != 0) return true;
  }
  return false;
}

// How many different numbers a device has in place of what is not explained or not to nearest: equal ones, as of rows
// that are alike, are one observation.
std::int64_t different_elements(const Tensor& device, const RoundingFit& fit) {
  const Tensor values = device.to(DType::float64).contiguous();
  const auto* value = values.data<double>();
  std::vector<double> found;
  for (std::size_t i = 0; i < static_cast<std::size_t>(device.numel()); ++i) {
    const bool beyond = i < fit.is_beyond.size() && fit.is_beyond[i];
    const bool misrounded = i < fit.is_misrounded.size() && fit.is_misrounded[i];
    if ((beyond || misrounded) && !std::isnan(value[i])) found.push_back(value[i]);
  }
  std::ranges::sort(found);
  return std::unique(found.begin(), found.end()) - found.begin();
}

// How many elements of both are equal.
std::int64_t equal_elements(const Tensor& first, const Tensor& second) {
  const Tensor a = first.to(DType::float64).contiguous();
  const Tensor b = second.to(DType::float64).contiguous();
  std::int64_t equal = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) equal += a.data<double>()[i] == b.data<double>()[i] ? 1 : 0;
  return equal;
}

// Whether numbers of float32 are as narrow as the sums that they are said to be. Of those of half types nothing tells.
bool may_be_half_sums(const Tensor& device) {
  if (device.dtype() != DType::float32) return false;
  const Tensor narrow = device.to(DType::float16);
  return static_cast<double>(equal_elements(narrow, device)) >=
         share_of_truncated * static_cast<double>(device.numel());
}

// Whether an arithmetic that a device may have gives its result, with more than chance for evidence.
bool gives_result(const Arithmetic& arithmetic, const Tensor& computed, const Tensor& device, const RoundingFit& fit,
                  const ErrorBudget& budget) {
  if (evidence_bits(fit) < enough_bits || !rounding_explains(computed, device, budget)) return false;
  // Any error of about half a place looks like truncation of what has no more places.
  if (!arithmetic.rounds_to_zero || !is_half(device.dtype())) return true;
  return static_cast<double>(equal_elements(computed, device)) >=
         share_of_truncated * static_cast<double>(device.numel());
}

}  // namespace

std::string finding(const RowCase& row, const DifferenceMap& map, const Explanation& judged) {
  const auto& [bench, device] = row.pair;
  const ErrorBudget& budget = judged.budget;
  const RoundingFit& fit = judged.fit;
  struct Candidate {
    Arithmetic arithmetic;
    const char* text;
  };
  static constexpr std::array candidates{
      Candidate{{.summation = {}, .operands = {OperandRounding::hf32, OperandRounding::hf32}},
                "Inputs rounded to HF32: computed so, the call gives this result."},
      Candidate{{.summation = {}, .operands = {OperandRounding::tf32, OperandRounding::tf32}},
                "Inputs rounded to TF32: computed so, the call gives this result."},
      Candidate{{.summation = {}, .operands = {OperandRounding::truncated_tf32, OperandRounding::truncated_tf32}},
                "Inputs cut to TF32: computed so, the call gives this result."},
      Candidate{{.summation = {.accumulator = Accumulator::float16}},
                "Errors are those of float16 accumulation: computed so, the call gives this result."},
      Candidate{{.summation = {.accumulator = Accumulator::bfloat16}},
                "Errors are those of bfloat16 accumulation: computed so, the call gives this result."},
      Candidate{{.summation = {}, .flush_subnormals = true},
                "Denormals flushed: computed so, the call gives this result."},
      Candidate{{.summation = {}, .rounds_to_zero = true},
                "Results are truncated, not rounded to nearest: computed so, the call gives this result."},
      Candidate{{.summation = {.drops_last = true}},
                "One of K products is missing: computed without the last, the call gives this result."},
  };
  // Another arithmetic is not to be excused by the steps of this one.
  const ErrorBudget& without_steps = judged.without_steps ? judged.without_steps->first : budget;
  const std::optional<Tensor> sound = row.computed_with({});
  const bool in_numbers = differs_in_numbers(device, fit);
  std::string nearest;  // the operands that leave fewest elements open
  std::int64_t least_beyond = std::max<std::int64_t>(fit.beyond, 1);
  std::string like_float16;  // a guess, which what is known of a cause goes before
  for (const Candidate& candidate : candidates) {
    // Sums of another kind are formed term by term, which takes its time, and go wrong all over the output.
    const bool other_sums = candidate.arithmetic.summation != Summation{} || candidate.arithmetic.rounds_to_zero;
    if (other_sums && (is_in_one_place(map) || !in_numbers)) continue;
    const std::optional<Tensor> tensor = row.computed_with(candidate.arithmetic);
    // A fault that changes nothing is no cause.
    if (!tensor || (sound && bitwise_equal(*sound, *tensor))) continue;
    if (gives_result(candidate.arithmetic, *tensor, device, fit, without_steps)) return candidate.text;
    if (candidate.arithmetic.operands != Operands{}) {
      // Which way halves are rounded differs, and of a long sum some term is a half.
      const std::int64_t beyond = fit_rounding(*tensor, device, budget).beyond;
      if (beyond < least_beyond && beyond * 8 <= fit.beyond) {
        least_beyond = beyond;
        nearest = candidate.text;
      }
      continue;
    }
    if (candidate.arithmetic.summation.accumulator != Accumulator::float16 || budget.longest < 16) continue;
    // Another order of the additions gives other errors of the same size, which of anything but a sum say nothing.
    if (!budget.adds_terms || !may_be_half_sums(device)) continue;
    if (same_error_distribution(bench, device, *tensor, fit, fit_rounding(bench, *tensor, budget)))
      like_float16 = "Errors have the size and spread of those of float16 accumulation.";
  }
  if (!nearest.empty()) {
    nearest.resize(nearest.size() - 1);
    return nearest + " at " + std::to_string(device.numel() - least_beyond) + " of " + std::to_string(device.numel()) +
           " elements.";
  }
  return difference_pattern(bench, device, fit, budget, map, [&] {
    std::string altered = altered_call(row, judged);
    if (altered.empty()) altered = other_number(row, judged);
    if (altered.empty() && fit.beyond >= enough_elements) altered = half_of_rows(row);
    return altered.empty() ? like_float16 : altered;
  });
}

bool errs_as_no_cpu_does(const RowCase& row, const Explanation& judged) {
  const Tensor& device = row.pair.device;
  if (judged.fit.beyond + judged.fit.misrounded < enough_elements) return false;
  if (different_elements(device, judged.fit) < enough_elements) return false;
  const std::optional<Tensor> sound = row.computed_with({});
  static constexpr std::array faults{Arithmetic{.summation = {.accumulator = Accumulator::float16}},
                                     Arithmetic{.summation = {.drops_last = true}},
                                     Arithmetic{.summation = {}, .rounds_to_zero = true}};
  return std::ranges::any_of(faults, [&](const Arithmetic& arithmetic) {
    // The only one that a CPU may have, for float16.
    if (device.dtype() == DType::float16 && arithmetic.summation.accumulator == Accumulator::float16) return false;
    const std::optional<Tensor> tensor = row.computed_with(arithmetic);
    // Every number that is rounded is a neighbour of one that is cut, and a sound device has more of the rounded ones.
    const bool is_sounder = arithmetic.rounds_to_zero && tensor && sound && sound->shape() == device.shape() &&
                            equal_elements(*sound, device) > equal_elements(*tensor, device);
    return tensor && !(sound && bitwise_equal(*sound, *tensor)) && !is_sounder &&
           rounding_explains(*tensor, device, judged.budget);
  });
}

}  // namespace msrun
