// The metrics of two dumped tensors (torchair.md 8), accumulated block by block in one pass over data that need not fit
// into memory.
//
// Both sides come as float32, or as float64, which is rounded to float32. What that cannot hold but float64 can is
// compared in float64. Elementwise quantities are float32 as the specification has them, sums are float64 in an
// order fixed by the position of the elements, so that a result depends neither on threads nor on the width of the
// processor's vectors.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace msrun {

// One side of a comparison. max, min and mean are NaN as soon as one element is; they mean nothing if count is 0. They
// are numbers of float32 unless an element is beyond its range.
struct DumpSummary {
  std::int64_t count = 0;
  bool finite = true;  // as float32
  double max = 0;
  double min = 0;
  double mean = 0;
  double l2_norm = 0;
};

struct DumpMetrics {
  DumpSummary golden;
  DumpSummary mine;

  // Pairs of elements of which at least one is NaN or infinite; NaN equals NaN.
  std::int64_t equal_not_finite = 0;
  std::int64_t unequal_not_finite = 0;
  // Pairs of finite elements of which at least one is beyond the range of float32.
  std::int64_t beyond_float = 0;

  // Below: only if both sides are not empty and unequal_not_finite is 0. Pairs that are equal without being finite
  // count as elements without an error, and change none of the sums.
  double cosine = 0;  // rounded to ten decimals
  double max_relative_error = 0;
  // Without the pairs beyond float32:
  float mean_relative_error = 0;
  float max_absolute_error = 0;
  float mean_absolute_error = 0;
  float kl_divergence = 0;
  float relative_euclidean_distance = 0;  // NaN where the squares leave the range of float32
  // With them:
  double euclidean_distance = 0;
  double max_difference = 0;           // largest |mine - golden|, also where golden is zero
  double within_thousandth = 0;        // share of elements with a relative error below 0.001
  double within_five_thousandths = 0;  // below 0.005
  std::int64_t only_golden_zero = 0;   // elements that are zero in golden but not in mine
};

// Collects a pair of tensors. The caller writes the next elements of both sides to golden_space() and my_space(), at
// most capacity of them, and calls add. All calls but the last must add all of it.
class DumpPairAccumulator {
 public:
  static constexpr std::size_t capacity = 16384;

  DumpPairAccumulator();
  ~DumpPairAccumulator();
  DumpPairAccumulator(const DumpPairAccumulator&) = delete;
  DumpPairAccumulator& operator=(const DumpPairAccumulator&) = delete;

  // Forgets everything, for another pair.
  void reset();
  std::span<float> golden_space();
  std::span<float> my_space();
  void add(std::size_t count);
  // The spaces for elements in float64, and how many of them were put there.
  std::span<double> wide_golden_space();
  std::span<double> wide_my_space();
  void add_wide(std::size_t count);
  DumpMetrics finish() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace msrun
