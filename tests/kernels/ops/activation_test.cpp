// Activation functions: gradients away from their corners, values and gradients at them.
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
using ::testing::IsNan;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Activation, Gradients) {
  const Tensor x = float64({2, 4}, {-4.1, -2.3, -0.7, -0.2, 0.3, 0.9, 2.4, 6.5});
  for (const char* api :
       {"sigmoid",    "tanh",       "relu",       "relu6",      "hardtanh", "leaky_relu", "elu",       "celu",
        "selu",       "gelu",       "silu",       "mish",       "softplus", "softsign",   "hardswish", "hardsigmoid",
        "hardshrink", "softshrink", "tanhshrink", "logsigmoid", "glu",      "rrelu"}) {
    check_gradients("Functional", api, {x});
  }
  check_gradients("Functional", "gelu", {x}, {{"approximate", std::string("tanh")}});
  check_gradients("Functional", "softplus", {x, 2.0, 5.0});
  check_gradients("Functional", "celu", {x, 0.7});
  check_gradients("Functional", "elu", {x, 0.7});
  check_gradients("Functional", "threshold", {x, 0.1, -1.0});
  check_gradients("Functional", "glu", {x, std::int64_t{0}});
  check_gradients("Functional", "prelu", {x, float64({1}, {0.3})});
  check_gradients("Functional", "prelu", {x, float64({4}, {0.3, 0.2, -0.1, 0.5})});
  check_gradients("Functional", "prelu", {uniform({2, 3, 4}, -2, 2, 9), float64({3}, {0.3, 0.2, -0.1})});
}

TEST(Activation, WorkedValues) {
  EXPECT_THAT(forward("Functional", "gelu", {float64({1}, {1})}), ElementsAre(DoubleNear(0.841344746068543, 1e-15)));
  EXPECT_THAT(forward("Functional", "gelu", {float64({1}, {1})}, {{"approximate", std::string("tanh")}}),
              ElementsAre(DoubleNear(0.8411919906082768, 1e-15)));
  EXPECT_THAT(forward("Functional", "softplus", {float64({3}, {20, 20.1, -1})}),
              ElementsAre(DoubleNear(20.000000002061153, 1e-14), 20.1, DoubleNear(0.31326168751822286, 1e-16)));
  EXPECT_THAT(gradients("Functional", "softplus", {float64({2}, {20, 21})})[0],
              ElementsAre(DoubleNear(0.9999999979388464, 1e-15), 1));
}

TEST(Activation, CornersOfTheGradients) {
  EXPECT_THAT(gradients("Functional", "relu", {float64({3}, {-1, 0, 1})})[0], ElementsAre(0, 0, 1));
  EXPECT_THAT(gradients("Functional", "relu6", {float64({3}, {0, 3, 6})})[0], ElementsAre(0, 1, 0));
  EXPECT_THAT(gradients("Functional", "hardtanh", {float64({3}, {-1, 0, 1})})[0], ElementsAre(0, 1, 0));
  // Bounds the wrong way round: the upper one wins, and nothing depends on the input.
  const List crossed{float64({3}, {-1, 0, 1}), 0.5, -0.5};
  EXPECT_THAT(forward("Functional", "hardtanh", crossed), ElementsAre(-0.5, -0.5, -0.5));
  EXPECT_THAT(gradients("Functional", "hardtanh", crossed)[0], ElementsAre(0, 0, 0));
  EXPECT_THAT(gradients("Functional", "hardswish", {float64({4}, {-3.5, -3, 3, 4})})[0],
              ElementsAre(0, DoubleNear(-0.5, 1e-15), DoubleNear(1.5, 1e-15), 1));
  EXPECT_THAT(gradients("Functional", "hardsigmoid", {float64({3}, {-3, 0, 3})})[0], ElementsAre(0, 1.0 / 6, 0));
  EXPECT_THAT(gradients("Functional", "leaky_relu", {float64({1}, {0})})[0], ElementsAre(0.01));
  EXPECT_THAT(forward("Functional", "hardshrink", {float64({4}, {-0.5, 0.5, 0.6, -0.6})}),
              ElementsAre(0, 0, 0.6, -0.6));
  EXPECT_THAT(forward("Functional", "relu", {float64({1}, {nan})}), ElementsAre(IsNan()));
}

TEST(Activation, ExtremeInputsStayFinite) {
  const Tensor x = float64({2}, {-1000, 1000});
  EXPECT_THAT(forward("Torch", "sigmoid", {x}), ElementsAre(0, 1));
  EXPECT_THAT(forward("Functional", "silu", {x}), ElementsAre(0, 1000));
  EXPECT_THAT(forward("Functional", "logsigmoid", {x}), ElementsAre(-1000, 0));
  EXPECT_THAT(forward("Functional", "mish", {x}), ElementsAre(0, 1000));
  EXPECT_THAT(gradients("Functional", "elu", {x})[0], ElementsAre(0, 1));
  EXPECT_THAT(gradients("Functional", "gelu", {x})[0], ElementsAre(0, 1));
}

TEST(Activation, BadArguments) {
  EXPECT_THROW(forward("Functional", "gelu", {float64({1}, {1})}, {{"approximate", std::string("x")}}), SkipError);
  EXPECT_THROW(forward("Functional", "glu", {float64({3}, {1, 2, 3})}), SkipError);
  EXPECT_THROW(forward("Functional", "glu", {float64({}, {1})}), SkipError);
  EXPECT_THROW(forward("Functional", "prelu", {float64({2, 3}, {1, 2, 3, 4, 5, 6}), float64({2}, {1, 2})}), SkipError);
  EXPECT_THROW(forward("Functional", "rrelu", {float64({1}, {1})}, {{"training", true}}), SkipError);
}

}  // namespace
}  // namespace msrun::testing
