// Average, maximum, adaptive, power-mean pooling and unpooling: worked values, gradients, edges of the windows.
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
using ::testing::Pointwise;

Value i(std::int64_t value) { return value; }

// 0, 1, 2... in the given shape, shuffled so that windows have one clear maximum.
Tensor distinct(const Dims& shape) {
  std::vector<double> data(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t k = 0; k < data.size(); ++k) data[k] = static_cast<double>((k * 7919) % data.size()) + 1;
  return float64(shape, data);
}

TEST(AvgPool, WorkedValues) {
  const Tensor five = float64({1, 1, 5}, {1, 2, 3, 4, 5});
  EXPECT_THAT(forward("Functional", "avg_pool1d", {five, i(2), i(2), i(1)}), ElementsAre(0.5, 2.5, 4.5));
  EXPECT_THAT(forward("Functional", "avg_pool1d", {five, i(2), i(2), i(1)}, {{"count_include_pad", false}}),
              ElementsAre(1, 2.5, 4.5));
  EXPECT_THAT(forward("Torch", "avg_pool1d", {five, i(2), i(2), i(0), true}), ElementsAre(1.5, 3.5, 5));
  EXPECT_THAT(forward("Functional", "avg_pool1d", {float64({1, 1, 4}, {1, 2, 3, 4}), i(3), i(2), i(1), true, true}),
              ElementsAre(1, 3, 2));
}

TEST(AvgPool, AveragesOfIntegersAreCutTowardsZero) {
  const auto average = [](const std::string& api, const List& args) {
    Tape tape;
    std::vector<Var> leaves;
    const Tensor y = call("Functional", api, args, {}, tape, leaves).tensor();
    EXPECT_EQ(y.dtype(), DType::int64);
    return values(y);
  };
  EXPECT_THAT(average("avg_pool1d", {int64({1, 6}, {1, 2, -1, -2, 7, 8}), i(2)}), ElementsAre(1, -1, 7));
  // Padding counts: (0 + 5) / 2, then (6 + 0) / 2.
  EXPECT_THAT(average("avg_pool1d", {int64({1, 2}, {5, 6}), i(2), i(2), i(1)}), ElementsAre(2, 3));
  EXPECT_THAT(average("avg_pool2d", {int64({1, 2, 2}, {1, 2, 3, 4}), i(2), None{}, i(0), false, true, i(-3)}),
              ElementsAre(-3));
  EXPECT_THAT(average("avg_pool3d", {int64({1, 1, 2, 2}, {1, 2, 3, 5}), List{i(1), i(2), i(2)}}), ElementsAre(2));
  EXPECT_THROW(average("avg_pool1d", {int64({1, 2}, {1, 2}).to(DType::int32), i(2)}), SkipError);
  EXPECT_THROW(average("adaptive_avg_pool1d", {int64({1, 2}, {1, 2}), i(1)}), SkipError);
}

