// Mean and Norm that are infinite although the tensor is finite: large values, such as the -3.4e38 of a causal mask,
// have a sum, and a sum of squares, beyond what it was computed in.
#pragma once

#include <cstdint>
#include <string_view>

#include "tools/recordings/recording.h"

namespace msrun::recordings {

// Statistics of one tensor as numbers. elements: -1 if the shape is not known.
struct Extent {
  double max = 0;
  double min = 0;
  std::int64_t elements = -1;
  bool half = false;  // float16, whose norm is itself a float16
};

bool is_float16(std::string_view dtype);

// Whether an infinite Mean or Norm is what becomes of finite values as large as Max and Min say, and so no sign of an
// infinity among them. NaN never is: a sum that overflowed is infinite.
bool is_overflowed_sum(Statistic statistic, double value, const Extent& extent);

// As above, of a statistic of a leaf.
bool is_overflowed_sum(const Recording& side, const Leaf& leaf, Statistic statistic);

}  // namespace msrun::recordings
