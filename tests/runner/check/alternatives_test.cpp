// Elements of which two results are right, because kernels differ: a device that has either is sound, and one that has
// neither is not.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <string>

#include "runner/results/counts.h"
#include "tests/runner/check/support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

constexpr double nan_here = std::numeric_limits<double>::quiet_NaN();

EvaluationOptions other_results() {
  EvaluationOptions options;
  options.alternative = true;
  return options;
}

// An argument with these elements changed.
Tensor random_tensor(const Dims& shape, DType dtype = DType::float32) {
  Tensor values(DType::float32, shape);
  for (std::int64_t i = 0; i < values.numel(); ++i)
    values.mutable_data<float>()[i] = static_cast<float>((i * 7919 + 13) % 101) / 50 - 1;
  return values.to(dtype);
}

Tensor with_element(const Tensor& tensor, std::int64_t place, double element) {
  return changed_elements(tensor, [&](double value, std::int64_t i) { return i == place ? element : value; });
}

class Alternatives : public ::testing::Test {
 protected:
  // A call of tensors that lie in files, with a gradient for a result of this shape.
  ApiCall call_of(const std::string& name, const List& args, const Dims& output, const Dict& kwargs = {}) {
    ApiCall call;
    call.name = name;
    for (const Value& value : args) {
      const Tensor* tensor = value.get<Tensor>();
      call.args.push_back(tensor == nullptr ? value : files_.file(*tensor, is_floating(tensor->dtype())));
    }
    for (auto& [key, value] : kwargs) {
      const Tensor* tensor = value.get<Tensor>();
      call.kwargs.emplace_back(key, tensor == nullptr ? value : files_.file(*tensor, false));
    }
    call.has_backward = true;
    const DType dtype = args.front().get<Tensor>()->dtype();
    call.grad_inputs = {files_.file(random_tensor(output, dtype), false)};
    return call;
  }

  ApiResult checked(const ApiCall& call, const EvaluationOptions& how = {},
                    const ComputingDevice::Change& change = {}) {
    ApiResult result = check(call, change, how, files_.options());
    EXPECT_EQ(result.outcome, Outcome::checked) << result.message;
    return result;
  }

  // Both are sound, and the other one is another.
  void expect_both(const ApiCall& call) {
    EXPECT_FALSE(is_suspicious(checked(call))) << described(checked(call));
    const ApiResult other = checked(call, other_results());
    EXPECT_FALSE(is_suspicious(other)) << described(other);
    EXPECT_THAT(described(other), HasSubstr("two results are right, and the device has the other one.")) << call.name;
  }

  TensorFiles files_;
};

void change_output(DeviceResult& result, std::int64_t place, double element) {
  result.output = with_element(*result.output.get<Tensor>(), place, element);
}

// Rows 2 and 5 of a head may attend to nothing.
Tensor mask_of(const Dims& shape, bool as_bias) {
  Tensor mask = Tensor::full(DType::float32, shape, as_bias ? 0 : 1);
  const std::int64_t keys = shape.back();
  for (const std::int64_t row : {2, 5}) {
    for (std::int64_t key = 0; key < keys; ++key) {
      mask.mutable_data<float>()[row * keys + key] = as_bias ? -std::numeric_limits<float>::infinity() : 0;
    }
  }
  return as_bias ? mask : mask.to(DType::boolean);
}

TEST_F(Alternatives, MaskedRowsOfAttentionAreZeroOrNoNumbers) {
  const Tensor x = random_tensor({1, 2, 8, 6});
  for (const bool as_bias : {false, true}) {
    const ApiCall call = call_of("Functional.scaled_dot_product_attention.0", {x, x, x}, x.shape(),
                                 {{"attn_mask", mask_of({8, 8}, as_bias)}});
    expect_both(call);
    // The first row of the first head is not masked.
    const auto lost = [](DeviceResult& result, int) { change_output(result, 1, nan_here); };
    EXPECT_TRUE(is_suspicious(checked(call, {}, lost)));
    const auto foreign = [](DeviceResult& result, int) { change_output(result, std::int64_t{2} * 6, 0.5); };
    EXPECT_TRUE(is_suspicious(checked(call, {}, foreign)));
  }
}

