// Any bytes as an .npy file: a tensor all of whose elements can be read, or one SkipError.
#include <cstdint>

#include "kernels/base/error.h"
#include "kernels/io/numpy/npy.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(npy_fuzz) {
  using namespace msrun;
  const MemoryFile file(data, size);
  try {
    const Tensor tensor = read_npy(file.path());
    if (!is_complex(tensor.dtype())) tensor.to(DType::float64);
  } catch (const SkipError&) {
  }
  return 0;
}
