// Transposed convolutions that no library of an accelerator takes, because their output padding reaches the stride:
// torch multiplies for each position of the kernel, stores these columns, and adds them up.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "runner/results/counts.h"
#include "tests/runner/check/rounding_device.h"

namespace msrun::testing {
namespace {

using namespace rounding_device;

constexpr std::int64_t batch = 6;
constexpr std::int64_t channels = 3;
constexpr std::int64_t length = 20;
constexpr std::int64_t kernel = 5;
constexpr std::int64_t stride = 2;
constexpr std::int64_t dilation = 3;

std::int64_t length_of_result(std::int64_t output_padding) {
  return (length - 1) * stride + dilation * (kernel - 1) + output_padding + 1;
}

// conv_transpose1d of as many channels as it gives.
ApiCall transposed(std::int64_t output_padding) {
  ApiCall call = call_of("Functional.conv_transpose1d.0", {{batch, channels, length}, {channels, channels, kernel}},
                         {batch, channels, length_of_result(output_padding)}, DType::bfloat16);
  call.kwargs = {{"stride", stride}, {"dilation", dilation}, {"output_padding", output_padding}};
  return call;
}

// With the result added up of stored columns and the gradient of the weight of stored samples; times `factor`.
Change composed(double factor) {
  return [factor](const MaterialisedCall& call, DeviceResult& result) {
    const auto given = [](const Value& value) { return value.get<Tensor>()->to(DType::float64).contiguous(); };
    const Tensor x = given(call.args[0]);
    const Tensor w = given(call.args[1]);
    const Tensor g = given(call.gradients[0]);
    const std::int64_t size = g.size(2);
    Tensor y = Tensor::zeros(DType::float64, g.shape());
    Tensor of_w = Tensor::zeros(DType::float64, w.shape());
    for (std::int64_t b = 0; b < batch; ++b) {
      for (std::int64_t out = 0; out < channels; ++out) {
        for (std::int64_t k = 0; k < kernel; ++k) {
          for (std::int64_t i = 0; i < length; ++i) {
            double column = 0;
            for (std::int64_t in = 0; in < channels; ++in)
              column += x.item((b * channels + in) * length + i) * w.item((in * channels + out) * kernel + k);
            y.mutable_data<double>()[(b * channels + out) * size + i * stride + k * dilation] += rounded(column);
          }
          for (std::int64_t in = 0; in < channels; ++in) {
            double sum = 0;
            for (std::int64_t i = 0; i < length; ++i)
              sum += x.item((b * channels + in) * length + i) *
                     g.item((b * channels + out) * size + i * stride + k * dilation);
            double& total = of_w.mutable_data<double>()[(in * channels + out) * kernel + k];
            total = rounded(total + sum);
          }
        }
      }
    }
    result.output = changed_elements(y, [&](double value, std::int64_t) { return factor * value; }).to(DType::bfloat16);
    result.gradients[1] = of_w.to(DType::bfloat16);
  };
}

TEST(ComposedConvolution, IsAClassOfItsOwn) {
  const ApiResult result = check_on(accelerator, transposed(stride), {}, composed(1));
  EXPECT_FALSE(is_suspicious(result)) << described(result);
  EXPECT_EQ(result.forward_rows.at(0).trust.weak_evidence, WeakEvidence::half_steps) << described(result);
  EXPECT_EQ(result.backward_rows.at(1).trust.weak_evidence, WeakEvidence::half_steps) << described(result);
}

TEST(ComposedConvolution, HidesNoFault) {
  const ApiResult scaled = check_on(accelerator, transposed(stride), {}, composed(1.02));
  EXPECT_TRUE(scaled.forward_rows.at(0).beyond_rounding) << described(scaled);
  EvaluationOptions without_last;
  without_last.arithmetic.summation.drops_last = true;
  EXPECT_TRUE(is_suspicious(check_on(accelerator, transposed(stride), without_last, {})));
}

// What a library takes is one sum.
TEST(ComposedConvolution, IsAFaultOfALibrary) {
  const ApiResult result = check_on(accelerator, transposed(0), {}, composed(1));
  EXPECT_TRUE(result.forward_rows.at(0).beyond_rounding) << described(result);
  EXPECT_TRUE(result.backward_rows.at(1).beyond_rounding) << described(result);
  EXPECT_FALSE(is_suspicious(check_on(accelerator, transposed(0), {}, {})));
}

}  // namespace
}  // namespace msrun::testing
