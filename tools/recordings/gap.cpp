#include "tools/recordings/gap.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>

#include "kernels/base/hash.h"
#include "kernels/base/lower_case.h"
#include "tools/recordings/not_finite.h"
#include "tools/recordings/overflowed_sum.h"

namespace msrun::recordings {
namespace {

// A statistic as a number: booleans are 0 and 1. False for what is none.
bool number_of(const Recording& side, const Value& value, long double& number) {
  const std::optional<long double> recorded = exact_number_of(side.texts, value);
  number = recorded.value_or(0);
  return recorded.has_value();
}

double unit_of(const Recording& side, const Leaf& leaf) { return rounding_unit(side.text(leaf.dtype)); }

bool is_half_dtype(std::string_view dtype) {
  return dtype.ends_with("float16") || dtype.ends_with("Float16") || dtype == "torch.half" || dtype == "torch.float8";
}

// The numbers that both tensors have of a statistic, where both are finite.
struct Numbers {
  std::array<long double, statistic_count> mine{};
  std::array<long double, statistic_count> theirs{};
  std::array<bool, statistic_count> there{};

  double difference(std::size_t i) const { return static_cast<double>(std::abs(mine[i] - theirs[i])); }
};

// Nothing where one side alone has a number or is not finite. equal: whether all statistics are the same.
std::optional<Numbers> numbers_of(const Recording& target, const Leaf& mine, const Recording& golden,
                                  const Leaf& theirs, bool& equal) {
  Numbers numbers;
  bool any = elements_of(target.text(mine.shape)) == 0;
  equal = true;
  for (std::size_t i = 0; i < statistic_count; ++i) {
    const bool one = number_of(target, mine.statistics[i], numbers.mine[i]);
    const bool other = number_of(golden, theirs.statistics[i], numbers.theirs[i]);
    if (one != other) return std::nullopt;
    if (!one) continue;
    any = true;
    const auto statistic = static_cast<Statistic>(i);
    if (is_overflowed_sum(target, mine, statistic) || is_overflowed_sum(golden, theirs, statistic)) continue;
    const NotFinite kind = not_finite_kind(static_cast<double>(numbers.mine[i]));
    if (kind != not_finite_kind(static_cast<double>(numbers.theirs[i]))) return std::nullopt;
    numbers.there[i] = kind == NotFinite::none;
    equal = equal && (!numbers.there[i] || numbers.mine[i] == numbers.theirs[i]);
  }
  equal = equal && any;
  return numbers;
}

}  // namespace

double rounding_unit(std::string_view dtype) {
  if (dtype.ends_with("bfloat16") || dtype == "BFloat16") return unit_of_bfloat16;
  return is_half_dtype(dtype) ? 0x1p-11 : 0x1p-24;
}

bool is_half(const Recording& side, const Leaf& leaf) { return is_half_dtype(side.text(leaf.dtype)); }

bool is_whole(const Recording& side, const Leaf& leaf) {
  const std::string dtype = lower_case(side.text(leaf.dtype));
  return leaf.tensor && (dtype.find("int") != std::string::npos || dtype.find("bool") != std::string::npos);
}

Gap gap_of(const Recording& target, const Leaf& mine, const Recording& golden, const Leaf& theirs, bool checksums,
           double unit) {
  Gap result;
  const std::string_view shape = target.text(mine.shape);
  if (shape != golden.text(theirs.shape)) return {false, infinite_number, infinite_number, false};
  if (checksums) {
    result.equal = target.text(mine.md5) == golden.text(theirs.md5);
    if (!result.equal) result.gap = result.own = infinite_number;
    result.equal = result.equal && (!mine.tensor || mine.recorded_md5);
    return result;
  }
  const std::optional<Numbers> numbers = numbers_of(target, mine, golden, theirs, result.equal);
  if (!numbers) return {true, infinite_number, infinite_number, false};
  const auto& a = numbers->mine;
  const auto& b = numbers->theirs;
  const auto& there = numbers->there;
  const auto extent = [&](std::size_t i) { return static_cast<double>(std::abs(b[i])); };
  double size = 0;
  for (const auto i : {max_value, min_value}) {
    if (there[i]) size = std::max(size, extent(i));
  }
  if (size == 0) {
    const bool zero = (!there[max_value] || a[max_value] == 0) && (!there[min_value] || a[min_value] == 0);
    if (!zero) result.gap = result.own = infinite_number;
    return result;
  }
  for (const auto i : {max_value, min_value, mean_value}) {
    if (there[i]) result.gap = std::max(result.gap, numbers->difference(i) / size);
  }
  if (there[norm_value] && b[norm_value] != 0) {
    result.gap = std::max(result.gap, numbers->difference(norm_value) / extent(norm_value));
  }
  const double least = 64 * std::max({unit, unit_of(target, mine), unit_of(golden, theirs)}) * size;
  for (const auto i : {max_value, min_value}) {
    if (there[i] && extent(i) > least) result.own = std::max(result.own, numbers->difference(i) / extent(i));
  }
  return result;
}

std::uint64_t content_of(const Recording& side, const Leaf& leaf, bool checksums) {
  const std::int64_t elements = elements_of(side.text(leaf.shape));
  std::uint64_t hash = fnv1a(std::string_view(reinterpret_cast<const char*>(&elements), sizeof elements));
  if (checksums) {
    if (!leaf.recorded_md5) return 0;
    return fnv1a(side.text(leaf.md5), hash) | 1;
  }
  bool any = false;
  for (const Value& value : leaf.statistics) {
    long double number = 0;
    if (!number_of(side, value, number)) continue;
    any = true;
    // What double precision leaves of a whole number of 64 bits tells it from the next one.
    const auto near = static_cast<double>(number);
    const std::array bits{near, std::isfinite(near) ? static_cast<double>(number - near) : 0.0};
    hash = fnv1a(std::string_view(reinterpret_cast<const char*>(bits.data()), sizeof bits), hash);
  }
  return any && elements != 0 ? hash | 1 : 0;
}

}  // namespace msrun::recordings
