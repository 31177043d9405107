#include "tools/recordings/gap.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/base/hash.h"
#include "tools/recordings/not_finite.h"
#include "tools/recordings/overflowed_sum.h"

namespace msrun::recordings {
namespace {

// A statistic as a number: booleans are 0 and 1. False for what is none.
bool number_of(const Recording& side, const Value& value, double& number) {
  if (value.kind == Kind::boolean) {
    number = static_cast<double>(value.integer);
    return true;
  }
  const std::optional<double> recorded = recordings::number_of(side.texts, value);
  number = recorded.value_or(0);
  return recorded.has_value();
}

double unit_of(const Recording& side, const Leaf& leaf) {
  const std::string_view dtype = side.text(leaf.dtype);
  if (dtype.ends_with("bfloat16") || dtype == "BFloat16") return unit_of_bfloat16;
  return is_half(side, leaf) ? 0x1p-11 : 0x1p-24;
}

}  // namespace

bool is_half(const Recording& side, const Leaf& leaf) {
  const std::string_view dtype = side.text(leaf.dtype);
  return dtype.ends_with("float16") || dtype.ends_with("Float16") || dtype == "torch.half" || dtype == "torch.float8";
}

Gap gap_of(const Recording& target, const Leaf& mine, const Recording& golden, const Leaf& theirs, bool checksums,
           double unit) {
  Gap result;
  const std::string_view shape = target.text(mine.shape);
  if (shape != golden.text(theirs.shape)) return {false, infinite_number, infinite_number};
  if (checksums) {
    if (target.text(mine.md5) != golden.text(theirs.md5)) result.gap = result.own = infinite_number;
    return result;
  }
  std::array<double, statistic_count> a{};
  std::array<double, statistic_count> b{};
  std::array<bool, statistic_count> there{};
  for (std::size_t i = 0; i < statistic_count; ++i) {
    const bool one = number_of(target, mine.statistics[i], a[i]);
    const bool other = number_of(golden, theirs.statistics[i], b[i]);
    if (one != other) return {true, infinite_number, infinite_number};
    if (!one) continue;
    const auto statistic = static_cast<Statistic>(i);
    if (is_overflowed_sum(target, mine, statistic) || is_overflowed_sum(golden, theirs, statistic)) continue;
    const NotFinite kind = not_finite_kind(a[i]);
    if (kind != not_finite_kind(b[i])) return {true, infinite_number, infinite_number};
    there[i] = kind == NotFinite::none;
  }
  double size = 0;
  for (const auto i : {max_value, min_value}) {
    if (there[i]) size = std::max(size, std::abs(b[i]));
  }
  if (size == 0) {
    const bool zero = (!there[max_value] || a[max_value] == 0) && (!there[min_value] || a[min_value] == 0);
    if (!zero) result.gap = result.own = infinite_number;
    return result;
  }
  for (const auto i : {max_value, min_value, mean_value}) {
    if (there[i]) result.gap = std::max(result.gap, std::abs(a[i] - b[i]) / size);
  }
  if (there[norm_value] && b[norm_value] != 0) {
    result.gap = std::max(result.gap, std::abs(a[norm_value] - b[norm_value]) / std::abs(b[norm_value]));
  }
  const double least = 64 * std::max({unit, unit_of(target, mine), unit_of(golden, theirs)}) * size;
  for (const auto i : {max_value, min_value}) {
    if (there[i] && std::abs(b[i]) > least) result.own = std::max(result.own, std::abs(a[i] - b[i]) / std::abs(b[i]));
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
    double number = 0;
    if (!number_of(side, value, number)) continue;
    any = true;
    const auto bits = std::bit_cast<std::uint64_t>(number);
    hash = fnv1a(std::string_view(reinterpret_cast<const char*>(&bits), sizeof bits), hash);
  }
  return any && elements != 0 ? hash | 1 : 0;
}

}  // namespace msrun::recordings
