#include "tools/recordings/alignment.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include "kernels/base/hash.h"
#include "tools/recordings/gap.h"

namespace msrun::recordings {
namespace {

constexpr float equal_inputs = 4;  // weight of a pair whose inputs agree
constexpr double agreeing = 0.05;  // gap of such inputs
constexpr double swapped = 0.02;   // gaps that an exchange of two pairs must reach
constexpr std::uint32_t swap_distance = 12;
constexpr double crossed_inputs = 0.1;  // gap of inputs that are the same but for what half precision adds up to
constexpr double much_better = 4;       // by which factor an exchange must bring inputs closer
constexpr std::size_t half_band = 1000;
constexpr std::size_t most_cells = std::size_t{1} << 29;
constexpr std::size_t most_in_a_group = 2000;

struct Features {
  std::uint64_t name = 0;
  std::uint64_t signature = 0;
  std::uint32_t inputs = 0;  // place of the first tensor in Side::tensors; outputs follow
  std::uint32_t outputs = 0;
  std::uint32_t end = 0;
};

struct Side {
  const Recording& recording;
  std::vector<Features> features;
  std::vector<std::uint32_t> tensors;

  Side(const Recording& of, bool by_name) : recording(of) {
    features.reserve(of.calls.size());
    for (const Call& call : of.calls) {
      Features feature;
      const std::string name = by_name
                                   ? std::string(of.text(call.base)) + std::to_string(static_cast<int>(call.direction))
                                   : canonical_name(of, call);
      feature.name = fnv1a(name);
      feature.inputs = static_cast<std::uint32_t>(tensors.size());
      std::uint64_t hash = fnv1a("in");
      add(call, State::input, hash);
      feature.outputs = static_cast<std::uint32_t>(tensors.size());
      hash = fnv1a("out", hash);
      add(call, State::output, hash);
      add(call, State::parameters_grad, hash);
      feature.end = static_cast<std::uint32_t>(tensors.size());
      feature.signature = hash;
      features.push_back(feature);
    }
  }

 private:
  void add(const Call& call, State state, std::uint64_t& hash) {
    for (std::uint32_t leaf = call.leaves; leaf < call.leaf_end; ++leaf) {
      if (!recording.leaves[leaf].tensor || recording.leaves[leaf].state != state) continue;
      tensors.push_back(leaf);
      hash = fnv1a(recording.text(recording.leaves[leaf].shape), hash);
    }
  }
};

class Aligner {
 public:
  Aligner(const Recording& target, const Recording& golden, bool checksums, bool by_name)
      : target_(target, by_name), golden_(golden, by_name), checksums_(checksums), by_name_(by_name) {
    result_.golden_of.assign(target.calls.size(), no_call);
    result_.target_of.assign(golden.calls.size(), no_call);
    result_.how.assign(target.calls.size(), How::alone);
  }

  Alignment run() {
    std::size_t begin = 0;
    std::size_t end = target_.features.size();
    std::size_t golden_end = golden_.features.size();
    // Pairs of the greatest weight at either end belong to a heaviest subsequence.
    while (begin < std::min(end, golden_end) && weight(begin, begin) == equal_inputs) {
      pair(begin, begin, How::in_order);
      ++begin;
    }
    while (end > begin && golden_end > begin && weight(end - 1, golden_end - 1) == equal_inputs) {
      pair(--end, --golden_end, How::in_order);
    }
    if (end > begin && golden_end > begin) fill(begin, end, begin, golden_end);
    const std::vector<std::uint32_t> in_order = result_.golden_of;
    pair_reordered();
    exchange();
    if (!by_name_) pair_renamed(in_order);
    return std::move(result_);
  }

 private:
  bool same_kind(std::size_t i, std::size_t j) const {
    const Features& a = target_.features[i];
    const Features& b = golden_.features[j];
    return a.name == b.name && (by_name_ || a.signature == b.signature);
  }

  double tensor_gap(std::uint32_t mine, std::uint32_t theirs) const {
    return gap_of(target_.recording, target_.recording.leaves[target_.tensors[mine]], golden_.recording,
                  golden_.recording.leaves[golden_.tensors[theirs]], checksums_)
        .gap;
  }

  float weight(std::size_t i, std::size_t j) const {
    const Features& a = target_.features[i];
    const Features& b = golden_.features[j];
    if (a.name != b.name) return 0;
    if (a.signature != b.signature) return by_name_ ? 1 : 0;
    const std::uint32_t count = a.outputs - a.inputs;
    std::uint32_t agree = 0;
    for (std::uint32_t k = 0; k < count; ++k) {
      if (tensor_gap(a.inputs + k, b.inputs + k) < agreeing) ++agree;
    }
    if (agree == count) return equal_inputs;
    return 1 + static_cast<float>(agree) / static_cast<float>(count);
  }

