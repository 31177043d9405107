// Which calls of two recordings are the same call, although some were inserted, deleted, reordered or renamed
// (dump_compare.md 15.2).
#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "tools/recordings/recording.h"

namespace msrun::recordings {

inline constexpr std::uint32_t no_call = std::numeric_limits<std::uint32_t>::max();

enum class How : std::uint8_t { alone, in_order, reordered, renamed };

struct Alignment {
  std::vector<std::uint32_t> golden_of;  // for each target call
  std::vector<std::uint32_t> target_of;  // for each golden call
  std::vector<How> how;                  // for each target call; alone: inserted
  std::size_t count(How wanted) const;
  std::size_t deleted() const;
};

// checksums: contents are compared by those alone.
Alignment align(const Recording& target, const Recording& golden, bool checksums);

// Pairs of calls of equal base name and direction, in the order of the target; no_call where there is none.
std::vector<std::pair<std::uint32_t, std::uint32_t>> align_by_name(const Recording& target, const Recording& golden);

// The name of a call without type, number and in-place marks, aliases joined, with its direction; of a module its path.
std::string canonical_name(const Recording& side, const Call& call);

// Places of a call's tensors in Recording::leaves.
std::vector<std::uint32_t> tensors_of(const Recording& side, const Call& call, State state);

}  // namespace msrun::recordings
