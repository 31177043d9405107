#include "kernels/compare/diagnosis/findings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/base/text.h"
#include "kernels/compare/diagnosis/difference.h"
#include "kernels/compare/diagnosis/rearrangements.h"

namespace msrun {
namespace {

// Below, a pattern could be chance.
constexpr std::int64_t enough_elements = 8;
constexpr std::int64_t enough_for_correlation = 64;
// What a factor leaves of a result at most, as a share of its root mean square, that is plain.
constexpr double plain_share = 0x1p-4;

std::string elements(std::int64_t count) { return std::to_string(count) + (count == 1 ? " element" : " elements"); }

// Sums over pairs of numbers.
struct Moments {
  double count = 0;
  double b = 0;
  double d = 0;
  double bb = 0;
  double dd = 0;
  double bd = 0;

  void add(double from_bench, double from_device) {
    ++count;
    b += from_bench;
    d += from_device;
    bb += from_bench * from_bench;
    dd += from_device * from_device;
    bd += from_bench * from_device;
  }
  double variance_b() const { return std::max(0.0, bb / count - b / count * (b / count)); }
  double variance_d() const { return std::max(0.0, dd / count - d / count * (d / count)); }
  double correlation() const { return (bd / count - b / count * (d / count)) / std::sqrt(variance_b() * variance_d()); }
};

class Differences {
 public:
  Differences(const Tensor& bench, const Tensor& device, const RoundingFit& fit, const ErrorBudget& budget,
              const DifferenceMap& map)
      : dtype_(device.dtype()),
        stored_(device),
        bench_(bench.to(dtype_).to(DType::float64).contiguous()),
        device_(device.to(DType::float64).contiguous()),
        exact_(bench.to(DType::float64).contiguous()),
        is_wrong_(wrong_elements(fit)),
        wrong_(wrong_count(fit)),
        fit_(fit),
        budget_(budget),
        map_(map),
        count_(device.numel()) {}

  std::string pattern(const std::function<std::string()>& look_further) const {
    // What is true of all elements, or of those in other places, has no place.
    for (const auto& look :
         {&Differences::flushed, &Differences::zeros, &Differences::whole_sign, &Differences::order}) {
      if (std::string found = (this->*look)(); !found.empty()) return found;
    }
    if (look_further && is_all_over()) {
      if (std::string found = look_further(); !found.empty()) return found;
    }
    if (std::string found = whole_factor(); !found.empty()) return found;
    std::string text;
    for (const auto& look : {&Differences::zeros_in_place, &Differences::not_finite, &Differences::not_written,
                             &Differences::signs, &Differences::factor, &Differences::about_scaled}) {
      if (text = (this->*look)(); !text.empty()) break;
    }
    if (text.empty()) text = unrelated();
    // That one element is wrong is said already.
    if (!text.empty() && wrong_ == 1) return text;
    const std::string place = place_sentence(map_, stored_.shape());
    return text + (text.empty() || place.empty() ? "" : " ") + place;
  }

 private:
  double b(std::int64_t i) const { return bench_.data<double>()[i]; }
  double e(std::int64_t i) const { return exact_.data<double>()[i]; }
  double d(std::int64_t i) const { return device_.data<double>()[i]; }
  bool wrong(std::int64_t i) const { return is_wrong_[static_cast<std::size_t>(i)]; }

  // True for all elements that rounding does not explain.
  template <class F>
  bool all_wrong(const F& holds) const {
    for (std::int64_t i = 0; i < count_; ++i) {
      if (wrong(i) && !holds(i)) return false;
    }
    return true;
  }

  std::string flushed() const {
    const double normal = smallest_normal(dtype_);
    const bool all = all_wrong([&](std::int64_t i) { return d(i) == 0 && b(i) != 0 && std::abs(b(i)) < normal; });
    if (!all) return {};
    return "Denormals flushed: " + elements(wrong_) + " below the smallest normal " + std::string(name(dtype_)) + " " +
           (wrong_ == 1 ? "is" : "are") + " zero.";
  }

  std::string zeros() const {
    for (std::int64_t i = 0; i < count_; ++i) {
      if (d(i) != 0) return {};
    }
    return count_ < enough_elements ? "" : "The device's result is zero everywhere.";
  }

  std::string zeros_in_place() const {
    if (wrong_ < enough_elements || !all_wrong([&](std::int64_t i) { return d(i) == 0; })) return {};
    return elements(wrong_) + " are zero where the benchmark is not.";
  }

