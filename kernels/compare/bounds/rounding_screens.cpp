#include "kernels/compare/bounds/rounding_screens.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "kernels/compare/bounds/lost_slices.h"
#include "kernels/compare/bounds/rounding.h"
#include "kernels/compare/bounds/rounding_terms.h"
#include "kernels/compare/bounds/typical.h"
#include "kernels/compare/metrics/blocks.h"

namespace msrun {
namespace {

using rounding::binade;
using rounding::coarser;
using rounding::sum_factor;

// Elements that follow each other in memory, as they lie there.
template <class T>
struct Run {
  using Element = T;
  const T* first;

  template <class Real>
  Real get(std::int64_t k) const {
    if constexpr (std::is_floating_point_v<T>) {
      return static_cast<Real>(first[k]);
    } else {
      return to_float(first[k]);
    }
  }
};

constexpr std::int64_t screened_at_once = block_size<double>;

// The elements of a tensor block by block: converted one by one as they are used, where they lie in a row.
template <class T>
class InPlace {
 public:
  explicit InPlace(const Tensor& tensor) : at_(tensor.data<T>()) {}
  Run<T> next(std::int64_t size) { return {std::exchange(at_, at_ + size)}; }

 private:
  const T* at_;
};

class Copied {
 public:
  explicit Copied(const Tensor& tensor) : reader_(tensor) {}
  Run<double> next(std::int64_t size) {
    reader_.read(block_.data(), size);
    return {block_.data()};
  }

 private:
  Reader reader_;
  alignas(64) std::array<double, screened_at_once> block_;
};

template <class F>
bool with_blocks(const Tensor& tensor, const F& f) {
  if (tensor.is_contiguous()) {
    switch (tensor.dtype()) {
      case DType::float16:
        return f(InPlace<Half>(tensor));
      case DType::bfloat16:
        return f(InPlace<BFloat16>(tensor));
      case DType::float32:
        return f(InPlace<float>(tensor));
      case DType::float64:
        return f(InPlace<double>(tensor));
      default:
        break;
    }
  }
  return f(Copied(tensor));
}

// Whether test holds for all blocks of elements of both sides; it ends with the first for which it does not.
template <class Test>
bool in_blocks(const Tensor& bench, const Tensor& device, const Test& test) {
  const std::int64_t count = device.numel();
  return with_blocks(bench, [&](auto exact) {
    return with_blocks(device, [&](auto actual) {
      for (std::int64_t left = count; left > 0; left -= screened_at_once) {
        const std::int64_t size = std::min(screened_at_once, left);
        if (!test(exact.next(size), actual.next(size), size)) return false;
      }
      return true;
    });
  });
}

// In what runs of the benchmark and the device are compared. A float32 is enough for a half type: the difference from
// a number beside it is exact, and what is allowed is off by less than a 2^-12th of a place of the device.
template <class Bench, class Device>
using RealFor = std::conditional_t<std::is_same_v<typename Bench::Element, float> &&
                                       (std::is_same_v<typename Device::Element, Half> ||
                                        std::is_same_v<typename Device::Element, BFloat16>),
                                   float, double>;

// As wide as what it counts, so that both take as many at once.
template <class Real>
using CountFor = std::conditional_t<std::is_same_v<Real, float>, std::int32_t, std::int64_t>;

struct Within {
  bool all = true;            // every element is within the bound
  std::int64_t half_off = 0;  // elements that are off by more than half of their size, if all are within
};

// Whether every element is the nearest number to a value within slope times its benchmark, plus offset, of that.
Within within_bound(const Tensor& bench, const Tensor& device, double slope, double offset) {
  Within within;
  const DType dtype = coarser(bench, device);
  within.all =
      in_blocks(bench, device,
                [&, dtype, slope, offset]<class Bench, class Device>(const Bench b, const Device d, std::int64_t size) {
                  using Real = RealFor<Bench, Device>;
                  const auto half_unit = static_cast<Real>(epsilon(dtype) / 2);
                  const auto normal = static_cast<Real>(smallest_normal(dtype));
                  const auto factor = static_cast<Real>(slope);
                  const auto besides = static_cast<Real>(offset);
                  // No finite number is within rounding of an infinity.
                  constexpr Real largest = std::numeric_limits<Real>::max();
                  CountFor<Real> beyond = 0;
                  CountFor<Real> off = 0;
                  for (std::int64_t k = 0; k < size; ++k) {
                    const Real exact = b.template get<Real>(k);
                    const Real magnitude = std::min(std::abs(exact), largest);
                    const Real allowed = half_unit * binade(std::max(magnitude, normal)) + factor * magnitude + besides;
                    const Real error = std::abs(d.template get<Real>(k) - exact);
                    // False for NaN.
                    beyond += error <= allowed ? 0 : 1;
                    off += error > magnitude / 2 ? 1 : 0;
                  }
                  within.half_off += off;
                  return beyond == 0;
                });
  return within;
}

}  // namespace

bool surely_rounding(const Tensor& bench, const Tensor& device, std::int64_t chain) {
  return within_bound(bench, device, sum_factor(accumulator_roundoff(coarser(bench, device)), chain), 0).all;
}

bool surely_rounding_of_sums(const Tensor& bench, const Tensor& device, std::int64_t chain) {
  const TypicalMagnitude typical(rounding::sampled(bench.contiguous()));
  const double factor = sum_factor(accumulator_roundoff(coarser(bench, device)), chain);
  if (!typical.is_one_kind()) return false;
  const Within within = within_bound(bench, device, factor, factor * typical.of_all());
  return within.all && (within.half_off < fewest_of_a_slice || lost_slices(bench, device).empty());
}

bool surely_equal(const Tensor& bench, const Tensor& device) {
  return in_blocks(bench, device, []<class Bench, class Device>(const Bench b, const Device d, std::int64_t size) {
    using Real = RealFor<Bench, Device>;
    CountFor<Real> different = 0;
    for (std::int64_t k = 0; k < size; ++k) {
      const Real exact = b.template get<Real>(k);
      const Real actual = d.template get<Real>(k);
      const bool exact_is_nan = std::isnan(exact);
      const bool actual_is_nan = std::isnan(actual);
      const bool both_nan = exact_is_nan & actual_is_nan;
      different += ((exact == actual) | both_nan) ? 0 : 1;
    }
    return different == 0;
  });
}

}  // namespace msrun
