#include "kernels/compare/bounds/rounding.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "kernels/compare/bounds/constants.h"
#include "kernels/compare/bounds/lost_slices.h"
#include "kernels/compare/bounds/rounding_terms.h"
#include "kernels/compare/bounds/typical.h"
#include "kernels/tensor/convert.h"

namespace msrun {
namespace {

using rounding::coarser;
using rounding::sampled;
using rounding::sum_factor;

double noise_multiple(DType dtype) {
  return is_half(dtype) || is_float8(dtype) ? multiple_of_noise_of_half : multiple_of_noise;
}
// Typical magnitudes of more than twice as many elements are taken of about this many.
constexpr std::int64_t typical_elements = 4096;

// Elements [first, first + count) of a contiguous tensor.
void load(const Tensor& tensor, std::int64_t first, std::int64_t count, std::int64_t step, double* to) {
  load_run<double>(tensor.dtype(), tensor.raw() + static_cast<std::size_t>(first) * size_of(tensor.dtype()), step,
                   count, to);
}

// Every so manyth element of a tensor, so that there are at least `fewest`, if it has as many, and less than twice
// that.
struct EvenSteps {
  EvenSteps(const Tensor& tensor, std::int64_t fewest)
      : step(std::max<std::int64_t>(1, tensor.numel() / fewest)), count((tensor.numel() + step - 1) / step) {}

  std::int64_t step;
  std::int64_t count;
};

FewNumbers few_of(const Tensor& tensor) {
  const EvenSteps steps(tensor, FewNumbers::fewest);
  FewNumbers few;
  few.count = static_cast<std::size_t>(steps.count);
  load(tensor.contiguous(), 0, steps.count, steps.step, few.values.data());
  return few;
}

// The median difference of b, of a dtype, from a, but for elements that jump.
double median_difference(const Tensor& a, const Tensor& b, DType dtype) {
  const std::vector<double> values = sampled(a);
  const double typical = median(finite_magnitudes(values));
  std::vector<double> differences = sampled(b);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const double difference = std::abs(differences[i] - values[i]);
    const bool small = difference <= jump * epsilon(dtype) * std::max(std::abs(values[i]), typical);
    differences[i] = small ? difference : std::numeric_limits<double>::infinity();
  }
  return median(finite_magnitudes(std::move(differences)));
}

// The median of noise as a share of values and their spread, because few samples may miss some elements; 0 without
// noise.
double median_share(const Tensor& noise, const Tensor& values, const Tensor& spread) {
  if (!noise.defined()) return 0;
  std::vector<double> shares = sampled(noise);
  const std::vector<double> sizes = sampled(values);
  std::vector<double> terms(sizes.size());
  if (spread.defined()) terms = sampled(spread);
  for (std::size_t i = 0; i < shares.size(); ++i) shares[i] /= std::abs(sizes[i]) + terms[i];
  return median(finite_magnitudes(std::move(shares)));
}

// One element of both sides and of what is known about it.
struct Element {
  double bench;
  double rounded;  // bench in the dtype of the device
  double device;
  double spread;
  double noise;
  double stored;       // with stored intermediate results; meaningless if there are none
  double lost = 0;     // what is left in place of a finite number
  int not_finite = 0;  // marks of what may stand there that is not finite
  double most = std::numeric_limits<double>::infinity();  // that is explained in any case
};

// What is explained of the difference of one element.
struct Allowance {
  DType dtype;
  bool exact;
  bool nearest;
  bool sums;
  bool adds_terms;
  double factor;       // of what is added up: sums, or what their logarithms are formed of
  double behind;       // of the sums behind logarithms
  double reach;        // the sum of all terms' sizes may be so many times their spread
  double end_of_sums;  // what partial sums may not exceed without becoming infinite
  TypicalMagnitude typical;
  double typical_noise;  // as a share of an element and its terms
  bool has_stored;
  double common_stored;
  double largest;
  rounding::Units units = rounding::Units(dtype);
  double noise_factor = noise_multiple(dtype);