TEST(AvgPool, TwoAndThreeAxes) {
  const Tensor x = float64({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(forward("Functional", "avg_pool2d", {x, i(2)}), ElementsAre(2.5, 6.5));
  EXPECT_THAT(forward("Functional", "avg_pool2d", {x, List{i(1), i(2)}, List{}}), ElementsAre(1.5, 3.5, 5.5, 7.5));
  EXPECT_THAT(forward("Functional", "avg_pool2d", {x, i(2)}, {{"divisor_override", i(10)}}), ElementsAre(1, 2.6));
  EXPECT_THAT(forward("Functional", "avg_pool3d", {x, i(2)}), ElementsAre(4.5));
}

TEST(AvgPool, Gradients) {
  check_gradients("Functional", "avg_pool1d", {uniform({2, 7}, -1, 1, 1), i(3), i(2), i(1), true, false});
  check_gradients("Functional", "avg_pool2d", {uniform({1, 2, 5, 6}, -1, 1, 1), i(3), i(2), i(1)});
  check_gradients(
      "Functional", "avg_pool2d",
      {uniform({2, 6, 1, 5}, -1, 1, 1).transpose(1, 2), List{i(2), i(3)}, i(1), List{i(1), i(0)}, true, false});
  check_gradients("Functional", "avg_pool3d", {uniform({1, 4, 4, 5}, -1, 1, 1), i(2), i(3), i(1)});
}

// Every window by itself, as the definition says.
struct Pooled {
  std::vector<double> average;
  std::vector<double> maximum;
  std::vector<double> position;
};

Pooled pool_by_definition(const Tensor& x, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  const std::int64_t height = x.size(-2);
  const std::int64_t width = x.size(-1);
  const std::vector<double> all = values(x);
  Pooled result;
  for (std::int64_t top = -padding; top + kernel <= height + padding; top += stride) {
    for (std::int64_t left = -padding; left + kernel <= width + padding; left += stride) {
      double sum = 0;
      double best = -std::numeric_limits<double>::infinity();
      std::int64_t at = -1;
      for (std::int64_t r = std::max<std::int64_t>(top, 0); r < std::min(top + kernel, height); ++r) {
        for (std::int64_t c = std::max<std::int64_t>(left, 0); c < std::min(left + kernel, width); ++c) {
          const double value = all[static_cast<std::size_t>(r * width + c)];
          sum += value;
          if (at < 0) at = r * width + c;
          if (value > best || std::isnan(value)) {
            best = value;
            at = r * width + c;
          }
        }
      }
      result.average.push_back(sum / static_cast<double>(kernel * kernel));
      result.maximum.push_back(best);
      result.position.push_back(static_cast<double>(at));
    }
  }
  return result;
}

TEST(Pooling, ManyGeometriesAgreeWithTheDefinition) {
  for (std::int64_t kernel = 1; kernel <= 5; ++kernel) {
    for (std::int64_t stride = 1; stride <= 4; ++stride) {
      for (std::int64_t padding = 0; padding <= kernel / 2; ++padding) {
        for (const std::int64_t width : {5, 8, 37}) {
          std::vector<double> data(static_cast<std::size_t>(7 * width));
          for (std::size_t k = 0; k < data.size(); ++k) data[k] = static_cast<double>((k * 7919) % 11);
          data[9] = std::numeric_limits<double>::quiet_NaN();
          for (std::size_t k = 20; k < 28; ++k) data[k] = -std::numeric_limits<double>::infinity();
          const Tensor x = float64({1, 7, width}, data);
          for (const DType dtype : {DType::float64, DType::float32, DType::bfloat16}) {
            const Tensor input = x.to(dtype);
            const Pooled expected = pool_by_definition(input, kernel, stride, padding);
            const List args{input, i(kernel), i(stride), i(padding)};
            SCOPED_TRACE(::testing::Message() << "kernel " << kernel << " stride " << stride << " padding " << padding
                                              << " width " << width << " " << name(dtype));
            EXPECT_THAT(forward("Functional", "max_pool2d", args),
                        Pointwise(::testing::NanSensitiveDoubleEq(), expected.maximum));
            EXPECT_THAT(forward("Functional", "max_pool2d_with_indices", args, {}, 1),
                        Pointwise(::testing::Eq(), expected.position));
            if (dtype == DType::float64) {
              EXPECT_THAT(forward("Functional", "avg_pool2d", args),
                          Pointwise(::testing::NanSensitiveDoubleEq(), expected.average));
            }
          }
        }
      }
    }
  }
}

TEST(Pooling, GradientsOfWiderStrides) {
  check_gradients("Functional", "avg_pool2d", {uniform({1, 7, 11}, -1, 1, 1), i(2), i(3), i(1)});
  check_gradients("Functional", "avg_pool2d", {uniform({2, 8, 9}, -1, 1, 1), i(3), i(2), i(1), true, false});
  check_gradients("Functional", "max_pool2d", {distinct({1, 7, 11}), i(3), i(2), i(1), i(2)});
}

TEST(AvgPool, LongRunsAndHalf) {
  const Tensor x = uniform({1, 3, 40, 100}, -1, 1, 1);
  const std::vector<double> all = values(x);
  double mean = 0;
  for (std::size_t k = 0; k < 4000; ++k) mean += all[k] / 4000;
  EXPECT_NEAR(forward("Functional", "adaptive_avg_pool2d", {x, i(1)})[0], mean, 1e-13);
  Tape tape;
  std::vector<Var> leaves;
  const Tensor half = x.to(DType::float16);
  const Tensor y = call("Functional", "avg_pool2d", {half, i(3), i(2), i(1)}, {}, tape, leaves).tensor();
  ASSERT_EQ(y.dtype(), DType::float16);
  EXPECT_EQ(values(y),
            values(call("Functional", "avg_pool2d", {half.to(DType::float32), i(3), i(2), i(1)}, {}, tape, leaves)
                       .tensor()
                       .to(DType::float16)));
}

TEST(Pool, GradientsAreSumsOverWindows) {
  const auto terms = [](const char* api, const List& args, const Dict& kwargs = {}) {
    Notes notes;
    gradients("Functional", api, args, kwargs, {}, 0, {.notes = &notes});
    return notes.sums.longest;
  };
  const Tensor x = uniform({1, 2, 9}, 0, 1, 1);
  EXPECT_EQ(terms("avg_pool1d", {x, i(3), i(3)}), 1);
  EXPECT_EQ(terms("avg_pool1d", {x, i(3), i(2)}), 2);
  EXPECT_EQ(terms("avg_pool1d", {x, i(3), i(1)}), 3);
  EXPECT_EQ(terms("adaptive_avg_pool2d", {uniform({2, 9, 8}, 0, 1, 1), i(4)}), 2);
  // An element may be the largest of each of its windows.
  EXPECT_EQ(terms("max_pool1d", {x, i(3), i(3)}), 1);
  EXPECT_EQ(terms("max_pool2d", {uniform({2, 9, 8}, 0, 1, 1), i(3), i(2)}), 4);
  // As many elements as are copies of the one at the end.
  EXPECT_EQ(terms("pad", {x, List{i(4), i(1)}}, {{"mode", std::string("replicate")}}), 5);
  EXPECT_EQ(terms("pad", {x, List{i(4), i(1)}}), 1);
}

TEST(AdaptivePool, WorkedValues) {
  const Tensor five = float64({1, 1, 5}, {1, 2, 3, 4, 5});
  EXPECT_THAT(forward("Functional", "adaptive_avg_pool1d", {five, i(3)}), ElementsAre(1.5, 3, 4.5));
  EXPECT_THAT(forward("Functional", "adaptive_max_pool1d", {five, i(3)}), ElementsAre(2, 4, 5));
  EXPECT_THAT(forward("Torch", "adaptive_max_pool1d", {five, List{i(3)}}, {}, 1), ElementsAre(1, 3, 4));
  Tape tape;
  std::vector<Var> leaves;
  EXPECT_EQ(
      call("Functional", "adaptive_avg_pool2d", {uniform({2, 3, 4, 5}, 0, 1, 1), List{None{}, i(2)}}, {}, tape, leaves)
          .shape(),
      (Dims{2, 3, 4, 2}));
}

TEST(AdaptivePool, Gradients) {
  check_gradients("Functional", "adaptive_avg_pool2d", {uniform({1, 2, 7, 5}, -1, 1, 1), List{i(3), i(2)}});
  check_gradients("Functional", "adaptive_avg_pool1d", {uniform({2, 3}, -1, 1, 1), i(5)});
  check_gradients("Functional", "adaptive_avg_pool3d", {uniform({1, 2, 3, 4, 5}, -1, 1, 1), i(2)});
  check_gradients("Functional", "adaptive_max_pool2d", {distinct({1, 2, 7, 5}), List{i(3), i(2)}});
  check_gradients("Functional", "adaptive_max_pool3d", {distinct({1, 3, 4, 5}), i(2)});
}

TEST(MaxPool, ValuesAndIndices) {
  const Tensor x = float64({1, 1, 3, 3}, {1, 5, 2, 4, 3, 6, 9, 7, 8});
  EXPECT_THAT(forward("Functional", "max_pool2d", {x, i(2), i(1)}), ElementsAre(5, 6, 9, 8));
  EXPECT_THAT(forward("Functional", "max_pool2d", {x, i(2), i(1)}, {{"return_indices", true}}, 1),
              ElementsAre(1, 5, 6, 8));
  EXPECT_THAT(forward("Functional", "max_pool2d_with_indices", {x, i(2), i(1)}, {}, 1), ElementsAre(1, 5, 6, 8));
  EXPECT_THAT(forward("Functional", "max_pool2d", {x, i(3), i(2), i(1), i(1), false, false}), ElementsAre(5, 6, 9, 8));
  // Dilation 2: the four corners.
  EXPECT_THAT(forward("Torch", "max_pool2d", {x, i(2), i(1), i(0), i(2)}), ElementsAre(9));
  EXPECT_THAT(forward("Functional", "max_pool1d", {float64({1, 5}, {1, 2, 3, 4, 5}), i(2), i(2), i(0), i(1), true}),
              ElementsAre(2, 4, 5));
}

TEST(MaxPool, FirstIndexOnTiesAndNanWins) {
  EXPECT_THAT(forward("Functional", "max_pool1d_with_indices", {float64({1, 4}, {3, 3, -1, -1}), i(2)}, {}, 1),
              ElementsAre(0, 2));
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(forward("Functional", "max_pool1d", {float64({1, 3}, {1, nan, 5}), i(3)})[0]));
  constexpr double inf = std::numeric_limits<double>::infinity();
  EXPECT_THAT(forward("Functional", "max_pool1d_with_indices", {float64({1, 4}, {0, 1, -inf, -inf}), i(2)}, {}, 1),
              ElementsAre(1, 2));
}

TEST(MaxPool, Gradients) {
  check_gradients("Functional", "max_pool1d", {distinct({2, 9}), i(3), i(2), i(1)});
  check_gradients("Functional", "max_pool2d", {distinct({2, 2, 6, 7}), i(3), i(2), i(1)});
  check_gradients("Functional", "max_pool2d", {distinct({1, 7, 8}), i(2), i(1), i(0), i(3), true});
  check_gradients("Functional", "max_pool3d", {distinct({1, 4, 5, 4}), i(2), i(2), i(1), i(1), true});
}

TEST(MaxPool, WindowsInThePaddingAlone) {
  // Kernel 2 dilated by 5 over 3 elements with padding 2: the first window reads -2 and 3.
  const Tensor x = float64({1, 3}, {1, 2, 3});
  const List args{x, i(2), i(1), i(2), i(5)};
  EXPECT_THAT(forward("Functional", "max_pool1d", args),
              ElementsAre(-std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()));
  EXPECT_THAT(gradients("Functional", "max_pool1d", args)[0], ElementsAre(0, 0, 0));
}

TEST(MaxPool, Integers) {
  Tape tape;
  std::vector<Var> leaves;
  const Tensor y = call("Functional", "max_pool1d", {int64({1, 4}, {1, 7, -5, -6}), i(2)}, {}, tape, leaves).tensor();
  EXPECT_EQ(y.dtype(), DType::int64);
  EXPECT_THAT(values(y), ElementsAre(7, -5));
}

TEST(LpPool, ValuesAndGradients) {
  EXPECT_THAT(forward("Functional", "lp_pool1d", {float64({1, 1, 4}, {3, 4, 6, 8}), i(2), i(2)}),
              ElementsAre(DoubleNear(5, 1e-14), DoubleNear(10, 1e-14)));
  check_gradients("Functional", "lp_pool1d", {uniform({2, 6}, 0.5, 2, 1), 3.0, i(2)});
  check_gradients("Functional", "lp_pool2d", {uniform({1, 2, 5, 5}, 0.5, 2, 1), i(2), i(2), i(1)});
  check_gradients("Functional", "lp_pool2d", {uniform({1, 2, 5, 5}, 0.5, 2, 1), 2.5, i(2), None{}, true});
  EXPECT_THAT(gradients("Functional", "lp_pool1d", {float64({1, 2}, {0, 0}), i(2), i(2)})[0], ElementsAre(0, 0));
}

TEST(MaxUnpool, PutsBack) {
  const Tensor x = float64({1, 1, 2}, {20, 40});
  const Tensor index = int64({1, 1, 2}, {1, 3});
  EXPECT_THAT(forward("Functional", "max_unpool1d", {x, index, i(2)}), ElementsAre(0, 20, 0, 40));
  EXPECT_THAT(forward("Functional", "max_unpool1d", {x, index, i(2)}, {{"output_size", List{i(1), i(1), i(5)}}}),
              ElementsAre(0, 20, 0, 40, 0));
  check_gradients("Functional", "max_unpool1d", {x, index, i(2)});
  check_gradients("Aten", "max_unpool2d",
                  {float64({2, 1, 2}, {1, 2, 3, 4}), int64({2, 1, 2}, {0, 5, 3, 2}), List{i(2), i(3)}});
  EXPECT_THROW(forward("Functional", "max_unpool1d", {x, int64({1, 1, 2}, {1, 4}), i(2)}), SkipError);
  EXPECT_THROW(forward("Functional", "max_unpool1d", {x, int64({1, 1, 2}, {-1, 3}), i(2)}), SkipError);
}

TEST(Pooling, EmptyBatchAndRefusals) {
  EXPECT_TRUE(forward("Functional", "max_pool2d", {Tensor(DType::float64, {0, 3, 4, 4}), i(2)}).empty());
  EXPECT_TRUE(forward("Functional", "avg_pool2d", {Tensor(DType::float64, {0, 3, 4, 4}), i(2)}).empty());
  const Tensor x = uniform({1, 1, 4, 4}, 0, 1, 1);
  EXPECT_THROW(forward("Functional", "max_pool2d", {x, i(5)}), SkipError);
  EXPECT_THROW(forward("Functional", "max_pool2d", {x, i(2), i(0)}), SkipError);
  EXPECT_THROW(forward("Functional", "max_pool2d", {x, i(2), i(1), i(2)}), SkipError);
  EXPECT_THROW(forward("Functional", "max_pool2d", {x, i(std::numeric_limits<std::int64_t>::max())}), SkipError);
  EXPECT_THROW(forward("Functional", "max_pool2d", {x, List{i(1), i(2), i(3)}}), SkipError);
  EXPECT_THROW(forward("Functional", "max_pool2d", {uniform({4, 4}, 0, 1, 1), i(2)}), SkipError);
  EXPECT_THROW(forward("Functional", "avg_pool2d", {x, i(2)}, {{"divisor_override", i(0)}}), SkipError);
  EXPECT_THROW(forward("Functional", "adaptive_avg_pool2d", {x, i(-1)}), SkipError);
  EXPECT_THROW(forward("Functional", "adaptive_avg_pool2d", {x, i(std::int64_t{1} << 40)}), SkipError);
}

}  // namespace
}  // namespace msrun::testing
