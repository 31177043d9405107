#include "kernels/compare/trust.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/compare/blocks.h"
#include "kernels/compare/rounding.h"

namespace msrun {
namespace {

struct Words {
  std::string_view name;
  std::string_view text;
};
constexpr std::array<Words, mistrust_count> words{{
    {"", ""},
    {"zero_benchmark", "every element of the benchmark is 0."},
    {"constant_benchmark", "every element of the benchmark is the same number."},
    {"no_finite_benchmark", "no element of the benchmark is a finite number."},
    {"cancellation", "what rounding may do is larger than the typical element."},
    {"all_dropped", "every element was dropped."},
    {"nothing_compared", "there is no output to compare."},
    {"half_steps", "it is rounded to a half type on the way, so that a fault of that size does not show."},
}};

// A few elements are typical of many.
constexpr std::int64_t looked_at = 64;
constexpr std::int64_t few_elements = 8;
// Fewer elements are often equal for good reasons.
constexpr std::int64_t enough_elements = 4;

Mistrust same_everywhere(const Tensor& bench) {
  Reader reader(bench);
  constexpr std::int64_t block = block_size<double>;
  std::array<double, block> values;
  double first = 0;
  bool constant = true;
  bool finite = false;
  // The first few elements tell of nearly all tensors that there is nothing to be told.
  std::int64_t size = 0;
  for (std::int64_t done = 0; done < bench.numel(); done += size) {
    size = std::min(done == 0 ? few_elements : block, bench.numel() - done);
    reader.read(values.data(), size);
    if (done == 0) first = values[0];
    for (std::int64_t i = 0; i < size; ++i) {
      const double value = values[static_cast<std::size_t>(i)];
      finite = finite || std::isfinite(value);
      constant = constant && value == first;
    }
    if (finite && !constant) return Mistrust::none;
  }
  if (!finite) return Mistrust::not_finite;
  if (bench.numel() < enough_elements) return Mistrust::none;
  return first == 0 ? Mistrust::all_zero : Mistrust::constant;
}

// At or above the logarithm to base 2 of a share, which is positive; within the exponents of float64.
std::int32_t exponent_above(double share) {
  constexpr double most = 1024;
  return static_cast<std::int32_t>(std::clamp(std::ceil(std::log2(share)), -most, most));
}

}  // namespace

std::string_view mistrust_name(Mistrust mistrust) { return words[static_cast<std::size_t>(mistrust)].name; }

std::string_view mistrust_text(Mistrust mistrust) { return words[static_cast<std::size_t>(mistrust)].text; }

Trust trust_in(const Tensor& bench, DType dtype, const SumModel& model) {
  Trust trust{.mistrust = same_everywhere(bench), .visible = std::nullopt};
  std::vector<double> shares = allowed_shares(bench, dtype, model, looked_at);
  if (shares.empty()) return trust;
  const auto middle = shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2);
  std::nth_element(shares.begin(), middle, shares.end());
  const double typical = *middle;
  const double least = *std::min_element(shares.begin(), middle + 1);
  if (trust.mistrust == Mistrust::none && typical >= 1) trust.mistrust = Mistrust::cancellation;
  trust.visible = VisibleFault{exponent_above(typical), exponent_above(least)};
  return trust;
}

}  // namespace msrun
