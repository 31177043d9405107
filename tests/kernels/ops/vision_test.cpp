// Padding, interpolation and grid sampling: worked values, gradients, edges, refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pointwise;

Value i(std::int64_t value) { return value; }
Value text(const char* value) { return std::string(value); }

Tensor counting(const Dims& shape) {
  std::vector<double> data(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t k = 0; k < data.size(); ++k) data[k] = static_cast<double>(k);
  return float64(shape, data);
}

// The squares of counting().
Tensor squares(const Dims& shape) {
  std::vector<double> data = values(counting(shape));
  for (double& value : data) value *= value;
  return float64(shape, data);
}

TEST(Pad, WorkedValues) {
  const Tensor x = float64({1, 1, 3}, {1, 2, 3});
  const List sizes{i(2), i(1)};
  EXPECT_THAT(forward("Functional", "pad", {x, sizes, text("reflect")}), ElementsAre(3, 2, 1, 2, 3, 2));
  EXPECT_THAT(forward("Functional", "pad", {x, sizes, text("replicate")}), ElementsAre(1, 1, 1, 2, 3, 3));
  EXPECT_THAT(forward("Functional", "pad", {x, sizes, text("circular")}), ElementsAre(2, 3, 1, 2, 3, 1));
  // Cropped first: what is left wraps around.
  EXPECT_THAT(forward("Functional", "pad", {x, List{i(-1), i(1)}, text("circular")}), ElementsAre(2, 3, 2));
  EXPECT_THAT(forward("Functional", "pad", {x, List{i(2), i(-1)}, text("circular")}), ElementsAre(1, 2, 1, 2));
  EXPECT_THROW(forward("Functional", "pad", {x, List{i(3), i(-1)}, text("circular")}), SkipError);
  EXPECT_THAT(forward("Functional", "pad", {x, sizes, text("constant"), 0.5}), ElementsAre(0.5, 0.5, 1, 2, 3, 0.5));
  EXPECT_THAT(forward("Functional", "pad", {x, List{i(-1), i(1)}}), ElementsAre(2, 3, 0));
  EXPECT_THAT(forward("Torch", "constant_pad_nd", {float64({2, 1}, {1, 2}), List{i(0), i(1), i(1), i(0)}, i(7)}),
              ElementsAre(7, 7, 1, 7, 2, 7));
  EXPECT_THAT(forward("Aten", "reflection_pad1d", {x, List{i(1), i(2)}}), ElementsAre(2, 1, 2, 3, 2, 1));
}

TEST(Pad, EveryDtypeOnViews) {
  const Tensor x = counting({2, 3}).transpose(0, 1);
  for (const DType dtype :
       {DType::boolean, DType::int8, DType::bfloat16, DType::float16, DType::float32, DType::int64}) {
    Tape tape;
    std::vector<Var> leaves;
    const Tensor y =
        call("Functional", "pad", {x.to(dtype), List{i(1), i(0)}, text("constant"), i(1)}, {}, tape, leaves).tensor();
    EXPECT_EQ(y.dtype(), dtype);
    const std::vector<double> v = values(x.to(dtype));
    EXPECT_THAT(values(y), ElementsAre(1, v[0], v[1], 1, v[2], v[3], 1, v[4], v[5]));
  }
}

TEST(Pad, Gradients) {
  const Tensor x = uniform({2, 3, 4}, -1, 1, 1);
  check_gradients("Functional", "pad", {x, List{i(1), i(2), i(0), i(1)}, text("constant"), 0.5});
  check_gradients("Functional", "pad", {x, List{i(-1), i(2), i(1), i(-2)}});
  check_gradients("Functional", "pad", {x, List{i(3), i(2), i(2), i(1)}, text("reflect")});
  check_gradients("Functional", "pad", {x, List{i(5), i(-1), i(1), i(1)}, text("replicate")});
  check_gradients("Functional", "pad", {x, List{i(4), i(3)}, text("circular")});
}

TEST(Pad, Refusals) {
  const Tensor x = uniform({2, 3}, -1, 1, 1);
  EXPECT_THROW(forward("Functional", "pad", {x, List{i(1)}}), SkipError);
  EXPECT_THROW(forward("Functional", "pad", {x, List{i(3), i(0)}, text("reflect")}), SkipError);
  EXPECT_THROW(forward("Functional", "pad", {x, List{i(4), i(0)}, text("circular")}), SkipError);
  EXPECT_THROW(forward("Functional", "pad", {x, List{i(-2), i(-2)}}), SkipError);
  EXPECT_THROW(forward("Functional", "pad", {x, List{i(-3), i(2)}, text("replicate")}), SkipError);
  EXPECT_THROW(forward("Functional", "pad", {x, List{i(1), i(1)}, text("mirror")}), SkipError);
  EXPECT_THROW(forward("Functional", "pad", {x, List{i(1), i(1), i(0), i(0), i(0), i(0)}}), SkipError);
  EXPECT_THROW(forward("Functional", "pad", {x, List{i(std::numeric_limits<std::int64_t>::max()), i(1)}}), SkipError);
  EXPECT_TRUE(forward("Functional", "pad", {x, List{i(-1), i(-2)}}).empty());
}

