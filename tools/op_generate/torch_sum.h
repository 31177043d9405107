// Sums in the order in which torch adds them, so that a mean has the same last digits.
#pragma once

#include <span>

#include "kernels/tensor/dtype.h"

namespace msrun::op_generate {

// torch.sum of a row of values of float32 or float64, which the values are, on a processor with vectors of 32 bytes
// (AVX2): a cascade of four levels over rows of four vectors (ATen/native/cpu/SumKernel.cpp of torch 1.13). Other
// processors, and sums that torch spreads over threads, may differ in last digits.
double torch_sum(std::span<const double> values, DType dtype);

}  // namespace msrun::op_generate