  // Whether partial sums of the terms may exceed the range before they cancel, so that the result is the infinity of
  // the device, or NaN where both infinities meet. Which of them depends on the order of the terms.
  bool may_overflow(const Element& e) const {
    if (std::isnan(e.lost) ? std::isnan(e.device) : std::isinf(e.lost) && e.device == e.lost) return true;
    if ((not_finite_mark(e.device) & e.not_finite) != 0) return true;
    if (!adds_terms || !std::isfinite(e.bench) || std::isfinite(e.device)) return false;
    const double sizes = reach * e.spread;
    if (std::isnan(e.device)) return (sizes - std::abs(e.bench)) / 2 > end_of_sums;
    return (sizes + std::copysign(e.bench, e.bench * e.device)) / 2 > end_of_sums;
  }

  double unit_at(double value) const { return units.at(std::isfinite(value) ? value : largest); }

  // The limit of the error that is there before the result is rounded.
  double before_rounding(const Element& e) const {
    double of_sums = sums ? factor * (std::abs(e.bench) + e.spread + typical.of(e.bench)) + behind : 0;
    if (sums && e.bench == 0 && dtype != DType::float64) of_sums += underflow;
    const double size = std::abs(e.bench) + e.spread;
    // Few samples may miss a part of an element's noise, but not nearly all of it: where most elements are next to
    // nothing and all noise, as gradients of a saturated function, the others have no share of that.
    const double missed = std::max(most_missed * e.noise, units.precision() / 2 * size);
    const double of_noise = std::max(e.noise, std::min(typical_noise * size, missed));
    return std::isfinite(e.bench) ? of_sums + noise_factor * of_noise : 0;
  }

  double operator()(const Element& e, double unit) const {
    double total = exact ? 0 : unit + before_rounding(e);
    if (has_stored && std::isfinite(e.stored)) total += 2 * (std::abs(e.stored - e.bench) + common_stored);
    return total;
  }

  // The limit for a finite number of which no more is known, if terms have one typical magnitude. Without a branch, so
  // that many are computed at once.
  double of_magnitude(double magnitude) const {
    return units.at(magnitude) + (sums ? factor * (magnitude + typical.of_all()) + behind : 0);
  }

  // Arithmetic with stored intermediate results gives what has nothing to do with the benchmark.
  bool jumps(const Element& e) const {
    if (!has_stored) return false;
    const double scale = std::abs(e.bench) + e.spread + typical.of(e.bench);
    // Of a number that is lost, and no remainder of larger terms, nothing is left that could be a little off, however
    // much others lose.
    const double common = e.stored == 0 ? 0 : common_stored;
    return !(std::abs(e.stored - e.bench) <= jump * (units.precision() * scale + common) + unit_at(0));
  }

  // Not the nearest number to a value within the errors of sums.
  bool is_misrounded(const Element& e, double unit) const {
    return nearest && std::isfinite(e.device) && std::abs(e.device - e.bench) > unit / 2 + before_rounding(e);
  }