std::vector<double> resized(const Tensor& x, const Dict& kwargs) {
  return forward("Functional", "interpolate", {x}, kwargs);
}

TEST(Interpolate, WorkedValues) {
  const Tensor x = float64({1, 1, 4}, {1, 2, 4, 8});
  EXPECT_THAT(resized(x, {{"size", i(6)}, {"mode", text("linear")}, {"align_corners", false}}),
              Pointwise(DoubleNear(1e-14), std::vector<double>{1, 1.5, 2.333333333333333, 3.6666666666666665, 6, 8}));
  EXPECT_THAT(resized(x, {{"size", i(6)}, {"mode", text("linear")}, {"align_corners", true}}),
              Pointwise(DoubleNear(1e-14), std::vector<double>{1, 1.6, 2.4, 3.6, 5.6, 8}));
  EXPECT_THAT(resized(x, {{"size", i(6)}}), ElementsAre(1, 1, 2, 4, 4, 8));
  EXPECT_THAT(resized(x, {{"size", i(6)}, {"mode", text("nearest-exact")}}), ElementsAre(1, 2, 2, 4, 8, 8));
  EXPECT_THAT(resized(x, {{"size", i(3)}}), ElementsAre(1, 2, 4));
  EXPECT_THAT(resized(x, {{"size", i(3)}, {"mode", text("nearest-exact")}}), ElementsAre(1, 4, 8));
  EXPECT_THAT(resized(x, {{"scale_factor", 1.6}, {"mode", text("linear")}}),
              Pointwise(DoubleNear(1e-14), std::vector<double>{1, 1.4375, 2.125, 3.375, 5.25, 7.75}));
  EXPECT_THAT(resized(x, {{"scale_factor", 1.6}, {"mode", text("linear")}, {"recompute_scale_factor", true}}),
              Pointwise(DoubleNear(1e-14), std::vector<double>{1, 1.5, 2.333333333333333, 3.6666666666666665, 6, 8}));
  const std::vector<double> cubic = resized(squares({1, 1, 4, 4}), {{"size", i(3)}, {"mode", text("bicubic")}});
  ASSERT_EQ(cubic.size(), 9U);
  EXPECT_NEAR(cubic[0], 1.681723679698246, 1e-13);
  EXPECT_NEAR(cubic[1], 5.101851851851887, 1e-13);
  EXPECT_NEAR(cubic[2], 12.69790594993146, 1e-13);
}

TEST(Interpolate, AreaIsAdaptiveAverage) {
  const Tensor x = uniform({2, 2, 7, 5}, -1, 1, 1);
  EXPECT_THAT(resized(x, {{"size", List{i(3), i(2)}}, {"mode", text("area")}}),
              Pointwise(DoubleNear(1e-14), forward("Functional", "adaptive_avg_pool2d", {x, List{i(3), i(2)}})));
}

