#include "tools/dump_compare/rows.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <deque>
#include <string_view>
#include <unordered_map>

#include "kernels/base/lower_case.h"
#include "tools/recordings/gap.h"

namespace msrun::dump_compare {
namespace {

using recordings::Direction;

// Rows of one side in order, leaf by leaf.
template <class OnLeaf>
void each_leaf(const Recording& side, bool compat, const OnLeaf& on_leaf) {
  for (std::uint32_t c = 0; c < side.calls.size(); ++c) {
    const Call& call = side.calls[c];
    if (compat && !side.debug && !is_compared_by_msprobe(call)) continue;
    for (std::uint32_t leaf = call.leaves; leaf < call.leaf_end; ++leaf) on_leaf(c, leaf);
  }
}

// Rows of the golden side by their keys, in the order of the file. Of a key 128 bits are kept: there are millions.
class GoldenIndex {
 public:
  explicit GoldenIndex(std::size_t rows) {
    next_.reserve(rows);
    places_.reserve(rows);
    first_.reserve(rows);
  }

  void add(std::string_view key, std::uint32_t call, std::uint32_t leaf) {
    const auto number = static_cast<std::uint32_t>(places_.size());
    places_.push_back({call, leaf});
    next_.push_back(no_place);
    const auto [found, is_new] = first_.emplace(digest(key), Chain{number, number, number});
    if (is_new) return;
    next_[found->second.last] = number;
    found->second.last = number;
  }

  struct Place {
    std::uint32_t call = no_place;
    std::uint32_t leaf = no_place;
  };
  // The next row of that key that was not taken yet.
  std::optional<Place> take(std::string_view key) {
    const auto found = first_.find(digest(key));
    if (found == first_.end() || found->second.untaken == no_place) return std::nullopt;
    const std::uint32_t number = found->second.untaken;
    found->second.untaken = next_[number];
    return places_[number];
  }
  std::vector<Place> all(std::string_view key) const {
    std::vector<Place> found;
    const auto chain = first_.find(digest(key));
    if (chain == first_.end()) return found;
    for (std::uint32_t number = chain->second.first; number != no_place; number = next_[number]) {
      found.push_back(places_[number]);
    }
    return found;
  }

 private:
  struct Chain {
    std::uint32_t first;
    std::uint32_t last;
    std::uint32_t untaken;
  };
  struct Digest {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    bool operator==(const Digest&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Digest& digest) const { return digest.low; }
  };
  static Digest digest(std::string_view key) {
    const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
    return {hash.low64, hash.high64};
  }

  std::unordered_map<Digest, Chain, Hash> first_;
  std::vector<std::uint32_t> next_;
  std::vector<Place> places_;
};

// msProbe shows a row whose dtypes do not fit as one without a counterpart.
Row as_shown(const Sides& sides, Row row, bool check_dtypes) {
  if (!sides.compat || !check_dtypes || row.golden == no_place) return row;
  if (dtypes_match(sides, sides.target.leaves[row.target], sides.golden.leaves[row.golden])) return row;
  row.golden = row.golden_call = no_place;
  return row;
}

// Puts the rows that only the golden side has behind the row that precedes them there.
std::vector<Row> with_golden_rows(const Sides& sides, std::vector<Row> rows) {
  std::vector<std::uint32_t> row_of(sides.golden.leaves.size(), no_place);
  for (std::uint32_t r = 0; r < rows.size(); ++r) {
    if (rows[r].golden != no_place) row_of[rows[r].golden] = r;
  }
  std::vector<std::pair<std::uint32_t, Row>> more;  // behind which row; 0: in front of all
  std::uint32_t behind = 0;
  each_leaf(sides.golden, sides.compat, [&](std::uint32_t call, std::uint32_t leaf) {
    if (row_of[leaf] != no_place) {
      behind = row_of[leaf] + 1;
    } else {
      more.push_back({behind, Row{no_place, no_place, leaf, call}});
    }
  });
  if (more.empty()) return rows;
  std::ranges::stable_sort(more, {}, [](const auto& entry) { return entry.first; });
  std::vector<Row> merged;
  merged.reserve(rows.size() + more.size());
  auto next = more.begin();
  for (std::uint32_t r = 0; r <= rows.size(); ++r) {
    for (; next != more.end() && next->first == r; ++next) merged.push_back(next->second);
    if (r < rows.size()) merged.push_back(rows[r]);
  }
  return merged;
}

std::string_view cut_at_direction(std::string_view name, std::string& cut) {
  std::size_t at = name.find("forward");
  if (at == std::string_view::npos) at = name.find("backward");
  if (at == std::string_view::npos) return name;
  // "<part>." before the direction goes, and what follows a second direction as well.
  std::string_view head = name.substr(0, at);
  if (head.ends_with('.')) head.remove_suffix(1);
  const std::size_t dot = head.rfind('.');
  cut = std::string(dot == std::string_view::npos ? std::string_view() : head.substr(0, dot + 1));
  const std::string_view word = name.substr(at, name[at] == 'f' ? 7 : 8);
  std::string_view tail = name.substr(at + word.size());
  tail = tail.substr(0, tail.find(word));
  cut += tail;
  return cut;
}

struct WaitingRow {
  std::uint32_t call;
  std::uint32_t leaf;
  std::string name;  // as msProbe's fuzzy matching sees it
};

// The rows of one side that were read but not matched, and those not read yet.
class FuzzySide {
 public:
  FuzzySide(const Recording& side, bool compat) {
    each_leaf(side, compat, [&](std::uint32_t call, std::uint32_t leaf) {
      std::string cut;
      const std::string name = side.row_name(side.calls[call], side.leaves[leaf]);
      unread_.push_back({call, leaf, std::string(cut_at_direction(name, cut))});
    });
  }
  bool read() {
    if (unread_.empty()) return false;
    waiting.push_back(std::move(unread_.front()));
    unread_.pop_front();
    return true;
  }
  bool ended() const { return unread_.empty(); }
  void drop(std::size_t count) { waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(count)); }

