#include "kernels/compare/choices/ties.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernels/compare/bounds/rounding.h"

namespace msrun {
namespace {

// How indices of some shape address the input: outer x picked x inner indices, each below length along the axis.
struct Layout {
  std::int64_t picked = 1;
  std::int64_t inner = 1;
  std::int64_t length = 1;
};

std::int64_t product(const Dims& shape, std::size_t from) {
  std::int64_t result = 1;
  for (std::size_t axis = from; axis < shape.size(); ++axis) result *= shape[axis];
  return result;
}

bool equal_but_for(const Dims& a, const Dims& b, std::size_t axis) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (i != axis && a[i] != b[i]) return false;
  }
  return true;
}

// All readings of the indices' shape, the last axis first, as it is the default of most APIs.
std::vector<Layout> layouts(const Dims& indices, const Dims& shape) {
  std::vector<Layout> result;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    Dims reduced = shape;
    reduced.erase(reduced.begin() + static_cast<std::ptrdiff_t>(axis));
    if (indices.size() == shape.size() && equal_but_for(indices, shape, axis)) {
      result.push_back({indices[axis], product(shape, axis + 1), shape[axis]});
    } else if (indices == reduced) {
      result.push_back({1, product(shape, axis + 1), shape[axis]});
    }
  }
  if (product(indices, 0) == 1) result.push_back({1, 1, product(shape, 0)});  // the whole tensor reduced
  return result;
}

constexpr std::int64_t key_of_nan = std::numeric_limits<std::int64_t>::max();

