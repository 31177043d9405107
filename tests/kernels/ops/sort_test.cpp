// Order of elements: stability, NaN, ties, both key widths, binary search and unique values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/base/error.h"
#include "tests/support/gradient_check.h"

namespace msrun {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan_value = std::numeric_limits<double>::quiet_NaN();

std::vector<double> run(const std::string& api, const List& args, const Dict& kwargs = {}, std::size_t output = 0) {
  return forward("Torch", api, args, kwargs, output);
}

TEST(Sort, StableInBothDirections) {
  for (const DType dtype :
       {DType::float64, DType::float32, DType::bfloat16, DType::int64, DType::int32, DType::uint8}) {
    const Tensor x = float64({4}, {2, 1, 2, 1}).to(dtype);
    EXPECT_THAT(run("sort", {x}, {{"stable", true}}, 1), ElementsAre(1, 3, 0, 2));
    EXPECT_THAT(run("sort", {x}, {{"descending", true}}, 1), ElementsAre(0, 2, 1, 3));
    EXPECT_THAT(run("sort", {x, std::int64_t{0}, true}), ElementsAre(2, 2, 1, 1));
  }
}

TEST(Sort, MedianOfNothingIsNoNumber) {
  for (const char* api : {"median", "nanmedian"}) {
    EXPECT_TRUE(std::isnan(run(api, {float64({0}, {})})[0]));
    EXPECT_TRUE(gradients("Torch", api, {float64({0}, {})})[0].empty());
  }
}

TEST(Sort, TopOfOneElementIsThatElement) {
  EXPECT_THAT(run("topk", {float64({}, {3}), std::int64_t{0}}), ElementsAre(3));
  EXPECT_THAT(run("topk", {float64({}, {3}), std::int64_t{0}}, {}, 1), ElementsAre(0));
}

TEST(Sort, NanIsLargestAndNegativesAreSmallest) {
  for (const DType dtype : {DType::float64, DType::float32, DType::float16}) {
    const Tensor x = float64({5}, {nan_value, 1, inf, -inf, -1}).to(dtype);
    EXPECT_THAT(run("argsort", {x}), ElementsAre(3, 4, 1, 2, 0));
    EXPECT_THAT(run("argsort", {x, std::int64_t{-1}, true}), ElementsAre(0, 2, 1, 4, 3));
  }
  EXPECT_THAT(run("argsort", {float64({3}, {0.0, -0.0, 0.0})}), ElementsAre(0, 1, 2));
  EXPECT_THAT(run("argsort", {int64({3}, {0, std::numeric_limits<std::int64_t>::min(), -1})}), ElementsAre(1, 2, 0));
}

TEST(Sort, AlongAnyAxis) {
  const Tensor x = float64({2, 3}, {3, 1, 2, 1, 5, 0});
  EXPECT_THAT(run("sort", {x, std::int64_t{0}}), ElementsAre(1, 1, 0, 3, 5, 2));
  EXPECT_THAT(run("sort", {x.transpose(0, 1), std::int64_t{0}}), ElementsAre(1, 0, 2, 1, 3, 5));
  EXPECT_THAT(run("msort", {x}), ElementsAre(1, 1, 0, 3, 5, 2));
  EXPECT_THAT(run("sort", {float64({}, {4})}), ElementsAre(4));
  EXPECT_THAT(run("sort", {float64({0}, {})}), ElementsAre());
  EXPECT_THROW(run("sort", {x, std::int64_t{2}}), SkipError);
  check_gradients("Torch", "sort", {uniform({3, 4, 2}, -1, 1, 1), std::int64_t{1}, true});
}

TEST(Sort, AgreesWithTheStandardLibrary) {
  const Tensor x = uniform({3000}, -4, 4, 2);
  const Tensor coarse = x.to(DType::int16);  // many ties
  for (const Tensor& tensor : {x, x.to(DType::float32), coarse}) {
    const std::vector<double> data = values(tensor);
    std::vector<double> order(data.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<double>(i);
    std::stable_sort(order.begin(), order.end(), [&](double a, double b) {
      return data[static_cast<std::size_t>(a)] < data[static_cast<std::size_t>(b)];
    });
    EXPECT_THAT(run("argsort", {tensor}), ElementsAreArray(order));
    order.resize(100);
    EXPECT_THAT(run("topk", {tensor, std::int64_t{100}}, {{"largest", false}}, 1), ElementsAreArray(order));
    EXPECT_THAT(run("kthvalue", {tensor, std::int64_t{100}}, {}, 1), ElementsAre(order[99]));
  }
}

TEST(Sort, TopK) {
  const Tensor x = float64({2, 4}, {1, 4, 2, 4, 0, -1, nan_value, 3});
  EXPECT_THAT(run("topk", {x, std::int64_t{2}}, {}, 1), ElementsAre(1, 3, 2, 3));
  EXPECT_THAT(run("topk", {x, std::int64_t{1}, std::int64_t{0}, false}), ElementsAre(0, -1, 2, 3));
  EXPECT_THAT(run("topk", {x, std::int64_t{0}}), ElementsAre());
  EXPECT_THROW(run("topk", {x, std::int64_t{5}}), SkipError);
  EXPECT_THROW(run("topk", {x, std::int64_t{-1}}), SkipError);
  check_gradients("Torch", "topk", {uniform({3, 5}, -1, 1, 3), std::int64_t{2}, std::int64_t{0}});
}

TEST(Sort, SelectionByRank) {
  const Tensor x = float64({2, 4}, {4, 1, 3, 2, 7, nan_value, 5, 6});
  EXPECT_THAT(run("kthvalue", {x, std::int64_t{3}}), ElementsAre(3, 7));
  EXPECT_EQ(run("median", {x, std::int64_t{1}})[0], 2);
  EXPECT_TRUE(std::isnan(run("median", {x, std::int64_t{1}})[1]));
  EXPECT_THAT(run("median", {x, std::int64_t{1}}, {}, 1), ElementsAre(3, 1));
  EXPECT_THAT(run("nanmedian", {x, std::int64_t{1}, true}), ElementsAre(2, 6));
  EXPECT_THAT(run("nanmedian", {x}), ElementsAre(4));
  EXPECT_THAT(run("mode", {float64({6}, {3, 1, 3, 1, 2, 1})}), ElementsAre(1));
  EXPECT_THAT(run("mode", {float64({5}, {3, 1, 3, 1, 2})}, {}, 1), ElementsAre(3));
  EXPECT_THROW(run("kthvalue", {x, std::int64_t{0}}), SkipError);
  EXPECT_THROW(run("median", {float64({0}, {}), std::int64_t{0}}), SkipError);
  for (const char* api : {"median", "nanmedian", "mode"})
    check_gradients("Torch", api, {uniform({3, 5}, -1, 1, 4), std::int64_t{0}});
  check_gradients("Torch", "kthvalue", {uniform({3, 5}, -1, 1, 4), std::int64_t{2}, std::int64_t{1}, true});
  check_gradients("Torch", "median", {uniform({3, 5}, -1, 1, 4)});
}

TEST(Sort, BinarySearch) {
  const Tensor boundaries = float64({3}, {1, 2, 3});
  const Tensor x = float64({2}, {1, 2.5});
  EXPECT_THAT(run("bucketize", {x, boundaries}), ElementsAre(0, 2));
  EXPECT_THAT(run("bucketize", {x, boundaries}, {{"right", true}}), ElementsAre(1, 2));
  EXPECT_THAT(run("bucketize", {2.0, boundaries}), ElementsAre(1));
  EXPECT_THAT(run("searchsorted", {boundaries, float64({3}, {nan_value, -inf, inf})}), ElementsAre(3, 0, 3));
  EXPECT_THAT(run("searchsorted", {float64({2, 2}, {1, 3, 5, 7}), float64({2, 1}, {2, 2})}), ElementsAre(1, 0));
  EXPECT_THAT(run("searchsorted", {float64({3}, {3, 1, 2}), x}, {{"sorter", int64({3}, {1, 2, 0})}}),
              ElementsAre(0, 2));
  EXPECT_THAT(run("searchsorted", {boundaries, x}, {{"side", std::string("right")}}), ElementsAre(1, 2));
  EXPECT_THROW(run("searchsorted", {boundaries, x}, {{"sorter", int64({3}, {1, 2, 3})}}), SkipError);
  EXPECT_THROW(run("searchsorted", {float64({2, 2}, {1, 3, 5, 7}), float64({3, 1}, {2, 2, 2})}), SkipError);
  EXPECT_THROW(run("bucketize", {x, float64({1, 1}, {1})}), SkipError);
}

TEST(Sort, UniqueValues) {
  const Tensor x = int64({5}, {3, 1, 3, 3, 2});
  const Dict all{{"return_inverse", true}, {"return_counts", true}};
  EXPECT_THAT(forward("Tensor", "unique", {x}), ElementsAre(1, 2, 3));
  EXPECT_THAT(forward("Tensor", "unique", {x}, all, 1), ElementsAre(2, 0, 2, 2, 1));
  EXPECT_THAT(forward("Tensor", "unique", {x}, all, 2), ElementsAre(1, 1, 3));
  EXPECT_THAT(run("unique_consecutive", {x}, all), ElementsAre(3, 1, 3, 2));
  EXPECT_THAT(run("unique_consecutive", {x}, all, 2), ElementsAre(1, 1, 2, 1));
  const Tensor rows = int64({3, 2}, {2, 1, 0, 5, 2, 1});
  EXPECT_THAT(run("unique_dim", {rows, std::int64_t{0}}), ElementsAre(0, 5, 2, 1));
  EXPECT_THAT(run("unique_dim", {rows, std::int64_t{0}}, {}, 1), ElementsAre(1, 0, 1));
  EXPECT_THAT(forward("Tensor", "unique", {rows}, {{"dim", std::int64_t{1}}}), ElementsAre(1, 2, 5, 0, 1, 2));
  EXPECT_EQ(forward("Tensor", "unique", {float64({3}, {nan_value, 0, nan_value})}).size(), 3U);
  EXPECT_THAT(forward("Tensor", "unique", {float64({0}, {})}), ElementsAre());
}

}  // namespace
}  // namespace msrun
