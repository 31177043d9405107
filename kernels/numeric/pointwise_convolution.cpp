#include "kernels/numeric/pointwise_convolution.h"

#include <algorithm>

#include "kernels/numeric/gemm.h"

namespace msrun {

template <class T>
void pointwise_convolution(ConvolutionProduct product, const Convolution& c, const T* a, const T* b, T* result,
                           const Arithmetic& arithmetic, const T* start) {
  const std::int64_t positions = c.windows.output_size();
  const std::int64_t in = c.in_per_group();
  const std::int64_t out = c.out_per_group();
  if (product == ConvolutionProduct::weight) std::fill_n(result, c.channels_out * in, T{});
  const bool begins = start != nullptr && accumulator_of<T>(arithmetic) != Accumulator::wide;
  Arithmetic of_parts = arithmetic;
  of_parts.summation = arithmetic.summation.whole();
  for (std::int64_t n = 0; n < c.batch; ++n) {
    for (std::int64_t group = 0; group < c.groups; ++group) {
      const std::int64_t at_x = (n * c.channels_in + group * in) * positions;
      const std::int64_t at_y = (n * c.channels_out + group * out) * positions;
      const std::int64_t at_w = group * out * in;
      switch (product) {
        case ConvolutionProduct::output:
          for (std::int64_t r = 0; begins && r < out; ++r)
            std::fill_n(result + at_y + r * positions, positions, start[group * out + r]);
          gemm<T>({b + at_w, out, in, in, 1}, {a + at_x, in, positions, positions, 1}, result + at_y, positions, begins,
                  arithmetic);
          break;
        case ConvolutionProduct::input:
          gemm<T>(MatrixView<T>{b + at_w, out, in, in, 1}.transposed(), {a + at_y, out, positions, positions, 1},
                  result + at_x, positions, false, arithmetic);
          break;
        case ConvolutionProduct::weight:
          gemm<T>({b + at_y, out, positions, positions, 1},
                  MatrixView<T>{a + at_x, in, positions, positions, 1}.transposed(), result + at_w, in, true,
                  n == c.batch - 1 ? arithmetic : of_parts);
          break;
      }
    }
  }
}

template void pointwise_convolution(ConvolutionProduct, const Convolution&, const float*, const float*, float*,
                                    const Arithmetic&, const float*);
template void pointwise_convolution(ConvolutionProduct, const Convolution&, const double*, const double*, double*,
                                    const Arithmetic&, const double*);

}  // namespace msrun
