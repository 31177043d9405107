// What a recording's device may have rounded: what an accelerator does, unless it is known to be a processor. Of what a
// processor would have, the Message says which option tells so.
#include <gmock/gmock.h>

#include <cmath>
#include <utility>

#include "runner/device/recorded/recorded.h"
#include "runner/results/counts.h"
#include "tests/runner/check/rounding_device.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using namespace rounding_device;

constexpr const char* option = "--recorded-on cpu";

// A device that computes, says what a recording of that origin may hold, and changes its results.
ApiResult check_as(const RecordingOrigin& origin, const ApiCall& call, const EvaluationOptions& how,
                   const ComputingDevice::Change& change = {}) {
  ComputingDevice device(change, how);
  device.says = arithmetic_of(origin);
  return check_api(call, 0, device, 0, {});
}

ApiCall product() {
  ApiCall call = call_of("Torch.matmul.0", {{24, 192}, {192, 20}}, {24, 20}, DType::bfloat16);
  call.has_backward = false;
  return call;
}

EvaluationOptions added_in_bfloat16() {
  EvaluationOptions options;
  options.arithmetic.summation.accumulator = Accumulator::bfloat16;
  return options;
}

TEST(RecordedOn, AdditionsInHalfTypesAreThoseOfAProcessor) {
  const ApiResult unknown = check_as({}, product(), added_in_bfloat16());
  EXPECT_TRUE(is_suspicious(unknown));
  EXPECT_THAT(described(unknown), HasSubstr(option));
  const ApiResult of_npu = check_as({"npu", {}}, product(), added_in_bfloat16());
  EXPECT_TRUE(is_suspicious(of_npu));
  EXPECT_THAT(described(of_npu), Not(HasSubstr(option)));
  EXPECT_FALSE(is_suspicious(check_as({"cpu", {}}, product(), added_in_bfloat16())));
}

TEST(RecordedOn, AFaultIsNoRoundingOnAnyDevice) {
  const auto twice = [](DeviceResult& result, int) { scale(result.output, 2); };
  const ApiResult unknown = check_as({}, product(), {}, twice);
  EXPECT_TRUE(is_suspicious(unknown));
  EXPECT_THAT(described(unknown), Not(HasSubstr(option)));
}

TEST(RecordedOn, SettingsOfTheRecordingAreHeeded) {
  EXPECT_EQ(arithmetic_of({}).operands.convolutions, OperandRounding::truncated_tf32);
  EXPECT_EQ(arithmetic_of({"npu", {}}).operands.convolutions, OperandRounding::hf32);
  EXPECT_EQ(arithmetic_of({"npu", {}}).operands.recurrences, OperandRounding::none);
  EXPECT_EQ(arithmetic_of({"cpu", {}}).operands, OperandSettings{});
  const DeviceArithmetic told = arithmetic_of({"npu", {{"conv.allow_hf32", "false"}, {"matmul.allow_hf32", "true"}}});
  EXPECT_EQ(told.operands.convolutions, OperandRounding::none);
  EXPECT_EQ(told.operands.products, OperandRounding::hf32);
  EXPECT_TRUE(told.settings_are_known);
  const char* parts = "cuda.matmul.allow_bf16_reduced_precision_reduction";
  EXPECT_TRUE(arithmetic_of({"cuda", {{parts, "true"}}}).stored_parts.bfloat16);
  EXPECT_FALSE(arithmetic_of({"cuda", {{parts, "false"}}}).stored_parts.bfloat16);
  EXPECT_TRUE(arithmetic_of({"npu", {{parts, "true"}}}).stored_parts.bfloat16);
  EXPECT_TRUE(arithmetic_of({"npu", {{"matmul.allow_fp16_reduced_precision_reduction", "true"}}}).stored_parts.float16);
  EXPECT_FALSE(arithmetic_of({"npu", {{parts, "false"}}}).stored_parts.bfloat16);
}

