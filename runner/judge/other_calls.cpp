// Results of another call than the recorded one: with another argument, or another number in place of one.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/compare/bounds/constants.h"
#include "kernels/compare/diagnosis/findings.h"
#include "runner/judge/altered_calls.h"
#include "runner/judge/causes.h"
#include "runner/judge/vetoes.h"

namespace msrun {
namespace {

// Additions, or elements, that are computed at most to find an altered call.
constexpr double most_altered_cost = 5e7;
constexpr std::size_t most_altered_calls = 64;
// The same where nothing but a step within the call is odd.
constexpr double most_cost_of_sound_rows = 2e7;

// To find a number: steps, how far beside it the slope is measured, relative to it, when it stands still, and how far
// off it may be before it is rounded.
constexpr int most_steps = 6;
constexpr double beside_number = 0x1p-6;
constexpr double end_of_steps = 1e-4;
constexpr double slack_of_number = 0.05;
// Computations of the call that this takes.
constexpr double calls_of_number = 20;

// Of the elements that are finite in both; infinite where a number of the device is none in the other.
double root_mean_square_error(const Tensor& bench, const Tensor& device) {
  const Tensor a = bench.to(DType::float64).contiguous();
  const Tensor b = device.to(DType::float64).contiguous();
  double sum = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const double error = a.data<double>()[i] - b.data<double>()[i];
    if (std::isfinite(error)) sum += error * error;
    if (!std::isfinite(error) && std::isfinite(b.data<double>()[i])) return std::numeric_limits<double>::infinity();
  }
  return std::sqrt(sum / static_cast<double>(std::max<std::int64_t>(a.numel(), 1)));
}

// A result of a half type as doubles.
Tensor in_dtype(const Tensor& tensor, DType dtype) { return tensor.to(dtype).to(DType::float64).contiguous(); }

// Of the elements that are not the benchmark's, how many are the other's; nothing if there are too few of them.
std::optional<double> equality(const Tensor& other, const Tensor& bench, const Tensor& device) {
  const Tensor a = in_dtype(other, device.dtype());
  const Tensor b = in_dtype(bench, device.dtype());
  const Tensor d = in_dtype(device, device.dtype());
  std::int64_t different = 0;
  std::int64_t equal = 0;
  for (std::int64_t i = 0; i < d.numel(); ++i) {
    const double value = d.data<double>()[i];
    if (value == b.data<double>()[i]) continue;
    ++different;
    equal += value == a.data<double>()[i] ? 1 : 0;
  }
  if (different < enough_different_elements) return std::nullopt;
  return static_cast<double>(equal) / static_cast<double>(different);
}

bool has_its_bits(const Tensor& other, const Tensor& bench, const Tensor& device) {
  return is_half(device.dtype()) && equality(other, bench, device).value_or(0) >= decisive_equality;
}

std::string altered_sentence(std::string what) {
  what.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(what.front())));
  return what + ", the call gives this result.";
}

// A number with so many significant digits.
double with_digits(double value, int digits) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.*g", digits, value);
  return std::strtod(text.data(), nullptr);
}

// The step from a number to the one with which a result comes nearest to the device's, as the slope between two
// results tells: that for the number, and that for one a little larger.
double step_towards(const Tensor& device, const Tensor& at, const Tensor& beside, double distance) {
  const Tensor d = device.to(DType::float64).contiguous();
  const Tensor f = at.to(DType::float64).contiguous();
  const Tensor g = beside.to(DType::float64).contiguous();
  double products = 0;
  double squares = 0;
  for (std::int64_t i = 0; i < d.numel(); ++i) {
    const double slope = (g.data<double>()[i] - f.data<double>()[i]) / distance;
    const double product = slope * (d.data<double>()[i] - f.data<double>()[i]);
    if (!std::isfinite(product)) continue;
    products += product;
    squares += slope * slope;
  }
  return squares > 0 ? products / squares : 0;
}

// The first half of the last axis.
Tensor half_of(const Tensor& tensor) { return tensor.slice(-1, 0, tensor.size(-1) / 2).contiguous(); }

// The first half of the last axis, twice.
Tensor repeated_half(const Tensor& tensor) {
  Dims shape = tensor.shape();
  shape.back() = 2;
  shape.push_back(tensor.size(-1) / 2);
  Dims strides = row_major_strides(shape);
  strides[strides.size() - 2] = 0;
  return tensor.contiguous().with_strides(shape, strides, 0).contiguous().reshape(tensor.shape());
}

// Looks for a number, with `row` for the result that a number gives. Nothing if no number comes near.
template <class Row>
std::optional<double> found_number(const FreeNumber& number, const Tensor& device, const Row& row) {
  std::optional<double> value;
  double least = 0;
  for (const double start : number.starts) {
    const std::optional<Tensor> result = row(start);
    const double error = result ? root_mean_square_error(*result, device) : 0;
    if (result && (!value || error < least)) std::tie(value, least) = std::pair(start, error);
  }
  for (int step = 0; value && step < most_steps; ++step) {
    const double distance = *value * beside_number;
    const std::optional<Tensor> at = row(*value);
    const std::optional<Tensor> beside = row(*value + distance);
    if (!at || !beside) return std::nullopt;
    const double change = step_towards(device, *at, *beside, distance);
    if (!std::isfinite(change) || change == 0) break;
    const double next = *value + change;
    const bool turns = (next > 0) != (*value > 0) || next == 0;
    const bool stands = std::abs(change) < end_of_steps * std::abs(*value);
    value = turns ? *value / 8 : next;
    if (stands) break;
  }
  return value;
}