  double difference(double bench, double rounded, double device) const {
    if (std::isnan(rounded) || std::isnan(device)) {
      return std::isnan(rounded) && std::isnan(device) ? 0 : std::numeric_limits<double>::infinity();
    }
    if (rounded == device) return 0;
    // A value beyond the range becomes infinity or the largest number, and nothing else: how far a number within the
    // range is from it counts in full, since its error bound, a share of its size, may be wider than the whole range.
    if (std::isfinite(bench) && std::abs(rounded) > largest) {
      const double end_of_range = std::copysign(largest, rounded);
      if (device == end_of_range) return 0;
      return std::isinf(device) && (device > 0) == (rounded > 0) ? units.at(largest) : std::abs(device - bench);
    }
    // At the end of the range the largest number and infinity are neighbours, but for a benchmark that is this very
    // number: a mask, say.
    const bool overflow = std::isinf(device) && std::abs(rounded) == largest && (device > 0) == (rounded > 0);
    return overflow && std::abs(bench) != largest ? units.at(largest) : std::abs(device - rounded);
  }
};

// The allowance of a budget, but for what its noise and its stored intermediate results have in common. sample gives
// elements of the benchmark, for models that have to guess the terms behind them.
template <class Sample>
Allowance allowance_of(DType dtype, const ErrorBudget& budget, const Sample& sample) {
  const bool sums = budget.longest > 0 && !budget.exact;
  const double roundoff = budget.roundoff > 0 ? budget.roundoff : accumulator_roundoff(dtype);
  const bool guess_terms =
      sums && (budget.longest > 1 || budget.slack > 1 || budget.of_operands > 0) && !budget.spread.defined();
  const double of_sums = budget.slack * sum_factor(roundoff, budget.chain > 0 ? budget.chain : budget.longest);
  // The logarithm is formed of its sum and of the largest term in some steps.
  const double of_steps = budget.of_logarithms ? budget.slack * sum_factor(roundoff, 1) : of_sums;
  return {.dtype = dtype,
          .exact = budget.exact,
          .nearest = budget.nearest,
          .sums = sums,
          .adds_terms = sums && budget.adds_terms,
          .factor = of_steps + budget.of_operands,
          .behind = budget.of_logarithms ? of_sums : 0,
          .reach = std::sqrt(static_cast<double>(budget.longest)),
          .end_of_sums = max_finite(dtype == DType::float64 ? dtype : DType::float32),
          .typical = guess_terms ? TypicalMagnitude(sample()) : TypicalMagnitude(),
          .typical_noise = 0,
          .has_stored = budget.with_stored.defined(),
          .common_stored = 0,
          .largest = max_finite(dtype)};
}

// Of a result that nothing rounds, only the elements themselves count.
ErrorBudget without_terms(ErrorBudget budget) {
  if (!budget.unrounded) return budget;
  budget.longest = std::min<std::int64_t>(budget.longest, 1);
  budget.spread = budget.with_stored = budget.noise = Tensor();
  budget.slack = 1;
  budget.of_operands = 0;
  return budget;
}

// Adds one element that differs to the fit; place is its row-major index among count.
void add_difference(RoundingFit& fit, const Allowance& allowance, const Element& e, std::int64_t place,
                    std::int64_t count) {
  const auto mark = [&](std::vector<bool>& marks) {
    if (marks.empty()) marks.resize(static_cast<std::size_t>(count));
    marks[static_cast<std::size_t>(place)] = true;
  };
  const double difference = allowance.difference(e.bench, e.rounded, e.device);
  if (difference == 0) return;
  if (allowance.may_overflow(e)) {
    ++fit.overflowed;
    return;
  }
  const double unit = allowance.unit_at(e.rounded);
  double explained = 0;
  if (allowance.jumps(e)) {
    // It is one or the other.
    const Element other{e.stored, e.stored, e.device, e.spread, e.noise, e.stored};
    const double distance = allowance.difference(other.bench, other.rounded, other.device);
    if (distance <= allowance.unit_at(e.stored) + allowance.before_rounding(other)) return;
    explained = allowance.exact ? 0 : unit + allowance.before_rounding(e);
  } else {
    explained = allowance(e, unit);
  }
  explained = std::min(explained, e.most);
  fit.max_ulps = std::max(fit.max_ulps, difference / unit);
  if (explained > 0) fit.max_share = std::max(fit.max_share, difference / explained);
  if (difference > std::abs(e.bench) / 2) ++fit.half_off;
  if (difference > explained) {
    ++fit.beyond;
    mark(fit.is_beyond);
    fit.shares_beyond.push_back(static_cast<float>(difference / explained));
  } else if (allowance.is_misrounded(e, unit)) {
    ++fit.misrounded;
    mark(fit.is_misrounded);
  }
}

// Whether the typical magnitude of the result alone stands for the terms behind its elements. Where they cannot be
// measured (slack) there is no more to be had.
bool guesses_terms(const ErrorBudget& budget) {
  const bool is_measured = budget.spread.defined() || budget.noise.defined() || budget.with_stored.defined();
  return budget.longest > 1 && !budget.exact && !is_measured && budget.slack == 1 && budget.of_operands == 0;
}

void refuse_lost_slices(RoundingFit& fit, const Tensor& bench, const Tensor& device) {
  std::vector<bool> lost = lost_slices(bench, device);
  fit.beyond = std::ranges::count(lost, true);
  fit.is_beyond = std::move(lost);
  fit.shares_beyond.assign(static_cast<std::size_t>(fit.beyond), 1);
}

constexpr std::int64_t fitted_at_once = 1024;

// Elements of a contiguous benchmark as Tensor::to() rounds them, without memory for all of them at once.
class RoundedBlocks {
 public:
  RoundedBlocks(const Tensor& exact, DType dtype) : exact_(exact), dtype_(dtype) {}

