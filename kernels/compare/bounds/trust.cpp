#include "kernels/compare/bounds/trust.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <span>

#include "kernels/compare/bounds/rounding.h"
#include "kernels/compare/metrics/blocks.h"
#include "kernels/compare/metrics/message_lines.h"
#include "kernels/tensor/convert.h"

namespace msrun {
namespace {

struct Words {
  std::string_view name;
  std::string_view text;
};
constexpr std::array<Words, weak_evidence_count> words{{
    {"", ""},
    {"zero_benchmark", "every element of the benchmark is 0."},
    {"constant_benchmark", "every element of the benchmark is the same number."},
    {"no_finite_benchmark", "no element of the benchmark is a finite number."},
    {"cancellation", "what rounding may do is larger than the typical element."},
    {"all_dropped", "every element was dropped."},
    {"nothing_compared", "there is no output to compare."},
    {"half_steps", "it is rounded to a half type on the way, so that a fault of that size does not show."},
    {"backward_unchecked", "the backward could not be checked."},
    {"backward_left_out", "a rule leaves the backward out."},
    {"overflow", "sums exceed the range before they cancel, so that elements are infinite or NaN."},
}};

constexpr std::int64_t few_elements = 8;
// Fewer elements are often equal for good reasons.
constexpr std::int64_t enough_elements = 4;

// The first few elements tell of nearly all tensors that there is nothing to be told.
bool differs_soon(const Tensor& bench) {
  if (!bench.is_contiguous() || bench.numel() < few_elements) return false;
  std::array<double, few_elements> values;
  load_run<double>(bench.dtype(), bench.raw(), 1, few_elements, values.data());
  const bool finite = std::ranges::any_of(values, [](double value) { return std::isfinite(value); });
  return finite && std::ranges::any_of(values, [&](double value) { return value != values[0]; });
}

WeakEvidence same_everywhere(const Tensor& bench) {
  if (differs_soon(bench)) return WeakEvidence::none;
  Reader reader(bench);
  constexpr std::int64_t block = block_size<double>;
  std::array<double, block> values;
  double first = 0;
  bool constant = true;
  bool finite = false;
  std::int64_t size = 0;
  for (std::int64_t done = 0; done < bench.numel(); done += size) {
    size = std::min(block, bench.numel() - done);
    reader.read(values.data(), size);
    if (done == 0) first = values[0];
    for (std::int64_t i = 0; i < size; ++i) {
      const double value = values[static_cast<std::size_t>(i)];
      finite = finite || std::isfinite(value);
      constant = constant && value == first;
    }
    if (finite && !constant) return WeakEvidence::none;
  }
  if (!finite) return WeakEvidence::not_finite;
  if (bench.numel() < enough_elements) return WeakEvidence::none;
  return first == 0 ? WeakEvidence::all_zero : WeakEvidence::constant;
}

// The smallest whole number at or above the logarithm to base 2 of a share, which is positive and normal.
std::int32_t exponent_above(double share) {
  constexpr int fraction_bits = 52;
  constexpr std::uint64_t fraction = (std::uint64_t{1} << fraction_bits) - 1;
  constexpr std::int32_t bias = 1023;
  return static_cast<std::int32_t>((std::bit_cast<std::uint64_t>(share) + fraction) >> fraction_bits) - bias;
}

// The upper median of numbers between least and most: by halves, as counting takes no comparison that is to be
// foreseen.
std::int32_t median(std::span<const std::int32_t> numbers, std::int32_t least, std::int32_t most) {
  const std::size_t from_middle = numbers.size() - numbers.size() / 2;
  while (least < most) {
    const std::int32_t middle = most - (most - least) / 2;
    const auto reach =
        static_cast<std::size_t>(std::ranges::count_if(numbers, [=](std::int32_t number) { return number >= middle; }));
    (reach >= from_middle ? least : most) = reach >= from_middle ? middle : middle - 1;
  }
  return least;
}

}  // namespace

std::string_view weak_evidence_name(WeakEvidence weak_evidence) {
  return words[static_cast<std::size_t>(weak_evidence)].name;
}

std::string_view weak_evidence_text(WeakEvidence weak_evidence) {
  return words[static_cast<std::size_t>(weak_evidence)].text;
}

std::string weak_evidence_sentence(WeakEvidence weak_evidence) {
  return std::string(weak_evidence_line) + ": " + std::string(weak_evidence_text(weak_evidence));
}

WeakEvidence weak_evidence_of_exact(const Tensor& bench) {
  return bench.numel() < few_elements ? WeakEvidence::none : same_everywhere(bench);
}

Trust trust_in(const Tensor& bench, DType dtype, const ErrorBudget& budget) {
  Trust trust{.weak_evidence = same_everywhere(bench), .visible = std::nullopt};
  const FewNumbers shares = allowed_shares(bench, dtype, budget);
  if (shares.count == 0) return trust;
  std::array<std::int32_t, FewNumbers::most> buffer;
  const std::span exponents = std::span(buffer).first(shares.count);
  std::ranges::transform(shares.all(), exponents.begin(), exponent_above);
  // Two plain loops, which are run for many elements at once.
  std::int32_t least = exponents.front();
  std::int32_t most = exponents.front();
  for (const std::int32_t exponent : exponents) least = std::min(least, exponent);
  for (const std::int32_t exponent : exponents) most = std::max(most, exponent);
  trust.visible = VisibleFault{median(exponents, least, most), least};
  // The median share, then, is 1 or more.
  const auto below_one =
      static_cast<std::size_t>(std::ranges::count_if(shares.all(), [](double share) { return share < 1; }));
  if (trust.weak_evidence == WeakEvidence::none && below_one <= shares.count / 2)
    trust.weak_evidence = WeakEvidence::cancellation;
  return trust;
}

}  // namespace msrun