// Elements as integers of the same order: equal ones have the same key, NaN, as torch orders it, the largest.
// Integers are their own, so that those beyond 2^53 are told apart.
Tensor keys_of(const Tensor& tensor) {
  if (!is_floating(tensor.dtype())) return tensor.to(DType::int64).contiguous();
  const Tensor values = tensor.to(DType::float64).contiguous();
  Tensor keys(DType::int64, values.shape());
  auto* to = keys.mutable_data<std::int64_t>();
  for (std::int64_t i = 0; i < keys.numel(); ++i) {
    const double value = values.data<double>()[i] + 0.0;  // of both zeros, the positive one
    const auto bits = std::bit_cast<std::int64_t>(value);
    to[i] = std::isnan(value) ? key_of_nan : bits < 0 ? bits ^ std::numeric_limits<std::int64_t>::max() : bits;
  }
  return keys;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// NaN is the largest value, as torch orders it.
bool less(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }

// Row-major copies of what is needed, so that elements are plain array accesses.
class Judge {
 public:
  Judge(const TieRule& ties, const TiePair& pair)
      : ties_(ties),
        bench_(pair.bench_indices->to(DType::int64).contiguous()),
        device_(pair.device_indices->to(DType::int64).contiguous()),
        input_(keys_of(*pair.input)),
        count_(bench_.numel()) {
    if (ties.indices == IndexOutput::of_softmax) {
      stored_ = pair.device_values->dtype();
      logits_ = pair.input->to(DType::float64).contiguous();
    }
    if (ties.indices == IndexOutput::of_values) {
      bench_values_ = keys_of(*pair.bench_values);
      device_values_ = keys_of(*pair.device_values);
    }
  }

  TieResult run() {
    std::vector<Layout> candidates = layouts(bench_.shape(), input_.shape());
    if (ties_.indices == IndexOutput::of_softmax) {
      std::erase_if(candidates, [&](const Layout& layout) { return layout.inner != 1 || layout.picked == 0; });
      candidates.resize(std::min<std::size_t>(candidates.size(), 1));
    } else {
      std::erase_if(candidates, [&](const Layout& layout) { return !explains_bench(layout); });
    }
    // The first reading that explains the benchmark is the right one.
    return candidates.empty() ? TieResult{0, count_differences()} : judge(candidates.front());
  }

 private:
  // Whether the index at a position may be that one.
  bool in_range(const Layout& layout, std::int64_t position, std::int64_t index) const {
    const std::int64_t end = ties_.running ? position / layout.inner % layout.picked + 1 : layout.length;
    return index >= 0 && index < end;
  }

  // The place of the input element that an index at a position selects; the index must be in range.
  static std::int64_t place(const Layout& layout, std::int64_t position, std::int64_t index) {
    const std::int64_t outer = position / (layout.picked * layout.inner);
    return (outer * layout.length + index) * layout.inner + position % layout.inner;
  }

  // The key of that element.
  std::int64_t selected(const Layout& layout, std::int64_t position, std::int64_t index) const {
    return input_.data<std::int64_t>()[place(layout, position, index)];
  }

  double logit(const Layout& layout, std::int64_t position, std::int64_t index) const {
    return logits_.data<double>()[place(layout, position, index)];
  }

  bool explains_bench(const Layout& layout) const {
    if (layout.picked == 0 || layout.inner == 0) return false;
    const auto* bench = bench_.data<std::int64_t>();
    for (std::int64_t p = 0; p < count_; ++p) {
      if (!in_range(layout, p, bench[p])) return false;
      if (ties_.indices == IndexOutput::of_values &&
          selected(layout, p, bench[p]) != bench_values_.data<std::int64_t>()[p]) {
        return false;
      }
    }
    if (ties_.unique && !all_unique(layout)) return false;
    switch (ties_.indices) {
      case IndexOutput::none:
      case IndexOutput::of_values:
        return true;
      case IndexOutput::of_largest:
      case IndexOutput::of_smallest:
        return selects_extrema(layout);
      case IndexOutput::of_order:
      case IndexOutput::of_softmax:
        break;
    }
    return is_ordered(layout);
  }

  bool all_unique(const Layout& layout) const {
    for (std::int64_t p = 0; p < count_; ++p) {
      const bool starts_run = p / layout.inner % layout.picked == 0;
      if (starts_run && has_repeats(layout, p, bench_)) return false;
    }
    return true;
  }

  bool selects_extrema(const Layout& layout) const {
    const auto* bench = bench_.data<std::int64_t>();
    for (std::int64_t p = 0; p < count_; ++p) {
      const std::int64_t chosen = selected(layout, p, bench[p]);
      for (std::int64_t i = 0; i < layout.length; ++i) {
        const std::int64_t other = selected(layout, p, i);
        // NaN wins in both directions.
        const bool is_less = chosen != key_of_nan && (other < chosen || other == key_of_nan);
        if (ties_.indices == IndexOutput::of_largest ? chosen < other : is_less) {
          return false;
        }
      }
    }
    return true;
  }

  bool is_ordered(const Layout& layout) const {
    bool rising = true;
    bool falling = true;
    const auto* bench = bench_.data<std::int64_t>();
    for (std::int64_t p = 0; p < count_; ++p) {
      if (p / layout.inner % layout.picked == 0) continue;
      const std::int64_t previous = p - layout.inner;
      const std::int64_t before = selected(layout, previous, bench[previous]);
      const std::int64_t here = selected(layout, p, bench[p]);
      rising = rising && here >= before;
      falling = falling && before >= here;
    }
    return rising || falling;
  }

  bool has_repeats(const Layout& layout, std::int64_t first, const Tensor& indices) const {
    std::vector<std::int64_t> run(static_cast<std::size_t>(layout.picked));
    for (std::int64_t i = 0; i < layout.picked; ++i) {
      run[static_cast<std::size_t>(i)] = indices.data<std::int64_t>()[first + i * layout.inner];
    }
    // Those of a whole axis are looked up in a table; few of a long one, or wrong ones, are sorted.
    constexpr std::int64_t entries_of_index = 8;
    const auto [least, largest] = std::ranges::minmax(run);
    if (least < 0 || largest >= entries_of_index * layout.picked) {
      std::ranges::sort(run);
      return std::ranges::adjacent_find(run) != run.end();
    }
    std::vector<std::uint8_t> is_there(static_cast<std::size_t>(largest) + 1);
    return std::ranges::any_of(run, [&](std::int64_t index) {
      return std::exchange(is_there[static_cast<std::size_t>(index)], std::uint8_t{1}) != 0;
    });
  }

  // What the softmax of a row divides by: the sum of the exponentials of its elements less the largest.
  struct Normaliser {
    double largest = -std::numeric_limits<double>::infinity();
    double total = 0;
  };

  Normaliser normaliser(const Layout& layout, std::int64_t position) const {
    Normaliser of_row;
    for (std::int64_t i = 0; i < layout.length; ++i) {
      of_row.largest = std::max(of_row.largest, logit(layout, position, i));
    }
    for (std::int64_t i = 0; i < layout.length; ++i) {
      of_row.total += std::exp(logit(layout, position, i) - of_row.largest);
    }
    return of_row;
  }

  // Whether two elements of the row of a position have probabilities that are equal but for float32 and for rounding
  // them to the dtype they are stored in, before which or after which a device may order them.
  bool equally_probable(const Layout& layout, const Normaliser& of_row, std::int64_t position, std::int64_t a,
                        std::int64_t b) const {
    const double of_a = std::exp(logit(layout, position, a) - of_row.largest) / of_row.total;
    const double of_b = std::exp(logit(layout, position, b) - of_row.largest) / of_row.total;
    const double tolerance = 2 * epsilon(stored_) + 8 * epsilon(DType::float32);
    return std::abs(of_a - of_b) <= tolerance * std::max({of_a, of_b, smallest_normal(stored_)});
  }

  std::int64_t count_differences() const {
    const auto* bench = bench_.data<std::int64_t>();
    const auto* device = device_.data<std::int64_t>();
    std::int64_t differences = 0;
    for (std::int64_t p = 0; p < count_; ++p) differences += bench[p] != device[p] ? 1 : 0;
    return differences;
  }

  TieResult judge(const Layout& layout) const {
    const auto* bench = bench_.data<std::int64_t>();
    const auto* device = device_.data<std::int64_t>();
    // Both by the first position of a run.
    std::unordered_map<std::int64_t, bool> repeats;
    std::unordered_map<std::int64_t, Normaliser> normalisers;
    TieResult result;
    for (std::int64_t p = 0; p < count_; ++p) {
      if (bench[p] == device[p]) continue;
      const std::int64_t first = p - p / layout.inner % layout.picked * layout.inner;
      bool right = in_range(layout, p, device[p]);
      if (right && ties_.indices == IndexOutput::of_values) {
        right = bench_values_.data<std::int64_t>()[p] == device_values_.data<std::int64_t>()[p];
      }
      if (right && ties_.indices == IndexOutput::of_softmax) {
        const auto [of_row, is_new] = normalisers.try_emplace(first);
        if (is_new) of_row->second = normaliser(layout, p);
        right = in_range(layout, p, bench[p]) && equally_probable(layout, of_row->second, p, bench[p], device[p]);
      } else if (right) {
        right = selected(layout, p, bench[p]) == selected(layout, p, device[p]);
      }
      if (right && ties_.unique) {
        const auto [entry, is_new] = repeats.try_emplace(first, false);
        if (is_new) entry->second = has_repeats(layout, first, device_);
        right = !entry->second;
      }
      (right ? result.accepted : result.wrong) += 1;
    }
    return result;
  }

  const TieRule ties_;
  Tensor bench_;
  Tensor device_;
  Tensor input_;  // as keys, like the values
  Tensor bench_values_;
  Tensor device_values_;
  Tensor logits_;
  DType stored_ = DType::float32;  // of probabilities
  std::int64_t count_;
};

bool usable(const Tensor* tensor) { return tensor != nullptr && !is_complex(tensor->dtype()) && tensor->numel() > 0; }

}  // namespace

