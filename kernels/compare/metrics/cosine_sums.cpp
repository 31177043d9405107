#include "kernels/compare/metrics/cosine_sums.h"

namespace msrun {

Tops<float> add_float_products(const float* device, const float* bench, std::int64_t padded, CosineSums& sums) {
  return add_products(device, bench, padded, sums);
}

}  // namespace msrun
