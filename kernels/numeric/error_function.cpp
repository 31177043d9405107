#include "kernels/numeric/error_function.h"

#include <numbers>

namespace msrun::error_function_detail {
namespace {

constexpr long double two_over_sqrt_pi = 2 * std::numbers::inv_sqrtpi_v<long double>;

// Sums of positive terms only, so that nothing cancels.
constexpr long double exponential_of_square(long double x) {
  long double sum = 1;
  long double term = 1;
  for (int n = 1; term > sum * 1e-22L; ++n) sum += term *= x * x / n;
  return sum;
}

constexpr long double slope_at(long double x) { return two_over_sqrt_pi / exponential_of_square(x); }

// erf(x) = 2 / sqrt(pi) e^(-x^2) (x + 2 x^3 / 3 + 4 x^5 / 15 + ...)
constexpr long double value_at(long double x) {
  long double sum = x;
  long double term = x;
  for (int n = 1; term > sum * 1e-22L; ++n) sum += term *= 2 * x * x / (2 * n + 1);
  return slope_at(x) * sum;
}

constexpr auto tabulate(long double (*f)(long double)) {
  std::array<double, table_size> table{};
  for (std::size_t i = 0; i < table_size; ++i) {
    table[i] = static_cast<double>(f(static_cast<long double>(i) / per_unit));
  }
  return table;
}

}  // namespace

constinit const std::array<double, table_size> value = tabulate(value_at);
constinit const std::array<double, table_size> slope = tabulate(slope_at);

}  // namespace msrun::error_function_detail
