// Transcendental and rounding functions: gradients of all, values where they are delicate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::IsNan;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

struct Function {
  const char* api;
  double low;
  double high;
};

TEST(ElementwiseMath, Gradients) {
  const Function functions[] = {
      {"sin", -2, 2},       {"cos", -2, 2},        {"tan", -1, 1},     {"asin", -0.9, 0.9},     {"acos", -0.9, 0.9},
      {"atan", -2, 2},      {"sinh", -2, 2},       {"cosh", -2, 2},    {"asinh", -2, 2},        {"acosh", 1.2, 3},
      {"atanh", -0.9, 0.9}, {"exp2", -2, 2},       {"expm1", -2, 2},   {"log2", 0.5, 3},        {"log10", 0.5, 3},
      {"log1p", -0.5, 3},   {"erf", -2, 2},        {"erfc", -2, 2},    {"erfinv", -0.95, 0.95}, {"lgamma", 0.3, 12},
      {"digamma", 0.5, 12}, {"sinc", 0.2, 2},      {"frac", 1.1, 1.9}, {"deg2rad", -90, 90},    {"rad2deg", -2, 2},
      {"logit", 0.1, 0.9},  {"nan_to_num", -2, 2},
  };
  for (const Function& function : functions) {
    check_gradients("Torch", function.api, {uniform({3, 4}, function.low, function.high, 5)}, {}, 0, 1e-5);
  }
  check_gradients("Torch", "lgamma", {float64({2}, {-0.5, -2.3})}, {}, 0, 1e-5);
  check_gradients("Torch", "digamma", {float64({2}, {-0.5, -2.3})}, {}, 0, 1e-5);
}

TEST(ElementwiseMath, SpecialFunctions) {
  EXPECT_THAT(forward("Torch", "erfinv", {float64({6}, {0.5, -0.999999, 1, -1, 1.5, 1e-12})}),
              ElementsAre(DoubleNear(0.47693627620446987, 1e-15), DoubleNear(-3.458910737275499, 1e-14), inf, -inf,
                          IsNan(), DoubleNear(8.862269254527581e-13, 1e-25)));
  EXPECT_THAT(forward("Torch", "digamma", {float64({4}, {1, 0.5, -1, 100})}),
              ElementsAre(DoubleNear(-std::numbers::egamma, 1e-14), DoubleNear(-1.9635100260214235, 1e-14), IsNan(),
                          DoubleNear(4.600161852738087, 1e-13)));
  EXPECT_THAT(forward("Torch", "lgamma", {float64({2}, {5, 0.5})}),
              ElementsAre(DoubleNear(std::log(24.0), 1e-14), DoubleNear(0.5723649429247001, 1e-14)));
  EXPECT_THAT(forward("Torch", "sinc", {float64({2}, {0, 0.5})}),
              ElementsAre(1, DoubleNear(0.6366197723675814, 1e-15)));
}

TEST(ElementwiseMath, RoundingKeepsIntegersAndHasZeroGradient) {
  EXPECT_THAT(forward("Torch", "round", {float64({4}, {0.5, 1.5, 2.5, -0.5})}), ElementsAre(0, 2, 2, 0));
  EXPECT_TRUE(std::signbit(forward("Torch", "round", {float64({1}, {-0.5})})[0]));
  EXPECT_THAT(forward("Torch", "round", {float64({2}, {1.2345, -1.2355})}, {{"decimals", std::int64_t{2}}}),
              ElementsAre(1.23, -1.24));
  EXPECT_THAT(forward("Torch", "round", {float64({1}, {1250})}, {{"decimals", std::int64_t{-2}}}), ElementsAre(1200));
  for (const char* api : {"ceil", "floor", "round", "trunc", "sign", "sgn"}) {
    EXPECT_THAT(gradients("Torch", api, {float64({2}, {1.5, -0.25})})[0], ElementsAre(0, 0)) << api;
    Tape tape;
    std::vector<Var> leaves;
    EXPECT_EQ(call("Torch", api, {int64({1}, {3})}, {}, tape, leaves).dtype(), DType::int64) << api;
  }
  EXPECT_THAT(forward("Torch", "trunc", {float64({2}, {-1.7, 1.7})}), ElementsAre(-1, 1));
  EXPECT_THAT(forward("Torch", "sign", {float64({3}, {-3, 0, 2})}), ElementsAre(-1, 0, 1));
}

