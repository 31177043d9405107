// Which of several equal elements a sort or selection takes is free, and so is where their gradients go.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/api/operators.h"
#include "kernels/compare/ties.h"
#include "tests/support/gradient_check.h"

namespace msrun {
namespace {

using namespace testing;
using Values = std::vector<double>;

TEST(TiedGradients, AxisOfTheCall) {
  const Tensor x = float64({2, 2}, {1, 2, 3, 4});
  const auto axis = [](const char* op, const List& args, const Dict& kwargs) {
    return picking_axis(*find_canonical(op)->traits().picks, args, kwargs);
  };
  EXPECT_EQ(axis("sort", {x}, {}), -1);
  EXPECT_EQ(axis("sort", {x, std::int64_t{0}, true}, {}), 0);
  EXPECT_EQ(axis("topk", {x, std::int64_t{3}}, {{"dim", std::int64_t{1}}}), 1);
  EXPECT_EQ(axis("topk", {x, std::int64_t{3}, std::int64_t{0}}, {}), 0);
  EXPECT_EQ(axis("msort", {x, std::int64_t{1}}, {}), 0);
  EXPECT_EQ(axis("max", {x, std::int64_t{1}}, {}), 1);
  EXPECT_EQ(axis("max", {x}, {}), std::nullopt) << "ties share the gradient";
  EXPECT_EQ(axis("max", {x, x}, {}), std::nullopt);
  EXPECT_FALSE(find_canonical("cumsum")->traits().picks.has_value());
}

TEST(TiedGradients, AreExchangedAmongEqualElementsOnly) {
  const Tensor x = float64({1, 5}, {2, 1, 2, 3, 2});
  const Tensor bench = float64({1, 5}, {10, 40, 20, 50, 30});
  const auto exchanged = exchange_tied_gradients(x, 1, bench, float64({1, 5}, {30.1, 0, 10.2, 0, 19.9}));
  ASSERT_TRUE(exchanged.has_value());
  EXPECT_EQ(values(*exchanged), (Values{30, 40, 10, 50, 20}));
  // Across rows nothing is exchanged.
  const Tensor column = float64({5, 1}, {2, 1, 2, 3, 2});
  EXPECT_FALSE(
      exchange_tied_gradients(column, 1, bench.reshape(Dims{5, 1}), float64({5, 1}, {30, 0, 10, 0, 20})).has_value());
  EXPECT_TRUE(
      exchange_tied_gradients(column, 0, bench.reshape(Dims{5, 1}), float64({5, 1}, {30, 0, 10, 0, 20})).has_value());
}

TEST(TiedGradients, AreLeftWhereTheyAgree) {
  const Tensor x = float64({4}, {1, 1, 2, 2});
  const Tensor g = float64({4}, {1, 2, 3, 4});
  EXPECT_FALSE(exchange_tied_gradients(x, 0, g, g).has_value());
  EXPECT_FALSE(exchange_tied_gradients(x, 0, g, float64({2}, {1, 2})).has_value());
  EXPECT_FALSE(exchange_tied_gradients(x, 3, g, float64({4}, {2, 1, 4, 3})).has_value());
  EXPECT_FALSE(exchange_tied_gradients(float64({}, {1}), 0, float64({}, {1}), float64({}, {2})).has_value());
  // NaN are equal to each other, zeros of both signs too.
  const double nan = std::nan("");
  const auto exchanged = exchange_tied_gradients(float64({4}, {nan, 0, nan, -0.0}), 0, g, float64({4}, {3, 4, 1, 2}));
  ASSERT_TRUE(exchanged.has_value());
  EXPECT_EQ(values(*exchanged), (Values{3, 4, 1, 2}));
}

}  // namespace
}  // namespace msrun
