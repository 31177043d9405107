// Results into which several values are written at one place (OperatorTraits::overwrites): which of them stays is free,
// so that the device's choice is put into the benchmark. Its gradients know no choice: every value, kept or not, has
// the gradient of the place it was written to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/numeric/choices.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

class OverwriteChoice {
 public:
  // The places at which the device has another of the values that were written there than the benchmark, bit by bit.
  // Nothing if there are none. A value that was not written to a place is right nowhere.
  static std::optional<OverwriteChoice> find(const Writes& writes, const Tensor& bench, const Tensor& device);

  // Another evaluation's result, in which the same of its values stay.
  Tensor applied(const Tensor& result, const Writes& writes) const;

  // The sentence that says so.
  std::string message() const;

 private:
  struct Kept {
    std::int64_t place;
    std::int64_t value;  // in row-major order of the selection
  };

  std::vector<Kept> kept_;
  std::int64_t elements_ = 0;
};

}  // namespace msrun
