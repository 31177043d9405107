// The lines of a Message that say whether rounding explains a result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/compare/bounds/rounding.h"
#include "kernels/tensor/arithmetic.h"

namespace msrun {

// dtype is that of the device's result; fit and budget are those that explained it.
std::string explained_text(DType dtype, const ErrorBudget& budget, const RoundingFit& fit);

// Because the terms of long sums were added in that order.
std::string series_text(const Summation& summation, DType dtype, const ErrorBudget& budget, const RoundingFit& fit);

// Because intermediate results are stored in that dtype.
std::string stored_text(DType dtype, const RoundingFit& fit);

// Because operands are rounded so, by the device's settings or by those that frameworks have by default.
std::string operands_text(OperandRounding rounding, bool by_settings, const RoundingFit& fit);

// That so many of all elements are on the other side of a step than the benchmark.
std::string steps_text(std::int64_t on_steps, std::int64_t count);

// That so many of all elements have the other of two right results.
std::string alternatives_text(std::int64_t alternatives, std::int64_t count);

// Because what is named ("partial sums") is rounded to that half type.
std::string half_steps_text(std::string_view what, DType dtype, const RoundingFit& fit);

// Of what only additions in a half type would explain, of a recording that does not say what made it.
std::string rounding_on_a_cpu_text();

// What is said of a result of so many elements that nothing explains.
std::string unexplained_text(std::int64_t count, const RoundingFit& fit);

}  // namespace msrun
