// Any bytes as a .pt file: a tensor all of whose elements can be read, or one SkipError. Mutated archives seldom get as
// far as the pickle, so the bytes are also read as one.
#include <cstdint>
#include <string_view>

#include "kernels/base/error.h"
#include "kernels/io/torch/pt_file.h"
#include "kernels/io/torch/tensor_pickle.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(pt_fuzz) {
  using namespace msrun;
  const MemoryFile file(data, size);
  try {
    const Tensor tensor = read_pt(file.path());
    if (!is_complex(tensor.dtype()) && tensor.numel() < (1 << 20)) tensor.to(DType::float64);
  } catch (const SkipError&) {
  }
  try {
    read_tensor_pickle({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const SkipError&) {
  }
  return 0;
}