// The row of a call; nothing if it cannot be computed.
std::optional<Tensor> row_of_call(const MaterialisedCall& call, const RowCase& row, bool of_any_shape = false) {
  MaterialisedCall asked = call;
  // Of an output no gradients are needed, which take longer.
  if (!row.of_gradients) asked.backward.run = false;
  try {
    const Evaluation evaluation = evaluate(row.call.op, asked, row.call.benchmark_options);
    return of_any_shape ? row.of_any_shape(evaluation) : row.of(evaluation);
  } catch (const SkipError&) {
    return std::nullopt;  // the operator does not take such an argument
  }
}

// Whether a row is that of another call, decidedly, and not of the recorded one.
bool is_result_of(const Tensor& other, const RowCase& row, const Explanation& judged) {
  const auto& [bench, device] = row.pair;
  const bool is_nearer = root_mean_square_error(other, device) * decisive_share < root_mean_square_error(bench, device);
  if (!is_nearer && !has_its_bits(other, bench, device)) return false;
  // What is measured beside the recorded call is not what another one errs by, where steps are rounded to a half type.
  const bool has_other_steps = is_half(device.dtype()) && row.arithmetic.half_rounding != HalfRounding::nothing;
  return (is_nearer && has_other_steps) || rounding_explains(other, device, judged.budget);
}

}  // namespace

std::string altered_call(const RowCase& row, const Explanation& judged) {
  if (!row.call.variations.is_small()) return {};
  if (judged.fit.beyond < elements_beyond_chance && evidence_bits(judged.fit) < bits_beyond_chance) return {};
  const double cost = std::max({row.call.variations.additions(), row.call.variations.elements(), 1.0});
  const auto most =
      static_cast<std::size_t>(std::clamp(most_altered_cost / cost, 1.0, static_cast<double>(most_altered_calls)));
  for (const AlteredCall& altered : altered_calls(row.call.op, row.call.materialised, !row.of_gradients, most)) {
    const std::optional<Tensor> other = row_of_call(altered.call, row);
    if (other && is_result_of(*other, row, judged)) return altered_sentence(altered.what);
  }
  return {};
}

std::string other_number(const RowCase& row, const Explanation& judged) {
  constexpr int most_digits = 4;
  const double cost = std::max(row.call.variations.additions(), row.call.variations.elements());
  if (!row.call.variations.is_small() || judged.fit.beyond < elements_beyond_chance ||
      calls_of_number * cost > most_altered_cost)
    return {};
  std::string found;
  for_each_free_number(row.call.op, row.call.materialised, [&](const FreeNumber& number) {
    if (!found.empty()) return;
    const auto result = [&](double value) { return row_of_call(number.with(value), row); };
    const std::optional<double> value = found_number(number, row.pair.device, result);
    if (!value || !std::isfinite(*value)) return;
    double tried = 0;
    for (int digits = 1; digits <= most_digits + 1 && found.empty(); ++digits) {
      const double plain = digits > most_digits ? *value : with_digits(*value, digits);
      if (plain == tried || std::abs(plain - *value) > slack_of_number * std::abs(*value)) continue;
      tried = plain;
      const std::optional<Tensor> other = result(plain);
      if (other && is_result_of(*other, row, judged))
        found = altered_sentence("with " + number.name + "=" + short_number(plain) + " in place of " + number.recorded);
    }
  });
  return found;
}

std::string half_of_rows(const RowCase& row) {
  const auto& [bench, device] = row.pair;
  const Tensor* input = row.call.materialised.args.empty() ? nullptr : row.call.materialised.args.front().get<Tensor>();
  if (row.of_gradients || !row.call.variations.is_small() || input == nullptr || input->shape() != device.shape())
    return {};
  if (device.rank() == 0 || device.size(-1) < elements_beyond_chance || device.size(-1) % 2 != 0) return {};
  const Tensor half_of_bench = half_of(bench);
  const Tensor half_of_device = half_of(device);
  const double error = root_mean_square_error(half_of_bench, half_of_device);
  for (const Tensor& half : {half_of(*input), repeated_half(*input)}) {
    MaterialisedCall call = row.call.materialised;
    call.args.front() = half;
    const std::optional<Tensor> result = row_of_call(call, row, true);
    // Other arguments may be as long as the whole row.
    if (!result || (result->shape() != half_of_device.shape() && result->shape() != device.shape())) continue;
    const Tensor other = result->shape() == device.shape() ? half_of(*result) : *result;
    if (root_mean_square_error(other, half_of_device) * decisive_share < error ||
        has_its_bits(other, half_of_bench, half_of_device))
      return "Half of each row is what the call gives for the first half of the last axis alone.";
  }
  return {};
}

namespace veto {

bool is_otherwise_chosen(const RowCase& row, const Explanation& judged) {
  const Tensor& bench = row.pair.bench;
  const Tensor& device = row.pair.device;
  if (std::string_view(judged.in_half).empty() || row.of_gradients || !row.call.variations.is_small()) return false;
  if (!equality(bench, bench, device)) return false;
  for (const AlteredCall& altered : otherwise_chosen_calls(row.call.op, row.call.materialised)) {
    const std::optional<Tensor> other = row_of_call(altered.call, row);
    if (other && has_its_bits(*other, bench, device)) return true;
  }
  bool is_other_number = false;
  if (calls_of_number * std::max(row.call.variations.additions(), row.call.variations.elements()) >
      most_cost_of_sound_rows)
    return false;
  for_each_free_number(row.call.op, row.call.materialised, [&](const FreeNumber& number) {
    if (is_other_number) return;
    const auto result = [&](double value) { return row_of_call(number.with(value), row); };
    const std::optional<double> value = found_number(number, device, result);
    const std::optional<Tensor> other = value ? result(*value) : std::nullopt;
    is_other_number = other && has_its_bits(*other, bench, device);
  });
  return is_other_number;
}

}  // namespace veto
}  // namespace msrun
