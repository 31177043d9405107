// Whether a tensor is what a dropout may give. Which elements are dropped is random; but every element is that of a
// dropout that keeps everything or of one that drops everything, elements that share a decision agree, and as many are
// dropped as the probability makes likely.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernels/numeric/dropping.h"
#include "kernels/tensor/tensor.h"

namespace msrun {

// Two that are known have a bit in common if they are alike.
enum class Fate : std::uint8_t { unknown = 0, kept = 1, dropped = 2 };

struct DropoutRule {
  Tensor kept;     // the result if everything is kept, in the benchmark's precision
  Tensor dropped;  // and if everything is dropped
  // Nothing: nothing is drawn, and the result is bit by bit what is kept.
  std::optional<Dropping> draws;
};

struct DropoutFinding {
  // What a dropout does not give; empty: nothing.
  std::string text;
  // What became of each decision; unknown where a kept and a dropped element are alike, as those of a zero are.
  std::vector<Fate> fates;
};

// device has the shape of the rule's tensors, and all are floating.
DropoutFinding judge_dropout(const DropoutRule& rule, const Tensor& device);

// How many decisions two results of one dropout, its output and its gradient, disagree on.
std::int64_t contrary_fates(const std::vector<Fate>& a, const std::vector<Fate>& b);

// Whether decisions that lie some distance apart, a row or a block of memory, are alike as often as those of
// independent draws; a sentence if not. There are as many fates as the shape of the draws has elements.
std::string unlikely_pattern(const std::vector<Fate>& fates, const Dropping& draws);

// Whether so many of the decisions whose fate is known are what chance makes of the probability; a sentence if not.
std::string unlikely_share(const std::vector<Fate>& fates, double probability);

}  // namespace msrun