TEST_F(Alternatives, AreKnownOfLargeCalls) {
  const Tensor x = random_tensor({1, 4, 512, 64});
  const ApiCall call = call_of("Functional.scaled_dot_product_attention.0", {x, x, x}, x.shape(),
                               {{"attn_mask", mask_of({512, 512}, false)}});
  expect_both(call);
  const auto lost = [](DeviceResult& result, int) { change_output(result, 1, nan_here); };
  EXPECT_TRUE(is_suspicious(checked(call, {}, lost)));
}

TEST_F(Alternatives, MaskedRowsOfNpuAttention) {
  const Tensor x = random_tensor({1, 8, 12});
  Tensor mask = Tensor::zeros(DType::boolean, Dims{1, 1, 8, 8});
  for (std::int64_t key = 0; key < 8; ++key) mask.mutable_data<bool>()[std::int64_t{3} * 8 + key] = true;
  ApiCall call = call_of("NPU.npu_fusion_attention.0", {x, x, x, std::int64_t{2}, std::string("BSH")}, x.shape(),
                         {{"atten_mask", mask}, {"scale", 0.3}});
  expect_both(call);
}

TEST_F(Alternatives, PaddingBesideAWeightThatIsNoNumber) {
  const Tensor x = random_tensor({2, 3, 6, 7});
  const Tensor weight = with_element(random_tensor({4, 3, 3, 3}), 2, nan_here);
  expect_both(
      call_of("Functional.conv2d.0", {x, weight, random_tensor({4})}, {2, 4, 6, 7}, {{"padding", std::int64_t{1}}}));
  const ApiCall call = call_of("Functional.conv2d.1", {x, weight}, {2, 4, 6, 7}, {{"padding", std::int64_t{1}}});
  expect_both(call);
  // The second row is not beside padding: the weight there is multiplied with an element.
  const auto found = [](DeviceResult& result, int) { change_output(result, 8, 0.5); };
  EXPECT_TRUE(is_suspicious(checked(call, {}, found)));
  // The last column meets the padding with the weight that is none; the second channel has no such weight.
  const auto lost = [](DeviceResult& result, int) { change_output(result, 42 + 6, nan_here); };
  EXPECT_TRUE(is_suspicious(checked(call, {}, lost)));
  const Tensor infinite = with_element(random_tensor({4, 3, 3}), 0, std::numeric_limits<double>::infinity());
  expect_both(
      call_of("Functional.conv1d.0", {random_tensor({2, 3, 9}), infinite}, {2, 4, 9}, {{"padding", std::int64_t{1}}}));
  const Tensor transposed = with_element(random_tensor({3, 2, 3}), 0, nan_here);
  expect_both(call_of("Functional.conv_transpose1d.0", {random_tensor({2, 3, 9}), transposed}, {2, 2, 11}));
}

// Beside the border two infinite weights meet elements, or one of them padding: what is left is that of the other.
TEST_F(Alternatives, PaddingBesideAnInfiniteWeightThatElementsMeetAsWell) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Tensor x =
      changed_elements(random_tensor({2, 3, 6, 7}), [](double v, std::int64_t) { return std::abs(v) + 1; });
  const Tensor same = with_element(with_element(random_tensor({4, 3, 3, 3}), 0, -infinity), 4, -infinity);
  const ApiCall call = call_of("Functional.conv2d.0", {x, same}, {2, 4, 6, 7}, {{"padding", std::int64_t{1}}});
  expect_both(call);
  const auto turned = [](DeviceResult& result, int) { change_output(result, 0, infinity); };
  EXPECT_TRUE(is_suspicious(checked(call, {}, turned)));
  const auto found = [](DeviceResult& result, int) { change_output(result, 8, 0.5); };
  EXPECT_TRUE(is_suspicious(checked(call, {}, found)));
  // Where elements meet both, there is no number.
  const Tensor opposite = with_element(same, 4, infinity);
  const ApiCall meeting = call_of("Functional.conv2d.1", {x, opposite}, {2, 4, 6, 7}, {{"padding", std::int64_t{1}}});
  expect_both(meeting);
  EXPECT_TRUE(is_suspicious(checked(meeting, {}, found)));
}

