#include "kernels/numeric/ordering.h"

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <limits>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/tensor/convert.h"

namespace msrun {
namespace {

// An element as an unsigned key of the same order, and its index. Comparing the two members makes any sort stable.
struct Item {
  std::uint64_t key;
  std::uint64_t index;
  auto operator<=>(const Item&) const = default;  // NOLINT(modernize-use-nullptr): it sees a 0 in what is generated
};

// Key and index in one word, for dtypes of up to 32 bits and rows of less than 2^32 elements.
struct PackedItem {
  std::uint64_t word;
  auto operator<=>(const PackedItem&) const = default;  // NOLINT(modernize-use-nullptr): likewise
};

std::uint64_t key_of(Item item) { return item.key; }
std::uint64_t key_of(PackedItem item) { return item.word >> 32; }
std::int64_t index_of(Item item) { return static_cast<std::int64_t>(item.index); }
std::int64_t index_of(PackedItem item) { return static_cast<std::int64_t>(item.word & 0xFFFFFFFFU); }

constexpr std::uint32_t nan_key32 = 0xFFFFFFFFU;
constexpr std::uint64_t nan_key64 = 0xFFFFFFFFFFFFFFFFU;

std::uint32_t key32(float value) {
  if (value != value) return nan_key32;
  const auto bits = std::bit_cast<std::uint32_t>(value + 0.0F);  // -0 becomes 0
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
}
std::uint32_t key32(std::int64_t value) { return static_cast<std::uint32_t>(value) ^ 0x80000000U; }

std::uint64_t key64(double value) {
  if (value != value) return nan_key64;
  const auto bits = std::bit_cast<std::uint64_t>(value + 0.0);
  return (bits >> 63) != 0 ? ~bits : bits | (std::uint64_t{1} << 63);
}
std::uint64_t key64(std::int64_t value) { return static_cast<std::uint64_t>(value) ^ (std::uint64_t{1} << 63); }

bool is_narrow(DType dtype) { return size_of(dtype) <= 4; }

void refuse_complex(const Tensor& x) {
  if (is_complex(x.dtype())) throw SkipError("Complex numbers have no order.");
}

std::uint64_t key_as(float value, bool /*narrow*/) { return key32(value); }
std::uint64_t key_as(double value, bool /*narrow*/) { return key64(value); }
std::uint64_t key_as(std::int64_t value, bool narrow) { return narrow ? key32(value) : key64(value); }

// The keys of a run of elements.
template <class T>
std::vector<std::uint64_t> keys_as(const Tensor& x, std::int64_t start, std::int64_t count) {
  std::vector<T> values(static_cast<std::size_t>(count));
  load_run<T>(x.dtype(), x.raw() + start * static_cast<std::int64_t>(size_of(x.dtype())), 1, count, values.data());
  std::vector<std::uint64_t> keys(values.size());
  const bool narrow = is_narrow(x.dtype());
  for (std::size_t i = 0; i < values.size(); ++i) keys[i] = key_as(values[i], narrow);
  return keys;
}

std::vector<std::uint64_t> keys_of(const Tensor& x, std::int64_t start, std::int64_t count) {
  if (!is_floating(x.dtype())) return keys_as<std::int64_t>(x, start, count);
  return x.dtype() == DType::float64 ? keys_as<double>(x, start, count) : keys_as<float>(x, start, count);
}

std::uint64_t nan_key(DType dtype) { return is_narrow(dtype) ? nan_key32 : nan_key64; }

// A tensor whose rows lie along its last axis, one after another.
struct Rows {
  Tensor tensor;
  std::int64_t axis;
  std::int64_t count = 0;
  std::int64_t extent = 1;
};

Rows make_rows(const Tensor& x, std::int64_t axis) {
  refuse_complex(x);
  Rows rows;
  rows.axis = normalize_axis(axis, x.rank());
  rows.extent = x.size(rows.axis);
  rows.tensor = x.rank() == 0 ? x : x.transpose(rows.axis, -1).contiguous();
  rows.count = rows.extent == 0 ? 0 : x.numel() / rows.extent;
  return rows;
}

// Sorts items, given in the order of their indices, by their keys, digit by digit from the lowest: equal keys keep
// their order. Digits that all keys share are skipped. scratch is overwritten.
template <class Element>
void sort_items(std::vector<Element>& items, std::vector<Element>& scratch) {
  constexpr std::size_t few = 128;
  if (items.size() < few) {
    std::sort(items.begin(), items.end());
    return;
  }
  constexpr std::size_t digits = std::is_same_v<Element, PackedItem> ? 4 : 8;
  constexpr std::size_t values = 256;
  std::array<std::array<std::size_t, values>, digits> counts{};
  for (const Element item : items) {
    const std::uint64_t key = key_of(item);
    for (std::size_t digit = 0; digit < digits; ++digit) ++counts[digit][(key >> (8 * digit)) & 0xFF];
  }
  scratch.resize(items.size());
  for (std::size_t digit = 0; digit < digits; ++digit) {
    std::array<std::size_t, values>& places = counts[digit];
    if (places[(key_of(items[0]) >> (8 * digit)) & 0xFF] == items.size()) continue;
    std::size_t place = 0;
    for (std::size_t& count : places) place += std::exchange(count, place);
    for (const Element item : items) scratch[places[(key_of(item) >> (8 * digit)) & 0xFF]++] = item;
    items.swap(scratch);
  }
}

// Puts the k smallest items in front, sorted.
template <class Element>
void sort_first(std::vector<Element>& items, std::vector<Element>& scratch, std::int64_t k) {
  const auto size = static_cast<std::int64_t>(items.size());
  if (k > size / 16 || k == 0) {
    const auto end = items.begin() + k;
    if (end != items.end()) std::nth_element(items.begin(), end, items.end());
    std::sort(items.begin(), end);
    return;
  }
  // Candidates are gathered until there are several times k; then the best of them give a bound for the rest.
  const auto room = static_cast<std::size_t>(4 * k);
  constexpr std::size_t step = 32;
  scratch.assign(items.begin(), items.begin() + k);
  Element bound = *std::max_element(scratch.begin(), scratch.end());
  const auto shrink = [&] {
    const auto last = scratch.begin() + (k - 1);
    std::nth_element(scratch.begin(), last, scratch.end());
    scratch.resize(static_cast<std::size_t>(k));
    bound = scratch.back();
  };
  for (std::size_t start = static_cast<std::size_t>(k); start < items.size(); start += step) {
    const std::size_t end = std::min(start + step, items.size());
    bool any = false;
    const std::uint64_t limit = key_of(bound);
    const Element* item = items.data();
    for (std::size_t i = start; i < end; ++i) any |= key_of(item[i]) < limit;
    if (!any) continue;
    for (std::size_t i = start; i < end; ++i) {
      if (items[i] < bound) scratch.push_back(items[i]);
    }
    if (scratch.size() >= room) shrink();
  }
  if (scratch.size() > static_cast<std::size_t>(k)) shrink();
  std::sort(scratch.begin(), scratch.end());
  std::copy(scratch.begin(), scratch.end(), items.begin());
}

template <class T, class Element>
void make_items(const Tensor& x, std::int64_t start, std::uint64_t flip, std::vector<T>& buffer,
                std::vector<Element>& items) {
  const auto size = static_cast<std::int64_t>(size_of(x.dtype()));
  load_run<T>(x.dtype(), x.raw() + start * size, 1, static_cast<std::int64_t>(buffer.size()), buffer.data());
  const bool narrow = is_narrow(x.dtype());
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::uint64_t key = key_as(buffer[i], narrow) ^ flip;
    if constexpr (std::is_same_v<Element, PackedItem>) {
      items[i].word = (key << 32) | i;
    } else {
      items[i] = {key, i};
    }
  }
}

// Fills an index tensor of the shape of x, with `selected` along the axis, row by row: work(items, scratch, target).
template <class Element, class Work>
void fill_rows(const Rows& rows, bool descending, std::int64_t selected, std::int64_t* target, Work& work) {
  const auto run = [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> buffer(static_cast<std::size_t>(rows.extent));
    std::vector<Element> items(buffer.size());
    std::vector<Element> scratch;
    const std::uint64_t flip = descending ? nan_key(rows.tensor.dtype()) : 0;
    for (std::int64_t row = 0; row < rows.count; ++row) {
      make_items(rows.tensor, row * rows.extent, flip, buffer, items);
      work(items, scratch, target + row * selected);
    }
  };
  if (!is_floating(rows.tensor.dtype())) return run(std::int64_t{});
  if (rows.tensor.dtype() == DType::float64) return run(double{});
  return run(float{});
}

template <class Work>
Tensor index_rows(const Tensor& x, std::int64_t axis, bool descending, std::int64_t selected, Work work) {
  const Rows rows = make_rows(x, axis);
  Dims shape = rows.tensor.shape();
  if (!shape.empty()) shape.back() = selected;
  Tensor indices(DType::int64, shape);
  if (selected > 0) {
    auto* target = indices.mutable_data<std::int64_t>();
    if (is_narrow(x.dtype()) && rows.extent <= std::int64_t{0xFFFFFFFF}) {
      fill_rows<PackedItem>(rows, descending, selected, target, work);
    } else {
      fill_rows<Item>(rows, descending, selected, target, work);
    }
  }
  return x.rank() == 0 ? indices : indices.transpose(rows.axis, -1).contiguous();
}

void require_elements(const Tensor& x, std::int64_t axis) {
  if (x.size(axis) == 0) throw SkipError("A dimension of size 0 has no element to select.");
}

// Group numbers from an ascending order of the elements: same(a, b) tells whether two elements are equal.
template <class Same>
Tensor number_groups(const std::vector<std::int64_t>& order, Same same) {
  Tensor numbers(DType::int64, {static_cast<std::int64_t>(order.size())});
  auto* target = numbers.mutable_data<std::int64_t>();
  std::int64_t group = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && !same(order[i - 1], order[i])) ++group;
    target[order[i]] = group;
  }
  return numbers;
}

}  // namespace

