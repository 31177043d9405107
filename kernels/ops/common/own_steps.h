// Steps that frameworks compute of one operand alone, before it is promoted to the dtype of another.
#pragma once

#include <type_traits>

#include "kernels/autograd/tape.h"

namespace msrun {

// What is made of one operand alone: beside float64 that of float32 is rounded to float32, as a kernel of its own
// stores it. The benchmark, whose operands are all raised, rounds nothing.
class OwnStep {
 public:
  explicit OwnStep(const Var& operand) : narrow_(operand.dtype() == DType::float32) {}

  template <class T>
  T operator()(T value) const {
    if constexpr (std::is_same_v<T, double>) return narrow_ ? static_cast<double>(static_cast<float>(value)) : value;
    return value;
  }

 private:
  bool narrow_;
};

}  // namespace msrun