TEST_F(Alternatives, SlopeOfLogitAtNegativeZero) {
  for (const DType dtype : {DType::float32, DType::bfloat16, DType::float64}) {
    const Tensor x =
        with_element(changed_elements(random_tensor({40}), [](double v, std::int64_t) { return 0.5 + v / 4; }), 3, -0.0)
            .to(dtype);
    expect_both(call_of("Torch.logit.0", {x}, {40}));
    const ApiCall call = call_of("Torch.logit.1", {with_element(x, 3, 0.0)}, {40});
    const auto turned = [](DeviceResult& result, int) {
      Value& gradient = result.gradients.front();
      gradient = changed_elements(*gradient.get<Tensor>(), [](double v, std::int64_t i) { return i == 3 ? -v : v; });
    };
    EXPECT_TRUE(is_suspicious(checked(call, {}, turned))) << "the slope at 0.0 has one sign";
  }
}

// Roots for some dtypes and devices, and powers for others.
TEST_F(Alternatives, PowersOfOneHalf) {
  const Tensor x = with_element(random_tensor({40}), 3, -std::numeric_limits<double>::infinity());
  for (const DType dtype : {DType::float32, DType::float16}) {
    for (const double exponent : {0.5, -0.5, 1.5}) expect_both(call_of("Torch.pow.0", {x.to(dtype), exponent}, {40}));
  }
  const ApiCall call = call_of("Torch.pow.1", {x, 0.5}, {40});
  const auto neither = [](DeviceResult& result, int) { change_output(result, 3, 0); };
  EXPECT_TRUE(is_suspicious(checked(call, {}, neither)));
}

TEST_F(Alternatives, VariancesOfZeroWithoutEps) {
  const Tensor x = random_tensor({4, 3, 5});
  const Tensor variance = with_element(Tensor::full(DType::float32, Dims{3}, 1), 1, 0);
  const ApiCall call = call_of("Functional.batch_norm.0", {x, Tensor::zeros(DType::float32, Dims{3}), variance},
                               x.shape(), {{"training", false}, {"eps", 0.0}});
  expect_both(call);
  const auto lost = [](DeviceResult& result, int) { change_output(result, 0, nan_here); };
  EXPECT_TRUE(is_suspicious(checked(call, {}, lost))) << "the first channel has a variance";
}

TEST_F(Alternatives, TargetsOfZeroBesideAnInfiniteInput) {
  const Tensor x = with_element(random_tensor({40}), 3, -std::numeric_limits<double>::infinity());
  const Tensor target =
      changed_elements(random_tensor({40}), [](double v, std::int64_t i) { return i == 3 ? 0 : std::abs(v); });
  expect_both(call_of("Functional.kl_div.0", {x, target}, {40}, {{"reduction", std::string("none")}}));
}

// Gradients of the mode nearest go by the lengths on processors and by the factor on GPUs; results go by the factor.
TEST_F(Alternatives, NearestGradientsWithAFactorOfTheirOwn) {
  const Dict options{{"scale_factor", 1.16}};
  expect_both(call_of("Functional.interpolate.0", {random_tensor({1, 2, 6})}, {1, 2, 6}, options));
  const Tensor x = random_tensor({1, 2, 6});
  const auto copied = [&](DeviceResult& result, int) { result.output = x; };
  const ApiCall call = call_of("Functional.interpolate.1", {x}, {1, 2, 6}, options);
  EXPECT_TRUE(is_suspicious(checked(call, {}, copied)));
}

// What a kernel gives that has no shortcut for an axis that keeps its length.
Tensor linear_by_factor(const Tensor& x, double factor) {
  const std::int64_t length = x.size(-1);
  return changed_elements(x, [&](double, std::int64_t i) {
    const double place = std::max((static_cast<double>(i % length) + 0.5) / factor - 0.5, 0.0);
    const auto low = static_cast<std::int64_t>(place);
    const std::int64_t row = i - i % length;
    const double share = place - static_cast<double>(low);
    return (1 - share) * x.item(row + low) + share * x.item(row + std::min(low + 1, length - 1));
  });
}

TEST_F(Alternatives, LinearAxesThatKeepTheirLengthAreCopied) {
  const Tensor x = random_tensor({1, 2, 6});
  const Dict options{{"scale_factor", 1.16}, {"mode", std::string("linear")}};
  const ApiCall call = call_of("Functional.interpolate.0", {x}, {1, 2, 6}, options);
  const ApiResult sound = checked(call);
  EXPECT_FALSE(is_suspicious(sound)) << described(sound);
  EXPECT_EQ(sound.forward, Status::pass);
  const auto by_factor = [&](DeviceResult& result, int) { result.output = linear_by_factor(x, 1.16); };
  EXPECT_TRUE(is_suspicious(checked(call, {}, by_factor)));
  const auto of_gradient = [&](DeviceResult& result, int) {
    const Tensor& gradient = *result.gradients.front().get<Tensor>();
    result.gradients.front() = linear_by_factor(gradient, 1.16);
  };
  EXPECT_TRUE(is_suspicious(checked(call, {}, of_gradient)));
}

