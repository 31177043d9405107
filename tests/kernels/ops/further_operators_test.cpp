// Combinations, histograms, fractional pooling, diagonals, and small operators beside the large families.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun {
namespace {

using namespace testing;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Combinations, InLexicographicOrder) {
  const Tensor x = float64({3}, {5, 6, 7});
  EXPECT_THAT(forward("Torch", "combinations", {x}), ElementsAre(5, 6, 5, 7, 6, 7));
  EXPECT_THAT(forward("Torch", "combinations", {x, std::int64_t{2}, true}),
              ElementsAre(5, 5, 5, 6, 5, 7, 6, 6, 6, 7, 7, 7));
  EXPECT_THAT(forward("Torch", "combinations", {x}, {{"r", std::int64_t{3}}}), ElementsAre(5, 6, 7));
  EXPECT_THAT(forward("Torch", "combinations", {x}, {{"r", std::int64_t{4}}}), IsEmpty());
  EXPECT_THAT(forward("Torch", "combinations", {x}, {{"r", std::int64_t{0}}}), IsEmpty());
  check_gradients("Torch", "combinations", {x});
  EXPECT_THROW(forward("Torch", "combinations", {float64({1, 1}, {1})}), SkipError);
  EXPECT_THROW(forward("Torch", "combinations", {x, std::int64_t{-1}}), SkipError);
}

TEST(CartesianProduct, LastChangesFastest) {
  const List args{List{float64({2}, {1, 2}), float64({2}, {3, 4})}};
  EXPECT_THAT(forward("Torch", "cartesian_prod", args), ElementsAre(1, 3, 1, 4, 2, 3, 2, 4));
  EXPECT_THAT(forward("Torch", "cartesian_prod", {float64({2}, {1, 2}), float64({1}, {3})}), ElementsAre(1, 3, 2, 3));
  EXPECT_THAT(forward("Torch", "cartesian_prod", {float64({2}, {1, 2})}), ElementsAre(1, 2));
  check_gradients("Torch", "cartesian_prod", args);
  EXPECT_THROW(forward("Torch", "cartesian_prod", {float64({1, 1}, {1})}), SkipError);
}

