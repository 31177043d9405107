// Matrix products: values, gradients, shapes, precisions and the faulty arithmetics.
#include <gtest/gtest.h>

#include "kernels/error.h"
#include "kernels/ops/functions.h"
#include "kernels/ops/gemm.h"
#include "tests/kernels/gradient_check.h"

namespace msrun {
namespace {

using namespace testing;
using Values = std::vector<double>;

// The definition, in float64, over tensors of equal batch shape.
Values naive_product(const Tensor& a, const Tensor& b) {
  const Values x = values(a);
  const Values y = values(b);
  const std::int64_t m = a.size(-2);
  const std::int64_t k = a.size(-1);
  const std::int64_t n = b.size(-1);
  const std::int64_t batch = m * k == 0 ? 0 : a.numel() / (m * k);
  Values result(static_cast<std::size_t>(batch * m * n));
  for (std::int64_t p = 0; p < batch; ++p) {
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        double total = 0;
        for (std::int64_t r = 0; r < k; ++r) {
          total += x[static_cast<std::size_t>((p * m + i) * k + r)] * y[static_cast<std::size_t>((p * k + r) * n + j)];
        }
        result[static_cast<std::size_t>((p * m + i) * n + j)] = total;
      }
    }
  }
  return result;
}

void expect_near(const Values& actual, const Values& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
}

TEST(Product, EveryOrientationOfTheOperands) {
  for (const std::int64_t n : {1, 3, 33}) {
    const Tensor a = uniform({5, 40}, -1, 1, 1);
    const Tensor b = uniform({40, n}, -1, 1, 2);
    const Values expected = naive_product(a, b);
    const Tensor a_columns = a.transpose(0, 1).contiguous().transpose(0, 1);
    const Tensor b_columns = b.transpose(0, 1).contiguous().transpose(0, 1);
    // Every second column of a wider matrix: no unit stride on either axis.
    Tensor wide(DType::float64, {5, 40, 2});
    for (std::int64_t i = 0; i < a.numel(); ++i) {
      wide.mutable_data<double>()[2 * i] = a.data<double>()[i];
      wide.mutable_data<double>()[2 * i + 1] = 1e9;
    }
    const Tensor a_strided = wide.select(2, 0);
    for (const Tensor& left : {a, a_columns, a_strided}) {
      for (const Tensor& right : {b, b_columns}) {
        expect_near(values(product(left, right, DType::float64, {})), expected, 1e-13);
        expect_near(values(product(left.to(DType::float32), right, DType::float32, {})), expected, 1e-5);
      }
    }
  }
}

TEST(Product, BatchesBroadcast) {
  const Tensor a = uniform({2, 1, 3, 4}, -1, 1, 3);
  const Tensor b = uniform({5, 4, 2}, -1, 1, 4);
  const Values expected =
      naive_product(a.expand(Dims{2, 5, 3, 4}).contiguous(), b.expand(Dims{2, 5, 4, 2}).contiguous());
  const Tensor result = product(a, b, DType::float64, {});
  EXPECT_EQ(result.shape(), (Dims{2, 5, 3, 2}));
  expect_near(values(result), expected, 1e-14);
}

TEST(Product, ContractedLengthOfZeroGivesZeros) {
  const Tensor result = product(Tensor(DType::float32, {2, 0}), Tensor(DType::float32, {0, 3}), DType::float32, {});
  EXPECT_EQ(values(result), Values(6, 0));
}

TEST(Product, SumsInHalfPrecisionWhenAsked) {
  // 2048 + 1 is not representable in float16: the sum sticks.
  const Tensor ones = Tensor::full(DType::float32, Dims{1, 2100}, 1);
  const Tensor column = Tensor::full(DType::float32, Dims{2100, 1}, 1);
  Arithmetic arithmetic;
  EXPECT_EQ(product(ones, column, DType::float32, arithmetic).item(), 2100);
  arithmetic.fp16_accumulation = true;
  EXPECT_EQ(product(ones, column, DType::float32, arithmetic).item(), 2048);
}

TEST(Product, RoundsInputsToHf32WhenAsked) {
  Arithmetic arithmetic;
  arithmetic.hf32_inputs = true;
  const Tensor one = Tensor::full(DType::float32, Dims{1, 1}, 1);
  const auto rounded = [&](double x) {
    return product(Tensor::full(DType::float32, Dims{1, 1}, x), one, DType::float32, arithmetic).item();
  };
  EXPECT_EQ(rounded(1 + 0x1p-11), 1 + 0x1p-11);
  EXPECT_EQ(rounded(1 + 0x1p-13), 1);
  EXPECT_EQ(rounded(1 + 0x1p-12), 1 + 0x1p-11);
  EXPECT_EQ(rounded(-1 - 0x1p-12), -1 - 0x1p-11);
  EXPECT_TRUE(std::isnan(rounded(std::nan(""))));
}