// Kernels fill up the last vector of channels with zeros, which an infinite factor makes NaN.
TEST_F(Alternatives, InfiniteConvolutionsMayBeNaN) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const auto accuses = [&](double element, double device) {
    const Tensor x = changed_elements(random_tensor({1, 3, 8}),
                                      [=](double value, std::int64_t i) { return i % 8 == 3 ? element : value; });
    const Tensor w = Tensor::full(DType::float32, Dims{4, 3, 3}, -infinite);
    ApiCall call = call_of("Functional.conv1d.0", {x, element < 0 ? w : random_tensor({4, 3, 3})}, {1, 4, 6});
    call.has_backward = false;
    return checked(call, {},
                   [=](DeviceResult& result, int) {
                     result.output = changed_elements(*result.output.get<Tensor>(), [=](double value, std::int64_t i) {
                       return std::isinf(value) || i == 5 ? device : value;
                     });
                   })
        .forward_rows.at(0)
        .beyond_rounding;
  };
  EXPECT_FALSE(accuses(-infinite, nan_here));
  EXPECT_TRUE(accuses(-infinite, 7));
  // Without an infinite factor NaN is a fault.
  EXPECT_TRUE(accuses(0.5, nan_here));
}

// A position on an element may be a place behind it, and the element that it lies on be infinite.
TEST_F(Alternatives, WeightsOfNextToNothingCountOrDoNot) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  constexpr std::int64_t columns = 6;
  for (const char* mode : {"bilinear", "bicubic"}) {
    const Tensor x = changed_elements(random_tensor({1, 1, 5, columns}),
                                      [](double value, std::int64_t i) { return i / columns == 4 ? infinite : value; });
    ApiCall call = call_of("Functional.interpolate.0", {x}, {1, 1, 7, 9},
                           {{"size", Value(List{Value(std::int64_t{7}), Value(std::int64_t{9})})},
                            {"mode", mode},
                            {"align_corners", true}});
    call.has_backward = false;
    const auto accuses = [&](double last_row) {
      const ApiResult result = checked(call, {}, [=](DeviceResult& device, int) {
        device.output = changed_elements(*device.output.get<Tensor>(),
                                         [=](double value, std::int64_t i) { return i / 9 == 6 ? last_row : value; });
      });
      return result.forward_rows.at(0).beyond_rounding;
    };
    EXPECT_FALSE(accuses(nan_here)) << mode;
    EXPECT_EQ(accuses(infinite), std::string(mode) != "bilinear");
    EXPECT_TRUE(accuses(1)) << mode;
    EXPECT_TRUE(accuses(-infinite)) << mode;
  }
}

// What cosine_embedding_loss adds to the squares of a row, 1e-12, is 0 in float16: of a row of zeros no number is left.
TEST_F(Alternatives, AnEpsilonBelowTheHalfTypeIsZero) {
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    const Tensor x = changed_elements(random_tensor({4, 6}, dtype),
                                      [](double value, std::int64_t i) { return i / 6 == 2 ? 0 : value; });
    ApiCall call = call_of("Functional.cosine_embedding_loss.0",
                           {x, random_tensor({4, 6}, dtype), Tensor::full(DType::int64, Dims{4}, 1)}, {4},
                           {{"reduction", "none"}});
    call.has_backward = false;
    const auto accuses = [&](double third) {
      const ApiResult result = checked(call, {}, [=](DeviceResult& device, int) {
        device.output = with_element(*device.output.get<Tensor>(), 2, third);
      });
      return result.forward_rows.at(0).beyond_rounding;
    };
    EXPECT_EQ(accuses(nan_here), dtype != DType::float16);
    EXPECT_EQ(accuses(1), dtype == DType::float16);
    EXPECT_TRUE(accuses(0));
  }
}

}  // namespace
}  // namespace msrun::testing
