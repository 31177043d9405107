// Values combined with the elements an index names, and the ways of their gradients. The expected numbers are those of
// torch 1.13 on the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::NanSensitiveDoubleNear;
using ::testing::Pointwise;

using Numbers = std::vector<double>;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t zero = 0;
constexpr std::int64_t one = 1;

struct Expected {
  const char* reduce;
  bool include_self;
  Numbers result;
  Numbers of_self;
  Numbers of_source;
};

void expect_all(const std::string& api, const List& args, const Tensor& gradient, const std::vector<Expected>& all) {
  const auto near = [](const Numbers& numbers) { return Pointwise(NanSensitiveDoubleNear(1e-8), numbers); };
  for (const Expected& expected : all) {
    SCOPED_TRACE(std::string(expected.reduce) + (expected.include_self ? " with self" : " without self"));
    List whole = args;
    whole.emplace_back(std::string(expected.reduce));
    const Dict kwargs{{"include_self", expected.include_self}};
    EXPECT_THAT(forward("Torch", api, whole, kwargs), near(expected.result));
    const auto found = gradients("Torch", api, whole, kwargs, gradient);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_THAT(found[0], near(expected.of_self));
    EXPECT_THAT(found[1], near(expected.of_source));
  }
}

// Ties of a source with another one and with the element that was there, products with one zero and with several.
TEST(IndexReduce, ElementByElementAsTorchHasIt) {
  const Tensor x = float64({2, 4}, {1, 2, 3, 0, 5, -6, 7, 8});
  const Tensor index = int64({2, 5}, {0, 0, 1, 3, 3, 2, 2, 2, 0, 1});
  const Tensor source = float64({2, 5}, {2, 1, 2, 0, 0, 7, -1, 7, 5, 0});
  const std::vector<Expected> all{
      {"sum",
       true,
       {4, 4, 3, 0, 10, -6, 20, 8},
       {1, 10, 100, 1000, 2, 20, 200, 2000},
       {1, 1, 10, 1000, 1000, 200, 200, 200, 2, 20}},
      {"sum",
       false,
       {3, 2, 3, 0, 5, 0, 13, 8},
       {0, 0, 100, 0, 0, 0, 0, 2000},
       {1, 1, 10, 1000, 1000, 200, 200, 200, 2, 20}},
      {"prod",
       true,
       {2, 4, 3, 0, 25, -0, -343, 8},
       {2, 20, 100, 0, 10, 0, -9800, 2000},
       {1, 2, 20, 0, 0, -9800, 68600, -9800, 10, -120}},
      {"prod",
       false,
       {2, 2, 3, 0, 5, 0, -49, 8},
       {0, 0, 100, 0, 0, 0, 0, 2000},
       {1, 2, 10, 0, 0, -1400, 9800, -1400, 2, 20}},
      {"mean",
       true,
       {1.333333333, 2, 3, 0, 5, -3, 5, 8},
       {0.333333333, 5, 100, 333.333333333, 1, 10, 50, 2000},
       {0.333333333, 0.333333333, 5, 333.333333333, 333.333333333, 50, 50, 50, 1, 10}},
      {"mean",
       false,
       {1.5, 2, 3, 0, 5, 0, 4.333333333, 8},
       {0, 0, 100, 0, 0, 0, 0, 2000},
       {0.5, 0.5, 10, 500, 500, 66.666666667, 66.666666667, 66.666666667, 2, 20}},
      {"amax",
       true,
       {2, 2, 3, 0, 5, 0, 7, 8},
       {0, 5, 100, 333.333333333, 1, 0, 66.666666667, 2000},
       {1, 0, 5, 333.333333333, 333.333333333, 66.666666667, 0, 66.666666667, 1, 20}},
      {"amax",
       false,
       {2, 2, 3, 0, 5, 0, 7, 8},
       {0, 0, 100, 0, 0, 0, 0, 2000},
       {1, 0, 5, 333.333333333, 333.333333333, 66.666666667, 0, 66.666666667, 1, 20}},
      {"amin",
       true,
       {1, 2, 3, 0, 5, -6, -1, 8},
       {0.5, 5, 100, 333.333333333, 1, 20, 0, 2000},
       {0, 0.5, 5, 333.333333333, 333.333333333, 0, 200, 0, 1, 0}},
      {"amin",
       false,
       {1, 2, 3, 0, 5, 0, -1, 8},
       {0, 0, 100, 0, 0, 0, 0, 2000},
       {0, 0.5, 5, 333.333333333, 333.333333333, 0, 200, 0, 1, 20}},
  };
  expect_all("scatter_reduce", {x, one, index, source}, float64({2, 4}, {1, 10, 100, 1000, 2, 20, 200, 2000}), all);
}

