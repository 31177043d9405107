// Factorisations and what is solved with them. Packed factors are compared with those of LAPACK 3.11 (dgeqrf, dgetrf,
// dsytrf), printed once by a program of a few lines; the rest with defining identities.
#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "tests/kernels/ops/matrices.h"

namespace msrun::testing {
namespace {

const Tensor tall = float64({4, 3}, {7, 5, 8, 6, -8, 4, -7, -6, -5, 3, 4, -9});
const Tensor square = float64({3, 3}, {-1, -8, -5, 7, -9, -4, 4, -6, 5});
const Tensor flat = float64({2, 4}, {9, 2, -8, 7, -5, 0, 6, 2});

TEST(Factorisations, PackedQrIsThatOfLapack) {
  expect_near(forward("Torch", "geqrf", {tall}),
              {-11.9582607431014, -3.4285922410290706, -7.3589296880623944, 0.31648472828306795, 11.368586334490109,
               -2.043417584848835, -0.36923218299691257, 0.13105275262232211, -11.299141490400251, 0.15824236414153398,
               -0.12099413159371133, -0.95532656912414526},
              1e-13);
  expect_near(forward("Torch", "geqrf", {tall}, {}, 1), {1.5853694070049633, 1.9383330883319809, 1.0456702473941695},
              1e-14);
  expect_near(forward("Tensor", "geqrf", {square}, {}, 1), {1.1230914909793328, 1.8257432564441369, 0}, 1e-14);
  expect_near(forward("Tensor", "geqrf", {flat}),
              {-10.295630140987001, -1.7483145522430754, 9.9071157960440956, -5.1478150704934986, -0.25912602819740005,
               0.97128586235726411, 1.3598002073001698, 5.1478150704934995},
              1e-13);
  // The signs of qr are the same.
  EXPECT_NEAR(forward("Torch", "qr", {tall}, {}, 1)[0], -11.9582607431014, 1e-13);
  EXPECT_EQ(result_of("Torch", "linalg.qr", {tall, std::string("r")}).numel(), 0);
  EXPECT_THROW(forward("Torch", "geqrf", {float64({2}, {1, 2})}), SkipError);
}

TEST(Factorisations, ReflectorsMultiplied) {
  const Tensor a = regular(4, 3, 1);
  const Tensor packed = result_of("Torch", "geqrf", {a});
  const Tensor tau = result_of("Torch", "geqrf", {a}, {}, 1);
  const Tensor q = result_of("Torch", "linalg.householder_product", {packed, tau});
  expect_near(values(q), values(result_of("Torch", "qr", {a})), 1e-14);
  const Tensor whole = result_of("Torch", "qr", {a, false});
  const Tensor c = uniform({2, 4, 2}, -1, 1, 2);
  expect_near(values(result_of("Tensor", "ormqr", {packed, tau, c})), values(times(whole, c)), 1e-14);
  expect_near(values(result_of("Tensor", "ormqr", {packed, tau, c, true, true})), values(times(adjoint(whole), c)),
              1e-14);
  expect_near(values(result_of("Aten", "ormqr", {packed, tau, adjoint(c), false, true})),
              values(times(adjoint(c), adjoint(whole))), 1e-14);
  // Any factors, not only those of a factorisation.
  const Tensor v = uniform({2, 4, 3}, -1, 1, 3);
  const Tensor factors = uniform({2, 3}, 0.3, 1.5, 4);
  check_gradients("Tensor", "orgqr", {v, factors});
  check_gradients("Tensor", "ormqr", {v, factors, c});
  check_gradients("Tensor", "ormqr", {v, factors, adjoint(c), false, true});
  check_gradients("Tensor", "ormqr", {uniform({3, 3}, -1, 1, 3), uniform({2}, 0.3, 1.5, 4), uniform({3, 1}, -1, 1, 5)});
  EXPECT_THROW(forward("Tensor", "orgqr", {v, uniform({2, 5}, 0, 1, 1)}), SkipError);
  EXPECT_THROW(forward("Tensor", "orgqr", {adjoint(v), factors}), SkipError);
  EXPECT_THROW(forward("Tensor", "ormqr", {v, factors, uniform({2, 3, 3}, 0, 1, 1)}), SkipError);
}

TEST(Factorisations, GradientsOfQr) {
  const Tensor wide = uniform({2, 3, 5}, -1, 1, 31);
  const Tensor quadratic = uniform({2, 3, 3}, -1, 1, 32);
  for (const std::size_t output : {0U, 1U}) {
    check_gradients("Torch", "qr", {wide}, {}, output);
    check_gradients("Torch", "qr", {wide, false}, {}, output);
    check_gradients("Torch", "linalg.qr", {quadratic}, {{"mode", std::string("complete")}}, output);
    check_gradients("Torch", "qr", {adjoint(wide)}, {}, output);
  }
  EXPECT_THROW(gradients("Torch", "qr", {adjoint(wide), false}), SkipError);
}

TEST(Factorisations, PackedLuIsThatOfLapack) {
  expect_near(forward("Torch", "linalg.lu_factor", {tall}),
              {7, 5, 8, 0.8571428571428571, -12.285714285714285, -2.8571428571428568, 0.42857142857142855,
               -0.15116279069767444, -12.86046511627907, -1, 0.081395348837209308, -0.25135623869801088},
              1e-14);
  EXPECT_EQ(forward("Torch", "linalg.lu_factor", {tall}, {}, 1), (Values{1, 2, 4}));
  EXPECT_EQ(forward("Tensor", "lu", {square}, {}, 1), (Values{2, 2, 3}));
  expect_near(forward("Tensor", "lu", {flat}),
              {9, 2, -8, 7, -0.55555555555555558, 1.1111111111111112, 1.5555555555555554, 5.8888888888888893}, 1e-14);
  EXPECT_EQ(result_of("Torch", "lu_factor", {tall}, {}, 1).dtype(), DType::int32);
  // Without exchanges every row is its own pivot.
  EXPECT_EQ(forward("Torch", "linalg.lu_factor_ex", {square}, {{"pivot", false}}, 1), (Values{1, 2, 3}));
  const Tensor singular = float64({2, 2}, {1, 2, 2, 4});
  EXPECT_EQ(forward("Torch", "linalg.lu_factor_ex", {singular}, {}, 2), (Values{2}));
  EXPECT_THROW(forward("Torch", "linalg.lu_factor", {singular}), SkipError);
  EXPECT_EQ(forward("Tensor", "lu", {singular}, {{"get_infos", true}}, 2), (Values{2}));
}

TEST(Factorisations, LuParts) {
  for (const Tensor& a : {regular(3, 3, 1), uniform({2, 4, 3}, -1, 1, 2), uniform({2, 2, 4}, -1, 1, 3)}) {
    const Tensor p = result_of("Torch", "linalg.lu", {a});
    const Tensor l = result_of("Torch", "linalg.lu", {a}, {}, 1);
    const Tensor u = result_of("Torch", "linalg.lu", {a}, {}, 2);
    expect_near(values(times(p, times(l, u))), values(a), 1e-14);
    check_gradients("Torch", "linalg.lu_factor", {a});
    check_gradients("Torch", "linalg.lu", {a}, {}, 1);
    check_gradients("Torch", "linalg.lu", {a}, {}, 2);
    const Tensor packed = result_of("Tensor", "lu", {a});
    const Tensor pivots = result_of("Tensor", "lu", {a}, {}, 1);
    EXPECT_EQ(forward("Torch", "lu_unpack", {packed, pivots}), values(p));
    EXPECT_EQ(forward("Torch", "lu_unpack", {packed, pivots}, {}, 2), values(u));
    check_gradients("Torch", "lu_unpack", {packed, pivots}, {}, 1);
  }
  const Tensor zero = int64({3}, {0, 1, 1});
  EXPECT_THROW(forward("Torch", "lu_unpack", {square, zero}), SkipError);
  EXPECT_THROW(forward("Torch", "lu_unpack", {square, int64({2}, {1, 1})}), SkipError);
  EXPECT_EQ(result_of("Torch", "lu_unpack", {square, zero, true, false}).numel(), 0);
}

TEST(Factorisations, LuSolve) {
  const Tensor a = regular(3, 3, 4);
  const Tensor b = uniform({2, 3, 2}, -1, 1, 5);
  const Tensor packed = result_of("Tensor", "lu", {a});
  const Tensor pivots = result_of("Tensor", "lu", {a}, {}, 1);
  const Tensor x = result_of("Torch", "lu_solve", {b, packed, pivots});
  expect_near(values(times(a, x)), values(b), 1e-14);
  // linalg.lu_solve under the same name has the right side last.
  EXPECT_EQ(forward("Torch", "lu_solve", {packed, pivots, b}), values(x));
  const Tensor adjoint_x = result_of("Aten", "linalg_lu_solve", {packed, pivots, b}, {{"adjoint", true}});
  expect_near(values(times(adjoint(a), adjoint_x)), values(b), 1e-14);
  const Tensor right = result_of("Aten", "linalg_lu_solve", {packed, pivots, adjoint(b)}, {{"left", false}});
  expect_near(values(times(right, a)), values(adjoint(b)), 1e-14);
  check_gradients("Torch", "lu_solve", {b, packed, pivots});
  check_gradients("Aten", "linalg_lu_solve", {packed, pivots, adjoint(b)}, {{"left", false}, {"adjoint", true}});
  EXPECT_THROW(forward("Torch", "lu_solve", {b, packed, int64({2, 3}, {1, 2, 9, 1, 2, 3})}), SkipError);
  EXPECT_THROW(forward("Torch", "lu_solve", {uniform({4, 2}, 0, 1, 1), packed, pivots}), SkipError);
}

TEST(Factorisations, SymmetricFactorsAreThoseOfLapack) {
  // Only the lower triangle is read.
  const Tensor first = float64({4, 4}, {-2, 100, 100, 100, 9, -8, 100, 100, -7, -9, 2, 100, -3, 9, 0, -7});
  expect_near(forward("Torch", "linalg.ldl_factor", {first}),
              {-8, 0, 0, 0, -1.125, 12.125, 0, 0, 1.125, -1.4123711340206184, -16.061855670103089, 0, -1.125,
               -0.83505154639175261, 0.44672657252888326, -2.1245186136071892},
              1e-14);
  EXPECT_EQ(forward("Torch", "linalg.ldl_factor", {first}, {}, 1), (Values{2, 3, 3, 4}));
  const Tensor second = float64({6, 6}, {0.3, -4, 0,  5,    0,  -9, -4, 0, -7, -9, 6,  3, 0,  -7, 0.2, -1, -8, 8,
                                         5,   -9, -1, -0.2, -4, -7, 0,  6, -8, -4, .8, 4, -9, 3,  8,   -7, 4,  -0.3});
  const Tensor packed = result_of("Torch", "linalg.ldl_factor_ex", {second});
  const Tensor pivots = result_of("Torch", "linalg.ldl_factor_ex", {second}, {}, 1);
  expect_near(values(packed),
              {0.29999999999999999,
               0,
               0,
               0,
               0,
               0,
               -9,
               -0.29999999999999999,
               0,
               0,
               0,
               0,
               -0.88790233074361824,
               -0.029596744358120607,
               0.43677395486496484,
               0,
               0,
               0,
               0.79541250462449142,
               -0.52904180540140588,
               -10.462819089900112,
               -2.6896041435442104,
               0,
               0,
               -0.44395116537180912,
               -0.014798372179060304,
               -0.59523440660794469,
               0.72844900320210237,
               -6.9416642239443247,
               0,
               -0.34776174620791717,
               0.43285238623751388,
               0.47868478627944211,
               -0.28895246778114242,
               -0.44980499085709996,
               -9.2457783128048394},
              1e-13);
  EXPECT_EQ(values(pivots), (Values{-6, -6, -6, -6, 5, 6}));
  EXPECT_EQ(forward("Torch", "linalg.ldl_factor_ex", {second}, {}, 2), (Values{0}));
  const Tensor third = float64({6, 6}, {0.4, -5, -9, -4,   6, -3, -5, -0.1, -5, -5, 8,  6, -9, -5, -0.2, -8, -8, 1,
                                        -4,  -5, -8, -0.6, 8, -7, 6,  8,    -8, 8,  .1, 4, -3, 6,  1,    -7, 4,  -0.9});
  EXPECT_EQ(forward("Torch", "linalg.ldl_factor", {third}, {}, 1), (Values{-3, -3, 5, 4, -6, -6}));
  for (const Tensor& a : {second, third}) {
    const Tensor b = uniform({6, 2}, -1, 1, 3);
    const Tensor x = result_of(
        "Aten", "linalg_ldl_solve",
        {result_of("Torch", "linalg.ldl_factor", {a}), result_of("Torch", "linalg.ldl_factor", {a}, {}, 1), b});
    expect_near(values(times(a, x)), values(b), 1e-12);
  }
  const Tensor zeros = Tensor::zeros(DType::float64, Dims{2, 2});
  EXPECT_EQ(forward("Torch", "linalg.ldl_factor_ex", {zeros}, {}, 2), (Values{1}));
  EXPECT_THROW(forward("Torch", "linalg.ldl_factor", {zeros}), SkipError);
  EXPECT_THROW(forward("Aten", "linalg_ldl_solve", {packed, int64({6}, {-6, 1, 1, 1, 1, 1}), uniform({6, 1}, 0, 1, 1)}),
               SkipError);
}

TEST(Solvers, Triangular) {
  const Tensor a = regular(3, 3, 6);
  const Tensor b = uniform({2, 3, 2}, -1, 1, 7);
  const Tensor upper = result_of("Torch", "triu", {a});
  const Tensor x = result_of("Torch", "triangular_solve", {b, a});
  expect_near(values(times(upper, x)), values(b), 1e-14);
  EXPECT_EQ(forward("Tensor", "triangular_solve", {b, a}, {}, 1), values(a));
  const Tensor y = result_of("Torch", "triangular_solve", {b, a, true, true});
  expect_near(values(times(adjoint(upper), y)), values(b), 1e-14);
  const Tensor z = result_of("Aten", "linalg_solve_triangular", {a, adjoint(b)}, {{"upper", true}, {"left", false}});
  expect_near(values(times(z, upper)), values(adjoint(b)), 1e-14);
  for (const bool up : {false, true}) {
    for (const bool unit : {false, true}) {
      check_gradients("Torch", "triangular_solve", {b, a, up, false, unit});
      check_gradients("Torch", "triangular_solve", {b.select(0, 0), a, up, true, unit});
    }
  }
  check_gradients("Aten", "linalg_solve_triangular", {a, adjoint(b)}, {{"upper", false}, {"left", false}});
  EXPECT_THROW(forward("Torch", "triangular_solve", {uniform({4, 1}, 0, 1, 1), a}), SkipError);
}

TEST(Solvers, Cholesky) {
  const Tensor a = positive_definite(8);
  const Tensor l = result_of("Torch", "cholesky", {a});
  const Tensor b = uniform({2, 3, 2}, -1, 1, 9);
  expect_near(values(times(a, result_of("Torch", "cholesky_solve", {b, l}))), values(b), 1e-13);
  expect_near(forward("Tensor", "cholesky_solve", {b, adjoint(l), true}), forward("Tensor", "cholesky_solve", {b, l}),
              1e-14);
  expect_near(forward("Torch", "cholesky_inverse", {l}), forward("Torch", "inverse", {a}), 1e-14);
  check_gradients("Torch", "cholesky_solve", {b, l}, {}, 0, 1e-6, {1});
  // The gradient of the factor is right where it is read.
  const Values of_factor = gradients("Torch", "cholesky_solve", {b, l})[1];
  const auto moved_sum = [&](std::size_t element, double h) {
    Values moved = values(l);
    moved[element] += h;
    const Values x = forward("Torch", "cholesky_solve", {b, float64(l.shape(), moved)});
    return std::accumulate(x.begin(), x.end(), 0.0);
  };
  for (std::size_t i = 0; i < of_factor.size(); ++i) {
    if (i % 3 > i / 3 % 3) continue;
    EXPECT_NEAR((moved_sum(i, 1e-5) - moved_sum(i, -1e-5)) / 2e-5, of_factor[i], 1e-7) << i;
  }
  // Beside it, it is not cut: for L = [[2, 0], [1, 1]] and A = L L^T it is -A^-1 (g + g^T) A^-1 L.
  const Tensor corner = float64({2, 2}, {1, 0, 0, 0});
  const Tensor small = float64({2, 2}, {2, 0, 1, 1});
  expect_near(gradients("Torch", "cholesky_inverse", {small}, {}, corner)[0], {-.5, .5, .5, -.5}, 1e-15);
  expect_near(gradients("Torch", "cholesky_inverse", {adjoint(small), true}, {}, corner)[0], {-.5, .5, .5, -.5}, 1e-15);
  EXPECT_THROW(forward("Torch", "cholesky_solve", {float64({3}, {1, 2, 3}), l}), SkipError);
}

TEST(Solvers, LeastSquares) {
  const Tensor a = uniform({2, 4, 2}, -1, 1, 10);
  const Tensor b = uniform({2, 4, 3}, -1, 1, 11);
  const Tensor x = result_of("Torch", "linalg.lstsq", {a, b});
  // The residual is orthogonal to the columns of A.
  expect_near(values(times(adjoint(a), times(a, x))), values(times(adjoint(a), b)), 1e-13);
  EXPECT_EQ(forward("Torch", "lstsq", {a, b}, {}, 2), (Values{2, 2}));
  EXPECT_EQ(result_of("Torch", "lstsq", {a, b}, {}, 1).numel(), 0);
  const Tensor residuals = result_of("Torch", "lstsq", {a, b}, {{"driver", std::string("gelsd")}}, 1);
  EXPECT_EQ(residuals.shape(), (Dims{2, 3}));
  const Values left = values(times(a, x));
  const Values right = values(b);
  double first = 0;
  for (std::size_t row = 0; row < 4; ++row) first += std::pow(left[row * 3] - right[row * 3], 2);
  EXPECT_NEAR(residuals.item(), first, 1e-14);
  EXPECT_EQ(result_of("Torch", "lstsq", {a, b}, {{"driver", std::string("gelsd")}}, 3).shape(), (Dims{2, 2}));
  // One vector per matrix; fewer equations than unknowns: the shortest solution.
  EXPECT_EQ(result_of("Torch", "linalg.lstsq", {a, b.select(2, 0)}).shape(), (Dims{2, 2}));
  expect_near(forward("Torch", "linalg.lstsq", {float64({1, 2}, {3, 4}), float64({1}, {25})}), {3, 4}, 1e-13);
  check_gradients("Torch", "linalg.lstsq", {a, b});
  check_gradients("Torch", "linalg.lstsq", {adjoint(a), uniform({2, 2, 1}, -1, 1, 12)});
  EXPECT_THROW(forward("Torch", "linalg.lstsq", {a, uniform({3, 1}, 0, 1, 1)}), SkipError);
  EXPECT_THROW(forward("Torch", "linalg.lstsq", {a, b}, {{"driver", std::string("x")}}), SkipError);
}

TEST(Solvers, LeastSquaresOfOld) {
  const Tensor b = uniform({4, 2}, -1, 1, 13);
  const Tensor solution = result_of("Tensor", "lstsq", {b, tall});
  EXPECT_EQ(solution.shape(), (Dims{4, 2}));
  expect_near(values(solution.slice(0, 0, 3)), forward("Torch", "linalg.lstsq", {tall, b}), 1e-14);
  EXPECT_EQ(forward("Torch", "lstsq", {}, {{"input", b}, {"A", tall}}, 1), forward("Torch", "geqrf", {tall}));
  const Tensor short_one = uniform({2, 1}, -1, 1, 14);
  const Tensor least = result_of("Tensor", "lstsq", {short_one, flat});
  expect_near(values(least), forward("Torch", "linalg.lstsq", {flat, short_one}), 1e-14);
}

TEST(Solvers, TensorSolveAndInfo) {
  const Tensor a = uniform({2, 3, 6}, -1, 1, 15);
  const Tensor b = uniform({2, 3}, -1, 1, 16);
  const Tensor x = result_of("Torch", "linalg.tensorsolve", {a, b});
  expect_near(values(times(a.reshape(Dims{6, 6}), x.unsqueeze(-1))), values(b), 1e-12);
  const Tensor moved = a.reshape(Dims{2, 3, 3, 2}).permute(Dims{2, 0, 1, 3});
  EXPECT_EQ(result_of("Torch", "tensorsolve", {moved, b}, {{"dims", List{std::int64_t{0}, std::int64_t{3}}}}).shape(),
            (Dims{3, 2}));
  check_gradients("Torch", "linalg.tensorsolve", {a, b}, {}, 0, 1e-5);
  EXPECT_THROW(forward("Torch", "linalg.tensorsolve", {a, uniform({5}, 0, 1, 1)}), SkipError);
  EXPECT_THROW(
      forward("Torch", "linalg.tensorsolve", {float64({}, {1}), float64({}, {1})}, {{"dims", List{std::int64_t{0}}}}),
      SkipError);
  EXPECT_EQ(forward("Torch", "linalg.solve_ex", {regular(3, 3, 1), uniform({2, 3, 1}, 0, 1, 1)}, {}, 1),
            (Values{0, 0}));
}

TEST(Factorisations, DiagonalOfLinalg) {
  EXPECT_EQ(result_of("Torch", "linalg.diagonal", {uniform({5, 2, 3}, 0, 1, 1)}).shape(), (Dims{5, 2}));
  check_gradients("Torch", "linalg.diagonal", {uniform({2, 3, 3}, 0, 1, 1)}, {{"offset", std::int64_t{1}}});
}

TEST(Factorisations, HalfAndEmptyInputs) {
  const Tensor half = float64({2, 2}, {4, 2, 2, 2}).to(DType::bfloat16);
  EXPECT_EQ(result_of("Torch", "geqrf", {half}).dtype(), DType::bfloat16);
  EXPECT_EQ(result_of("Torch", "lu_factor", {half}).dtype(), DType::bfloat16);
  EXPECT_EQ(result_of("Torch", "eigh", {half}).dtype(), DType::bfloat16);
  const Tensor empty = Tensor::zeros(DType::float64, Dims{2, 0, 0});
  for (const char* api : {"geqrf", "linalg.lu_factor", "linalg.ldl_factor", "eigh", "eig", "svd", "linalg.lu"}) {
    EXPECT_EQ(result_of("Torch", api, {empty}).numel(), 0) << api;
  }
  EXPECT_EQ(forward("Torch", "matrix_rank", {empty}), (Values{0, 0}));
}

}  // namespace
}  // namespace msrun::testing
