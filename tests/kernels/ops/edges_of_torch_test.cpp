// What torch gives at NaN, at infinity, for tensors without dimensions and for integers. The expected numbers are those
// of torch 1.13 on the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/gradient_check.h"

namespace msrun::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsNan;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Value i(std::int64_t value) { return value; }

std::vector<double> gradient(const char* type, const char* api, const List& args, const Dict& kwargs = {}) {
  return gradients(type, api, args, kwargs)[0];
}

TEST(AtNan, ActivationsPassTheGradientOnOrNot) {
  const Tensor x = float64({3}, {nan, 1, -1});
  EXPECT_THAT(gradient("Functional", "relu", {x}), ElementsAre(1, 1, 0));
  EXPECT_THAT(gradient("Torch", "relu", {x}), ElementsAre(1, 1, 0));
  EXPECT_THAT(gradient("Torch", "abs", {x}), ElementsAre(0, 1, -1));
  const Tensor small = float64({3}, {nan, 1, 0.2});
  EXPECT_THAT(forward("Functional", "softshrink", {small}), ElementsAre(0, 0.5, 0));
  EXPECT_THAT(forward("Functional", "hardshrink", {small}), ElementsAre(IsNan(), 1, 0));
}

// What masks Stirling's formula for small targets does not reach its slope.
TEST(AtZero, TheSlopeOfStirlingsFormulaIsNan) {
  const List args{float64({4}, {1, 1, 1, 1}), float64({4}, {-1, 0, 0.5, 1})};
  EXPECT_THAT(
      gradients("Functional", "poisson_nll_loss", args, {{"full", true}, {"reduction", std::string("none")}})[1],
      ElementsAre(IsNan(), IsNan(), -1, -1));
  EXPECT_THAT(gradients("Functional", "poisson_nll_loss", args, {{"reduction", std::string("none")}})[1],
              ElementsAre(-1, -1, -1, -1));
}

TEST(AtNan, HeavisideIsZero) {
  EXPECT_THAT(forward("Torch", "heaviside", {float64({3}, {nan, nan, 1}), float64({3}, {0.5, 2, 2})}),
              ElementsAre(0, 0, 1));
}

TEST(AtNan, ExtremaHaveNoGradientOrThatOfTheirIndex) {
  const Tensor rows = float64({2, 2}, {1, nan, 2, 1});
  EXPECT_THAT(gradient("Torch", "amax", {rows, i(1)}), ElementsAre(IsNan(), IsNan(), 1, 0));
  EXPECT_THAT(gradient("Torch", "amin", {rows, i(1)}), ElementsAre(IsNan(), IsNan(), 0, 1));
  EXPECT_THAT(gradient("Torch", "max", {rows, i(1)}), ElementsAre(0, 1, 1, 0));
  const Tensor all = float64({3}, {nan, 1, nan});
  EXPECT_THAT(gradient("Torch", "amax", {all}), Each(IsNan()));
  EXPECT_THAT(gradient("Torch", "max", {all}), ElementsAre(0.5, 0, 0.5));
}

TEST(AtNan, MeansOfNothingAreNan) {
  const Tensor rows = float64({2, 2}, {nan, nan, 1, nan});
  EXPECT_THAT(forward("Torch", "nanmean", {rows, i(1)}), ElementsAre(IsNan(), 1));
  EXPECT_THAT(gradient("Torch", "nanmean", {rows, i(1)}), ElementsAre(IsNan(), IsNan(), 1, 0));
  EXPECT_THAT(gradient("Torch", "nansum", {rows, i(1)}), ElementsAre(0, 0, 1, 0));
}

TEST(AtInfinity, LogSumExpOfNothingIsMinusInfinityWithoutAGradient) {
  const Tensor rows = float64({2, 2}, {-inf, -inf, 1, 1});
  EXPECT_THAT(forward("Torch", "logsumexp", {rows, i(1)}), ElementsAre(-inf, DoubleNear(1.6931471805599454, 1e-15)));
  EXPECT_THAT(gradient("Torch", "logsumexp", {rows, i(1)}),
              ElementsAre(IsNan(), IsNan(), DoubleNear(0.5, 1e-15), DoubleNear(0.5, 1e-15)));
}

TEST(AtInfinity, SignsThatAreCopiedHaveNoGradient) {
  const Tensor magnitudes = float64({5}, {inf, -inf, 0, nan, 2});
  const Tensor signs = float64({5}, {1, 1, 1, 1, -1});
  EXPECT_THAT(forward("Torch", "copysign", {magnitudes, signs}), ElementsAre(inf, inf, 0, IsNan(), -2));
  EXPECT_THAT(gradient("Torch", "copysign", {magnitudes, signs}), ElementsAre(IsNan(), IsNan(), 0, IsNan(), -1));
}

