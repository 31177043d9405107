#include "kernels/numeric/indexed_reduction.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/numeric/reduction_view.h"
#include "kernels/numeric/roughness.h"
#include "kernels/numeric/rows.h"
#include "kernels/tensor/elementwise_map.h"
#include "kernels/tensor/recorded_dtypes.h"

namespace msrun {
namespace {

// Calls f(position in the source, place among the values) for all that is selected, in order.
template <class F>
void for_each_selected(const Selection& selection, const F& f) {
  std::int64_t place = 0;
  for (const std::int64_t start : selection.starts) {
    for (std::int64_t i = 0; i < selection.run; ++i) f(start + i, place++);
  }
}

// Tensors and vectors of as many elements as a source has.
template <class T>
class Reduction {
 public:
  Reduction(const Selection& selection, const IndexedReductionForm& form, const Arithmetic& arithmetic)
      : selection_(selection), form_(form), accumulator_(arithmetic.summation.accumulator) {}

  // Combines values with what `to` holds.
  void into(T* to, const T* values) const {
    if (!form_.includes_self) for_each([&](std::int64_t at, std::int64_t) { to[at] = neutral(); });
    for_each([&](std::int64_t at, std::int64_t place) { to[at] = combined(to[at], values[place]); });
  }

  // How many elements are combined into each; 1 where nothing is.
  std::vector<T> counts(std::int64_t elements) const {
    std::vector<T> result(static_cast<std::size_t>(elements), form_.includes_self ? T{1} : T{0});
    for_each([&](std::int64_t at, std::int64_t) { add(result[static_cast<std::size_t>(at)], T{1}); });
    std::ranges::replace(result, T{0}, T{1});
    return result;
  }

  void add(T& sum, T value) const {
    if constexpr (std::is_floating_point_v<T>) {
      sum = add_step(sum, value, accumulator_);
    } else {
      sum = wrapping_add(sum, value);
    }
  }

  template <class F>
  void for_each(const F& f) const {
    for_each_selected(selection_, f);
  }

 private:
  T neutral() const {
    using Limits = std::numeric_limits<T>;
    switch (form_.how) {
      case IndexedReduction::product:
        return T{1};
      case IndexedReduction::maximum:
        return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
      case IndexedReduction::minimum:
        return Limits::has_infinity ? Limits::infinity() : Limits::max();
      case IndexedReduction::sum:
      case IndexedReduction::mean:
        break;
    }
    return T{0};
  }

  T combined(T held, T value) const {
    switch (form_.how) {
      case IndexedReduction::product:
        return wrapping_mul(held, value);
      case IndexedReduction::maximum:
        return value > held || is_nan(value) ? value : held;
      case IndexedReduction::minimum:
        return value < held || is_nan(value) ? value : held;
      case IndexedReduction::sum:
      case IndexedReduction::mean:
        break;
    }
    add(held, value);
    return held;
  }

  const Selection& selection_;
  IndexedReductionForm form_;
  Accumulator accumulator_;
};

// Extremes are picked; of the others errors grow with the number of elements.
bool picks(IndexedReduction how) { return how == IndexedReduction::maximum || how == IndexedReduction::minimum; }

template <class T>
T quotient(T sum, T count) {
  if constexpr (std::is_floating_point_v<T>) {
    return sum / count;
  } else {
    // Rounded down, as torch divides integers here.
    return sum / count - (sum % count != 0 && (sum < 0) != (count < 0) ? 1 : 0);
  }
}

// The gradients of one call in T, a floating type.
template <class T>
class Backward {
 public:
  // stored: the dtype of the call. seed: of a rough computation.
  Backward(const Reduction<T>& reduction, const T* x, const T* values, const T* gradient, std::int64_t elements,
           DType stored, std::uint32_t seed)
      : reduction_(reduction),
        x_(x),
        values_(values),
        gradient_(gradient),
        elements_(elements),
        stored_(stored),
        seed_(seed) {}

  void run(IndexedReduction how, T* of_x, T* of_values) const {
    switch (how) {
      case IndexedReduction::sum:
        std::copy_n(gradient_, elements_, of_x);
        reduction_.for_each([&](std::int64_t at, std::int64_t place) { of_values[place] = gradient_[at]; });
        break;
      case IndexedReduction::mean:
        divide_by(reduction_.counts(elements_), of_x, of_values);
        break;
      case IndexedReduction::product:
        of_products(of_x, of_values);
        break;
      case IndexedReduction::maximum:
      case IndexedReduction::minimum:
        share(of_x, of_values);
        break;
    }
  }

 private:
  using Elements = std::vector<T>;

  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

  // A step of a formula, as it is stored before the next: beyond the range of a half type it is infinite.
  T step(T value) const {
    if constexpr (std::is_same_v<T, float>) {
      if (is_half(stored_)) return stored_in(stored_, value);
    }
    return rough_step(value, seed_);
  }

  Elements reduced(const T* values) const {
    Elements result(x_, x_ + elements_);
    reduction_.into(result.data(), values);
    return result;
  }

  void divide_by(const Elements& counts, T* of_x, T* of_values) const {
    for (std::int64_t i = 0; i < elements_; ++i) of_x[i] = gradient_[i] / counts[index(i)];
    reduction_.for_each(
        [&](std::int64_t at, std::int64_t place) { of_values[place] = gradient_[at] / counts[index(at)]; });
  }