// A product whose terms are summed in four parts, each of them rounded to bfloat16; `share` of the first is lost.
Change in_stored_parts(double share) {
  return [share](const MaterialisedCall& call, DeviceResult& result) {
    const Tensor a = call.args[0].get<Tensor>()->to(DType::float64).contiguous();
    const Tensor b = call.args[1].get<Tensor>()->to(DType::float64).contiguous();
    const std::int64_t inner = a.size(1);
    const std::int64_t columns = b.size(1);
    result.output = changed_elements(*result.output.get<Tensor>(), [&](double, std::int64_t i) {
      double sum = 0;
      for (std::int64_t part = 0; part < 4; ++part) {
        double of_part = 0;
        for (std::int64_t k = part * inner / 4; k < (part + 1) * inner / 4; ++k)
          of_part += a.data<double>()[i / columns * inner + k] * b.data<double>()[k * columns + i % columns];
        sum += rounded(of_part) * (part == 0 ? 1 - share : 1);
      }
      return rounded(sum);
    });
  };
}

class PartsDevice final : public Device {
 public:
  PartsDevice(StoredParts parts, Change change) : parts_(parts), computing_({}), change_(std::move(change)) {}
  DeviceResult run(const DeviceCall& call) override {
    DeviceResult result = computing_.run(call);
    change_(call.materialised, result);
    return result;
  }
  DeviceArithmetic arithmetic() const override {
    return {.half_rounding = HalfRounding::between_kernels, .stored_parts = parts_};
  }

 private:
  StoredParts parts_;
  ComputingDevice computing_;
  Change change_;
};

TEST(RecordedOn, PartsOfProductsAreStoredWhereASettingLetsThem) {
  ApiCall call = product();
  for (int i = 0; i < 4; ++i) {
    call.name = "Torch.matmul." + std::to_string(i);
    PartsDevice sound({.bfloat16 = true}, in_stored_parts(0));
    const ApiResult stored = check_api(call, 0, sound, 0, {});
    EXPECT_FALSE(is_suspicious(stored)) << described(stored);
    PartsDevice strict({.float16 = true}, in_stored_parts(0));
    EXPECT_TRUE(is_suspicious(check_api(call, 0, strict, 0, {})));
    PartsDevice faulty({.bfloat16 = true}, in_stored_parts(0.1));
    EXPECT_TRUE(is_suspicious(check_api(call, 0, faulty, 0, {})));
  }
}

// What is normalised is the sum as it was stored, so that even the float32 statistic differs; or the sum as it was.
TEST(RecordedOn, StatisticsMayBeThoseOfAStoredSum) {
  ApiCall call = call_of("NPU.npu_add_rms_norm.0", {{12, 128}, {12, 128}, {128}}, {12, 128}, DType::bfloat16);
  call.args.emplace_back(1e-6);
  call.has_backward = false;
  for (const bool stores : {false, true}) {
    const auto change = [&](double factor) {
      return [=](const MaterialisedCall& made, DeviceResult& result) {
        List outputs = *result.output.get<List>();
        const Tensor a = made.args[0].get<Tensor>()->to(DType::float64).contiguous();
        const Tensor b = made.args[1].get<Tensor>()->to(DType::float64).contiguous();
        const Tensor gamma = made.args[2].get<Tensor>()->to(DType::float64).contiguous();
        const auto x = [&](std::int64_t i) {
          const double sum = a.data<double>()[i] + b.data<double>()[i];
          return stores ? rounded(sum) : sum;
        };
        const Tensor rstd = changed_elements(*outputs[1].get<Tensor>(), [&](double, std::int64_t row) {
          double squares = 0;
          for (std::int64_t k = 0; k < 128; ++k) squares += x(row * 128 + k) * x(row * 128 + k);
          return factor / std::sqrt(squares / 128 + 1e-6);
        });
        outputs[0] = changed_elements(*outputs[0].get<Tensor>(), [&](double, std::int64_t i) {
          return rounded(x(i) * rstd.item(i / 128) * gamma.data<double>()[i % 128]);
        });
        outputs[1] = rstd;
        result.output = outputs;
      };
    };
    const ApiResult sound = check_on(accelerator, call, {}, change(1));
    EXPECT_FALSE(is_suspicious(sound)) << described(sound);
    EXPECT_TRUE(is_suspicious(check_on(accelerator, call, {}, change(1.001))));
  }
}

}  // namespace
}  // namespace msrun::testing