  // Elements [first, first + count), of which there are no more than fitted_at_once; they stay until the next call.
  const std::byte* at(std::int64_t first, std::int64_t count) {
    const DType from = exact_.dtype();
    const std::byte* const source = exact_.raw() + static_cast<std::size_t>(first) * size_of(from);
    if (from == dtype_) return source;
    if (from == DType::float64 || dtype_ == DType::float64) {
      round<double>(from, source, count);
    } else {
      round<float>(from, source, count);
    }
    return bytes_.data();
  }

 private:
  template <class T>
  void round(DType from, const std::byte* source, std::int64_t count) {
    std::array<T, fitted_at_once> values;
    load_run<T>(from, source, 1, count, values.data());
    store_run<T>(dtype_, values.data(), count, bytes_.data());
  }

  const Tensor& exact_;
  DType dtype_;
  alignas(64) std::array<std::byte, fitted_at_once * sizeof(double)> bytes_;
};

// What is known about elements of the benchmark, contiguous, and what is explained of their differences.
class ElementBlocks {
 public:
  ElementBlocks(const Tensor& exact, DType dtype, const ErrorBudget& budget)
      : exact_(exact),
        spread_(in_a_row(budget.spread)),
        noise_(in_a_row(budget.noise)),
        stored_(in_a_row(budget.with_stored)),
        lost_(in_a_row(budget.lost)),
        not_finite_(in_a_row(budget.not_finite)),
        most_(in_a_row(budget.most)),
        allowance_(allowance_of(dtype, budget, [&] { return sampled(exact); })) {
    allowance_.typical_noise = median_share(noise_, exact, spread_);
    if (stored_.defined()) allowance_.common_stored = median_difference(exact, stored_, dtype);
  }

  const Allowance& allowance() const { return allowance_; }

  // Elements [first, first + count), of which there are no more than fitted_at_once; rounded and device are of a dtype.
  void read(std::int64_t first, std::int64_t count, DType dtype, const std::byte* rounded, const std::byte* device) {
    load(exact_, first, count, 1, b_.data());
    load_run<double>(dtype, rounded, 1, count, r_.data());
    load_run<double>(dtype, device, 1, count, d_.data());
    if (spread_.defined()) load(spread_, first, count, 1, s_.data());
    if (noise_.defined()) load(noise_, first, count, 1, n_.data());
    if (stored_.defined()) load(stored_, first, count, 1, t_.data());
    if (lost_.defined()) load(lost_, first, count, 1, l_.data());
    if (not_finite_.defined()) load(not_finite_, first, count, 1, f_.data());
    if (most_.defined()) load(most_, first, count, 1, m_.data());
    differing_ = 0;
    // Without a branch, which chance would decide.
    for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
      places_[differing_] = k;
      differing_ += r_[k] == d_[k] ? 0 : 1;
    }
  }

  // Those of what was read whose rounded benchmark and device are not equal, NaN among them.
  std::span<const std::size_t> differing() const { return std::span(places_).first(differing_); }

  // The k-th of those that were read.
  Element element(std::size_t k) const {
    const double spread = std::isfinite(s_[k]) ? s_[k] : 0;
    return {b_[k],
            r_[k],
            d_[k],
            spread,
            n_[k],
            t_[k],
            l_[k],
            static_cast<int>(f_[k]),
            most_.defined() ? m_[k] : std::numeric_limits<double>::infinity()};
  }

 private:
  using Block = std::array<double, fitted_at_once>;

  static Tensor in_a_row(const Tensor& tensor) { return tensor.defined() ? tensor.contiguous() : Tensor(); }

  const Tensor& exact_;
  Tensor spread_;
  Tensor noise_;
  Tensor stored_;
  Tensor lost_;
  Tensor not_finite_;
  Tensor most_;
  Allowance allowance_;
  Block b_;
  Block r_;
  Block d_;
  Block s_{};
  Block n_{};
  Block t_{};
  Block l_{};
  Block f_{};
  Block m_{};
  std::array<std::size_t, fitted_at_once> places_;
  std::size_t differing_ = 0;
};

}  // namespace

