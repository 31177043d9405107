// The opcodes of pickle and the names of torch that reader and writer of tensor pickles share.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "kernels/tensor/dtype.h"

namespace msrun {

enum class PickleOp : std::uint8_t {
  mark = '(',
  empty_tuple = ')',
  stop = '.',
  int4 = 'J',
  int1 = 'K',
  int2 = 'M',
  none = 'N',
  persistent_id = 'Q',
  reduce = 'R',
  unicode = 'X',
  empty_list = ']',
  append = 'a',
  build = 'b',
  global = 'c',
  appends = 'e',
  get = 'h',
  long_get = 'j',
  put = 'q',
  long_put = 'r',
  set_item = 's',
  tuple = 't',
  set_items = 'u',
  empty_dict = '}',
  protocol = 0x80,
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  new_true = 0x88,
  new_false = 0x89,
  long1 = 0x8A,
};

// A class of torch that names the dtype of a storage.
struct StorageClass {
  std::string_view name;
  DType dtype;
};

inline constexpr std::array storage_classes{
    StorageClass{"FloatStorage", DType::float32},
    StorageClass{"DoubleStorage", DType::float64},
    StorageClass{"HalfStorage", DType::float16},
    StorageClass{"BFloat16Storage", DType::bfloat16},
    StorageClass{"LongStorage", DType::int64},
    StorageClass{"IntStorage", DType::int32},
    StorageClass{"ShortStorage", DType::int16},
    StorageClass{"CharStorage", DType::int8},
    StorageClass{"ByteStorage", DType::uint8},
    StorageClass{"BoolStorage", DType::boolean},
    StorageClass{"ComplexFloatStorage", DType::complex64},
    StorageClass{"ComplexDoubleStorage", DType::complex128},
};

}  // namespace msrun
