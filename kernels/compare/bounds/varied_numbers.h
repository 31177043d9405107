// Numbers that are changed a little, for whoever measures by how much results follow: loops over blocks of inputs.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace msrun {

// 0, 1, -1, 2 and -2 may be flags, of which a little more or less is another thing altogether; where they are numbers,
// sums of them are exact.
bool may_be_flag(double value);

// By how much magnitudes are moved, in [-1, 1): made of their bits and a key, so that equal ones have equal shares. As
// many as there are values.
void shares_of_magnitudes(std::span<const double> values, std::uint64_t key, double* shares);

// Every number times 1 + change * share, or 1 - change * share where the former leads over 1 or -1, the ends of many a
// domain. What may be a flag, and what is not finite, stays. A share for each number; the change is a power of 2, so
// that factors are the same whether or not products and sums are fused.
void move_by_shares(std::span<double> values, double change, const double* shares);

// The same with shares that are 1 or -1: number i takes factors[bit i % 32 of words[i / 32]], or the other one. What
// may be a flag stays, and what has one of the magnitudes in kept.
void move_by_signs(std::span<double> values, const std::uint32_t* words, const std::array<double, 2>& factors,
                   std::span<const double> kept);

}  // namespace msrun
