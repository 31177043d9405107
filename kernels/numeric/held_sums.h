// Which of the sums that an evaluation notes are behind its gradients: those of the derivatives, and those of the
// forward, unless they are the result of the call and the derivative holds nothing of them. The gradient of a mean is a
// quotient however many elements were added up; that of a softmax is formed of probabilities, and so of the sum that
// they were divided by, and that of x / mean(x) holds the mean.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/tensor/tensor.h"

namespace msrun {

class HeldSums {
 public:
  // Notes sums of that many terms, of whose additions so many wait for one another (sums.h).
  void hold(std::int64_t terms, std::int64_t chain);

  // A tensor that the call returns; told before gradients are computed. Its address is kept, and the tensor must live
  // until the last release().
  void add_result(const Tensor& result);

  // Called by a derivative that holds nothing of what its operator has added up and noted, `sums` of that many terms.
  // What is computed of these may have derivatives that do hold them, unless they are what the call returns.
  void release(std::int64_t terms, const Tensor& sums);

  // Terms of the longest sum that is left, and the most additions that wait for one another (sums.h); at least 1.
  std::int64_t longest() const;
  std::int64_t chain() const;

 private:
  struct Held {
    std::int64_t terms;
    std::int64_t chain;
  };

  std::vector<const std::byte*> results_;
  std::vector<Held> held_;  // the noted sums of more than one term, one for each note
};

}  // namespace msrun
