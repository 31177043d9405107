// Arithmetic, powers, extrema, clamp, where and casts: values at the edges, gradients, promotion.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun::testing {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::IsNan;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Arithmetic, DivisionRoundsAsAsked) {
  const Tensor a = float64({2}, {-7, 7});
  const Tensor b = float64({2}, {2, -2});
  EXPECT_THAT(forward("Torch", "div", {a, b}), ElementsAre(-3.5, -3.5));
  EXPECT_THAT(forward("Torch", "div", {a, b}, {{"rounding_mode", std::string("trunc")}}), ElementsAre(-3, -3));
  EXPECT_THAT(forward("Torch", "div", {a, b}, {{"rounding_mode", std::string("floor")}}), ElementsAre(-4, -4));
  EXPECT_THAT(gradients("Torch", "div", {a, b}, {{"rounding_mode", std::string("floor")}})[0], ElementsAre(0, 0));
  EXPECT_THROW(forward("Torch", "div", {a, b}, {{"rounding_mode", std::string("up")}}), SkipError);
  EXPECT_THAT(forward("Tensor", "__rdiv__", {float64({2}, {2, 4}), 1.0}), ElementsAre(0.5, 0.25));
}

TEST(Arithmetic, IntegerDivisionNeverTraps) {
  const std::int64_t smallest = std::numeric_limits<std::int64_t>::min();
  const Tensor x = int64({3}, {-7, 7, smallest});
  EXPECT_THAT(forward("Tensor", "__floordiv__", {x, std::int64_t{2}}),
              ElementsAre(-4, 3, static_cast<double>(smallest / 2)));
  EXPECT_EQ(forward("Tensor", "__floordiv__", {x, std::int64_t{-1}})[0], 7);
  EXPECT_EQ(forward("Tensor", "__mod__", {x, std::int64_t{-1}})[2], 0);
  for (const char* api : {"__floordiv__", "__mod__", "fmod"}) {
    EXPECT_THROW(forward("Tensor", api, {x, std::int64_t{0}}), SkipError) << api;
    EXPECT_THROW(forward("Tensor", api, {x, int64({3}, {1, 0, 2})}), SkipError) << api;
  }
  Tape tape;
  std::vector<Var> leaves;
  EXPECT_EQ(call("Torch", "div", {x, int64({3}, {2, 2, 2})}, {}, tape, leaves).dtype(), DType::float32);
  EXPECT_EQ(call("Torch", "floor_divide", {x, std::int64_t{2}}, {}, tape, leaves).dtype(), DType::int64);
}

TEST(Arithmetic, FloorDivideHasNoDerivative) {
  EXPECT_THROW(gradients("Torch", "floor_divide", {float64({1}, {7}), float64({1}, {2})}), SkipError);
}

TEST(Arithmetic, RemaindersTakeTheirSign) {
  const Tensor a = float64({2}, {-3, 3});
  const Tensor b = float64({2}, {2, -2});
  EXPECT_THAT(forward("Torch", "remainder", {a, b}), ElementsAre(1, -1));
  EXPECT_THAT(forward("Torch", "fmod", {a, b}), ElementsAre(-1, 1));
  EXPECT_THAT(forward("Torch", "remainder", {int64({2}, {-3, 3}), int64({2}, {2, -2})}), ElementsAre(1, -1));
  EXPECT_THAT(forward("Tensor", "__rmod__", {float64({1}, {3}), 7.0}), ElementsAre(1));
  check_gradients("Torch", "remainder", {float64({3}, {-3.3, 3.1, 5.2}), float64({3}, {2, -2, 1.5})});
  check_gradients("Torch", "fmod", {float64({3}, {-3.3, 3.1, 5.2}), float64({3}, {2, -2, 1.5})});
}

