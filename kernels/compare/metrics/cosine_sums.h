// The three sums of products that the cosine similarity is made of, and the largest magnitudes, block by block.
// Included by the metric files only.
#pragma once

#include <cstdint>

#include "kernels/compare/metrics/pack.h"

namespace msrun {

struct CosineSums {
  Pack<double> products = Pack<double>::all(0);
  Pack<double> device_squares = Pack<double>::all(0);
  Pack<double> bench_squares = Pack<double>::all(0);
};

template <class T>
struct Tops {
  T device;
  T bench;
};

// Adds padded elements of both sides, whole packs. Infinity and NaN are the largest values of all.
template <class T>
MSRUN_INLINE Tops<T> add_products(const T* device, const T* bench, std::int64_t padded, CosineSums& sums) {
  using Bits = Pack<IntOf<T>>;
  Bits top_device = Bits::all(0);
  Bits top_bench = Bits::all(0);
  CosineSums local = sums;
  for (std::int64_t i = 0; i < padded; i += lanes) {
    const Pack<T> d = Pack<T>::load(device + i);
    const Pack<T> b = Pack<T>::load(bench + i);
    // Bit patterns of magnitudes are ordered as these are.
    top_device = larger(top_device, bits_of(magnitude(d)));
    top_bench = larger(top_bench, bits_of(magnitude(b)));
    const Pack<double> wide_d = widened(d);
    const Pack<double> wide_b = widened(b);
    local.products = local.products + wide_d * wide_b;
    local.device_squares = local.device_squares + wide_d * wide_d;
    local.bench_squares = local.bench_squares + wide_b * wide_b;
  }
  sums = local;
  return {std::bit_cast<T>(largest(top_device)), std::bit_cast<T>(largest(top_bench))};
}

// add_products for float32, in a file of its own: products of float32 values are exact in float64, so that
// multiplication and addition may be fused there, and the sums are the same with and without.
Tops<float> add_float_products(const float* device, const float* bench, std::int64_t padded, CosineSums& sums);

}  // namespace msrun
