// Rules of single operators for unusual arguments: dtypes of results, sizes of zero, and the places gradients go to.
#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun {
namespace {

using namespace testing;
using Values = std::vector<double>;

Tensor bools(const Dims& shape, const std::vector<std::int64_t>& data) { return int64(shape, data).to(DType::boolean); }

TEST(EdgeRules, SquaresOfBoolsAreNumbers) {
  const Tensor y = result_of("Torch", "square", {bools({3}, {0, 1, 1})});
  EXPECT_EQ(y.dtype(), DType::int64);
  EXPECT_EQ(values(y), (Values{0, 1, 1}));
}

TEST(EdgeRules, ReductionsOfIntegersKeepTheDtypeAskedFor) {
  const Tensor x = int64({2, 2}, {3, 1, 2, 0});
  EXPECT_EQ(result_of("Torch", "sum", {x}).dtype(), DType::int64);
  const Tensor narrow = result_of("Torch", "sum", {x}, {{"dtype", DType::int32}});
  EXPECT_EQ(narrow.dtype(), DType::int32);
  EXPECT_EQ(values(narrow), (Values{6}));
  const Tensor truth = result_of("Torch", "prod", {x, std::int64_t{1}}, {{"dtype", DType::boolean}});
  EXPECT_EQ(truth.dtype(), DType::boolean);
  EXPECT_EQ(values(truth), (Values{1, 0}));
  EXPECT_EQ(values(result_of("Torch", "nansum", {x}, {{"dtype", DType::boolean}})), (Values{1}));
}

TEST(EdgeRules, SumToSizeOfBools) {
  const Tensor y = result_of("Tensor", "sum_to_size", {bools({}, {1}), List{}});
  EXPECT_EQ(y.dtype(), DType::int64);
  EXPECT_EQ(result_of("Tensor", "sum_to_size", {bools({2}, {1, 1}), List{std::int64_t{2}}}).dtype(), DType::boolean);
  EXPECT_EQ(values(result_of("Tensor", "sum_to_size", {bools({2}, {1, 1}), List{std::int64_t{1}}})), (Values{2}));
}

TEST(EdgeRules, IntegerRangesHaveWholeEnds) {
  const Dict whole{{"dtype", DType::int64}};
  EXPECT_EQ(values(result_of("Torch", "arange", {0.1, -7.9, -4.0}, whole)), (Values{0, -4}));
  EXPECT_EQ(values(result_of("Torch", "arange", {0.5, 3.5, 1.0}, {{"dtype", DType::float32}})), (Values{.5, 1.5, 2.5}));
  EXPECT_EQ(values(result_of("Torch", "logspace", {std::int64_t{2}, 1.2, std::int64_t{2}}, whole)), (Values{100, 10}));
  EXPECT_EQ(values(result_of("Torch", "linspace", {0.9, 2.9, std::int64_t{3}}, whole)), (Values{0, 1, 2}));
  EXPECT_THROW(result_of("Torch", "arange", {0.0, 1.0, 0.5}, whole), SkipError) << "a step of 0";
}

TEST(EdgeRules, NoDifferencesLeaveTheInput) {
  const Tensor x = float64({2}, {3, 5});
  const List args{x, std::int64_t{0}, std::int64_t{-1}, float64({1}, {1}), float64({1}, {9})};
  EXPECT_EQ(forward("Torch", "diff", args), (Values{3, 5}));
  const auto all = gradients("Torch", "diff", args);
  EXPECT_EQ(all[0], (Values{1, 1}));
  EXPECT_TRUE(all[1].empty());
}

TEST(EdgeRules, EveryPartOfAConcatenationHasAGradient) {
  Tape tape;
  const Var empty = tape.leaf(float64({0}, {}));
  const Var further = tape.leaf(float64({0}, {}));
  const Var full = tape.leaf(float64({1, 2}, {1, 2}));
  const auto cat = [&](const List& parts) {
    return *find_operator("Torch", "cat")->call({parts, std::int64_t{0}}, {}, tape).get<Var>();
  };
  tape.backward(cat({empty, full, further}), float64({1, 2}, {3, 4}));
  EXPECT_EQ(values(tape.gradient(full)), (Values{3, 4}));
  ASSERT_TRUE(tape.gradient(empty).defined());
  EXPECT_EQ(tape.gradient(empty).shape(), (Dims{0}));
  ASSERT_TRUE(tape.gradient(further).defined());
  Tape second;
  const Var alone = second.leaf(float64({0}, {}));
  second.backward(*find_operator("Torch", "cat")->call({List{alone, alone}, std::int64_t{0}}, {}, second).get<Var>(),
                  float64({0}, {}));
  EXPECT_TRUE(second.gradient(alone).defined());
}

TEST(EdgeRules, QuantilesHaveAGradientWhereTheyInterpolate) {
  const Tensor x = float64({3}, {7, 1, 3});
  const Tensor q = float64({2}, {.25, .75});
  EXPECT_EQ(forward("Torch", "quantile", {x, q}), (Values{2, 5}));
  EXPECT_EQ(gradients("Torch", "quantile", {x, q})[1], (Values{4, 8}));
  EXPECT_EQ(gradients("Torch", "quantile", {float64({}, {7}), q})[1], (Values{0, 0}));
  check_gradients("Torch", "quantile", {uniform({3, 5}, -1, 1, 1), uniform({3}, .1, .9, 2), std::int64_t{1}});
  EXPECT_EQ(gradients("Torch", "nanquantile", {float64({3}, {1, std::nan(""), 3}), float64({}, {.5})})[1], (Values{2}));
  EXPECT_EQ(gradients("Torch", "quantile", {float64({3}, {1, std::nan(""), 3}), float64({}, {.5})})[1], (Values{0}));
  EXPECT_EQ(gradients("Torch", "quantile", {x, q}, {{"interpolation", std::string("midpoint")}})[1], (Values{0, 0}));
}

TEST(EdgeRules, MatricesOfNumbers) {
  const Tensor number = float64({}, {-3});
  const Tensor y = result_of("Torch", "linalg.vander", {number}, {{"N", std::int64_t{3}}});
  EXPECT_EQ(y.shape(), (Dims{1, 3}));
  EXPECT_EQ(values(y), (Values{1, -3, 9}));
  EXPECT_EQ(gradients("Torch", "linalg.vander", {number}, {{"N", std::int64_t{3}}})[0], (Values{-5}));
  EXPECT_EQ(result_of("Tensor", "adjoint", {number}).shape(), (Dims{}));
  EXPECT_THROW(result_of("Tensor", "adjoint", {float64({2}, {1, 2})}), SkipError);
}

TEST(EdgeRules, AddrOfBools) {
  const Tensor c = bools({2, 2}, {1, 0, 0, 0});
  const Tensor a = bools({2}, {0, 1});
  const Tensor b = bools({2}, {1, 1});
  const Tensor y = result_of("Torch", "addr", {c, a, b});
  EXPECT_EQ(y.dtype(), DType::boolean);
  EXPECT_EQ(values(y), (Values{1, 0, 1, 1}));
  EXPECT_EQ(values(result_of("Torch", "addr", {c, a, b}, {{"beta", false}})), (Values{0, 0, 1, 1}));
  EXPECT_EQ(values(result_of("Torch", "addr", {c, a, b}, {{"alpha", false}})), (Values{1, 0, 0, 0}));
  EXPECT_THROW(result_of("Torch", "addr", {bools({3, 2}, {0, 0, 0, 0, 0, 0}), a, b}), SkipError);
}

TEST(EdgeRules, EqualBoundsOfAClampHaveNoGradientFromBelow) {
  const Tensor x = float64({2}, {0, 2});
  const Tensor bound = float64({2}, {1, 1});
  const auto both = gradients("Torch", "clamp", {x, bound, bound});
  EXPECT_EQ(both[1], (Values{0, 0}));
  EXPECT_EQ(both[2], (Values{0, 1}));
  EXPECT_EQ(gradients("Torch", "clamp", {x, bound})[1], (Values{1, 0}));
}

TEST(EdgeRules, ThePowerZeroHasAGradientOfZero) {
  const Tensor a = float64({2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(forward("Torch", "matrix_power", {a, std::int64_t{0}}), (Values{1, 0, 0, 1}));
  EXPECT_EQ(gradients("Torch", "matrix_power", {a, std::int64_t{0}})[0], (Values{0, 0, 0, 0}));
}

}  // namespace
}  // namespace msrun