  std::string not_finite() const {
    std::int64_t nans = 0;
    std::int64_t infinities = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      if (!wrong(i) || !std::isfinite(b(i))) continue;
      nans += std::isnan(d(i)) ? 1 : 0;
      infinities += std::isinf(d(i)) ? 1 : 0;
    }
    if (nans + infinities != wrong_) return {};
    if (infinities == 0) return elements(nans) + " NaN where the benchmark is a number.";
    if (nans == 0) return elements(infinities) + " infinite where the benchmark is a number.";
    return elements(nans) + " NaN and " + std::to_string(infinities) + " infinite where the benchmark is a number.";
  }

  // Bits of anything: magnitudes far below and far above all that the benchmark has, or no numbers.
  std::string not_written() const {
    if (wrong_ < enough_elements) return {};
    std::vector<double> magnitudes;
    for (std::int64_t i = 0; i < count_; ++i) {
      if (b(i) != 0 && std::isfinite(b(i))) magnitudes.push_back(std::abs(b(i)));
    }
    if (magnitudes.empty()) return {};
    const auto quantile = [&](std::size_t percent) {
      const auto at = magnitudes.begin() + static_cast<std::ptrdiff_t>((magnitudes.size() - 1) * percent / 100);
      std::nth_element(magnitudes.begin(), at, magnitudes.end());
      return *at;
    };
    // Dtypes with few exponents leave little room beyond.
    const double far = dtype_ == DType::float16 || is_float8(dtype_) ? 0x1p4 : 0x1p20;
    const double least = std::max(quantile(2) / far, unit_in_last_place(dtype_, 0));
    const double most = quantile(100) * far;
    std::int64_t small = 0;
    std::int64_t large = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      if (!wrong(i)) continue;
      small += d(i) != 0 && std::abs(d(i)) <= least ? 1 : 0;
      large += !(std::abs(d(i)) < most) ? 1 : 0;
    }
    if ((small + large) * 3 < wrong_ || small * 32 < wrong_ || large * 32 < wrong_) return {};
    return "Memory that was not written: " + std::to_string(large) + " of " + elements(wrong_) +
           " are far beyond the benchmark's values or no numbers, " + std::to_string(small) + " far below them.";
  }

  std::string signs() const {
    if (all_wrong([&](std::int64_t i) { return std::isinf(b(i)) && d(i) == -b(i); })) {
      return "Sign of zero: " + elements(wrong_) + " infinite with the opposite sign.";
    }
    const bool opposite = all_wrong([&](std::int64_t i) {
      return b(i) != 0 && std::isfinite(b(i)) && std::abs(d(i) + b(i)) <= unit_in_last_place(dtype_, b(i));
    });
    if (!opposite && (wrong_ < enough_elements || !is_scaled(-1, false) || !is_scaled(-1, false, 0x1p-4))) return {};
    return "Right magnitudes with the opposite sign: " + elements(wrong_) + ".";
  }

  std::string whole_sign() const {
    if (wrong_ < enough_elements || !is_scaled(-1, true) || !is_scaled(-1, false, 0x1p-4)) return {};
    return "Right magnitudes with the opposite sign: every element.";
  }

  // Whether all elements, or the wrong ones alone, are this multiple of the benchmark as far as rounding goes. The
  // multiple was rounded twice. With a share every such element is within this share of the multiple instead.
  bool is_scaled(double scale, bool all, std::optional<double> share = {}) const {
    if (share) {
      return all_wrong([&](std::int64_t i) {
        return b(i) != 0 && std::abs(d(i) - scale * b(i)) <= *share * std::abs(scale * b(i));
      });
    }
    const auto scaled = [&](const Tensor& tensor) {
      Tensor result = tensor.to(DType::float64).clone();
      double* values = result.mutable_data<double>();
      for (std::int64_t i = 0; i < count_; ++i) {
        if (all || wrong(i)) values[i] *= scale;
      }
      return result;
    };
    const auto widened = [&](const Tensor& tensor) {
      // Sizes have no sign.
      Tensor result = scaled(tensor.contiguous());
      double* values = result.mutable_data<double>();
      for (std::int64_t i = 0; i < count_; ++i) values[i] = std::abs(values[i]);
      return result;
    };
    ErrorBudget budget = budget_;
    if (budget.spread.defined()) budget.spread = widened(budget.spread);
    if (budget.noise.defined()) budget.noise = widened(budget.noise);
    if (budget.with_stored.defined()) budget.with_stored = scaled(budget.with_stored.contiguous());
    const Tensor expected = scaled(exact_);
    const RoundingFit fit = fit_rounding(expected, stored_, budget);
    const double* values = expected.data<double>();
    for (std::int64_t i = 0; i < count_ && fit.beyond > 0; ++i) {
      if (fit.is_beyond[static_cast<std::size_t>(i)] &&
          !(std::abs(d(i) - values[i]) <= 2 * unit_in_last_place(dtype_, values[i]))) {
        return false;
      }
    }
    return true;
  }

