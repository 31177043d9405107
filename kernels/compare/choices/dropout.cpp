#include "kernels/compare/choices/dropout.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "kernels/compare/bounds/rounding.h"

namespace msrun {
namespace {

// What rounding does to an element, in units of the dtype's epsilon: the factor, the product, and where a dropped
// element is not zero, the number that is added and the sum are rounded by half of one each, and twice of that is
// allowed.
constexpr double roundings = 2;
// Probabilities are held in a half type by some devices.
constexpr double slack_of_probability = 0x1p-11;
// The logarithm of the chance at which a share is no chance any more: that of six standard deviations.
constexpr double least_log_chance = 20.7;

// Bernstein's bound, which holds for few draws and for rare ones as well: whether chance leads so far from what is to
// be expected of a sum of independent draws, of that variance together.
bool is_chance(double distance, double variance) {
  return distance <= 0 || distance * distance <= 2 * least_log_chance * (variance + distance / 3);
}

// How far apart decisions may lie that a generator has made of one number: along an axis, and by the powers of two by
// which kernels divide what is in memory, or its rows.
std::vector<std::int64_t> distances(const Dims& shape) {
  const std::int64_t count = element_count(shape);
  std::vector<std::int64_t> result;
  const auto add_powers = [&](std::int64_t unit) {
    for (std::int64_t power = unit; power < count; power *= 2) result.push_back(power);
  };
  add_powers(1);
  if (count > 0 && !shape.empty()) add_powers(shape.back());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    stride *= shape[axis];
    if (stride < count) result.push_back(stride);
  }
  std::ranges::sort(result);
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

struct Pairs {
  std::int64_t known = 0;
  std::int64_t alike = 0;
};

// Decisions that lie so far apart, each of them in one pair at most, so that pairs are independent.
Pairs pairs_at(const std::vector<Fate>& fates, std::int64_t distance) {
  const auto end = std::ssize(fates) - distance;
  Pairs pairs;
  for (std::int64_t first = 0; first < end; first += 2 * distance) {
    const std::int64_t last = std::min(first + distance, end);
    for (std::int64_t i = first; i < last; ++i) {
      const Fate a = fates[static_cast<std::size_t>(i)];
      const Fate b = fates[static_cast<std::size_t>(i + distance)];
      const bool known = (a != Fate::unknown) & (b != Fate::unknown);
      // GCC 14 counts wrong with AVX-512 where it joins `known` and `a == b`.
      const int common = static_cast<int>(a) & static_cast<int>(b);
      pairs.known += known ? 1 : 0;
      pairs.alike += common != 0 ? 1 : 0;
    }
  }
  return pairs;
}

std::string number_text(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

// For each element the number of its decision; undefined where each has its own.
Tensor decisions_of(const Dims& shape, const Dims& decisions) {
  if (decisions == shape) return {};
  Tensor numbers(DType::int64, decisions);
  auto* number = numbers.mutable_data<std::int64_t>();
  for (std::int64_t i = 0; i < numbers.numel(); ++i) number[i] = i;
  return numbers.expand(shape).contiguous();
}

// One element against what it may be.
class Element {
 public:
  Element(double kept, double dropped, double probability, DType dtype) : kept_(kept), dropped_(dropped) {
    // A sum of terms that cancel is as inexact as its terms: what is not zero in place of a dropped element is a
    // number, less that number times the probability.
    const double terms = std::abs(dropped) / (1 - probability);
    const double size = (std::isfinite(kept) ? std::abs(kept) : 0) + terms;
    tolerance_ = roundings * epsilon(dtype) * std::max(size, smallest_normal(dtype));
    largest_ = max_finite(dtype);
  }

  bool is_kept(double value) const {
    if (std::isnan(kept_) || std::isnan(value)) return std::isnan(kept_) && std::isnan(value);
    if (std::isinf(value)) return value > 0 ? kept_ + tolerance_ > largest_ : kept_ - tolerance_ < -largest_;
    return std::abs(value - kept_) <= tolerance_;
  }

  // Whether what is kept and what is dropped differ. NaN that is kept may also have been multiplied by a mask, so that
  // zero alone would tell: all decisions that can be told would be those that drop.
  bool can_be_told() const { return !std::isnan(kept_) && !is_kept(dropped_); }

  bool is_dropped(double value) const {
    // A mask that is multiplied by turns infinity into NaN.
    if (std::isnan(value)) return !std::isfinite(kept_);
    return std::abs(value - dropped_) <= (dropped_ == 0 ? 0 : tolerance_);
  }

 private:
  double kept_;
  double dropped_;
  double tolerance_;
  double largest_;
};

// Results that are no more than copied.
DropoutFinding judge_copy(const Tensor& kept, const Tensor& device) {
  const Tensor expected = kept.to(device.dtype()).to(DType::float64).contiguous();
  const Tensor found = device.to(DType::float64).contiguous();
  std::int64_t wrong = 0;
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < found.numel(); ++i) {
    const double a = expected.data<double>()[i];
    const double b = found.data<double>()[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (wrong++ == 0) first = i;
  }
  if (wrong == 0) return {};
  return {"A dropout that drops nothing passes everything on as it is: " + std::to_string(wrong) + " of " +
              std::to_string(found.numel()) + " elements differ, the first at " + std::to_string(first) + ": " +
              number_text(found.data<double>()[first]) + " in place of " + number_text(expected.data<double>()[first]) +
              ".",
          {}};
}

}  // namespace

std::string unlikely_share(const std::vector<Fate>& fates, double probability) {
  const auto count_of = [&](Fate fate) { return static_cast<double>(std::ranges::count(fates, fate)); };
  const double dropped = count_of(Fate::dropped);
  const double known = dropped + count_of(Fate::kept);
  const double distance = std::abs(dropped - probability * known) - slack_of_probability * known;
  if (is_chance(distance, known * probability * (1 - probability))) return {};
  return "Chance does not drop " + number_text(dropped) + " of " + number_text(known) + " with probability " +
         number_text(probability) + ".";
}

std::string unlikely_pattern(const std::vector<Fate>& fates, const Dropping& draws) {
  const double p = draws.probability;
  const double agreeing = p * p + (1 - p) * (1 - p);
  std::string text;
  double worst = 0;
  for (const std::int64_t apart : distances(draws.shape)) {
    const Pairs pairs = pairs_at(fates, apart);
    const auto known = static_cast<double>(pairs.known);
    const auto alike = static_cast<double>(pairs.alike);
    const double off = std::abs(alike - agreeing * known);
    // A probability that is a little off changes this by twice as much at most.
    const double distance = off - 2 * slack_of_probability * known;
    if (is_chance(distance, known * agreeing * (1 - agreeing)) || off / known <= worst) continue;
    worst = off / known;
    text = "Chance does not decide alike for " + number_text(alike) + " of " + number_text(known) + " pairs that lie " +
           std::to_string(apart) + " apart, with probability " + number_text(p) + ".";
  }
  return text;
}

DropoutFinding judge_dropout(const DropoutRule& rule, const Tensor& device) {
  if (!rule.draws) return judge_copy(rule.kept, device);
  const Tensor kept = rule.kept.to(DType::float64).contiguous();
  const Tensor dropped = rule.dropped.to(DType::float64).contiguous();
  const Tensor found = device.to(DType::float64).contiguous();
  const Tensor decision = decisions_of(device.shape(), rule.draws->shape);
  DropoutFinding result;
  const std::int64_t decisions = element_count(rule.draws->shape);
  result.fates.resize(static_cast<std::size_t>(decisions));
  std::vector<bool> torn(result.fates.size());
  std::int64_t wrong = 0;
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < found.numel(); ++i) {
    const double value = found.data<double>()[i];
    const Element element(kept.data<double>()[i], dropped.data<double>()[i], rule.draws->probability, device.dtype());
    const bool is_kept = element.is_kept(value);
    const bool is_dropped = element.is_dropped(value);
    if (!is_kept && !is_dropped && wrong++ == 0) first = i;
    if (is_kept == is_dropped || !element.can_be_told()) continue;
    const auto at = static_cast<std::size_t>(decision.defined() ? decision.data<std::int64_t>()[i] : i);
    const Fate fate = is_kept ? Fate::kept : Fate::dropped;
    if (result.fates[at] != Fate::unknown && result.fates[at] != fate) torn[at] = true;
    result.fates[at] = fate;
  }
  const std::int64_t pieces = std::ranges::count(torn, true);
  if (wrong > 0) {
    result.text = "Dropout gives " + number_text(kept.data<double>()[first]) + " or " +
                  number_text(dropped.data<double>()[first]) + " at " + std::to_string(first) + ", not " +
                  number_text(found.data<double>()[first]) + ": " + std::to_string(wrong) + " of " +
                  std::to_string(found.numel()) + " elements are neither kept nor dropped.";
  } else if (pieces > 0) {
    result.text = "Channels are dropped as a whole: " + std::to_string(pieces) + " of " + std::to_string(decisions) +
                  " are dropped in part.";
  }
  return result;
}

std::int64_t contrary_fates(const std::vector<Fate>& a, const std::vector<Fate>& b) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    count += a[i] != Fate::unknown && b[i] != Fate::unknown && a[i] != b[i] ? 1 : 0;
  return count;
}

}  // namespace msrun
