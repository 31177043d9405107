// Devices that compute another call than the recorded one: the Message names which.
#include "runner/judge/altered_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Alteration = std::function<void(MaterialisedCall&)>;

class MistakenDevice final : public Device {
 public:
  // noise is what every element of the output is off by at most.
  explicit MistakenDevice(Alteration alter, const DeviceArithmetic& says = {}, double noise = 0)
      : alter_(std::move(alter)), says_(says), noise_(noise) {}

  DeviceArithmetic arithmetic() const override { return says_; }

  DeviceResult run(const DeviceCall& call) override {
    MaterialisedCall altered = call.materialised;
    alter_(altered);
    const Evaluation evaluation = evaluate(*find_operator(altered.parts.type, altered.parts.api), altered, {});
    DeviceResult result;
    result.output = noise_ == 0 ? evaluation.output : with_noise(*evaluation.output.get<Tensor>());
    result.gradients = evaluation.gradients;
    return result;
  }

 private:
  Value with_noise(const Tensor& tensor) const {
    return changed_elements(tensor, [this](double value, std::int64_t i) {
      return value + noise_ * std::sin(static_cast<double>(13 * i));
    });
  }

  Alteration alter_;
  DeviceArithmetic says_;
  double noise_;
};

std::string message_of(const ApiCall& call, const Alteration& alter, const DeviceArithmetic& says = {},
                       double noise = 0) {
  MistakenDevice device(alter, says, noise);
  return described(check_api(call, 0, device, 0, {}));
}

ApiCall with(ApiCall call, Dict kwargs) {
  call.kwargs = std::move(kwargs);
  return call;
}

Alteration give(const std::string& keyword, const Value& value) {
  return [=](MaterialisedCall& call) {
    for (auto& [key, argument] : call.kwargs) {
      if (key == keyword) argument = value;
    }
  };
}

Alteration change_tensor(std::size_t position, const std::function<Tensor(const Tensor&)>& change) {
  return [=](MaterialisedCall& call) { call.args[position] = change(*call.args[position].get<Tensor>()); };
}

Tensor exchange_halves(const Tensor& tensor) {
  const Tensor source = tensor.contiguous();
  const std::int64_t width = tensor.size(-1);
  const Tensor numbers = source.to(DType::float64);
  return changed_elements(source, [&](double, std::int64_t i) {
    const std::int64_t column = i % width;
    return numbers.data<double>()[i - column + (column + width / 2) % width];
  });
}

void exchange_first_two(MaterialisedCall& call) { std::swap(call.args[0], call.args[1]); }

struct Mistake {
  ApiCall call;
  Alteration alter;
  std::string expected;
};

