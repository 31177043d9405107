// Results of which no order is promised (topk and unique with sorted=False): which one the device has taken is free.
//
// Before outputs are compared, the device's are put into the benchmark's order, what belongs together in the same way:
// values with their indices, row by row; groups with their sizes and with the places that name them. Nothing else about
// them changes, so that a wrong value, or an index of another one, stays wrong.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "kernels/api/value.h"
#include "kernels/numeric/choices.h"

namespace msrun {

class OrderChoice {
 public:
  // From the device's order to the benchmark's. Nothing if both are the same, or the outputs do not fit each other.
  static std::optional<OrderChoice> find(const OpenOrder& open, const Value& bench, const Value& device);

  // The device's outputs in the benchmark's order. Applied to the gradients that the device was given for its outputs,
  // it makes those that ask the benchmark for the same derivative. Items of another shape stay as they are.
  Value turned(const Value& outputs) const;

  // The sentence that says so.
  static constexpr std::string_view message =
      "Their order is open: before the comparison the results were put into the benchmark's order.";

 private:
  OpenOrder open_;
  Dims shape_;                       // of the values
  std::vector<std::int64_t> order_;  // of every element in the benchmark's order, row by row, its position in the row
};

}  // namespace msrun
