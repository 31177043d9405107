// Maxima over windows: which of several equal elements of a window is picked, and gets its gradient, is free.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/numeric/choices.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// The gradient of every window goes to one element of it that equals its maximum. Where windows overlap, several may
// meet in one element, and which went where is found by trying: whatever is found is a choice that sound arithmetic
// has.
class WindowChoice {
 public:
  // A choice by which the gradient of the input is nearer to the device's than the benchmark's is. Nothing if there is
  // none.
  static std::optional<WindowChoice> find(const WindowPicks& picks, const Tensor& input, const Tensor& bench,
                                          const Tensor& device);

  // Another evaluation's gradient, in which the same elements are picked.
  Tensor applied(const Tensor& gradient, const WindowPicks& picks) const;

 private:
  struct Pick {
    std::int64_t output;   // of all planes
    std::int64_t element;  // of its input plane
  };

  std::vector<Pick> picks_;
  std::int64_t outputs_ = 0;
};

// The benchmark's indices with the device's where these name an equal element of the same window; nothing if there is
// no such place.
std::optional<Tensor> exchange_tied_indices(const WindowPicks& picks, const Tensor& input, const Tensor& device);

}  // namespace msrun
