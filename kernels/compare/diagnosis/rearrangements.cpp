#include "kernels/compare/diagnosis/rearrangements.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/compare/bounds/rounding_terms.h"
#include "kernels/compare/diagnosis/difference.h"

namespace msrun {
namespace {

// Elements above which values are not sorted to look for another order.
constexpr std::int64_t sorted_elements = std::int64_t{1} << 20;
// Below, a pattern could be chance.
constexpr std::int64_t enough_elements = 8;
constexpr std::int64_t enough_swapped = 4;
constexpr std::size_t sampled_elements = 64;
constexpr std::int64_t most_axes = 6;

// The indices i and j of an axis exchanged.
Tensor exchanged(const Tensor& tensor, std::int64_t axis, std::int64_t i, std::int64_t j) {
  Tensor result = tensor.clone();
  const auto a = static_cast<std::size_t>(axis);
  const std::int64_t inner = row_major_strides(tensor.shape())[a];
  const std::size_t bytes = static_cast<std::size_t>(inner) * size_of(tensor.dtype());
  auto* data = result.mutable_data<std::byte>();
  const auto at = [&](std::int64_t outer, std::int64_t index) {
    return data + static_cast<std::size_t>(outer * tensor.shape()[a] + index) * bytes;
  };
  for (std::int64_t outer = 0; outer < tensor.numel() / (inner * tensor.shape()[a]); ++outer)
    std::swap_ranges(at(outer, i), at(outer, i) + bytes, at(outer, j));
  return result;
}

// Whether the sums of two tensors, contiguous and float64, are as near to each other as those of numbers that differ by
// units in the last place of a dtype, whatever their order: spares sorting most that are not. True where it cannot
// tell.
bool have_equal_sums(const Tensor& left, const Tensor& right, DType dtype) {
  if (dtype == DType::float64) return true;  // the sums' own rounding is as large
  const rounding::Units units(dtype);
  const double* x = left.data<double>();
  const double* y = right.data<double>();
  double difference = 0;
  double most = 0;
  for (std::int64_t i = 0; i < left.numel(); ++i) {
    difference += x[i] - y[i];
    most += units.at(x[i]);
  }
  // Not so for NaN, which infinities that are subtracted give as well.
  return !(std::abs(difference) > 2 * most);
}

class Rearrangements {
 public:
  Rearrangements(const Tensor& bench, const Tensor& device, const RoundingFit& fit, const ErrorBudget& budget)
      : bench_(bench.contiguous()), device_(device.contiguous()), budget_(budget) {
    const std::vector<bool>& is_wrong = wrong_elements(fit);
    for (std::size_t i = 0; i < is_wrong.size(); ++i) {
      if (is_wrong[i]) wrong_.push_back(static_cast<std::int64_t>(i));
    }
    std::vector<double> values;
    for_each_sample([&](std::int64_t i) { values.push_back(bench_.item(i)); });
    whole_numbers_ = std::ranges::all_of(values, [](double value) { return value == std::trunc(value); });
    std::sort(values.begin(), values.end());
    distinct_ = std::unique(values.begin(), values.end()) - values.begin();
  }

  std::string find() const {
    if (distinct_ < 2) return {};
    for (const auto& look : {&Rearrangements::transposed, &Rearrangements::swapped, &Rearrangements::other_order}) {
      if (std::string found = (this->*look)(); !found.empty()) return found;
    }
    return {};
  }

 private:
  using Change = std::function<Tensor(const Tensor&)>;

  template <class F>
  void for_each_sample(const F& take) const {
    const std::size_t step = std::max<std::size_t>(1, wrong_.size() / sampled_elements);
    for (std::size_t i = 0; i < wrong_.size(); i += step) take(wrong_[i]);
  }

  // Whether most of a few wrong elements have about the value that the benchmark has at source(element): spares a look
  // at all of them.
  template <class Source>
  bool is_likely(const Source& source) const {
    std::int64_t samples = 0;
    std::int64_t near = 0;
    for_each_sample([&](std::int64_t i) {
      const double expected = bench_.item(source(i));
      const double actual = device_.item(i);
      ++samples;
      near += expected == actual || std::abs(expected - actual) <= 0x1p-4 * std::abs(expected) ? 1 : 0;
    });
    return near * 4 >= samples * 3;
  }