TEST(AtInfinity, ProductsAreDividedByTheirElements) {
  const Tensor x = float64({3}, {inf, 2, 3});
  EXPECT_THAT(forward("Torch", "prod", {x}), ElementsAre(inf));
  EXPECT_THAT(gradient("Torch", "prod", {x}), ElementsAre(IsNan(), inf, inf));
  EXPECT_THAT(gradient("Torch", "prod", {float64({3}, {inf, 2, 0})}), ElementsAre(0, IsNan(), inf));
  EXPECT_THAT(gradient("Torch", "cumprod", {x, i(0)}), ElementsAre(IsNan(), inf, inf));
}

TEST(AtNan, ProductsAreDividedByTheirElements) {
  EXPECT_THAT(gradient("Torch", "prod", {float64({2}, {nan, 2})}), Each(IsNan()));
  EXPECT_THAT(gradient("Torch", "prod", {float64({3}, {nan, 0, 2})}), ElementsAre(0, IsNan(), IsNan()));
}

// Before the first zero it is the sum of what follows over the element, behind it nothing flows back.
TEST(AtInfinity, RunningProductsWithAZero) {
  const auto gradient_at = [](const std::vector<double>& x) {
    return gradient("Torch", "cumprod", {float64({3}, x), i(0)});
  };
  EXPECT_THAT(gradient_at({inf, 2, 0}), ElementsAre(IsNan(), inf, inf));
  EXPECT_THAT(gradient_at({2, inf, 0}), ElementsAre(inf, IsNan(), inf));
  EXPECT_THAT(gradient_at({0, inf, 2}), ElementsAre(inf, 0, 0));
  EXPECT_THAT(gradient_at({0, 2, inf}), ElementsAre(inf, 0, 0));
  EXPECT_THAT(gradient_at({0, nan, 2}), ElementsAre(IsNan(), 0, 0));
  EXPECT_THAT(gradient_at({0, inf, 0}), ElementsAre(IsNan(), 0, 0));
  EXPECT_THAT(gradient_at({nan, 0, 2}), ElementsAre(IsNan(), IsNan(), 0));
}

// The powers of integers are integers, and their average is cut towards zero before the root is taken.
TEST(PowerMeans, OfInt64AreOfCutAverages) {
  const Tensor x = Tensor::from<std::int64_t>(DType::int64, Dims{1, 6}, std::vector<std::int64_t>{1, 2, 3, 4, -5, 6});
  EXPECT_THAT(forward("Functional", "lp_pool1d", {x, i(1), i(2)}), ElementsAre(2, 6, 0));
  // (1 + 4) / 2 is 2, and the root of twice that 2.
  EXPECT_THAT(forward("Functional", "lp_pool1d", {x, i(2), i(2)}),
              ElementsAre(2, DoubleNear(std::sqrt(24), 1e-6), DoubleNear(std::sqrt(60), 1e-6)));
}