  std::deque<WaitingRow> waiting;

 private:
  std::deque<WaitingRow> unread_;
};

using Hit = std::optional<std::pair<std::size_t, std::size_t>>;

Hit find_hit(const FuzzySide& target, const FuzzySide& golden) {
  const auto& mine = target.waiting;
  const auto& theirs = golden.waiting;
  if (mine.empty() || theirs.empty()) return std::nullopt;
  for (std::size_t g = 0; g + 1 < theirs.size(); ++g) {
    if (mine.back().name == theirs[g].name) return {{mine.size() - 1, g}};
  }
  if (mine.back().name == theirs.back().name) return {{mine.size() - 1, theirs.size() - 1}};
  for (std::size_t t = 0; t + 1 < mine.size(); ++t) {
    if (mine[t].name == theirs.back().name) return {{t, theirs.size() - 1}};
  }
  return std::nullopt;
}

// Up to where two recordings have rows of the same keys: so many calls, and so many leaves of the next one.
struct EqualBeginning {
  std::uint32_t calls = 0;
  std::uint32_t leaves = 0;
  bool holds(const Recording& side, std::uint32_t call, std::uint32_t leaf) const {
    return call < calls || (call == calls && leaf - side.calls[call].leaves < leaves);
  }
};

// Recordings of one model begin alike, as a rule to their ends. Rows of equal keys up to the first that differs belong
// together, also where keys repeat: of each key as many have come on either side.
EqualBeginning match_equal_beginning(const Recording& target, const Recording& golden, std::vector<Row>& rows) {
  std::string mine;
  std::string theirs;
  EqualBeginning equal;
  for (; equal.calls < std::min(target.calls.size(), golden.calls.size()); ++equal.calls) {
    const Call& here = target.calls[equal.calls];
    const Call& there = golden.calls[equal.calls];
    const std::uint32_t mine_in_all = here.leaf_end - here.leaves;
    const std::uint32_t theirs_in_all = there.leaf_end - there.leaves;
    for (equal.leaves = 0; equal.leaves < std::min(mine_in_all, theirs_in_all); ++equal.leaves) {
      const std::uint32_t leaf = here.leaves + equal.leaves;
      const std::uint32_t other = there.leaves + equal.leaves;
      target.set_row_key(mine, here, target.leaves[leaf], true);
      golden.set_row_key(theirs, there, golden.leaves[other], true);
      if (mine != theirs) return equal;
      rows.push_back({leaf, equal.calls, other, equal.calls});
    }
    if (mine_in_all != theirs_in_all) return equal;
  }
  equal.leaves = 0;
  return equal;
}

}  // namespace

bool is_compared_by_msprobe(const Call& call) { return call.direction != Direction::none; }

