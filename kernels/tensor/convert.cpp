#include "kernels/tensor/convert.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/tensor/arithmetic.h"

namespace msrun {
namespace {

template <class T>
constexpr bool is_complex_type = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// float to int64 is undefined outside the range in C++; here it saturates, and NaN gives the smallest value, as the
// processors' conversion instructions do.
std::int64_t truncate(double value) {
  constexpr double limit = 0x1p63;
  if (value >= -limit && value < limit) return static_cast<std::int64_t>(value);
  return value >= limit ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

template <class T, class S>
T convert_in(S value) {
  if constexpr (std::is_same_v<S, Half> || std::is_same_v<S, BFloat16> || std::is_same_v<S, Float8E4M3> ||
                std::is_same_v<S, Float8E5M2>) {
    return convert_in<T>(to_float(value));
  } else if constexpr (is_complex_type<S> && is_complex_type<T>) {
    return T(value);
  } else if constexpr (is_complex_type<S>) {
    return convert_in<T>(value.real());
  } else if constexpr (is_complex_type<T>) {
    return T(static_cast<double>(value));
  } else if constexpr (std::is_same_v<T, std::int64_t> && std::is_floating_point_v<S>) {
    return truncate(static_cast<double>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <class S, class T>
S convert_out(T value) {
  if constexpr (is_complex_type<S> && is_complex_type<T>) {
    return S(value);
  } else if constexpr (std::is_same_v<S, bool> && is_complex_type<T>) {
    return value != T{};
  } else if constexpr (is_complex_type<T>) {
    return convert_out<S>(value.real());
  } else if constexpr (std::is_same_v<S, Half>) {
    return to_half(static_cast<float>(value));
  } else if constexpr (std::is_same_v<S, BFloat16>) {
    return to_bfloat16(static_cast<float>(value));
  } else if constexpr (std::is_same_v<S, Float8E4M3>) {
    return to_float8_e4m3(static_cast<float>(value));
  } else if constexpr (std::is_same_v<S, Float8E5M2>) {
    return to_float8_e5m2(static_cast<float>(value));
  } else if constexpr (std::is_same_v<S, std::complex<float>>) {
    return {static_cast<float>(value), 0.0F};
  } else if constexpr (std::is_same_v<S, std::complex<double>>) {
    return {static_cast<double>(value), 0.0};
  } else if constexpr (std::is_same_v<S, bool>) {
    return value != T{0};
  } else if constexpr (std::is_integral_v<S> && std::is_floating_point_v<T>) {
    return static_cast<S>(truncate(static_cast<double>(value)));
  } else {
    return static_cast<S>(value);
  }
}

thread_local bool truncates_stores = false;

template <class S>
constexpr bool is_small_float = std::is_same_v<S, Half> || std::is_same_v<S, BFloat16> ||
                                std::is_same_v<S, Float8E4M3> || std::is_same_v<S, Float8E5M2>;

// The S nearest to value among those that are not larger in magnitude. The bits of a smaller magnitude are a smaller
// number in all these formats.
template <class S>
S cut(double value) {
  if constexpr (std::is_same_v<S, float>) {
    return truncated_to_float(value);
  } else {
    S nearest = convert_out<S>(value);
    if (std::isfinite(value) && std::abs(static_cast<double>(to_float(nearest))) > std::abs(value)) --nearest.bits;
    return nearest;
  }
}

// store_run where that rounds to a narrower floating dtype; false where it does not.
template <class S, class T>
bool store_cut(const T* source, std::int64_t count, S* target) {
  if constexpr (std::is_same_v<S, std::complex<float>> && is_complex_type<T>) {
    for (std::int64_t i = 0; i < count; ++i) target[i] = S(cut<float>(source[i].real()), cut<float>(source[i].imag()));
    return true;
  } else if constexpr (is_small_float<S> || (std::is_same_v<S, float> && !std::is_same_v<T, float>)) {
    for (std::int64_t i = 0; i < count; ++i) target[i] = cut<S>(static_cast<double>(convert_in<double>(source[i])));
    return true;
  }
  return false;
}

}  // namespace

StoreRounding::StoreRounding(bool truncate) : truncates_(truncates_stores, truncate) {}

template <class T>
void load_run(DType dtype, const std::byte* source, std::int64_t stride, std::int64_t count, T* target) {
  visit_dtype(dtype, [&](auto element) {
    using S = decltype(element);
    const S* from = reinterpret_cast<const S*>(source);
    if (stride == 1) {
      if constexpr (std::is_same_v<S, T>) {
        std::copy_n(from, count, target);
      } else {
        for (std::int64_t i = 0; i < count; ++i) target[i] = convert_in<T>(from[i]);
      }
    } else if (stride == 0) {
      const T value = count > 0 ? convert_in<T>(from[0]) : T{};
      for (std::int64_t i = 0; i < count; ++i) target[i] = value;
    } else {
      for (std::int64_t i = 0; i < count; ++i) target[i] = convert_in<T>(from[i * stride]);
    }
  });
}

template <class T>
void store_run(DType dtype, const T* source, std::int64_t count, std::byte* target) {
  visit_dtype(dtype, [&](auto element) {
    using S = decltype(element);
    S* to = reinterpret_cast<S*>(target);
    if (truncates_stores && store_cut(source, count, to)) return;
    if constexpr (std::is_same_v<S, T>) {
      std::copy_n(source, count, to);
    } else {
      for (std::int64_t i = 0; i < count; ++i) to[i] = convert_out<S>(source[i]);
    }
  });
}

template void load_run<float>(DType, const std::byte*, std::int64_t, std::int64_t, float*);
template void load_run<double>(DType, const std::byte*, std::int64_t, std::int64_t, double*);
template void load_run<std::int64_t>(DType, const std::byte*, std::int64_t, std::int64_t, std::int64_t*);
template void load_run<std::complex<double>>(DType, const std::byte*, std::int64_t, std::int64_t,
                                             std::complex<double>*);
template void store_run<float>(DType, const float*, std::int64_t, std::byte*);
template void store_run<double>(DType, const double*, std::int64_t, std::byte*);
template void store_run<std::int64_t>(DType, const std::int64_t*, std::int64_t, std::byte*);
template void store_run<std::complex<double>>(DType, const std::complex<double>*, std::int64_t, std::byte*);

}  // namespace msrun
