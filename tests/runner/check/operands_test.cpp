// Devices that round the float32 operands of products and convolutions, as HF32 and TF32 do: sound where a setting of
// the device says so, and a fault, which is named, where none does.
#include <gmock/gmock.h>

#include <cmath>
#include <string>

#include "runner/device/recorded/recorded.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* let = "the device's settings let it round float32 operands to ";

// Sums of 216 terms.
ApiCall convolution() { return call_of("Functional.conv3d.0", {{2, 8, 6, 6, 6}, {16, 8, 3, 3, 3}}, {2, 16, 4, 4, 4}); }

ApiCall product() { return call_of("Torch.matmul.0", {{24, 96}, {96, 32}}, {24, 32}); }

ApiResult check_on(const ApiCall& call, Operands computed, OperandSettings allowed,
                   const ComputingDevice::Change& change = {}) {
  EvaluationOptions how;
  how.arithmetic.operands = computed;
  ComputingDevice device(change, how);
  device.says.operands = allowed;
  return check_api(call, 0, device, 0, {});
}

std::vector<DetailsRow> rows_of(const ApiResult& result) {
  std::vector<DetailsRow> rows = result.forward_rows;
  rows.insert(rows.end(), result.backward_rows.begin(), result.backward_rows.end());
  return rows;
}

std::vector<bool> beyond(const ApiResult& result) {
  std::vector<bool> found;
  for (const DetailsRow& row : rows_of(result)) found.push_back(row.beyond_rounding);
  return found;
}

Operands both(OperandRounding rounding) { return {.products = rounding, .convolutions = rounding}; }
OperandSettings all(OperandRounding rounding) {
  return {.products = rounding, .convolutions = rounding, .recurrences = rounding};
}

class AllowedRounding : public ::testing::TestWithParam<OperandRounding> {};

TEST_P(AllowedRounding, IsExplainedInBothDirections) {
  for (const ApiCall& call : {convolution(), product()}) {
    const ApiResult result = check_on(call, both(GetParam()), all(GetParam()));
    ASSERT_GE(rows_of(result).size(), 3U);
    EXPECT_THAT(beyond(result), Each(false)) << call.name;
    for (const DetailsRow& row : rows_of(result)) {
      if (row.rounding_only) {
        EXPECT_THAT(row.message, HasSubstr(let));
      }
    }
  }
}

