#include "tools/recordings/communication.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>

#include "kernels/base/text.h"
#include "tools/recordings/call_rules.h"

namespace msrun::recordings {
namespace {

std::string_view type_of(std::string_view name) { return name.substr(0, name.find('.')); }

// Who else takes part in a call: ranks of its group, and the other side of a call from one rank to another.
struct Named {
  std::string group;  // "[0, 1]"; empty: all ranks
  std::optional<std::uint64_t> peer;
};

Named named_in(const Recording& side, const Call& call) {
  Named named;
  std::optional<std::uint64_t> positional;
  for (std::uint32_t i = call.leaves; i < call.leaf_end; ++i) {
    const Leaf& leaf = side.leaves[i];
    if (leaf.state != State::input) continue;
    const Value& value = leaf.statistics[max_value];
    if (side.text(leaf.type) == "torch.ProcessGroup") {
      if (value.kind == Kind::text) named.group = side.text(value.text);
      continue;
    }
    const std::string_view suffix = side.text(leaf.suffix);
    const std::string_view key = suffix.substr(suffix.rfind('.') + 1);
    const auto number = parse_number<std::uint64_t>(value_text(side.texts, value));
    if (!number) continue;
    if (key == "dst" || key == "src" || key == "group_dst" || key == "group_src" || key == "dst_group" ||
        key == "src_group") {
      named.peer = number;
    } else if (!positional && side.text(leaf.type) == "int") {
      positional = number;
    }
  }
  if (!named.peer) named.peer = positional;
  return named;
}

// The call whose arguments tell of a backward call.
const Call& forward_of(const Recording& side, const Call& call,
                       const std::unordered_map<std::string, std::size_t>& names) {
  if (call.direction != Direction::backward) return call;
  std::string name(side.name(call));
  const std::size_t at = name.rfind("backward");
  const auto found = names.find(name.replace(at, 8, "forward"));
  return found == names.end() ? call : side.calls[found->second];
}

// From one rank to another, as one of the two records it.
bool is_between_two(std::string_view api, const Named& named) {
  const bool one_way = api.find("send") != std::string::npos || api.find("recv") != std::string::npos;
  return one_way && api.find("batch") == std::string::npos && named.peer;
}

// What the calls of one communication have in common, but for their number.
std::string key_of(const Recording& side, const Call& call, const Call& described, std::uint64_t rank) {
  std::string api(api_of(side.name(call), call));
  const Named named = named_in(side, described);
  const bool sends = api.find("send") != std::string::npos;
  std::string key(call.direction == Direction::backward ? "backward " : "");
  if (is_between_two(api, named)) {
    const std::uint64_t from = sends ? rank : *named.peer;
    const std::uint64_t to = sends ? *named.peer : rank;
    const bool objects = api.find("object") != std::string::npos;
    return key + (objects ? "objects " : "tensors ") + std::to_string(from) + " " + std::to_string(to) + named.group;
  }
  return key + api + " " + named.group;
}

}  // namespace

bool is_communication(const Recording& side, const Call& call) {
  const std::string_view name = side.name(call);
  const std::string_view api = api_of(name, call);
  if (type_of(name) != "Distributed") {
    return !call.module && is_between_ranks(api) && type_of(name) != "Tensor" && type_of(name) != "Torch" &&
           api != "gather" && api != "scatter" && api != "reduce";
  }
  return holds_communication(name);
}

RankOrder::RankOrder(std::vector<Rank> ranks) : ranks_(std::move(ranks)) {
  find_points();
  order_points();
}

void RankOrder::find_points() {
  std::map<std::pair<std::string, std::size_t>, std::uint32_t> known;  // key and number of the call on its rank
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    const Recording& side = *ranks_[r].recording;
    std::unordered_map<std::string, std::size_t> names;
    for (std::size_t c = 0; c < side.calls.size(); ++c) {
      if (is_communication(side, side.calls[c])) names.emplace(side.name(side.calls[c]), c);
    }
    std::unordered_map<std::string, std::size_t> counts;
    point_of_.emplace_back(side.calls.size(), none);
    last_point_.emplace_back(side.calls.size(), none);
    std::uint32_t last = none;
    for (std::uint32_t c = 0; c < side.calls.size(); ++c) {
      last_point_[r][c] = last;
      const Call& call = side.calls[c];
      if (!is_communication(side, call)) continue;
      const Call& described = forward_of(side, call, names);
      std::string key = key_of(side, call, described, ranks_[r].number);
      const std::size_t number = counts[key]++;
      const auto [found, is_new] = known.emplace(std::pair(std::move(key), number), points_.size());
      if (is_new) points_.emplace_back().named = named_ranks(described, call, ranks_[r]);
      points_[found->second].calls.push_back({r, c});
      point_of_[r][c] = last = found->second;
    }
  }
}

