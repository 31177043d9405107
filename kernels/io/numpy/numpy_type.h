// Element types of numpy arrays: more than the tensors of this program have (unsigned integers of 16 to 64 bits), and
// all that .npy, .npz and the dumps of compiled graphs hold once they are decoded.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/tensor/dtype.h"

namespace msrun {

enum class NumpyType : std::uint8_t {
  boolean,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  float16,
  float32,
  float64,
  complex64,
  complex128,
};
inline constexpr int numpy_type_count = 14;

std::size_t size_of(NumpyType type);
bool is_complex(NumpyType type);

// "f4", "b1": kind and bytes, as in a header; and back.
std::string_view type_code(NumpyType type);
std::optional<NumpyType> parse_type_code(std::string_view code);
// "<f4", "|b1": the text that numpy writes on a little-endian machine.
std::string descr(NumpyType type);

// The dtype of a tensor that holds these elements; none for uint16, uint32 and uint64.
std::optional<DType> tensor_dtype(NumpyType type);

// "torch.float32": the type under which a comparison reports the elements. uint16 and uint32 are reported as the next
// wider signed type (torchair.md 5.1).
std::string_view compared_type_name(NumpyType type);

// numpy's result type of two arrays.
NumpyType promote(NumpyType a, NumpyType b);

// Calls f with a value-initialised element; bool is one byte, 0 or 1.
template <class F>
decltype(auto) visit_type(NumpyType type, F&& f) {
  switch (type) {
    case NumpyType::boolean:
      return f(bool{});
    case NumpyType::int8:
      return f(std::int8_t{});
    case NumpyType::uint8:
      return f(std::uint8_t{});
    case NumpyType::int16:
      return f(std::int16_t{});
    case NumpyType::uint16:
      return f(std::uint16_t{});
    case NumpyType::int32:
      return f(std::int32_t{});
    case NumpyType::uint32:
      return f(std::uint32_t{});
    case NumpyType::int64:
      return f(std::int64_t{});
    case NumpyType::uint64:
      return f(std::uint64_t{});
    case NumpyType::float16:
      return f(Half{});
    case NumpyType::float32:
      return f(float{});
    case NumpyType::float64:
      return f(double{});
    case NumpyType::complex64:
      return f(std::complex<float>{});
    case NumpyType::complex128:
      break;
  }
  return f(std::complex<double>{});
}

}  // namespace msrun
