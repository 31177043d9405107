// What tests of devices share that do not compute as msrun does: calls of given elements, and results that are replaced
// by others, which are a sound device's or a fault.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runner/results/counts.h"
#include "tests/runner/check/support.h"

namespace msrun::testing::other_arithmetic {

using Change = ComputingDevice::Change;

inline Tensor of(DType dtype, const Dims& shape, const std::vector<double>& values) {
  return Tensor::from<double>(DType::float64, shape, std::span<const double>(values)).to(dtype);
}

inline double element(const Value& value, std::int64_t i) {
  return value.get<Tensor>()->to(DType::float64).data<double>()[i];
}

inline void set_elements(Value& value, const std::function<double(double, std::int64_t)>& change) {
  value = changed_elements(*value.get<Tensor>(), change);
}

inline void expect_sound(const ApiCall& call, const Change& change) {
  const ApiResult result = check(call, change);
  EXPECT_FALSE(is_suspicious(result)) << described(result);
}

inline void expect_fault(const ApiCall& call, const Change& change) {
  const ApiResult result = check(call, change);
  EXPECT_TRUE(is_suspicious(result)) << described(result);
}

inline ApiCall call_with(const std::string& name, List args, Dict kwargs = {}) {
  ApiCall call;
  call.name = name;
  call.args = std::move(args);
  call.kwargs = std::move(kwargs);
  return call;
}

// With a gradient of 1 for each result.
inline ApiCall differentiated(const std::string& name, const Dims& shape, double at, DType dtype = DType::float32) {
  ApiCall call = call_of(name, {shape}, shape, dtype, at, at);
  auto ones = std::make_shared<TensorSpec>();
  ones->dtype = torch_name(dtype);
  ones->shape.assign(shape.begin(), shape.end());
  ones->min = ones->max = 1;
  call.grad_inputs = {std::shared_ptr<const TensorSpec>(std::move(ones))};
  return call;
}

}  // namespace msrun::testing::other_arithmetic
