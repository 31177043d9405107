#include "kernels/numeric/sums.h"

#include <algorithm>
#include <bit>

namespace msrun {
namespace {

// The longest block in which a device adds one term after the other: a thread's share, or what one vector register adds
// up. A tree adds the blocks.
constexpr std::int64_t longest_block = 1024;
// The longest product that a device forms without splitting it, and the fewest parts of a longer one.
constexpr std::int64_t longest_series = 65536;
constexpr std::int64_t fewest_parts = 16;

}  // namespace

std::int64_t chained_additions(std::int64_t terms, SumForm form) {
  if (form == SumForm::series) {
    return terms <= longest_series ? terms : std::max(longest_series, terms / fewest_parts);
  }
  if (terms <= longest_block) return terms;
  const auto blocks = static_cast<std::uint64_t>((terms + longest_block - 1) / longest_block);
  return longest_block + std::bit_width(blocks - 1);
}

}  // namespace msrun
