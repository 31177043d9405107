// softmax, log_softmax and their relatives: values, legacy axis rule, gradients, half precision, masked rows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Pointwise;

constexpr std::int64_t last = -1;

TEST(Softmax, MatchesTheDefinition) {
  const Tensor x = float64({2, 3}, {1, 2, 3, 0.5, 0.1, -1});
  const double total = std::exp(-2) + std::exp(-1) + 1;
  EXPECT_THAT(forward("Functional", "softmax", {x, last}),
              Pointwise(DoubleNear(1e-15), {std::exp(-2) / total, std::exp(-1) / total, 1 / total, 0.528136412953437,
                                            0.3540204246440453, 0.11784316240251767}));
}

TEST(Softmax, LegacyAxisAndKeywords) {
  const Tensor cube = uniform({2, 3, 4}, -1, 1, 1);
  EXPECT_EQ(forward("Functional", "softmax", {cube}), forward("Tensor", "softmax", {cube, std::int64_t{0}}));
  const Tensor matrix = uniform({2, 3}, -1, 1, 1);
  EXPECT_EQ(forward("Functional", "log_softmax", {matrix}), forward("Torch", "log_softmax", {matrix, std::int64_t{1}}));
  EXPECT_EQ(forward("Functional", "softmax", {matrix}, {{"dim", std::int64_t{1}}, {"_stacklevel", std::int64_t{5}}}),
            forward("Torch", "softmax", {matrix}, {{"dim", last}}));
  Tape tape;
  std::vector<Var> leaves;
  EXPECT_EQ(call("Tensor", "softmax", {matrix, last, DType::float32}, {}, tape, leaves).dtype(), DType::float32);
  EXPECT_EQ(call("Functional", "softmax", {matrix.to(DType::bfloat16)}, {{"dim", last}, {"dtype", DType::float32}},
                 tape, leaves)
                .dtype(),
            DType::float32);
}

TEST(Softmax, AnyAxisOfAnyView) {
  const Tensor x = uniform({3, 4, 5}, -3, 3, 2);
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    const Tensor rows = x.transpose(axis, 2).contiguous();
    const Tensor y = float64(rows.shape(), forward("Torch", "softmax", {rows, last}));
    EXPECT_EQ(forward("Torch", "softmax", {x, axis}), values(y.transpose(axis, 2)));
    EXPECT_EQ(forward("Torch", "softmax", {rows.transpose(axis, 2), axis}), values(y.transpose(axis, 2)));
  }
  EXPECT_THAT(forward("Torch", "softmax", {float64({}, {7}), last}), ElementsAre(1));
  EXPECT_TRUE(forward("Torch", "softmax", {float64({0, 3}, {}), last}).empty());
  EXPECT_TRUE(forward("Torch", "softmax", {float64({3, 0}, {}), last}).empty());
}

TEST(Softmax, LongRowsSumToOne) {
  const Tensor x = uniform({2, 5003}, -4, 4, 3).to(DType::float32);
  const std::vector<double> y = forward("Torch", "softmax", {x, last});
  double total = 0;
  for (std::size_t i = 0; i < 5003; ++i) total += y[i];
  EXPECT_NEAR(total, 1, 1e-6);
}

TEST(Softmax, MaskedRows) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const Tensor x = float64({2, 2}, {-inf, 0, -inf, -inf});
  const std::vector<double> y = forward("Torch", "softmax", {x, last});
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 1);
  EXPECT_TRUE(std::isnan(y[2]) && std::isnan(y[3]));
  EXPECT_THAT(forward("Aten", "_safe_softmax", {x, last}), ElementsAre(0, 1, 0, 0));
}

TEST(Softmax, Gradients) {
  const Tensor x = uniform({2, 3, 4}, -2, 2, 4);
  check_gradients("Functional", "softmax", {x, last});
  check_gradients("Functional", "softmax", {x, std::int64_t{1}});
  check_gradients("Functional", "log_softmax", {x, std::int64_t{0}});
  check_gradients("Functional", "softmin", {x, std::int64_t{1}});
  check_gradients("Torch", "softmax", {x.transpose(0, 2), last});
}

TEST(Softmax, BackwardKernelIsTheGradient) {
  const Tensor x = uniform({3, 4}, -2, 2, 5);
  const Tensor g = uniform({3, 4}, -1, 1, 6);
  const Tensor y = float64({3, 4}, forward("Torch", "softmax", {x, last}));
  EXPECT_EQ(forward("Torch", "_softmax_backward_data", {g, y, last, DType::float64}),
            gradients("Torch", "softmax", {x, last}, {}, g)[0]);
}

TEST(Softmax, HalfRoundsOnce) {
  const Tensor x = uniform({4, 33}, -3, 3, 8).to(DType::bfloat16);
  Tape tape;
  std::vector<Var> leaves;
  const Tensor y = call("Torch", "softmax", {x, last}, {}, tape, leaves).tensor();
  ASSERT_EQ(y.dtype(), DType::bfloat16);
  const Tensor wide = call("Torch", "softmax", {x.to(DType::float32), last}, {}, tape, leaves).tensor();
  EXPECT_EQ(values(y), values(wide.to(DType::bfloat16)));
}

TEST(Softmax, Float16AccumulationShows) {
  Tape exact;
  Tape faulty({.arithmetic = {.summation = {.accumulator = Accumulator::float16}}});
  std::vector<Var> leaves;
  const Tensor x = uniform({1, 4096}, 0, 0.01, 9).to(DType::float32);
  const std::vector<double> a = values(call("Torch", "softmax", {x, last}, {}, exact, leaves).tensor());
  const std::vector<double> b = values(call("Torch", "softmax", {x, last}, {}, faulty, leaves).tensor());
  EXPECT_NEAR(a[0], 1.0 / 4096, 1e-5);
  EXPECT_NEAR(b[0], 1.0 / 2048, 1e-5) << "float16 stops counting at 2048";
}

TEST(Softmax, RefusesWhatItCannotDo) {
  EXPECT_THROW(forward("Torch", "softmax", {uniform({2, 3}, 0, 1, 1), std::int64_t{2}}), SkipError);
  EXPECT_THROW(forward("Torch", "softmax", {int64({2}, {1, 2}), last}), SkipError);
  EXPECT_THROW(forward("Functional", "gumbel_softmax", {uniform({2, 3}, 0, 1, 1)}), SkipError);
}

}  // namespace
}  // namespace msrun::testing
