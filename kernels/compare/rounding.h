// What rounding alone can do to a result: the difference from the benchmark in units of the last place, and an a-priori
// bound for results that are sums. A difference within it says nothing against the device, whatever its status is by
// the documented limits; one beyond it needs another reason.
//
// Model: the device rounds its result once to the dtype it is stored in, to a neighbour of the exact value at worst.
// What comes before is computed in float32 (float64 for float64), of unit roundoff u. A sum of n terms t in any order
// then errs, with the rounding errors independent of one another, by a small multiple of u sqrt(n) (|sum| + sqrt(sum
// t^2)): the square root of n in place of n as in Higham and Mary, "A new approach to probabilistic rounding error
// analysis", SIAM J. Sci. Comput. 41 (2019).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/tensor/tensor.h"

namespace msrun {

// What lies behind each element of a result.
struct SumModel {
  // Terms of the longest sum; 0: nothing is rounded but the result itself.
  std::int64_t longest = 0;
  // Root of the sum of the squares of the terms, float64, of the result's shape. Undefined: the median magnitude of the
  // benchmark stands for it.
  Tensor spread;
  // Unit roundoff of the arithmetic before the result; 0: that of float32, or of float64 for a float64 result.
  double roundoff = 0;
  // A result of the same shape from arithmetic that rounds intermediate results too: its own difference from the
  // benchmark is explained twice over. Undefined: there are none.
  Tensor with_stored;
  // The result holds inputs as they are: nothing may be rounded at all.
  bool exact = false;
};

struct RoundingFit {
  double max_ulps = 0;      // largest difference from the correctly rounded benchmark; infinity where no rounding leads
  double max_share = 0;     // largest difference as a share of what is explained, 1 or less if all is
  std::int64_t beyond = 0;  // elements that are not explained
  std::vector<bool> is_beyond;  // row-major; empty if there is none

  bool explained() const { return beyond == 0; }
};

// bench and device have equal shapes and are floating; ULPs are those of the device's dtype. NaN on both sides, and
// infinity of one sign, are no difference; neither is the largest finite number for a benchmark beyond it.
RoundingFit fit_rounding(const Tensor& bench, const Tensor& device, const SumModel& model);

// Unit in the last place of a floating dtype at a finite value, subnormal numbers included.
double unit_in_last_place(DType dtype, double value);

// Smallest positive normal number of a floating dtype.
double smallest_normal(DType dtype);

// The unit roundoff of the dtype in which sums are formed: half the distance from 1 to the next number.
double accumulator_roundoff(DType dtype);

// Estimates SumModel::spread of a result from results for inputs that were changed by random relative amounts of a
// known size: their deviation over that size.
class SpreadEstimate {
 public:
  // original is the result for the unchanged inputs; change the relative size of the changes.
  SpreadEstimate(const Tensor& original, double change);

  // A result of the same shape, for inputs each changed by plus or minus change.
  void add(const Tensor& changed);

  // Root mean square of what was added, float64.
  Tensor spread() const;

 private:
  Tensor original_;
  double change_;
  std::vector<double> squares_;
  int samples_ = 0;
};

}  // namespace msrun
