// Which of several equal elements a sort or selection takes is free, and so is where their gradients go.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/api/operators.h"
#include "kernels/compare/choices/ties.h"
#include "tests/support/gradient_check.h"

namespace msrun {
namespace {

using namespace testing;
using Values = std::vector<double>;

TEST(TiedGradients, AxisOfTheCall) {
  const Tensor x = float64({2, 2}, {1, 2, 3, 4});
  const auto from = [](const char* op, const List& args, const Dict& kwargs) {
    return picked_from(*find_canonical(op)->traits().picks, args, kwargs);
  };
  const auto axis = [&](const char* op, const List& args, const Dict& kwargs) { return from(op, args, kwargs)->axis; };
  EXPECT_EQ(axis("sort", {x}, {}), -1);
  EXPECT_EQ(axis("sort", {x, std::int64_t{0}, true}, {}), 0);
  EXPECT_EQ(axis("topk", {x, std::int64_t{3}}, {{"dim", std::int64_t{1}}}), 1);
  EXPECT_EQ(axis("topk", {x, std::int64_t{3}, std::int64_t{0}}, {}), 0);
  EXPECT_EQ(axis("msort", {x, std::int64_t{1}}, {}), 0);
  EXPECT_EQ(axis("max", {x, std::int64_t{1}}, {}), 1);
  EXPECT_EQ(from("max", {x}, {}), std::nullopt) << "ties share the gradient";
  EXPECT_EQ(from("max", {x, x}, {}), std::nullopt);
  EXPECT_EQ(axis("quantile", {x, 0.5, std::int64_t{1}}, {}), 1);
  EXPECT_EQ(from("quantile", {x, 0.5}, {}), PickedFrom{}) << "among all elements";
  EXPECT_EQ(from("nanquantile", {x, 0.5, None{}}, {{"keepdim", true}}), PickedFrom{});
  EXPECT_FALSE(find_canonical("cumsum")->traits().picks.has_value());
}

TEST(TiedGradients, AreExchangedAmongEqualElementsOnly) {
  const Tensor x = float64({1, 5}, {2, 1, 2, 3, 2});
  const Tensor bench = float64({1, 5}, {10, 40, 20, 50, 30});
  const auto exchanged = exchange_tied_gradients(x, PickedFrom{1}, bench, float64({1, 5}, {30.1, 0, 10.2, 0, 19.9}));
  ASSERT_TRUE(exchanged.has_value());
  EXPECT_EQ(values(*exchanged), (Values{30, 40, 10, 50, 20}));
  // Across rows nothing is exchanged.
  const Tensor column = float64({5, 1}, {2, 1, 2, 3, 2});
  EXPECT_FALSE(
      exchange_tied_gradients(column, PickedFrom{1}, bench.reshape(Dims{5, 1}), float64({5, 1}, {30, 0, 10, 0, 20}))
          .has_value());
  EXPECT_TRUE(
      exchange_tied_gradients(column, PickedFrom{0}, bench.reshape(Dims{5, 1}), float64({5, 1}, {30, 0, 10, 0, 20}))
          .has_value());
}

TEST(TiedGradients, AreExchangedAmongAllElements) {
  const Tensor x = float64({2, 2}, {2, 1, 3, 2});
  const Tensor bench = float64({2, 2}, {0.25, 0, 0, 0.75});
  const auto exchanged = exchange_tied_gradients(x, PickedFrom{}, bench, float64({2, 2}, {0.75, 0, 0, 0.25}));
  ASSERT_TRUE(exchanged.has_value());
  EXPECT_EQ(exchanged->shape(), (Dims{2, 2}));
  EXPECT_EQ(values(*exchanged), (Values{0.75, 0, 0, 0.25}));
  EXPECT_FALSE(exchange_tied_gradients(x, PickedFrom{1}, bench, float64({2, 2}, {0.75, 0, 0, 0.25})).has_value());
}

TEST(TiedGradients, AreLeftWhereTheyAgree) {
  const Tensor x = float64({4}, {1, 1, 2, 2});
  const Tensor g = float64({4}, {1, 2, 3, 4});
  EXPECT_FALSE(exchange_tied_gradients(x, PickedFrom{0}, g, g).has_value());
  EXPECT_FALSE(exchange_tied_gradients(x, PickedFrom{0}, g, float64({2}, {1, 2})).has_value());
  EXPECT_FALSE(exchange_tied_gradients(x, PickedFrom{3}, g, float64({4}, {2, 1, 4, 3})).has_value());
  EXPECT_FALSE(
      exchange_tied_gradients(float64({}, {1}), PickedFrom{0}, float64({}, {1}), float64({}, {2})).has_value());
  // NaN are equal to each other, zeros of both signs too.
  const double nan = std::nan("");
  const auto exchanged =
      exchange_tied_gradients(float64({4}, {nan, 0, nan, -0.0}), PickedFrom{0}, g, float64({4}, {3, 4, 1, 2}));
  ASSERT_TRUE(exchanged.has_value());
  EXPECT_EQ(values(*exchanged), (Values{3, 4, 1, 2}));
}

}  // namespace
}  // namespace msrun
