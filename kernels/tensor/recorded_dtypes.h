// Which dtype the tensors of an evaluation stand for. A benchmark raises those of a call, but what the call does with a
// Python number beside them, or with the largest number of a dtype, follows the dtype that they were recorded in.
#pragma once

#include <array>
#include <optional>

#include "kernels/base/replaced.h"
#include "kernels/tensor/dtype.h"

namespace msrun {

class RecordedDTypes {
 public:
  // A tensor of the call, and the dtype that it is evaluated in. Of several that are evaluated in one dtype the widest
  // counts, and 0-d tensors only where there are no others, as in torch's promotion.
  void note(DType recorded, DType evaluated, bool has_axes);

  DType of(DType evaluated) const;

  // Whether kernels of half types are to hold the numbers that they take as parameters in the half type; they may hold
  // them in float32 as well.
  bool narrow_parameters = false;

 private:
  struct OfTensors {
    std::optional<DType> with_axes;
    std::optional<DType> without;
  };
  std::array<OfTensors, 2> of_tensors_;  // that are evaluated in float32, in float64
};

// Says so to the operators that are evaluated on the calling thread while it lives. An inner one says so in the outer
// one's stead until it ends; without one, tensors stand for themselves.
class RecordedScope {
 public:
  explicit RecordedScope(const RecordedDTypes& recorded);

  // Whether has_narrow_parameters() was asked, so that the answer makes a difference.
  bool takes_parameters() const { return takes_parameters_; }

 private:
  friend DType recorded_dtype(DType dtype);
  friend bool has_narrow_parameters();

  const RecordedDTypes recorded_;
  bool takes_parameters_ = false;
  Replaced<RecordedScope*> innermost_;
};

// The dtype that tensors of this dtype stand for.
DType recorded_dtype(DType dtype);
bool has_narrow_parameters();

}  // namespace msrun