TEST(Arithmetic, IntegersWrap) {
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  Tape tape;
  std::vector<Var> leaves;
  const Var sum = call("Torch", "add", {int64({1}, {largest}), std::int64_t{1}}, {}, tape, leaves);
  EXPECT_EQ(sum.tensor().int_item(), std::numeric_limits<std::int64_t>::min());
  const Var product = call("Torch", "mul", {int64({1}, {largest}), std::int64_t{2}}, {}, tape, leaves);
  EXPECT_EQ(product.tensor().int_item(), -2);
  EXPECT_THROW(call("Torch", "add", {int64({1}, {1}), std::int64_t{1}}, {{"alpha", 0.5}}, tape, leaves), SkipError);
}

TEST(Arithmetic, Gradients) {
  const Tensor a = uniform({2, 3}, 0.5, 2, 1);
  const Tensor row = uniform({3}, 0.5, 2, 2);
  const Tensor c = uniform({2, 1}, 0.5, 2, 3);
  for (const char* api : {"add", "sub", "mul", "div"}) check_gradients("Torch", api, {a, row});
  check_gradients("Torch", "rsub", {a, row}, {{"alpha", 3.0}});
  check_gradients("Torch", "addcmul", {a, row, c}, {{"value", -2.5}});
  check_gradients("Torch", "addcdiv", {a, row, c}, {{"value", -2.5}});
  check_gradients("Torch", "lerp", {a, row, c});
  check_gradients("Torch", "lerp", {a, row, 0.3});
  for (const char* api : {"neg", "abs", "square", "sqrt", "rsqrt", "reciprocal", "exp", "log"}) {
    check_gradients("Torch", api, {a});
  }
  EXPECT_THAT(gradients("Torch", "sqrt", {float64({1}, {0})})[0], ElementsAre(inf));
  EXPECT_THAT(gradients("Torch", "rsqrt", {float64({1}, {0})})[0], ElementsAre(-inf));
  EXPECT_THAT(gradients("Torch", "abs", {float64({3}, {-2, 0, 2})})[0], ElementsAre(-1, 0, 1));
}

TEST(Arithmetic, LerpIsExactAtBothEnds) {
  const Tensor start = float64({1}, {1e17});
  const Tensor end = float64({1}, {1});
  EXPECT_THAT(forward("Torch", "lerp", {start, end, 0.0}), ElementsAre(1e17));
  EXPECT_THAT(forward("Torch", "lerp", {start, end, 1.0}), ElementsAre(1));
}

TEST(Arithmetic, HalfInputsRoundOnce) {
  // In float32 1 + 2^-9 * 3 is exact; bfloat16 has 8 bits and rounds to even.
  Tape tape;
  const Var one = tape.constant(Tensor::full(DType::bfloat16, Dims{1}, 1));
  const Var small = tape.constant(Tensor::full(DType::bfloat16, Dims{1}, 0x1p-9));
  const Value sum =
      find_operator("Torch", "addcmul")->call({one, small, Tensor::full(DType::bfloat16, Dims{1}, 3)}, {}, tape);
  EXPECT_EQ(sum.get<Var>()->dtype(), DType::bfloat16);
  EXPECT_EQ(sum.get<Var>()->tensor().item(), 1 + 0x1p-7);
}

TEST(Power, EdgesAndGradients) {
  EXPECT_THAT(forward("Torch", "pow", {float64({3}, {0, 2, 9}), float64({3}, {0, -1, 0.5})}), ElementsAre(1, 0.5, 3));
  const auto at_zero = gradients("Torch", "pow", {float64({3}, {0, 0, 2}), float64({3}, {0, 2, 0})});
  EXPECT_THAT(at_zero[0], ElementsAre(0, 0, 0));
  EXPECT_THAT(at_zero[1], ElementsAre(0, 0, DoubleEq(std::log(2.0))));
  EXPECT_THAT(gradients("Torch", "pow", {float64({2}, {0, 3}), 0.0})[0], ElementsAre(0, 0));
  EXPECT_THAT(gradients("Tensor", "__rpow__", {float64({2}, {0, 2}), 0.0})[0], ElementsAre(0, 0));
  check_gradients("Torch", "pow", {uniform({2, 3}, 0.5, 2, 1), uniform({3}, -2, 2, 2)});
  check_gradients("Tensor", "__rpow__", {uniform({4}, -1, 1, 3), 10000.0}, {}, 0, 1e-5);
  for (const double exponent : {-2.0, -0.5, 0.5, 1.0, 2.0, 3.0, 2.5}) {
    check_gradients("Torch", "pow", {uniform({4}, 0.5, 2, 4), exponent});
  }
  check_gradients("Torch", "float_power", {uniform({4}, 0.5, 2, 4), 1.5});
}

