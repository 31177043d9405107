// Gradients in half types that an accelerator's kernels sum in float32, and what the errors of all elements have in
// common: each may err as steps that are rounded make it, all of them in one direction may not.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "runner/results/counts.h"
#include "tests/runner/check/rounding_device.h"

namespace msrun::testing {
namespace {

using namespace rounding_device;

ApiCall einsum(DType dtype) {
  ApiCall call = call_of("Torch.einsum.0", {{4, 60, 40}, {4, 40, 50}}, {4, 60, 50}, dtype);
  call.args.insert(call.args.begin(), Value(std::string("bij,bjk->bik")));
  return call;
}

ApiCall batch_norm(DType dtype) {
  ApiCall call = call_of("Functional.batch_norm.0", {{16, 6, 20, 20}, {6}, {6}}, {16, 6, 20, 20}, dtype, -1, 3);
  call.args.insert(call.args.begin() + 1, {Value(None{}), Value(None{})});
  call.kwargs = {{"training", true}};
  return call;
}

ApiCall layer_norm(DType dtype) {
  ApiCall call = call_of("Functional.layer_norm.0", {{300, 40}, {40}, {40}}, {300, 40}, dtype, -1, 3);
  call.args.insert(call.args.begin() + 1, Value(List{std::int64_t{40}}));
  return call;
}

ApiCall interpolate(DType dtype, const char* mode) {
  ApiCall call = call_of("Functional.interpolate.0", {{2, 4, 24, 24}}, {2, 4, 48, 48}, dtype);
  call.kwargs = {{"scale_factor", 2.0}, {"mode", std::string(mode)}, {"align_corners", false}};
  return call;
}

std::vector<ApiCall> calls(DType dtype) {
  return {call_of("Functional.linear.0", {{2000, 96}, {20, 96}, {20}}, {2000, 20}, dtype),
          call_of("Functional.conv2d.0", {{4, 6, 24, 24}, {8, 6, 3, 3}, {8}}, {4, 8, 22, 22}, dtype),
          call_of("Torch.add.0", {{4000, 8}, {8}}, {4000, 8}, dtype),
          call_of("Torch.addmm.0", {{20}, {2000, 96}, {96, 20}}, {2000, 20}, dtype),
          call_of("Torch.baddbmm.0", {{2, 1, 20}, {2, 400, 96}, {2, 96, 20}}, {2, 400, 20}, dtype),
          einsum(dtype),
          batch_norm(dtype),
          layer_norm(dtype),
          interpolate(dtype, "bilinear"),
          interpolate(dtype, "bicubic"),
          call_of("NPU.npu_rms_norm.0", {{300, 40}, {40}}, {300, 40}, dtype, -1, 3)};
}

// The sum of digammas behind a gradient: elements err by some places on the way, and where all of them are equal,
// alike.
ApiResult mvlgamma_off_by(double factor, double least, double most) {
  ApiCall call = call_of("Torch.mvlgamma.0", {{16, 64}}, {16, 64}, DType::bfloat16, least, most);
  call.args.emplace_back(std::int64_t{5});
  call.grad_inputs = call_of("Torch.abs.0", {{16, 64}}, {16, 64}, DType::bfloat16, 0.5, 0.5).args;
  return check_on(accelerator, call, {}, [factor](const MaterialisedCall&, DeviceResult& computed) {
    scale(computed.gradients.at(0), factor);
  });
}

TEST(CommonErrors, AreThoseOfElementsThatDiffer) {
  const ApiResult varied = mvlgamma_off_by(1.02, 2.3, 3.5);
  EXPECT_TRUE(is_suspicious(varied)) << described(varied);
  const ApiResult equal = mvlgamma_off_by(1.02, 2.5, 2.5);
  EXPECT_FALSE(is_suspicious(equal)) << described(equal);
  EXPECT_TRUE(is_suspicious(mvlgamma_off_by(1.2, 2.5, 2.5)));
}

class HalfGradients : public ::testing::TestWithParam<DType> {};

TEST_P(HalfGradients, OfSoundDevicesAreNotAccused) {
  for (const ApiCall& call : calls(GetParam())) {
    const ApiResult result = check_on(accelerator, call, {}, {});
    EXPECT_FALSE(is_suspicious(result)) << described(result);
    EXPECT_FALSE(result.backward_rows.empty()) << described(result);
  }
}

TEST_P(HalfGradients, HideNoFactor) {
  for (const ApiCall& call : calls(GetParam())) {
    // All elements of an image are sums with a few weights, which a device may store in the half type.
    const double factor = call.name.starts_with("Functional.interpolate") ? 1.06 : 1.03;
    const std::size_t count = check_on(accelerator, call, {}, {}).backward_rows.size();
    for (std::size_t of = 0; of < count; ++of) {
      const ApiResult result = check_on(
          accelerator, call, {},
          [of, factor](const MaterialisedCall&, DeviceResult& computed) { scale(computed.gradients.at(of), factor); });
      EXPECT_TRUE(is_suspicious(result)) << "gradient " << of << " of " << described(result);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Halves, HalfGradients, ::testing::Values(DType::bfloat16, DType::float16),
                         [](const auto& of) { return std::string(name(of.param)); });

}  // namespace
}  // namespace msrun::testing
