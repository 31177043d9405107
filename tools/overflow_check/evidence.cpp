#include "tools/overflow_check/evidence.h"

#include <cmath>
#include <string>

#include "tools/recordings/not_finite.h"
#include "tools/recordings/overflowed_sum.h"
#include "tools/recordings/written_inputs.h"

namespace msrun::overflow_check {

using namespace recordings;

void Found::add(double number) {
  const NotFinite kind = not_finite_kind(number);
  infinity = infinity || kind == NotFinite::infinity;
  minus_infinity = minus_infinity || kind == NotFinite::minus_infinity;
  nan = nan || kind == NotFinite::nan;
}

void Found::add(const Found& more) {
  infinity = infinity || more.infinity;
  minus_infinity = minus_infinity || more.minus_infinity;
  nan = nan || more.nan;
  other = other || more.other;
}

bool Found::are_in(const Found& others) const {
  return !other && (!nan || others.nan) && (!infinity || others.infinity) && (!minus_infinity || others.minus_infinity);
}

Found found_in_leaf(const Recording& side, const Leaf& leaf) {
  Found found;
  for (const Statistic statistic : {max_value, min_value}) {
    found.add(number_of(side.texts, leaf.statistics[statistic]).value_or(0));
  }
  // Sums over infinities are not finite either.
  for (const Statistic statistic : {mean_value, norm_value}) {
    if (found.any() || std::isfinite(number_of(side.texts, leaf.statistics[statistic]).value_or(0))) continue;
    if (!is_overflowed_sum(side, leaf, statistic)) found.other = true;
  }
  return found;
}

Evidence::Evidence(const Recording& side) : side_(side) {
  for (std::uint32_t c = 0; c < side.calls.size(); ++c) {
    const Call& call = side.calls[c];
    if (call.module) module_calls_[call.base].push_back(c);
    if (call.direction == Direction::forward) forward_calls_.emplace(side.name(call), c);
  }
}

template <class Counts>
Found Evidence::found(std::uint32_t call, const Counts& counts) const {
  Found found;
  const Call& of = side_.calls[call];
  for (std::uint32_t i = of.leaves; i < of.leaf_end; ++i) {
    const Leaf& leaf = side_.leaves[i];
    if (counts(leaf)) found.add(found_in_leaf(side_, leaf));
  }
  return found;
}

Found Evidence::outputs(std::uint32_t call) const {
  return found(call, [](const Leaf& leaf) {
    return leaf.tensor && (leaf.state == State::output || leaf.state == State::parameters_grad);
  });
}

Found Evidence::arguments(std::uint32_t call) const {
  return found(call, [&](const Leaf& leaf) {
    return leaf.tensor && leaf.state == State::input && !is_only_written(side_, side_.calls[call], leaf);
  });
}

Found Evidence::parameters(std::uint32_t call) const {
  return found(call, [](const Leaf& leaf) { return leaf.tensor && leaf.state == State::parameters; });
}

Found Evidence::scalars(std::uint32_t call) const {
  return found(call, [](const Leaf& leaf) { return !leaf.tensor && leaf.state == State::input; });
}

std::vector<std::uint32_t> Evidence::read_by(std::uint32_t call) const {
  const Call& of = side_.calls[call];
  std::vector<std::uint32_t> calls;
  if (of.direction == Direction::parameters_grad || (of.direction == Direction::backward && of.module)) {
    // A module that is used several times adds up what all its uses give, and older recordings number its backwards in
    // an order of their own.
    const auto module = module_calls_.find(of.base);
    if (module == module_calls_.end()) return calls;
    for (const std::uint32_t other : module->second) {
      const Direction direction = side_.calls[other].direction;
      if (direction == Direction::forward || (direction == Direction::backward && direction != of.direction)) {
        calls.push_back(other);
      }
    }
  } else if (of.direction == Direction::backward) {
    std::string name(side_.name(of));
    const std::size_t at = name.rfind("backward");
    const auto forward = forward_calls_.find(name.replace(at, std::string_view("backward").size(), "forward"));
    if (forward != forward_calls_.end()) calls.push_back(forward->second);
  }
  return calls;
}

Found Evidence::inputs(std::uint32_t call) const {
  Found all = arguments(call);
  all.add(parameters(call));
  for (const std::uint32_t other : read_by(call)) {
    all.add(arguments(other));
    all.add(parameters(other));
    all.add(outputs(other));
  }
  return all;
}

bool Evidence::has_trained_minus_infinity(std::uint32_t call) const {
  return found(call,
               [](const Leaf& leaf) {
                 return leaf.tensor && leaf.state == State::input && leaf.requires_grad == RequiresGrad::yes;
               })
      .minus_infinity;
}

}  // namespace msrun::overflow_check
