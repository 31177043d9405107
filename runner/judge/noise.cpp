#include "runner/judge/noise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "kernels/compare/bounds/constants.h"
#include "kernels/compare/bounds/rounding_terms.h"
#include "kernels/compare/bounds/typical.h"
#include "kernels/tensor/changed_elements.h"

namespace msrun {
namespace {

// f(element, root mean square of its row's finite elements) of every element, float64; rows are along the last axis.
template <class F>
Tensor by_rows(const Tensor& tensor, const F& f) {
  Tensor result = tensor.to(DType::float64).contiguous().clone();
  const std::int64_t size = result.rank() == 0 ? 1 : result.size(result.rank() - 1);
  double* values = result.mutable_data<double>();
  for (std::int64_t first = 0; size > 0 && first < result.numel(); first += size) {
    double squares = 0;
    double count = 0;
    for (std::int64_t i = first; i < first + size; ++i) {
      const double square = values[i] * values[i];
      if (!std::isfinite(square)) continue;
      squares += square;
      ++count;
    }
    const double of_row = count > 0 ? std::sqrt(squares / count) : 0;
    for (std::int64_t i = first; i < first + size; ++i) values[i] = f(values[i], of_row);
  }
  return result;
}

// A quarter of the numbers are no smaller, a magnitude of which there are some.
double upper_quartile(std::vector<double> magnitudes) {
  if (magnitudes.empty()) return 0;
  const auto at = magnitudes.begin() + std::ssize(magnitudes) * 3 / 4;
  std::ranges::nth_element(magnitudes, at);
  return *at;
}

}  // namespace

Tensor combined_noise(const Tensor& first, const Tensor& second, double times_first, double times) {
  if (!first.defined() || !second.defined()) return {};
  Tensor both(DType::float64, first.shape());
  double* to = both.mutable_data<double>();
  for (std::int64_t i = 0; i < both.numel(); ++i)
    to[i] = std::hypot(times_first * first.data<double>()[i], times * second.data<double>()[i]);
  return both;
}

Tensor larger_noise(const Tensor& first, const Tensor& second) {
  if (!first.defined() || !second.defined()) return {};
  return changed_elements(first,
                          [&](double value, std::int64_t i) { return std::max(value, second.data<double>()[i]); });
}

Tensor in_any_order(Tensor noise, const Tensor& spread, DType dtype) {
  if (!noise.defined() || !spread.defined()) return noise;
  const double of_rounding = epsilon(dtype) / std::sqrt(12.0);
  double* values = noise.mutable_data<double>();
  for (std::int64_t i = 0; i < noise.numel(); ++i)
    values[i] = std::max(values[i], of_rounding * spread.data<double>()[i]);
  return noise;
}

Tensor most_of_narrow_sums(const Tensor& bench, const ErrorBudget& budget, bool sums_alone, DType dtype) {
  const auto terms = static_cast<double>(budget.longest);
  // Of few terms none is lost, unless the dtype does not reach so far, which float16 does not with squares.
  const bool loses_terms = budget.longest <= 1 || terms * epsilon(dtype) > 1.0 / 2;
  // Equal terms are all rounded in one direction, by half a unit of the partial sum, which grows.
  const double of_sum =
      budget.longest > 1 ? std::min(terms * epsilon(dtype) / 8, most_lost_by_rounding) : most_lost_by_rounding;
  // The spread of a function of sums is not that of their terms, which its other steps may have made less of.
  const double of_terms = epsilon(dtype) / std::sqrt(12.0) * (sums_alone ? std::sqrt(terms) : 1);
  // Few samples leave some elements next to no spread by chance, among many.
  const Tensor spread =
      budget.spread.defined() ? steadied(budget.spread) : by_rows(bench, [](double, double of_row) { return of_row; });
  return changed_elements(bench.to(DType::float64), [&](double value, std::int64_t i) {
    if (!loses_terms || !std::isfinite(value)) return std::numeric_limits<double>::infinity();
    return std::max(of_sum * std::abs(value), of_terms * spread.data<double>()[i]);
  });
}

Tensor smaller_noise(const Tensor& first, const Tensor& second) {
  if (!first.defined()) return {};
  return changed_elements(first,
                          [&](double value, std::int64_t i) { return std::min(value, second.data<double>()[i]); });
}

Tensor steadied(const Tensor& noise) {
  return by_rows(noise, [](double value, double of_row) { return std::sqrt((value * value + of_row * of_row) / 2); });
}

Tensor noise_of_many(const Tensor& noise, const Tensor& bench, DType dtype) {
  constexpr std::int64_t few = 4096;
  const std::int64_t count = noise.numel();
  const Tensor exact = bench.to(DType::float64).contiguous();
  const auto place = [&, units = rounding::Units(dtype)](std::int64_t i) { return units.at(exact.data<double>()[i]); };
  std::vector<double> in_places;
  for (std::int64_t i = 0; i < count; i += std::max<std::int64_t>(count / few, 1))
    in_places.push_back(noise.data<double>()[i] / place(i));
  const double of_storing = 1 / std::sqrt(12.0);
  const double least = std::min(upper_quartile(finite_magnitudes(std::move(in_places))), of_storing);
  const double times = std::sqrt(std::log(static_cast<double>(std::max(count, few))) / std::log(few));
  return changed_elements(noise, [&](double value, std::int64_t i) {
    return times * (std::isfinite(exact.data<double>()[i]) ? std::max(value, least * place(i)) : value);
  });
}

Tensor noise_of_unmeasured_steps(const Tensor& bench, DType dtype) {
  const double share = epsilon(dtype) / 2;
  return by_rows(bench, [share](double, double of_row) { return share * of_row; });
}

Tensor noise_of_parts(const Tensor& bench, const Tensor& spread, DType dtype) {
  const double of_rounding = epsilon(dtype) / 2 / std::sqrt(3.0);
  return changed_elements(bench.to(DType::float64), [&](double value, std::int64_t i) {
    return std::isfinite(value) ? of_rounding * std::hypot(value, spread.data<double>()[i]) : 0;
  });
}

std::int64_t most_outliers(std::int64_t count) { return 1 + count / 250; }

Tensor noise_of_outliers(const Tensor& noise, const Tensor& bench, DType dtype) {
  return changed_elements(noise, [&](double value, std::int64_t i) {
    return std::max(4 * value, unit_in_last_place(dtype, bench.item(i)) / 3);
  });
}

bool has_many_values(const Tensor& bench) {
  constexpr std::size_t many = 32;
  constexpr std::int64_t most_looked_at = 4096;
  const Tensor exact = bench.to(DType::float64).contiguous();
  std::set<double> values;
  for (std::int64_t i = 0; i < exact.numel(); i += std::max<std::int64_t>(exact.numel() / most_looked_at, 1)) {
    const double value = exact.data<double>()[i];
    if (std::isfinite(value) && values.insert(std::abs(value)).second && values.size() == many) return true;
  }
  return false;
}

Tensor root_of(const Tensor& squares, const std::optional<Tensor>& without) {
  const Tensor less = without ? without->to(DType::float64).contiguous() : Tensor{};
  return changed_elements(squares.to(DType::float64), [&](double value, std::int64_t i) {
    return std::sqrt(less.defined() ? std::max(value - less.data<double>()[i], 0.0) : value);
  });
}

}  // namespace msrun