TEST(Power, Integers) {
  EXPECT_THAT(forward("Torch", "pow", {int64({3}, {-2, 3, 0}), std::int64_t{3}}), ElementsAre(-8, 27, 0));
  EXPECT_THAT(forward("Torch", "pow", {int64({3}, {1, -1, 3}), int64({3}, {-3, -3, -1})}), ElementsAre(1, -1, 0));
  EXPECT_THROW(forward("Torch", "pow", {int64({1}, {2}), std::int64_t{-1}}), SkipError);
  EXPECT_THAT(forward("Torch", "pow", {int64({2}, {4, 9}), 0.5}), ElementsAre(2, 3));
  Tape tape;
  std::vector<Var> leaves;
  EXPECT_EQ(call("Torch", "float_power", {int64({1}, {2}), std::int64_t{3}}, {}, tape, leaves).dtype(), DType::float64);
}

TEST(Extrema, TiesAndNan) {
  const Tensor a = float64({4}, {1, 2, 3, nan});
  const Tensor b = float64({4}, {2, 2, 1, 1});
  EXPECT_THAT(forward("Torch", "maximum", {a, b}), ElementsAre(2, 2, 3, IsNan()));
  EXPECT_THAT(forward("Torch", "minimum", {b, a}), ElementsAre(1, 2, 1, IsNan()));
  EXPECT_THAT(forward("Torch", "fmax", {a, b}), ElementsAre(2, 2, 3, 1));
  EXPECT_THAT(forward("Torch", "fmin", {b, a}), ElementsAre(1, 2, 1, 1));
  EXPECT_THAT(gradients("Torch", "maximum", {a, b})[0], ElementsAre(0, 0.5, 1, 1));
  EXPECT_THAT(gradients("Torch", "minimum", {a, b})[1], ElementsAre(0, 0.5, 1, 1));
  EXPECT_THAT(gradients("Torch", "fmax", {a, b})[0], ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(gradients("Torch", "fmin", {a, b})[1], ElementsAre(0, 0, 1, 1));
}

TEST(Clamp, BoundsAreInclusiveForTheGradient) {
  const Tensor x = float64({5}, {-2, -1, 0, 1, 2});
  EXPECT_THAT(forward("Torch", "clamp", {x, -1.0, 1.0}), ElementsAre(-1, -1, 0, 1, 1));
  EXPECT_THAT(gradients("Torch", "clamp", {x, -1.0, 1.0})[0], ElementsAre(0, 1, 1, 1, 0));
  EXPECT_THAT(forward("Torch", "clamp", {x, 2.0, 1.0}), ElementsAre(1, 1, 1, 1, 1));
  EXPECT_THAT(forward("Tensor", "clamp", {x}, {{"min", 0.0}}), ElementsAre(0, 0, 0, 1, 2));
  EXPECT_THAT(forward("Torch", "clamp_max", {x, 0.0}), ElementsAre(-2, -1, 0, 0, 0));
  EXPECT_THAT(forward("Torch", "clamp", {float64({1}, {nan}), 0.0, 1.0}), ElementsAre(IsNan()));
  EXPECT_THROW(forward("Torch", "clamp", {x}), SkipError);
  const auto of_bounds = gradients("Torch", "clamp", {x, float64({1}, {-1.5}), float64({1}, {0.5})});
  EXPECT_THAT(of_bounds[0], ElementsAre(0, 1, 1, 0, 0));
  EXPECT_THAT(of_bounds[1], ElementsAre(1));
  EXPECT_THAT(of_bounds[2], ElementsAre(2));
  Tape tape;
  std::vector<Var> leaves;
  const Var integers = call("Torch", "clamp", {int64({3}, {-5, 0, 5}), std::int64_t{-1}}, {}, tape, leaves);
  EXPECT_EQ(integers.dtype(), DType::int64);
  EXPECT_THAT(values(integers.tensor()), ElementsAre(-1, 0, 5));
}

TEST(Where, NothingLeaksFromTheOtherBranch) {
  const Tensor condition = Tensor::from<bool>(DType::boolean, Dims{2}, std::array{true, false});
  const Tensor x = float64({2}, {1, nan});
  const Tensor y = float64({2}, {inf, 4});
  EXPECT_THAT(forward("Torch", "where", {condition, x, y}), ElementsAre(1, 4));
  const auto both = gradients("Torch", "where", {condition, x, y}, {}, float64({2}, {nan, inf}));
  EXPECT_THAT(both[0], ElementsAre(IsNan(), 0));
  EXPECT_THAT(both[1], ElementsAre(0, inf));
  EXPECT_THAT(forward("Torch", "where", {condition, 1.0, y}), ElementsAre(1, 4));
  EXPECT_THAT(forward("Tensor", "where", {x, condition, y}), ElementsAre(1, 4));
  EXPECT_THAT(forward("Torch", "where", {float64({2, 2}, {0, 1, 1, 0})}, {}, 1), ElementsAre(1, 0));
}

TEST(Casts, GradientsComeBackInTheDtypeOfTheInput) {
  Tape tape;
  std::vector<Var> leaves;
  const Var half = call("Tensor", "half", {float64({2}, {1.0001, -2})}, {}, tape, leaves);
  EXPECT_EQ(half.dtype(), DType::float16);
  tape.backward(half, Tensor::full(DType::float16, Dims{2}, 3));
  EXPECT_EQ(tape.gradient(leaves[0]).dtype(), DType::float64);
  EXPECT_THAT(values(tape.gradient(leaves[0])), ElementsAre(3, 3));
  EXPECT_THAT(forward("Tensor", "int", {float64({2}, {-1.7, 1.7})}), ElementsAre(-1, 1));
  EXPECT_THAT(forward("Tensor", "bool", {float64({2}, {0, 0.1})}), ElementsAre(0, 1));
  EXPECT_EQ(call("Tensor", "to", {float64({1}, {1}), DeviceName{"cpu"}, DType::bfloat16}, {}, tape, leaves).dtype(),
            DType::bfloat16);
  EXPECT_EQ(call("Tensor", "to", {float64({1}, {1})}, {{"dtype", DType::int8}}, tape, leaves).dtype(), DType::int8);
  EXPECT_EQ(call("Tensor", "type_as", {float64({1}, {1}), int64({1}, {1})}, {}, tape, leaves).dtype(), DType::int64);
}

TEST(Arithmetic, ViewsEmptyAndScalars) {
  Tape tape;
  const Tensor x = float64({2, 3}, {1, 2, 3, 4, 5, 6});
  const Var turned = tape.constant(x.transpose(0, 1));
  const Var column = tape.constant(float64({3, 1}, {10, 20, 30}).expand(Dims{3, 2}));
  const Value sum = find_operator("Torch", "add")->call({turned, column}, {}, tape);
  EXPECT_THAT(values(sum.get<Var>()->tensor()), ElementsAre(11, 14, 22, 25, 33, 36));
  EXPECT_TRUE(forward("Torch", "mul", {float64({0, 3}, {}), float64({3}, {1, 2, 3})}).empty());
  EXPECT_THAT(forward("Torch", "mul", {float64({}, {2}), float64({}, {3})}), ElementsAre(6));
  EXPECT_THROW(forward("Torch", "mul", {x, float64({2}, {1, 2})}), SkipError);
}

}  // namespace
}  // namespace msrun::testing