TEST(Histogram, BinsHoldTheirLeftEdge) {
  const Tensor x = float64({5}, {0, 1, 1.5, 2, 3});
  EXPECT_THAT(forward("Torch", "histogram", {x, std::int64_t{3}}), ElementsAre(1, 2, 2));
  EXPECT_THAT(forward("Torch", "histogram", {x, std::int64_t{3}}, {}, 1), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(forward("Tensor", "histogram", {x, float64({3}, {0.5, 1, 2})}), ElementsAre(0, 3));
  const Dict range{{"range", List{1.0, 2.0}}, {"weight", float64({5}, {1, 2, 3, 4, 5})}};
  EXPECT_THAT(forward("Torch", "histogram", {x, std::int64_t{2}}, range), ElementsAre(2, 7));
  Dict density = range;
  density.emplace_back("density", true);
  const std::vector<double> dense = forward("Torch", "histogram", {x, std::int64_t{2}}, density);
  EXPECT_NEAR(dense[0], 2 / (9 * 0.5), 1e-15);
  // A range of one value is widened by a half to both sides.
  EXPECT_THAT(forward("Torch", "histogram", {float64({2}, {4, 4}), std::int64_t{1}}, {}, 1), ElementsAre(3.5, 4.5));
  EXPECT_THAT(forward("Torch", "histogram", {Tensor(DType::float64, {0}), std::int64_t{1}}, {}, 1), ElementsAre(0, 1));
  EXPECT_THROW(forward("Torch", "histogram", {x, std::int64_t{0}}), SkipError);
  EXPECT_THROW(forward("Torch", "histogram", {x, std::int64_t{2}}, {{"range", List{1.0}}}), SkipError);
  EXPECT_THROW(forward("Torch", "histogram", {x, float64({2}, {2, 1})}), SkipError);
  EXPECT_THROW(forward("Torch", "histogram", {int64({1}, {1}), std::int64_t{2}}), SkipError);
}

TEST(Histogram, OfPoints) {
  const Tensor points = float64({4, 2}, {0, 0, 0.9, 0.4, 1, 1, 0.2, 0.8});
  EXPECT_THAT(forward("Torch", "histogramdd", {points, List{std::int64_t{2}, std::int64_t{1}}}), ElementsAre(2, 2));
  EXPECT_THAT(forward("Torch", "histogramdd", {points, std::int64_t{2}}), ElementsAre(1, 1, 1, 1));
  const List edges{float64({2}, {0, 0.5}), float64({3}, {0, 0.5, 1})};
  EXPECT_THAT(forward("Torch", "histogramdd", {points, edges}), ElementsAre(1, 1));
  EXPECT_THAT(forward("Torch", "histogramdd", {points, edges}, {{"density", true}}), ElementsAre(2, 2));
  EXPECT_THROW(forward("Torch", "histogramdd", {points, List{std::int64_t{2}}}), SkipError);
  EXPECT_THROW(forward("Torch", "histogramdd", {points, List{float64({2}, {0, 1})}}), SkipError);
}

TEST(FractionalMaxPool, WindowsFollowTheSamples) {
  // One row of 5 with windows of 2 and 3 outputs: alpha = 1.5, starts 0, trunc(1.5 (1 + u)) - trunc(1.5 u), 3.
  const Tensor x = float64({1, 1, 5}, {5, 1, 2, 7, 3});
  const auto pool = [&](double width, std::size_t output) {
    return forward("Functional", "fractional_max_pool2d_with_indices",
                   {x, List{std::int64_t{1}, std::int64_t{2}}, List{std::int64_t{1}, std::int64_t{3}}},
                   {{"_random_samples", float64({1, 1, 2}, {width, 0.5})}}, output);
  };
  EXPECT_THAT(pool(0, 0), ElementsAre(5, 2, 7));
  EXPECT_THAT(pool(0.4, 0), ElementsAre(5, 7, 7));
  EXPECT_THAT(pool(0.4, 1), ElementsAre(0, 3, 3));
  const Tensor image = uniform({2, 3, 5, 6}, -1, 1, 1);
  const Tensor samples = uniform({2, 3, 2}, 0, 1, 2);
  const List args{image, std::int64_t{2}, List{std::int64_t{2}, std::int64_t{3}}};
  const Dict given{{"_random_samples", samples}};
  check_gradients("Functional", "fractional_max_pool2d", args, given, 0, 1e-6, {1});
  List direct = args;
  direct.emplace_back(samples);
  EXPECT_EQ(forward("Functional", "fractional_max_pool2d", direct),
            forward("Functional", "_fractional_max_pool2d", args, given));
  const List ratio{image, std::int64_t{2}, None{}, List{0.4, 0.5}};
  EXPECT_EQ(forward("Functional", "_fractional_max_pool2d", ratio, given),
            forward("Functional", "_fractional_max_pool2d", args, given));
  const List volume{uniform({2, 4, 5, 6}, -1, 1, 3), std::int64_t{2}, std::int64_t{3}};
  const Dict volume_samples{{"_random_samples", uniform({1, 2, 3}, 0, 1, 4)}};
  check_gradients("Functional", "_fractional_max_pool3d", volume, volume_samples, 0, 1e-6, {1});
  EXPECT_EQ(forward("Functional", "fractional_max_pool3d_with_indices", volume, volume_samples).size(), 54U);
  EXPECT_THROW(forward("Functional", "fractional_max_pool2d", args), SkipError);
  EXPECT_THROW(forward("Functional", "fractional_max_pool2d", {image, std::int64_t{2}, std::int64_t{5}}, given),
               SkipError);
  EXPECT_THROW(forward("Functional", "fractional_max_pool2d", {image, std::int64_t{9}, std::int64_t{1}}, given),
               SkipError);
  EXPECT_THROW(forward("Functional", "fractional_max_pool2d", args, {{"_random_samples", uniform({1}, 0, 1, 2)}}),
               SkipError);
  EXPECT_THROW(forward("Functional", "fractional_max_pool2d", args, {{"_random_samples", uniform({2, 3, 2}, 5, 6, 2)}}),
               SkipError);
}

TEST(FillDiagonal, AlsoOfTallMatrices) {
  const Tensor x = Tensor::zeros(DType::float64, Dims{5, 2});
  EXPECT_THAT(forward("Tensor", "fill_diagonal_", {x, 1.0}), ElementsAre(1, 0, 0, 1, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(forward("Tensor", "fill_diagonal_", {x, 1.0, true}), ElementsAre(1, 0, 0, 1, 0, 0, 1, 0, 0, 1));
  EXPECT_THAT(forward("Tensor", "fill_diagonal_", {int64({2, 2, 2}, {0, 0, 0, 0, 0, 0, 0, 0}), 3.0}),
              ElementsAre(3, 0, 0, 0, 0, 0, 0, 3));
  check_gradients("Tensor", "fill_diagonal_", {uniform({3, 2}, 0, 1, 1), 2.0});
  EXPECT_THROW(forward("Tensor", "fill_diagonal_", {Tensor::zeros(DType::float64, Dims{2, 2, 3}), 1.0}), SkipError);
  EXPECT_THROW(forward("Tensor", "fill_diagonal_", {Tensor::zeros(DType::float64, Dims{2}), 1.0}), SkipError);
}

TEST(Range, HoldsItsEnd) {
  EXPECT_THAT(forward("Torch", "range", {std::int64_t{1}, std::int64_t{4}}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(forward("Torch", "range", {1.0, 2.0, 0.5}), ElementsAre(1, 1.5, 2));
  EXPECT_THROW(forward("Torch", "range", {1.0, 2.0, -0.5}), SkipError);
  EXPECT_THROW(forward("Torch", "range", {1.0, 2.0, 0.0}), SkipError);
}

TEST(Resize, KeepsTheFirstElements) {
  const Tensor x = float64({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(forward("Tensor", "resize_", {x, std::int64_t{2}, std::int64_t{2}}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(forward("Tensor", "resize_as_", {x, Tensor(DType::float64, {3})}), ElementsAre(1, 2, 3));
  EXPECT_THROW(forward("Tensor", "resize_", {x, List{std::int64_t{7}}}), SkipError);
}

TEST(FusedElementwise, AddAndActivation) {
  const Tensor a = float64({3}, {1, -2, 3});
  const Tensor b = float64({3}, {1, 1, -2});
  EXPECT_THAT(forward("Torch", "_add_relu", {a, b}, {{"alpha", 2.0}}), ElementsAre(3, 0, 0));
  check_gradients("Torch", "_add_relu_", {a, b});
  const List args{uniform({3}, -1, 1, 1), uniform({2, 4}, -1, 1, 2), uniform({4, 3}, -1, 1, 3)};
  const Dict factors{{"beta", 0.5}, {"alpha", 2.0}};
  const std::vector<double> sums = forward("Torch", "addmm", args, factors);
  const std::vector<double> relu = forward("Tensor", "_addmm_activation", args, factors);
  Dict smooth = factors;
  smooth.emplace_back("use_gelu", true);
  const std::vector<double> gelu = forward("Tensor", "_addmm_activation", args, smooth);
  for (std::size_t i = 0; i < sums.size(); ++i) {
    EXPECT_NEAR(relu[i], std::max(sums[i], 0.0), 1e-14);
    EXPECT_NEAR(gelu[i], sums[i] * std::erfc(-sums[i] / std::sqrt(2.0)) / 2, 1e-14);
  }
  check_gradients("Tensor", "_addmm_activation", args, smooth);
}

TEST(NormExceptDim, OneNormPerIndex) {
  const Tensor x = float64({2, 2, 1}, {3, 4, 6, 8});
  EXPECT_THAT(forward("Torch", "norm_except_dim", {x}), ElementsAre(5, 10));
  EXPECT_THAT(forward("Torch", "norm_except_dim", {x, std::int64_t{1}, std::int64_t{1}}), ElementsAre(9, 12));
  EXPECT_NEAR(forward("Torch", "norm_except_dim", {x, std::int64_t{2}, std::int64_t{-1}})[0], std::sqrt(125.0), 1e-14);
  check_gradients("Torch", "norm_except_dim", {x, std::int64_t{2}, std::int64_t{1}});
  check_gradients("Torch", "norm_except_dim", {float64({2}, {3, -4})});
}

TEST(Matrices, DenseFormsOfSparseNames) {
  const Tensor a = float64({1, 2}, {1, 2});
  const Tensor b = float64({2, 1}, {3, 4});
  EXPECT_THAT(forward("Torch", "dsmm", {a, b}), ElementsAre(11));
  EXPECT_THAT(forward("Torch", "spmm", {a, b}), ElementsAre(11));
  EXPECT_THAT(forward("Torch", "saddmm", {float64({1, 1}, {1}), a, b}), ElementsAre(12));
  EXPECT_THROW(forward("Torch", "smm", {a, b}), SkipError);
  EXPECT_THAT(forward("Mint", "baddbmm_ex", {float64({1}, {1}), a.reshape(Dims{1, 1, 2}), b.reshape(Dims{1, 2, 1})}),
              ElementsAre(12));
}

TEST(Properties, OfDenseTensors) {
  const Tensor x = float64({2}, {1, 2});
  EXPECT_THAT(forward("Tensor", "numpy", {x}), ElementsAre(1, 2));
  Tape tape;
  std::vector<Var> leaves;
  EXPECT_EQ(call("Tensor", "dequantize", {x}, {}, tape, leaves).dtype(), DType::float32);
  EXPECT_EQ(call("Tensor", "_autocast_to_full_precision", {x.to(DType::float16), true, true}, {}, tape, leaves).dtype(),
            DType::float16);
  const Value promoted = find_operator("Torch", "promote_types")->call({DType::int32, DType::bfloat16}, {}, tape);
  EXPECT_EQ(*promoted.get<std::string>(), "torch.bfloat16");
}

TEST(Stft, FramesOfTheSignal) {
  // One frame of four: the sums with 1, i^-k, (-1)^k.
  const Tensor x = float64({4}, {1, 2, 3, 5});
  const Dict plain{{"center", false}, {"return_complex", false}};
  EXPECT_THAT(forward("Torch", "stft", {x, std::int64_t{4}}, plain),
              ElementsAre(DoubleNear(11, 1e-14), DoubleNear(0, 1e-14), DoubleNear(-2, 1e-14), DoubleNear(3, 1e-14),
                          DoubleNear(-3, 1e-14), DoubleNear(0, 1e-14)));
  // Reflected at both ends, a window in the middle: the first frame is 3 2 1 2, of which 2 1 remain.
  const Dict windowed{{"window", float64({2}, {1, 10})}, {"win_length", std::int64_t{2}}, {"normalized", true}};
  const std::vector<double> y = forward("Torch", "stft", {x, std::int64_t{4}, std::int64_t{2}}, windowed);
  ASSERT_EQ(y.size(), 3U * 3 * 2);
  EXPECT_NEAR(y[0], (2 + 10) / 2.0, 1e-14);
  const Tensor batch = uniform({2, 9}, -1, 1, 1);
  const Dict gradient{{"window", uniform({4}, 0.5, 1, 2)}, {"onesided", false}};
  check_gradients("Tensor", "stft", {batch, std::int64_t{4}}, gradient);
  for (const char* mode : {"constant", "replicate", "circular"}) {
    Dict padded = gradient;
    padded.emplace_back("pad_mode", std::string(mode));
    check_gradients("Torch", "stft", {batch, std::int64_t{4}}, padded);
  }
  EXPECT_THROW(forward("Torch", "stft", {x, std::int64_t{40}}), SkipError);
  EXPECT_THROW(forward("Torch", "stft", {x, std::int64_t{4}}, {{"hop_length", std::int64_t{0}}}), SkipError);
  EXPECT_THROW(forward("Torch", "stft", {x, std::int64_t{4}}, {{"window", x.slice(0, 0, 3)}}), SkipError);
}

// Spellings that torch accepts beside the usual one.
TEST(Spellings, KeywordsAndPositions) {
  const Tensor x = float64({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(forward("Torch", "add", {x, 1.0, 2.0}), ElementsAre(3, 4, 5, 6));
  EXPECT_THAT(forward("Tensor", "sub", {x, 1.0, 2.0}), ElementsAre(-1, 0, 1, 2));
  EXPECT_THAT(forward("Torch", "saddmm", {x, x, x, 0.0, 2.0}), ElementsAre(14, 20, 30, 44));
  EXPECT_THAT(forward("Torch", "hsplit", {x}, {{"sections", std::int64_t{2}}}, 1), ElementsAre(2, 4));
  EXPECT_THAT(forward("Torch", "vsplit", {x}, {{"indices", List{std::int64_t{1}}}}, 1), ElementsAre(3, 4));
  EXPECT_THAT(forward("Torch", "tensor_split", {x}, {{"tensor_indices_or_sections", int64({}, {2})}}),
              ElementsAre(1, 2));
  EXPECT_THAT(forward("Torch", "isin", {}, {{"element", 2.0}, {"test_elements", x}}), ElementsAre(1));
  EXPECT_THAT(forward("Functional", "one_hot", {}, {{"tensor", int64({1}, {1})}}), ElementsAre(0, 1));
}

}  // namespace
}  // namespace msrun
