// Linear algebra: worked values, defining identities, gradients, refusals.
#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "kernels/numeric/matrix_product.h"
#include "tests/support/gradient_check.h"

namespace msrun {
namespace {

using namespace testing;
using Values = std::vector<double>;

void expect_near(const Values& actual, const Values& expected, double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
}

// Well conditioned: random with a dominant diagonal, a batch of two.
Tensor regular(std::uint64_t seed) {
  Values data = values(uniform({2, 3, 3}, -1, 1, seed));
  for (std::size_t m = 0; m < 2; ++m) {
    for (std::size_t i = 0; i < 3; ++i) data[m * 9 + i * 4] += 3 + static_cast<double>(i);
  }
  return float64({2, 3, 3}, data);
}

Tensor positive_definite(std::uint64_t seed) {
  const Tensor a = regular(seed);
  return product(a, a.transpose(-1, -2), DType::float64, {});
}

TEST(Linalg, Inverse) {
  EXPECT_EQ(forward("Torch", "inverse", {float64({2, 2}, {2, 0, 0, 4})}), (Values{.5, 0, 0, .25}));
  const Tensor a = regular(1);
  const Tensor identity = product(a, result_of("Torch", "inv", {a}), DType::float64, {});
  expect_near(values(identity.select(0, 1)), {1, 0, 0, 0, 1, 0, 0, 0, 1}, 1e-14);
  check_gradients("Torch", "linalg.inv", {a});
  EXPECT_THROW(forward("Torch", "inv", {float64({2, 2}, {1, 2, 2, 4})}), SkipError);
  EXPECT_THROW(forward("Torch", "inv", {uniform({2, 3}, 0, 1, 1)}), SkipError);
  Tape tape;
  const Var half = tape.constant(Tensor::full(DType::bfloat16, Dims{1, 1}, 4));
  EXPECT_EQ(find_operator("Tensor", "inverse")->call({half}, {}, tape).get<Var>()->tensor().item(), .25);
}

TEST(Linalg, Determinants) {
  const Tensor a = float64({2, 2}, {1, 2, 3, 4});
  EXPECT_NEAR(forward("Torch", "det", {a})[0], -2, 1e-15);
  EXPECT_EQ(forward("Torch", "slogdet", {a})[0], -1);
  EXPECT_NEAR(forward("Torch", "slogdet", {a}, {}, 1)[0], std::log(2), 1e-15);
  EXPECT_TRUE(std::isnan(forward("Torch", "logdet", {a})[0]));
  check_gradients("Torch", "det", {regular(2)});
  check_gradients("Torch", "slogdet", {regular(2)}, {}, 1);
  check_gradients("Torch", "logdet", {positive_definite(2)});
  // A singular matrix has a gradient: its cofactors.
  expect_near(gradients("Torch", "linalg.det", {float64({2, 2}, {1, 2, 2, 4})})[0], {4, -2, -2, 1}, 1e-13);
}

TEST(Linalg, Solve) {
  EXPECT_EQ(forward("Torch", "linalg.solve", {float64({2, 2}, {2, 0, 0, 4}), float64({2}, {2, 2})}), (Values{1, .5}));
  check_gradients("Torch", "linalg.solve", {regular(3), uniform({2, 3, 2}, -1, 1, 4)});
  check_gradients("Torch", "linalg.solve", {regular(3), uniform({2, 3}, -1, 1, 4)});
  check_gradients("Torch", "linalg.solve", {regular(3).select(0, 0), uniform({2, 3, 2}, -1, 1, 4)});
  check_gradients("Torch", "linalg.solve", {regular(3), uniform({2, 2, 3}, -1, 1, 4)}, {{"left", false}});
  EXPECT_THROW(forward("Torch", "linalg.solve", {regular(3), uniform({2, 4, 2}, -1, 1, 4)}), SkipError);
  EXPECT_THROW(forward("Torch", "linalg.solve", {float64({1, 1}, {0}), float64({1, 1}, {1})}), SkipError);
}

TEST(Linalg, Cholesky) {
  EXPECT_EQ(forward("Torch", "cholesky", {float64({2, 2}, {4, 2, 2, 2})}), (Values{2, 0, 1, 1}));
  EXPECT_EQ(forward("Torch", "cholesky", {float64({2, 2}, {4, 2, 2, 2})}, {{"upper", true}}), (Values{2, 1, 0, 1}));
  EXPECT_THROW(forward("Torch", "cholesky", {float64({1, 1}, {-1})}), SkipError);
  // The gradient is that of a symmetric argument: compare for a symmetric perturbation, A = B + B^T.
  Tape tape;
  const Tensor a = positive_definite(5).select(0, 0);
  const Var leaf = tape.leaf(a);
  const Value l = find_operator("Torch", "cholesky")->call({leaf}, {}, tape);
  const Tensor g = uniform({3, 3}, -1, 1, 6);
  tape.backward(*l.get<Var>(), g);
  const Values analytic = values(tape.gradient(leaf));
  const Values weights = values(g);
  const auto weighted = [&](std::size_t i, std::size_t j, double h) {
    Values moved = values(a);
    moved[i * 3 + j] += h;
    if (i != j) moved[j * 3 + i] += h;
    const Values y = forward("Torch", "cholesky", {float64({3, 3}, moved)});
    double total = 0;
    for (std::size_t k = 0; k < 9; ++k) total += y[k] * weights[k];
    return total;
  };
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const double numeric = (weighted(i, j, 1e-5) - weighted(i, j, -1e-5)) / 2e-5;
      const double expected = i == j ? analytic[i * 4] : analytic[i * 3 + j] + analytic[j * 3 + i];
      EXPECT_NEAR(numeric, expected, 1e-7);
    }
  }
}

