#include "kernels/compare/bounds/common_error.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "kernels/compare/bounds/constants.h"
#include "kernels/compare/metrics/blocks.h"
#include "kernels/tensor/convert.h"

namespace msrun {
namespace {

constexpr std::int64_t block = block_size<double>;
// Of a common error at least half shows in the few elements that are looked at first, unless their own errors hide it.
constexpr std::int64_t looked_at = 512;

// Products of errors and values, and squares of values, of one group of elements.
struct Sums {
  double products = 0;
  double squares = 0;
  double products_squared = 0;
  double products_with_squares = 0;
  double squares_squared = 0;

  void add(double exact, double actual) {
    const double product = (actual - exact) * exact;
    if (!std::isfinite(product)) return;
    products += product;
    const double square = exact * exact;
    squares += square;
    products_squared += product * product;
    products_with_squares += product * square;
    squares_squared += square * square;
  }
  double factor() const { return squares > 0 ? products / squares : 0; }

  // Of the factor, by the scatter of what each element says of it; infinity where a few large elements say all.
  double deviation() const {
    if (squares == 0) return 0;
    if (!(squares * squares > fewest_elements_in_common * squares_squared))
      return std::numeric_limits<double>::infinity();
    const double off = products_squared - 2 * factor() * products_with_squares + factor() * factor() * squares_squared;
    return std::sqrt(std::max(off, 0.0)) / squares;
  }
};

// Numbers of another dtype as a dtype holds them.
void round_to(DType dtype, double* values, std::int64_t count) {
  alignas(64) std::array<std::byte, block * sizeof(double)> bytes;
  store_run<double>(dtype, values, count, bytes.data());
  load_run<double>(dtype, bytes.data(), 1, count, values);
}

// Calls visit(place, exact, actual) for all elements in row-major order.
template <class Visit>
void for_each_pair(const Tensor& bench, const Tensor& device, const Visit& visit) {
  for_each_block(bench, device, [&](double* exact, const double* actual, std::int64_t first, std::int64_t count) {
    round_to(device.dtype(), exact, count);
    for (std::int64_t i = 0; i < count; ++i) visit(first + i, exact[i], actual[i]);
  });
}

// The deviation of the mean of so many independent factors, of the scatter of those of all groups.
double deviation_of(const std::vector<Sums>& groups, double factor, std::int64_t independent) {
  double weighted = 0;
  double weights = 0;
  for (const Sums& group : groups) {
    const double off = group.factor() - factor;
    weighted += group.squares * off * off;
    weights += group.squares;
  }
  const auto count = static_cast<double>(groups.size());
  if (weights == 0) return 0;
  return std::sqrt(weighted / weights * count / (count - 1) / std::min(count, static_cast<double>(independent)));
}

}  // namespace

CommonError common_error(const Tensor& bench, const Tensor& device, std::int64_t independent) {
  if (independent < fewest_groups_in_common) return {.factor = 0, .deviation = std::numeric_limits<double>::infinity()};
  Sums all;
  for_each_pair(bench, device, [&](std::int64_t, double exact, double actual) { all.add(exact, actual); });
  CommonError common{.factor = all.factor(), .deviation = all.deviation()};
  const Dims& shape = device.shape();
  std::int64_t inner = device.numel();
  for (const std::int64_t size : shape) {
    inner /= size;
    // The indices of this axis, and those of it and all before it together, of which the last are elements.
    for (const std::int64_t count : {size, device.numel() / inner}) {
      if (count < fewest_groups_in_common || count == device.numel()) continue;
      std::vector<Sums> groups(static_cast<std::size_t>(count));
      for_each_pair(bench, device, [&, inner](std::int64_t place, double exact, double actual) {
        groups[static_cast<std::size_t>(place / inner % count)].add(exact, actual);
      });
      common.deviation = std::max(common.deviation, deviation_of(groups, common.factor, independent));
    }
  }
  return common;
}

bool may_have_common_error(const Tensor& bench, const Tensor& device, double allowed) {
  if (!bench.is_contiguous() || !device.is_contiguous()) return true;
  const std::int64_t step = std::max<std::int64_t>(1, device.numel() / looked_at);
  const std::int64_t count = (device.numel() + step - 1) / step;
  Sums few;
  std::array<double, block> exact;
  std::array<double, block> actual;
  const auto load = [step](const Tensor& tensor, std::int64_t first, std::int64_t size, double* to) {
    const std::size_t offset = static_cast<std::size_t>(first * step) * size_of(tensor.dtype());
    load_run<double>(tensor.dtype(), tensor.raw() + offset, step, size, to);
  };
  for (std::int64_t done = 0; done < count; done += block) {
    const std::int64_t size = std::min(block, count - done);
    load(bench, done, size, exact.data());
    load(device, done, size, actual.data());
    round_to(device.dtype(), exact.data(), size);
    for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) few.add(exact[i], actual[i]);
  }
  return std::abs(few.factor()) > allowed / 2;
}

}  // namespace msrun