TEST(IndexReduce, SliceBySliceAsTorchHasIt) {
  const Tensor x = float64({3, 2}, {1, 2, 3, 0, 5, 6});
  const Tensor source = float64({3, 2}, {4, 0, 1, 2, 5, 0});
  const std::vector<Expected> all{
      {"prod", true, {1, 4, 3, 0, 100, 0}, {1, 20, 100, 1000, 40, 0}, {50, 0, 1, 20, 40, 0}},
      {"prod", false, {1, 2, 3, 0, 20, 0}, {0, 0, 100, 1000, 0, 0}, {10, 0, 1, 10, 8, 0}},
      {"mean",
       true,
       {1, 2, 3, 0, 4.666666667, 2},
       {0.5, 5, 100, 1000, 0.666666667, 6.666666667},
       {0.666666667, 6.666666667, 0.5, 5, 0.666666667, 6.666666667}},
      {"mean", false, {1, 2, 3, 0, 4.5, 0}, {0, 0, 100, 1000, 0, 0}, {1, 10, 1, 10, 1, 10}},
      {"amax", true, {1, 2, 3, 0, 5, 6}, {0.5, 5, 100, 1000, 1, 20}, {0, 0, 0.5, 5, 1, 0}},
      {"amax", false, {1, 2, 3, 0, 5, 0}, {0, 0, 100, 1000, 0, 0}, {0, 10, 0.5, 5, 1, 10}},
      {"amin", true, {1, 2, 3, 0, 4, 0}, {0.5, 5, 100, 1000, 0, 0}, {2, 10, 0.5, 5, 0, 10}},
      {"amin", false, {1, 2, 3, 0, 4, 0}, {0, 0, 100, 1000, 0, 0}, {2, 10, 0.5, 5, 0, 10}},
  };
  expect_all("index_reduce", {x, zero, int64({3}, {2, 0, 2}), source}, float64({3, 2}, {1, 10, 100, 1000, 2, 20}), all);
}

TEST(IndexReduce, NanAndInfinityAsTorchHasThem) {
  const Tensor x = float64({4}, {1, nan, inf, 4});
  const Tensor source = float64({5}, {nan, 3, 5, 7, inf});
  const std::vector<Expected> all{
      {"sum", true, {nan, nan, inf, 4}, {1, 10, 100, 1000}, {1, 1, 10, 100, 100}},
      {"sum", false, {nan, 5, inf, 4}, {0, 0, 0, 1000}, {1, 1, 10, 100, 100}},
      {"prod", true, {nan, nan, inf, 4}, {nan, nan, nan, 1000}, {nan, nan, nan, inf, nan}},
      {"prod", false, {nan, 5, inf, 4}, {0, 0, 0, 1000}, {nan, nan, 10, inf, nan}},
      {"mean",
       true,
       {nan, nan, inf, 4},
       {0.333333333, 5, 33.333333333, 1000},
       {0.333333333, 0.333333333, 5, 33.333333333, 33.333333333}},
      {"mean", false, {nan, 5, inf, 4}, {0, 0, 0, 1000}, {0.5, 0.5, 10, 50, 50}},
      {"amax", true, {nan, nan, inf, 4}, {nan, nan, 50, 1000}, {nan, nan, nan, 0, 50}},
      {"amax", false, {nan, 5, inf, 4}, {0, 0, 0, 1000}, {nan, nan, 10, 0, 50}},
      {"amin", true, {nan, nan, 7, 4}, {nan, nan, 0, 1000}, {nan, nan, nan, 100, 0}},
      {"amin", false, {nan, 5, 7, 4}, {0, 0, 0, 1000}, {nan, nan, 10, 100, 0}},
  };
  expect_all("scatter_reduce", {x, zero, int64({5}, {0, 0, 1, 2, 2}), source}, float64({4}, {1, 10, 100, 1000}), all);
}