TEST(PowerMeans, OfWindowsWithoutANumberHaveNoGradient) {
  const Tensor x = float64({1, 4}, {nan, 1, 2, 3});
  EXPECT_THAT(forward("Functional", "lp_pool1d", {x, 1.0, i(2)}), ElementsAre(IsNan(), 5));
  EXPECT_THAT(gradient("Functional", "lp_pool1d", {x, 1.0, i(2)}), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(forward("Functional", "lp_pool1d", {float64({1, 2}, {-inf, -inf}), 0.5, i(2)}), ElementsAre(IsNan()));
}

// Without eps a row of zeros is divided by 0.
TEST(WithoutEps, RowsOfZerosAreNoNumbers) {
  const Tensor x = float64({2, 2}, {0, 0, 3, 4});
  const Dict none{{"eps", 0.0}, {"dim", i(1)}};
  EXPECT_THAT(forward("Functional", "normalize", {x}, none), ElementsAre(IsNan(), IsNan(), 0.6, 0.8));
  const auto slopes = gradient("Functional", "normalize", {x}, none);
  EXPECT_THAT((std::vector<double>{slopes[0], slopes[1]}), Each(IsNan()));
  const Dict half_norm{{"p", 0.5}, {"eps", 0.0}, {"dim", i(1)}};
  const auto of_half_norm = gradient("Functional", "normalize", {x}, half_norm);
  EXPECT_THAT((std::vector<double>{of_half_norm[0], of_half_norm[1]}), Each(IsNan()));
  const Tensor y = float64({2, 2}, {1, 2, 3, 4});
  EXPECT_THAT(forward("Functional", "cosine_similarity", {x, y}, none), ElementsAre(IsNan(), DoubleNear(1, 1e-15)));
  const auto of_similarity = gradient("Functional", "cosine_similarity", {x, y}, none);
  EXPECT_THAT((std::vector<double>{of_similarity[0], of_similarity[1]}), Each(IsNan()));
}

// A variance of 0 without eps: in training torch has a reciprocal root of 0, in evaluation an infinite one.
TEST(WithoutEps, FlatRowsOfBatchNormAreZeros) {
  const Tensor x = float64({2, 2, 1}, {2, 1, 2, 5});
  const Tensor zeros = float64({2}, {0, 0});
  const Tensor ones = float64({2}, {1, 1});
  const Dict training{{"training", true}, {"eps", 0.0}};
  EXPECT_THAT(forward("Functional", "batch_norm", {x, zeros, ones}, training), ElementsAre(0, -1, 0, 1));
  const auto slopes = gradient("Functional", "batch_norm", {x, zeros, ones}, training);
  EXPECT_THAT((std::vector<double>{slopes[0], slopes[2]}), Each(0));
  EXPECT_THAT(forward("Functional", "instance_norm", {float64({1, 2, 2}, {2, 2, 1, 5})}, {{"eps", 0.0}}),
              ElementsAre(0, 0, -1, 1));
  const Dict evaluation{{"training", false}, {"eps", 0.0}};
  EXPECT_THAT(forward("Functional", "batch_norm", {x, zeros, zeros}, evaluation), Each(inf));
}

TEST(AtZero, ReciprocalRootsAreNegativeInfinityAtNegativeZero) {
  const Tensor x = float64({3}, {-0.0, 0.0, 4});
  EXPECT_THAT(forward("Torch", "pow", {x, -0.5}), ElementsAre(-inf, inf, 0.5));
  EXPECT_THAT(gradient("Torch", "pow", {x, -0.5}), ElementsAre(-inf, -inf, -0.0625));
}

// Frameworks take roots for the powers 1/2 and -1/2, also where a gradient has them.
TEST(AtInfinity, RootsOfMinusInfinityAreNoNumbers) {
  const Tensor x = float64({2}, {-inf, inf});
  EXPECT_THAT(forward("Torch", "pow", {x, 0.5}), ElementsAre(IsNan(), inf));
  EXPECT_THAT(forward("Torch", "pow", {x, -0.5}), ElementsAre(IsNan(), 0));
  EXPECT_THAT(forward("Torch", "pow", {x, 1.5}), ElementsAre(inf, inf));
  EXPECT_THAT(gradient("Torch", "pow", {x, 1.5}), ElementsAre(IsNan(), inf));
}

TEST(AtNan, ClampedLogitsHaveNoSlope) {
  EXPECT_THAT(gradient("Torch", "logit", {float64({2}, {nan, 0.5})}, {{"eps", 0.1}}), ElementsAre(0, 4));
}

// The only bound, a number that is none, bounds nothing.
TEST(AtNan, ClampByANumberThatIsNone) {
  const Tensor x = float64({2}, {-1, 2});
  EXPECT_THAT(forward("Torch", "clamp", {x}, {{"max", nan}}), ElementsAre(-1, 2));
  EXPECT_THAT(gradient("Torch", "clamp", {x}, {{"max", nan}}), Each(0));
  EXPECT_THAT(forward("Torch", "clamp", {x}, {{"min", nan}}), ElementsAre(-1, 2));
  EXPECT_THAT(forward("Torch", "clamp", {x}, {{"min", nan}, {"max", 1.0}}), Each(IsNan()));
  EXPECT_THAT(forward("Torch", "clamp", {x}, {{"max", float64({2}, {nan, nan})}}), Each(IsNan()));
}

TEST(AtNan, NoSlopeOfZeroTimesALogarithm) {
  const Tensor x = float64({2}, {0, 1});
  EXPECT_THAT(gradient("Torch", "xlogy", {x, nan}), ElementsAre(0, IsNan()));
  EXPECT_THAT(gradient("Torch", "xlogy", {x, float64({2}, {nan, nan})}), Each(IsNan()));
}

// 0 times the other argument, which releases before 1.13 leave out.
TEST(AtInfinity, TargetsOfZeroMeetTheInfiniteInputOfADivergence) {
  const Dict none{{"reduction", std::string("none")}};
  EXPECT_THAT(forward("Functional", "kl_div", {float64({2}, {-inf, -1}), float64({2}, {0, 0})}, none),
              ElementsAre(IsNan(), 0));
}

// The loss of the targets is divided by the weights of these, and so is that of all classes.
TEST(AtZero, SmoothedMeansOverWeightsOfZeroAreNoNumbers) {
  const Tensor x = float64({1, 2}, {0.5, 1});
  const Tensor target = Tensor::from<std::int64_t>(DType::int64, Dims{1}, std::vector<std::int64_t>{0});
  const Dict options{{"weight", float64({2}, {0, 1})}, {"label_smoothing", 0.2}};
  EXPECT_THAT(forward("Functional", "cross_entropy", {x, target}, options), Each(IsNan()));
  EXPECT_THAT(gradient("Functional", "cross_entropy", {x, target}, options), Each(IsNan()));
}

// Left of 0 the pole is as near as on its right.
TEST(Digamma, SmallNegativeNumbers) {
  const std::vector<double> x{-1e-300, -1e-20, -1e-16, -1e-8, -1e-4, -0.25};
  const std::vector<double> right{1e300, 1e20, 1e16, 99999999.42278431, 9999.42261982967, 2.914139120213528};
  const Tensor tensor = float64({6}, x);
  const std::vector<double> values = forward("Torch", "digamma", {tensor});
  const std::vector<double> slopes = gradient("Torch", "lgamma", {tensor});
  for (std::size_t k = 0; k < x.size(); ++k) {
    EXPECT_NEAR(values[k] / right[k], 1, 1e-12) << x[k];
    EXPECT_NEAR(slopes[k] / right[k], 1, 1e-12) << x[k];
  }
}

// The sine of a multiple of pi that is rounded is not 0.
TEST(Digamma, SlopesAtPoles) {
  const std::vector<double> x{-1, -2, 0, -0.0};
  const std::vector<double> in_float32 = forward("Torch", "polygamma", {i(1), float64({4}, x).to(DType::float32)});
  EXPECT_NEAR(in_float32[0], 1.2914e15, 1e11);
  EXPECT_NEAR(in_float32[1], 3.2284e14, 1e10);
  EXPECT_EQ(in_float32[2], inf);
  EXPECT_EQ(in_float32[3], inf);
  EXPECT_NEAR(gradient("Torch", "digamma", {float64({4}, x)})[0] / 6.5807e32, 1, 1e-4);
}

// A gradient of 0 stays 0 where the logarithm it is multiplied with is infinite, but not where there is none.
TEST(AtInfinity, LogarithmsTimesNothing) {
  const auto slope = [](const char* type, const char* api, const std::vector<double>& x, const std::vector<double>& y,
                        double upstream) {
    const Tensor g = Tensor::full(DType::float64, Dims{5}, upstream);
    return gradients(type, api, {float64({5}, x), float64({5}, y)}, {}, g)[0];
  };
  const std::vector<double> x{0, 0, 2, 0, nan};
  EXPECT_THAT(slope("Torch", "xlogy", x, {0, -1, 0, 2, 1}, 0), Each(0));
  EXPECT_THAT(slope("Torch", "xlogy", x, {0, -1, 0, 2, 1}, 1),
              ElementsAre(0, 0, -inf, DoubleNear(0.6931471805599453, 1e-15), 0));
  EXPECT_THAT(slope("Torch", "xlogy", x, {nan, inf, -1, inf, 1}, 0), ElementsAre(IsNan(), 0, 0, 0, 0));
  EXPECT_THAT(slope("Aten", "special_xlog1py", {0, 0, 2, 2, nan}, {-1, -2, -1, inf, nan}, 0),
              ElementsAre(0, 0, 0, 0, IsNan()));
  EXPECT_THAT(slope("Aten", "special_xlog1py", {0, 0, 2, 2, nan}, {-1, -2, -1, inf, 0}, 1),
              ElementsAre(0, 0, -inf, inf, 0));
}

TEST(AtZero, TheTargetOfADivergenceHasNoSlope) {
  const List args{float64({2}, {-1, -2}), float64({2}, {0, 0.5})};
  EXPECT_THAT(gradients("Functional", "kl_div", args, {{"reduction", std::string("none")}})[1],
              ElementsAre(IsNan(), DoubleNear(2.3068528194400546, 1e-14)));
}

TEST(AtNan, ANegativeDeterminantHasNoLogarithmAndNoGradient) {
  const Tensor matrices = float64({2, 2, 2}, {1, 2, 3, 4, 2, 1, 1, 4});
  EXPECT_THAT(forward("Torch", "logdet", {matrices}), ElementsAre(IsNan(), DoubleNear(1.9459101490553132, 1e-14)));
  const auto near = [](double number) { return DoubleNear(number, 1e-14); };
  EXPECT_THAT(gradient("Torch", "logdet", {matrices}),
              ElementsAre(0, 0, 0, 0, near(4.0 / 7), near(-1.0 / 7), near(-1.0 / 7), near(2.0 / 7)));
}

// The losses are sums of two terms, t ln p and (1 - t) ln(1 - p).
TEST(AtInfinity, LogitsOfSeveralLabels) {
  const auto loss = [](double logit, double target) {
    return forward("Functional", "multilabel_soft_margin_loss",
                   {float64({1, 1}, {logit}), float64({1, 1}, {target})})[0];
  };
  EXPECT_THAT(loss(-inf, 0), IsNan());
  EXPECT_EQ(loss(-inf, 0.5), inf);
  EXPECT_EQ(loss(-inf, 1), inf);
  EXPECT_EQ(loss(inf, 0), inf);
  EXPECT_EQ(loss(inf, 0.5), inf);
  EXPECT_THAT(loss(inf, 1), IsNan());
  EXPECT_THAT(gradients("Functional", "multilabel_soft_margin_loss",
                        {float64({1, 3}, {-inf, -inf, inf}), float64({1, 3}, {0.5, 1, 0})})[0],
              ElementsAre(DoubleNear(-0.5 / 3, 1e-15), DoubleNear(-1.0 / 3, 1e-15), DoubleNear(1.0 / 3, 1e-15)));
  // Of one label there is another formula.
  EXPECT_THAT(forward("Functional", "binary_cross_entropy_with_logits", {float64({1}, {-inf}), float64({1}, {1})}),
              ElementsAre(IsNan()));
}

// A product with alpha 0 is left to BLAS, which does not read its factors; that of a batch and of vectors is not.
TEST(AtNan, ProductsTimesNothing) {
  const Dict nothing{{"alpha", i(0)}};
  const Tensor c = float64({1, 1}, {3});
  const Tensor no_matrix = float64({1, 1}, {nan});
  const Tensor no_batch = float64({1, 1, 1}, {nan});
  const Tensor no_vector = float64({1}, {nan});
  EXPECT_THAT(forward("Torch", "addmm", {c, no_matrix, no_matrix}, nothing), ElementsAre(3));
  EXPECT_THAT(forward("Torch", "addmv", {float64({1}, {3}), no_matrix, no_vector}, nothing), ElementsAre(3));
  EXPECT_THAT(forward("Torch", "addbmm", {c, no_batch, no_batch}, nothing), ElementsAre(3));
  EXPECT_THAT(forward("Torch", "baddbmm", {float64({1, 1, 1}, {3}), no_batch, no_batch}, nothing),
              ElementsAre(IsNan()));
  EXPECT_THAT(forward("Torch", "addr", {c, no_vector, no_vector}, nothing), ElementsAre(IsNan()));
}

// torch 1 and 2.0 added an axis on the CPU.
TEST(WithoutDimensions, AminmaxKeepsNone) {
  const Tensor x = float64({}, {3});
  for (const std::size_t output : {std::size_t{0}, std::size_t{1}}) {
    EXPECT_EQ(result_of("Torch", "aminmax", {x}, {{"dim", i(0)}, {"keepdim", true}}, output).shape(), Dims{});
    EXPECT_EQ(result_of("Torch", "aminmax", {x}, {{"dim", i(0)}}, output).shape(), Dims{});
    EXPECT_EQ(result_of("Torch", "max", {x}, {{"dim", i(0)}, {"keepdim", true}}, output).shape(), Dims{});
  }
}

TEST(OfIntegers, LpPoolIsFloat32) {
  const Tensor y = result_of("Functional", "lp_pool1d", {int64({1, 1, 4}, {4, 4, 6, 8}), i(2), i(2)});
  EXPECT_EQ(y.dtype(), DType::float32);
  EXPECT_THAT(values(y), ElementsAre(DoubleNear(5.656854249492381, 1e-6), DoubleNear(10, 1e-6)));
}

}  // namespace
}  // namespace msrun::testing
