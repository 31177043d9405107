// Which rows of two recordings belong together, by their keys alone.
#include "tools/dump_compare/rows.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <string>

namespace msrun::dump_compare {
namespace {

// Calls of up to three leaves whose keys come again and again.
Recording random_recording(std::mt19937& random, int calls) {
  Recording recording;
  for (int i = 0; i < calls; ++i) {
    Call call;
    const std::string name = "Torch.add." + std::to_string(random() % 5);
    call.direction = random() % 4 == 0 ? recordings::Direction::backward : recordings::Direction::forward;
    call.name = recording.texts.shared(name);
    call.base = recording.texts.shared("Torch.add");
    call.order = static_cast<std::uint32_t>(random() % 3);
    call.leaves = static_cast<std::uint32_t>(recording.leaves.size());
    for (auto leaves = random() % 4; leaves > 0; --leaves) {
      Leaf leaf;
      leaf.suffix = recording.texts.shared(".input." + std::to_string(random() % 2));
      recording.leaves.push_back(leaf);
    }
    call.leaf_end = static_cast<std::uint32_t>(recording.leaves.size());
    recording.calls.push_back(call);
  }
  return recording;
}

// A part of the calls of another, from its beginning, and others.
Recording continued(std::mt19937& random, const Recording& recording, std::size_t kept, int more) {
  Recording result = random_recording(random, more);
  Recording changed;
  const auto copy = [&](const Recording& from, const Call& call) {
    Call own = call;
    own.name = changed.texts.shared(from.name(call));
    own.base = changed.texts.shared(from.text(call.base));
    own.leaves = static_cast<std::uint32_t>(changed.leaves.size());
    for (std::uint32_t leaf = call.leaves; leaf < call.leaf_end; ++leaf) {
      changed.leaves.emplace_back().suffix = changed.texts.shared(from.text(from.leaves[leaf].suffix));
    }
    own.leaf_end = static_cast<std::uint32_t>(changed.leaves.size());
    changed.calls.push_back(own);
  };
  for (std::size_t c = 0; c < kept; ++c) copy(recording, recording.calls[c]);
  for (const Call& call : result.calls) copy(result, call);
  return changed;
}

TEST(MatchRows, GivesEachRowTheNextOfItsKey) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    const Recording target = random_recording(random, static_cast<int>(random() % 12));
    const Recording golden =
        continued(random, target, random() % (target.calls.size() + 1), static_cast<int>(random() % 6));
    std::map<std::string, std::deque<std::uint32_t>> waiting;
    for (const Call& call : golden.calls) {
      for (std::uint32_t leaf = call.leaves; leaf < call.leaf_end; ++leaf) {
        waiting[golden.row_key(call, golden.leaves[leaf], true)].push_back(leaf);
      }
    }
    std::map<std::uint32_t, std::uint32_t> expected;  // leaf of the target to that of the golden side
    for (const Call& call : target.calls) {
      for (std::uint32_t leaf = call.leaves; leaf < call.leaf_end; ++leaf) {
        auto& same = waiting[target.row_key(call, target.leaves[leaf], true)];
        expected[leaf] = same.empty() ? no_place : same.front();
        if (!same.empty()) same.pop_front();
      }
    }
    const std::vector<Row> rows = match_rows({target, golden, false, false}, nullptr);
    std::map<std::uint32_t, std::uint32_t> found;
    std::size_t golden_rows = 0;
    for (const Row& row : rows) {
      if (row.target != no_place) found[row.target] = row.golden;
      if (row.golden != no_place) ++golden_rows;
    }
    ASSERT_EQ(found, expected) << "round " << round;
    ASSERT_EQ(golden_rows, golden.leaves.size()) << "round " << round;
  }
}

}  // namespace
}  // namespace msrun::dump_compare
