// Faults in the values of a dropout, of which the documented comparison looks at the shares of zeros alone.
#include "runner/check/dropout_check.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "runner/device/recorded/recorded.h"
#include "runner/results/counts.h"
#include "runner/results/reason.h"
#include "tests/runner/check/rounding_device.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

struct Planted {
  const char* api;
  List arguments;  // after the first
  Dims shape;
};

const std::vector<Planted>& dropouts() {
  static const std::vector<Planted> all{
      {"Functional.dropout.0", {0.1, true}, {40, 50}},
      {"Functional.dropout.1", {0.5, false}, {40, 50}},
      {"Functional.dropout.2", {0.0, true}, {40, 50}},
      {"Functional.dropout.3", {1.0, true}, {40, 50}},
      {"Functional.dropout1d.0", {0.5, true}, {20, 10, 8}},
      {"Functional.dropout2d.0", {0.5, true}, {20, 10, 4, 4}},
      {"Functional.dropout3d.0", {0.3, true}, {20, 10, 2, 2, 2}},
      {"Functional.alpha_dropout.0", {0.3, true}, {40, 50}},
      {"Functional.alpha_dropout.1", {0.3, false}, {40, 50}},
      {"Functional.feature_alpha_dropout.0", {0.3, true}, {20, 10, 8}},
      {"Functional.alpha_dropout.2", {0.999, true}, {40, 50}},
      {"Torch.feature_dropout.0", {0.5, true}, {20, 10, 8}},
  };
  return all;
}

ApiResult result(const Planted& planted, DType dtype, const ComputingDevice::Change& change,
                 const CheckOptions& options = {}) {
  ApiCall call = call_of(planted.api, {planted.shape}, planted.shape, dtype);
  call.args.insert(call.args.end(), planted.arguments.begin(), planted.arguments.end());
  return check(call, change, {}, options);
}

void change(Value& value, const std::function<double(double, std::int64_t)>& how) {
  value = changed_elements(*value.get<Tensor>(), how);
}

TEST(DropoutCheck, SoundDevicesAreClean) {
  for (const Planted& planted : dropouts()) {
    for (const DType dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
      const ApiResult found = result(planted, dtype, {});
      EXPECT_EQ(found.backward, Status::pass) << planted.api;
      EXPECT_FALSE(is_suspicious(found)) << planted.api << ' ' << message_with_reason(found);
      EXPECT_TRUE(found.forward_rows.empty() && found.backward_rows.empty());
    }
  }
}

TEST(DropoutCheck, WrongValuesAreFound) {
  for (const Planted& planted : dropouts()) {
    const auto scaled = [](DeviceResult& of, int) { scale(of.output, 1.001); };
    const auto one = [](DeviceResult& of, int) {
      change(of.output, [](double value, std::int64_t i) { return i == 77 ? value + 0.5 : value; });
    };
    const auto of_gradient = [](DeviceResult& of, int) { scale(of.gradients.front(), 1.5); };
    const bool empty = *planted.arguments.front().get<double>() == 1;
    EXPECT_EQ(is_suspicious(result(planted, DType::float32, scaled)), !empty) << planted.api;
    EXPECT_TRUE(is_suspicious(result(planted, DType::float32, one))) << planted.api;
    EXPECT_EQ(is_suspicious(result(planted, DType::float32, of_gradient)), !empty) << planted.api;
    const ApiResult found = result(planted, DType::float32, one);
    EXPECT_EQ(found.forward, Status::pass) << planted.api;
    CheckOptions compat;
    compat.compare.compat_msprobe = true;
    EXPECT_TRUE(result(planted, DType::float32, one, compat).forward_rows.empty());
  }
}

