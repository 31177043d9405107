// How kernels and operators compute. The default is what a sound device does: storage in the tensor's dtype, float32
// (float64 for float64) in between. The members describe faulty or approximate hardware.
#pragma once

namespace msrun {

struct Arithmetic {
  bool fp16_accumulation = false;  // sums of products and reductions are rounded to float16 after every addition
  bool hf32_inputs = false;        // float32 operands of matrix products and convolutions keep 11 fraction bits
  bool flush_subnormals = false;   // subnormal results become zero, in the dtype of the result
  bool operator==(const Arithmetic&) const = default;
};

class Tensor;

// float32 values rounded to 11 fraction bits, half up in magnitude, as the device rounds the operands of products
// (api_inventory.md 2.6). Infinity and NaN stay; the largest values overflow. The result is contiguous.
Tensor round_to_hf32(const Tensor& tensor);

}  // namespace msrun
