// Which leaves of two recordings are compared with each other (dump_compare.md 4 and 5).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/recordings/recording.h"

namespace msrun::dump_compare {

using recordings::Call;
using recordings::Leaf;
using recordings::Recording;

inline constexpr std::uint32_t no_place = std::numeric_limits<std::uint32_t>::max();

// Indices in Recording::leaves and Recording::calls; no_place where that side has none.
struct Row {
  std::uint32_t target = no_place;
  std::uint32_t target_call = no_place;
  std::uint32_t golden = no_place;
  std::uint32_t golden_call = no_place;
};

class ForwardCalls;

struct Sides {
  const Recording& target;
  const Recording& golden;
  bool cross = false;   // the target is MindSpore's, the golden side PyTorch's
  bool compat = false;  // as msProbe, errors included
  // Of both sides, for the rules about gaps; null: they do not apply to backward calls.
  const ForwardCalls* target_forwards = nullptr;
  const ForwardCalls* golden_forwards = nullptr;
};

// What the name of a target row becomes before it is looked for among the names of the golden rows; nothing: it has no
// counterpart. key: the name with renumbered backward calls, what is to be mapped in the one mode and the other.
struct NameMap {
  // Keys of the golden side are real names (a data mapping), not renumbered ones.
  bool real_names = false;
  std::function<std::optional<std::string>(const std::string& name)> map;
  std::string listed;  // of a layer mapping: all rows that it maps, as the text of a data mapping file
};

// Whether msProbe compares the calls at all; the others are those that it drops without a word.
bool is_compared_by_msprobe(const Call& call);

// Rows in the order of the target, with those of the golden side alone behind the row that precedes them there
// (not with compat, and not with a name map).
std::vector<Row> match_rows(const Sides& sides, const NameMap* names);

// Rows of msProbe's own fuzzy matching (4.3), its errors included.
std::vector<Row> match_rows_as_msprobe_fuzzy(const Sides& sides);

// Rows of calls that were aligned: pairs of indices of calls, no_place for none, in the order of the target.
std::vector<Row> rows_of_pairs(const Sides& sides, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& calls);

// One name for a dtype whichever framework spells it: "float32" of "torch.float32" and "Float32".
std::string canonical_dtype(std::string_view dtype);
// 64 units of rounding of a dtype, at most an eighth: a norm that is off by less is no finding.
double rounding_noise(std::string_view dtype);
// Whether rows of these dtypes are compared (4.2).
bool dtypes_match(const Sides& sides, const Leaf& target, const Leaf& golden);

}  // namespace msrun::dump_compare