std::vector<std::uint64_t> RankOrder::named_ranks(const Call& described, const Call& call, const Rank& rank) const {
  const Recording& side = *rank.recording;
  const Named named = named_in(side, described);
  if (is_between_two(api_of(side.name(call), call), named)) return {rank.number, *named.peer};
  std::vector<std::uint64_t> numbers;
  for (std::size_t at = 0; at < named.group.size(); ++at) {
    const std::size_t end = std::min(named.group.find_first_not_of("0123456789", at), named.group.size());
    const auto number = parse_number<std::uint64_t>(std::string_view(named.group).substr(at, end - at));
    if (number) numbers.push_back(*number);
    at = end;
  }
  if (!numbers.empty()) return numbers;
  std::uint64_t largest = 0;
  for (const Rank& one : ranks_) largest = std::max(largest, one.number);
  // Numbers of folders say nothing where they are no numbers of ranks.
  if (largest >= 4 * ranks_.size()) return {};
  for (std::uint64_t number = 0; number <= largest; ++number) numbers.push_back(number);
  return numbers;
}

void RankOrder::order_points() {
  std::vector<std::vector<std::uint32_t>> sequence(ranks_.size());
  for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
    for (const std::uint32_t point : point_of_[r]) {
      if (point != none) sequence[r].push_back(point);
    }
  }
  std::vector<std::size_t> next(ranks_.size(), 0);
  const auto finish = [&](std::uint32_t number) {
    Point& point = points_[number];
    point.reaches.assign(ranks_.size(), 0);
    for (const CallPlace& place : point.calls) {
      const std::uint32_t before = last_point_[place.rank][place.call];
      if (before != none && points_[before].done) {
        point.layer = std::max(point.layer, points_[before].layer + 1);
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
          point.reaches[r] = std::max(point.reaches[r], points_[before].reaches[r]);
        }
        for (const CallPlace& own : points_[before].calls) {
          point.reaches[own.rank] = std::max(point.reaches[own.rank], own.call + 1);
        }
      }
    }
    for (const CallPlace& place : point.calls) {
      point.reaches[place.rank] = std::max(point.reaches[place.rank], place.call);
    }
    point.done = true;
  };
  while (true) {
    bool left = false;
    bool moved = false;
    std::uint32_t waiting = none;
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
      while (next[r] < sequence[r].size()) {
        const std::uint32_t number = sequence[r][next[r]];
        if (!points_[number].done) {
          const bool ready = std::ranges::all_of(points_[number].calls, [&](const CallPlace& place) {
            return next[place.rank] < sequence[place.rank].size() && sequence[place.rank][next[place.rank]] == number;
          });
          if (!ready) {
            left = true;
            if (waiting == none) waiting = number;
            break;
          }
          finish(number);
        }
        ++next[r];
        moved = true;
      }
    }
    if (!left) return;
    // Ranks that wait for each other, as after calls that one of them did not record.
    if (!moved) finish(waiting);
  }
}

std::uint32_t RankOrder::point_before(CallPlace place) const { return last_point_[place.rank][place.call]; }

std::vector<CallPlace> RankOrder::participants(CallPlace place) const {
  const std::uint32_t point = point_of_[place.rank][place.call];
  if (point == none) return {place};
  return points_[point].calls;
}

std::vector<std::uint64_t> RankOrder::absent(CallPlace place) const {
  const std::uint32_t point = point_of_[place.rank][place.call];
  if (point == none) return {};
  std::vector<std::uint64_t> missing = points_[point].named;
  std::erase_if(missing, [&](std::uint64_t number) {
    return std::ranges::any_of(points_[point].calls,
                               [&](const CallPlace& own) { return ranks_[own.rank].number == number; });
  });
  return missing;
}

std::uint32_t RankOrder::layer(CallPlace place) const {
  if (const std::uint32_t point = point_of_[place.rank][place.call]; point != none) return points_[point].layer;
  const std::uint32_t before = point_before(place);
  return before == none ? 0 : points_[before].layer + 1;
}

std::uint32_t RankOrder::position(CallPlace place) const {
  const std::uint32_t before = point_before(place);
  if (before == none) return place.call;
  for (const CallPlace& own : points_[before].calls) {
    if (own.rank == place.rank && own.call < place.call) return place.call - own.call;
  }
  return place.call;
}

bool RankOrder::happens_before(CallPlace first, CallPlace second) const {
  const std::uint32_t own = point_of_[second.rank][second.call];
  if (own != none && own == point_of_[first.rank][first.call]) return false;
  if (first.rank == second.rank) return first.call < second.call;
  const std::uint32_t point = own != none ? own : point_before(second);
  if (point == none) return false;
  const bool is_participant = std::ranges::any_of(points_[point].calls, [&](const CallPlace& place) {
    return place.rank == first.rank && place.call == first.call;
  });
  return first.call < points_[point].reaches[first.rank] || (is_participant && own == none);
}

bool RankOrder::is_earlier(CallPlace first, CallPlace second) const {
  const auto key = [&](CallPlace place) {
    return std::array<std::uint64_t, 4>{layer(place), position(place), ranks_[place.rank].number, place.call};
  };
  return key(first) < key(second);
}

}  // namespace msrun::recordings
