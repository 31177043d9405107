// Complex tensors: values of the operators that take them, gradients in torch's convention, comparison.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <numbers>

#include "kernels/base/error.h"
#include "kernels/compare/compare.h"
#include "kernels/evaluate/evaluate.h"
#include "kernels/tensor/complex.h"
#include "tests/support/complex_check.h"

namespace msrun::testing {
namespace {

using C = std::complex<double>;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

TEST(Complex, PartsAreViews) {
  const Tensor z = complex128({2, 2}, {{1, 2}, {3, 4}, {5, 6}, {7, 8}});
  const Tensor turned = z.transpose(0, 1);
  EXPECT_THAT(values(real_part(turned)), ElementsAre(1, 5, 3, 7));
  EXPECT_THAT(values(imaginary_part(turned)), ElementsAre(2, 6, 4, 8));
  EXPECT_THAT(values(pairs_of(turned.select(0, 1))), ElementsAre(3, 4, 7, 8));
  EXPECT_THAT(numbers(conjugate(turned)), ElementsAre(C(1, -2), C(5, -6), C(3, -4), C(7, -8)));
  EXPECT_EQ(complex_of(real_part(turned), imaginary_part(turned)).shape(), (Dims{2, 2}));
  EXPECT_EQ(real_part(z.to(DType::complex64)).dtype(), DType::float32);
  EXPECT_EQ(real_part(Tensor(DType::complex64, {0})).numel(), 0);
}

TEST(Complex, Conversions) {
  const Tensor z = complex128({3}, {{1.5, 2}, {0, -1}, {0, 0}});
  EXPECT_THAT(values(z.to(DType::float32)), ElementsAre(1.5, 0, 0));
  EXPECT_THAT(values(z.to(DType::boolean)), ElementsAre(1, 1, 0));
  EXPECT_THAT(numbers(z.to(DType::complex64).transpose(0, 0)), ElementsAre(C(1.5, 2), C(0, -1), C(0, 0)));
  EXPECT_THAT(numbers(int64({2}, {3, -4}).to(DType::complex64)), ElementsAre(C(3, 0), C(-4, 0)));
  EXPECT_THAT(result("Tensor", "cfloat", {float64({1}, {0.5})}), ElementsAre(C(0.5, 0)));
}

TEST(Complex, Parts) {
  const Tensor z = complex128({2}, {{3, -4}, {-1, 0}});
  EXPECT_THAT(values(result_of("Torch", "real", {z})), ElementsAre(3, -1));
  EXPECT_THAT(values(result_of("Tensor", "imag", {z})), ElementsAre(-4, 0));
  EXPECT_THAT(values(result_of("Torch", "view_as_real", {z})), ElementsAre(3, -4, -1, 0));
  EXPECT_THAT(result("Torch", "view_as_complex", {float64({2, 2}, {1, 2, 3, 4})}), ElementsAre(C(1, 2), C(3, 4)));
  EXPECT_THAT(result("Aten", "complex", {float64({2}, {1, 2}), float64({1}, {-3})}), ElementsAre(C(1, -3), C(2, -3)));
  EXPECT_THAT(result("Tensor", "conj", {z}), ElementsAre(C(3, 4), C(-1, 0)));
  EXPECT_THAT(result("Tensor", "resolve_neg", {z}), ElementsAre(C(3, -4), C(-1, 0)));
  EXPECT_EQ(result_of("Torch", "view_as_complex", {float64({2}, {1, 2}).to(DType::float32)}).dtype(), DType::complex64);
  EXPECT_THROW(result("Torch", "view_as_complex", {float64({3}, {1, 2, 3})}), SkipError);
  EXPECT_THROW(result("Torch", "view_as_real", {float64({1}, {1})}), SkipError);
  EXPECT_THROW(result("Torch", "imag", {float64({1}, {1})}), SkipError);
  EXPECT_THROW(result("Torch", "polar", {int64({1}, {1}), float64({1}, {1})}), SkipError);
}

TEST(Complex, PolarCoordinates) {
  expect_close(result("Torch", "polar", {float64({2}, {2, 3}), float64({2}, {0, std::numbers::pi / 2})}),
               {C(2, 0), C(0, 3)}, 1e-15);
  EXPECT_EQ(
      result_of("Torch", "polar", {float64({1}, {2}).to(DType::float32), float64({1}, {1}).to(DType::float32)}).dtype(),
      DType::complex64);
  const Tensor z = complex128({3}, {{3, -4}, {0, 0}, {0, 2}});
  const Tensor sizes = result_of("Torch", "abs", {z});
  EXPECT_EQ(sizes.dtype(), DType::float64);
  EXPECT_THAT(values(sizes), ElementsAre(5, 0, 2));
  EXPECT_EQ(result_of("Tensor", "absolute", {z.to(DType::complex64)}).dtype(), DType::float32);
  EXPECT_THAT(values(result_of("Torch", "angle", {z})), ElementsAre(std::atan2(-4, 3), 0, std::numbers::pi / 2));
  expect_close(result("Torch", "sgn", {z}), {C(0.6, -0.8), C(0, 0), C(0, 1)}, 1e-15);
  EXPECT_THROW(result("Torch", "sign", {z}), SkipError);
}

TEST(Complex, Arithmetic) {
  const Tensor a = complex128({2}, {{1, 2}, {-3, 0.5}});
  const Tensor b = complex128({2}, {{2, -1}, {0, 4}});
  EXPECT_THAT(result("Torch", "add", {a, b}, {{"alpha", std::int64_t{2}}}), ElementsAre(C(5, 0), C(-3, 8.5)));
  EXPECT_THAT(result("Torch", "sub", {a, b}), ElementsAre(C(-1, 3), C(-3, -3.5)));
  EXPECT_THAT(result("Torch", "rsub", {a, 1.0}), ElementsAre(C(0, -2), C(4, -0.5)));
  EXPECT_THAT(result("Torch", "mul", {a, b}), ElementsAre(C(4, 3), C(-2, -12)));
  EXPECT_THAT(result("Tensor", "__mul__", {a, float64({2}, {2, -1})}), ElementsAre(C(2, 4), C(3, -0.5)));
  expect_close(result("Torch", "div", {a, b}), {C(0, 1), C(0.125, 0.75)}, 1e-15);
  expect_close(result("Tensor", "reciprocal", {b}), {C(0.4, 0.2), C(0, -0.25)}, 1e-15);
  EXPECT_THAT(result("Torch", "square", {a}), ElementsAre(C(-3, 4), C(8.75, -3)));
  EXPECT_THAT(result("Tensor", "pow", {a, std::int64_t{3}}), ElementsAre(C(-11, -2), C(-24.75, 13.375)));
  EXPECT_THAT(result("Tensor", "pow", {a, std::int64_t{0}}), ElementsAre(C(1, 0), C(1, 0)));
  EXPECT_THAT(result("Torch", "neg", {a}), ElementsAre(C(-1, -2), C(3, -0.5)));
  EXPECT_THAT(result("Torch", "addcmul", {a, b, b}), ElementsAre(C(4, -2), C(-19, 0.5)));
  // A product of infinite numbers is what the formula gives.
  const std::vector<C> infinite = result("Torch", "mul", {complex128({1}, {{inf, 0}}), complex128({1}, {{1, 0}})});
  EXPECT_EQ(infinite[0].real(), inf);
  EXPECT_TRUE(std::isnan(infinite[0].imag()));
  // Neither square of a part overflows.
  expect_close(result("Torch", "div", {complex128({1}, {{1e300, 1e300}}), complex128({1}, {{1e300, 0}})}), {C(1, 1)});
}

TEST(Complex, PromotedDtypes) {
  const Tensor narrow = complex128({1}, {{1, 1}}).to(DType::complex64);
  const auto dtype = [](const Tensor& a, const Tensor& b) { return result_of("Torch", "mul", {a, b}).dtype(); };
  EXPECT_EQ(dtype(narrow, float64({1}, {1})), DType::complex128);
  EXPECT_EQ(dtype(narrow, float64({}, {1})), DType::complex64);
  EXPECT_EQ(dtype(float64({1}, {1}), narrow.reshape(Dims{})), DType::complex128);
  EXPECT_EQ(dtype(narrow, float64({1}, {1}).to(DType::float32)), DType::complex64);
  EXPECT_EQ(dtype(narrow, int64({1}, {1})), DType::complex64);
  EXPECT_EQ(result_of("Torch", "mul", {narrow, 2.5}).dtype(), DType::complex64);
}

// complex64 is computed in double and rounded once.
TEST(Complex, NarrowNumbersAreRoundedOnce) {
  using F = std::complex<float>;
  const F a(1 + 0x1p-23F, 1);
  const F b(1 - 0x1p-23F, 1);
  const std::vector<F> left{a};
  const std::vector<F> right{b};
  const Tensor z =
      result_of("Torch", "mul",
                {Tensor::from<F>(DType::complex64, Dims{1}, left), Tensor::from<F>(DType::complex64, Dims{1}, right)});
  EXPECT_EQ(*z.data<F>(), F(static_cast<float>(-0x1p-46), 2));
}

TEST(Complex, Predicates) {
  const Tensor z = complex128({4}, {{1, 2}, {inf, 0}, {0, nan}, {0, 0}});
  const Tensor other = complex128({4}, {{1, 2}, {inf, 0}, {0, 1}, {0, 1}});
  EXPECT_THAT(values(result_of("Torch", "eq", {z, other})), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(values(result_of("Torch", "ne", {z, other})), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(values(result_of("Torch", "isnan", {z})), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(values(result_of("Torch", "isinf", {z})), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(values(result_of("Torch", "isfinite", {z})), ElementsAre(1, 0, 0, 1));
  EXPECT_THAT(values(result_of("Tensor", "isreal", {z})), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(values(result_of("Torch", "logical_not", {z})), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(values(result_of("Torch", "isclose", {z, other}, {{"atol", 2.0}})), ElementsAre(1, 1, 0, 1));
  EXPECT_THROW(result("Torch", "lt", {z, other}), SkipError);
  EXPECT_THROW(result("Torch", "sort", {z}), SkipError);
  EXPECT_THROW(result("Functional", "relu", {z}), SkipError);
  Tape tape;
  std::vector<Var> leaves;
  const auto answer = [&](const char* api, const List& args) {
    return *find_operator("Torch", api)->call(*on_tape(args, tape, leaves).get<List>(), {}, tape).get<bool>();
  };
  EXPECT_TRUE(answer("is_complex", {z}));
  EXPECT_FALSE(answer("is_complex", {float64({1}, {1})}));
  EXPECT_FALSE(answer("equal", {z, other}));
  EXPECT_FALSE(answer("allclose", {z, other}));
  EXPECT_TRUE(answer("equal", {other, other}));
}

TEST(Complex, Reductions) {
  const Tensor z = complex128({2, 2}, {{1, 2}, {3, -1}, {0, 1}, {-2, 4}});
  EXPECT_THAT(result("Torch", "sum", {z}), ElementsAre(C(2, 6)));
  EXPECT_THAT(result("Torch", "sum", {z, std::int64_t{0}}), ElementsAre(C(1, 3), C(1, 3)));
  EXPECT_THAT(result("Torch", "mean", {z, std::int64_t{1}}), ElementsAre(C(2, 0.5), C(-1, 2.5)));
  EXPECT_THAT(result("Torch", "prod", {z, std::int64_t{1}}), ElementsAre(C(5, 5), C(-4, -2)));
  EXPECT_THAT(result("Torch", "cumsum", {z, std::int64_t{1}}), ElementsAre(C(1, 2), C(4, 1), C(0, 1), C(-2, 5)));
  EXPECT_THAT(result("Torch", "cumprod", {z, std::int64_t{0}}), ElementsAre(C(1, 2), C(3, -1), C(-2, 1), C(-2, 14)));
  EXPECT_EQ(result_of("Torch", "norm", {z.to(DType::complex64)}).dtype(), DType::float32);
  EXPECT_DOUBLE_EQ(result_of("Torch", "norm", {z}).item(), 6);
  EXPECT_THROW(result("Torch", "amax", {z}), SkipError);
  EXPECT_THROW(result("Torch", "softmax", {z, std::int64_t{0}}), SkipError);
}

TEST(Complex, Products) {
  const Tensor a = complex128({1, 2}, {{1, 2}, {0, -1}});
  const Tensor b = complex128({2, 1}, {{3, 0}, {1, 1}});
  EXPECT_THAT(result("Torch", "matmul", {a, b}), ElementsAre(C(4, 5)));
  EXPECT_THAT(result("Torch", "matmul", {a, float64({2, 1}, {2, 3})}), ElementsAre(C(2, 1)));
  const Tensor u = a.reshape(Dims{2});
  const Tensor v = b.reshape(Dims{2});
  EXPECT_THAT(result("Torch", "dot", {u, v}), ElementsAre(C(4, 5)));
  EXPECT_THAT(result("Torch", "vdot", {u, v}), ElementsAre(C(2, -5)));
  EXPECT_THAT(result("Torch", "outer", {u, v}), ElementsAre(C(3, 6), C(-1, 3), C(0, -3), C(1, -1)));
  EXPECT_THAT(result("Tensor", "adjoint", {a}), ElementsAre(C(1, -2), C(0, 1)));
  EXPECT_THROW(result("Torch", "matmul", {a, a}), SkipError);
}

TEST(Complex, Shapes) {
  const Tensor z = random_complex({2, 3}, 5);
  const std::vector<C> x = numbers(z);
  EXPECT_THAT(result("Tensor", "permute", {z, std::int64_t{1}, std::int64_t{0}}),
              ElementsAre(x[0], x[3], x[1], x[4], x[2], x[5]));
  EXPECT_THAT(result("Torch", "flip", {z, List{std::int64_t{1}}}), ElementsAre(x[2], x[1], x[0], x[5], x[4], x[3]));
  EXPECT_THAT(result("Torch", "triu", {z}), ElementsAre(x[0], x[1], x[2], C(0), x[4], x[5]));
  EXPECT_THAT(result("Torch", "index_select", {z, std::int64_t{1}, int64({1}, {2})}), ElementsAre(x[2], x[5]));
  EXPECT_THAT(result("Torch", "cat", {Value(List{z, float64({1, 3}, {1, 2, 3})})}),
              ElementsAre(x[0], x[1], x[2], x[3], x[4], x[5], C(1), C(2), C(3)));
  EXPECT_THAT(values(result_of("Tensor", "view", {z, DType::float64})).size(), 12U);
}

TEST(Complex, Fourier) {
  const Tensor x = uniform({2, 24}, -1, 1, 3);
  const Dict parts{{"hop_length", std::int64_t{2}}, {"return_complex", false}};
  const Dict complex{{"hop_length", std::int64_t{2}}, {"return_complex", true}};
  const Tensor spectrum = result_of("Torch", "stft", {x, std::int64_t{8}}, complex);
  EXPECT_EQ(spectrum.shape(), (Dims{2, 5, 13}));
  EXPECT_EQ(values(pairs_of(spectrum)), values(result_of("Torch", "stft", {x, std::int64_t{8}}, parts)));
  const auto back = [&](const Tensor& from, const Dict& kwargs) {
    return result_of("Torch", "istft", {from, std::int64_t{8}}, kwargs);
  };
  const std::vector<double> found = values(back(spectrum, {{"hop_length", std::int64_t{2}}}));
  const std::vector<double> expected = values(x);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-14);
  // A complex signal has all frequencies.
  const Tensor z = random_complex({24}, 9);
  const Tensor both = result_of("Torch", "stft", {z, std::int64_t{8}}, {{"hop_length", std::int64_t{2}}});
  EXPECT_EQ(both.shape(), (Dims{8, 13}));
  expect_close(numbers(back(both, complex)), numbers(z));
  EXPECT_EQ(back(both, {{"hop_length", std::int64_t{2}}, {"length", std::int64_t{40}}}).shape(), Dims{40});
  EXPECT_THROW(back(spectrum, {{"hop_length", std::int64_t{2}}, {"onesided", false}}), SkipError);
  EXPECT_THROW(back(spectrum, {{"hop_length", std::int64_t{9}}}), SkipError);
  EXPECT_THROW(back(spectrum, complex), SkipError);
}

TEST(Complex, GradientsOfFunctions) {
  const Tensor z = random_complex({2, 3}, 1);
  for (const char* api :
       {"abs",     "angle", "sgn",  "neg",  "reciprocal", "square", "exp",  "log",  "sqrt",        "rsqrt", "sin",
        "cos",     "tan",   "sinh", "cosh", "tanh",       "asin",   "acos", "atan", "asinh",       "atanh", "log10",
        "sigmoid", "sum",   "mean", "prod", "norm",       "real",   "imag", "conj", "view_as_real"}) {
    check_complex_gradients("Torch", api, {z});
  }
  check_complex_gradients("Functional", "silu", {z});
  check_complex_gradients("Tensor", "cfloat", {z}, {}, 1e-2);
  check_complex_gradients("Tensor", "double", {z});
  for (const std::int64_t exponent : {0, 1, 2, 3, 5, -2}) check_complex_gradients("Tensor", "pow", {z, exponent});
  check_complex_gradients("Tensor", "pow", {z, 0.5});
  check_complex_gradients("Tensor", "pow", {z, 1.7});
  check_complex_gradients("Tensor", "pow", {z, random_complex({3}, 4)});
  check_complex_gradients("Torch", "cumsum", {z, std::int64_t{1}});
  check_complex_gradients("Torch", "cumprod", {z, std::int64_t{0}});
  check_complex_gradients("Torch", "norm", {z, 3.0, std::int64_t{0}});
}

TEST(Complex, GradientsOfOperandsOfBothKinds) {
  const Tensor z = random_complex({2, 3}, 1);
  const Tensor w = random_complex({3}, 3);
  const Tensor x = uniform({2, 1}, 0.5, 1, 8);
  for (const char* api : {"add", "sub", "rsub", "mul", "div", "pow"}) {
    check_complex_gradients("Torch", api, {z, w});
    check_complex_gradients("Torch", api, {z, x});
    if (api != std::string("rsub")) check_complex_gradients("Torch", api, {x, w});
  }
  check_complex_gradients("Torch", "add", {x, w}, {{"alpha", 0.5}});
  check_complex_gradients("Torch", "addcmul", {x, z, w}, {{"value", 0.5}});
  check_complex_gradients("Torch", "addcdiv", {z, x, w}, {{"value", 0.5}});
  check_complex_gradients("Torch", "polar", {x, uniform({3}, -2, 2, 6)});
  check_complex_gradients("Torch", "complex", {x, uniform({3}, -2, 2, 6)});
  check_complex_gradients("Torch", "view_as_complex", {uniform({3, 2}, -2, 2, 6)});
  const Tensor mask = float64({2, 1}, {1, 0}).to(DType::boolean);
  check_complex_gradients("Torch", "where", {mask, z, w});
  check_complex_gradients("Tensor", "masked_fill", {z, mask, 2.0});
}

TEST(Complex, GradientsOfProducts) {
  const Tensor a = random_complex({2, 3}, 1);
  const Tensor b = random_complex({3, 2}, 3);
  const Tensor c = random_complex({2, 2}, 5);
  const Tensor x = uniform({3, 2}, -1, 1, 7);
  check_complex_gradients("Torch", "matmul", {a, b});
  check_complex_gradients("Torch", "matmul", {a, x});
  check_complex_gradients("Torch", "matmul", {x, a});
  check_complex_gradients("Torch", "matmul", {random_complex({2, 1, 2, 3}, 2), random_complex({3, 3, 2}, 4)});
  check_complex_gradients("Torch", "addmm", {c, a, b}, {{"alpha", 0.5}, {"beta", 2.0}});
  check_complex_gradients("Torch", "einsum", {std::string("ij,jk->ki"), a, b});
  check_complex_gradients("Functional", "linear", {a, random_complex({4, 3}, 5), random_complex({4}, 6)});
  const Tensor u = random_complex({3}, 8);
  const Tensor v = random_complex({3}, 9);
  for (const char* api : {"dot", "vdot", "outer"}) check_complex_gradients("Torch", api, {u, v});
  check_complex_gradients("Torch", "linalg.vecdot", {u, v});
}

TEST(Complex, GradientsOfMovement) {
  const Tensor z = random_complex({3, 4}, 1);
  const std::int64_t one = 1;
  check_complex_gradients("Tensor", "permute", {z, one, std::int64_t{0}});
  check_complex_gradients("Tensor", "expand", {random_complex({3, 1}, 2), std::int64_t{3}, std::int64_t{4}});
  check_complex_gradients("Torch", "chunk", {z, std::int64_t{2}, one});
  check_complex_gradients("Torch", "cat", {Value(List{z, uniform({1, 4}, -1, 1, 2)})});
  check_complex_gradients("Torch", "diagonal", {z, one});
  check_complex_gradients("Torch", "tril", {z});
  check_complex_gradients("Torch", "gather", {z, one, int64({3, 2}, {0, 0, 3, 1, 2, 2})});
  check_complex_gradients("Torch", "index_select", {z, one, int64({3}, {1, 1, 3})});
  check_complex_gradients("Tensor", "__getitem__", {z, List{int64({2}, {2, 2}), int64({2}, {0, 0})}});
  check_complex_gradients("Torch", "scatter_add", {z, one, int64({3, 1}, {0, 3, 3}), random_complex({3, 1}, 6)});
  check_complex_gradients("Torch", "roll", {z, one, one});
  check_complex_gradients("Torch", "repeat_interleave", {z, std::int64_t{2}, one});
  check_complex_gradients("Tensor", "unfold", {z, one, std::int64_t{2}, one});
}

TEST(Complex, GradientsOfFourierTransforms) {
  const Dict options{{"hop_length", std::int64_t{2}}, {"window", uniform({6}, 0.5, 1, 5)}, {"return_complex", true}};
  check_complex_gradients("Torch", "stft", {uniform({12}, -1, 1, 3), std::int64_t{6}}, options);
  check_complex_gradients("Torch", "stft", {random_complex({12}, 3), std::int64_t{6}}, options);
  check_complex_gradients("Torch", "istft", {random_complex({6, 7}, 3), std::int64_t{6}}, options);
  const Dict real{{"hop_length", std::int64_t{2}}, {"window", uniform({6}, 0.5, 1, 5)}};
  check_complex_gradients("Torch", "istft", {random_complex({2, 4, 7}, 3), std::int64_t{6}}, real);
}

TEST(Complex, GradientsAtZero) {
  const Tensor zero = complex128({1}, {{0, 0}});
  for (const char* api : {"abs", "angle", "sgn", "norm"}) {
    Tape tape;
    const Var z = tape.leaf(zero);
    const Value y = find_operator("Torch", api)->call({z}, {}, tape);
    tape.backward(*y.get<Var>(), Tensor::full(y.get<Var>()->dtype(), y.get<Var>()->shape(), 1));
    EXPECT_THAT(numbers(tape.gradient(z)), ElementsAre(C(0))) << api;
  }
}

// Whatever is called with a complex tensor that it does not take is refused before it runs.
TEST(Complex, OnlyOperatorsThatSaySoTakeComplexTensors) {
  EXPECT_TRUE(find_canonical("matmul")->traits().takes_complex());
  EXPECT_TRUE(find_canonical("view")->traits().takes_complex()) << "as it only copies";
  MaterialisedCall call;
  call.name = "Functional.relu.0";
  call.args = {complex128({1}, {{1, 1}})};
  try {
    evaluate(*find_operator("Functional", "relu"), call, {});
    FAIL();
  } catch (const SkipError& error) {
    EXPECT_STREQ(error.what(), "Complex tensors are not supported by relu.");
  }
}

DetailsRow compared(const Tensor& bench, const Tensor& device, bool compat) {
  CompareOptions options;
  options.compat_msprobe = compat;
  return compare_outputs("Torch.mul.0", ordinary_traits, bench, device, false, options).rows.at(0);
}

TEST(Complex, Comparison) {
  const Tensor bench = complex128({2}, {{1, 2}, {3, 0}});
  const Tensor near = complex128({2}, {{1, 2}, {3, 1e-5}}).to(DType::complex64);
  const Tensor far = complex128({2}, {{1, 2}, {3, 0.5}}).to(DType::complex64);
  const DetailsRow good = compared(bench, near, false);
  EXPECT_EQ(good.status, Status::pass);
  EXPECT_EQ(good.bench_dtype, "torch.complex128");
  EXPECT_EQ(good.device_dtype, "torch.complex64");
  EXPECT_EQ(good.shape, "(2,)");
  EXPECT_NE(good.message.find("Real and imaginary parts are compared as separate elements."), std::string::npos);
  // An error in the imaginary part alone is found, and NaN there too.
  EXPECT_EQ(compared(bench, far, false).status, Status::error);
  EXPECT_EQ(compared(bench, complex128({2}, {{1, 2}, {3, nan}}), false).status, Status::error);
  EXPECT_EQ(compared(bench, bench, false).status, Status::pass);
  // A real result in the place of a complex one is another type.
  EXPECT_EQ(compared(bench, real_part(bench), false).status, Status::error);
  const DetailsRow as_upstream = compared(bench, bench, true);
  EXPECT_EQ(as_upstream.status, Status::error);
  EXPECT_EQ(as_upstream.message, "Bench out dtype is complex128 but npu output dtype is complex128, cannot compare.");
}

// sqrt(z - 1) sqrt(z + 1) and sqrt(z z - 1) differ in sign left of the imaginary axis.
TEST(Complex, TheSlopeOfAcoshIsThatOfItsHalfPlane) {
  check_complex_gradients("Torch", "acosh", {complex128({5}, {{-2, 1}, {-2, -1}, {-0.5, 0.2}, {0.5, 0.2}, {2, 1}})});
}

// The root of a variance of 0 has no slope of its own.
TEST(Complex, EqualNumbersDeviateWithoutASlope) {
  for (const char* api : {"std", "std_mean"}) {
    Tape tape;
    const Var z = tape.leaf(complex128({4}, std::vector<C>(4, C(1, 2))));
    const Value output = find_operator("Torch", api)->call({z}, {}, tape);
    const List* several = output.get<List>();
    const Var deviation = *(several == nullptr ? output : several->front()).get<Var>();
    EXPECT_EQ(deviation.tensor().item(), 0);
    tape.backward(deviation, float64({}, {1}));
    EXPECT_THAT(numbers(tape.gradient(z)), Each(C(0, 0))) << api;
  }
}

}  // namespace
}  // namespace msrun::testing