TEST(ElementwiseMath, LogitAndNanToNum) {
  EXPECT_THAT(forward("Torch", "logit", {float64({3}, {0.5, 0, 2})}), ElementsAre(0, -inf, IsNan()));
  EXPECT_THAT(gradients("Torch", "logit", {float64({3}, {0.05, 0.5, 0.95}), 0.1})[0], ElementsAre(0, 4, 0));
  // A negative eps is none.
  EXPECT_THAT(gradients("Torch", "logit", {float64({3}, {-0.5, 0.5, 1.5}), -1.0})[0], ElementsAre(IsNan(), 4, IsNan()));
  EXPECT_THAT(forward("Torch", "nan_to_num", {float64({3}, {nan, inf, -inf})}, {{"nan", 1.0}, {"posinf", 2.0}}),
              ElementsAre(1, 2, -std::numeric_limits<double>::max()));
  EXPECT_THAT(gradients("Torch", "nan_to_num", {float64({2}, {nan, 3})})[0], ElementsAre(0, 1));
}

TEST(ElementwiseMath, IntegersBecomeFloatsAndHalvesStay) {
  Tape tape;
  std::vector<Var> leaves;
  EXPECT_EQ(call("Torch", "sin", {int64({1}, {1})}, {}, tape, leaves).dtype(), DType::float32);
  const Tensor half = Tensor::full(DType::float16, Dims{2}, 0.5);
  const Var result = call("Torch", "exp2", {half}, {}, tape, leaves);
  EXPECT_EQ(result.dtype(), DType::float16);
  EXPECT_EQ(result.tensor().item(), Tensor::scalar(DType::float16, std::exp2(0.5)).item());
}

TEST(BinaryMath, Gradients) {
  const Tensor a = uniform({2, 3}, 0.5, 2, 1);
  const Tensor b = uniform({3}, 0.5, 2, 2);
  for (const char* api : {"atan2", "hypot", "xlogy", "logaddexp", "logaddexp2", "ldexp"})
    check_gradients("Torch", api, {a, b});
  check_gradients("Torch", "copysign", {a, float64({3}, {-1, 1, -2})});
}

TEST(BinaryMath, Edges) {
  EXPECT_THAT(forward("Torch", "xlogy", {float64({3}, {0, 0, 2}), float64({3}, {0, nan, 1})}),
              ElementsAre(0, IsNan(), 0));
  EXPECT_THAT(forward("Torch", "logaddexp", {float64({2}, {-inf, inf}), float64({2}, {-inf, inf})}),
              ElementsAre(-inf, inf));
  EXPECT_THAT(gradients("Torch", "atan2", {float64({1}, {0}), float64({1}, {0})})[0], ElementsAre(IsNan()));
  EXPECT_THAT(gradients("Torch", "atan2", {float64({1}, {0}), float64({1}, {2})})[0], ElementsAre(0.5));
  EXPECT_THAT(gradients("Torch", "copysign", {float64({2}, {0, 2}), -0.0})[0], ElementsAre(0, -1));
  EXPECT_THAT(forward("Torch", "heaviside", {float64({3}, {-1, 0, 1}), float64({1}, {0.5})}), ElementsAre(0, 0.5, 1));
  const std::int64_t smallest = std::numeric_limits<std::int64_t>::min();
  EXPECT_THAT(forward("Torch", "gcd", {int64({3}, {-12, 0, smallest}), int64({3}, {18, 0, 6})}), ElementsAre(6, 0, 2));
  EXPECT_THAT(forward("Torch", "lcm", {int64({2}, {4, 0}), int64({2}, {6, 5})}), ElementsAre(12, 0));
  EXPECT_THROW(forward("Torch", "gcd", {float64({1}, {1}), float64({1}, {1})}), SkipError);
}

}  // namespace
}  // namespace msrun::testing