Tensor sort_index(const Tensor& x, std::int64_t axis, bool descending) {
  return index_rows(x, axis, descending, x.size(axis), [](auto& items, auto& scratch, std::int64_t* target) {
    sort_items(items, scratch);
    for (const auto item : items) *target++ = index_of(item);
  });
}

Tensor top_index(const Tensor& x, std::int64_t axis, std::int64_t k, bool largest) {
  if (k < 0 || k > x.size(axis)) throw SkipError("selected index k out of range");
  // Its only element is taken even where none is asked for.
  if (x.rank() == 0) k = 1;
  return index_rows(x, axis, largest, k, [k](auto& items, auto& scratch, std::int64_t* target) {
    sort_first(items, scratch, k);
    for (std::int64_t i = 0; i < k; ++i) target[i] = index_of(items[static_cast<std::size_t>(i)]);
  });
}

Tensor rank_index(const Tensor& x, std::int64_t axis, Rank rank, std::int64_t k) {
  require_elements(x, axis);
  if (k < 0 || k >= x.size(axis))
    throw SkipError("selected number k out of range for dimension " + std::to_string(axis));
  const std::uint64_t nan = is_floating(x.dtype()) ? nan_key(x.dtype()) : std::uint64_t{0};
  const bool floating = is_floating(x.dtype());
  return index_rows(x, axis, false, 1, [=](auto& items, auto& /*scratch*/, std::int64_t* target) {
    std::int64_t numbers = static_cast<std::int64_t>(items.size());
    if (rank != Rank::kth && floating) {
      numbers = std::count_if(items.begin(), items.end(), [nan](auto item) { return key_of(item) != nan; });
    }
    std::int64_t position = k;
    if (rank == Rank::median) {
      // NaN come last in the order.
      const bool any_nan = numbers < static_cast<std::int64_t>(items.size());
      position = any_nan ? numbers : (numbers - 1) / 2;
    } else if (rank == Rank::nanmedian) {
      position = std::max<std::int64_t>(numbers - 1, 0) / 2;
    }
    const auto at = items.begin() + position;
    std::nth_element(items.begin(), at, items.end());
    *target = index_of(*at);
  });
}

