#include "tools/dump_compare/arguments.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "tools/dump_compare/call_operator.h"
#include "tools/recordings/devices.h"

namespace msrun::dump_compare {
namespace {

using recordings::Call;
using recordings::Kind;
using recordings::Leaf;
using recordings::Recording;
using recordings::State;
using recordings::Value;

// Arguments that say how something is done, and nothing of what comes out.
constexpr auto without_bearing = std::to_array<std::string_view>(
    {"inplace", "non_blocking", "async_op", "pin_memory", "requires_grad", "group", "device"});

const Value& value_of(const Leaf& leaf) { return leaf.statistics[recordings::max_value]; }

std::string shown(const Recording& side, const Leaf& leaf) {
  return leaf.tensor ? std::string(side.text(leaf.dtype)) : recordings::value_text(side.texts, value_of(leaf));
}

// People write numbers of a few digits into a program; those that are computed have as many as fit.
bool is_written(double number) {
  constexpr std::size_t most_digits = 6;
  std::string text;
  recordings::append_real(text, number);
  text = text.substr(0, text.find('e'));
  if (text.ends_with(".0")) text.erase(text.size() - 2);
  std::erase_if(text, [](char c) { return c < '0' || c > '9'; });
  text.erase(0, text.find_first_not_of('0'));
  return text.size() <= most_digits;
}

// Whether a half type holds the number, so that it may have been read from such a tensor.
bool is_half_number(double number) {
  int exponent = 0;
  const double mantissa = std::frexp(number, &exponent);
  constexpr double bits_of_float16 = 0x1p11;
  return std::trunc(mantissa * bits_of_float16) == mantissa * bits_of_float16;
}

// An axis may be counted from either end.
bool are_one_axis(const Value& mine, const Value& theirs, std::int64_t axes) {
  if (mine.kind != Kind::integer || theirs.kind != Kind::integer) return false;
  return std::min(mine.integer, theirs.integer) < 0 && std::max(mine.integer, theirs.integer) >= 0 &&
         std::min(mine.integer, theirs.integer) + axes == std::max(mine.integer, theirs.integer);
}

bool numbers_differ(const Value& mine, const Value& theirs, double closeness, std::int64_t axes) {
  if (mine.is_whole() && theirs.is_whole()) return !are_one_axis(mine, theirs, axes);
  const double a = mine.number();
  const double b = theirs.number();
  if (a == b || (std::isnan(a) && std::isnan(b))) return false;
  if (!std::isfinite(a) || !std::isfinite(b)) return true;
  const bool written = is_written(a) && is_written(b);
  const bool read_from_half = is_half_number(a) && is_half_number(b);
  if (written && !read_from_half) return true;
  return !(std::abs(a - b) <= closeness * std::abs(b));
}

// Names of types, and addresses in memory, differ between models that compute the same.
bool is_of_the_run(std::string_view text) {
  return recordings::is_device(text) || text.starts_with("torch.") || text.starts_with("mindspore.") ||
         text.find(" at 0x") != std::string_view::npos;
}

// How far numbers may lie apart that were computed, and how many axes the first tensor has.
struct Likeness {
  double closeness;
  std::int64_t axes;
};

bool are_set_otherwise(const Recording& target, const Value& mine, const Recording& golden, const Value& theirs,
                       const Likeness& alike) {
  if (mine.is_number() && theirs.is_number()) return numbers_differ(mine, theirs, alike.closeness, alike.axes);
  if (mine.kind != theirs.kind) return false;
  if (mine.kind != Kind::text) return true;
  return !is_of_the_run(target.text(mine.text)) || !is_of_the_run(golden.text(theirs.text));
}

std::int64_t axes_of_first(const Recording& side, const Call& call) {
  for (std::uint32_t i = call.leaves; i < call.leaf_end; ++i) {
    if (!side.leaves[i].tensor) continue;
    const std::string_view shape = side.text(side.leaves[i].shape);
    return shape == "[]" ? 0 : std::ranges::count(shape, ',') + 1;
  }
  return 0;
}

// The leaf of that suffix: as a rule it stands at the same place.
const Leaf* leaf_at(const Recording& side, const Call& call, std::uint32_t place, std::string_view suffix) {
  const auto fits = [&](const Leaf& leaf) { return side.text(leaf.suffix) == suffix; };
  if (place < call.leaf_end - call.leaves && fits(side.leaves[call.leaves + place])) {
    return &side.leaves[call.leaves + place];
  }
  for (std::uint32_t i = call.leaves; i < call.leaf_end; ++i) {
    if (fits(side.leaves[i])) return &side.leaves[i];
  }
  return nullptr;
}

}  // namespace

std::vector<ArgumentDifference> argument_differences(const Recording& target, const Call& mine, const Recording& golden,
                                                     const Call& theirs, double closeness) {
  std::vector<ArgumentDifference> found;
  const Scalars scalars(target, mine, operator_of(target, mine));
  const Likeness alike{closeness, axes_of_first(target, mine)};
  for (std::uint32_t i = mine.leaves; i < mine.leaf_end; ++i) {
    const Leaf& leaf = target.leaves[i];
    if (leaf.state != State::input) continue;
    const std::string_view suffix = target.text(leaf.suffix);
    const Leaf* const other = leaf_at(golden, theirs, i - mine.leaves, suffix);
    if (other == nullptr) continue;
    const std::string one = shown(target, leaf);
    const std::string another = shown(golden, *other);
    if (one == another) continue;
    const bool set = !leaf.tensor && !other->tensor && target.text(leaf.type) != "torch.ProcessGroup" &&
                     std::ranges::find(without_bearing, scalars.name_of(leaf)) == without_bearing.end();
    const bool counts = set && are_set_otherwise(target, value_of(leaf), golden, value_of(*other), alike);
    found.push_back({std::string(suffix.substr(1)) + ": " + one + ", " + another, counts});
  }
  return found;
}

}  // namespace msrun::dump_compare
