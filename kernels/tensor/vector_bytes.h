// How wide the vectors are of the processor level that a file is compiled for, and groups of lanes that are as wide on
// every level.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace msrun {

#if defined(__AVX512F__)
inline constexpr std::size_t vector_bytes = 64;
#elif defined(__AVX__)
inline constexpr std::size_t vector_bytes = 32;
#else
inline constexpr std::size_t vector_bytes = 16;
#endif

// A hundred and twenty-eight bytes of T in vectors of the processor. What takes a row in such groups combines the same
// elements on every processor, so that nobody sees in a result, by the sign of a zero, which one it was.
template <class T>
struct LaneGroup {
  using Vector __attribute__((vector_size(vector_bytes))) = T;
  static constexpr std::int64_t width = 128 / static_cast<std::int64_t>(sizeof(T));
  static constexpr std::int64_t width_of_vector = static_cast<std::int64_t>(vector_bytes / sizeof(T));

  explicit LaneGroup(T value) {
    for (Vector& vector : vectors) vector = Vector{} + value;
  }

  // change(held, values) for each vector of the group and the elements that it meets, at `from`.
  template <class Change>
  [[gnu::always_inline]] void combine(const T* from, const Change& change) {
    for (Vector& held : vectors) {
      Vector values;
      std::memcpy(&values, from, sizeof values);
      change(held, values);
      from += width_of_vector;
    }
  }
  std::array<T, static_cast<std::size_t>(width)> lanes() const {
    std::array<T, static_cast<std::size_t>(width)> result;
    std::memcpy(result.data(), vectors, sizeof result);
    return result;
  }

  Vector vectors[128 / vector_bytes];  // an std::array would lose the attribute
};

}  // namespace msrun