TEST_P(AllowedRounding, ExplainsNoFaults) {
  const auto one_off = [](DeviceResult& result, int) {
    for (Value* value : {&result.output, &result.gradients[1]}) {
      *value = changed_elements(*value->get<Tensor>(),
                                [](double element, std::int64_t i) { return i == 5 ? element + 3 : element; });
    }
  };
  // One element, by so little that it does not show in all errors together.
  const auto one_a_little_off = [](DeviceResult& result, int) {
    for (Value* value : {&result.output, &result.gradients[1]}) {
      const Tensor& tensor = *value->get<Tensor>();
      double squares = 0;
      for (std::int64_t i = 0; i < tensor.numel(); ++i) squares += tensor.item(i) * tensor.item(i);
      const double off = 0.03 * std::sqrt(squares / static_cast<double>(tensor.numel()));
      *value =
          changed_elements(tensor, [off](double element, std::int64_t i) { return i == 5 ? element + off : element; });
    }
  };
  const auto scaled = [](double factor) {
    return [factor](DeviceResult& result, int) {
      scale(result.output, factor);
      scale(result.gradients[1], factor);
    };
  };
  for (const ApiCall& call : {convolution(), product()}) {
    // The last one is within what is explained of each element, and not of all of them together.
    for (const ComputingDevice::Change& change :
         {ComputingDevice::Change(one_off), ComputingDevice::Change(one_a_little_off),
          ComputingDevice::Change(scaled(1.02)), ComputingDevice::Change(scaled(1.003))}) {
      const ApiResult result = check_on(call, both(GetParam()), all(GetParam()), change);
      EXPECT_TRUE(result.forward_rows.front().beyond_rounding) << call.name;
      EXPECT_TRUE(result.backward_rows.at(1).beyond_rounding) << call.name;
      EXPECT_FALSE(result.backward_rows.at(0).beyond_rounding) << call.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(OfDevices, AllowedRounding,
                         ::testing::Values(OperandRounding::hf32, OperandRounding::tf32,
                                           OperandRounding::truncated_tf32),
                         [](const auto& kind) { return "Kind" + std::to_string(static_cast<int>(kind.param)); });

TEST(Operands, ThatNoSettingAllowsToBeRoundedAreNamed) {
  const Operands cut = both(OperandRounding::truncated_tf32);
  EXPECT_THAT(beyond(check_on(product(), cut, {})), Each(true));
  EXPECT_THAT(check_on(product(), cut, {}).forward_rows.front().message, HasSubstr("Inputs cut to TF32: computed so"));
  EXPECT_THAT(check_on(product(), both(OperandRounding::tf32), {}).forward_rows.front().message,
              HasSubstr("Inputs rounded to TF32: computed so"));
  // A setting is one of products or of convolutions.
  EXPECT_THAT(beyond(check_on(product(), cut, {.convolutions = OperandRounding::truncated_tf32})), Each(true));
  EXPECT_THAT(beyond(check_on(convolution(), cut, {.products = OperandRounding::truncated_tf32})), Each(true));
}

// Libraries for recurrent networks have a setting of their own.
TEST(Operands, OfRecurrencesAreRoundedByTheirSetting) {
  ApiCall call = call_of("VF.gru.0", {{12, 6, 16}, {1, 6, 24}}, {12, 6, 24});
  const ApiCall weights = call_of("", {{72, 16}, {72, 24}, {72}, {72}}, {}, DType::float32, -1, 1);
  for (const Value& value :
       {Value(weights.args), Value(true), Value(std::int64_t{1}), Value(0.0), Value(false), Value(false), Value(false)})
    call.args.push_back(value);
  call.has_backward = false;
  const Operands cut = both(OperandRounding::truncated_tf32);
  EXPECT_THAT(beyond(check_on(call, cut, {.recurrences = OperandRounding::truncated_tf32})), Each(false));
  EXPECT_THAT(beyond(check_on(call, cut, {.products = OperandRounding::truncated_tf32})), Contains(true));
}

// A recording does not tell the settings of the device that made it.
TEST(Operands, OfUnknownSettingsAreRoundedAsByDefault) {
  EvaluationOptions how;
  how.arithmetic.operands = both(OperandRounding::truncated_tf32);
  ComputingDevice device({}, how);
  device.says = make_recorded_device({})->arithmetic();
  const ApiResult result = check_api(convolution(), 0, device, 0, {});
  EXPECT_THAT(beyond(result), Each(false));
  EXPECT_THAT(result.forward_rows.front().message,
              HasSubstr("frameworks let a device round these float32 operands by default, to TF32"));
  EXPECT_THAT(beyond(check_api(product(), 0, device, 0, {})), Contains(true));
}

// A gradient of a bias is a sum without products.
TEST(Operands, OfNoProductsAreNotRounded) {
  ApiCall call = call_of("Functional.conv2d.0", {{2, 4, 8, 8}, {6, 4, 3, 3}, {6}}, {2, 6, 6, 6});
  const Operands tf32 = both(OperandRounding::tf32);
  EXPECT_THAT(beyond(check_on(call, tf32, all(OperandRounding::tf32))), Each(false));
  const ApiResult result = check_on(call, tf32, all(OperandRounding::tf32),
                                    [](DeviceResult& found, int) { scale(found.gradients[2], 1 + 0x1p-11); });
  EXPECT_THAT(result.backward_rows.at(2).message, Not(HasSubstr(let)));
  EXPECT_TRUE(result.backward_rows.at(2).beyond_rounding);
}

// A batch of one sample, which has no part that could be computed alone, and of too many additions to measure terms.
TEST(Operands, OfLargeConvolutionsExcuseNoFactor) {
  ApiCall call = call_of("Functional.conv2d.0", {{1, 64, 98, 98}, {64, 64, 3, 3}}, {1, 64, 96, 96});
  call.has_backward = false;
  constexpr OperandRounding cut = OperandRounding::truncated_tf32;
  EXPECT_THAT(beyond(check_on(call, both(cut), all(cut))), Each(false));
  EXPECT_THAT(beyond(check_on(call, both(OperandRounding::tf32), all(cut))), Each(false));
  for (const double factor : {1.002, 1.003}) {
    const auto scaled = [factor](DeviceResult& found, int) { scale(found.output, factor); };
    EXPECT_THAT(beyond(check_on(call, {}, all(cut), scaled)), Each(true)) << factor;
    EXPECT_THAT(beyond(check_on(call, both(OperandRounding::tf32), all(cut), scaled)), Each(true)) << factor;
  }
}

// The values of a product in which most terms cancel have large terms behind them.
TEST(Operands, AreMeasuredByTheTermsBehindAnElement) {
  ApiCall call = call_of("Torch.matmul.0", {{64, 2}, {2, 64}}, {64, 64});
  EXPECT_THAT(beyond(check_on(call, both(OperandRounding::truncated_tf32), all(OperandRounding::truncated_tf32))),
              Each(false));
}

}  // namespace
}  // namespace msrun::testing
