// The APIs that the pre-check runs in practice, by operator: the yardstick for what msrun covers. Data only; the
// operators themselves are in kernels/ops.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

namespace msrun {

struct InventoryOperator {
  const char* canonical;  // as torch's operator library calls it; may differ from the name in our table
  int priority;           // 0 mainstream training, 1 common elsewhere, 2 rare
  bool differentiable;    // a gradient of a result reaches an argument
  const char* names;      // "Functional: relu relu_; Torch: relu", every name under which a dump records it
};

// In the order of their names.
std::span<const InventoryOperator> inventory();

// What the table of operators knows of the inventory. An operator counts if all of its names are known.
struct Coverage {
  int operators = 0;
  int covered = 0;
  std::array<int, 3> by_priority{};  // of the covered
  int always_skipped = 0;            // of the covered: every call ends as SKIP, docs/operators.md says why
  std::vector<std::string> missing;  // names that are not known, "Torch.stft"
};
Coverage measure_coverage();

}  // namespace msrun