TEST(IndexReduce, OfIntegersRoundsDownAndWrapsAround) {
  const auto reduced = [](const Tensor& x, const Tensor& index, const Tensor& source, const char* reduce) {
    return forward("Tensor", "scatter_reduce_", {x, zero, index, source, std::string(reduce)});
  };
  const Tensor x = int64({3}, {-7, 2, 3});
  const Tensor index = int64({3}, {0, 0, 2});
  const Tensor source = int64({3}, {2, -1, 4});
  EXPECT_THAT(reduced(x, index, source, "sum"), ElementsAre(-6, 2, 7));
  EXPECT_THAT(reduced(x, index, source, "prod"), ElementsAre(14, 2, 12));
  EXPECT_THAT(reduced(x, index, source, "mean"), ElementsAre(-2, 2, 3));
  EXPECT_THAT(reduced(x, index, source, "amax"), ElementsAre(2, 2, 4));
  EXPECT_THAT(reduced(x, index, source, "amin"), ElementsAre(-7, 2, 3));
  const Tensor bytes = int64({2}, {200, 7}).to(DType::uint8);
  EXPECT_THAT(reduced(bytes, int64({1}, {0}), int64({1}, {100}).to(DType::uint8), "mean"), ElementsAre(22, 7));
}

// A source may be larger than its index; half types are rounded once.
TEST(IndexReduce, TakesWhatTheIndexReaches) {
  const Tensor x = Tensor::full(DType::bfloat16, Dims{1}, 256);
  const Tensor ones = Tensor::full(DType::bfloat16, Dims{5}, 1);
  const Tensor twice = int64({2}, {0, 0});
  EXPECT_THAT(forward("Torch", "scatter_reduce", {x, zero, twice, ones, std::string("sum")}), ElementsAre(258));
  const Tensor y = float64({2, 3}, {1, 2, 3, 4, 5, 6});
  check_gradients("Torch", "scatter_reduce",
                  {y, -one, int64({1, 2}, {0, 0}), uniform({2, 3}, 1, 2, 3), std::string("prod")});
  check_gradients("Torch", "index_reduce", {y, one, int64({}, {2}), uniform({2, 1}, 1, 2, 4), std::string("mean")});
}

TEST(IndexReduce, RefusesWhatTorchRefuses) {
  const Tensor x = float64({3}, {1, 2, 3});
  const Tensor index = int64({1}, {0});
  const auto call_of = [&](const char* api, const Tensor& at, const Tensor& source, const char* reduce) {
    return forward("Torch", api, {x, zero, at, source, std::string(reduce)});
  };
  EXPECT_THROW(call_of("scatter_reduce", index, x, "max"), SkipError);
  EXPECT_THROW(call_of("scatter_reduce", int64({1}, {3}), x, "sum"), SkipError);
  EXPECT_THROW(call_of("index_reduce", index, float64({1}, {4}), "sum"), SkipError);
  EXPECT_THROW(call_of("index_reduce", index, x, "prod"), SkipError);
}

}  // namespace
}  // namespace msrun::testing