  bool explains(const Change& change) const {
    ErrorBudget budget = budget_;
    if (budget.spread.defined()) budget.spread = change(budget.spread.contiguous());
    if (budget.with_stored.defined()) budget.with_stored = change(budget.with_stored.contiguous());
    if (budget.noise.defined()) budget.noise = change(budget.noise.contiguous());
    return rounding_explains(change(bench_), device_, budget);
  }

  // Whether the result is the memory of the tensor of shape from, its axes a and b transposed, taken for the tensor.
  bool is_transposed_from(const Dims& from, std::int64_t a, std::int64_t b) const {
    Dims to = from;
    std::swap(to[static_cast<std::size_t>(a)], to[static_cast<std::size_t>(b)]);
    Dims strides = row_major_strides(from);
    std::swap(strides[static_cast<std::size_t>(a)], strides[static_cast<std::size_t>(b)]);
    const auto source = [&](std::int64_t at) {
      std::int64_t result = 0;
      for (std::size_t axis = to.size(); axis-- > 0; at /= to[axis]) result += at % to[axis] * strides[axis];
      return result;
    };
    return is_likely(source) && explains([&](const Tensor& t) {
             return t.reshape(from).transpose(a, b).contiguous().reshape(bench_.shape());
           });
  }

  // So, or the transposed tensor's memory taken for that of the tensor and transposed.
  bool is_transposed(const Dims& shape, std::int64_t a, std::int64_t b) const {
    if (is_transposed_from(shape, a, b)) return true;
    Dims other = shape;
    std::swap(other[static_cast<std::size_t>(a)], other[static_cast<std::size_t>(b)]);
    return !(other == shape) && is_transposed_from(other, a, b);
  }

  std::string transposed() const {
    const std::int64_t rank = bench_.rank();
    if (std::ssize(wrong_) < enough_elements || distinct_ < 3 || rank < 1 || rank > most_axes) return {};
    for (std::int64_t b = rank - 1; b > 0; --b) {
      for (std::int64_t a = b - 1; a >= 0; --a) {
        if (bench_.size(a) == 1 || bench_.size(b) == 1 || !is_transposed(bench_.shape(), a, b)) continue;
        return "The benchmark's values transposed: axes " + std::to_string(a) + " and " + std::to_string(b) + ".";
      }
    }
    return transposed_groups();
  }

  // Matrices of neighbouring axes taken together, so that channels last are taken for channels first, and heads for
  // tokens; then the halves of the last axis.
  std::string transposed_groups() const {
    const auto rank = static_cast<std::size_t>(bench_.rank());
    const auto size = [&](std::size_t first, std::size_t end) {
      std::int64_t product = 1;
      for (std::size_t axis = first; axis < end; ++axis) product *= bench_.shape()[axis];
      return product;
    };
    for (std::size_t first = 0; first + 1 < rank; ++first) {
      for (std::size_t middle = first + 1; middle < rank; ++middle) {
        const Dims matrices{size(0, first), size(first, middle), size(middle, rank)};
        if (matrices[1] == 1 || matrices[2] == 1 || !is_transposed(matrices, 1, 2)) continue;
        const std::string shape = tuple_text(Dims{matrices[1], matrices[2]});
        if (first == 0) return "The benchmark's values transposed, as a matrix of " + shape + ".";
        return "The benchmark's values transposed, as " + std::to_string(matrices[0]) + " matrices of " + shape + ".";
      }
    }
    const std::int64_t last = bench_.size(-1);
    if (last < 4 || last % 2 != 0) return {};
    const Dims halves{bench_.numel() / last, 2, last / 2};
    if (is_transposed_from(halves, 1, 2)) return "The halves of the last axis are interleaved.";
    const Dims pairs{bench_.numel() / last, last / 2, 2};
    if (is_transposed_from(pairs, 1, 2)) return "The even and the odd elements of the last axis are parted.";
    return {};
  }

