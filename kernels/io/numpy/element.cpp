#include "kernels/io/numpy/element.h"

#include <complex>
#include <type_traits>

namespace msrun {

ElementBytes convert_element(NumpyType from, const ElementBytes& element, NumpyType to) {
  if (from == to) return element;
  return visit_type(from, [&](auto from_type) {
    using S = decltype(from_type);
    const auto value = [&] {
      if constexpr (std::is_same_v<S, Half>) {
        return to_float(value_of<Half>(element));
      } else if constexpr (std::is_same_v<S, bool>) {
        return static_cast<std::int8_t>(element[0] != std::byte{0} ? 1 : 0);
      } else {
        return value_of<S>(element);
      }
    }();
    return visit_type(to, [&](auto to_type) {
      using T = decltype(to_type);
      using V = std::remove_const_t<decltype(value)>;
      constexpr bool from_complex = std::is_same_v<V, std::complex<float>> || std::is_same_v<V, std::complex<double>>;
      if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
        using Real = typename T::value_type;
        if constexpr (from_complex) {
          return element_of(T(static_cast<Real>(value.real()), static_cast<Real>(value.imag())));
        } else {
          return element_of(T(static_cast<Real>(value)));
        }
      } else if constexpr (from_complex) {  // NOLINT(bugprone-branch-clone): decided before T is known
        return element;                     // no complex type is promoted to a real one
      } else if constexpr (std::is_same_v<T, Half>) {
        return element_of(to_half(static_cast<float>(value)));
      } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<V>) {
        return element;  // nor is a float to an integer
      } else {
        return element_of(static_cast<T>(value));
      }
    });
  });
}

}  // namespace msrun
