// Calls whose recorded results are not those of their recorded arguments: an argument is missing, or parts of tensors
// were recorded.
#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>

#include "runner/results/counts.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Value form(DType dtype, const Dims& shape) {
  auto spec = std::make_shared<TensorSpec>();
  spec->dtype = torch_name(dtype);
  spec->shape.assign(shape.begin(), shape.end());
  return std::shared_ptr<const TensorSpec>(std::move(spec));
}

Value tensor(DType dtype, const Dims& shape, double min, double max) {
  const Value bare = form(dtype, shape);
  TensorSpec spec = *recorded_tensor(bare);
  spec.min = min;
  spec.max = max;
  return std::make_shared<const TensorSpec>(std::move(spec));
}

// The call of these arguments, of whose results this was recorded.
ApiCall recorded_as(const std::string& name, List args, List forms, Dict kwargs = {}) {
  ApiCall call;
  call.name = name;
  call.args = std::move(args);
  call.kwargs = std::move(kwargs);
  call.output_forms = std::move(forms);
  const TensorSpec* first = recorded_tensor(call.output_forms, 0);
  if (first != nullptr) call.output_dtype = first->dtype;
  return call;
}

void expect_contradiction(const ApiCall& call, const std::string& recorded, const std::string& computed) {
  const ApiResult result = check(call, {});
  EXPECT_EQ(result.outcome, Outcome::not_checkable) << described(result);
  EXPECT_EQ(result.forward, Status::skip);
  EXPECT_THAT(result.message,
              AllOf(HasSubstr("Not the call that was recorded"), HasSubstr(recorded), HasSubstr(computed)));
  CheckOptions compat;
  compat.compare.compat_msprobe = true;
  EXPECT_EQ(check(call, {}, {}, compat).outcome, Outcome::checked) << call.name;
}

void expect_checked(const ApiCall& call) {
  const ApiResult result = check(call, {});
  EXPECT_EQ(result.outcome, Outcome::checked) << described(result);
  EXPECT_FALSE(is_suspicious(result)) << described(result);
}

constexpr DType f32 = DType::float32;
constexpr DType bf16 = DType::bfloat16;

TEST(RecordedForm, LostArgumentsAreNoticedByShapes) {
  const Value x = tensor(bf16, {32, 96}, -2, 2);
  expect_contradiction(recorded_as("Aten.mean.dim.0", {x}, {form(bf16, {32, 1})}), "(32, 1)", "()");
  const Value half = tensor(bf16, {32, 48}, -2, 2);
  expect_contradiction(recorded_as("Aten.cat.0", {List{half, half}}, {form(bf16, {32, 96})}), "(32, 96)", "(64, 48)");
  expect_contradiction(recorded_as("Torch.max.0", {x}, {form(bf16, {32}), form(DType::int64, {32})}), "(32,)", "()");
}

TEST(RecordedForm, LostArgumentsAreNoticedByDtypes) {
  const Value x = tensor(bf16, {4, 6}, -2, 2);
  expect_contradiction(recorded_as("Aten._to_copy.0", {x}, {form(f32, {4, 6})}), "float32", "bfloat16");
  expect_contradiction(recorded_as("Torch.arange.0", {std::int64_t{5}}, {form(f32, {5})}), "float32", "int64");
  expect_checked(recorded_as("Torch.arange.0", {std::int64_t{5}}, {form(f32, {5})}, {{"dtype", f32}}));
}

TEST(RecordedForm, PartsOfResultsAreNoticed) {
  const Value x = tensor(f32, {8, 6}, -2, 2);
  expect_contradiction(recorded_as("Torch.exp.0", {x}, {form(f32, {4, 6})}), "(4, 6)", "(8, 6)");
}

// How many elements are not zero, or are selected, the recorded data have decided, and random data decide otherwise.
TEST(RecordedForm, ShapesMayDependOnTheData) {
  const Value x = tensor(f32, {6, 6}, -2, 2);
  expect_checked(recorded_as("Torch.nonzero.0", {x}, {form(DType::int64, {7, 2})}));
  expect_checked(recorded_as("Torch.masked_select.0", {x, tensor(DType::boolean, {6, 6}, 0, 1)}, {form(f32, {9})}));
  expect_checked(recorded_as("Torch.unique.0", {tensor(DType::int64, {30}, 0, 4)}, {form(DType::int64, {3})}));
}

TEST(RecordedForm, AutocastChangesDtypes) {
  const Value x = tensor(f32, {4, 4}, -2, 2);
  const Value half = tensor(bf16, {4, 4}, -2, 2);
  expect_checked(recorded_as("Torch.matmul.0", {x, x}, {form(bf16, {4, 4})}));
  expect_checked(recorded_as("Torch.matmul.0", {half, x}, {form(bf16, {4, 4})}));
  expect_checked(recorded_as("Functional.softmax.0", {half, std::int64_t{1}}, {form(f32, {4, 4})}));
  expect_checked(recorded_as("Functional.mse_loss.0", {half, x}, {form(bf16, {})}));
}

// What autocast computes in float32 it casts from half types; it makes none of them.
TEST(RecordedForm, AutocastToFloat32MakesNoHalfTypes) {
  const Value x = tensor(f32, {4, 4}, 0.5, 2);
  expect_contradiction(recorded_as("Torch.exp.0", {x}, {form(bf16, {4, 4})}), "bfloat16", "float32");
  for (const char* name : {"Torch.cumsum.0", "Functional.softmax.0"}) {
    expect_contradiction(recorded_as(name, {x, std::int64_t{1}}, {form(bf16, {4, 4})}), "bfloat16", "float32");
  }
  expect_contradiction(recorded_as("Functional.mse_loss.0", {x, x}, {form(DType::float16, {})}), "float16", "float32");
  const Value weights = tensor(f32, {4}, 0.5, 2);
  expect_contradiction(
      recorded_as("Functional.layer_norm.0", {x, List{std::int64_t{4}}, weights, weights}, {form(bf16, {4, 4})}),
      "bfloat16", "float32");
}

// What is not recorded of a result contradicts nothing, and neither does a result that is written into a tensor.
TEST(RecordedForm, OthersAgree) {
  const Value x = tensor(f32, {4, 4}, -2, 2);
  expect_checked(recorded_as("Torch.exp.0", {x}, {None{}}));
  expect_checked(recorded_as("Torch.argmax.0", {x}, {form(DType::int32, {})}));
  expect_checked(recorded_as("Torch.exp.0", {x}, {}));
  expect_checked(recorded_as("Torch.add.0", {x, x}, {form(DType::float64, {4, 4})},
                             {{"out", tensor(DType::float64, {4, 4}, 0, 0)}}));
  expect_checked(recorded_as("Tensor.add_.0", {tensor(bf16, {4, 4}, -2, 2), x}, {form(bf16, {4, 4})}));
}

}  // namespace
}  // namespace msrun::testing
