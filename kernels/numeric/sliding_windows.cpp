#include "kernels/numeric/sliding_windows.h"

#include <algorithm>

#include "kernels/numeric/rows.h"

namespace msrun {
namespace {

// Calls run(channel, row, input_offset, step, column, length) for every maximal run of windows whose element under one
// kernel position lies inside the input, and gap(row, column, length) for the runs in the padding.
template <class Run, class Gap>
void walk(const Windows& w, std::int64_t channels, std::int64_t first, std::int64_t count, Run&& run, Gap&& gap) {
  const std::int64_t plane = w.input[1] * w.input[2];
  const std::int64_t volume = w.input_size();
  const std::int64_t first_ow = first % w.output[2];
  const std::int64_t first_oh = first / w.output[2] % w.output[1];
  const std::int64_t first_od = first / w.output[2] / w.output[1];
  std::int64_t row = 0;
  for (std::int64_t channel = 0; channel < channels; ++channel) {
    for (std::int64_t kd = 0; kd < w.kernel[0]; ++kd) {
      for (std::int64_t kh = 0; kh < w.kernel[1]; ++kh) {
        for (std::int64_t kw = 0; kw < w.kernel[2]; ++kw, ++row) {
          // Windows [low, high) along the last axis have this element inside the input.
          const std::int64_t shift = kw * w.dilation[2] - w.padding[2];
          const std::int64_t step = w.stride[2];
          const std::int64_t low = shift >= 0 ? 0 : (-shift + step - 1) / step;
          const std::int64_t high = shift >= w.input[2] ? 0 : (w.input[2] - 1 - shift) / step + 1;
          std::int64_t ow = first_ow;
          std::int64_t oh = first_oh;
          std::int64_t od = first_od;
          std::int64_t column = 0;
          while (column < count) {
            const std::int64_t length = std::min(w.output[2] - ow, count - column);
            const std::int64_t d = od * w.stride[0] - w.padding[0] + kd * w.dilation[0];
            const std::int64_t h = oh * w.stride[1] - w.padding[1] + kh * w.dilation[1];
            const bool inside = d >= 0 && d < w.input[0] && h >= 0 && h < w.input[1];
            const std::int64_t begin = std::clamp(inside ? low : ow, ow, ow + length);
            const std::int64_t end = std::clamp(inside ? high : ow, begin, ow + length);
            if (begin > ow) gap(row, column, begin - ow);
            if (end > begin) {
              const std::int64_t offset = channel * volume + d * plane + h * w.input[2] + begin * step + shift;
              run(row, offset, step, column + begin - ow, end - begin);
            }
            if (end < ow + length) gap(row, column + end - ow, ow + length - end);
            column += length;
            ow = 0;
            if (++oh == w.output[1]) {
              oh = 0;
              ++od;
            }
          }
        }
      }
    }
  }
}

}  // namespace

bool Windows::is_identity() const {
  return kernel == Spatial{1, 1, 1} && stride == Spatial{1, 1, 1} && padding == Spatial{0, 0, 0} && input == output;
}

template <class T>
void windows_to_columns(const Windows& windows, std::int64_t channels, const T* input, std::int64_t first,
                        std::int64_t count, T* columns) {
  walk(
      windows, channels, first, count,
      [&](std::int64_t row, std::int64_t offset, std::int64_t step, std::int64_t column, std::int64_t length) {
        const T* from = input + offset;
        T* to = columns + row * count + column;
        if (step == 1) {
          std::copy_n(from, length, to);
        } else {
          for (std::int64_t i = 0; i < length; ++i) to[i] = from[i * step];
        }
      },
      [&](std::int64_t row, std::int64_t column, std::int64_t length) {
        std::fill_n(columns + row * count + column, length, T{});
      });
}

template <class T>
void add_columns_to_windows(const Windows& windows, std::int64_t channels, const T* columns, std::int64_t first,
                            std::int64_t count, T* input, Accumulator accumulator) {
  walk(
      windows, channels, first, count,
      [&](std::int64_t row, std::int64_t offset, std::int64_t step, std::int64_t column, std::int64_t length) {
        T* to = input + offset;
        const T* from = columns + row * count + column;
        if (accumulator != Accumulator::wide) {
          for (std::int64_t i = 0; i < length; ++i) {
            to[i * step] = add_step(to[i * step], from[i], accumulator);
          }
        } else if (step == 1) {
          for (std::int64_t i = 0; i < length; ++i) to[i] += from[i];
        } else {
          for (std::int64_t i = 0; i < length; ++i) to[i * step] += from[i];
        }
      },
      [](std::int64_t, std::int64_t, std::int64_t) {});
}

template void windows_to_columns<float>(const Windows&, std::int64_t, const float*, std::int64_t, std::int64_t, float*);
template void windows_to_columns<double>(const Windows&, std::int64_t, const double*, std::int64_t, std::int64_t,
                                         double*);
template void add_columns_to_windows<float>(const Windows&, std::int64_t, const float*, std::int64_t, std::int64_t,
                                            float*, Accumulator);
template void add_columns_to_windows<double>(const Windows&, std::int64_t, const double*, std::int64_t, std::int64_t,
                                             double*, Accumulator);

}  // namespace msrun
