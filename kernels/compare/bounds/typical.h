// What is typical of many numbers: medians of magnitudes.
#pragma once

#include <array>
#include <cmath>
#include <span>
#include <vector>

namespace msrun {

// The median of magnitudes, the upper one of an even number; 0 if there is none. None is negative or NaN.
double median(std::span<const double> magnitudes);

// The magnitudes of those values that are finite.
std::vector<double> finite_magnitudes(std::vector<double> values);

// The typical magnitude of a tensor's elements: their median. It stands for the terms behind elements that are small
// because their terms cancel. Where far more elements are small than cancellation leaves so, as in scores of which a
// mask moves the others to -1e9, these are of another kind and have a typical magnitude of their own. So are zeros, of
// which there are more than chance leaves where nothing was added up. A single number is typical of nothing: its own
// magnitude is known already.
class TypicalMagnitude {
 public:
  TypicalMagnitude() = default;
  // The values may be in any order.
  explicit TypicalMagnitude(std::vector<double> values);

  bool is_one_kind() const { return kinds_[0].at_least == 0; }
  // The typical magnitude of every value, where they are of one kind.
  double of_all() const { return kinds_[0].typical; }

  double of(double value) const {
    for (const Kind& kind : kinds_) {
      if (!(std::abs(value) < kind.at_least)) return kind.typical;
    }
    return kinds_.back().typical;
  }

 private:
  struct Kind {
    double at_least = 0;  // magnitudes below are of the kinds that follow
    double typical = 0;
  };
  std::array<Kind, 4> kinds_{};  // by falling magnitude
};

}  // namespace msrun
