// How far sound devices may lie from what is computed here. The kernels round as rarely as they can; the functions of
// a device may be off by a place of their result, and whatever follows from it then differs by more than rounding does.
// Whoever wants to know by how much computes a call with a seed (EvaluationContext::jitter_seed).
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/tensor/tensor.h"

namespace msrun {

// A random number for a value, made of its bits and a seed: those of neighbouring values and of neighbouring seeds are
// independent of each other, because steps that follow each other move by both. The mixing is the finaliser of
// MurmurHash3 (Appleby, in the public domain), for 32 and for 64 bits.
template <class T>
std::uint32_t word_of(T value, std::uint32_t seed) {
  if constexpr (sizeof(T) == 8) {
    std::uint64_t word = std::bit_cast<std::uint64_t>(value) ^ (std::uint64_t{seed} * 0x9e3779b97f4a7c15U);
    word = (word ^ word >> 33) * 0xff51afd7ed558ccdU;
    word = (word ^ word >> 33) * 0xc4ceb9fe1a85ec53U;
    return static_cast<std::uint32_t>(word >> 33);
  } else {
    std::uint32_t word = std::bit_cast<std::uint32_t>(value) ^ (seed * 0x9e3779b9U);
    word = (word ^ word >> 16) * 0x85ebca6bU;
    word = (word ^ word >> 13) * 0xc2b2ae35U;
    return word ^ word >> 16;
  }
}

// A number one place up or down; zero, infinities and NaN as they are. Branch-free, so that loops vectorise.
template <class T>
T next_to(T value, bool up, bool down) {
  using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  // The bits of a larger magnitude are a larger integer.
  const bool grows = std::signbit(value) ? down : up;
  const bool shrinks = std::signbit(value) ? up : down;
  const T magnitude = std::abs(value);
  const bool moves = magnitude > 0 && magnitude <= std::numeric_limits<T>::max();
  const Bits step = static_cast<Bits>(grows) - static_cast<Bits>(shrinks);
  return std::bit_cast<T>(std::bit_cast<Bits>(value) + (moves ? step : Bits{0}));
}

// A value one place up, one down, or as it is, as its bits and a seed that is not 0 have it.
template <class T>
T off_by_a_place(T value, std::uint32_t seed) {
  const std::uint32_t third = word_of(value, seed) % 3;
  return next_to(value, third == 1, third == 2);
}

// The result of a step that devices may round before they go on, or not, as with fused operations: off by a place, but
// for seed 0 and for dtypes other than float32 and float64.
template <class T>
T rough_step(T value, std::uint32_t seed) {
  if constexpr (std::is_floating_point_v<T>) {
    if (seed != 0) return off_by_a_place(value, seed);
  }
  return value;
}

// A value one place up or down: for what is the only one of its kind, whose place would not show in a third of the
// cases.
template <class T>
T a_place_beside(T value, std::uint32_t seed) {
  const bool up = word_of(value, seed) % 2 == 0;
  return next_to(value, up, !up);
}

// Every finite element of a float32 or float64 tensor that is not zero a place up or down, by a seed; other tensors,
// and all with seed 0, as they are. Where terms cancel whatever they are, such as those of the gradient of a normalised
// single element, this is what shows how large they are.
Tensor off_by_places(const Tensor& tensor, std::uint32_t seed);

}  // namespace msrun
