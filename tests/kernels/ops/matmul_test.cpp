// Matrix products: values, gradients, shapes, precisions and the faulty arithmetics.
#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "kernels/numeric/matrix_product.h"
#include "kernels/ops/common/functions.h"
#include "tests/support/gradient_check.h"

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
  EvaluationContext context;
  EXPECT_EQ(product(ones, column, DType::float32, context).item(), 2100);
  context.arithmetic.summation.accumulator = Accumulator::float16;
  EXPECT_EQ(product(ones, column, DType::float32, context).item(), 2048);
}

TEST(Product, RoundsInputsToHf32WhenAsked) {
  EvaluationContext context;
  context.arithmetic.operands.products = OperandRounding::hf32;
  const Tensor one = Tensor::full(DType::float32, Dims{1, 1}, 1);
  const auto rounded = [&](double x) {
    return product(Tensor::full(DType::float32, Dims{1, 1}, x), one, DType::float32, context).item();
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

TEST(ScaledSums, AddmmAndItsRelatives) {
  const Tensor c = uniform({3}, -1, 1, 1);
  const Tensor a = uniform({2, 4}, -1, 1, 2);
  const Tensor b = uniform({4, 3}, -1, 1, 3);
  const Dict factors{{"beta", .5}, {"alpha", 2.}};
  Values expected = naive_product(a, b);
  for (std::size_t i = 0; i < expected.size(); ++i)
    expected[i] = 2 * expected[i] + .5 * c.item(static_cast<int>(i % 3));
  expect_near(forward("Torch", "addmm", {c, a, b}, factors), expected, 1e-14);
  check_gradients("Torch", "addmm", {c, a, b}, factors);
  check_gradients("Tensor", "addmv", {uniform({2}, -1, 1, 1), a, uniform({4}, -1, 1, 4)}, factors);
  check_gradients("Torch", "addr", {uniform({2, 3}, -1, 1, 1), uniform({2}, -1, 1, 4), uniform({3}, -1, 1, 5)},
                  factors);
  const Tensor batch_a = uniform({2, 3, 4}, -1, 1, 6);
  const Tensor batch_b = uniform({2, 4, 2}, -1, 1, 7);
  check_gradients("Torch", "baddbmm", {uniform({3, 1}, -1, 1, 1), batch_a, batch_b}, factors);
  check_gradients("Torch", "addbmm", {uniform({3, 2}, -1, 1, 1), batch_a, batch_b}, factors);
  const Values sums = forward("Torch", "addbmm", {float64({1}, {10}), batch_a, batch_b});
  const Values parts = naive_product(batch_a, batch_b);
  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_NEAR(sums[i], 10 + parts[i] + parts[i + 6], 1e-14);
}

// The factors of the summand and of the product stand before what they multiply.
TEST(ScaledSums, EarlyOrdersOfTheArguments) {
  const Tensor a = uniform({2, 3}, -1, 1, 2);
  const Tensor b = uniform({3, 2}, -1, 1, 3);
  const Tensor u = uniform({2}, -1, 1, 4);
  const Tensor v = uniform({3}, -1, 1, 5);
  const Tensor square = uniform({2, 2}, -1, 1, 6);
  struct Case {
    const char* api;
    Tensor summand;
    Tensor first;
    Tensor second;
  };
  for (const Case& c : {Case{"addmm", square, a, b}, Case{"addmv", u, a, v}, Case{"addr", a, u, v},
                        Case{"baddbmm", square.unsqueeze(0), a.unsqueeze(0), b.unsqueeze(0)},
                        Case{"addbmm", square, a.unsqueeze(0), b.unsqueeze(0)}}) {
    SCOPED_TRACE(c.api);
    const Values both = forward("Torch", c.api, {c.summand, c.first, c.second}, {{"beta", 2.0}, {"alpha", 3.0}});
    EXPECT_EQ(forward("Torch", c.api, {2.0, c.summand, 3.0, c.first, c.second}), both);
    EXPECT_EQ(forward("Tensor", c.api, {c.summand, 2.0, 3.0, c.first, c.second}), both);
    const Values one = forward("Torch", c.api, {c.summand, c.first, c.second}, {{"beta", 2.0}});
    EXPECT_EQ(forward("Torch", c.api, {2.0, c.summand, c.first, c.second}), one);
    EXPECT_EQ(forward("Tensor", c.api, {c.summand, 2.0, c.first, c.second}), one);
    check_gradients("Torch", c.api, {2.0, c.summand, 3.0, c.first, c.second});
  }
}

TEST(ScaledSums, BetaOfZeroIgnoresTheSummand) {
  const Tensor nan = Tensor::full(DType::float64, Dims{1, 1}, std::nan(""));
  const Tensor two = float64({1, 1}, {2});
  EXPECT_EQ(forward("Torch", "addmm", {nan, two, two}, {{"beta", std::int64_t{0}}}), (Values{4}));
}

TEST(ScaledSums, IntegersUseTheWholePartOfTheFactors) {
  const Tensor two = int64({1, 1}, {2});
  EXPECT_EQ(forward("Torch", "addmm", {two, two, two}, {{"beta", .2}, {"alpha", .6}}), (Values{0}));
  EXPECT_EQ(forward("Torch", "addmm", {two, two, two}, {{"beta", 3.5}}), (Values{10}));
}

TEST(ScaledSums, RefuseWhatDoesNotFit) {
  const Tensor two = float64({1, 1}, {2});
  EXPECT_THROW(forward("Torch", "addmm", {uniform({2, 2}, 0, 1, 1), two, two}), SkipError);
  EXPECT_THROW(forward("Torch", "addmm", {two, uniform({2}, 0, 1, 1), two}), SkipError);
  EXPECT_THROW(forward("Torch", "bmm", {uniform({2, 1, 1}, 0, 1, 1), uniform({1, 1, 1}, 0, 1, 1)}), SkipError);
  EXPECT_THROW(forward("Torch", "mm", {two, uniform({1}, 0, 1, 1)}), SkipError);
}

TEST(VectorProducts, ValuesAndGradients) {
  const Tensor u = float64({3}, {1, 2, 3});
  const Tensor v = float64({3}, {4, 5, 6});
  EXPECT_EQ(forward("Torch", "dot", {u, v}), (Values{32}));
  EXPECT_EQ(forward("Tensor", "vdot", {u, v}), (Values{32}));
  EXPECT_EQ(forward("Torch", "ger", {u, float64({2}, {1, 10})}), (Values{1, 10, 2, 20, 3, 30}));
  EXPECT_EQ(forward("Torch", "mv", {float64({1, 3}, {1, 1, 1}), v}), (Values{15}));
  EXPECT_EQ(forward("Torch", "kron", {float64({2}, {1, 2}), float64({2, 2}, {0, 1, 1, 0})}),
            (Values{0, 1, 0, 2, 1, 0, 2, 0}));
  check_gradients("Torch", "dot", {u, v});
  check_gradients("Torch", "outer", {u, v});
  check_gradients("Torch", "inner", {uniform({2, 3}, -1, 1, 1), uniform({4, 3}, -1, 1, 2)});
  check_gradients("Torch", "inner", {Tensor::scalar(DType::float64, 2), v});
  check_gradients("Torch", "kron", {uniform({2, 3}, -1, 1, 1), uniform({2}, -1, 1, 2)});
}

TEST(Tensordot, ByCountAndByLists) {
  const Tensor a = uniform({2, 3, 4}, -1, 1, 1);
  const Tensor b = uniform({4, 3, 5}, -1, 1, 2);
  const List axes{List{std::int64_t{1}, std::int64_t{2}}, List{std::int64_t{1}, std::int64_t{0}}};
  const Values expected = naive_product(a.permute(Dims{0, 2, 1}).reshape(Dims{2, 12}), b.reshape(Dims{12, 5}));
  expect_near(forward("Torch", "tensordot", {a, b}, {{"dims", axes}}), expected, 1e-13);
  check_gradients("Torch", "tensordot", {a, b}, {{"dims", axes}});
  check_gradients("Torch", "tensordot", {a, b, std::int64_t{1}});
  EXPECT_EQ(forward("Torch", "tensordot", {float64({2}, {1, 2}), float64({2}, {3, 4}), std::int64_t{0}}),
            (Values{3, 4, 6, 8}));
  EXPECT_THROW(forward("Torch", "tensordot", {a, b, std::int64_t{4}}), SkipError);
  EXPECT_THROW(forward("Torch", "tensordot", {a, b, std::int64_t{2}}), SkipError);
}

TEST(Bilinear, IsTheSumOverBothInputs) {
  const Tensor x1 = float64({1, 2}, {1, 2});
  const Tensor x2 = float64({1, 3}, {1, 10, 100});
  const Tensor w = float64({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(forward("Functional", "bilinear", {x1, x2, w, float64({1}, {0.5})}), (Values{321 + 2 * 654 + .5}));
  check_gradients("Functional", "bilinear",
                  {uniform({2, 2, 3}, -1, 1, 1), uniform({2, 2, 4}, -1, 1, 2), uniform({5, 3, 4}, -1, 1, 3),
                   uniform({5}, -1, 1, 4)});
}

TEST(MultiDot, VectorsAtTheEnds) {
  const Tensor v = uniform({3}, -1, 1, 1);
  const Tensor m = uniform({3, 4}, -1, 1, 2);
  const Tensor n = uniform({4, 2}, -1, 1, 3);
  const Values expected = naive_product(v.reshape(Dims{1, 3}), float64({3, 2}, naive_product(m, n)));
  expect_near(forward("Torch", "linalg.multi_dot", {Value(List{v, m, n})}), expected, 1e-14);
  check_gradients("Torch", "chain_matmul", {m, n, uniform({2, 5}, -1, 1, 4), uniform({5, 1}, -1, 1, 5)});
  check_gradients("Torch", "multi_dot", {Value(List{v, m, n, uniform({2}, -1, 1, 4)})});
}

TEST(Einsum, Values) {
  const Tensor a = float64({2, 2}, {1, 2, 3, 4});
  const Tensor b = float64({2, 2}, {5, 6, 7, 8});
  const auto einsum = [](const char* equation, List operands) {
    operands.insert(operands.begin(), std::string(equation));
    return forward("Torch", "einsum", operands);
  };
  EXPECT_EQ(einsum("ij,jk->ik", {a, b}), (Values{19, 22, 43, 50}));
  EXPECT_EQ(einsum("ij,jk", {a, b}), (Values{19, 22, 43, 50}));
  EXPECT_EQ(einsum("ba", {a}), (Values{1, 3, 2, 4}));
  EXPECT_EQ(einsum("ii", {a}), (Values{5}));
  EXPECT_EQ(einsum("ii->i", {a}), (Values{1, 4}));
  EXPECT_EQ(einsum("ij->", {a}), (Values{10}));
  EXPECT_EQ(einsum("ij, ij -> j", {a, b}), (Values{26, 44}));
  EXPECT_EQ(einsum("...j,j->...", {a, float64({2}, {1, 10})}), (Values{21, 43}));
  EXPECT_EQ(einsum("ij,jk,kl->il", {a, b, a}), (Values{19 + 66, 38 + 88, 43 + 150, 86 + 200}));
  EXPECT_EQ(forward("Torch", "einsum", {std::string("i,j->ij"), List{float64({2}, {1, 2}), float64({2}, {3, 4})}}),
            (Values{3, 4, 6, 8}));
  const List rows{std::int64_t{0}, std::int64_t{1}};
  const List columns{std::int64_t{1}, std::int64_t{2}};
  EXPECT_EQ(forward("Torch", "einsum", {a, rows, b, columns, List{std::int64_t{2}, std::int64_t{0}}}),
            (Values{19, 43, 22, 50}));
}

TEST(Einsum, Gradients) {
  check_gradients("Torch", "einsum",
                  {std::string("bij,bjk->bik"), uniform({2, 3, 4}, -1, 1, 1), uniform({2, 4, 2}, -1, 1, 2)});
  check_gradients("Torch", "einsum",
                  {std::string("...ik, ...j -> ij"), uniform({1, 2, 3}, -1, 1, 1), uniform({3}, -1, 1, 2)});
  check_gradients("Torch", "einsum",
                  {std::string("iji,jk->k"), uniform({3, 2, 3}, -1, 1, 1), uniform({2, 4}, -1, 1, 2)});
  check_gradients(
      "Torch", "einsum",
      {std::string("ab,bc,cd->da"), uniform({2, 3}, -1, 1, 1), uniform({3, 2}, -1, 1, 2), uniform({2, 2}, -1, 1, 3)});
  check_gradients("Torch", "einsum", {std::string("ij,ij->i"), uniform({1, 3}, -1, 1, 1), uniform({2, 3}, -1, 1, 2)});
}

TEST(Einsum, RefusesBadEquations) {
  const Tensor a = uniform({2, 3}, -1, 1, 1);
  for (const char* equation : {"ij,jk", "i", "ijk", "ij->k", "ij->ii", "i1", "ii", ".ij"}) {
    EXPECT_THROW(forward("Torch", "einsum", {std::string(equation), a}), SkipError) << equation;
  }
  EXPECT_THROW(forward("Torch", "einsum", {std::string("ij,ij"), a, uniform({2, 2}, -1, 1, 1)}), SkipError);
}

TEST(Cdist, NormsAndGradients) {
  const Tensor x = float64({1, 2}, {0, 0});
  const Tensor y = float64({2, 2}, {3, 4, 0, 0});
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(forward("Torch", "cdist", {x, y}), (Values{5, 0}));
  EXPECT_EQ(forward("Torch", "cdist", {x, y}, {{"p", 1.}}), (Values{7, 0}));
  EXPECT_EQ(forward("Torch", "cdist", {x, y}, {{"p", 0.}}), (Values{2, 0}));
  EXPECT_EQ(forward("Torch", "cdist", {x, y}, {{"p", infinity}}), (Values{4, 0}));
  EXPECT_NEAR(forward("Torch", "cdist", {x, y}, {{"p", 3.}})[0], std::cbrt(91), 1e-14);
  // No gradient at distance 0.
  EXPECT_EQ(gradients("Torch", "cdist", {x, y})[0], (Values{-.6, -.8}));
  for (const double p : {1., 2., 3.5, infinity}) {
    check_gradients("Torch", "cdist", {uniform({2, 3, 20}, -1, 1, 1), uniform({4, 20}, -1, 1, 2)}, {{"p", p}});
  }
  EXPECT_THROW(forward("Torch", "cdist", {x, uniform({2, 3}, 0, 1, 1)}), SkipError);
  EXPECT_THROW(forward("Torch", "cdist", {x, y}, {{"p", -1.}}), SkipError);
}

}  // namespace
}  // namespace msrun
