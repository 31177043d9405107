#include "kernels/io/graph_engine/ge_types.h"

namespace msrun {

std::optional<GeType> ge_type(std::int32_t code) {
  switch (code) {
    case ge_undefined:
    case 3:
      return GeType{NumpyType::int8};
    case 1:
      return GeType{NumpyType::float32};
    case 2:
      return GeType{NumpyType::float16};
    case 4:
      return GeType{NumpyType::uint8};
    case 5:
      return GeType{NumpyType::int16};
    case 6:
      return GeType{NumpyType::uint16};
    case 7:
      return GeType{NumpyType::int32};
    case 8:
    case 23:  // a handle
      return GeType{NumpyType::int64};
    case 9:
      return GeType{NumpyType::uint32};
    case 10:
      return GeType{NumpyType::uint64};
    case 11:
      return GeType{NumpyType::boolean};
    case 12:
      return GeType{NumpyType::float64};
    case 16:
      return GeType{NumpyType::complex64};
    case 17:
      return GeType{NumpyType::complex128};
    case 27:
      return GeType{NumpyType::float32, Encoding::bfloat16};
    case 28:
      return GeType{NumpyType::int8, Encoding::int4};
    case 29:
      return GeType{NumpyType::uint8, Encoding::bit};
    case 33:
      return GeType{NumpyType::float64, Encoding::hifloat8};
    case 34:
      return GeType{NumpyType::float64, Encoding::float8_e5m2};
    case 35:
      return GeType{NumpyType::float64, Encoding::float8_e4m3fn};
    default:
      return std::nullopt;
  }
}

}  // namespace msrun