TEST(Linalg, SingularValues) {
  const Tensor a = uniform({2, 3, 4}, -1, 1, 7);
  const Tensor u = result_of("Torch", "svd", {a});
  const Tensor s = result_of("Torch", "svd", {a}, {}, 1);
  const Tensor v = result_of("Torch", "svd", {a}, {}, 2);
  EXPECT_EQ(v.shape(), (Dims{2, 4, 3}));
  Tensor scaled(DType::float64, u.shape());
  for (std::int64_t i = 0; i < u.numel(); ++i) scaled.mutable_data<double>()[i] = u.item(i) * s.item(i / 9 * 3 + i % 3);
  expect_near(values(product(scaled, v.transpose(1, 2), DType::float64, {})), values(a), 1e-13);
  EXPECT_EQ(result_of("Torch", "linalg.svd", {a}, {}, 2).shape(), (Dims{2, 4, 4}));
  check_gradients("Torch", "linalg.svdvals", {a});
  check_gradients("Torch", "svd", {a}, {}, 1);
  EXPECT_THROW(forward("Torch", "svd", {float64({1, 1}, {std::nan("")})}), SkipError);
}

TEST(Linalg, Qr) {
  const Tensor a = uniform({2, 4, 3}, -1, 1, 8);
  const Tensor q = result_of("Torch", "qr", {a});
  const Tensor r = result_of("Torch", "qr", {a}, {}, 1);
  expect_near(values(product(q, r, DType::float64, {})), values(a), 1e-14);
  const Tensor whole = result_of("Torch", "linalg.qr", {a, std::string("complete")});
  expect_near(values(product(whole.transpose(1, 2), whole, DType::float64, {}).select(0, 0)),
              {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}, 1e-14);
  check_gradients("Torch", "qr", {a}, {}, 0);
  check_gradients("Torch", "qr", {a}, {}, 1);
}

TEST(Linalg, PseudoInverse) {
  expect_near(forward("Torch", "pinverse", {float64({2, 1}, {3, 4})}), {3. / 25, 4. / 25}, 1e-15);
  check_gradients("Torch", "pinverse", {uniform({3, 2}, -1, 1, 9)});
  check_gradients("Torch", "linalg.pinv", {uniform({2, 2, 3}, -1, 1, 9)});
}

