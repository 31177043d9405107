#include "kernels/compare/findings.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/base/text.h"

namespace msrun {
namespace {

// Elements above which values are not sorted to look for another order.
constexpr std::int64_t sorted_elements = std::int64_t{1} << 20;
// Below, a pattern could be chance.
constexpr std::int64_t enough_elements = 8;

std::string elements(std::int64_t count) { return std::to_string(count) + (count == 1 ? " element" : " elements"); }

class Differences {
 public:
  Differences(const Tensor& bench, const Tensor& device, const RoundingFit& fit)
      : dtype_(device.dtype()),
        bench_(bench.to(dtype_).to(DType::float64).contiguous()),
        device_(device.to(DType::float64).contiguous()),
        fit_(fit),
        count_(device.numel()) {}

  std::string pattern() const {
    for (const auto& look : {&Differences::flushed, &Differences::zeros, &Differences::not_finite, &Differences::signs,
                             &Differences::factor, &Differences::order, &Differences::block}) {
      if (std::string found = (this->*look)(); !found.empty()) return found;
    }
    return {};
  }

 private:
  double b(std::int64_t i) const { return bench_.data<double>()[i]; }
  double d(std::int64_t i) const { return device_.data<double>()[i]; }
  bool beyond(std::int64_t i) const { return fit_.is_beyond[static_cast<std::size_t>(i)]; }

  // True for all elements that rounding does not explain.
  template <class F>
  bool all_beyond(const F& holds) const {
    for (std::int64_t i = 0; i < count_; ++i) {
      if (beyond(i) && !holds(i)) return false;
    }
    return true;
  }

  std::string flushed() const {
    const double normal = smallest_normal(dtype_);
    const bool all = all_beyond([&](std::int64_t i) { return d(i) == 0 && b(i) != 0 && std::abs(b(i)) < normal; });
    if (!all) return {};
    return "Denormals flushed: " + elements(fit_.beyond) + " below the smallest normal " + std::string(name(dtype_)) +
           " " + (fit_.beyond == 1 ? "is" : "are") + " zero.";
  }

  std::string zeros() const {
    for (std::int64_t i = 0; i < count_; ++i) {
      if (d(i) != 0) return {};
    }
    return count_ < enough_elements ? "" : "The device's result is zero everywhere.";
  }

  std::string not_finite() const {
    std::int64_t nans = 0;
    std::int64_t infinities = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      if (!beyond(i) || !std::isfinite(b(i))) continue;
      nans += std::isnan(d(i)) ? 1 : 0;
      infinities += std::isinf(d(i)) ? 1 : 0;
    }
    if (nans + infinities != fit_.beyond) return {};
    if (infinities == 0) return elements(nans) + " NaN where the benchmark is a number.";
    if (nans == 0) return elements(infinities) + " infinite where the benchmark is a number.";
    return elements(nans) + " NaN and " + std::to_string(infinities) + " infinite where the benchmark is a number.";
  }

  std::string signs() const {
    if (all_beyond([&](std::int64_t i) { return std::isinf(b(i)) && d(i) == -b(i); })) {
      return "Sign of zero: " + elements(fit_.beyond) + " infinite with the opposite sign.";
    }
    const bool opposite = all_beyond([&](std::int64_t i) {
      return b(i) != 0 && std::isfinite(b(i)) && std::abs(d(i) + b(i)) <= unit_in_last_place(dtype_, b(i));
    });
    return opposite ? "Right magnitudes with the opposite sign: " + elements(fit_.beyond) + "." : "";
  }

  // A scale that was forgotten, applied twice or taken from elsewhere.
  std::string factor() const {
    std::int64_t largest = -1;
    std::int64_t used = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      if (!std::isfinite(b(i)) || !std::isfinite(d(i))) return {};
      if (b(i) == 0) continue;
      ++used;
      if (largest < 0 || std::abs(b(i)) > std::abs(b(largest))) largest = i;
    }
    if (used < enough_elements || fit_.beyond * 2 < used || d(largest) == 0) return {};
    const double scale = d(largest) / b(largest);
    bool constant = true;
    double spread = 0;
    for (std::int64_t i = 0; i < count_; ++i) {
      const double expected = scale * b(i);
      // The factor is known to one rounding, and either side is rounded.
      if (std::abs(d(i) - expected) > 4 * epsilon(dtype_) * std::abs(expected) + unit_in_last_place(dtype_, 0))
        return {};
      spread = std::max(spread, std::abs(std::abs(b(i)) - std::abs(b(largest))));
      constant = constant && b(i) == b(largest);
    }
    // Everything is a multiple of equal values.
    if (constant || spread == 0) return {};
    return "Every element is " + short_number(scale) + " times the benchmark's.";
  }

  std::string order() const {
    // Where values lie close together, a few wrong ones do not show in the sorted row.
    if (count_ < enough_elements || count_ > sorted_elements || fit_.beyond * 4 < count_) return {};
    std::vector<double> ours(static_cast<std::size_t>(count_));
    std::vector<double> theirs(ours.size());
    for (std::int64_t i = 0; i < count_; ++i) {
      if (std::isnan(b(i)) || std::isnan(d(i))) return {};
      ours[static_cast<std::size_t>(i)] = b(i);
      theirs[static_cast<std::size_t>(i)] = d(i);
    }
    std::sort(ours.begin(), ours.end());
    std::sort(theirs.begin(), theirs.end());
    for (std::size_t i = 0; i < ours.size(); ++i) {
      if (ours[i] != theirs[i] && !(std::abs(ours[i] - theirs[i]) <= unit_in_last_place(dtype_, ours[i]))) return {};
    }
    return "The benchmark's values in another order.";
  }

  std::string block() const {
    std::int64_t first = count_;
    std::int64_t last = -1;
    for (std::int64_t i = 0; i < count_; ++i) {
      if (!beyond(i)) continue;
      first = std::min(first, i);
      last = i;
    }
    if (fit_.beyond == 1 && count_ > 2) {
      return "One element of " + std::to_string(count_) + " differs, at " + std::to_string(first) +
             " of the row-major order.";
    }
    const std::int64_t length = last - first + 1;
    // A few elements inside may be right by chance.
    const bool dense = fit_.beyond * 10 >= length * 9;
    if (fit_.beyond < 2 || !dense || length * 2 > count_) return {};
    return "One contiguous block of elements differs: " + std::to_string(first) + " to " + std::to_string(last) +
           " of " + std::to_string(count_) + " in row-major order.";
  }

  DType dtype_;
  Tensor bench_;
  Tensor device_;
  const RoundingFit& fit_;
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

std::string difference_pattern(const Tensor& bench, const Tensor& device, const RoundingFit& fit) {
  return fit.beyond == 0 ? "" : Differences(bench, device, fit).pattern();
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
