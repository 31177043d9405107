// Calls that ask for the dtype in which they are computed: the benchmark is more precise than that, and what the dtype
// rounds is granted. Nothing else is.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/tensor/dtype.h"
#include "tests/runner/check/other_arithmetic.h"
#include "tests/runner/check/rounding_device.h"

namespace msrun::testing {
namespace {

using namespace other_arithmetic;
using rounding_device::check_on;
using rounding_device::processor;

std::vector<double> factors(std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back((i % 3 == 0 ? -1 : 1) * (1 + 0.4 * std::sin(static_cast<double>(1 + i * i))));
  return values;
}

ApiCall call_in(const std::string& name, DType from, DType to, const Dims& shape) {
  ApiCall call = call_of(name, {shape}, shape, from, 0.5, 1.5);
  auto gradient = std::make_shared<TensorSpec>(**call.grad_inputs.front().get<std::shared_ptr<const TensorSpec>>());
  gradient->dtype = torch_name(to);
  call.grad_inputs = {std::shared_ptr<const TensorSpec>(std::move(gradient))};
  call.args.emplace_back(std::int64_t{1});
  call.kwargs = Dict{{"dtype", to}};
  return call;
}

// The exact product, rounded once, is no fault: the benchmark has not multiplied in float32.
TEST(RequestedDTypes, ExactProductsAreSound) {
  const Dims shape{8, 300};
  const Tensor x = of(DType::float32, shape, factors(element_count(shape)));
  const ApiCall call = call_with("Torch.prod.0", {x, std::int64_t{1}}, {{"dtype", DType::float32}});
  const auto exact = [&](double factor) {
    return [&, factor](DeviceResult& result, int) {
      set_elements(result.output, [&](double, std::int64_t row) {
        double product = factor;
        for (std::int64_t i = 0; i < shape[1]; ++i) product *= x.item(row * shape[1] + i);
        return product;
      });
    };
  };
  expect_sound(call, exact(1));
  expect_fault(call, exact(1 + 0x1p-15));
}

TEST(RequestedDTypes, IntegersAreThoseThatAreAskedFor) {
  const Tensor x = of(DType::int32, {3}, {100, 100, 3});
  for (const char* name : {"Torch.cumsum.0", "Torch.cumprod.0"}) {
    const ApiCall call = call_with(name, {x, std::int64_t{0}}, {{"dtype", DType::int8}});
    expect_sound(call, {});
    expect_fault(call,
                 [](DeviceResult& result, int) { result.output = result.output.get<Tensor>()->to(DType::int64); });
    expect_fault(call, [](DeviceResult& result, int) {
      set_elements(result.output, [](double value, std::int64_t i) { return i == 2 ? value + 1 : value; });
    });
  }
}

// What the dtype that is asked for rounds on the way is granted, and no more.
TEST(RequestedDTypes, RoundToThemOnTheWay) {
  for (const char* name : {"Torch.cumsum.0", "Torch.cumprod.0", "Torch.softmax.0", "Torch.log_softmax.0"}) {
    for (const auto& [from, to] :
         {std::pair(DType::bfloat16, DType::float32), std::pair(DType::float16, DType::float64),
          std::pair(DType::float32, DType::bfloat16), std::pair(DType::float64, DType::bfloat16),
          std::pair(DType::float64, DType::float32), std::pair(DType::float16, DType::bfloat16)}) {
      SCOPED_TRACE(std::string(torch_name(from)) + " in " + std::string(torch_name(to)));
      const ApiCall call = call_in(name, from, to, {4, 24});
      expect_sound(call, {});
      const auto tripled = [](double value, std::int64_t i) { return i == 70 ? 3 * value : value; };
      expect_fault(call, [&](DeviceResult& result, int) { set_elements(result.output, tripled); });
      const auto moved = [](double value, std::int64_t i) { return i == 70 ? 1.5 * value + 1 : value; };
      expect_fault(call, [&](DeviceResult& result, int) { set_elements(result.gradients.front(), moved); });
    }
  }
}

// Results in a wider dtype than that of the arguments have its precision, and the steps between are not those of the
// half type.
TEST(RequestedDTypes, HalfArgumentsHideNoFaultOfWiderResults) {
  for (const char* name : {"Torch.mean.0", "Torch.prod.0", "Torch.nansum.0", "Torch.cumsum.0"}) {
    for (const DType from : {DType::bfloat16, DType::float16}) {
      SCOPED_TRACE(std::string(name) + " of " + std::string(torch_name(from)));
      ApiCall call = call_in(name, from, DType::float32, {16, 50});
      if (name != std::string("Torch.cumsum.0")) {
        auto gradient =
            std::make_shared<TensorSpec>(**call.grad_inputs.front().get<std::shared_ptr<const TensorSpec>>());
        gradient->shape = {16};
        call.grad_inputs = {std::shared_ptr<const TensorSpec>(std::move(gradient))};
      }
      const auto accuses = [&](double of_output, double of_gradient) {
        return is_suspicious(check_on(processor, call, {}, [&](const MaterialisedCall&, DeviceResult& result) {
          scale(result.output, of_output);
          scale(result.gradients.front(), of_gradient);
        }));
      };
      EXPECT_FALSE(accuses(1, 1));
      EXPECT_TRUE(accuses(1.001, 1));
      EXPECT_TRUE(accuses(1, 1.02));
    }
  }
}

}  // namespace
}  // namespace msrun::testing
