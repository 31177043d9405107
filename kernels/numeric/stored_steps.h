// What frameworks that compose an operator of others leave of it in a half type: each of these stores what it gives,
// and what is beyond the range of the dtype, or below its normal numbers, is lost with what follows from it. The
// composed operators here raise their arguments instead and round once. Whoever wants to know how much that differs
// computes a call so.
#pragma once

#include "kernels/base/replaced.h"

namespace msrun {

// While one that is `active` lives, composed operators on the calling thread raise no arguments.
class StoredSteps {
 public:
  explicit StoredSteps(bool active);

 private:
  Replaced<bool> active_;
};

// Asked by composed operators: whether one lives on the calling thread.
bool stores_steps();

}  // namespace msrun
