// What rounding alone can do to a result: the difference from the benchmark in units of the last place, and an a-priori
// bound for results that are sums. A difference within it says nothing against the device, whatever its status is by
// the documented limits; one beyond it needs another reason.
//
// Model: the device rounds its result once to the dtype it is stored in, to a neighbour of the exact value at worst.
// What comes before is computed in float32 (float64 for float64), of unit roundoff u. A sum of n terms t in any order
// then errs, with the rounding errors independent of one another, by a small multiple of u sqrt(n) (|sum| + sqrt(sum
// t^2)): the square root of n in place of n as in Higham and Mary, "A new approach to probabilistic rounding error
// analysis", SIAM J. Sci. Comput. 41 (2019). Devices add long sums in blocks and the blocks in a tree: of these n is
// the length of a block and the depth of the tree.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "kernels/tensor/tensor.h"

namespace msrun {

// What lies behind each element of a result.
struct ErrorBudget {
  // Terms of the longest sum; 0: nothing is rounded but the result itself.
  std::int64_t longest = 0;
  // Of its additions those that wait for one another (chained_additions); 0: as many as there are terms.
  std::int64_t chain = 0;
  // Root of the sum of the squares of the terms, float64, of the result's shape. Undefined: where there are sums, the
  // typical magnitude of the benchmark's elements stands for it.
  Tensor spread;
  // The elements are logarithms of these sums: what a sum errs by relative to its size, its logarithm errs by, whatever
  // its own size.
  bool of_logarithms = false;
  // The elements are sums of terms of that spread and nothing else, so that partial sums of them may overflow.
  bool adds_terms = false;
  // Unit roundoff of the arithmetic before the result; 0: that of float32, or of float64 for a float64 result.
  double roundoff = 0;
  // A result of the same shape from arithmetic that rounds intermediate results too: its own difference from the
  // benchmark is explained twice over, and so is the result itself. Undefined: there are none.
  Tensor with_stored;
  // What sound arithmetic typically errs by, element by element, for inputs beside those of the result (NoiseEstimate):
  // it is explained several times over. Undefined: not known.
  Tensor noise;
  // What sound arithmetic may leave in place of finite numbers, float64: an infinity or NaN (mark_lost); 0 elsewhere.
  // Undefined: there are no such elements.
  Tensor lost;
  // The result holds inputs as they are: nothing may be rounded at all.
  bool exact = false;
  // Which values that are not finite the call has in another order or range of its arithmetic, float64: the sum of
  // their marks (not_finite_mark) for each element. Undefined: none has any but the benchmark's.
  Tensor not_finite;
  // No step of the call rounds anything: what lies behind an element has no errors that it could enlarge.
  bool unrounded = false;
  // What each element may err by at most, its own rounding included, float64; infinity where that is not known. 0: it
  // is a copy. Undefined: it is known of none.
  Tensor most;
  // The result is rounded once, to nearest (RoundingFit::misrounded).
  bool nearest = false;
  // The terms cannot be measured: the typical magnitude stands for them even without sums, and so many times the error
  // of sums is explained.
  double slack = 1;
  // What rounding the operands of products before they are multiplied changes at most, relative to the size of a sum
  // and the spread of its terms.
  double of_operands = 0;
};

// One mark for each value that is not finite; 0 for a number.
constexpr int not_finite_mark(double value) {
  if (value != value) return 4;
  return value == std::numeric_limits<double>::infinity()    ? 1
         : value == -std::numeric_limits<double>::infinity() ? 2
                                                             : 0;
}
inline constexpr int all_not_finite = 7;

struct RoundingFit {
  double max_ulps = 0;      // largest difference from the correctly rounded benchmark; infinity where no rounding leads
  double max_share = 0;     // largest difference as a share of what is explained, 1 or less if all is
  std::int64_t beyond = 0;  // elements that are not explained
  std::vector<bool> is_beyond;  // row-major; empty if there is none
  std::vector<float>
      shares_beyond;  // of these elements, in their order: max_share is the largest of all; may be infinite
  // Explained elements that are not finite because partial sums, or other steps on the way, may exceed the range.
  std::int64_t overflowed = 0;
  // Explained elements of a result that should be rounded to nearest and are one place further off than that leads:
  // truncation does this to half of all elements, sums in a narrow accumulator to as many as their errors reach.
  std::int64_t misrounded = 0;
  std::vector<bool> is_misrounded;  // row-major; empty if there is none
  std::int64_t half_off = 0;        // elements that are off by more than half of their size

  bool explained() const { return beyond == 0; }
};

// One place beside the nearest number lies, of sound results, hardly any element: no more than this of so many.
constexpr std::int64_t tolerated_misrounded(std::int64_t count) { return 2 + count / 100; }

// Whether rounding explains a result of so many elements.
bool is_acceptable(const RoundingFit& fit, std::int64_t count);

// Which elements fit_rounding() looks at: all of them, or only those up to some behind the first that is beyond, which
// tells as well whether rounding explains them all, and, if it does, everything else.
enum class FitUntil : std::uint8_t { end, first_beyond };

// Of a budget that guesses the terms behind elements no slice is explained of which nothing is left (lost_slices.h).
// bench and device have equal shapes and are floating; ULPs are those of the device's dtype. NaN on both sides, and
// infinity of one sign, are no difference; neither is the largest finite number for a benchmark beyond it.
RoundingFit fit_rounding(const Tensor& bench, const Tensor& device, const ErrorBudget& budget,
                         FitUntil until = FitUntil::end);

// Whether rounding explains the difference of two tensors: is_acceptable(fit_rounding(...)).
bool rounding_explains(const Tensor& bench, const Tensor& device, const ErrorBudget& budget);

// Numbers of some elements of a tensor.
struct FewNumbers {
  // Tensors of more than twice as many elements have more than so many of them looked at.
  static constexpr std::int64_t fewest = 64;
  static constexpr std::size_t most = 2 * fewest;

  std::array<double, most> values;  // only the first count are set
  std::size_t count = 0;

  std::span<const double> all() const { return std::span(values).first(count); }
};

// What is explained of some elements, evenly spread, as a share of each; elements that are 0 or not finite have none.
// Results that hold inputs as they are allow nothing: their share is that of the last place.
FewNumbers allowed_shares(const Tensor& bench, DType dtype, const ErrorBudget& budget);

// Unit in the last place of a floating dtype at a finite value, subnormal numbers included.
double unit_in_last_place(DType dtype, double value);

// Smallest positive normal number of a floating dtype.
double smallest_normal(DType dtype);

// The unit roundoff of the dtype in which sums are formed: half the distance from 1 to the next number.
double accumulator_roundoff(DType dtype);

}  // namespace msrun