std::optional<TieResult> judge_ties(const TieRule& ties, const TiePair& pair) {
  if (ties.indices == IndexOutput::none || !usable(pair.bench_indices) || !usable(pair.device_indices) ||
      !usable(pair.input))
    return std::nullopt;
  const auto is_index = [](const Tensor& tensor) { return is_integer(tensor.dtype()); };
  if (!is_index(*pair.bench_indices) || !is_index(*pair.device_indices)) return std::nullopt;
  if (pair.bench_indices->shape() != pair.device_indices->shape()) return std::nullopt;
  if (are_beside_values(ties.indices)) {
    if (!usable(pair.bench_values) || !usable(pair.device_values)) return std::nullopt;
    const Dims& shape = pair.bench_indices->shape();
    if (pair.bench_values->shape() != shape || pair.device_values->shape() != shape) return std::nullopt;
  }
  return Judge(ties, pair).run();
}

bool keeps_order_of_ties(const Dict& kwargs) {
  return std::ranges::any_of(kwargs, [](const auto& entry) {
    const bool* flag = entry.second.template get<bool>();
    return entry.first == "stable" && flag != nullptr && *flag;
  });
}

std::optional<PickedFrom> picked_from(const PickedAxis& picks, const List& args, const Dict& kwargs) {
  if (keeps_order_of_ties(kwargs)) return std::nullopt;
  if (picks.position < args.size()) {
    if (const auto* axis = args[picks.position].get<std::int64_t>()) return PickedFrom{*axis};
  }
  for (const auto& [name, value] : kwargs) {
    const auto* axis = value.get<std::int64_t>();
    if ((name == "dim" || name == "axis") && axis != nullptr) return PickedFrom{*axis};
  }
  if (picks.usual || picks.from_all) return PickedFrom{picks.usual};
  return std::nullopt;
}

