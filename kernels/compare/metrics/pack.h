// Sixteen numbers side by side, in as many of the processor's vectors as they take: what the metric loops are written
// in. Written with the compiler's vector types; because a pack has sixteen lanes whatever the vectors' width, sums kept
// in packs come out the same on every machine. Included by the metric files only.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/tensor/vector_bytes.h"

namespace msrun {

inline constexpr std::int64_t lanes = 16;

#define MSRUN_INLINE [[gnu::always_inline]] inline

template <class T, std::size_t bytes = vector_bytes>
struct VectorType {
  using type __attribute__((vector_size(bytes))) = T;
};

// The integer of the same size: masks are 0 or -1 in each lane.
template <class T>
using IntOf = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

template <class T>
struct Pack {
  using Vector = typename VectorType<T>::type;
  static constexpr std::size_t parts = static_cast<std::size_t>(lanes) * sizeof(T) / vector_bytes;
  static constexpr std::size_t lanes_of_part = vector_bytes / sizeof(T);

  std::array<Vector, parts> part;

  MSRUN_INLINE static Pack load(const T* from) {
    Pack result;
    for (std::size_t i = 0; i < parts; ++i) std::memcpy(&result.part[i], from + i * lanes_of_part, vector_bytes);
    return result;
  }
  MSRUN_INLINE void store(T* to) const {
    for (std::size_t i = 0; i < parts; ++i) std::memcpy(to + i * lanes_of_part, &part[i], vector_bytes);
  }
  MSRUN_INLINE static Pack all(T value) {
    Pack result;
    for (auto& vector : result.part) vector = value - Vector{};
    return result;
  }
  std::array<T, static_cast<std::size_t>(lanes)> values() const {
    return std::bit_cast<std::array<T, static_cast<std::size_t>(lanes)>>(*this);
  }
};

// f of each vector of the packs.
template <class R, class F, class... P>
MSRUN_INLINE R each_part(F f, const P&... packs) {
  R result;
  for (std::size_t i = 0; i < result.part.size(); ++i) result.part[i] = f(packs.part[i]...);
  return result;
}

template <class T>
MSRUN_INLINE Pack<T> operator+(const Pack<T>& a, const Pack<T>& b) {
  return each_part<Pack<T>>([](auto x, auto y) { return x + y; }, a, b);
}
template <class T>
MSRUN_INLINE Pack<T> operator-(const Pack<T>& a, const Pack<T>& b) {
  return each_part<Pack<T>>([](auto x, auto y) { return x - y; }, a, b);
}
template <class T>
MSRUN_INLINE Pack<T> operator*(const Pack<T>& a, const Pack<T>& b) {
  return each_part<Pack<T>>([](auto x, auto y) { return x * y; }, a, b);
}
template <class T>
MSRUN_INLINE Pack<T> operator/(const Pack<T>& a, const Pack<T>& b) {
  return each_part<Pack<T>>([](auto x, auto y) { return x / y; }, a, b);
}
template <class T>
MSRUN_INLINE Pack<T> operator&(const Pack<T>& a, const Pack<T>& b) {
  return each_part<Pack<T>>([](auto x, auto y) { return x & y; }, a, b);
}
template <class T>
MSRUN_INLINE Pack<T> operator|(const Pack<T>& a, const Pack<T>& b) {
  return each_part<Pack<T>>([](auto x, auto y) { return x | y; }, a, b);
}
template <class T>
MSRUN_INLINE Pack<T> operator>>(const Pack<T>& a, int places) {
  return each_part<Pack<T>>([places](auto x) { return x >> places; }, a);
}
template <class T>
MSRUN_INLINE Pack<T> operator<<(const Pack<T>& a, int places) {
  return each_part<Pack<T>>([places](auto x) { return x << places; }, a);
}

template <class T>
MSRUN_INLINE Pack<IntOf<T>> operator<(const Pack<T>& a, const Pack<T>& b) {
  return each_part<Pack<IntOf<T>>>([](auto x, auto y) { return x < y; }, a, b);
}
template <class T>
MSRUN_INLINE Pack<IntOf<T>> operator<=(const Pack<T>& a, const Pack<T>& b) {
  return each_part<Pack<IntOf<T>>>([](auto x, auto y) { return x <= y; }, a, b);
}
template <class T>
MSRUN_INLINE Pack<IntOf<T>> operator==(const Pack<T>& a, const Pack<T>& b) {
  return each_part<Pack<IntOf<T>>>([](auto x, auto y) { return x == y; }, a, b);
}
template <class T>
MSRUN_INLINE Pack<IntOf<T>> operator!=(const Pack<T>& a, const Pack<T>& b) {
  return each_part<Pack<IntOf<T>>>([](auto x, auto y) { return x != y; }, a, b);
}

template <class T>
MSRUN_INLINE Pack<T> select(const Pack<IntOf<T>>& mask, const Pack<T>& yes, const Pack<T>& no) {
  return each_part<Pack<T>>([](auto m, auto y, auto n) { return m ? y : n; }, mask, yes, no);
}

// Adds one to the lanes where the mask is set.
template <class I>
MSRUN_INLINE void count(Pack<I>& counts, const Pack<I>& mask) {
#if defined(__AVX512F__)
  counts = select(mask, counts + Pack<I>::all(1), counts);
#else
  counts = counts - mask;
#endif
}

// Not for NaN.
template <class T>
MSRUN_INLINE Pack<T> larger(const Pack<T>& a, const Pack<T>& b) {
  return each_part<Pack<T>>([](auto x, auto y) { return x > y ? x : y; }, a, b);
}

template <class T>
MSRUN_INLINE Pack<IntOf<T>> bits_of(const Pack<T>& a) {
  using Bits = typename Pack<IntOf<T>>::Vector;
  return each_part<Pack<IntOf<T>>>([](auto x) { return reinterpret_cast<Bits>(x); }, a);
}
template <class I, class T = std::conditional_t<sizeof(I) == 4, float, double>>
MSRUN_INLINE Pack<T> with_bits(const Pack<I>& a) {
  using Vector = typename Pack<T>::Vector;
  return each_part<Pack<T>>([](auto x) { return reinterpret_cast<Vector>(x); }, a);
}

template <class T>
inline constexpr IntOf<T> magnitude_bits = sizeof(T) == 4 ? 0x7FFF'FFFF : 0x7FFF'FFFF'FFFF'FFFF;

template <class T>
MSRUN_INLINE Pack<T> magnitude(const Pack<T>& a) {
  return with_bits(bits_of(a) & Pack<IntOf<T>>::all(magnitude_bits<T>));
}

// Conversions take a whole vector of floats at a time, and the two vectors of doubles that belong to it: compilers turn
// that, and not the conversion of half a vector, into single instructions.
using WideDoubles = VectorType<double, 2 * vector_bytes>::type;

MSRUN_INLINE Pack<double> widened(const Pack<double>& a) { return a; }
MSRUN_INLINE Pack<double> widened(const Pack<float>& a) {
  std::array<WideDoubles, Pack<float>::parts> wide;
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = __builtin_convertvector(a.part[i], WideDoubles);
  return std::bit_cast<Pack<double>>(wide);
}

// Rounded to nearest even.
MSRUN_INLINE Pack<float> narrowed(const Pack<double>& a) {
  const auto wide = std::bit_cast<std::array<WideDoubles, Pack<float>::parts>>(a);
  Pack<float> result;
  for (std::size_t i = 0; i < wide.size(); ++i) {
    result.part[i] = __builtin_convertvector(wide[i], Pack<float>::Vector);
  }
  return result;
}

template <class To, class From>
MSRUN_INLINE Pack<To> as(const Pack<From>& a) {
  if constexpr (std::is_same_v<To, From>) {
    return a;
  } else if constexpr (std::is_same_v<To, double>) {
    return widened(a);
  } else {
    return narrowed(a);
  }
}

// In a fixed order: lanes 8 apart first, then 4, 2 and 1.
inline double total(const Pack<double>& sums) {
  auto values = sums.values();
  for (std::size_t width = values.size() / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) values[i] += values[i + width];
  }
  return values[0];
}
template <class I>
inline std::int64_t total_count(const Pack<I>& counts) {
  std::int64_t sum = 0;
  for (const I value : counts.values()) sum += value;
  return sum;
}
template <class T>
inline T largest(const Pack<T>& pack) {
  auto values = pack.values();
  for (std::size_t width = values.size() / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) values[i] = std::max(values[i], values[i + width]);
  }
  return values[0];
}

}  // namespace msrun
