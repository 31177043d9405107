// unfold (windows to columns, "im2col") and fold, which sums the columns back.
#include "kernels/api/operators.h"
#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/numeric/sliding_windows.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"

namespace msrun {
namespace {

Spatial pair_of(const Bound& args, const char* name, std::int64_t least) {
  const Dims values = args.ints(name);
  if (values.empty() || values.size() > 2) throw SkipError(std::string(name) + " needs one or two values.");
  for (const std::int64_t value : values) {
    if (value < least || value > (std::int64_t{1} << 31)) {
      throw SkipError(std::string(name) + " of " + std::to_string(value) + " is out of range.");
    }
  }
  return {1, values.front(), values.back()};
}

Windows windows_of(const Bound& args, const Spatial& input) {
  Windows windows;
  windows.input = input;
  windows.kernel = pair_of(args, "kernel_size", 1);
  windows.stride = pair_of(args, "stride", 1);
  windows.dilation = pair_of(args, "dilation", 1);
  windows.padding = pair_of(args, "padding", 0);
  windows.padding[0] = 0;
  for (std::size_t axis = 1; axis < 3; ++axis) {
    const std::int64_t room =
        input[axis] + 2 * windows.padding[axis] - windows.dilation[axis] * (windows.kernel[axis] - 1) - 1;
    if (room < 0) throw SkipError("The windows of fold or unfold do not fit the padded input.");
    windows.output[axis] = room / windows.stride[axis] + 1;
  }
  element_count(windows.output);  // throws if the windows are more than can be counted
  return windows;
}

// images [batch, channels, h, w] <-> columns [batch, channels * kernel, positions], both row-major in float or double.
template <class T>
void unfold_images(const Windows& windows, std::int64_t batch, std::int64_t channels, const T* images, T* columns) {
  const std::int64_t positions = windows.output_size();
  for (std::int64_t n = 0; n < batch; ++n) {
    windows_to_columns(windows, channels, images + n * channels * windows.input_size(), 0, positions,
                       columns + n * channels * windows.kernel_size() * positions);
  }
}

template <class T>
void fold_images(const Windows& windows, std::int64_t batch, std::int64_t channels, const T* columns, T* images,
                 Accumulator accumulator) {
  const std::int64_t positions = windows.output_size();
  for (std::int64_t n = 0; n < batch; ++n) {
    add_columns_to_windows(windows, channels, columns + n * channels * windows.kernel_size() * positions, 0, positions,
                           images + n * channels * windows.input_size(), accumulator);
  }
}

Var with_batch_axis(const Var& x) {
  Dims shape = x.shape();
  shape.insert(shape.begin(), 1);
  return reshape(x, shape);
}

Var without_batch_axis(const Var& x) { return reshape(x, Dims(x.shape().begin() + 1, x.shape().end())); }

DType fold_dtype(DType dtype) {
  return dtype == DType::float64 || !is_floating(dtype) ? DType::float64 : DType::float32;
}

Tensor unfolded(const Windows& windows, const Tensor& images, const Dims& shape) {
  const DType compute = fold_dtype(images.dtype());
  const Tensor source = images.to(compute).contiguous();
  Tensor columns(compute, shape);
  if (compute == DType::float64) {
    unfold_images(windows, images.size(0), images.size(1), source.data<double>(), columns.mutable_data<double>());
  } else {
    unfold_images(windows, images.size(0), images.size(1), source.data<float>(), columns.mutable_data<float>());
  }
  return columns.to(images.dtype());
}

Tensor folded(const Windows& windows, const Tensor& columns, const Dims& shape, const Arithmetic& arithmetic) {
  const DType compute = fold_dtype(columns.dtype());
  const Tensor source = columns.to(compute).contiguous();
  Tensor images = Tensor::zeros(compute, shape);
  if (compute == DType::float64) {
    fold_images(windows, shape[0], shape[1], source.data<double>(), images.mutable_data<double>(), Accumulator::wide);
  } else {
    fold_images(windows, shape[0], shape[1], source.data<float>(), images.mutable_data<float>(),
                arithmetic.summation.accumulator);
  }
  return images.to(columns.dtype());
}

OP("unfold_im2col(Tensor input, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] stride=1)",
   [](const Bound& args) -> Value {
     const Var input = args.var("input");
     if (input.rank() != 3 && input.rank() != 4) throw SkipError("unfold needs an input of 3 or 4 dimensions.");
     const Var x = input.rank() == 4 ? input : with_batch_axis(input);
     const Windows windows = windows_of(args, {1, x.size(2), x.size(3)});
     const Dims shape{x.size(0), element_count(Dims{x.size(1), windows.kernel_size()}), windows.output_size()};
     const Arithmetic arithmetic = x.arithmetic();
     const Var columns = x.tape().record(unfolded(windows, x.tensor(), shape),
                                         {{x, [windows, arithmetic, from = x.shape()](const Tensor& g) {
                                             return folded(windows, g, from, arithmetic);
                                           }}});
     return input.rank() == 4 ? columns : without_batch_axis(columns);
   });
NAMES("unfold_im2col", "Functional: unfold; Aten: im2col; Mint: unfold; MintFunctional: unfold");
TRY_FIRST("unfold_im2col", Trial::of_sizes);

OP("fold(Tensor input, int[] output_size, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] stride=1)",
   [](const Bound& args) -> Value {
     const Var input = args.var("input");
     if (input.rank() != 2 && input.rank() != 3) throw SkipError("fold needs an input of 2 or 3 dimensions.");
     const Var x = input.rank() == 3 ? input : with_batch_axis(input);
     const Windows windows = windows_of(args, pair_of(args, "output_size", 1));
     const std::int64_t channels = x.size(1) / windows.kernel_size();
     if (channels * windows.kernel_size() != x.size(1) || windows.output_size() != x.size(2)) {
       throw SkipError("fold: an input of shape " + tuple_text(input.shape()) + " does not hold " +
                       std::to_string(windows.output_size()) + " windows of " + std::to_string(windows.kernel_size()) +
                       " elements.");
     }
     const Dims shape{x.size(0), channels, windows.input[1], windows.input[2]};
     const Var images =
         x.tape().record(folded(windows, x.tensor(), shape, x.arithmetic()),
                         {{x, [windows, from = x.shape()](const Tensor& g) { return unfolded(windows, g, from); }}});
     return input.rank() == 3 ? images : without_batch_axis(images);
   });
NAMES("fold", "Functional: fold; Aten: col2im; Mint: fold; MintFunctional: fold");
TRY_FIRST("fold", Trial::of_sizes);

}  // namespace
}  // namespace msrun
