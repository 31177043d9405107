// Tensors from lists of numbers, and calls compared as the pre-check compares them.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/compare/compare.h"

namespace msrun::testing {

inline constexpr double inf = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

inline Tensor tensor(DType dtype, const Dims& shape, const std::vector<double>& values) {
  return Tensor::from<double>(DType::float64, {shape.data(), shape.size()}, values).to(dtype);
}
inline Tensor vector(DType dtype, const std::vector<double>& values) {
  return tensor(dtype, {static_cast<std::int64_t>(values.size())}, values);
}

inline CompareOptions compat() {
  CompareOptions options;
  options.compat_msprobe = true;
  return options;
}

inline const OperatorTraits& traits_of_call(const std::string& full_name) {
  const auto name = ApiName::parse(full_name);
  return name ? traits_of(*name) : ordinary_traits;
}

inline Comparison compare_call(const std::string& full_name, const Value& bench, const Value& device,
                               const CompareOptions& options = {}, const Value* first_input = nullptr) {
  return compare_outputs(full_name, traits_of_call(full_name), bench, device, false, options, first_input);
}

inline DetailsRow compare_one(const std::string& api, const Value& bench, const Value& device,
                              const CompareOptions& options = {}) {
  const Comparison comparison = compare_call("Torch." + api + ".0", bench, device, options);
  EXPECT_EQ(comparison.rows.size(), 1U);
  return comparison.rows.empty() ? DetailsRow{} : comparison.rows.front();
}

inline std::string text(const DetailsRow& row, Metric metric) { return cell_text(row[metric], 14); }

}  // namespace msrun::testing