  double largest_gap(std::size_t i, std::size_t j, bool outputs) const {
    const Features& a = target_.features[i];
    const Features& b = golden_.features[j];
    const std::uint32_t first = outputs ? a.outputs : a.inputs;
    const std::uint32_t golden_first = outputs ? b.outputs : b.inputs;
    const std::uint32_t count = outputs ? a.end - a.outputs : a.outputs - a.inputs;
    const std::uint32_t golden_count = outputs ? b.end - b.outputs : b.outputs - b.inputs;
    double largest = 0;
    for (std::uint32_t k = 0; k < std::min(count, golden_count); ++k) {
      largest = std::max(largest, tensor_gap(first + k, golden_first + k));
    }
    return largest;
  }

  void pair(std::size_t i, std::size_t j, How how) {
    result_.golden_of[i] = static_cast<std::uint32_t>(j);
    result_.target_of[j] = static_cast<std::uint32_t>(i);
    result_.how[i] = how;
  }

  // The heaviest common subsequence of two pieces, near their diagonal.
  void fill(std::size_t begin, std::size_t end, std::size_t golden_begin, std::size_t golden_end) {
    const std::size_t rows = end - begin;
    const std::size_t columns = golden_end - golden_begin;
    const std::size_t difference = rows > columns ? rows - columns : columns - rows;
    const std::size_t half = std::min(half_band + difference, most_cells / (2 * rows) + 1);
    const auto first_of = [&](std::size_t row) {
      const std::size_t center = row * columns / rows;
      return center > half ? center - half : 0;
    };
    const auto last_of = [&](std::size_t row) { return std::min(row * columns / rows + half, columns); };
    enum Step : char { skip_target, skip_golden, take };
    std::vector<std::string> steps(rows + 1);
    std::vector<float> before(columns + 1, 0);
    std::vector<float> now(columns + 1, 0);
    for (std::size_t row = 1; row <= rows; ++row) {
      const std::size_t first = first_of(row);
      const std::size_t last = last_of(row);
      const std::size_t before_last = last_of(row - 1);
      std::string& row_steps = steps[row];
      row_steps.resize(last - first + 1);
      for (std::size_t column = first; column <= last; ++column) {
        float best = before[std::min(column, before_last)];
        Step step = skip_target;
        if (column > first && now[column - 1] > best) {
          best = now[column - 1];
          step = skip_golden;
        }
        if (column > 0 && same_kind(begin + row - 1, golden_begin + column - 1)) {
          const float taken =
              before[std::min(column - 1, before_last)] + weight(begin + row - 1, golden_begin + column - 1);
          if (taken >= best) {
            best = taken;
            step = take;
          }
        }
        now[column] = best;
        row_steps[column - first] = step;
      }
      std::swap(before, now);
    }
    std::size_t row = rows;
    std::size_t column = columns;
    while (row > 0 && column > 0) {
      if (column > last_of(row)) {
        column = last_of(row);
        continue;
      }
      const std::size_t first = first_of(row);
      const char step = column < first ? static_cast<char>(skip_target) : steps[row][column - first];
      if (step == take) {
        pair(begin + row - 1, golden_begin + column - 1, How::in_order);
        --row;
        --column;
      } else if (step == skip_golden) {
        --column;
      } else {
        --row;
      }
    }
  }

  // Left-over calls of equal name and signature, smallest gap of inputs first.
  void pair_reordered() {
    struct Group {
      std::vector<std::uint32_t> mine;
      std::vector<std::uint32_t> theirs;
    };
    std::unordered_map<std::uint64_t, Group> groups;
    const auto key = [&](const Features& f) {
      return by_name_ ? f.name : f.name ^ (f.signature * 0x9E3779B97F4A7C15U);
    };
    for (std::uint32_t i = 0; i < target_.features.size(); ++i) {
      if (result_.golden_of[i] == no_call) groups[key(target_.features[i])].mine.push_back(i);
    }
    for (std::uint32_t j = 0; j < golden_.features.size(); ++j) {
      if (result_.target_of[j] != no_call) continue;
      const auto found = groups.find(key(golden_.features[j]));
      if (found != groups.end()) found->second.theirs.push_back(j);
    }
    for (auto& [hash, group] : groups) {
      if (group.mine.size() > most_in_a_group) group.mine.resize(most_in_a_group);
      if (group.theirs.size() > most_in_a_group) group.theirs.resize(most_in_a_group);
      struct Candidate {
        double gap;
        std::uint32_t mine;
        std::uint32_t theirs;
      };
      std::vector<Candidate> candidates;
      for (const std::uint32_t i : group.mine) {
        for (const std::uint32_t j : group.theirs) {
          if (same_kind(i, j)) candidates.push_back({largest_gap(i, j, false), i, j});
        }
      }
      std::ranges::stable_sort(candidates, {}, &Candidate::gap);
      for (const Candidate& candidate : candidates) {
        if (result_.golden_of[candidate.mine] != no_call || result_.target_of[candidate.theirs] != no_call) continue;
        pair(candidate.mine, candidate.theirs, How::reordered);
      }
    }
  }

  // Whether the inputs of i tell that it belongs to the partner of the other pair, and that pair loses nothing by it:
  // rounding in half precision can keep both crossed pairs from being right.
  bool crosses(std::size_t i, std::size_t j, std::size_t other, std::size_t theirs) const {
    const double crossed = largest_gap(i, theirs, false);
    if (!(crossed < crossed_inputs && crossed * much_better < largest_gap(i, j, false))) return false;
    const double now = largest_gap(other, theirs, false);
    return now > crossed_inputs || largest_gap(other, j, false) <= now;
  }

