#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "tools/shrink/steps.h"

namespace msrun::shrink {
namespace {

struct Axis {
  std::string file;
  std::size_t axis = 0;
};

// What becomes of arguments that are whole numbers: sizes are arguments of many calls, too.
enum class Numbers { as_they_are, equal_ones, multiples };

// Axes of one size that are shortened alike.
struct Cut {
  std::vector<Axis> axes;
  SizeCut size;
};

std::vector<Axis> axes_of(const Recording& recording, const std::function<bool(std::int64_t)>& takes) {
  std::vector<Axis> axes;
  for (const std::string& file : argument_files(recording)) {
    const Dims& shape = recording.data.at(file).shape();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (takes(shape[axis])) axes.push_back({file, axis});
    }
  }
  return axes;
}

std::int64_t changed_number(std::int64_t number, const std::vector<Cut>& cuts, Numbers numbers) {
  for (const Cut& cut : cuts) {
    const SizeCut& size = cut.size;
    if (number == size.before) return size.after;
    const bool multiple = numbers == Numbers::multiples && number > size.before && number % size.before == 0;
    if (multiple) return number / size.before * size.after;
  }
  return number;
}

void change_numbers(ApiCall& call, const std::vector<Cut>& cuts, Numbers numbers) {
  if (numbers == Numbers::as_they_are) return;
  const auto changed = [&](const Value& tree) {
    return transform_leaves(tree, [&](const Value& leaf) -> Value {
      if (const auto* number = leaf.get<std::int64_t>()) return changed_number(*number, cuts, numbers);
      if (const Slice* slice = leaf.get<Slice>()) {
        Slice other = *slice;
        for (auto* bound : {&other.start, &other.stop}) {
          if (*bound) *bound = changed_number(**bound, cuts, numbers);
        }
        return other;
      }
      return leaf;
    });
  };
  for (Value& value : call.args) value = changed(value);
  for (auto& [key, value] : call.kwargs) value = changed(value);
}

// Indices into an axis that was shortened stay within it.
bool wrap_indices(Recording& candidate, const std::vector<Cut>& cuts) {
  bool any = false;
  for (const std::string& file : argument_files(candidate)) {
    const Tensor& tensor = candidate.data.at(file);
    if (!is_integer(tensor.dtype()) || tensor.numel() == 0) continue;
    Tensor indices = tensor.to(DType::int64).clone();
    auto* values = indices.mutable_data<std::int64_t>();
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < indices.numel(); ++i) most = std::max(most, std::abs(values[i]));
    const SizeCut* into = nullptr;
    for (const Cut& cut : cuts) {
      const bool fits = most < cut.size.before && (into == nullptr || cut.size.before < into->before);
      if (fits) into = &cut.size;
    }
    if (into == nullptr || most < into->after) continue;
    for (std::int64_t i = 0; i < indices.numel(); ++i) values[i] %= into->after;
    replace(candidate, file, indices.to(tensor.dtype()));
    any = true;
  }
  return any;
}

std::vector<SizeCut> sizes_of(const std::vector<Cut>& cuts) {
  std::vector<SizeCut> sizes;
  for (const Cut& cut : cuts) sizes.push_back(cut.size);
  return sizes;
}

Recording with_cuts(const Recording& recording, const std::vector<Cut>& cuts) {
  Recording candidate = recording;
  for (const Cut& cut : cuts) {
    for (const Axis& axis : cut.axes) {
      const Tensor& whole = candidate.data.at(axis.file);
      Tensor part = whole.slice(static_cast<std::int64_t>(axis.axis), cut.size.start, cut.size.after).clone();
      replace(candidate, axis.file, std::move(part));
    }
  }
  return candidate;
}

// The recording with the axes cut, in the first way in which the call is legal; nothing if there is none.
std::optional<Recording> legal(const Recording& recording, const std::vector<Cut>& cuts, const Attempts& attempts) {
  attempts.check_time();
  const Recording plain = with_cuts(recording, cuts);
  for (const Numbers numbers : {Numbers::as_they_are, Numbers::equal_ones, Numbers::multiples}) {
    for (const bool wraps : {false, true}) {
      Recording candidate = plain;
      change_numbers(candidate.call, cuts, numbers);
      if (wraps && !wrap_indices(candidate, cuts)) continue;
      if (fit(candidate, sizes_of(cuts))) return candidate;
    }
  }
  return std::nullopt;
}