  // The two indices of an axis in which all wrong elements are.
  std::optional<std::pair<std::int64_t, std::int64_t>> two_indices(const Dims& shape, std::size_t axis) const {
    const std::int64_t stride = row_major_strides(shape)[axis];
    const auto index = [&](std::int64_t at) { return at / stride % shape[axis]; };
    const std::int64_t first = index(wrong_.front());
    std::int64_t second = first;
    for (const std::int64_t at : wrong_) {
      const std::int64_t here = index(at);
      if (here == first || here == second) continue;
      if (second != first) return std::nullopt;
      second = here;
    }
    if (second == first) return std::nullopt;
    return std::minmax(first, second);
  }

  bool is_swapped(const Dims& shape, std::int64_t axis, const std::pair<std::int64_t, std::int64_t>& indices) const {
    return explains([&](const Tensor& t) {
      return exchanged(t.reshape(shape), axis, indices.first, indices.second).reshape(bench_.shape());
    });
  }

  std::string swapped() const {
    // Where numbers have few digits, two wrong ones are often in each other's places.
    const bool few_digits = whole_numbers_ || size_of(device_.dtype()) < 2;
    if (few_digits && (std::ssize(wrong_) < enough_swapped || distinct_ < 3)) return {};
    std::vector<std::pair<Dims, std::int64_t>> axes;
    for (std::int64_t axis = bench_.rank() - 1; axis >= 0; --axis) axes.emplace_back(bench_.shape(), axis);
    if (bench_.rank() > 2) axes.emplace_back(Dims{bench_.numel() / bench_.size(-1), bench_.size(-1)}, 0);
    for (const auto& [shape, axis] : axes) {
      const auto found = two_indices(shape, static_cast<std::size_t>(axis));
      if (!found || !is_swapped(shape, axis, *found)) continue;
      const auto rank = static_cast<std::int64_t>(shape.size());
      const std::string indices = std::to_string(found->first) + " and " + std::to_string(found->second);
      if (rank == 1) return "Elements are swapped: " + indices + ".";
      if (axis == rank - 1) return "Columns are swapped: " + indices + " of " + tuple_text(shape) + ".";
      if (axis == rank - 2) return "Rows are swapped: " + indices + " of " + tuple_text(shape) + ".";
      return "Indices of axis " + std::to_string(axis) + " are swapped: " + indices + " of " + tuple_text(shape) + ".";
    }
    return {};
  }

  std::string other_order() const {
    const std::int64_t count = device_.numel();
    const DType dtype = device_.dtype();
    // Where values lie close together, a few wrong ones do not show in the sorted row.
    if (count < enough_elements || count > sorted_elements || std::ssize(wrong_) * 4 < count || distinct_ < 3) {
      return {};
    }
    const auto stored = [&](const Tensor& tensor) { return tensor.to(dtype).to(DType::float64).contiguous(); };
    const Tensor bench = stored(bench_);
    const Tensor device = stored(device_);
    if (!have_equal_sums(bench, device, dtype)) return {};
    const auto sorted = [&](const Tensor& tensor) {
      std::vector<double> values(tensor.data<double>(), tensor.data<double>() + count);
      if (std::any_of(values.begin(), values.end(), [](double value) { return std::isnan(value); })) values.clear();
      std::sort(values.begin(), values.end());
      return values;
    };
    const std::vector<double> ours = sorted(bench);
    const std::vector<double> theirs = sorted(device);
    if (ours.empty() || theirs.empty()) return {};
    const rounding::Units units(dtype);
    std::int64_t equal = 0;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      if (ours[i] == theirs[i]) {
        ++equal;
      } else if (!(std::abs(ours[i] - theirs[i]) <= units.at(ours[i]))) {
        return {};
      }
    }
    // In dtypes of few values another sample of the same distribution is nearly the same when sorted.
    if (size_of(dtype) < 4 && equal * 100 < count * 99) return {};
    return "The benchmark's values in another order.";
  }

  Tensor bench_;
  Tensor device_;
  const ErrorBudget& budget_;
  std::vector<std::int64_t> wrong_;  // in row-major order
  std::int64_t distinct_ = 0;        // benchmark values in a sample of them
  bool whole_numbers_ = false;       // all of these
};

}  // namespace

std::string rearrangement(const Tensor& bench, const Tensor& device, const RoundingFit& fit,
                          const ErrorBudget& budget) {
  return Rearrangements(bench, device, fit, budget).find();
}

}  // namespace msrun