TEST(Linalg, PowersAndExponential) {
  const Tensor a = float64({2, 2}, {1, 1, 0, 1});
  EXPECT_EQ(forward("Torch", "matrix_power", {a, std::int64_t{5}}), (Values{1, 5, 0, 1}));
  EXPECT_EQ(forward("Torch", "matrix_power", {a, std::int64_t{-2}}), (Values{1, -2, 0, 1}));
  EXPECT_EQ(forward("Torch", "matrix_power", {a, std::int64_t{0}}), (Values{1, 0, 0, 1}));
  check_gradients("Torch", "linalg.matrix_power", {regular(1), std::int64_t{3}}, {}, 0, 1e-5);
  const double e = std::exp(3.0);
  expect_near(forward("Torch", "matrix_exp", {float64({2, 2}, {3, 3, 0, 3})}), {e, 3 * e, 0, e}, 1e-12);
  check_gradients("Torch", "matrix_exp", {uniform({2, 3, 3}, -1, 1, 2)});
}

TEST(Linalg, TraceAndCross) {
  EXPECT_EQ(forward("Tensor", "trace", {float64({2, 3}, {1, 2, 3, 4, 5, 6})}), (Values{6}));
  check_gradients("Tensor", "trace", {uniform({3, 2}, -1, 1, 1)});
  check_gradients("Tensor", "trace", {uniform({3, 2}, -1, 1, 1).transpose(0, 1)});
  const Tensor x = float64({3}, {1, 0, 0});
  const Tensor y = float64({3}, {0, 1, 0});
  EXPECT_EQ(forward("Torch", "cross", {x, y}), (Values{0, 0, 1}));
  // Without dim the first axis of size 3; linalg.cross uses the last.
  const Tensor square = uniform({3, 3}, -1, 1, 2);
  EXPECT_EQ(
      forward("Torch", "cross", {square, y.reshape(Dims{3, 1}).expand(Dims{3, 3})}),
      forward("Torch", "linalg.cross", {square, y.reshape(Dims{3, 1}).expand(Dims{3, 3})}, {{"dim", std::int64_t{0}}}));
  check_gradients("Torch", "linalg.cross", {uniform({2, 3}, -1, 1, 1), uniform({1, 3}, -1, 1, 2)});
  EXPECT_THROW(forward("Torch", "cross", {uniform({2}, 0, 1, 1), uniform({2}, 0, 1, 1)}), SkipError);
}

TEST(Linalg, MatrixNorms) {
  const Tensor a = float64({2, 2}, {1, -2, 3, 4});
  const double infinity = std::numeric_limits<double>::infinity();
  const auto norm = [&](const Value& ord) { return forward("Torch", "linalg.matrix_norm", {a, ord})[0]; };
  EXPECT_NEAR(norm(std::string("fro")), std::sqrt(30), 1e-14);
  EXPECT_EQ(norm(infinity), 7);
  EXPECT_EQ(norm(-infinity), 3);
  EXPECT_EQ(norm(std::int64_t{1}), 6);
  EXPECT_EQ(norm(std::int64_t{-1}), 4);
  EXPECT_NEAR(norm(std::int64_t{2}) * norm(std::int64_t{-2}), 10, 1e-13);
  EXPECT_NEAR(norm(std::string("nuc")), norm(std::int64_t{2}) + norm(std::int64_t{-2}), 1e-13);
  for (const Value& ord :
       {Value(std::string("fro")), Value(std::string("nuc")), Value(infinity), Value(std::int64_t{1}), Value(2.)}) {
    check_gradients("Torch", "linalg.matrix_norm", {uniform({3, 2, 2}, -1, 1, 3), ord});
  }
  EXPECT_EQ(result_of("Torch", "linalg.matrix_norm", {uniform({3, 2, 4}, -1, 1, 3)},
                      {{"dim", List{std::int64_t{0}, std::int64_t{2}}}, {"keepdim", true}})
                .shape(),
            (Dims{1, 2, 1}));
  check_gradients("Torch", "nuclear_norm", {uniform({3, 2}, -1, 1, 3)});
  EXPECT_THROW(norm(std::int64_t{3}), SkipError);
}

TEST(Distances, PairwiseDistance) {
  expect_near(
      forward("Functional", "pairwise_distance", {float64({1, 2}, {3, 4}), float64({1, 2}, {0, 0})}, {{"eps", 0.}}),
      {5}, 1e-15);
  check_gradients("Torch", "pairwise_distance", {uniform({2, 3}, -1, 1, 1), uniform({2, 3}, -1, 1, 2)},
                  {{"p", 3.}, {"keepdim", true}});
}

}  // namespace
}  // namespace msrun
