#include "runner/judge/step_sides.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/compare/bounds/constants.h"
#include "kernels/tensor/changed_elements.h"

namespace msrun {
namespace {

// The compared tensors for arguments that are changed by this relative amount: each up and down, and of several the
// second against the first. Gradients of the outputs go with the first: were they changed by themselves, every move of
// the arguments would be seen twice, and a step taken for a slope. Beside what half types round they are not changed.
std::vector<Tensor> moved(const Operator& op, const MaterialisedCall& call, const EvaluationOptions& benchmark,
                          double change, const RowOf& row, bool with_gradients) {
  std::vector<Tensor> results;
  const std::int64_t arguments = floating_arguments(call);
  for (int direction = 0; direction < (arguments > 1 ? 4 : 2); ++direction) {
    std::int64_t number = 0;
    EvaluationOptions options = benchmark;
    options.change_input = [&](const Tensor& tensor) {
      const std::int64_t bit = number < arguments ? number % 2 : 0;
      ++number;
      if (number > arguments && !with_gradients) return tensor;
      const bool up = (direction >> bit & 1) != 0;
      const double factor = up ? 1 + change : 1 - change;
      return changed_elements(tensor, [&](double value, std::int64_t) { return value * factor; });
    };
    const std::optional<Tensor> result = row(evaluate(op, call, options));
    if (result) results.push_back(result->to(DType::float64).contiguous());
  }
  return results;
}

struct Move {
  double smooth = 0;   // by how much the element moves for the changes, but for a step
  bool steps = false;  // the benchmark lies on a step, which is crossed in one direction at most
};

Move move_of(const std::vector<Tensor>& changed, std::int64_t i, double from) {
  double largest = 0;
  double second = 0;
  for (const Tensor& tensor : changed) {
    const double move = std::abs(tensor.data<double>()[i] - from);
    if (move > largest) {
      second = std::exchange(largest, move);
    } else {
      second = std::max(second, move);
    }
  }
  return {second, largest > most_slope * second};
}

// Infinities of one sign are the same, as are both NaN; their difference is no number.
bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace

std::optional<StepSides> nearest_sides(const Operator& op, const MaterialisedCall& call,
                                       const EvaluationOptions& benchmark, const Tensor& bench, const Tensor& device,
                                       const RowOf& row, Steps steps) {
  const bool kink = steps == Steps::at_a_kink;
  const bool stored = steps != Steps::of_float32 && !kink && is_half(device.dtype());
  if (steps == Steps::none || (bench.dtype() != DType::float64 && !stored && !kink)) return std::nullopt;
  const double exact_change = bench.dtype() == DType::float64 ? exactly : exactly_of_half;
  // Relative changes of each argument; those of two add up in a quotient.
  const double roundoff = epsilon(device.dtype()) / (floating_arguments(call) > 1 ? 4 : 2);
  const double least = kink && device.dtype() == DType::float64 ? beside_a_kink : within_rounding;
  const double within = stored ? std::max<double>(one_stored * roundoff, within_rounding) : least;
  const bool twice = stored && steps == Steps::of_stored_difference;
  // How far the next integer is at most where two roundings reach it.
  const double reach = twice ? two_stored * epsilon(device.dtype()) / 2 : 0;
  std::vector<Tensor> near;
  std::vector<Tensor> farther;
  std::vector<Tensor> exact;
  try {
    near = moved(op, call, benchmark, within, row, !stored && !kink);
    for (double times = 2 * one_stored; twice && times <= two_stored; times += one_stored) {
      std::ranges::move(moved(op, call, benchmark, times * roundoff, row, !stored), std::back_inserter(farther));
    }
    exact = moved(op, call, benchmark, exact_change, row, !stored);
  } catch (const SkipError&) {
    return std::nullopt;
  }
  const auto has_another_shape = [&](const Tensor& tensor) { return tensor.shape() != bench.shape(); };
  for (const auto* results : {&near, &farther, &exact}) {
    if (std::ranges::any_of(*results, has_another_shape)) return std::nullopt;
  }
  if (near.empty()) return std::nullopt;
  StepSides sides;
  sides.bench = bench.to(DType::float64).contiguous().clone();
  sides.spread = Tensor(DType::float64, bench.shape());
  const Tensor wanted = device.to(DType::float64).contiguous();
  double* values = sides.bench.mutable_data<double>();
  double* spread = sides.spread.mutable_data<double>();
  for (std::int64_t i = 0; i < bench.numel(); ++i) {
    const double target = wanted.data<double>()[i];
    double best = values[i];
    double lowest = best;
    double highest = best;
    const auto consider = [&](double other) {
      if (std::abs(other - target) < std::abs(best - target)) best = other;
      lowest = std::min(lowest, other);
      highest = std::max(highest, other);
    };
    for (const Tensor& tensor : near) consider(tensor.data<double>()[i]);
    for (const Tensor& tensor : farther) {
      const double other = tensor.data<double>()[i];
      if (std::abs(other - values[i]) <= reach * std::abs(values[i])) consider(other);
    }
    const Move move = move_of(exact, i, values[i]);
    spread[i] = move.smooth / exact_change;
    // What moves in proportion to the change is no step.
    const double proportional = most_slope * spread[i] * within;
    if (!std::isnan(target) && std::min(highest - values[i], values[i] - lowest) > proportional) {
      // The steps are finer than float32 tells arguments apart: rounding may lead to any of those within its reach.
      best = std::clamp(target, lowest, highest);
    } else if ((move.steps && !kink) || !(std::abs(best - values[i]) > proportional)) {
      continue;
    }
    if (best == values[i]) continue;
    values[i] = best;
    ++sides.exchanged;
  }
  return sides;
}

namespace {

// The benchmark with the elements of another evaluation that are nearer to the device's; nothing if none is.
std::optional<StepSides> nearest_of(const Operator& op, const MaterialisedCall& call, const EvaluationOptions& other,
                                    const Tensor& bench, const Tensor& device, const RowOf& row) {
  std::optional<Tensor> evaluated;
  try {
    evaluated = row(evaluate(op, call, other));
  } catch (const SkipError&) {
    return std::nullopt;
  }
  if (!evaluated || evaluated->shape() != bench.shape()) return std::nullopt;
  StepSides sides;
  sides.bench = bench.to(DType::float64).contiguous().clone();
  const Tensor candidates = evaluated->to(DType::float64).contiguous();
  const Tensor wanted = device.to(DType::float64).contiguous();
  double* values = sides.bench.mutable_data<double>();
  for (std::int64_t i = 0; i < bench.numel(); ++i) {
    const double target = wanted.data<double>()[i];
    const double candidate = candidates.data<double>()[i];
    const bool instead_of_nan = std::isnan(values[i]) && !std::isnan(candidate - target);
    const bool nearer =
        is_same(candidate, target) || instead_of_nan || std::abs(candidate - target) < std::abs(values[i] - target);
    if (is_same(values[i], target) || !nearer) continue;
    values[i] = candidate;
    ++sides.exchanged;
  }
  if (sides.exchanged == 0) return std::nullopt;
  sides.bench = sides.bench.to(bench.dtype());
  return sides;
}

}  // namespace

std::optional<StepSides> nearest_parameters(const Operator& op, const MaterialisedCall& call,
                                            const EvaluationOptions& benchmark, const Tensor& bench,
                                            const Tensor& device, const RowOf& row) {
  if (device.dtype() == DType::float32 || benchmark.forgets_dtypes) return std::nullopt;
  EvaluationOptions options = benchmark;
  options.narrow_parameters = true;
  return nearest_of(op, call, options, bench, device, row);
}

std::optional<StepSides> nearest_positions(const Operator& op, const MaterialisedCall& call,
                                           const EvaluationOptions& benchmark, const Tensor& bench,
                                           const Tensor& device, const RowOf& row) {
  if (!is_half(device.dtype()) || benchmark.forgets_dtypes) return std::nullopt;
  std::optional<StepSides> nearest;
  for (const Positions positions : {Positions::stored, Positions::stored_by_steps}) {
    EvaluationOptions options = benchmark;
    options.positions = positions;
    std::optional<StepSides> sides = nearest_of(op, call, options, nearest ? nearest->bench : bench, device, row);
    if (!sides) continue;
    sides->exchanged += nearest ? nearest->exchanged : 0;
    nearest = std::move(sides);
  }
  if (nearest) nearest->exchanged = std::min(nearest->exchanged, bench.numel());
  return nearest;
}

std::optional<StepSides> nearest_alternatives(const Operator& op, const MaterialisedCall& call,
                                              const EvaluationOptions& benchmark, const Tensor& bench,
                                              const Tensor& device, const RowOf& row) {
  EvaluationOptions options = benchmark;
  options.alternative = true;
  std::optional<StepSides> nearest = nearest_of(op, call, options, bench, device, row);
  if (nearest) nearest->alternatives = std::exchange(nearest->exchanged, 0);
  return nearest;
}

}  // namespace msrun
