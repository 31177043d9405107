// A tensor changed number by number, for whoever varies inputs or damages results; operators use elementwise_map.h.
#pragma once

#include <cstdint>
#include <functional>

#include "kernels/tensor/tensor.h"

namespace msrun {

// A copy of a real tensor, of its shape and dtype and contiguous, whose elements are changed block by block:
// change(values, count, first) changes elements first to first + count in row-major order. Numbers pass through
// float64. All blocks but the last one are of 1024 elements.
using BlockChange = std::function<void(double* values, std::int64_t count, std::int64_t first)>;
Tensor changed_blocks(const Tensor& tensor, const BlockChange& change);

// Element by element: element i in row-major order becomes change(element, i).
template <class Change>
Tensor changed_elements(const Tensor& tensor, const Change& change) {
  return changed_blocks(tensor, [&](double* values, std::int64_t count, std::int64_t first) {
    for (std::int64_t i = 0; i < count; ++i) values[i] = change(values[i], first + i);
  });
}

}  // namespace msrun
