// The metrics of one pair of tensors (precision_metrics.md 4 and 5), accumulated in one pass over the data.
//
// Both tensors are read from their storage in blocks that stay in the first-level cache, with the processor's vectors.
// Elementwise quantities are rounded to the precision numpy's promotion gives them; counts are integers and sums are
// float64 in a fixed order, so a result depends neither on threads nor on the width of the vectors. What is computed is
// specified, element by element, in metrics_reference. Shapes must be equal and not empty.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/compare/metrics/cell.h"
#include "kernels/compare/metrics/columns.h"
#include "kernels/compare/metrics/standards.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

enum class CosineNote : std::uint8_t { none, scalar, both_zero, device_zero, bench_zero, nan };

struct FloatMetrics {
  // By metric. Those of the standards are filled, all others are blank.
  std::array<Cell, metric_count> cells{};
  const Cell& operator[](Metric metric) const { return cells[static_cast<std::size_t>(metric)]; }

  // What the status walk asks for (precision_metrics.md 5.2 to 5.4).
  Cell cosine;
  CosineNote cosine_note = CosineNote::none;
  bool cosine_passes = false;
  Cell max_abs_error;
  double within_100 = 0;  // share of elements with relative error below 0.01, 0.001, 0.0001
  double within_1000 = 0;
  double within_10000 = 0;

  // Not counted under compat. equal: both NaN, or both the same infinity; a bench value that overflows the device dtype
  // counts as infinity. These elements enter every metric as equal zeros. unequal: not finite on either side and not
  // explained by rounding at the end of the range.
  std::int64_t nonfinite_equal = 0;
  std::int64_t nonfinite_unequal = 0;
};

// Metrics of a floating device tensor; bench may be any real dtype. The columns of standards, of which at most one may
// be absolute_threshold or accumulative_error, are computed for float16, bfloat16, float32 and float8 device tensors
// only. compat restores upstream's arithmetic where it is known to mislead:
// NaN and infinity never equal, squares rounded to the working precision, the ULP scale evaluated in the bench dtype.
FloatMetrics float_metrics(const Tensor& bench, const Tensor& device, StandardSet standards, bool compat,
                           Limits limits = Limits::current);

struct IntegerMetrics {
  std::int64_t unequal = 0;
  double max_abs_difference = 0;
};

// Metrics of integer and bool tensors, compared by value. wrap computes differences in the promoted dtype as two's
// complement arithmetic has it, so that 127 and -128 of int8 differ by 1.
IntegerMetrics integer_metrics(const Tensor& bench, const Tensor& device, bool wrap);

// Number of elements equal to zero.
std::int64_t zero_count(const Tensor& tensor);

}  // namespace msrun