  // The factor that fits best, in the sense of least squares over errors in units of the last place, if it is no
  // chance; 0 if there is none.
  double best_factor(bool all) const {
    double products = 0;
    double squares = 0;
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    std::int64_t used = 0;
    const auto each = [&](const auto& take) {
      for (std::int64_t i = 0; i < count_; ++i) {
        if ((!all && !wrong(i)) || e(i) == 0) continue;
        const double unit = unit_in_last_place(dtype_, e(i));
        take(e(i) / unit, d(i) / unit);
      }
    };
    for (std::int64_t i = 0; i < count_; ++i) {
      const bool same = b(i) == d(i) || (std::isnan(b(i)) && std::isnan(d(i)));
      if ((all || wrong(i)) && !same && !(std::isfinite(e(i)) && std::isfinite(d(i)))) return 0;
      if ((!all && !wrong(i)) || e(i) == 0 || !std::isfinite(e(i))) continue;
      ++used;
      least = std::min(least, std::abs(e(i)));
      most = std::max(most, std::abs(e(i)));
    }
    // Everything is a multiple of equal values.
    if (used < enough_elements || least == most) return 0;
    each([&](double x, double y) {
      if (!std::isfinite(x)) return;
      products += x * y;
      squares += x * x;
    });
    const double factor = products / squares;
    // Truncation moves all elements by half a unit towards zero, which is a factor, too, but not the same for all.
    double towards_zero = 0;
    each([&](double x, double y) {
      if (std::isfinite(x)) towards_zero += std::copysign(1.0, x) * (y - x);
    });
    towards_zero /= static_cast<double>(used);
    double residual = 0;
    double residual_of_truncation = 0;
    each([&](double x, double y) {
      if (!std::isfinite(x)) return;
      residual += (y - factor * x) * (y - factor * x);
      const double error = y - x - std::copysign(1.0, x) * towards_zero;
      residual_of_truncation += error * error;
    });
    if (residual_of_truncation < residual) return 0;
    // The factor's standard error.
    const double error = std::sqrt(residual / static_cast<double>(used) / squares);
    if (!(std::abs(factor - 1) > 10 * error)) return 0;
    // The number of the fewest digits that it may be.
    for (int digits = 1; digits <= 4; ++digits) {
      std::array<char, 32> text{};
      std::snprintf(text.data(), text.size(), "%.*g", digits, factor);
      const double round = std::strtod(text.data(), nullptr);
      if (std::abs(round - factor) <= 3 * error + 1e-9 * std::abs(factor)) return round;
    }
    return factor;
  }

  // "1.5", but "1 + 2.98e-08" where a short number would be 1.
  static std::string factor_text(double scale) {
    std::string text = short_number(scale);
    if (std::strtod(text.c_str(), nullptr) != 1 || scale == 1) return text;
    return text + (scale > 1 ? " + " : " - ") + short_number(std::abs(scale - 1));
  }

  // A scale that was forgotten, applied twice or taken from elsewhere.
  std::string whole_factor() const {
    const double scale = best_factor(true);
    if (scale == 0 || !is_scaled(scale, true)) return {};
    if (scale == -1) return "Right magnitudes with the opposite sign: every element.";
    return "Every element is " + factor_text(scale) + " times the benchmark's.";
  }

  std::string factor() const {
    const double scale = best_factor(false);
    if (scale == 0 || !is_scaled(scale, false)) return {};
    return "Every wrong element is " + factor_text(scale) + " times the benchmark's.";
  }

  // A factor that is plain beside errors of another kind, as of probabilities that are rounded to a half type.
  std::string about_scaled() const {
    if (wrong_ < enough_elements || wrong_ * 2 < count_) return {};
    Moments moments;
    for (std::int64_t i = 0; i < count_; ++i) {
      if (std::isfinite(b(i)) && std::isfinite(d(i))) moments.add(b(i), d(i));
    }
    const double scale = moments.bd / moments.bb;
    if (!(moments.dd - scale * moments.bd <= plain_share * plain_share * moments.dd) ||
        !(std::abs(scale - 1) > 4 * plain_share))
      return {};
    if (std::abs(scale + 1) < plain_share) return "Right magnitudes with the opposite sign, but for small errors.";
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.2g", scale);
    return "All elements together are about " + std::string(text.data()) + " times the benchmark's.";
  }

