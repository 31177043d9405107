// Results of another dtype than the framework gives them, whose values agree.
#include <gmock/gmock.h>

#include <string>

#include "runner/results/counts.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* says = "has the dtype ";

ComputingDevice::Change output_as(DType dtype) {
  return [dtype](DeviceResult& result, int) { result.output = result.output.get<Tensor>()->to(dtype); };
}

ApiCall forward_of(const std::string& name, std::size_t arguments, DType dtype = DType::float32) {
  ApiCall call = call_of(name, std::vector<Dims>(arguments, Dims{4, 4}), {4, 4}, dtype);
  call.has_backward = false;
  call.grad_inputs.clear();
  return call;
}

void expect_found(const ApiCall& call, DType dtype, const std::string& text) {
  const ApiResult sound = check(call, {});
  EXPECT_THAT(sound.forward_rows.front().message, Not(HasSubstr(says))) << call.name;
  EXPECT_FALSE(is_suspicious(sound)) << call.name;
  const ApiResult result = check(call, output_as(dtype));
  EXPECT_THAT(result.forward_rows.front().message, HasSubstr(says + text)) << call.name;
  EXPECT_THAT(result.forward_rows.front().message, HasSubstr("\nNot explained by rounding: ")) << "as CSVs are read";
  EXPECT_TRUE(is_suspicious(result)) << call.name;
  CheckOptions compat;
  compat.compare.compat_msprobe = true;
  EXPECT_THAT(check(call, output_as(dtype), {}, compat).forward_rows.front().message, Not(HasSubstr(says)));
}

TEST(ResultDtypes, OfOutputsAreTheCalls) {
  expect_found(forward_of("Torch.matmul.0", 2), DType::float64, "float64 in place of float32");
  expect_found(forward_of("Torch.matmul.0", 2, DType::bfloat16), DType::float32, "float32 in place of bfloat16");
  expect_found(forward_of("Torch.exp.0", 1, DType::bfloat16), DType::float16, "float16 in place of bfloat16");
  expect_found(forward_of("Torch.argmax.0", 1), DType::int32, "int32 in place of int64");
  expect_found(forward_of("Torch.eq.0", 2), DType::uint8, "uint8 in place of bool");
}

// Where there are no elements to compare, too; another shape is an error in any case.
TEST(ResultDtypes, OfEmptyResultsAreTheCalls) {
  ApiCall call = call_of("Torch.exp.0", {Dims{0, 4}}, {0, 4});
  call.has_backward = false;
  EXPECT_FALSE(is_suspicious(check(call, {})));
  const ApiResult other = check(call, output_as(DType::float64));
  EXPECT_TRUE(is_suspicious(other)) << described(other);
  EXPECT_THAT(other.forward_rows.front().message, HasSubstr("float64 in place of float32"));
  const ApiResult longer = check(call, [](DeviceResult& result, int) {
    result.output = Tensor::zeros(DType::float32, Dims{0, 5});
  });
  EXPECT_EQ(longer.forward, Status::error);
  EXPECT_TRUE(is_suspicious(longer)) << described(longer);
}

// What the recording says of a conversion decides whether its result is looked at: its argument has the other dtype.
TEST(ResultDtypes, OfConversionsAreTheirs) {
  ApiCall call = forward_of("Tensor.half.0", 1);
  call.output_dtype = "torch.float16";
  expect_found(call, DType::float32, "float32 in place of float16");
}

TEST(ResultDtypes, OfAutocastAreThoseThatItGives) {
  ApiCall call = forward_of("Torch.matmul.0", 2);
  call.output_dtype = "torch.bfloat16";
  EXPECT_THAT(check(call, {}).forward_rows.front().message, Not(HasSubstr(says)));
}

TEST(ResultDtypes, OfGradientsAreTheirArguments) {
  const ApiCall call = call_of("Torch.mul.0", {{4, 4}, {4, 4}}, {4, 4});
  EXPECT_FALSE(is_suspicious(check(call, {})));
  const ApiResult result = check(call, [](DeviceResult& found, int) {
    found.gradients[1] = found.gradients[1].get<Tensor>()->to(DType::bfloat16);
  });
  EXPECT_THAT(result.backward_rows.at(1).message, HasSubstr("the gradient has the dtype bfloat16 in place of float32"));
  EXPECT_FALSE(result.backward_rows.at(0).beyond_rounding);
  EXPECT_TRUE(is_suspicious(result));
}

// The first argument has none, and a row that says so.
TEST(ResultDtypes, OfGradientsAreLookedAtBesideArgumentsWithoutAny) {
  ApiCall call = call_of("Torch.where.0", {{4, 4}, {4, 4}, {4, 4}}, {4, 4});
  TensorSpec condition = **call.args[0].get<std::shared_ptr<const TensorSpec>>();
  condition.dtype = "torch.bool";
  condition.requires_grad = false;
  call.args[0] = std::make_shared<const TensorSpec>(condition);
  EXPECT_FALSE(is_suspicious(check(call, {}))) << described(check(call, {}));
  const ApiResult result = check(call, [](DeviceResult& found, int) {
    found.gradients[1] = found.gradients[1].get<Tensor>()->to(DType::float64);
  });
  EXPECT_TRUE(is_suspicious(result)) << described(result);
  EXPECT_THAT(described(result), HasSubstr("the gradient has the dtype float64 in place of float32"));
}

}  // namespace
}  // namespace msrun::testing