std::vector<Mistake> mistakes(DType dtype) {
  const ApiCall gelu = call_of("Functional.gelu.0", {{32, 32}}, {32, 32}, dtype);
  const ApiCall softmax = call_of("Functional.softmax.0", {{16, 24}}, {16, 24}, dtype);
  const ApiCall layer_norm = with(call_of("Functional.layer_norm.0", {{16, 24}}, {16, 24}, dtype, -0.01, 0.01),
                                  {{"normalized_shape", List{std::int64_t{24}}}, {"eps", 1e-3}});
  const ApiCall square = call_of("Torch.matmul.0", {{24, 24}, {24, 24}}, {24, 24}, dtype);
  const ApiCall linear = call_of("Functional.linear.0", {{16, 24}, {12, 24}, {12}}, {16, 12}, dtype);
  const ApiCall convolution = call_of("Functional.conv2d.0", {{2, 4, 9, 9}, {6, 4, 3, 3}}, {2, 6, 7, 7}, dtype);
  const auto flip = [](const Tensor& weight) {
    const Dims strides = row_major_strides(weight.shape());
    Dims backwards = strides;
    backwards[2] = -strides[2];
    backwards[3] = -strides[3];
    return weight.contiguous().with_strides(weight.shape(), backwards, 2 * strides[2] + 2 * strides[3]).contiguous();
  };
  const auto halves = [](const Tensor& tensor) {
    const Dims shape{tensor.size(0), tensor.size(1) / 2, 2};
    return tensor.contiguous().reshape(shape).transpose(1, 2).contiguous().reshape(tensor.shape());
  };
  const auto channels_last = [](const Tensor& tensor) {
    static constexpr std::array<std::int64_t, 4> axes{0, 2, 3, 1};
    return tensor.permute(axes).contiguous().reshape(tensor.shape());
  };
  return {
      {with(gelu, {{"approximate", std::string("none")}}), give("approximate", std::string("tanh")),
       "With approximate='tanh' in place of 'none', the call gives this result."},
      {with(softmax, {{"dim", std::int64_t{1}}}), give("dim", std::int64_t{0}),
       "With dim=0 in place of 1, the call gives this result."},
      {layer_norm, give("eps", 0.0), "With eps=0 in place of 0.001, the call gives this result."},
      {with(call_of("Torch.var.0", {{64, 5}}, {64}, dtype), {{"dim", std::int64_t{1}}, {"unbiased", true}}),
       give("unbiased", false), "With unbiased=False in place of True, the call gives this result."},
      {square, exchange_first_two, "With input and other exchanged, the call gives this result."},
      {square, change_tensor(1, [](const Tensor& b) { return b.transpose(0, 1).contiguous(); }),
       "With the last two axes of other exchanged, the call gives this result."},
      {linear, [](MaterialisedCall& call) { call.args[2] = None{}; }, "Without bias, the call gives this result."},
      {convolution, change_tensor(1, flip), "With the spatial axes of weight reversed, the call gives this result."},
      {convolution, change_tensor(0, channels_last),
       "With input stored with its channels last, and read as if they were first, the call gives this result."},
      {with(call_of("Torch.mean.0", {{40, 32}}, {40}, dtype), {{"dim", std::int64_t{1}}}),
       change_tensor(0, [](const Tensor& x) { return x.slice(1, 0, 16).contiguous(); }),
       "With the first half of the last axis of input alone, the call gives this result."},
      {with(call_of("Functional.glu.0", {{16, 24}}, {16, 12}, dtype), {}), change_tensor(0, halves),
       "along its last axis, the call gives this result."},
      {with(call_of("Functional.glu.0", {{16, 24}}, {16, 12}, dtype), {}), change_tensor(0, exchange_halves),
       "With the halves of input exchanged along its last axis, the call gives this result."},
      {layer_norm, give("eps", 0.02), "With eps=0.02 in place of 0.001, the call gives this result."},
  };
}

class AlteredCalls : public ::testing::TestWithParam<DType> {};

TEST_P(AlteredCalls, AreNamed) {
  for (const Mistake& mistake : mistakes(GetParam())) {
    // Half types hardly tell the two formulas of gelu apart.
    if (GetParam() != DType::float32 && mistake.call.name.find("gelu") != std::string::npos) continue;
    const std::string message = message_of(mistake.call, mistake.alter);
    EXPECT_THAT(message, HasSubstr("Not explained by rounding"));
    EXPECT_THAT(message, HasSubstr(mistake.expected));
  }
}

TEST_P(AlteredCalls, AreNotSeenInSoundResults) {
  for (const Mistake& mistake : mistakes(GetParam())) {
    const std::string message = message_of(mistake.call, [](MaterialisedCall&) {});
    EXPECT_THAT(message, Not(HasSubstr("gives this result"))) << message;
    EXPECT_THAT(message, Not(HasSubstr("Not explained"))) << message;
  }
}

// Operands rounded to TF32, halves to even in place of up.
TEST(AlteredArithmetic, NamesOperandsRoundedToNearest) {
  const auto to_tf32 = [](const Tensor& tensor) {
    return changed_elements(tensor, [](double value, std::int64_t) {
      int exponent = 0;
      const double digits = std::frexp(value, &exponent);
      return std::ldexp(std::nearbyint(std::ldexp(digits, 11)), exponent - 11);
    });
  };
  const std::string message = message_of(call_of("Torch.matmul.0", {{48, 256}, {256, 48}}, {48, 48}),
                                         [&](MaterialisedCall& call) { call = with_inputs(call, to_tf32); });
  EXPECT_THAT(message, HasSubstr("Inputs rounded to TF32: computed so, the call gives this result"));
}

