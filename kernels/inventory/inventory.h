// The APIs that the pre-check runs in practice, by operator: the yardstick for what msrun covers. Data only; the
// operators themselves are in kernels/ops.
#pragma once

#include <span>

namespace msrun {

struct InventoryOperator {
  const char* canonical;  // as torch's operator library calls it; may differ from the name in our table
  int priority;           // 0 mainstream training, 1 common elsewhere, 2 rare
  bool differentiable;    // a gradient of a result reaches an argument
  const char* names;      // "Functional: relu relu_; Torch: relu", every name under which a dump records it
};

// In the order of their names.
std::span<const InventoryOperator> inventory();

}  // namespace msrun