  // The product over each of its factors, but for zeros, whose part is the product of the others.
  void of_products(T* of_x, T* of_values) const {
    Elements without_zeros(x_, x_ + elements_);
    std::ranges::replace(without_zeros, T{0}, T{1});
    Elements of_self = without_zeros;
    reduction_.into(of_self.data(), values_);
    for (std::int64_t i = 0; i < elements_; ++i)
      of_x[i] = step(gradient_[i] * step(of_self[index(i)])) / without_zeros[index(i)];

    std::vector<std::int64_t> zeros(index(elements_));
    std::int64_t count = 0;
    reduction_.for_each([&](std::int64_t at, std::int64_t place) {
      zeros[index(at)] += values_[place] == 0 ? 1 : 0;
      ++count;
    });
    const auto is_only_zero = [&](std::int64_t at, std::int64_t place) {
      return values_[place] == 0 && zeros[index(at)] == 1;
    };
    Elements others(values_, values_ + count);
    reduction_.for_each([&](std::int64_t at, std::int64_t place) {
      if (is_only_zero(at, place)) others[index(place)] = 1;
    });
    const Elements result = reduced(values_);
    const Elements of_others = reduced(others.data());
    reduction_.for_each([&](std::int64_t at, std::int64_t place) {
      const bool only = is_only_zero(at, place);
      const T part = gradient_[at] * step((only ? of_others : result)[index(at)]);
      of_values[place] = only ? part : step(part) / (values_[place] == 0 ? T{1} : values_[place]);
    });
  }

  // Where nothing equals the result, which is NaN then, the share of nobody is 0 / 0.
  void share(T* of_x, T* of_values) const {
    const Elements result = reduced(values_);
    Elements ties(index(elements_));
    for (std::int64_t i = 0; i < elements_; ++i) ties[index(i)] = x_[i] == result[index(i)] ? T{1} : T{0};
    reduction_.for_each([&](std::int64_t at, std::int64_t place) {
      if (values_[place] == result[index(at)]) reduction_.add(ties[index(at)], T{1});
    });
    for (std::int64_t i = 0; i < elements_; ++i)
      of_x[i] = (x_[i] == result[index(i)] ? T{1} : T{0}) * (gradient_[i] / ties[index(i)]);
    reduction_.for_each([&](std::int64_t at, std::int64_t place) {
      of_values[place] = (values_[place] == result[index(at)] ? T{1} : T{0}) * (gradient_[at] / ties[index(at)]);
    });
  }

  const Reduction<T>& reduction_;
  const T* x_;
  const T* values_;
  const T* gradient_;
  std::int64_t elements_;
  DType stored_;
  std::uint32_t seed_;
};

}  // namespace

Tensor reduce_at(const Tensor& x, const Selection& selection, const Tensor& values, const IndexedReductionForm& form,
                 const EvaluationContext& context) {
  const DType wide = wide_dtype(x.dtype());
  const Tensor source = values.to(wide).contiguous();
  Tensor result = x.to(wide).clone();
  if (!picks(form.how)) note_sums_of(context, selection, x.numel());
  visit_wide(x.dtype(), [&](auto element) {
    using T = decltype(element);
    const Reduction<T> reduction(selection, form, context.arithmetic);
    reduction.into(result.mutable_data<T>(), source.data<T>());
    if (form.how != IndexedReduction::mean) return;
    // Sums of integers wrap around in their dtype before they are divided.
    if (is_integer(x.dtype())) result = result.to(x.dtype()).to(wide);
    const std::vector<T> counts = reduction.counts(result.numel());
    T* to = result.mutable_data<T>();
    for (std::size_t i = 0; i < counts.size(); ++i) to[i] = quotient(to[i], counts[i]);
  });
  return result.to(x.dtype());
}

IndexedReductionGradients reduce_at_vjp(const Tensor& x, const Selection& selection, const Tensor& values,
                                        const IndexedReductionForm& form, const Tensor& gradient,
                                        const EvaluationContext& context) {
  const DType wide = wide_dtype(x.dtype());
  const auto prepare = [wide](const Tensor& tensor) { return tensor.to(wide).contiguous(); };
  const Tensor self = prepare(x);
  const Tensor source = prepare(values);
  const Tensor given = prepare(gradient);
  Tensor of_x(wide, x.shape());
  Tensor of_values(wide, selection.shape);
  if (form.how == IndexedReduction::product) note_sums_of(context, selection, x.numel());
  const auto run = [&](auto element) {
    using T = decltype(element);
    const Reduction<T> reduction(selection, form, context.arithmetic);
    T* const to = of_x.mutable_data<T>();
    const Backward<T> backward(reduction, self.data<T>(), source.data<T>(), given.data<T>(), x.numel(), x.dtype(),
                               context.jitter_seed);
    backward.run(form.how, to, of_values.mutable_data<T>());
    if (!form.includes_self) reduction.for_each([to](std::int64_t at, std::int64_t) { to[at] = 0; });
  };
  if (wide == DType::float64) {
    run(double{});
  } else {
    run(float{});
  }
  return {of_x.to(x.dtype()), of_values.to(x.dtype())};
}

}  // namespace msrun