TEST(Interpolate, AntialiasedShrink) {
  const Tensor x = uniform({1, 1, 8, 8}, -1, 1, 1);
  // Scale 2, bilinear: triangle weights (1, 3, 3, 1) / 8 inside the image.
  const Tensor row = float64({1, 1, 1, 8}, {8, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_THAT(resized(row, {{"size", List{i(1), i(4)}}, {"mode", text("bilinear")}, {"antialias", true}}),
              Pointwise(DoubleNear(1e-14), std::vector<double>{8 * 3.0 / 7, 0, 0, 0}));
  const Tensor middle = float64({1, 1, 1, 8}, {0, 0, 0, 8, 0, 0, 0, 0});
  EXPECT_THAT(resized(middle, {{"size", List{i(1), i(4)}}, {"mode", text("bilinear")}, {"antialias", true}}),
              Pointwise(DoubleNear(1e-14), std::vector<double>{0, 3, 1, 0}));
  check_gradients("Functional", "interpolate", {x}, {{"size", i(3)}, {"mode", text("bicubic")}, {"antialias", true}});
}

TEST(Interpolate, Gradients) {
  const Tensor line = uniform({2, 2, 5}, -1, 1, 1);
  const Tensor image = uniform({1, 2, 4, 5}, -1, 1, 2);
  const Tensor volume = uniform({1, 1, 3, 2, 4}, -1, 1, 3);
  check_gradients("Functional", "interpolate", {line}, {{"scale_factor", 1.7}});
  check_gradients("Functional", "interpolate", {line}, {{"size", i(3)}, {"mode", text("linear")}});
  check_gradients("Functional", "interpolate", {image}, {{"scale_factor", i(2)}});
  check_gradients("Functional", "interpolate", {image},
                  {{"size", List{i(7), i(3)}}, {"mode", text("bilinear")}, {"align_corners", true}});
  check_gradients("Functional", "interpolate", {image}, {{"scale_factor", List{1.5, 0.5}}, {"mode", text("bicubic")}});
  check_gradients("Functional", "interpolate", {image}, {{"size", List{i(2), i(7)}}, {"mode", text("area")}});
  check_gradients("Functional", "interpolate", {volume}, {{"scale_factor", i(2)}, {"mode", text("trilinear")}});
  check_gradients("Functional", "upsample_bilinear", {image}, {{"scale_factor", i(2)}});
}

TEST(Interpolate, OtherNames) {
  const Tensor image = uniform({1, 2, 4, 5}, -1, 1, 2);
  EXPECT_EQ(forward("Functional", "upsample", {image, List{i(6), i(7)}}), resized(image, {{"size", List{i(6), i(7)}}}));
  EXPECT_EQ(forward("Aten", "upsample_bilinear2d", {image, None{}, true, List{2.0, 1.5}}),
            resized(image, {{"scale_factor", List{2.0, 1.5}}, {"mode", text("bilinear")}, {"align_corners", true}}));
  EXPECT_EQ(forward("Functional", "upsample_bilinear", {image, List{i(6), i(7)}}),
            resized(image, {{"size", List{i(6), i(7)}}, {"mode", text("bilinear")}, {"align_corners", true}}));
}

TEST(Interpolate, FactorsOfAtenByName) {
  const Tensor image = uniform({1, 2, 4, 5}, -1, 1, 2);
  const Tensor line = uniform({1, 2, 5}, -1, 1, 3);
  const Tensor volume = uniform({1, 1, 2, 3, 4}, -1, 1, 4);
  const List size{i(5), i(6)};
  // Such factors move the elements, though the size is given.
  const Dict factors{{"scales_h", 2.0}, {"scales_w", 1.9}};
  for (const char* api : {"upsample_nearest2d", "_upsample_nearest_exact2d"}) {
    const std::vector<double> by_position = forward("Aten", api, {image, size, 2.0, 1.9});
    EXPECT_NE(by_position, forward("Aten", api, {image, size}));
    EXPECT_EQ(forward("Aten", api, {image, size}, factors), by_position);
  }
  for (const char* api : {"upsample_bilinear2d", "upsample_bicubic2d", "_upsample_bilinear2d_aa"}) {
    const std::vector<double> by_position = forward("Aten", api, {image, size, false, 2.0, 1.9});
    EXPECT_NE(by_position, forward("Aten", api, {image, size, false}));
    EXPECT_EQ(forward("Aten", api, {image, size, false}, factors), by_position);
  }
  EXPECT_EQ(forward("Aten", "upsample_linear1d", {line, List{i(7)}, false}, {{"scales", 1.5}}),
            forward("Aten", "upsample_linear1d", {line, List{i(7)}, false, 1.5}));
  EXPECT_EQ(forward("Aten", "upsample_nearest1d", {line, List{i(7)}}, {{"scales", 1.5}}),
            forward("Aten", "upsample_nearest1d", {line, List{i(7)}, 1.5}));
  EXPECT_EQ(forward("Aten", "upsample_trilinear3d", {volume, List{i(3), i(5), i(6)}, false},
                    {{"scales_d", 1.5}, {"scales_h", 1.7}, {"scales_w", 1.6}}),
            forward("Aten", "upsample_trilinear3d", {volume, List{i(3), i(5), i(6)}, false, 1.5, 1.7, 1.6}));
}

TEST(Interpolate, Refusals) {
  const Tensor x = uniform({1, 1, 4}, -1, 1, 1);
  EXPECT_THROW(resized(x, {}), SkipError);
  EXPECT_THROW(resized(x, {{"size", i(2)}, {"scale_factor", 2.0}}), SkipError);
  EXPECT_THROW(resized(x, {{"size", i(0)}}), SkipError);
  EXPECT_THROW(resized(x, {{"size", i(2)}, {"mode", text("bilinear")}}), SkipError);
  EXPECT_THROW(resized(x, {{"size", i(2)}, {"align_corners", false}}), SkipError);
  EXPECT_THROW(resized(x, {{"scale_factor", -1.0}}), SkipError);
  EXPECT_THROW(resized(x, {{"scale_factor", 1e300}}), SkipError);
  EXPECT_THROW(resized(uniform({4, 4}, 0, 1, 1), {{"size", i(2)}}), SkipError);
}

TEST(GridSample, WorkedValues) {
  const Tensor image = squares({1, 1, 4, 4});
  const Tensor grid = float64({1, 1, 1, 2}, {0.1, 0.2});
  const auto sampled = [&](const char* mode, const char* border, bool align) {
    return forward("Functional", "grid_sample", {image, grid, text(mode), text(border), align})[0];
  };
  EXPECT_NEAR(sampled("bilinear", "zeros", false), 88.14, 1e-12);
  EXPECT_NEAR(sampled("bilinear", "zeros", true), 81.11, 1e-12);
  // Without align_corners x = 1.7 and y = 1.9.
  EXPECT_EQ(sampled("nearest", "zeros", false), 100);
}

TEST(GridSample, NearestRoundsHalfToEven) {
  const Tensor image = counting({1, 1, 1, 4});
  // align_corners: x = 0.5, 1.5, 2.5.
  const Tensor grid = float64({1, 1, 3, 2}, {0.5 / 1.5 - 1, 0, 0, 0, 2.5 / 1.5 - 1, 0});
  EXPECT_THAT(forward("Functional", "grid_sample", {image, grid, text("nearest"), text("zeros"), true}),
              ElementsAre(0, 2, 2));
}

TEST(GridSample, BordersOutsideTheImage) {
  const Tensor image = counting({1, 1, 1, 4});
  const Tensor grid = float64({1, 1, 2, 2}, {-2, 0, 1.5, 0});  // x = -2.5 and 4.5 without align_corners
  EXPECT_THAT(forward("Functional", "grid_sample", {image, grid, text("bilinear"), text("zeros"), false}),
              ElementsAre(0, 0));
  EXPECT_THAT(forward("Functional", "grid_sample", {image, grid, text("bilinear"), text("border"), false}),
              ElementsAre(0, 3));
  EXPECT_THAT(forward("Functional", "grid_sample", {image, grid, text("bilinear"), text("reflection"), false}),
              ElementsAre(1.5, 2.5));
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(forward("Functional", "grid_sample",
                      {image, float64({1, 1, 2, 2}, {nan, 0, 1e300, 0}), text("bilinear"), text("zeros"), false}),
              ElementsAre(0, 0));
}

TEST(GridSample, Gradients) {
  const Tensor image = uniform({2, 2, 4, 5}, -1, 1, 1);
  const Tensor grid = uniform({2, 3, 2, 2}, -1.3, 1.3, 2);
  for (const char* border : {"zeros", "border", "reflection"}) {
    for (const bool align : {false, true}) {
      check_gradients("Functional", "grid_sample", {image, grid, text("bilinear"), text(border), align});
      check_gradients("Functional", "grid_sample", {image, grid, text("bicubic"), text(border), align}, {}, 0, 1e-5);
      check_gradients("Functional", "grid_sample", {image, grid, text("nearest"), text(border), align});
    }
  }
  check_gradients("Torch", "grid_sampler_3d",
                  {uniform({1, 2, 3, 4, 5}, -1, 1, 3), uniform({1, 2, 2, 1, 3}, -1.1, 1.1, 4), i(0), i(1), true});
}

TEST(AffineGrid, ValuesAndGradients) {
  const Tensor identity = float64({1, 2, 3}, {1, 0, 0, 0, 1, 0});
  EXPECT_THAT(forward("Functional", "affine_grid", {identity, List{i(1), i(1), i(2), i(2)}, false}),
              ElementsAre(-0.5, -0.5, 0.5, -0.5, -0.5, 0.5, 0.5, 0.5));
  EXPECT_THAT(forward("Functional", "affine_grid", {identity, List{i(1), i(1), i(1), i(2)}, true}),
              ElementsAre(-1, 0, 1, 0));
  check_gradients("Functional", "affine_grid", {uniform({2, 2, 3}, -1, 1, 1), List{i(2), i(1), i(4), i(3)}, false});
  check_gradients("Torch", "affine_grid_generator",
                  {uniform({1, 3, 4}, -1, 1, 1), List{i(1), i(1), i(2), i(4), i(3)}, true});
  EXPECT_THROW(forward("Functional", "affine_grid", {identity, List{i(2), i(1), i(2), i(2)}}), SkipError);
  EXPECT_THROW(forward("Functional", "affine_grid", {identity, List{i(1), i(1), i(0), i(2)}}), SkipError);
}

TEST(GridSample, Refusals) {
  const Tensor image = uniform({2, 2, 4, 5}, -1, 1, 1);
  EXPECT_THROW(forward("Functional", "grid_sample", {image, uniform({1, 3, 2, 2}, -1, 1, 2)}), SkipError);
  EXPECT_THROW(forward("Functional", "grid_sample", {image, uniform({2, 3, 2, 3}, -1, 1, 2)}), SkipError);
  EXPECT_THROW(forward("Functional", "grid_sample", {image, uniform({2, 3, 2, 2}, -1, 1, 2), text("area")}), SkipError);
  EXPECT_THROW(forward("Torch", "grid_sampler", {image, uniform({2, 3, 2, 2}, -1, 1, 2), i(3), i(0), false}),
               SkipError);
}

TEST(Rescaling, NormalizeValuesAndGradients) {
  EXPECT_THAT(forward("Functional", "normalize", {float64({2, 2}, {3, 4, 0, 0})}),
              Pointwise(DoubleNear(1e-15), std::vector<double>{0.6, 0.8, 0, 0}));
  EXPECT_THAT(forward("Functional", "normalize", {float64({1, 2}, {3, -1}), 1.0}),
              Pointwise(DoubleNear(1e-15), std::vector<double>{0.75, -0.25}));
  check_gradients("Functional", "normalize", {uniform({3, 4}, -1, 1, 1)});
  check_gradients("Functional", "normalize", {uniform({3, 4}, -1, 1, 1), 3.0, i(0)});
  check_gradients("Functional", "normalize", {uniform({3, 4}, -1, 1, 1), 2.0, i(1), 100.0});
}

TEST(Rescaling, RenormValuesAndGradients) {
  EXPECT_THAT(forward("Torch", "renorm", {float64({2, 2}, {3, 4, 0.3, 0.4}), i(2), i(0), 1.0}),
              Pointwise(DoubleNear(1e-7), std::vector<double>{0.6, 0.8, 0.3, 0.4}));
  check_gradients("Torch", "renorm", {uniform({3, 2, 2}, -1, 1, 1), i(2), i(1), 0.9});
  check_gradients("Tensor", "renorm_", {uniform({3, 4}, -1, 1, 1), i(1), i(0), 1.2});
  EXPECT_THROW(forward("Torch", "renorm", {float64({2}, {3, 4}), i(2), i(0), 1.0}), SkipError);
}

TEST(Rescaling, LocalResponseNorm) {
  // Size 2: the channel before and the channel itself.
  EXPECT_THAT(forward("Functional", "local_response_norm", {float64({1, 3, 1}, {1, 2, 3}), i(2), 2.0, 1.0, 1.0}),
              Pointwise(DoubleNear(1e-15), std::vector<double>{1 / 2.0, 2 / 6.0, 3 / 14.0}));
  EXPECT_THAT(forward("Functional", "local_response_norm", {float64({1, 3, 1}, {1, 2, 3}), i(3), 3.0, 1.0, 1.0}),
              Pointwise(DoubleNear(1e-15), std::vector<double>{1 / 6.0, 2 / 15.0, 3 / 14.0}));
  check_gradients("Functional", "local_response_norm", {uniform({2, 5, 3}, -1, 1, 1), i(3), 0.5, 0.75, 1.0});
  check_gradients("Functional", "local_response_norm", {uniform({1, 4, 2, 2}, -1, 1, 1), i(2), 0.9});
  check_gradients("Functional", "local_response_norm", {uniform({1, 2, 3}, -1, 1, 1), i(1000)});
  // Integers: the average of the squares is cut, (1 + 4) / 2 = 2 and (4 + 9) / 2 = 6.
  EXPECT_THAT(forward("Functional", "local_response_norm", {int64({1, 3, 1}, {1, 2, 3}), i(2), 2.0, 1.0, 1.0}),
              ElementsAre(1, 2.0F / 5.0F, 3.0F / 13.0F));
  EXPECT_TRUE(forward("Functional", "local_response_norm", {Tensor(DType::float64, {2, 0, 3}), i(2)}).empty());
  EXPECT_THROW(forward("Functional", "local_response_norm", {uniform({2, 3}, -1, 1, 1), i(2)}), SkipError);
}

}  // namespace
}  // namespace msrun::testing
