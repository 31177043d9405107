// How far two recorded tensors lie apart, judged by their statistics or checksums (dump_compare.md 15.1).
#pragma once

#include <limits>
#include <string_view>

#include "tools/recordings/recording.h"

namespace msrun::recordings {

struct Gap {
  bool comparable = true;  // the shapes are equal
  // Differences of the statistics over the size of the golden tensor; infinite where one side alone is not finite, and
  // between tensors whose checksums differ.
  double gap = 0;
  // Differences of the extremes over the extremes themselves: seen also where one large value hides the others.
  double own = 0;
  // Nothing that was recorded tells them apart: equal checksums, or the same numbers in every statistic.
  bool equal = false;
};

// Rounding to nearest changes a number by at most this share of it: half the distance of 1 to the next number.
inline constexpr double unit_of_bfloat16 = 0x1p-8;
double rounding_unit(std::string_view dtype);

// checksums: only those count. unit: rounding that went into the tensors, where it is coarser than their dtypes'.
Gap gap_of(const Recording& target, const Leaf& mine, const Recording& golden, const Leaf& theirs, bool checksums,
           double unit = 0);

// bfloat16 and float16.
bool is_half(const Recording& side, const Leaf& leaf);
// Integers and booleans, which nothing rounds.
bool is_whole(const Recording& side, const Leaf& leaf);

// A number for the content of a tensor: equal for tensors of one element count and, as only those count, equal
// checksums, or else equal statistics. 0 where nothing tells tensors from each other: without a checksum where
// checksums count, else without statistics or without elements.
std::uint64_t content_of(const Recording& side, const Leaf& leaf, bool checksums);

}  // namespace msrun::recordings
