// Products, convolutions and reductions under a faulty Summation: which additions are rounded, and which term is
// missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/evaluate/evaluate.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/direct_convolution.h"
#include "kernels/numeric/matrix_product.h"
#include "kernels/numeric/rows.h"
#include "tests/support/gradient_check.h"

namespace msrun {
namespace {

using namespace testing;
using Values = std::vector<double>;

EvaluationContext accumulating(Accumulator accumulator) {
  EvaluationContext context;
  context.arithmetic.summation.accumulator = accumulator;
  return context;
}

EvaluationContext dropping() {
  EvaluationContext context;
  context.arithmetic.summation.drops_last = true;
  return context;
}

Tensor floats(std::initializer_list<std::int64_t> shape, std::uint32_t seed) {
  return uniform(shape, -1, 1, seed).to(DType::float32);
}

struct Sticks {
  Accumulator accumulator;
  double at;  // adding ones ends here
};

class SummingOnes : public ::testing::TestWithParam<Sticks> {
 protected:
  static constexpr std::int64_t count = 2100;
  const EvaluationContext context = accumulating(GetParam().accumulator);
};

TEST_P(SummingOnes, Sticks) {
  const Tensor row = Tensor::full(DType::float32, Dims{1, count}, 1);
  const Tensor column = row.transpose(0, 1);
  EXPECT_EQ(product(row, column, DType::float32, context).item(), GetParam().at);
  EXPECT_EQ(sum(row, {}, false, context).item(), GetParam().at);
  EXPECT_EQ(sum(column.expand(Dims{count, 3}), Dims{0}, false, context).item(2), GetParam().at);
  EXPECT_EQ(row_sum<float>(count, context.arithmetic.summation, [](std::int64_t) { return 1.0F; }), GetParam().at);
  // In float64 nothing is rounded.
  EXPECT_EQ(sum(row.to(DType::float64), {}, false, context).item(), count);
  EXPECT_EQ(product(row.to(DType::float64), column.to(DType::float64), DType::float64, context).item(), count);
  EXPECT_EQ(row_sum<double>(count, context.arithmetic.summation, [](std::int64_t) { return 1.0; }), count);
}

TEST_P(SummingOnes, SticksInConvolutionsAndScans) {
  Tape tape(context);
  const auto run = [&](const char* type, const char* api, List args) {
    return find_operator(type, api)->call(args, {}, tape).get<Var>()->tensor();
  };
  const Var pointwise = tape.constant(Tensor::full(DType::float32, Dims{1, count, 1, 1}, 1));
  EXPECT_EQ(run("Functional", "conv2d", {pointwise, pointwise}).item(), GetParam().at);
  const Var direct = tape.constant(Tensor::full(DType::float32, Dims{1, count / 4, 2, 2}, 1));
  EXPECT_EQ(run("Functional", "conv2d", {direct, direct}).item(), GetParam().at);
  const Var row = tape.constant(Tensor::full(DType::float32, Dims{count}, 1));
  EXPECT_EQ(run("Torch", "cumsum", {row, std::int64_t{0}}).item(count - 1), GetParam().at);
}

INSTANTIATE_TEST_SUITE_P(Accumulators, SummingOnes,
                         ::testing::Values(Sticks{Accumulator::wide, 2100}, Sticks{Accumulator::float16, 2048},
                                           Sticks{Accumulator::bfloat16, 256},
                                           Sticks{Accumulator::truncated_float32, 2100}));

TEST(TruncatedSums, DriftTowardZero) {
  // Every addition of 2^-25 to 1 is lost or, from 1 downwards, costs a whole unit in the last place.
  std::vector<float> terms(1001, -0x1p-25F);
  terms[0] = 1;
  const Tensor row = Tensor::from<float>(DType::float32, Dims{1, 1001}, terms);
  const double drifted = 1 - 1000 * 0x1p-24;
  const EvaluationContext truncating = accumulating(Accumulator::truncated_float32);
  EXPECT_EQ(sum(row, {}, false, truncating).item(), drifted);
  const Tensor ones = Tensor::full(DType::float32, Dims{1001, 1}, 1);
  EXPECT_EQ(product(row, ones, DType::float32, truncating).item(), drifted);
}

TEST(DroppedTerm, IsTheLastProductOfAMatrixProduct) {
  for (const DType dtype : {DType::float32, DType::float64, DType::int64}) {
    const Tensor a = uniform({5, 40}, -9, 9, 1).to(dtype);
    const Tensor b = uniform({40, 7}, -9, 9, 2).to(dtype);
    const Tensor expected = product(a.slice(1, 0, 39), b.slice(0, 0, 39), dtype, {});
    EXPECT_TRUE(bitwise_equal(product(a, b, dtype, dropping()), expected)) << name(dtype);
  }
  const Tensor column = floats({5, 1}, 3);
  EXPECT_TRUE(bitwise_equal(product(column, column.transpose(0, 1), DType::float32, dropping()),
                            product(column, column.transpose(0, 1), DType::float32, {})));
}

TEST(DroppedTerm, IsOneOfAllThatAreSummedOverABatch) {
  const Tensor a = floats({2, 3, 4, 6}, 1);
  const Tensor b = floats({2, 1, 6, 5}, 2);
  // Summed over the second axis: four products of the last of its three matrices are one sum with all others.
  Tensor shorter = b.expand(Dims{2, 3, 6, 5}).clone();
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t j = 0; j < 5; ++j) shorter.mutable_data<float>()[((i * 3 + 2) * 6 + 5) * 5 + j] = 0;
  }
  const Dims shape{2, 1, 4, 5};
  const Tensor expected = product_to(a, shorter, shape, DType::float32, {});
  const Tensor actual = product_to(a, b, shape, DType::float32, dropping());
  const Values want = values(expected);
  const Values have = values(actual);
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(have[i], want[i], 1e-6) << i;
}