  std::string order() const { return rearrangement(exact_, stored_, fit_, budget_); }

  bool is_all_over() const {
    return map_.kind == DifferenceMap::Kind::everywhere || map_.kind == DifferenceMap::Kind::scattered ||
           map_.wrong * 2 >= map_.elements;
  }

  // The result of other inputs, or of another function, or what the memory held before.
  std::string unrelated() const {
    const bool everywhere = map_.kind == DifferenceMap::Kind::everywhere;
    if (wrong_ < enough_for_correlation || (map_.kind == DifferenceMap::Kind::scattered)) return {};
    Moments moments;
    for (std::int64_t i = 0; i < count_; ++i) {
      // Unless all elements differ, those that are right, be it by chance, are left out.
      if ((everywhere || wrong(i)) && std::isfinite(b(i)) && std::isfinite(d(i))) moments.add(b(i), d(i));
    }
    if (moments.count * 10 < static_cast<double>(wrong_) * 9) return {};
    const double theirs = std::sqrt(moments.variance_d());
    const double ours = std::sqrt(moments.variance_b());
    const bool alike = ours > 0 && theirs <= 2 * ours && ours <= 2 * theirs &&
                       std::abs(moments.b - moments.d) / moments.count <= std::max(ours, theirs);
    if (!alike) return {};
    const double correlation = moments.correlation();
    if (!(std::abs(correlation) < std::max(0.1, 4 / std::sqrt(moments.count)))) return {};
    return "Values of like size that have nothing to do with the benchmark's (correlation " +
           short_number(std::round(correlation * 100) / 100) + ").";
  }

  DType dtype_;
  const Tensor& stored_;  // the device's, in its dtype
  Tensor bench_;          // rounded to that dtype
  Tensor device_;
  Tensor exact_;  // the benchmark's
  const std::vector<bool>& is_wrong_;
  std::int64_t wrong_;
  const RoundingFit& fit_;
  const ErrorBudget& budget_;
  const DifferenceMap& map_;
  std::int64_t count_;
};

struct ErrorSizes {
  double rms = 0;
  double largest = 0;
};

ErrorSizes error_sizes(const Tensor& bench, const Tensor& other) {
  const Tensor left = bench.to(DType::float64).contiguous();
  const Tensor right = other.to(DType::float64).contiguous();
  const double* b = left.data<double>();
  const double* o = right.data<double>();
  ErrorSizes sizes;
  for (std::int64_t i = 0; i < left.numel(); ++i) {
    const double error = std::abs(o[i] - b[i]);
    if (!std::isfinite(error)) continue;
    sizes.rms += error * error;
    sizes.largest = std::max(sizes.largest, error);
  }
  sizes.rms = std::sqrt(sizes.rms / static_cast<double>(std::max<std::int64_t>(1, left.numel())));
  return sizes;
}

bool alike(double a, double b) { return a <= 2 * b && b <= 2 * a; }

}  // namespace

std::string difference_pattern(const Tensor& bench, const Tensor& device, const RoundingFit& fit,
                               const ErrorBudget& budget, const DifferenceMap& map,
                               const std::function<std::string()>& look_further) {
  return wrong_count(fit) == 0 ? "" : Differences(bench, device, fit, budget, map).pattern(look_further);
}

double evidence_bits(const RoundingFit& fit) {
  constexpr float most = 0x1p40F;
  auto bits = static_cast<double>(fit.misrounded);
  for (const float share : fit.shares_beyond) bits += std::log2(std::min(share, most));
  return bits;
}

bool same_error_distribution(const Tensor& bench, const Tensor& device, const Tensor& alternative,
                             const RoundingFit& device_fit, const RoundingFit& alternative_fit) {
  if (device_fit.beyond < 32 || device_fit.beyond * 10 < device.numel()) return false;
  if (!alike(static_cast<double>(device_fit.beyond), static_cast<double>(alternative_fit.beyond))) return false;
  const ErrorSizes ours = error_sizes(bench, alternative);
  const ErrorSizes theirs = error_sizes(bench, device);
  return alike(ours.rms, theirs.rms) && alike(ours.largest, theirs.largest);
}

}  // namespace msrun
