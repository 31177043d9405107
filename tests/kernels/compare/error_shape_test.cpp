// How errors are spread over the elements of a result.
#include "kernels/compare/bounds/error_shape.h"

#include <gtest/gtest.h>

#include <functional>

#include "kernels/tensor/changed_elements.h"

namespace msrun {
namespace {

constexpr std::int64_t rows = 32;
constexpr std::int64_t columns = 64;

// Errors of about one unit, in either direction, but for what `change` makes of them.
ErrorShape shape(const std::function<double(double error, std::int64_t place)>& change) {
  const Tensor bench = Tensor::full(DType::float64, Dims{rows, columns}, 1);
  const Tensor noise = Tensor::full(DType::float64, Dims{rows, columns}, 0x1p-5);
  std::uint64_t state = 1;
  const Tensor device = changed_elements(bench, [&](double value, std::int64_t i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const double error = (static_cast<double>(state >> 40U) * 0x1p-24 - 0.5) * 0x1p-4;
    return value + change(error, i);
  });
  return shape_of_errors(bench, device, noise);
}

TEST(ErrorShape, OfRoundingIsEven) {
  const ErrorShape even = shape([](double error, std::int64_t) { return error; });
  EXPECT_LT(even.concentration, 3);
  EXPECT_LT(even.lean, 0.2);
}

TEST(ErrorShape, OfABlockIsConcentrated) {
  const auto in_block = [](double error, std::int64_t i) { return i >= 1024 && i < 1152 ? 16 * error : error; };
  EXPECT_GT(shape(in_block).concentration, 64);
}

TEST(ErrorShape, OfATailOfRowsIsConcentrated) {
  const auto in_tail = [](double error, std::int64_t i) { return i % columns >= columns - 4 ? 16 * error : error; };
  EXPECT_GT(shape(in_tail).concentration, 64);
}

TEST(ErrorShape, OfALossLeans) {
  EXPECT_GT(shape([](double error, std::int64_t) { return error - 0x1p-3; }).lean, 3);
  // The rows may err together, in either direction.
  const auto by_rows = [](double error, std::int64_t i) { return error + (i / columns % 2 == 0 ? 0x1p-3 : -0x1p-3); };
  EXPECT_LT(shape(by_rows).lean, 0.2);
}

TEST(ErrorShape, OfFewElementsSaysNothing) {
  const Tensor few = Tensor::full(DType::float64, Dims{8}, 1);
  const ErrorShape nothing = shape_of_errors(few, Tensor::full(DType::float64, Dims{8}, 2), few);
  EXPECT_EQ(nothing.concentration, 1);
  EXPECT_EQ(nothing.lean, 0);
}

}  // namespace
}  // namespace msrun
