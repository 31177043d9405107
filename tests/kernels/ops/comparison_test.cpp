// Comparisons, logical and bitwise operators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun::testing {
namespace {

using ::testing::ElementsAre;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Value result(const std::string& type, const std::string& api, const List& args, const Dict& kwargs = {}) {
  static Tape tape;
  std::vector<Var> leaves;
  const Value bound = on_tape(args, tape, leaves);
  return find_operator(type, api)->call(*bound.get<List>(), kwargs, tape);
}

TEST(Comparison, OrderAndNan) {
  const Tensor a = float64({4}, {1, 2, 3, nan});
  const Tensor b = float64({4}, {2, 2, 2, nan});
  EXPECT_THAT(forward("Torch", "eq", {a, b}), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(forward("Torch", "ne", {a, b}), ElementsAre(1, 0, 1, 1));
  EXPECT_THAT(forward("Torch", "lt", {a, b}), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(forward("Torch", "le", {a, b}), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(forward("Tensor", "__gt__", {a, 2.0}), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(forward("Torch", "ge", {a, std::int64_t{2}}), ElementsAre(0, 1, 1, 0));
  EXPECT_EQ(result("Torch", "eq", {a, b}).get<Var>()->dtype(), DType::boolean);
  EXPECT_FALSE(*result("Tensor", "__eq__", {a, None{}}).get<bool>());
  EXPECT_TRUE(*result("Tensor", "__ne__", {a, None{}}).get<bool>());
}

TEST(Comparison, Int64IsExact) {
  const std::int64_t big = (std::int64_t{1} << 53) + 1;
  EXPECT_THAT(forward("Torch", "eq", {int64({2}, {big, big}), int64({2}, {big, big - 1})}), ElementsAre(1, 0));
}

TEST(Comparison, Classes) {
  const Tensor x = float64({5}, {nan, inf, -inf, -0.0, 1});
  EXPECT_THAT(forward("Torch", "isnan", {x}), ElementsAre(1, 0, 0, 0, 0));
  EXPECT_THAT(forward("Torch", "isinf", {x}), ElementsAre(0, 1, 1, 0, 0));
  EXPECT_THAT(forward("Torch", "isfinite", {x}), ElementsAre(0, 0, 0, 1, 1));
  EXPECT_THAT(forward("Torch", "isneginf", {x}), ElementsAre(0, 0, 1, 0, 0));
  EXPECT_THAT(forward("Torch", "signbit", {float64({2}, {-0.0, 0.0})}), ElementsAre(1, 0));
  EXPECT_THAT(forward("Torch", "isfinite", {int64({1}, {1})}), ElementsAre(1));
}

TEST(Comparison, Closeness) {
  const Tensor a = float64({4}, {1, inf, nan, 1});
  const Tensor b = float64({4}, {1 + 1e-6, inf, nan, 1 + 1e-3});
  EXPECT_THAT(forward("Torch", "isclose", {a, b}), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(forward("Torch", "isclose", {a, b}, {{"equal_nan", true}}), ElementsAre(1, 1, 1, 0));
  EXPECT_FALSE(*result("Tensor", "allclose", {a, b}).get<bool>());
  EXPECT_TRUE(*result("Tensor", "allclose", {a, b, 1e-2, 0.0, true}).get<bool>());
  EXPECT_FALSE(*result("Torch", "equal", {a, a}).get<bool>());
  EXPECT_TRUE(*result("Torch", "equal", {int64({2}, {1, 2}), int64({2}, {1, 2})}).get<bool>());
  EXPECT_FALSE(*result("Torch", "equal", {int64({2}, {1, 2}), int64({1}, {1})}).get<bool>());
  EXPECT_THAT(forward("Torch", "isin", {float64({3}, {1, nan, 3}), float64({3}, {3, nan, 4})}), ElementsAre(0, 0, 1));
  EXPECT_THAT(forward("Torch", "isin", {int64({2}, {1, 2}), std::int64_t{2}}, {{"invert", true}}), ElementsAre(1, 0));
}

TEST(Comparison, Logical) {
  const Tensor a = float64({4}, {0, 1, nan, 0});
  const Tensor b = float64({4}, {0, 0, 2, 3});
  EXPECT_THAT(forward("Torch", "logical_and", {a, b}), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(forward("Torch", "logical_or", {a, b}), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(forward("Torch", "logical_xor", {a, b}), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(forward("Torch", "logical_not", {a}), ElementsAre(1, 0, 0, 1));
}

TEST(Comparison, Bitwise) {
  const Tensor a = int64({2}, {12, -1});
  const Tensor b = int64({2}, {10, 3});
  EXPECT_THAT(forward("Torch", "bitwise_and", {a, b}), ElementsAre(8, 3));
  EXPECT_THAT(forward("Tensor", "__or__", {a, b}), ElementsAre(14, -1));
  EXPECT_THAT(forward("Torch", "bitwise_xor", {a, b}), ElementsAre(6, -4));
  EXPECT_THAT(forward("Torch", "bitwise_not", {a}), ElementsAre(-13, 0));
  const Tensor flags = Tensor::from<bool>(DType::boolean, Dims{2}, std::array{true, false});
  EXPECT_THAT(forward("Torch", "bitwise_not", {flags}), ElementsAre(0, 1));
  EXPECT_EQ(result("Tensor", "__or__", {flags, flags}).get<Var>()->dtype(), DType::boolean);
  EXPECT_THROW(forward("Torch", "bitwise_and", {float64({1}, {1}), float64({1}, {1})}), SkipError);
}

TEST(Comparison, ShiftsByAnyAmount) {
  const Tensor x = int64({4}, {1, -8, 5, 7});
  EXPECT_THAT(forward("Tensor", "__lshift__", {x, int64({4}, {2, 1, 64, -1})}), ElementsAre(4, -16, 0, 0));
  EXPECT_THAT(forward("Tensor", "__rshift__", {x, int64({4}, {0, 1, 64, -1})}), ElementsAre(1, -4, 0, 0));
  EXPECT_THAT(forward("Tensor", "__rshift__", {int64({1}, {-8}), std::int64_t{100}}), ElementsAre(-1));
  const Tensor bytes = Tensor::full(DType::int8, Dims{1}, 65);
  EXPECT_THAT(forward("Tensor", "__lshift__", {bytes, std::int64_t{1}}), ElementsAre(-126));
  EXPECT_THAT(forward("Tensor", "__lshift__", {bytes, std::int64_t{8}}), ElementsAre(0));
}

}  // namespace
}  // namespace msrun::testing
