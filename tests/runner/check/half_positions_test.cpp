// Positions among the elements of an image, or the bins of a histogram, which kernels of half types store in the half
// type: an element beside which one lies may have another neighbour than in float32.
#include <gtest/gtest.h>

#include <string>

#include "runner/results/counts.h"
#include "tests/runner/check/rounding_device.h"

namespace msrun::testing {
namespace {

using namespace rounding_device;

constexpr std::int64_t width = 24;
constexpr std::int64_t height = 5;

ApiCall sampled(const std::string& mode, const std::string& border, bool align_corners, DType dtype) {
  ApiCall call = call_of("Functional.grid_sample.0", {{2, 3, height, width}, {2, 9, 16, 2}}, {2, 3, 9, 16}, dtype);
  call.args[1] = call_of("Functional.grid_sample.0", {{2, 9, 16, 2}}, {}, dtype, -1.1, 1.1).args[0];
  call.kwargs = {{"mode", mode}, {"padding_mode", border}, {"align_corners", align_corners}};
  return call;
}

std::vector<ApiCall> calls(DType dtype) {
  std::vector<ApiCall> all;
  for (const char* mode : {"bilinear", "nearest", "bicubic"}) {
    for (const char* border : {"zeros", "border", "reflection"})
      all.push_back(sampled(mode, border, *border == 'b', dtype));
  }
  ApiCall counted = call_of("Torch.histc.0", {{300}}, {}, dtype, -7, 8.5);
  counted.args.emplace_back(std::int64_t{100});
  counted.has_backward = false;
  all.push_back(std::move(counted));
  return all;
}

EvaluationOptions holding(Positions positions) {
  EvaluationOptions options;
  options.positions = positions;
  return options;
}

TEST(HalfPositions, MayBeStored) {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    for (const Positions positions : {Positions::wide, Positions::stored, Positions::stored_by_steps}) {
      for (const ApiCall& call : calls(dtype)) {
        for (const HalfRounding rounding : {accelerator, processor}) {
          const ApiResult result = check_on(rounding, call, holding(positions), {});
          EXPECT_FALSE(is_suspicious(result)) << described(result);
        }
        // A device that says that it stores nothing in half types on the way is held to that.
        const bool stores = positions != Positions::wide;
        if (dtype == DType::float16) continue;
        EXPECT_EQ(is_suspicious(check_on(HalfRounding::nothing, call, holding(positions), {})), stores);
      }
    }
  }
}

TEST(HalfPositions, HideNoFault) {
  for (const ApiCall& call : calls(DType::bfloat16)) {
    for (int of = 0; of < (call.has_backward ? 2 : 1); ++of) {
      const ApiResult result =
          check_on(accelerator, call, holding(Positions::stored), [&](const MaterialisedCall&, DeviceResult& computed) {
            Value& value = of == 0 ? computed.output : computed.gradients.at(0);
            value = changed_elements(*value.get<Tensor>(),
                                     [](double element, std::int64_t i) { return i == 77 ? element + 1.5 : element; });
          });
      EXPECT_TRUE(is_suspicious(result)) << described(result);
    }
    // The sample of a neighbour.
    const ApiResult result =
        check_on(accelerator, call, holding(Positions::stored), [&](const MaterialisedCall&, DeviceResult& computed) {
          const Tensor sound = computed.output.get<Tensor>()->to(DType::float64).contiguous();
          computed.output = changed_elements(*computed.output.get<Tensor>(), [&](double, std::int64_t i) {
            return sound.item(i % 16 == 15 ? i : i + 1);
          });
        });
    EXPECT_TRUE(is_suspicious(result)) << described(result);
  }
}

}  // namespace
}  // namespace msrun::testing