// Formulas that differ by a place of a half type: where a device may round its steps, their errors are as large.
TEST_P(AlteredCalls, AreKnownByTheirBitsWhereStepsAreRounded) {
  if (GetParam() == DType::float32) return;
  DeviceArithmetic accelerator;
  accelerator.half_rounding = HalfRounding::between_kernels;
  ApiCall call = with(call_of("Functional.gelu.0", {{48, 96}}, {48, 96}, GetParam(), -4, 4),
                      {{"approximate", std::string("none")}});
  call.has_backward = false;
  const std::string message = message_of(call, give("approximate", std::string("tanh")), accelerator);
  EXPECT_THAT(message, HasSubstr("With approximate='tanh' in place of 'none', the call gives this result."));
  EXPECT_THAT(message_of(
                  call, [](MaterialisedCall&) {}, accelerator),
              Not(HasSubstr("Not explained")));
}

// Steps that attention stores in the half type are no part of the mistake.
TEST_P(AlteredCalls, AreNamedBesideStepsOfTheDevice) {
  if (GetParam() == DType::float32) return;
  DeviceArithmetic accelerator;
  accelerator.half_rounding = HalfRounding::between_kernels;
  const Dims shape{2, 3, 24, 16};
  ApiCall call = with(call_of("Functional.scaled_dot_product_attention.0", {shape, shape, shape}, shape, GetParam()),
                      {{"is_causal", true}});
  call.has_backward = false;
  const double noise = epsilon(GetParam()) / 4;
  const auto mistaken = [&](const Alteration& alter) { return message_of(call, alter, accelerator, noise); };
  EXPECT_THAT(mistaken(give("is_causal", false)),
              HasSubstr("With is_causal=False in place of True, the call gives this result."));
  EXPECT_THAT(mistaken(exchange_first_two), HasSubstr("With query and key exchanged, the call gives this result."));
}

// A head that is wrong has a place, although the other heads err by what a device stores.
TEST(AlteredArithmetic, LeavesAPlaceToWhatErrsMoreThanSteps) {
  const Dims shape{2, 3, 24, 16};
  ApiCall call = call_of("Functional.scaled_dot_product_attention.0", {shape, shape, shape}, shape, DType::bfloat16);
  call.has_backward = false;
  const auto double_a_head = [](DeviceResult& result, int) {
    result.output = changed_elements(*result.output.get<Tensor>(), [](double value, std::int64_t i) {
      constexpr std::int64_t elements_of_a_head = std::int64_t{24} * 16;
      return (i / elements_of_a_head % 3 == 1 ? 2 * value : value) + 0x1p-10 * std::sin(static_cast<double>(13 * i));
    });
  };
  ComputingDevice device(double_a_head);
  device.says.half_rounding = HalfRounding::between_kernels;
  const std::string message = described(check_api(call, 0, device, 0, {}));
  EXPECT_THAT(message, HasSubstr("Wrong is [:, 1, :, :] of (2, 3, 24, 16)"));
}

// Statistics of half of each row.
TEST_P(AlteredCalls, AreKnownByHalfOfEachRow) {
  ApiCall call = with(call_of("Functional.layer_norm.0", {{48, 96}}, {48, 96}, GetParam(), -2, 3),
                      {{"normalized_shape", List{std::int64_t{96}}}, {"eps", 1e-5}});
  call.has_backward = false;
  class HalfDevice final : public Device {
   public:
    DeviceResult run(const DeviceCall& of) override {
      const Tensor x = of.materialised.args[0].get<Tensor>()->to(DType::float64).contiguous();
      const std::int64_t width = x.size(1);
      const std::int64_t half = width / 2;
      DeviceResult result;
      result.output = changed_elements(*of.materialised.args[0].get<Tensor>(), [&](double value, std::int64_t i) {
        const double* row = x.data<double>() + i / width * width;
        double mean = 0;
        double squares = 0;
        for (std::int64_t k = 0; k < half; ++k) mean += row[k] / static_cast<double>(half);
        for (std::int64_t k = 0; k < half; ++k) squares += (row[k] - mean) * (row[k] - mean);
        return (value - mean) / std::sqrt(squares / static_cast<double>(half) + 1e-5);
      });
      return result;
    }
  };
  HalfDevice half;
  EXPECT_THAT(described(check_api(call, 0, half, 0, {})),
              HasSubstr("Half of each row is what the call gives for the first half of the last axis alone."));
}

