// How kernels and operators compute. The default is what a sound device does: storage in the tensor's dtype, float32
// (float64 for float64) in between. The members describe faulty or approximate hardware.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/tensor/dtype.h"

namespace msrun {

// What a sum in float32 is rounded to after every addition. Sums in float64 are never rounded.
enum class Accumulator : std::uint8_t {
  wide,               // float32 itself, in the order that is fastest; the others add up term by term
  float16,            // to nearest
  bfloat16,           // to nearest
  truncated_float32,  // float32, toward zero
  float32,            // float32 itself
};

constexpr bool rounds_to_half(Accumulator accumulator) {
  return accumulator == Accumulator::float16 || accumulator == Accumulator::bfloat16;
}

// How the terms of a sum of products or of a reduction become its result.
struct Summation {
  Accumulator accumulator = Accumulator::wide;
  bool drops_last = false;  // the last term is missing where there are two or more
  // How sums over axes, and over the rows of norms and softmax, are added up term by term: in so many partial sums,
  // each of which takes every so manyth term, and from which end. No more than most_lanes.
  std::int64_t lanes = 1;
  bool backwards = false;

  static constexpr std::size_t most_lanes = 64;

  bool operator==(const Summation&) const = default;
  // The first terms of a sum, those that count.
  std::int64_t used(std::int64_t terms) const { return drops_last && terms > 1 ? terms - 1 : terms; }
  // For the parts of one sum but the last.
  Summation whole() const { return {accumulator, false, lanes, backwards}; }
};

// What float32 operands are rounded to before they are multiplied.
enum class OperandRounding : std::uint8_t {
  none,
  hf32,            // 11 fraction bits, half up in magnitude: Ascend
  tf32,            // 10 fraction bits, half up in magnitude: NVIDIA
  truncated_tf32,  // 10 fraction bits, the others are cut off: what tensor cores do with float32 numbers
};

// The fraction bits that are left of a float32 number.
constexpr int fraction_bits(OperandRounding rounding) {
  switch (rounding) {
    case OperandRounding::hf32:
      return 11;
    case OperandRounding::tf32:
    case OperandRounding::truncated_tf32:
      return 10;
    case OperandRounding::none:
      break;
  }
  return 23;
}

// The largest relative error of a rounded operand.
constexpr double roundoff_of_operand(OperandRounding rounding) {
  const double place = 1.0 / static_cast<double>(1U << static_cast<unsigned>(fraction_bits(rounding)));
  return rounding == OperandRounding::truncated_tf32 ? place : place / 2;
}

// How the operands of matrix products and of convolutions are rounded.
struct Operands {
  OperandRounding products = OperandRounding::none;
  OperandRounding convolutions = OperandRounding::none;
  bool operator==(const Operands&) const = default;
};

struct Arithmetic {
  Summation summation;            // of products and reductions
  Operands operands = {};         // in float32
  bool flush_subnormals = false;  // subnormal results become zero, in the dtype of the result
  // Results are cut toward zero where they are stored in a floating dtype that is narrower than the one they were
  // computed in, and float32 sums after every addition: see evaluate().
  bool rounds_to_zero = false;
  bool operator==(const Arithmetic&) const = default;
};

// The float32 that is nearest to value among those that are not larger in magnitude.
inline float truncated_to_float(double value) {
  const auto nearest = static_cast<float>(value);
  const bool beyond = std::abs(static_cast<double>(nearest)) > std::abs(value) && std::isfinite(value);
  return beyond ? std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) - 1) : nearest;
}

// total + value as an accumulator holds it.
template <Accumulator A>
float accumulate(float total, float value) {
  if constexpr (A == Accumulator::float16) {
    return as_half(total + value);
  } else if constexpr (A == Accumulator::bfloat16) {
    return as_bfloat16(total + value);
  } else if constexpr (A == Accumulator::truncated_float32) {
    return truncated_to_float(static_cast<double>(total) + static_cast<double>(value));
  } else {
    return total + value;
  }
}

// A sum that was formed in double, as an accumulator of float32 sums holds it; the wide one leaves it in double.
template <Accumulator A>
double held(double total) {
  if constexpr (A == Accumulator::float16) {
    return static_cast<double>(as_half(static_cast<float>(total)));
  } else if constexpr (A == Accumulator::bfloat16) {
    return static_cast<double>(as_bfloat16(static_cast<float>(total)));
  } else if constexpr (A == Accumulator::truncated_float32) {
    return static_cast<double>(truncated_to_float(total));
  } else if constexpr (A == Accumulator::float32) {
    return static_cast<double>(static_cast<float>(total));
  } else {
    return total;
  }
}

// Calls f with the accumulator as a std::integral_constant, so that loops can be compiled for it.
template <class F>
decltype(auto) with_accumulator(Accumulator accumulator, F&& f) {
  switch (accumulator) {
    case Accumulator::float16:
      return f(std::integral_constant<Accumulator, Accumulator::float16>{});
    case Accumulator::bfloat16:
      return f(std::integral_constant<Accumulator, Accumulator::bfloat16>{});
    case Accumulator::truncated_float32:
      return f(std::integral_constant<Accumulator, Accumulator::truncated_float32>{});
    case Accumulator::float32:
      return f(std::integral_constant<Accumulator, Accumulator::float32>{});
    case Accumulator::wide:
      break;
  }
  return f(std::integral_constant<Accumulator, Accumulator::wide>{});
}

// The accumulator of sums in T: that of float32 sums if T is float, else the wide one.
template <class T>
Accumulator accumulator_of(const Arithmetic& arithmetic) {
  return std::is_same_v<T, float> ? arithmetic.summation.accumulator : Accumulator::wide;
}

class Tensor;

// float32 values rounded so (HF32: api_inventory.md 2.6). Infinity and NaN stay; the largest values may overflow. The
// result is contiguous.
Tensor round_operand(const Tensor& tensor, OperandRounding rounding);

}  // namespace msrun
