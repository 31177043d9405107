// Positions among the elements of an image, or the bins of a histogram, which kernels of half types store in the half
// type: an element beside which one lies may have another neighbour than in float32.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

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

constexpr std::int64_t side = 8;
constexpr std::int64_t rows = 7;
constexpr std::int64_t columns = 9;

// Where an element of a resized axis lies among those that it is made of, and their weights, every step in bfloat16.
struct Taps {
  std::int64_t first = 0;
  std::array<double, 4> weights{};

  Taps(std::int64_t place, std::int64_t size) {
    const double scale = rounded(static_cast<double>(side - 1) / static_cast<double>(size - 1));
    const double at = rounded(scale * static_cast<double>(place));
    first = static_cast<std::int64_t>(std::floor(at)) - 1;
    const double t = rounded(at - std::floor(at));
    const double u = rounded(1 - t);
    weights = {far(rounded(t + 1)), near(t), near(u), far(rounded(u + 1))};
  }

 private:
  static double near(double x) { return rounded(rounded(rounded(rounded(rounded(1.25 * x) - 2.25) * x) * x) + 1); }
  static double far(double x) {
    return rounded(rounded(rounded(rounded(rounded(rounded(-0.75 * x) + 3.75) * x) - 6) * x) + 3);
  }
};

// The gradient of a bicubic interpolation as torch's kernel for processors forms it in bfloat16.
void take_bicubic_gradient(const MaterialisedCall& call, DeviceResult& result) {
  const Tensor g = call.gradients.front().get<Tensor>()->to(DType::float64).contiguous();
  std::vector<double> sums(static_cast<std::size_t>(result.gradients.front().get<Tensor>()->numel()));
  for (std::int64_t i = 0; i < g.numel(); ++i) {
    const Taps y(i / columns % rows, rows);
    const Taps x(i % columns, columns);
    for (std::int64_t k = 0; k < 16; ++k) {
      const std::int64_t row = std::clamp<std::int64_t>(y.first + k / 4, 0, side - 1);
      const std::int64_t column = std::clamp<std::int64_t>(x.first + k % 4, 0, side - 1);
      double& sum = sums[static_cast<std::size_t>((i / (rows * columns) * side + row) * side + column)];
      const double in_column = rounded(g.item(i) * y.weights[static_cast<std::size_t>(k / 4)]);
      sum = rounded(sum + rounded(in_column * x.weights[static_cast<std::size_t>(k % 4)]));
    }
  }
  result.gradients.front() = changed_elements(*result.gradients.front().get<Tensor>(), [&](double, std::int64_t i) {
    return sums[static_cast<std::size_t>(i)];
  });
}

TEST(HalfPositions, MayBeThoseOfBicubicGradients) {
  ApiCall call = call_of("Functional.interpolate.0", {{2, 3, side, side}}, {2, 3, rows, columns}, DType::bfloat16);
  call.kwargs = {{"size", Value(List{Value(rows), Value(columns)})}, {"mode", "bicubic"}, {"align_corners", true}};
  const ApiResult sound = check_on(processor, call, {}, take_bicubic_gradient);
  EXPECT_FALSE(is_suspicious(sound)) << described(sound);
  EXPECT_TRUE(is_suspicious(check_on(HalfRounding::nothing, call, {}, take_bicubic_gradient)));
  for (const double factor : {-1.0, 1.25}) {
    const ApiResult faulty = check_on(processor, call, {}, [=](const MaterialisedCall& inputs, DeviceResult& result) {
      take_bicubic_gradient(inputs, result);
      scale(result.gradients.front(), factor);
    });
    EXPECT_TRUE(is_suspicious(faulty)) << described(faulty);
  }
}

}  // namespace
}  // namespace msrun::testing