TEST(DropoutCheck, OtherDtypesAreFound) {
  const auto as = [](DType dtype) {
    return [dtype](DeviceResult& of, int) { of.output = of.output.get<Tensor>()->to(dtype); };
  };
  const auto gradient_as = [](DType dtype) {
    return [dtype](DeviceResult& of, int) { of.gradients.front() = of.gradients.front().get<Tensor>()->to(dtype); };
  };
  for (const Planted& planted : dropouts()) {
    for (const auto& [own, other] : {std::pair(DType::float64, DType::float32),
                                     {DType::float32, DType::float64},
                                     {DType::bfloat16, DType::float32},
                                     {DType::float32, DType::float16}}) {
      const ApiResult output = result(planted, own, as(other));
      EXPECT_TRUE(is_suspicious(output)) << planted.api << ' ' << name(other);
      EXPECT_THAT(message_with_reason(output), HasSubstr("has the dtype " + std::string(name(other))));
      EXPECT_TRUE(is_suspicious(result(planted, own, gradient_as(other)))) << planted.api << ' ' << name(other);
    }
  }
}

// A generator whose counter starts anew in each row: as many are dropped as chance would drop.
TEST(DropoutCheck, RowsThatAreDroppedAlikeAreFound) {
  const Dims shape{40, 50};
  for (const bool alike : {true, false}) {
    ApiCall call = call_of("Functional.dropout.0", {shape}, shape, DType::float32);
    call.args.insert(call.args.end(), {0.5, true});
    const auto drop = [&](const MaterialisedCall& inputs, DeviceResult& of) {
      const Tensor drawn = of.output.get<Tensor>()->clone();
      const auto masked = [&](const Tensor& from) {
        return changed_elements(from, [&](double value, std::int64_t i) {
          return drawn.data<float>()[alike ? i % 50 : i] == 0 ? 0.0 : 2 * value;
        });
      };
      of.output = masked(*inputs.args[0].get<Tensor>());
      of.gradients.front() = masked(*inputs.gradients.front().get<Tensor>());
    };
    const ApiResult found = rounding_device::check_on(HalfRounding::nothing, call, {}, drop);
    EXPECT_EQ(is_suspicious(found), alike) << message_with_reason(found);
    EXPECT_EQ(message_with_reason(found).find("pairs that lie 50 apart") != std::string::npos, alike);
  }
}

TEST(DropoutCheck, GradientsHaveTheZerosOfTheOutput) {
  const Planted& planted = dropouts().front();
  const auto shifted = [](DeviceResult& of, int) {
    // Every dropped element is kept, and as many others are dropped.
    const Tensor gradient = of.gradients.front().get<Tensor>()->contiguous();
    const Tensor output = of.output.get<Tensor>()->contiguous();
    Tensor other = gradient.clone();
    auto* values = other.mutable_data<float>();
    std::int64_t owed = 0;
    for (std::int64_t i = 0; i < gradient.numel(); ++i) {
      if (output.data<float>()[i] == 0) ++owed;
      if (output.data<float>()[i] != 0 && owed > 0) {
        values[i] = 0;
        --owed;
      }
    }
    of.gradients.front() = other;
  };
  const ApiResult found = result(planted, DType::float32, shifted);
  EXPECT_TRUE(is_suspicious(found));
  ASSERT_FALSE(found.backward_rows.empty());
  // As a row of a CSV says it.
  EXPECT_THAT(found.backward_rows.front().message,
              HasSubstr("\nNot explained by rounding: The gradient is dropped where the output is not"));
}

TEST(DropoutCheck, ChannelsFallAsAWhole) {
  const auto torn = [](DeviceResult& of, int) {
    change(of.output, [](double value, std::int64_t i) { return i % 16 == 3 ? 0 : value; });
  };
  const ApiResult found = result(dropouts().at(5), DType::float32, torn);
  EXPECT_TRUE(is_suspicious(found));
  EXPECT_THAT(message_with_reason(found), HasSubstr("Channels are dropped as a whole"));
}

TEST(DropoutCheck, TheShareIsThatOfChance) {
  const auto fewer = [](DeviceResult& of, int) {
    // Another twentieth, which the documented tenth lets pass.
    change(of.output, [](double value, std::int64_t i) { return i % 20 == 3 ? 0 : value; });
    change(of.gradients.front(), [](double value, std::int64_t i) { return i % 20 == 3 ? 0 : value; });
  };
  const ApiResult found = result(dropouts().front(), DType::float32, fewer);
  EXPECT_EQ(found.forward, Status::pass);
  EXPECT_THAT(message_with_reason(found), HasSubstr("Chance does not drop"));
}

