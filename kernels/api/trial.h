// Operators whose calls are tried here before a device has them. Frameworks believe what some arguments say: where it
// is wrong they read the memory of others, crash, or make results that no host can hold. An operator says so by a line
// under its NAMES:
//
//   TRY_FIRST("ctc_loss", Trial::of_values);
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/api/operators.h"

namespace msrun {

// How far a trial goes.
enum class Trial : std::uint8_t {
  of_sizes,   // what shapes and numbers tell: up to the first tensor that is larger than copies of the arguments
  of_values,  // what elements of tensors tell as well: to the results
};

// Nothing of an operator without such a line.
std::optional<Trial> trial_of(const Operator& op);

// What the line leaves behind while the library is loaded. The text must outlive the program's use of the table.
struct TrialRegistration {
  TrialRegistration(const char* canonical, Trial trial);

  const char* canonical;
  Trial trial;
  mutable const TrialRegistration* next = nullptr;
};

#define TRY_FIRST(...) \
  static const ::msrun::TrialRegistration MSRUN_CONCAT(trial_registration_, __COUNTER__)(__VA_ARGS__)

}  // namespace msrun
