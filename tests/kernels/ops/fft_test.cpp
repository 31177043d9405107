// Fourier transforms against their definition, of lengths with small and large factors, and their gradients.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <numbers>

#include "kernels/base/error.h"
#include "kernels/numeric/fourier.h"
#include "kernels/tensor/complex.h"
#include "tests/support/complex_check.h"

namespace msrun::testing {
namespace {

using C = std::complex<double>;

std::vector<C> by_definition(const std::vector<C>& x, double sign) {
  const auto n = static_cast<double>(x.size());
  std::vector<C> y(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    for (std::size_t j = 0; j < x.size(); ++j) {
      const double turns = std::fmod(static_cast<double>(j) * static_cast<double>(k), n) / n;
      y[k] += x[j] * std::polar(1.0, sign * 2 * std::numbers::pi * turns);
    }
  }
  return y;
}

TEST(Fourier, AgreesWithTheDefinition) {
  for (const std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 12, 30, 61, 64, 67, 97, 134, 210, 1009}) {
    const Tensor x = random_complex({n}, static_cast<std::uint64_t>(n));
    expect_close(numbers(fourier(x, 0, FourierDirection::forward, 1)), by_definition(numbers(x), -1), 1e-11);
    expect_close(numbers(fourier(x, 0, FourierDirection::inverse, 1)), by_definition(numbers(x), 1), 1e-11);
  }
}

// Terms that cancel leave a float64 benchmark of float64 calls no more digits than its sums have.
TEST(Fourier, IsRightToTheLastPlace) {
  using Wide = std::complex<long double>;
  for (const std::int64_t n : {64, 100, 134, 210, 1009}) {
    const Tensor x = random_complex({n}, static_cast<std::uint64_t>(n));
    const std::vector<C> values = numbers(x);
    const std::vector<C> y = numbers(fourier(x, 0, FourierDirection::forward, 1));
    for (std::int64_t k = 0; k < n; ++k) {
      Wide sum;
      for (std::int64_t j = 0; j < n; ++j) {
        const long double angle =
            -2 * std::numbers::pi_v<long double> * static_cast<long double>(j * k % n) / static_cast<long double>(n);
        sum += Wide(values[static_cast<std::size_t>(j)]) * Wide(std::cos(angle), std::sin(angle));
      }
      const C found = y[static_cast<std::size_t>(k)];
      const auto is_close = [](double a, long double b) {
        return std::abs(static_cast<long double>(a) - b) <= 0x1p-53L * std::abs(b) + 2e-16L;
      };
      EXPECT_TRUE(is_close(found.real(), sum.real()) && is_close(found.imag(), sum.imag())) << n << " at " << k;
    }
  }
}

// The sum of real numbers, and that with alternating signs, is real whatever the numbers are.
TEST(Fourier, OfRealNumbersIsRealAtTheEnds) {
  for (const DType dtype : {DType::complex64, DType::complex128}) {
    for (const std::int64_t n : {2, 4, 6, 8, 10, 12, 14, 22, 26, 100, 134, 268, 1000, 2018}) {
      const Tensor x = uniform({n}, -1, 1, static_cast<std::uint64_t>(n)).to(dtype);
      for (const FourierDirection direction : {FourierDirection::forward, FourierDirection::inverse}) {
        const Tensor y = fourier(x, 0, direction, 1).to(DType::complex128);
        EXPECT_EQ(y.data<C>()[0].imag(), 0) << n;
        EXPECT_EQ(y.data<C>()[n / 2].imag(), 0) << n;
      }
    }
  }
}

// A length with a large factor takes no n^2 steps: this would be 10^10 of them.
TEST(Fourier, TakesLongPrimes) {
  const std::int64_t n = 100003;
  std::vector<C> impulse(static_cast<std::size_t>(n));
  impulse[1] = 1;
  const Tensor y = fourier(complex128({n}, impulse), 0, FourierDirection::forward, 1);
  for (const std::int64_t k : {0, 1, 2, 50000, 100002}) {
    const C expected = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
    EXPECT_LE(std::abs(y.data<C>()[k] - expected), 1e-11) << k;
  }
}

TEST(Fft, AnyAxisSizeAndNorm) {
  const Tensor x = random_complex({3, 4}, 1);
  const auto column = [&](std::int64_t j) { return numbers(x.select(1, j)); };
  const Tensor y = result_of("Aten", "fft_fft", {x}, {{"dim", std::int64_t{0}}, {"norm", std::string("forward")}});
  std::vector<C> expected = by_definition(column(2), -1);
  for (C& value : expected) value /= 3.0;
  expect_close(numbers(y.select(1, 2)), expected);
  const Tensor longer = result_of("Aten", "fft_fft", {x, std::int64_t{6}, std::int64_t{0}});
  EXPECT_EQ(longer.shape(), (Dims{6, 4}));
  std::vector<C> padded = column(1);
  padded.resize(6);
  expect_close(numbers(longer.select(1, 1)), by_definition(padded, -1));
  const Tensor shorter = result_of("Aten", "fft_ifft", {x, std::int64_t{2}, std::int64_t{0}});
  expect_close(numbers(shorter.select(1, 0)),
               {(column(0)[0] + column(0)[1]) / 2.0, (column(0)[0] - column(0)[1]) / 2.0});
  EXPECT_THROW(result("Aten", "fft_fft", {x}, {{"norm", std::string("none")}}), SkipError);
  EXPECT_THROW(result("Aten", "fft_fft", {x, std::int64_t{0}}), SkipError);
  EXPECT_THROW(result("Aten", "fft_rfft", {x}), SkipError);
  EXPECT_THROW(result("Aten", "fft_fftn", {x}, {{"dim", List{std::int64_t{1}, std::int64_t{-1}}}}), SkipError);
}

TEST(Fft, RealTransformsAreHalves) {
  const Tensor x = uniform({2, 7}, -1, 1, 3);
  const Tensor whole = result_of("Aten", "fft_fft", {x});
  const Tensor half = result_of("Aten", "fft_rfft", {x});
  EXPECT_EQ(half.shape(), (Dims{2, 4}));
  expect_close(numbers(half), numbers(whole.slice(1, 0, 4)));
  expect_close(result("Aten", "fft_irfft", {half, std::int64_t{7}}), numbers(x));
  expect_close(result("Aten", "fft_hfft", {result_of("Aten", "fft_ihfft", {x}), std::int64_t{7}}), numbers(x));
  const Tensor both = result_of("Aten", "fft_rfft2", {x});
  expect_close(result("Aten", "fft_irfft2", {both}, {{"s", List{std::int64_t{2}, std::int64_t{7}}}}), numbers(x));
  EXPECT_EQ(result_of("Aten", "fft_rfft", {x.to(DType::float32)}).dtype(), DType::complex64);
  EXPECT_EQ(result_of("Aten", "fft_irfft", {half.to(DType::complex64)}).dtype(), DType::float32);
}

TEST(Fft, Gradients) {
  const Tensor z = random_complex({2, 3, 4}, 1);
  const Tensor x = uniform({2, 3, 4}, -1, 1, 2);
  const Dict ortho{{"norm", std::string("ortho")}};
  for (const char* api : {"fft_fft", "fft_ifft", "fft_fft2", "fft_ifftn", "fft_hfft", "fft_hfft2", "fft_irfft",
                          "fft_irfftn", "fft_fftshift", "fft_ifftshift"}) {
    check_complex_gradients("Aten", api, {z}, std::string(api).ends_with("shift") ? Dict{} : ortho);
  }
  for (const char* api : {"fft_fft", "fft_rfft", "fft_rfft2", "fft_ihfft", "fft_ihfftn"})
    check_complex_gradients("Aten", api, {x}, ortho);
  check_complex_gradients("Aten", "fft_irfft", {z, std::int64_t{5}, std::int64_t{1}});
  check_complex_gradients("Aten", "fft_rfft", {x, std::int64_t{5}, std::int64_t{1}});
  const List last{std::int64_t{1}, std::int64_t{2}};
  check_complex_gradients("Aten", "_fft_c2c", {z, last, std::int64_t{1}, true});
  check_complex_gradients("Aten", "_fft_r2c", {x, last, std::int64_t{2}, true});
  check_complex_gradients("Aten", "_fft_r2c", {x, last, std::int64_t{0}, false});
  check_complex_gradients("Aten", "_fft_c2r", {z, last, std::int64_t{2}, std::int64_t{7}});
}

}  // namespace
}  // namespace msrun::testing