// Torch multiplies by a mask: of an infinity, which is dropped, NaN is left, and the share of zeros says nothing.
TEST(DropoutCheck, SoundValuesExplainAnotherShareOfZeros) {
  ApiCall call = call_of("Functional.dropout.0", {{40, 50}}, {40, 50});
  const double infinity = std::numeric_limits<double>::infinity();
  call.args = {Tensor::full(DType::float32, Dims{40, 50}, infinity), Value(0.5), Value(true)};
  const auto multiplied = [](DeviceResult& of, int) {
    change(of.output, [](double value, std::int64_t) { return value == 0 ? std::nan("") : value; });
  };
  const ApiResult found = check(call, multiplied);
  EXPECT_EQ(found.forward, Status::error);
  EXPECT_FALSE(is_suspicious(found)) << message_with_reason(found);
}

// Masks that a device returns beside the result are its own.
TEST(DropoutCheck, OfSeveralOutputsTheFirstCounts) {
  ApiCall call = call_of("Aten.native_dropout.0", {{40, 50}}, {40, 50});
  call.args.insert(call.args.end(), {Value(0.3), Value(true)});
  EXPECT_FALSE(is_suspicious(check(call, {})));
  EXPECT_TRUE(is_suspicious(check(call, [](DeviceResult& of, int) {
    List outputs = *of.output.get<List>();
    scale(outputs.front(), 2);
    of.output = outputs;
  })));
}

// A recording of a dropout that drops nothing, which may return its argument, as torch's does.
ApiResult recorded(const char* api, double p, bool training, double of_output, double of_gradient) {
  const Dims shape{3, 2, 2, 3};
  TensorFiles files;
  Tensor x(DType::float32, shape);
  for (std::int64_t i = 0; i < x.numel(); ++i) x.mutable_data<float>()[i] = static_cast<float>(i % 7) - 3;
  const auto times = [](const Tensor& from, double factor) {
    return changed_elements(from, [&](double value, std::int64_t) { return value * factor; });
  };
  const Tensor g = times(x, 0.3);
  ApiCall call;
  call.name = api;
  call.args = {files.file(x), p, training};
  call.has_backward = true;
  call.grad_inputs = {files.file(g, false)};
  call.recorded = RecordedResult{{files.file(times(x, of_output))}, {files.file(times(g, of_gradient), false)}, ""};
  return check_api(call, 0, *make_recorded_device({}), 0, files.options());
}

TEST(DropoutCheck, RecordingsThatDropNothingAreChecked) {
  for (const char* api : {"Functional.dropout.0", "Functional.dropout1d.0", "Functional.dropout2d.0",
                          "Functional.dropout3d.0", "Functional.alpha_dropout.0", "Functional.feature_alpha_dropout.0",
                          "Torch.dropout.0", "Torch.dropout_.0", "Torch.feature_dropout.0", "Torch.alpha_dropout_.0"}) {
    for (const auto& [p, training] : {std::pair(0.5, false), std::pair(0.0, true)}) {
      const ApiResult sound = recorded(api, p, training, 1, 1);
      EXPECT_EQ(sound.forward, Status::pass) << described(sound);
      EXPECT_EQ(sound.backward, Status::pass) << described(sound);
      EXPECT_FALSE(is_suspicious(sound)) << described(sound);
      EXPECT_EQ(sound.weak_evidence, WeakEvidence::none) << api << ": few elements are as good as many";
      EXPECT_TRUE(is_suspicious(recorded(api, p, training, 1.25, 1))) << api;
      EXPECT_TRUE(is_suspicious(recorded(api, p, training, 1.25, 1.25))) << api;
      // It may be the gradient of the step that made the argument.
      const ApiResult other = recorded(api, p, training, 1, 1.25);
      EXPECT_EQ(other.backward, Status::skip) << described(other);
    }
  }
}

}  // namespace
}  // namespace msrun::testing