namespace rounding {

DType coarser(const Tensor& bench, const Tensor& device) {
  return epsilon(bench.dtype()) > epsilon(device.dtype()) ? bench.dtype() : device.dtype();
}

std::vector<double> sampled(const Tensor& tensor) {
  const EvenSteps steps(tensor, typical_elements);
  std::vector<double> values(static_cast<std::size_t>(steps.count));
  load(tensor, 0, steps.count, steps.step, values.data());
  return values;
}

double sum_factor(double roundoff, std::int64_t chain) {
  return safety * roundoff * std::sqrt(static_cast<double>(chain));
}

}  // namespace rounding

bool is_acceptable(const RoundingFit& fit, std::int64_t count) {
  return fit.explained() && fit.misrounded <= tolerated_misrounded(count);
}

double accumulator_roundoff(DType dtype) { return epsilon(dtype == DType::float64 ? dtype : DType::float32) / 2; }

RoundingFit fit_rounding(const Tensor& bench, const Tensor& device, const ErrorBudget& of_row, FitUntil until) {
  const ErrorBudget budget = without_terms(of_row);
  const DType dtype = device.dtype();
  const Tensor exact = bench.contiguous();
  const Tensor actual = device.contiguous();
  const std::int64_t count = exact.numel();
  const std::size_t width = size_of(dtype);
  RoundedBlocks rounded(exact, dtype);
  std::optional<ElementBlocks> blocks;
  RoundingFit fit;
  for (std::int64_t first = 0; first < count; first += fitted_at_once) {
    const std::int64_t size = std::min(fitted_at_once, count - first);
    const std::byte* const nearest = rounded.at(first, size);
    const std::byte* const given = actual.raw() + static_cast<std::size_t>(first) * width;
    if (std::memcmp(nearest, given, static_cast<std::size_t>(size) * width) == 0) continue;
    if (!blocks) blocks.emplace(exact, coarser(bench, device), budget);
    blocks->read(first, size, dtype, nearest, given);
    for (const std::size_t k : blocks->differing())
      add_difference(fit, blocks->allowance(), blocks->element(k), first + static_cast<std::int64_t>(k), count);
    if (until == FitUntil::first_beyond && !fit.explained()) break;
  }
  if (fit.explained() && fit.half_off >= fewest_of_a_slice && guesses_terms(budget))
    refuse_lost_slices(fit, exact, actual);
  return fit;
}

bool rounding_explains(const Tensor& bench, const Tensor& device, const ErrorBudget& budget) {
  return is_acceptable(fit_rounding(bench, device, budget, FitUntil::first_beyond), bench.numel());
}

FewNumbers allowed_shares(const Tensor& bench, DType dtype, const ErrorBudget& of_row) {
  const ErrorBudget budget = without_terms(of_row);
  const FewNumbers values = few_of(bench);
  Allowance allowance =
      allowance_of(dtype, budget, [&] { return std::vector<double>(values.all().begin(), values.all().end()); });
  // An exact result is visible by its last place.
  allowance.exact = false;
  FewNumbers shares;
  if (!budget.spread.defined() && !budget.noise.defined() && !allowance.has_stored && allowance.typical.is_one_kind()) {
    for (std::size_t i = 0; i < values.count; ++i) {
      const double magnitude = std::abs(values.values[i]);
      shares.values[i] = allowance.of_magnitude(magnitude) / magnitude;
    }
  } else {
    const auto beside = [&](const Tensor& tensor) { return tensor.defined() ? few_of(tensor) : FewNumbers(); };
    const FewNumbers spread = beside(budget.spread);
    const FewNumbers noise = beside(budget.noise);
    const FewNumbers stored = beside(budget.with_stored);
    for (std::size_t i = 0; i < values.count; ++i) {
      const double value = values.values[i];
      const double s = i >= spread.count || !std::isfinite(spread.values[i]) ? 0 : spread.values[i];
      const Element element{
          value, value, value, s, i < noise.count ? noise.values[i] : 0, i < stored.count ? stored.values[i] : value};
      shares.values[i] = allowance(element, allowance.unit_at(value)) / std::abs(value);
    }
  }
  for (std::size_t i = 0; i < values.count; ++i) {
    shares.values[shares.count] = shares.values[i];
    shares.count += values.values[i] != 0 && std::isfinite(values.values[i]) ? 1 : 0;
  }
  return shares;
}

}  // namespace msrun