Tensor mode_index(const Tensor& x, std::int64_t axis) {
  require_elements(x, axis);
  return index_rows(x, axis, false, 1, [](auto& items, auto& scratch, std::int64_t* target) {
    sort_items(items, scratch);
    std::size_t longest = 0;
    for (std::size_t start = 0; start < items.size();) {
      std::size_t end = start + 1;
      while (end < items.size() && key_of(items[end]) == key_of(items[start])) ++end;
      if (end - start > longest) {
        longest = end - start;
        *target = index_of(items[end - 1]);
      }
      start = end;
    }
  });
}

Tensor group_numbers(const Tensor& x, bool consecutive) {
  refuse_complex(x);
  const std::int64_t count = x.numel();
  const Tensor flat = x.reshape(std::span(&count, 1));
  std::vector<std::int64_t> order(static_cast<std::size_t>(count));
  if (consecutive) {
    std::iota(order.begin(), order.end(), 0);
  } else {
    const Tensor sorted = sort_index(flat, 0, false);
    std::copy_n(sorted.data<std::int64_t>(), count, order.begin());
  }
  const std::vector<std::uint64_t> keys = keys_of(flat, 0, count);
  const bool floating = is_floating(x.dtype());
  return number_groups(order, [&](std::int64_t a, std::int64_t b) {
    const std::uint64_t key = keys[static_cast<std::size_t>(a)];
    return key == keys[static_cast<std::size_t>(b)] && !(floating && key == nan_key(x.dtype()));
  });
}

Tensor slice_group_numbers(const Tensor& x, bool consecutive) {
  refuse_complex(x);
  const std::int64_t slices = x.size(0);
  const std::int64_t length = slices == 0 ? 0 : x.numel() / slices;
  const std::vector<std::uint64_t> keys = keys_of(x.contiguous(), 0, x.numel());
  const auto slice = [&](std::int64_t index) {
    return std::span(keys).subspan(static_cast<std::size_t>(index * length), static_cast<std::size_t>(length));
  };
  std::vector<std::int64_t> order(static_cast<std::size_t>(slices));
  std::iota(order.begin(), order.end(), 0);
  if (!consecutive) {
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      const auto left = slice(a);
      const auto right = slice(b);
      return std::lexicographical_compare(left.begin(), left.end(), right.begin(), right.end());
    });
  }
  return number_groups(order, [&](std::int64_t a, std::int64_t b) { return std::ranges::equal(slice(a), slice(b)); });
}

}  // namespace msrun