TEST(Matmul, Ranks) {
  const Tensor v = uniform({4}, -1, 1, 5);
  const Tensor m = uniform({3, 4}, -1, 1, 6);
  const Tensor b = uniform({2, 4, 3}, -1, 1, 7);
  Tape tape;
  const auto shape = [&](const Tensor& x, const Tensor& y) {
    return matmul(tape.constant(x), tape.constant(y)).shape();
  };
  EXPECT_EQ(shape(v, v), Dims{});
  EXPECT_EQ(shape(m, v), Dims{3});
  EXPECT_EQ(shape(v, m.transpose(0, 1)), Dims{3});
  EXPECT_EQ(shape(v, b), (Dims{2, 3}));
  EXPECT_EQ(shape(b.transpose(1, 2), v), (Dims{2, 3}));
  EXPECT_THROW(shape(v, Tensor::scalar(DType::float64, 1)), SkipError);
  EXPECT_THROW(shape(m, m), SkipError);
}

TEST(Matmul, Gradients) {
  const Tensor v = uniform({4}, -1, 1, 5);
  const Tensor m = uniform({3, 4}, -1, 1, 6);
  const Tensor b = uniform({2, 4, 3}, -1, 1, 7);
  check_gradients("Torch", "matmul", {v, v});
  check_gradients("Torch", "matmul", {m, v});
  check_gradients("Torch", "matmul", {v, m.transpose(0, 1)});
  check_gradients("Tensor", "matmul", {m, b});
  check_gradients("Tensor", "matmul", {b, m});
  check_gradients("Tensor", "__matmul__", {uniform({2, 1, 3, 4}, -1, 1, 8), uniform({3, 4, 2}, -1, 1, 9)});
  check_gradients("Torch", "matmul", {b.transpose(1, 2), v});
  check_gradients("Torch", "matmul", {v, b});
}

TEST(Matmul, HalfPrecisionRoundsOnce) {
  const Tensor a = uniform({16, 64}, -1, 1, 1).to(DType::bfloat16);
  const Tensor b = uniform({64, 8}, -1, 1, 2).to(DType::bfloat16);
  const Values expected = values(float64({16, 8}, naive_product(a, b)).to(DType::bfloat16));
  Tape tape;
  const Var result = matmul(tape.constant(a), tape.constant(b));
  EXPECT_EQ(result.dtype(), DType::bfloat16);
  expect_near(values(result.tensor()), expected, 1.0 / 64);
}

TEST(Matmul, IntegersAreExact) {
  Tape tape;
  const Tensor a = int64({1, 2}, {3037000500, 7});
  const Var result = matmul(tape.constant(a), tape.constant(int64({2, 1}, {3037000499, 1})));
  EXPECT_EQ(result.dtype(), DType::int64);
  EXPECT_EQ(result.tensor().int_item(), 3037000500 * 3037000499 + 7);
}

TEST(Linear, ValuesAndGradients) {
  const Tensor x = float64({2, 2}, {1, 2, 3, 4});
  const Tensor w = float64({2, 2}, {1, 0, 1, 1});
  const Tensor bias = float64({2}, {.5, -.5});
  EXPECT_EQ(forward("Functional", "linear", {x, w, bias}), (Values{1.5, 2.5, 3.5, 6.5}));
  const auto grads = gradients("Functional", "linear", {x, w, bias}, {}, float64({2, 2}, {1, 2, 3, 4}));
  EXPECT_EQ(grads[0], (Values{3, 2, 7, 4}));
  EXPECT_EQ(grads[1], (Values{10, 14, 14, 20}));
  EXPECT_EQ(grads[2], (Values{4, 6}));
  check_gradients("Functional", "linear",
                  {uniform({2, 3, 4}, -1, 1, 1), uniform({5, 4}, -1, 1, 2), uniform({5}, -1, 1, 3)});
  check_gradients("Functional", "linear", {uniform({4}, -1, 1, 1), uniform({5, 4}, -1, 1, 2), None{}});
  check_gradients("Functional", "linear", {uniform({2, 4}, -1, 1, 1), uniform({4}, -1, 1, 2)});
  check_gradients("Functional", "linear", {uniform({4, 2}, -1, 1, 1).transpose(0, 1), uniform({5, 4}, -1, 1, 2)});
}

TEST(Linear, RefusesShapesThatDoNotFit) {
  EXPECT_THROW(forward("Functional", "linear", {uniform({2, 3}, 0, 1, 1), uniform({2, 4}, 0, 1, 1)}), SkipError);
  EXPECT_THROW(forward("Functional", "linear", {uniform({2, 3}, 0, 1, 1), uniform({2, 3, 1}, 0, 1, 1)}), SkipError);
  EXPECT_THROW(
      forward("Functional", "linear", {uniform({2, 3}, 0, 1, 1), uniform({2, 3}, 0, 1, 1), uniform({3}, 0, 1, 1)}),
      SkipError);
}

TEST(Linear, EmptyInnerAxisGivesTheBias) {
  EXPECT_EQ(forward("Functional", "linear",
                    {Tensor(DType::float64, {2, 0}), Tensor(DType::float64, {2, 0}), float64({2}, {3, 4})}),
            (Values{3, 4, 3, 4}));
}

}  // namespace
}  // namespace msrun
