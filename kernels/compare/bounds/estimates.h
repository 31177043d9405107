// Estimates of what lies behind the elements of a result, from results for inputs that were changed a little.
#pragma once

#include <cstdint>

#include "kernels/tensor/tensor.h"

namespace msrun {

// Sums of squares by element, of numbers of any size: float64 does not hold the squares of all of its own, and an
// infinite sum would explain everything.
class SquareSums {
 public:
  SquareSums() = default;
  SquareSums(const SquareSums&) = delete;
  SquareSums& operator=(const SquareSums&) = delete;

  // Begins with zeros for elements of that shape, unless there are some.
  void begin(const Dims& shape);

  // Adds to `count` elements from `first` on, in row-major order, the squares of sizes, which are finite and not
  // negative, each less that of a number that is no larger by much.
  void add(std::int64_t first, std::int64_t count, const double* sizes, const double* less);

  // Roots of the sums as means of so many samples, float64; zeros where there are no sums or negative ones.
  Tensor root_mean(const Dims& shape, int samples) const;

 private:
  // Numbers whose squares float64 holds with all their digits.
  static constexpr double least_to_square = 0x1p-480;
  static constexpr double most_to_square = 0x1p480;

  static bool has_square(double size);
  void add_extreme(std::int64_t i, double size, double less);

  Tensor squares_;  // float64; undefined: nothing was begun
  Tensor roots_;    // of the sums of all other numbers, negative for those of negative sums; undefined: of none
};

// Estimates ErrorBudget::spread of a result from results for inputs that were changed by random relative amounts of a
// known size: their deviation over that size.
class SpreadEstimate {
 public:
  // original is the result for the unchanged inputs; change the relative size of the changes.
  SpreadEstimate(const Tensor& original, double change) : original_(original), change_(change) {}

  // A result of the same shape, for inputs each changed by plus or minus change.
  void add(const Tensor& changed);

  // Root mean square of what was added, float64.
  Tensor spread() const;

 private:
  Tensor original_;
  double change_;
  SquareSums sums_;
  int samples_ = 0;
};

// Where an arithmetic has left no finite number, or another infinity, though the dtype it stores elements in does not
// ask for that, puts what it has left there into `lost` (ErrorBudget::lost), which is made of zeros if it is not there
// yet. NaN stays there.
void mark_lost(const Tensor& exact, const Tensor& rounded, Tensor& lost);

// Estimates ErrorBudget::noise from pairs of results for the same inputs, which lie beside those of the result.
class NoiseEstimate {
 public:
  // Nothing is said of elements that are smaller than `least`.
  explicit NoiseEstimate(const Dims& shape, double least = 0) : shape_(shape), least_(least) {}

  // Results of that shape in high precision and in the arithmetic whose noise is asked for. Elements that are not
  // finite in either add nothing. Neither do those that are 0 in the second alone, if they are `jumps`: of a number
  // that is lost altogether no noise is left.
  void add(const Tensor& exact, const Tensor& rounded, bool jumps = false);

  // Root mean square of the differences, float64, less what storing a result once adds to it: the mean square of
  // rounding to nearest is a twelfth of the square of the last place, and twice that is taken off, because it is
  // estimated from few samples.
  Tensor noise() const;

 private:
  Dims shape_;
  double least_;
  SquareSums sums_;  // less what storing adds to them
  int samples_ = 0;
};

// The factor that all errors have in common, in the least squares: actual is about exact * (1 + it). Errors that are
// independent of each other have next to none. Elements that are not finite in either do not count; 0 where none is
// left.
double common_factor(const Tensor& exact, const Tensor& actual);

// Whether the errors of all elements together are at most so many times as large as the noise, which is contiguous and
// float64: of few elements chance may make them some times larger.
bool errs_like(const Tensor& bench, const Tensor& device, const Tensor& noise, double times);

}  // namespace msrun
