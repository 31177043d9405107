// Creation operators, overwriting and dropout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/base/error.h"
#include "tests/support/error_of.h"
#include "tests/support/gradient_check.h"

namespace msrun::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Var make(const std::string& type, const std::string& api, const List& args, const Dict& kwargs = {}) {
  static Tape tape;
  std::vector<Var> leaves;
  return call(type, api, args, kwargs, tape, leaves);
}

constexpr std::int64_t two = 2;
constexpr std::int64_t three = 3;

TEST(Creation, Ranges) {
  EXPECT_THAT(forward("Torch", "arange", {std::int64_t{0}, std::int64_t{10}, three}), ElementsAre(0, 3, 6, 9));
  EXPECT_THAT(forward("Torch", "arange", {3.5}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(forward("Torch", "arange", {std::int64_t{3}, std::int64_t{0}, std::int64_t{-2}}), ElementsAre(3, 1));
  EXPECT_EQ(make("Torch", "arange", {three}).dtype(), DType::int64);
  EXPECT_EQ(make("Torch", "arange", {3.0}).dtype(), DType::float32);
  EXPECT_EQ(make("Torch", "arange", {three}, {{"dtype", DType::float16}}).dtype(), DType::float16);
  EXPECT_THAT(forward("Torch", "arange", {}, {{"end", two}}), ElementsAre(0, 1));
  EXPECT_THROW(forward("Torch", "arange", {two, three, std::int64_t{0}}), SkipError);
  EXPECT_THROW(forward("Torch", "arange", {three, two, std::int64_t{1}}), SkipError);
  EXPECT_THROW(forward("Torch", "arange", {std::numeric_limits<double>::infinity()}), SkipError);
  EXPECT_THROW(forward("Torch", "arange", {0.0, 1e300, 1e-300}), SkipError);
  EXPECT_THAT(forward("Torch", "linspace", {0.0, 1.0, std::int64_t{5}}), ElementsAre(0, 0.25, 0.5, 0.75, 1));
  EXPECT_THAT(forward("Torch", "linspace", {2.0, 9.0, std::int64_t{1}}), ElementsAre(2));
  EXPECT_THAT(forward("Torch", "logspace", {0.0, 2.0, three}), ElementsAre(1, 10, 100));
  EXPECT_THROW(forward("Torch", "linspace", {0.0, 1.0, std::int64_t{-1}}), SkipError);
}

TEST(Creation, Filled) {
  EXPECT_THAT(forward("Torch", "full", {List{two}, true}), ElementsAre(1, 1));
  EXPECT_EQ(make("Torch", "full", {List{two}, true}).dtype(), DType::boolean);
  EXPECT_EQ(make("Torch", "full", {List{two}, two}).dtype(), DType::int64);
  EXPECT_EQ(make("Torch", "full", {List{two}, 0.5}).dtype(), DType::float32);
  const std::int64_t big = (std::int64_t{1} << 60) + 1;
  EXPECT_EQ(make("Torch", "full", {List{two}, big}).tensor().int_item(1), big);
  const Tensor x = Tensor::full(DType::bfloat16, Dims{2, 3}, 7);
  EXPECT_EQ(make("Torch", "ones_like", {x}).dtype(), DType::bfloat16);
  EXPECT_THAT(forward("Tensor", "new_ones", {x, two}), ElementsAre(1, 1));
  EXPECT_EQ(make("Mint", "zeros", {two, three}).shape(), (Dims{2, 3}));
  EXPECT_THAT(forward("Torch", "full_like", {int64({2}, {1, 2}), 2.9}), ElementsAre(2, 2));
  EXPECT_THROW(forward("Mint", "zeros", {std::int64_t{-1}}), SkipError);
  EXPECT_THROW(forward("Mint", "zeros", {std::int64_t{1} << 62, std::int64_t{1} << 62}), SkipError);
}

// A size of -1 is none that is left open, as it is for expand().
TEST(Creation, ANegativeSizeIsNamed) {
  for (const std::int64_t size : {std::int64_t{-1}, std::int64_t{-4}}) {
    const std::string shape = "[" + std::to_string(size) + "]";
    for (const char* api : {"zeros", "ones"}) {
      EXPECT_THAT(testing::error_of<SkipError>([&] { forward("Torch", api, {size}); }),
                  HasSubstr("Shape " + shape + " has a negative size."));
    }
  }
  EXPECT_THAT(testing::error_of<SkipError>([&] {
                make("Tensor", "expand", {int64({2}, {1, 2}), std::int64_t{-4}, two});
              }),
              HasSubstr("Shape [-4, 2] has a negative size."));
}

TEST(Creation, Matrices) {
  EXPECT_THAT(forward("Torch", "eye", {two, three}), ElementsAre(1, 0, 0, 0, 1, 0));
  EXPECT_THAT(forward("Torch", "tril_indices", {two, three}), ElementsAre(0, 1, 1, 0, 0, 1));
  EXPECT_THAT(forward("Torch", "triu_indices", {two, three, std::int64_t{1}}), ElementsAre(0, 0, 1, 1, 2, 2));
  EXPECT_THROW(forward("Torch", "tril_indices", {std::int64_t{1} << 60, two}), SkipError);
  EXPECT_EQ(make("Torch", "tril_indices", {two, three, std::int64_t{-100}}).shape(), (Dims{2, 0}));
}

TEST(Creation, OverwritingLeavesNoGradient) {
  const Tensor x = float64({2, 2}, {1, 2, 3, 4});
  const auto of_fill = gradients("Tensor", "fill_", {x, float64({}, {5})});
  EXPECT_THAT(of_fill[0], Each(0));
  EXPECT_THAT(of_fill[1], ElementsAre(4));
  EXPECT_THAT(forward("Tensor", "zero_", {x}), Each(0));
  EXPECT_THAT(gradients("Aten", "copy_", {x, float64({2}, {5, 6})})[1], ElementsAre(2, 2));
  EXPECT_EQ(make("Aten", "copy_", {int64({1}, {1}), float64({1}, {2.5})}).dtype(), DType::int64);
}

TEST(Dropout, CertainCases) {
  const Tensor x = uniform({4, 5}, 1, 2, 1);
  EXPECT_EQ(forward("Functional", "dropout", {x, 0.0, true}), values(x));
  EXPECT_EQ(forward("Functional", "dropout", {x, 0.5, false}), values(x));
  EXPECT_THAT(forward("Functional", "dropout", {x, 1.0, true}), Each(0));
  EXPECT_THAT(gradients("Functional", "dropout", {x, 1.0, true})[0], Each(0));
  EXPECT_THAT(gradients("Functional", "dropout", {x, 0.5, false})[0], Each(1));
  EXPECT_EQ(forward("Functional", "alpha_dropout", {x}), values(x));
  EXPECT_THROW(forward("Functional", "dropout", {x, 1.5}), SkipError);
  EXPECT_THROW(forward("Functional", "dropout", {x, std::numeric_limits<double>::quiet_NaN()}), SkipError);
}

TEST(Dropout, DropsTheAskedShareAndScalesTheRest) {
  const Tensor x = uniform({100, 100}, 1, 2, 1);
  const std::vector<double> before = values(x);
  const std::vector<double> after = forward("Functional", "dropout", {x, 0.3, true});
  const auto zeros = static_cast<double>(std::count(after.begin(), after.end(), 0.0));
  EXPECT_NEAR(zeros / 1e4, 0.3, 5 * std::sqrt(0.3 * 0.7 / 1e4));
  for (std::size_t i = 0; i < after.size(); ++i) {
    EXPECT_THAT(after[i], DoubleNear(after[i] != 0 ? before[i] / 0.7 : 0, 1e-14));
  }
  EXPECT_EQ(after, forward("Torch", "dropout", {x, 0.3, true}));
  check_gradients("Functional", "dropout", {uniform({3, 4}, -1, 1, 2), 0.4, true});
  check_gradients("Functional", "alpha_dropout", {uniform({3, 4}, -1, 1, 2), 0.4, true});
}

TEST(Dropout, WholeChannels) {
  const std::vector<double> y =
      forward("Functional", "dropout2d", {Tensor::full(DType::float64, Dims{8, 8, 2, 2}, 1), 0.5});
  std::size_t dropped = 0;
  for (std::size_t channel = 0; channel < 64; ++channel) {
    for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(y[channel * 4], y[channel * 4 + i]);
    dropped += y[channel * 4] == 0 ? 1 : 0;
  }
  EXPECT_GT(dropped, 12U);
  EXPECT_LT(dropped, 52U);
}

TEST(Random, IsRefusedWithAReason) {
  try {
    forward("Tensor", "uniform_", {float64({1}, {1}), 0.0, 1.0});
    FAIL();
  } catch (const SkipError& error) {
    EXPECT_THAT(error.what(), HasSubstr("draws random numbers"));
  }
  EXPECT_THROW(forward("Torch", "multinomial", {float64({1}, {1}), two}), SkipError);
}

}  // namespace
}  // namespace msrun::testing