  // Two pairs of one name that are right the other way round.
  void exchange() {
    const auto calls = static_cast<std::uint32_t>(target_.features.size());
    for (std::uint32_t i = 0; i < calls; ++i) {
      const std::uint32_t j = result_.golden_of[i];
      if (j == no_call || largest_gap(i, j, true) <= swapped) continue;
      const std::uint32_t last = std::min(calls, i + swap_distance + 1);
      for (std::uint32_t other = i > swap_distance ? i - swap_distance : 0; other < last; ++other) {
        const std::uint32_t theirs = result_.golden_of[other];
        if (other == i || theirs == no_call || !same_kind(i, theirs) || !same_kind(other, j)) continue;
        const bool right = largest_gap(i, theirs, true) < swapped && largest_gap(other, j, true) < swapped &&
                           largest_gap(i, theirs, false) < swapped && largest_gap(other, j, false) < swapped;
        if (!right && !crosses(i, j, other, theirs)) continue;
        pair(i, theirs, How::reordered);
        pair(other, j, How::reordered);
        break;
      }
    }
  }

  // Left-over calls between the same neighbours with equal signatures and inputs.
  void pair_renamed(const std::vector<std::uint32_t>& in_order) {
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> left_over;  // by the aligned call in front of them
    std::vector<bool> aligned(golden_.features.size(), false);
    for (const std::uint32_t j : in_order) {
      if (j != no_call) aligned[j] = true;
    }
    std::uint32_t front = no_call;
    for (std::uint32_t j = 0; j < golden_.features.size(); ++j) {
      if (aligned[j]) front = j;
      if (result_.target_of[j] == no_call) left_over[front].push_back(j);
    }
    front = no_call;
    for (std::uint32_t i = 0; i < target_.features.size(); ++i) {
      if (in_order[i] != no_call) front = in_order[i];
      if (result_.golden_of[i] != no_call) continue;
      const auto found = left_over.find(front);
      if (found == left_over.end()) continue;
      for (const std::uint32_t j : found->second) {
        if (result_.target_of[j] != no_call) continue;
        if (target_.features[i].signature != golden_.features[j].signature) continue;
        if (target_.recording.calls[i].direction != golden_.recording.calls[j].direction) continue;
        if (largest_gap(i, j, false) >= agreeing) continue;
        pair(i, j, How::renamed);
        break;
      }
    }
  }

  const Side target_;
  const Side golden_;
  const bool checksums_;
  const bool by_name_;
  Alignment result_;
};

constexpr auto aliases = std::to_array<std::pair<std::string_view, std::string_view>>({{"iadd", "add"},
                                                                                       {"radd", "add"},
                                                                                       {"imul", "mul"},
                                                                                       {"rmul", "mul"},
                                                                                       {"multiply", "mul"},
                                                                                       {"isub", "sub"},
                                                                                       {"subtract", "sub"},
                                                                                       {"truediv", "div"},
                                                                                       {"itruediv", "div"},
                                                                                       {"true_divide", "div"},
                                                                                       {"divide", "div"},
                                                                                       {"bmm", "matmul"},
                                                                                       {"reshape", "view"}});

}  // namespace

std::size_t Alignment::count(How wanted) const { return static_cast<std::size_t>(std::ranges::count(how, wanted)); }

std::size_t Alignment::deleted() const { return static_cast<std::size_t>(std::ranges::count(target_of, no_call)); }

std::string canonical_name(const Recording& side, const Call& call) {
  const std::string_view base = side.text(call.base);
  const char direction = static_cast<char>('0' + static_cast<int>(call.direction));
  const bool whole = call.module || call.direction == Direction::parameters_grad || call.direction == Direction::none;
  if (whole) return std::string(call.base == 0 ? side.name(call) : base) + direction;
  const std::size_t dot = base.find('.');
  std::string_view name = dot == std::string_view::npos ? base : base.substr(dot + 1);
  while (name.starts_with('_')) name.remove_prefix(1);
  while (name.ends_with('_')) name.remove_suffix(1);
  for (const auto& [alias, of] : aliases) {
    if (name == alias) name = of;
  }
  return std::string(name) + direction;
}

std::vector<std::uint32_t> tensors_of(const Recording& side, const Call& call, State state) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t leaf = call.leaves; leaf < call.leaf_end; ++leaf) {
    if (side.leaves[leaf].tensor && side.leaves[leaf].state == state) found.push_back(leaf);
  }
  return found;
}

Alignment align(const Recording& target, const Recording& golden, bool checksums) {
  return Aligner(target, golden, checksums, false).run();
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> align_by_name(const Recording& target, const Recording& golden) {
  const Alignment alignment = Aligner(target, golden, false, true).run();
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  for (std::uint32_t i = 0; i < alignment.golden_of.size(); ++i) pairs.emplace_back(i, alignment.golden_of[i]);
  return pairs;
}

}  // namespace msrun::recordings