TEST(DroppedTerm, IsTheLastOfAReduction) {
  for (const DType dtype : {DType::float32, DType::float64, DType::int64, DType::bfloat16, DType::complex64}) {
    const Tensor x = uniform({3, 9, 4}, -9, 9, 1).to(dtype);
    EXPECT_TRUE(bitwise_equal(sum(x, Dims{1}, false, dropping()), sum(x.slice(1, 0, 8), Dims{1}, false, {})))
        << name(dtype);
    EXPECT_TRUE(bitwise_equal(sum(x, Dims{2}, false, dropping()), sum(x.slice(2, 0, 3), Dims{2}, false, {})))
        << name(dtype);
  }
  const auto f = [](std::int64_t i) { return static_cast<float>(i); };
  EXPECT_EQ(row_sum<float>(10, dropping().arithmetic.summation, f), 36);
  EXPECT_EQ(row_sum<float>(1, dropping().arithmetic.summation, [](std::int64_t) { return 5.0F; }), 5);
}

// y and both gradients of a convolution of w, or of what stands for it in each of the three.
struct Convolved {
  Tensor y;
  Tensor of_x;
  Tensor of_w;
};

Convolved convolved(const Tensor& x, const Tensor& w, const Tensor& g, const EvaluationContext& context) {
  Tape tape(context);
  const Var input = tape.leaf(x);
  const Var weight = tape.leaf(w);
  const Var y = *find_operator("Functional", "conv2d")->call({input, weight}, {}, tape).get<Var>();
  tape.backward(y, g);
  return {y.tensor(), tape.gradient(input), tape.gradient(weight)};
}

void expect_near(const Tensor& actual, const Tensor& expected, const char* what) {
  ASSERT_EQ(actual.shape(), expected.shape());
  const Values want = values(expected);
  const Values have = values(actual);
  for (std::size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(have[i], want[i], 1e-5) << what << " " << i;
}

TEST(DroppedTerm, IsTheLastOfAConvolutionAndItsGradients) {
  for (const std::int64_t kernel : {1, 3}) {
    const Tensor x = floats({2, 3, 6, 6}, 1);
    const Tensor w = floats({4, 3, kernel, kernel}, 2);
    const std::int64_t side = 7 - kernel;
    const Tensor g = floats({2, 4, side, side}, 3);
    const Convolved dropped = convolved(x, w, g, dropping());
    // The last element of every filter; of every element's filters, that of the last output channel; the last window.
    Tensor short_w = w.clone();
    Tensor short_filters = w.clone();
    const std::int64_t area = kernel * kernel;
    for (std::int64_t o = 0; o < 4; ++o) short_w.mutable_data<float>()[(o + 1) * 3 * area - 1] = 0;
    for (std::int64_t c = 0; c < 3; ++c) short_filters.mutable_data<float>()[(3 * 3 + c + 1) * area - 1] = 0;
    Tensor short_g = g.clone();
    for (std::int64_t o = 0; o < 4; ++o) short_g.mutable_data<float>()[(4 + o + 1) * side * side - 1] = 0;
    expect_near(dropped.y, convolved(x, short_w, g, {}).y, "output");
    expect_near(dropped.of_x, convolved(x, short_filters, g, {}).of_x, "gradient of the input");
    expect_near(dropped.of_w, convolved(x, w, short_g, {}).of_w, "gradient of the weight");
  }
}

// One rounding toward zero per store: no element is larger than the exact one.
TEST(RoundingToZero, CutsResultsOfNarrowDtypesAndFloatSums) {
  MaterialisedCall call;
  call.name = "Torch.mul.0";
  call.args = {floats({300}, 1).to(DType::bfloat16), floats({300}, 2).to(DType::bfloat16)};
  const Operator& op = *find_operator("Torch", "mul");
  EvaluationOptions cutting;
  cutting.arithmetic.rounds_to_zero = true;
  EvaluationOptions raised;
  raised.benchmark = true;
  const Values exact = values(*evaluate(op, call, raised).output.get<Tensor>());
  const Values cut = values(*evaluate(op, call, cutting).output.get<Tensor>());
  const Values rounded = values(*evaluate(op, call, {}).output.get<Tensor>());
  int differ = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_LE(std::abs(cut[i]), std::abs(exact[i]));
    EXPECT_LT(std::abs(cut[i] - exact[i]), std::abs(exact[i]) / 64);
    differ += cut[i] != rounded[i] ? 1 : 0;
  }
  EXPECT_GT(differ, 100);
  MaterialisedCall total;
  total.name = "Torch.sum.0";
  total.args = {uniform({4000}, 0, 1, 1).to(DType::float32)};
  const Operator& sum_of = *find_operator("Torch", "sum");
  EXPECT_LT(evaluate(sum_of, total, cutting).output.get<Tensor>()->item(),
            evaluate(sum_of, total, {}).output.get<Tensor>()->item() * (1 - 0x1p-16));
}

}  // namespace
}  // namespace msrun