std::vector<Row> match_rows(const Sides& sides, const NameMap* names) {
  const bool compat = sides.compat;
  const Recording& target = sides.target;
  const Recording& golden = sides.golden;
  std::vector<Row> rows;
  rows.reserve(target.leaves.size());
  const EqualBeginning equal =
      names == nullptr && !compat ? match_equal_beginning(target, golden, rows) : EqualBeginning();
  GoldenIndex index(golden.leaves.size() - std::min(golden.leaves.size(), rows.size()));
  std::unordered_map<std::string, std::string> real_names;  // of golden rows, to their keys
  const bool mapped_names = names != nullptr && names->real_names && !compat;
  std::string text;
  each_leaf(golden, compat, [&](std::uint32_t c, std::uint32_t leaf) {
    if (equal.holds(golden, c, leaf)) return;
    golden.set_row_key(text, golden.calls[c], golden.leaves[leaf], true);
    if (mapped_names) real_names.emplace(golden.row_name(golden.calls[c], golden.leaves[leaf]), text);
    index.add(text, c, leaf);
  });
  const bool check_dtypes = names == nullptr || !names->real_names;
  each_leaf(target, compat, [&](std::uint32_t c, std::uint32_t leaf) {
    if (equal.holds(target, c, leaf)) return;
    const Row alone{leaf, c, no_place, no_place};
    if (names == nullptr && !compat) {
      target.set_row_key(text, target.calls[c], target.leaves[leaf], true);
      const auto place = index.take(text);
      rows.push_back(place ? Row{leaf, c, place->leaf, place->call} : alone);
      return;
    }
    // msProbe maps the recorded name and not the renumbered one.
    const bool renumbered = names == nullptr || (!compat && !names->real_names);
    std::optional<std::string> key = target.row_key(target.calls[c], target.leaves[leaf], renumbered);
    if (names != nullptr) {
      const std::string name = *key;
      key = names->map(name);
      if (mapped_names && key) {
        const auto real = real_names.find(*key);
        if (real != real_names.end()) {
          key = real->second;
        } else if (*key == name) {
          key = target.row_key(target.calls[c], target.leaves[leaf], true);
        }
      }
    }
    if (!key) return rows.push_back(alone);
    if (compat) {
      const auto found = index.all(*key);
      if (found.empty()) rows.push_back(alone);
      for (const auto& place : found) rows.push_back(as_shown(sides, {leaf, c, place.leaf, place.call}, check_dtypes));
    } else {
      const auto place = index.take(*key);
      rows.push_back(place ? Row{leaf, c, place->leaf, place->call} : alone);
    }
  });
  return compat ? rows : with_golden_rows(sides, std::move(rows));
}

std::vector<Row> match_rows_as_msprobe_fuzzy(const Sides& sides) {
  FuzzySide target(sides.target, true);
  FuzzySide golden(sides.golden, true);
  std::vector<Row> rows;
  const auto give_up = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      rows.push_back({target.waiting[i].leaf, target.waiting[i].call, no_place, no_place});
    }
    target.drop(count);
  };
  while (!target.ended() || !golden.ended()) {
    target.read();
    golden.read();
    if (target.waiting.empty() != golden.waiting.empty()) break;
    if (const Hit hit = find_hit(target, golden)) {
      give_up(hit->first);
      const Row row{target.waiting.front().leaf, target.waiting.front().call, golden.waiting[hit->second].leaf,
                    golden.waiting[hit->second].call};
      rows.push_back(as_shown(sides, row, true));
      target.drop(1);
      golden.drop(hit->second + 1);
    }
  }
  give_up(target.waiting.size());
  return rows;
}

std::vector<Row> rows_of_pairs(const Sides& sides, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& calls) {
  std::vector<Row> rows;
  for (const auto& [mine, theirs] : calls) {
    if (mine == no_place) continue;
    const Call& call = sides.target.calls[mine];
    std::unordered_map<std::string_view, std::deque<std::uint32_t>> by_suffix;
    if (theirs != no_place) {
      const Call& other = sides.golden.calls[theirs];
      for (std::uint32_t leaf = other.leaves; leaf < other.leaf_end; ++leaf) {
        by_suffix[sides.golden.text(sides.golden.leaves[leaf].suffix)].push_back(leaf);
      }
    }
    for (std::uint32_t leaf = call.leaves; leaf < call.leaf_end; ++leaf) {
      Row row{leaf, mine, no_place, no_place};
      const auto found = by_suffix.find(sides.target.text(sides.target.leaves[leaf].suffix));
      if (found != by_suffix.end() && !found->second.empty()) {
        row.golden = found->second.front();
        row.golden_call = theirs;
        found->second.pop_front();
      }
      rows.push_back(row);
    }
  }
  return with_golden_rows(sides, std::move(rows));
}

std::string canonical_dtype(std::string_view dtype) {
  if (dtype.starts_with("torch.")) dtype.remove_prefix(6);
  return lower_case(dtype);
}

double rounding_noise(std::string_view dtype) {
  constexpr double units = 64;
  constexpr double most = 0x1p-3;  // of whatever type: no rounding changes a norm by more
  return std::min(units * recordings::rounding_unit(dtype), most);
}

bool dtypes_match(const Sides& sides, const Leaf& target, const Leaf& golden) {
  const std::string_view mine = sides.target.text(target.dtype);
  const std::string_view theirs = sides.golden.text(golden.dtype);
  if (mine == theirs) return true;
  const auto family = [](std::string_view dtype) -> std::string {
    const std::string name = canonical_dtype(dtype);
    for (const char* word : {"bool", "complex", "float", "int"}) {
      if (name.find(word) != std::string::npos) return word;
    }
    return name;
  };
  if (sides.cross) return family(mine) == family(theirs);
  const auto is_float = [](std::string_view dtype, bool torch) {
    for (const std::string_view name : {"float16", "float32", "bfloat16"}) {
      if (torch ? dtype == "torch." + std::string(name) : canonical_dtype(dtype) == name && dtype.front() <= 'Z') {
        return true;
      }
    }
    return false;
  };
  return (is_float(mine, true) && is_float(theirs, true)) || (is_float(mine, false) && is_float(theirs, false));
}

}  // namespace msrun::dump_compare
