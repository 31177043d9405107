// What the table of operators knows of a recorded call.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/api/operators.h"
#include "tools/recordings/recording.h"

namespace msrun::dump_compare {

// The operator of a call, or the one that a module of one layer is named after: layer_norm of a LayerNorm. Null where
// there is none.
const Operator* operator_of(const recordings::Recording& side, const recordings::Call& call);

// The arguments of a call that are no tensors, by the names that the operator gives them.
class Scalars {
 public:
  // op may be null: then only keyword arguments have names.
  Scalars(const recordings::Recording& side, const recordings::Call& call, const Operator* op)
      : side_(side), call_(call), op_(op) {}

  // Nothing where it was not recorded.
  std::optional<double> number(std::string_view name) const;
  // Empty where nothing tells.
  std::string_view name_of(const recordings::Leaf& leaf) const;

 private:
  const recordings::Recording& side_;
  const recordings::Call& call_;
  const Operator* const op_;
};

}  // namespace msrun::dump_compare