std::int64_t size_at(const Recording& recording, const Axis& axis) {
  return recording.data.at(axis.file).shape()[axis.axis];
}

// Shortens these axes, which have one size, by halves and less, from either end. Returns whether that was ever legal.
bool shorten_together(Best& best, Attempts& attempts, const std::vector<Axis>& axes) {
  bool was_legal = false;
  std::int64_t size = size_at(best.recording, axes.front());
  for (std::int64_t step = size / 2; step > 0;) {
    bool shorter = false;
    for (const std::int64_t start : {std::int64_t{0}, step}) {
      std::optional<Recording> candidate =
          legal(best.recording, std::vector<Cut>{Cut{axes, SizeCut{size, start, size - step}}}, attempts);
      if (!candidate) break;
      was_legal = true;
      shorter = improve(best, attempts, std::move(*candidate));
      if (shorter) break;
    }
    size -= shorter ? step : 0;
    step = shorter ? std::min(step, size / 2) : step / 2;
  }
  return was_legal;
}

// One of 2^n sets of axes, by its bits.
std::vector<Axis> chosen(const std::vector<Axis>& axes, unsigned bits) {
  std::vector<Axis> result;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if ((bits >> i & 1U) != 0) result.push_back(axes[i]);
  }
  return result;
}

// Axes of one size that need not be shortened together: the smallest sets that the call lets be shortened alone.
void shorten_apart(Best& best, Attempts& attempts, const std::vector<Axis>& axes) {
  constexpr std::size_t most_axes = 8;
  if (axes.size() < 2 || axes.size() > most_axes) return;
  std::vector<unsigned> sets;
  for (unsigned bits = 1; bits + 1 < 1U << axes.size(); ++bits) sets.push_back(bits);
  std::ranges::stable_sort(sets, {}, [](unsigned bits) { return std::popcount(bits); });
  std::vector<unsigned> legal_sets;
  for (const unsigned bits : sets) {
    if (std::ranges::any_of(legal_sets, [&](unsigned set) { return (set & bits) == set; })) continue;
    const std::int64_t size = size_at(best.recording, chosen(axes, bits).front());
    const bool alike = std::ranges::all_of(chosen(axes, bits),
                                           [&](const Axis& axis) { return size_at(best.recording, axis) == size; });
    if (size < 2 || !alike) continue;
    if (shorten_together(best, attempts, chosen(axes, bits))) legal_sets.push_back(bits);
  }
}

std::int64_t elements(const Best& best) { return size_of(best.recording).elements; }

}  // namespace

void shorten_all_axes(Best& best, Attempts& attempts) {
  for (const std::int64_t divisor : {64, 16, 4, 2}) {
    for (bool shorter = true; shorter;) {
      shorter = false;
      std::map<std::int64_t, Cut> by_size;
      for (Axis& axis : axes_of(best.recording, [](std::int64_t size) { return size > 1; })) {
        const std::int64_t size = size_at(best.recording, axis);
        Cut& cut = by_size[size];
        cut.size = {size, 0, (size + divisor - 1) / divisor};
        cut.axes.push_back(std::move(axis));
      }
      std::vector<Cut> cuts;
      for (auto& [size, cut] : by_size) cuts.push_back(std::move(cut));
      if (cuts.empty()) return;
      std::optional<Recording> candidate = legal(best.recording, cuts, attempts);
      shorter = candidate && improve(best, attempts, std::move(*candidate));
    }
  }
}

void shorten_axes(Best& best, Attempts& attempts) {
  for (std::int64_t before = 0; before != elements(best);) {
    before = elements(best);
    std::set<std::int64_t, std::greater<>> sizes;
    for (const Axis& axis : axes_of(best.recording, [](std::int64_t size) { return size > 1; }))
      sizes.insert(size_at(best.recording, axis));
    for (const std::int64_t size : sizes) {
      const std::vector<Axis> axes = axes_of(best.recording, [&](std::int64_t other) { return other == size; });
      if (axes.empty()) continue;
      shorten_together(best, attempts, axes);
      // What is left of them is of one size still.
      if (size_at(best.recording, axes.front()) > 1) shorten_apart(best, attempts, axes);
    }
  }
}

}  // namespace msrun::shrink