std::optional<Tensor> exchange_tied_gradients(const Tensor& input, const PickedFrom& from, const Tensor& bench,
                                              const Tensor& device) {
  const bool same_shapes = usable(&input) && usable(&bench) && usable(&device) && input.shape() == bench.shape() &&
                           input.shape() == device.shape();
  if (!same_shapes) return std::nullopt;
  if (!from.axis) {
    const auto flat = [](const Tensor& t) { return t.reshape(Dims{t.numel()}); };
    const auto exchanged = exchange_tied_gradients(flat(input), PickedFrom{0}, flat(bench), flat(device));
    return exchanged ? std::optional(exchanged->reshape(bench.shape())) : std::nullopt;
  }
  const std::int64_t axis = *from.axis;
  if (axis < -input.rank() || axis >= input.rank()) return std::nullopt;
  const auto in_rows = [axis](const Tensor& t) { return t.transpose(axis, -1).to(DType::float64).contiguous(); };
  const Tensor rows = keys_of(input.transpose(axis, -1));
  const Tensor wanted = in_rows(device);
  Tensor result = in_rows(bench).clone();
  const std::int64_t extent = rows.size(-1);
  bool changed = false;
  struct Picked {
    std::int64_t key;
    std::int64_t place;
  };
  std::vector<Picked> order;
  std::vector<std::int64_t> at_stake;
  std::vector<double> parts;
  for (std::int64_t start = 0; start < rows.numel(); start += extent) {
    const std::int64_t* key = rows.data<std::int64_t>() + start;
    const double* target = wanted.data<double>() + start;
    double* gradient = result.mutable_data<double>() + start;
    // Of the values that are shared out otherwise all elements are looked at, and no others.
    at_stake.clear();
    for (std::int64_t i = 0; i < extent; ++i) {
      if (!same(gradient[i], target[i])) at_stake.push_back(key[i]);
    }
    if (at_stake.empty()) continue;
    std::ranges::sort(at_stake);
    order.clear();
    for (std::int64_t i = 0; i < extent; ++i) {
      if (std::ranges::binary_search(at_stake, key[i])) order.push_back({key[i], i});
    }
    std::ranges::sort(
        order, [](const Picked& a, const Picked& b) { return a.key < b.key || (a.key == b.key && a.place < b.place); });
    for (auto first = order.begin(); first != order.end();) {
      const auto last =
          std::find_if_not(first, order.end(), [&](const Picked& picked) { return picked.key == first->key; });
      parts.clear();
      for (auto i = first; i != last; ++i) parts.push_back(gradient[i->place]);
      std::ranges::sort(parts, less);
      std::stable_sort(first, last,
                       [target](const Picked& a, const Picked& b) { return less(target[a.place], target[b.place]); });
      for (auto part = parts.begin(); first != last; ++first, ++part) {
        changed = changed || !same(gradient[first->place], *part);
        gradient[first->place] = *part;
      }
    }
  }
  if (!changed) return std::nullopt;
  return result.transpose(axis, -1).to(bench.dtype()).contiguous();
}

}  // namespace msrun
