#include "kernels/numeric/roughness.h"

#include "kernels/tensor/elementwise_map.h"

namespace msrun {
Tensor off_by_places(const Tensor& tensor, std::uint32_t seed) {
  if (seed == 0) return tensor;
  if (tensor.dtype() != DType::float32 && tensor.dtype() != DType::float64) return tensor;
  return map(tensor.dtype(), tensor, [seed](auto x) {
    if constexpr (std::is_floating_point_v<decltype(x)>) {
      return a_place_beside(x, seed);
    } else {
      return x;
    }
  });
}

}  // namespace msrun
