#include "kernels/compare/metrics/beyond_float.h"

#include <algorithm>
#include <cmath>

namespace msrun {
namespace {

void widen(BeyondFloat::Side& side, double value) {
  if (std::isfinite(static_cast<float>(value))) return;
  if (value > side.largest) side.largest = value;
  if (value < side.smallest) side.smallest = value;
}

void add_rest(BeyondFloat::Side& side, double value) {
  side.rest += value;
  side.rest_squares += value * value;
}

void add_finite(BeyondFloat::Side& side, double value) {
  side.sum += value;
  side.squares += static_cast<long double>(value) * value;
}

}  // namespace

void BeyondFloat::take(double golden, double mine, double least_golden) {
  widen(golden_, golden);
  widen(mine_, mine);
  if (std::isfinite(golden) && std::isfinite(mine)) return compare(golden, mine, least_golden);
  add_rest(golden_, golden);
  add_rest(mine_, mine);
  if (golden == mine || (std::isnan(golden) && std::isnan(mine))) ++equal_not_finite_;
}

void BeyondFloat::compare(double golden, double mine, double least_golden) {
  add_finite(golden_, golden);
  add_finite(mine_, mine);
  ++finite_.count;
  const long double difference = static_cast<long double>(mine) - golden;
  finite_.products += static_cast<long double>(golden) * mine;
  finite_.difference_squares += difference * difference;
  finite_.max_difference = std::max(finite_.max_difference, static_cast<double>(std::abs(difference)));
  if (std::abs(golden) <= least_golden) {
    ++finite_.only_golden_zero;
    return;
  }
  const double relative = std::abs(mine / golden - 1);
  finite_.max_relative = std::max(finite_.max_relative, relative);
  if (relative < 0.001) ++finite_.within_thousandth;
  if (relative < 0.005) ++finite_.within_five_thousandths;
}

}  // namespace msrun