// A filter of its own is no argument that a kernel takes for another.
TEST(AlteredArithmetic, IsNoFilterThatOtherMistakesLookLike) {
  const ApiCall call =
      with(call_of("Functional.interpolate.0", {{2, 3, 16, 16}}, {2, 3, 7, 7}),
           {{"size", List{std::int64_t{7}, std::int64_t{7}}}, {"mode", std::string("bilinear")}, {"antialias", false}});
  const std::string message = message_of(call, give("antialias", true));
  EXPECT_THAT(message, HasSubstr("Not explained"));
  EXPECT_THAT(message, Not(HasSubstr("antialias")));
}

// One number of a half type is what many mistakes give.
TEST(AlteredArithmetic, IsNotNamedByOneNumber) {
  ApiCall call = call_of("Functional.mse_loss.0", {{64, 80}, {64, 80}}, {}, DType::bfloat16);
  call.has_backward = false;
  ComputingDevice device([](DeviceResult& result, int) { scale(result.output, 0.87); });
  const std::string message = described(check_api(call, 0, device, 0, {}));
  EXPECT_THAT(message, HasSubstr("Not explained"));
  EXPECT_THAT(message, Not(HasSubstr("accumulation")));
}

// Half a place of a half type is what truncation takes away, and so does a number that is a little off.
TEST(AlteredArithmetic, IsNotTruncationOfEveryErrorOfAPlace) {
  ApiCall call = with(call_of("Functional.layer_norm.0", {{64, 128}}, {64, 128}, DType::float16, -1.5, 1.5),
                      {{"normalized_shape", List{std::int64_t{128}}}, {"eps", 1e-5}});
  call.has_backward = false;
  const std::string message = message_of(call, give("eps", 1e-3));
  EXPECT_THAT(message, HasSubstr("With eps=0.001 in place of 1e-05, the call gives this result."));
}

// The size of errors alone is no sign of sums in float16, where the result is more than a sum.
TEST(AlteredArithmetic, IsNotFloat16BySizeAlone) {
  const Dims shape{2, 4, 48, 32};
  ApiCall call = call_of("Functional.scaled_dot_product_attention.0", {shape, shape, shape}, shape, DType::float32);
  call.has_backward = false;
  ComputingDevice device([](DeviceResult& result, int) {
    result.output = changed_elements(*result.output.get<Tensor>(), [](double value, std::int64_t i) {
      return value * (1 + 0.004 * std::sin(static_cast<double>(7 * i)));
    });
  });
  EXPECT_THAT(described(check_api(call, 0, device, 0, {})), Not(HasSubstr("float16")));
}

// What is wrong all over, and is the result of no such call, gets no cause.
TEST_P(AlteredCalls, AreNotSeenInNoise) {
  for (const Mistake& mistake : mistakes(GetParam())) {
    const auto foreign = [](MaterialisedCall& call) {
      call = with_inputs(call, [](const Tensor& tensor) {
        return changed_elements(tensor, [](double value, std::int64_t i) {
          return value * (1 + 0.5 * std::sin(static_cast<double>(7 * i)));
        });
      });
    };
    EXPECT_THAT(message_of(mistake.call, foreign), Not(HasSubstr("the call gives this result")));
  }
}

INSTANTIATE_TEST_SUITE_P(DTypes, AlteredCalls, ::testing::Values(DType::float32, DType::float16, DType::bfloat16),
                         [](const auto& of) { return std::string(name(of.param)); });

}  // namespace
}  // namespace msrun::testing
