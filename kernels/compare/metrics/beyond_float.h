// Pairs of elements that float32 cannot hold, in the comparison of two dumped tensors (dump_metrics.h): what is NaN or
// infinite, and what float64 holds but float32 does not. The latter are numbers like others, and compared as such.
#pragma once

#include <cstdint>
#include <limits>

namespace msrun {

class BeyondFloat {
 public:
  // One side of all pairs that were taken.
  struct Side {
    // Sums of what is finite. Squares of float64 numbers are beyond the range of float64.
    long double sum = 0;
    long double squares = 0;
    // Sums of what is in pairs of which one number is NaN or infinite.
    double rest = 0;
    double rest_squares = 0;
    // The extremes of the elements that float32 cannot hold; NaN left out.
    double largest = -std::numeric_limits<double>::infinity();
    double smallest = std::numeric_limits<double>::infinity();
  };
  // What the pairs of finite numbers add to the metrics of that name.
  struct Finite {
    std::int64_t count = 0;
    long double products = 0;
    long double difference_squares = 0;
    double max_difference = 0;
    double max_relative = 0;
    std::int64_t within_thousandth = 0;
    std::int64_t within_five_thousandths = 0;
    std::int64_t only_golden_zero = 0;
  };

  // A pair of which at least one is not finite as float32. Numbers up to least_golden count as zero in golden.
  void take(double golden, double mine, double least_golden);

  const Side& golden() const { return golden_; }
  const Side& mine() const { return mine_; }
  const Finite& finite() const { return finite_; }
  // Pairs of the same infinity, or of NaN.
  std::int64_t equal_not_finite() const { return equal_not_finite_; }

 private:
  void compare(double golden, double mine, double least_golden);

  Side golden_;
  Side mine_;
  Finite finite_;
  std::int64_t equal_not_finite_ = 0;
};

}  // namespace msrun
