// Gradients of float32 arguments that autocast has cast to a half type: they are computed in that, and cast.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "runner/results/counts.h"
#include "tests/runner/check/rounding_device.h"

namespace msrun::testing {
namespace {

using rounding_device::rounded;

// Recorded under autocast to `half`: the first argument may have been cast before.
ApiCall autocast_call(const std::string& name, const std::vector<Dims>& shapes, const Dims& output, DType half,
                      bool first_is_cast) {
  ApiCall call = call_of(name, shapes, output);
  const auto as_half = [&](const Value& value) {
    TensorSpec spec = *recorded_tensor(value);
    spec.dtype = torch_name(half);
    return Value(std::make_shared<const TensorSpec>(spec));
  };
  call.output_dtype = torch_name(half);
  call.grad_inputs[0] = as_half(call.grad_inputs[0]);
  if (first_is_cast) call.args[0] = as_half(call.args[0]);
  return call;
}

struct Product {
  const char* name;
  std::vector<Dims> shapes;
  Dims output;
};

const std::vector<Product> products{
    {"Functional.linear.0", {{16, 40}, {24, 40}, {24}}, {16, 24}},
    {"Functional.conv1d.0", {{2, 6, 30}, {8, 6, 3}, {8}}, {2, 8, 28}},
    {"Torch.matmul.0", {{16, 40}, {40, 24}}, {16, 24}},
    {"Torch.bmm.0", {{3, 16, 40}, {3, 40, 24}}, {3, 16, 24}},
    {"Torch.addmm.0", {{24}, {16, 40}, {40, 24}}, {16, 24}},
};

// Another order of the additions makes another number of one element in a hundred, a place of the half type beside it.
ComputingDevice::Change other_order(DType half) {
  return [half](DeviceResult& result, int) {
    Value& gradient = result.gradients[1];
    gradient = changed_elements(*gradient.get<Tensor>(), [half](double element, std::int64_t i) {
      return i % 150 == 0 ? element * (1 + 0.6 * epsilon(half)) : element;
    });
  };
}

TEST(AutocastGradients, HaveTheDigitsOfTheHalfType) {
  for (const DType half : {DType::bfloat16, DType::float16}) {
    for (const bool first_is_cast : {false, true}) {
      for (const Product& product : products) {
        const ApiCall call = autocast_call(product.name, product.shapes, product.output, half, first_is_cast);
        const ApiResult sound = check(call, {});
        EXPECT_FALSE(is_suspicious(sound)) << described(sound);
        const ApiResult in_order = check(call, other_order(half));
        EXPECT_FALSE(is_suspicious(in_order)) << name(half) << " " << described(in_order);
      }
    }
  }
}

TEST(AutocastGradients, AreWrongAllTheSame) {
  for (const DType half : {DType::bfloat16, DType::float16}) {
    for (const Product& product : products) {
      const ApiCall call = autocast_call(product.name, product.shapes, product.output, half, false);
      const ApiResult scaled = check(call, [](DeviceResult& result, int) { scale(result.gradients[1], 1.03); });
      EXPECT_TRUE(is_suspicious(scaled)) << name(half) << " " << described(scaled);
      const ApiResult element = check(call, [](DeviceResult& result, int) {
        Value& gradient = result.gradients[1];
        gradient = changed_elements(*gradient.get<Tensor>(),
                                    [](double value, std::int64_t i) { return i == 77 ? value + 1 : value; });
      });
      EXPECT_TRUE(is_suspicious(element)) << name(half) << " " << described(element);
    }
  }
}

// What the cast leaves of the arguments is exact: errors of the size of its rounding, all in one direction, are none of
// it. Attention and cells have several steps, through which the rounding of the arguments would go.
TEST(AutocastGradients, AreHeldToTheArgumentsThatTheCastLeaves) {
  const std::vector<Product> composed{
      {"Torch.gru_cell.0", {{16, 24}, {16, 32}, {96, 24}, {96, 32}, {96}, {96}}, {16, 32}},
      {"Torch.rnn_tanh_cell.0", {{16, 24}, {16, 32}, {32, 24}, {32, 32}, {32}, {32}}, {16, 32}},
      {"Functional.scaled_dot_product_attention.0", {{2, 4, 16, 8}, {2, 4, 16, 8}, {2, 4, 16, 8}}, {2, 4, 16, 8}},
  };
  for (const DType half : {DType::bfloat16, DType::float16}) {
    for (const bool first_is_cast : {false, true}) {
      for (const Product& product : composed) {
        const ApiCall call = autocast_call(product.name, product.shapes, product.output, half, first_is_cast);
        const ApiResult sound = check(call, {});
        EXPECT_FALSE(is_suspicious(sound)) << described(sound);
        for (const std::size_t argument : {0U, 1U, 2U}) {
          const ApiResult scaled =
              check(call, [argument](DeviceResult& result, int) { scale(result.gradients[argument], 1.05); });
          EXPECT_TRUE(is_suspicious(scaled)) << name(half) << " " << argument << " " << described(scaled);
        }
        const ApiResult output = check(call, [](DeviceResult& result, int) { scale(result.output, 1.02); });
        EXPECT_TRUE(is_suspicious(output)) << name(half) << " " << described(output);
      }
    }
  }
}

// A product of few terms leaves no room for the rounding of its arguments.
TEST(AutocastGradients, AreTheNearestNumbersOfAProduct) {
  const ApiCall call =
      autocast_call("Functional.linear.0", products[0].shapes, products[0].output, DType::bfloat16, false);
  const ApiResult result = check(call, {});
  ASSERT_FALSE(result.forward_rows.empty());
  EXPECT_NE(result.forward_rows.front().message.find("every element is the rounded benchmark"), std::string::npos)
      << described(result);
}

// Without autocast such errors are no rounding.
TEST(AutocastGradients, OfFloat32AreFloat32) {
  const ApiCall call = call_of("Functional.linear.0", products[0].shapes, products[0].output);
  const ApiResult result = check(call, other_order(DType::bfloat16));
  EXPECT_TRUE(is_suspicious(result)) << described(result);
}

constexpr std::int64_t hidden = 16;
constexpr std::int64_t features = 24;

// The cell of a processor under autocast: products and gates in bfloat16, and what follows from the float32 state in
// float32.
void take_mixed_cell(const MaterialisedCall& call, DeviceResult& result, double factor) {
  const auto numbers = [](const Value& value) { return value.get<Tensor>()->to(DType::float64).contiguous(); };
  const Tensor x = numbers(call.args[0]);
  const List& state = *call.args[1].get<List>();
  const Tensor h = numbers(state[0]);
  const Tensor c = numbers(state[1]);
  const auto gate = [&](std::int64_t row, std::int64_t unit) {
    const auto part = [&](const Tensor& left, const Value& weight, const Value& bias, std::int64_t size) {
      const Tensor w = numbers(weight);
      double sum = rounded(numbers(bias).item(unit));
      for (std::int64_t k = 0; k < size; ++k)
        sum += rounded(left.item(row * size + k)) * rounded(w.item(unit * size + k));
      return rounded(sum);
    };
    return rounded(part(x, call.args[2], call.args[4], features) + part(h, call.args[3], call.args[5], hidden));
  };
  const auto sigmoid = [](double value) { return rounded(1 / (1 + std::exp(-value))); };
  const auto cell = [&](std::int64_t i) {
    const std::int64_t row = i / hidden;
    const std::int64_t unit = i % hidden;
    return sigmoid(gate(row, hidden + unit)) * c.item(i) +
           sigmoid(gate(row, unit)) * rounded(std::tanh(gate(row, 2 * hidden + unit)));
  };
  List& outputs = *result.output.get<List>();
  outputs[0] = changed_elements(*outputs[0].get<Tensor>(), [&](double, std::int64_t i) {
    return factor * sigmoid(gate(i / hidden, 3 * hidden + i % hidden)) * std::tanh(cell(i));
  });
  outputs[1] = changed_elements(*outputs[1].get<Tensor>(), [&](double, std::int64_t i) { return factor * cell(i); });
}

// Torch's autocast on processors lowers the products of a cell alone: its float32 results have the digits of bfloat16.
TEST(AutocastGradients, OfCellsThatAreLoweredInPartAreThoseOfTheHalfType) {
  ApiCall call = call_of("Torch.lstm_cell.0",
                         {{6, features},
                          {6, hidden},
                          {6, hidden},
                          {4 * hidden, features},
                          {4 * hidden, hidden},
                          {4 * hidden},
                          {4 * hidden}},
                         {}, DType::float32, -1, 1);
  call.args[1] = List{call.args[1], call.args[2]};
  call.args.erase(call.args.begin() + 2);
  call.args[0] = call_of("", {{6, features}}, {}, DType::bfloat16, -1, 1).args.front();
  call.has_backward = false;
  call.output_dtype = torch_name(DType::float32);
  const auto check_cell = [&](double factor) {
    return rounding_device::check_on(
        rounding_device::processor, call, {},
        [=](const MaterialisedCall& inputs, DeviceResult& result) { take_mixed_cell(inputs, result, factor); });
  };
  const ApiResult sound = check_cell(1);
  EXPECT_FALSE(is_suspicious(sound)) << described(sound);
  const ApiResult faulty = check_cell(1.1);
  EXPECT_TRUE(is_suspicious(faulty)) << described(faulty);
}

}  // namespace
}  // namespace msrun::testing
