// Singular and eigenvalue decompositions, what is made of them, and statistics of matrices, by identities that define
// them.
#include <gtest/gtest.h>

#include <complex>
#include <numeric>

#include "kernels/base/error.h"
#include "tests/kernels/ops/matrices.h"

namespace msrun::testing {
namespace {

Tensor symmetric(std::uint64_t seed) {
  const Tensor a = regular(3, 3, seed);
  Values sum = values(a);
  const Values other = values(adjoint(a));
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
  return float64({2, 3, 3}, sum);
}

TEST(SingularValues, EqualOnesShareTheGradientOfANorm) {
  // Zeros too, although the magnitude of a zero has no gradient.
  expect_near(gradients("Torch", "linalg.matrix_norm", {float64({2, 2}, {0, 0, 0, 0}), std::int64_t{-2}})[0],
              {.5, 0, 0, .5}, 1e-15);
  expect_near(gradients("Torch", "linalg.matrix_norm", {float64({2, 2}, {3, 0, 0, 3}), std::int64_t{2}})[0],
              {.5, 0, 0, .5}, 1e-15);
}

TEST(Eigenvalues, GradientsOfVectorsAreSymmetric) {
  // Of an upstream gradient only what turns the vectors counts: half of it, over the difference of the values.
  const Tensor diagonal = float64({2, 2}, {1, 0, 0, 3});
  const Tensor g = float64({2, 2}, {0, 1, 0, 0});
  for (const char* api : {"linalg.eigh", "symeig"}) {
    const Values result =
        gradients("Torch", api, {diagonal, Value(std::string(api) == "symeig" ? Value(true) : Value(std::string("L")))},
                  {}, g, 1)[0];
    EXPECT_NEAR(std::abs(result[1]), .25, 1e-15);
    EXPECT_EQ(result[1], result[2]);
  }
}

TEST(SingularValues, OfNothing) {
  // Full factors are orthogonal also where the matrix has no columns or rows.
  EXPECT_EQ(forward("Torch", "svd", {float64({2, 0}, {}), false}), (Values{1, 0, 0, 1}));
  EXPECT_EQ(forward("Torch", "linalg.svd", {float64({0, 2}, {})}, {}, 2), (Values{1, 0, 0, 1}));
  EXPECT_EQ(forward("Torch", "linalg.qr", {float64({2, 0}, {})}, {{"mode", std::string("complete")}}),
            (Values{1, 0, 0, 1}));
  EXPECT_EQ(result_of("Torch", "svd", {float64({2, 0}, {})}).shape(), (Dims{2, 0}));
}

TEST(PseudoInverse, GradientOfTheMatrixAsGiven) {
  // Read as diag(2, 4); the 100 counts in A of (g^T Y Y^T - A Y g^T Y Y^T) + (Y^T Y g^T - Y^T Y g^T Y A) - Y^T g Y^T.
  const Tensor a = float64({2, 2}, {2, 100, 0, 4});
  expect_near(gradients("Torch", "linalg.pinv", {a}, {{"hermitian", true}}, float64({2, 2}, {1, 0, 0, 0}))[0],
              {-.25, -12.5, 0, 0}, 1e-13);
}

TEST(Eigenvalues, OfSymmetricMatrices) {
  const Tensor a = symmetric(17);
  const Tensor l = result_of("Torch", "linalg.eigh", {a});
  const Tensor v = result_of("Torch", "linalg.eigh", {a}, {}, 1);
  const Tensor av = times(a, v);
  for (std::int64_t i = 0; i < v.numel(); ++i) {
    EXPECT_NEAR(av.item(i), v.item(i) * l.item(i / 9 * 3 + i % 3), 1e-13);
  }
  EXPECT_LE(l.item(0), l.item(1));
  EXPECT_EQ(forward("Torch", "symeig", {a}), forward("Torch", "eigvalsh", {a}, {{"UPLO", std::string("U")}}));
  EXPECT_EQ(result_of("Tensor", "symeig", {a}, {}, 1).numel(), 0);
  EXPECT_EQ(result_of("Tensor", "symeig", {a, true}, {}, 1).shape(), (Dims{2, 3, 3}));
  // Only one triangle is read.
  EXPECT_EQ(forward("Torch", "symeig", {result_of("Torch", "triu", {a})}), forward("Torch", "symeig", {a}));
  // The gradient is that of a symmetric argument: compare along symmetric directions.
  for (const std::size_t output : {0U, 1U}) {
    const Tensor g = uniform(output == 0 ? Dims{2, 3} : Dims{2, 3, 3}, -1, 1, 18);
    const Values analytic = gradients("Torch", "linalg.eigh", {a}, {}, g, output)[0];
    const auto along = [&](std::size_t i, std::size_t j, double h) {
      Values moved = values(a);
      moved[i * 3 + j] += h;
      if (i != j) moved[j * 3 + i] += h;
      const Values y = forward("Torch", "linalg.eigh", {float64({2, 3, 3}, moved)}, {}, output);
      double total = 0;
      for (std::size_t k = 0; k < y.size(); ++k) total += y[k] * g.item(static_cast<std::int64_t>(k));
      return total;
    };
    for (std::size_t i = 0; i < 3; ++i) {
      for (std::size_t j = 0; j <= i; ++j) {
        const double expected = i == j ? analytic[i * 4] : analytic[i * 3 + j] + analytic[j * 3 + i];
        EXPECT_NEAR((along(i, j, 1e-5) - along(i, j, -1e-5)) / 2e-5, expected, 1e-7);
      }
    }
  }
  EXPECT_THROW(forward("Torch", "eigh", {a}, {{"UPLO", std::string("X")}}), SkipError);
  EXPECT_THROW(forward("Torch", "eigh", {float64({1, 1}, {std::nan("")})}), SkipError);
}

TEST(Eigenvalues, OfGeneralMatrices) {
  const Tensor turn = float64({2, 2}, {0, -2, 2, 0});
  const Tensor values_of = result_of("Torch", "linalg.eig", {turn});
  ASSERT_EQ(values_of.dtype(), DType::complex128);
  const auto* l = values_of.data<std::complex<double>>();
  EXPECT_NEAR(std::abs(l[0] - std::complex<double>(0, 2)), 0, 1e-15);
  EXPECT_NEAR(std::abs(l[1] - std::complex<double>(0, -2)), 0, 1e-15);
  const Tensor a = uniform({2, 4, 4}, -1, 1, 19);
  const Tensor lambda = result_of("Torch", "eig", {a});
  const Tensor vectors = result_of("Torch", "eig", {a}, {}, 1);
  const auto* v = vectors.data<std::complex<double>>();
  for (std::int64_t m = 0; m < 2; ++m) {
    for (std::int64_t i = 0; i < 4; ++i) {
      double length = 0;
      for (std::int64_t j = 0; j < 4; ++j) {
        std::complex<double> product = 0;
        for (std::int64_t k = 0; k < 4; ++k) product += a.item(m * 16 + i * 4 + k) * v[m * 16 + k * 4 + j];
        EXPECT_LT(std::abs(product - lambda.data<std::complex<double>>()[m * 4 + j] * v[m * 16 + i * 4 + j]), 1e-13);
        length += std::norm(v[m * 16 + j * 4 + i]);
      }
      EXPECT_NEAR(length, 1, 1e-14);
    }
  }
  EXPECT_EQ(result_of("Torch", "eigvals", {a.to(DType::float32)}).dtype(), DType::complex64);
  // The form of old: pairs of real numbers.
  EXPECT_EQ(result_of("Torch", "eig", {a}, {{"eigenvectors", true}}).shape(), (Dims{2, 4, 2}));
  check_gradients("Tensor", "eig", {a});
  check_gradients("Tensor", "eig", {float64({3, 3}, {1, .2, -.3, .1, 5, .4, -.2, .3, 9}), true}, {}, 1);
  EXPECT_THROW(gradients("Tensor", "eig", {turn, true}, {}, {}, 1), SkipError);
}

TEST(SingularValues, GradientOfVectors) {
  for (const Tensor& a : {uniform({2, 4, 3}, -1, 1, 21), uniform({2, 3, 4}, -1, 1, 22), uniform({3, 3}, -1, 1, 23)}) {
    check_gradients("Torch", "svd", {a}, {}, 0, 1e-5);
    check_gradients("Torch", "svd", {a}, {}, 2, 1e-5);
    check_gradients("Torch", "linalg.svd", {a}, {{"full_matrices", false}}, 2, 1e-5);
  }
  const Tensor a = uniform({4, 3}, -1, 1, 24);
  EXPECT_EQ(result_of("Torch", "svd", {a, true, false}, {}, 0).shape(), (Dims{4, 4}));
  EXPECT_EQ(result_of("Torch", "svd", {a, true, false}, {}, 0).item(5), 0);
  // linalg.svd under the plain name: V is transposed.
  EXPECT_EQ(result_of("Torch", "svd", {a.transpose(0, 1)}, {{"full_matrices", false}}, 2).shape(), (Dims{3, 4}));
}

TEST(SingularValues, RankAndCondition) {
  const Tensor a = float64({3, 2, 2}, {1, 0, 0, 1e-20, 1, 2, 3, 4, 0, 0, 0, 0});
  EXPECT_EQ(forward("Torch", "linalg.matrix_rank", {a}), (Values{1, 2, 0}));
  EXPECT_EQ(result_of("Torch", "matrix_rank", {a}).dtype(), DType::int64);
  EXPECT_EQ(forward("Torch", "matrix_rank", {a, 2.}), (Values{0, 1, 0}));
  EXPECT_EQ(forward("Torch", "matrix_rank", {a}, {{"atol", 1e-30}}), (Values{2, 2, 0}));
  EXPECT_EQ(forward("Torch", "matrix_rank", {a}, {{"rtol", float64({3}, {0.5, 0.5, 0.5})}}), (Values{1, 1, 0}));
  EXPECT_EQ(forward("Torch", "matrix_rank", {float64({2, 2}, {1, 7, 1, 1})}, {{"hermitian", true}}), (Values{1}));
  EXPECT_EQ(forward("Torch", "matrix_rank", {a, 2., false}, {}), (Values{0, 1, 0}));
  const Tensor diagonal = float64({2, 2}, {4, 0, 0, -2});
  EXPECT_NEAR(forward("Torch", "linalg.cond", {diagonal})[0], 2, 1e-15);
  EXPECT_NEAR(forward("Torch", "linalg.cond", {diagonal, std::int64_t{-2}})[0], .5, 1e-15);
  EXPECT_NEAR(forward("Torch", "linalg.cond", {diagonal, std::string("fro")})[0], std::sqrt(20. * 5 / 16), 1e-14);
  EXPECT_TRUE(std::isinf(forward("Torch", "linalg.cond", {a, std::int64_t{1}})[2]));
  check_gradients("Torch", "linalg.cond", {regular(3, 2, 25)});
  check_gradients("Torch", "linalg.cond", {regular(3, 3, 25), std::string("nuc")});
  check_gradients("Torch", "linalg.cond", {regular(3, 3, 25), std::numeric_limits<double>::infinity()});
  expect_near(forward("Torch", "linalg.pinv", {float64({2, 2}, {2, 0, 0, 1e-3})}, {{"atol", .1}}), {.5, 0, 0, 0},
              1e-15);
}

TEST(SingularValues, NormsUnderTheirOtherNames) {
  const Tensor a = uniform({3, 2}, -1, 1, 26);
  const Value nuclear = std::string("nuc");
  EXPECT_EQ(forward("Torch", "linalg.norm", {a, nuclear}), forward("Torch", "nuclear_norm", {a}));
  EXPECT_EQ(forward("Torch", "norm", {a}, {{"p", nuclear}}), forward("Torch", "nuclear_norm", {a}));
  EXPECT_EQ(forward("Torch", "norm", {a}, {{"ord", std::int64_t{2}}}),
            forward("Torch", "linalg.matrix_norm", {a, std::int64_t{2}}));
  EXPECT_EQ(result_of("Torch", "norm", {uniform({2, 3, 2}, -1, 1, 1), nuclear, List{std::int64_t{0}, std::int64_t{2}}})
                .shape(),
            (Dims{3}));
  check_gradients("Torch", "linalg.norm", {a, std::int64_t{-2}});
}

TEST(Statistics, Covariance) {
  const Tensor x = float64({2, 3}, {0, 1, 2, 2, 1, 0});
  EXPECT_EQ(forward("Torch", "cov", {x}), (Values{1, -1, -1, 1}));
  EXPECT_EQ(forward("Torch", "cov", {x}, {{"correction", std::int64_t{0}}}),
            (Values{2. / 3, -2. / 3, -2. / 3, 2. / 3}));
  EXPECT_EQ(result_of("Torch", "cov", {float64({3}, {1, 2, 3})}).shape(), (Dims{}));
  // An observation of frequency 2 counts like one that is given twice.
  const Tensor twice = float64({2, 4}, {0, 1, 1, 2, 2, 1, 1, 5});
  const Tensor once = float64({2, 3}, {0, 1, 2, 2, 1, 5});
  expect_near(forward("Torch", "cov", {once}, {{"fweights", int64({3}, {1, 2, 1})}}), forward("Torch", "cov", {twice}),
              1e-15);
  // Two variables with weights 1, 3: mean 1.5, total 4, freedom 4 - 10 / 4.
  expect_near(forward("Torch", "cov", {float64({2}, {0, 2})}, {{"aweights", float64({2}, {1, 3})}}),
              {(1 * 2.25 + 3 * .25) / 1.5}, 1e-15);
  EXPECT_EQ(forward("Tensor", "corrcoef", {x}), (Values{1, -1, -1, 1}));
  check_gradients("Torch", "cov", {uniform({3, 5}, -1, 1, 1)});
  check_gradients("Torch", "cov", {uniform({3, 5}, -1, 1, 1)}, {{"aweights", uniform({5}, 1, 2, 2)}});
  check_gradients("Tensor", "corrcoef", {uniform({3, 5}, -1, 1, 1)});
  EXPECT_THROW(forward("Torch", "cov", {uniform({2, 2, 2}, 0, 1, 1)}), SkipError);
  EXPECT_THROW(forward("Torch", "cov", {x}, {{"fweights", int64({2}, {1, 2})}}), SkipError);
}

TEST(Statistics, Trapezoids) {
  const Tensor y = float64({2, 3}, {1, 2, 4, 0, 2, 2});
  EXPECT_EQ(forward("Torch", "trapz", {y}), (Values{4.5, 3}));
  EXPECT_EQ(forward("Torch", "trapezoid", {y}, {{"dx", 2.}}), (Values{9, 6}));
  EXPECT_EQ(forward("Torch", "trapz", {y, float64({3}, {0, 1, 3})}), (Values{7.5, 5}));
  EXPECT_EQ(forward("Torch", "trapz", {y}, {{"dim", std::int64_t{0}}}), (Values{.5, 2, 3}));
  EXPECT_EQ(forward("Torch", "cumulative_trapezoid", {y}), (Values{1.5, 4.5, 1, 3}));
  check_gradients("Torch", "trapz", {uniform({2, 3}, -1, 1, 1), uniform({2, 3}, -1, 1, 2)});
  // Of integers the sum of two points wraps around, and so does its product with their distance.
  const Tensor bytes = float64({4}, {100, 100, 100, 3}).to(DType::int8);
  EXPECT_EQ(forward("Torch", "trapezoid", {bytes}), (Values{251.5}));
  EXPECT_EQ(forward("Torch", "trapezoid", {float64({2}, {127, 127}).to(DType::int8)}, {{"dx", 2.}}), (Values{510}));
  EXPECT_EQ(forward("Torch", "trapezoid", {bytes, float64({4}, {0, 1, 3, 4}).to(DType::int8)}), (Values{-32.5}));
  EXPECT_EQ(forward("Torch", "cumulative_trapezoid", {bytes}), (Values{-28, -56, -4.5}));
  check_gradients("Torch", "cumulative_trapezoid", {uniform({3, 2}, -1, 1, 1), uniform({3}, -1, 1, 2)},
                  {{"dim", std::int64_t{0}}});
  EXPECT_THROW(forward("Torch", "trapz", {y, float64({2}, {0, 1})}), SkipError);
  EXPECT_THROW(forward("Torch", "trapz", {float64({}, {1})}), SkipError);
}

TEST(Statistics, Vandermonde) {
  EXPECT_EQ(forward("Torch", "vander", {float64({2}, {2, 3})}, {{"N", std::int64_t{3}}}), (Values{4, 2, 1, 9, 3, 1}));
  EXPECT_EQ(forward("Torch", "linalg.vander", {float64({2}, {2, 3})}), (Values{1, 2, 1, 3}));
  EXPECT_EQ(result_of("Torch", "vander", {int64({2}, {2, 3}), std::int64_t{3}, true}).dtype(), DType::int64);
  EXPECT_EQ(forward("Torch", "vander", {int64({1}, {-2}), std::int64_t{4}, true}), (Values{1, -2, 4, -8}));
  check_gradients("Torch", "linalg.vander", {uniform({2, 3}, -1, 1, 1)}, {{"N", std::int64_t{4}}});
  check_gradients("Torch", "vander", {uniform({3}, -1, 1, 1), std::int64_t{4}});
  EXPECT_THROW(forward("Torch", "vander", {float64({1}, {1}), std::int64_t{-1}}), SkipError);
}

TEST(Distances, CondensedPairs) {
  const Tensor x = float64({3, 2}, {0, 0, 3, 4, 0, 1});
  expect_near(forward("Functional", "pdist", {x}), {5, 1, std::sqrt(18)}, 1e-15);
  EXPECT_EQ(forward("Torch", "pdist", {x, 1.}), (Values{7, 1, 6}));
  for (const double p : {1., 2., 3., std::numeric_limits<double>::infinity()}) {
    check_gradients("Torch", "pdist", {uniform({4, 3}, -1, 1, 1), p});
  }
  EXPECT_EQ(result_of("Torch", "pdist", {uniform({1, 3}, -1, 1, 1)}).shape(), (Dims{0}));
  EXPECT_THROW(forward("Torch", "pdist", {uniform({2, 2, 2}, 0, 1, 1)}), SkipError);
}

}  // namespace
}  // namespace msrun::testing
