// The path from a recorded name through binding and the tape to values and gradients.
#include "kernels/api/operators.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "kernels/base/error.h"
#include "tests/support/tensor_values.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using testing::values;

Tensor float32(std::initializer_list<std::int64_t> shape, std::vector<float> data) {
  return Tensor::from<float>(DType::float32, Dims(shape), std::span<const float>(data));
}

TEST(Operators, BroadcastMultiplicationWithGradients) {
  Tape tape;
  const Var a = tape.leaf(float32({2, 3}, {1, 2, 3, 4, 5, 6}));
  const Var b = tape.leaf(float32({3}, {10, 20, 30}));
  const Operator* mul = find_operator("Torch", "mul");
  ASSERT_NE(mul, nullptr);
  const Value result = mul->call({a, b}, {}, tape);
  const Var* product = result.get<Var>();
  ASSERT_NE(product, nullptr);
  EXPECT_THAT(values(product->tensor()), ElementsAre(10, 40, 90, 40, 100, 180));
  tape.backward(*product, Tensor::full(DType::float32, product->shape(), 1));
  EXPECT_THAT(values(tape.gradient(a)), ElementsAre(10, 20, 30, 10, 20, 30));
  EXPECT_THAT(values(tape.gradient(b)), ElementsAre(5, 7, 9));
}

TEST(Operators, NumbersDoNotRaiseTensors) {
  Tape tape;
  const Var half = tape.constant(Tensor::full(DType::bfloat16, Dims{2}, 1));
  const Value sum = find_operator("Tensor", "__add__")->call({half, 0.5}, {}, tape);
  EXPECT_EQ(sum.get<Var>()->dtype(), DType::bfloat16);
  const Var integers = tape.constant(Tensor::full(DType::int32, Dims{2}, 3));
  EXPECT_EQ(find_operator("Tensor", "__add__")->call({integers, 0.5}, {}, tape).get<Var>()->dtype(), DType::float32);
}

TEST(Operators, SayWhatDoesNotFit) {
  Tape tape;
  try {
    find_operator("Torch", "mul")->call({}, {}, tape);
    FAIL();
  } catch (const SkipError& error) {
    EXPECT_STREQ(error.what(), "mul() is missing the argument 'input'.");
  }
  EXPECT_EQ(find_operator("Torch", "no_such_api"), nullptr);
}

TEST(Operators, NumbersMayBeTensorsWithoutDimensions) {
  Tape tape;
  const Var x = tape.leaf(float32({2}, {1, 2}));
  const Var factor = tape.constant(Tensor::scalar(DType::float32, 0.5));
  const Operator* add = find_operator("Torch", "add");
  EXPECT_THAT(values(add->call({x, x}, {{"alpha", factor}}, tape).get<Var>()->tensor()), ElementsAre(1.5, 3));
  // A parameter that takes tensors gets them as they are.
  const Var exponent = tape.leaf(Tensor::scalar(DType::float32, 2));
  const Value power = find_operator("Torch", "pow")->call({x, exponent}, {}, tape);
  tape.backward(*power.get<Var>(), Tensor::full(DType::float32, Dims{2}, 1));
  EXPECT_TRUE(tape.gradient(exponent).defined());
  const Var one_element = tape.constant(float32({1}, {0.5}));
  EXPECT_THROW(add->call({x, x}, {{"alpha", one_element}}, tape), SkipError);
}

TEST(Operators, OtherNamesOfArguments) {
  Tape tape;
  const Var x = tape.constant(float32({2, 2}, {1, 2, 3, 4}));
  const Operator* add = find_operator("Torch", "add");
  for (const char* first : {"input", "self", "x", "a", "x1"}) {
    EXPECT_THAT(values(add->call({}, {{first, x}, {"x2", x}}, tape).get<Var>()->tensor()), ElementsAre(2, 4, 6, 8));
  }
  const Value parts =
      find_operator("Torch", "split")->call({}, {{"tensor", x}, {"split_size_or_sections", std::int64_t{1}}}, tape);
  EXPECT_EQ(parts.get<List>()->size(), 2U);
  const Operator* sum = find_operator("Torch", "sum");
  EXPECT_THAT(
      values(sum->call({}, {{"a", x}, {"axis", std::int64_t{0}}, {"keepdims", false}}, tape).get<Var>()->tensor()),
      ElementsAre(4, 6));
  EXPECT_THROW(add->call({x, x}, {{"a", x}}, tape), SkipError);
}

TEST(Operators, VariadicSizes) {
  Tape tape;
  const Var x = tape.constant(float32({2, 3}, {1, 2, 3, 4, 5, 6}));
  const Operator* reshape = find_operator("Tensor", "reshape");
  EXPECT_EQ(reshape->call({x, std::int64_t{3}, std::int64_t{-1}}, {}, tape).get<Var>()->shape(), (Dims{3, 2}));
  EXPECT_EQ(reshape->call({x, List{std::int64_t{6}}}, {}, tape).get<Var>()->shape(), (Dims{6}));
}

}  // namespace
}  // namespace msrun
