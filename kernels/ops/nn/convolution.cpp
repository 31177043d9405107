// Convolution operators and their gradients. A transposed convolution is the gradient of a convolution with respect to
// its input (api_inventory.md section 3, conv).
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernels/api/operators.h"
#include "kernels/api/product_axes.h"
#include "kernels/base/error.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/numeric/direct_convolution.h"
#include "kernels/numeric/matrix_product.h"
#include "kernels/numeric/stored_columns.h"
#include "kernels/ops/common/elementwise.h"
#include "kernels/ops/common/functions.h"

namespace msrun {
namespace {

enum class Part { forward, transposed, weight };

// Whether the libraries of accelerators refuse a convolution, which the framework then composes of products that it
// stores (kernels/numeric/stored_columns.h).
enum class Kernels : bool { of_library, composed };

Tensor form_product(Part part, const Convolution& c, Kernels kernels, const Tensor& first, const Tensor& second,
                    const Dims& shape, const EvaluationContext& context, const Tensor& start = {}) {
  if (context.stores_products() && first.dtype() == DType::float32) {
    const Tensor a = first.to(DType::float64).contiguous();
    const Tensor b = second.to(DType::float64).contiguous();
    if (kernels == Kernels::composed && part != Part::forward) {
      refuse_padding(c);
      context.note_added_products();
      return (part == Part::transposed ? convolve_for_input_by_columns(c, a, b, shape)
                                       : convolve_for_weight_by_samples(context, c, a, b, shape))
          .to(DType::float32);
    }
    return form_product(part, c, kernels, a, b, shape, context).to(DType::float32);
  }
  refuse_padding(c);
  const Tensor a = first.contiguous();
  const Tensor b = second.contiguous();
  Tensor result(first.dtype(), shape);
  const auto call = [&]<class T>(T) {
    switch (part) {
      case Part::forward:
        convolve(c, a.data<T>(), b.data<T>(), result.mutable_data<T>(), context,
                 start.defined() ? start.data<T>() : nullptr);
        break;
      case Part::transposed:
        convolve_for_input(c, a.data<T>(), b.data<T>(), result.mutable_data<T>(), context);
        break;
      case Part::weight:
        convolve_for_weight(c, a.data<T>(), b.data<T>(), result.mutable_data<T>(), context);
        break;
    }
  };
  if (first.dtype() == DType::float64) {
    call(double{});
  } else {
    call(float{});
  }
  return result;
}

// Whether some window reaches beyond the tensor that it reads: the input, or the gradient of the output.
bool reads_padding(Part part, const Convolution& c) {
  const Windows& windows = c.windows;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const std::int64_t reach = windows.dilation[axis] * (windows.kernel[axis] - 1);
    const std::int64_t last = (windows.output[axis] - 1) * windows.stride[axis] + reach - windows.padding[axis];
    const bool beyond = windows.padding[axis] > 0 || last >= windows.input[axis];
    if (part == Part::transposed ? reach > 0 : beyond) return true;
  }
  return false;
}

bool all_finite(const Tensor& tensor) {
  const auto look = [&]<class T>(T) {
    const T* data = tensor.data<T>();
    return std::all_of(data, data + tensor.numel(), [](T x) { return std::isfinite(x); });
  };
  return tensor.dtype() == DType::float64 ? look(double{}) : look(float{});
}

// What a factor does to a product that is not finite, element by element: numbers that are 0 for most.
struct FactorMarks {
  Tensor infinite;     // the sign of an infinite one
  Tensor sign;         // of one that is a number, 0 for 0
  Tensor finite_sign;  // of a finite one
  Tensor zero;         // 1 for 0
  Tensor none;         // 1 for what is no number
  Tensor one;          // 1

  explicit FactorMarks(const Tensor& factor) {
    const auto marked = [&](auto f) {
      return map(factor.dtype(), factor, [f](auto x) { return static_cast<decltype(x)>(f(x)); });
    };
    const auto sign_of = [](auto x) { return (x > 0) - (x < 0); };
    infinite = marked([sign_of](auto x) { return std::isinf(x) ? sign_of(x) : 0; });
    sign = marked(sign_of);
    finite_sign = marked([sign_of](auto x) { return std::isfinite(x) ? sign_of(x) : 0; });
    zero = marked([](auto x) { return x == 0 ? 1 : 0; });
    none = marked([](auto x) { return std::isnan(x) ? 1 : 0; });
    one = Tensor::full(factor.dtype(), factor.shape(), 1);
  }
};

Tensor magnitudes(const Tensor& tensor) {
  return map(tensor.dtype(), tensor, [](auto x) { return std::abs(x); });
}

// The product without those of padding, of which `with` has some: 0 times what is not finite is no number. Where the
// other products have such factors, they alone decide what it is: an infinity if all of these are the same one.
Tensor without_padding(Part part, const Convolution& c, Kernels kernels, const Tensor& first, const Tensor& second,
                       const Tensor& with, const EvaluationContext& context) {
  const DType dtype = first.dtype();
  const auto form = [&](const Tensor& a, const Tensor& b, const EvaluationContext& how) {
    return form_product(part, c, kernels, a, b, with.shape(), how);
  };
  const EvaluationContext sound = context.with_sound_arithmetic();
  const auto sum = [&](const std::vector<std::pair<Tensor, Tensor>>& factors) {
    Tensor total = Tensor::zeros(dtype, with.shape());
    for (const auto& [a, b] : factors)
      total = map(dtype, total, form(a, b, sound), [](auto so_far, auto more) { return so_far + more; });
    return total;
  };
  const FactorMarks a(first);
  const FactorMarks b(second);
  const Tensor signs = sum({{a.infinite, b.sign}, {a.finite_sign, b.infinite}});
  const Tensor infinities =
      sum({{magnitudes(a.infinite), magnitudes(b.sign)}, {magnitudes(a.finite_sign), magnitudes(b.infinite)}});
  const Tensor lost =
      sum({{a.none, b.one}, {a.one, b.none}, {magnitudes(a.infinite), b.zero}, {a.zero, magnitudes(b.infinite)}});
  const auto finite = [&](const Tensor& factor) {
    return map(dtype, factor, [](auto x) { return std::isfinite(x) ? x : decltype(x){0}; });
  };
  const Tensor found = map(dtype, signs, infinities, lost, [](auto sign, auto count, auto none) {
    using T = decltype(sign);
    if (none != 0 || std::abs(sign) != count) return std::numeric_limits<T>::quiet_NaN();
    return count == 0 ? T{0} : std::copysign(std::numeric_limits<T>::infinity(), sign);
  });
  return map(dtype, form(finite(first), finite(second), context), found,
             [](auto rest, auto other) { return other == 0 ? rest : other; });
}

// Whether a kernel multiplies padding or leaves it out is its own choice, and whether it fills up the last vector of
// channels with zeros, which give NaN beside an infinite factor.
Tensor run(Part part, const Convolution& c, Kernels kernels, const Tensor& first, const Tensor& second,
           const Dims& shape, const EvaluationContext& context, const Tensor& start = {}) {
  const Tensor all = form_product(part, c, kernels, first, second, shape, context, start);
  if (all_finite(all) || !context.gives_alternative()) return all;
  const Tensor other = reads_padding(part, c) ? without_padding(part, c, kernels, first, second, all, context) : all;
  return map(all.dtype(), all, other,
             [](auto x, auto y) { return std::isinf(x) ? std::numeric_limits<decltype(x)>::quiet_NaN() : y; });
}

// Integers are convolved in float64.
DType convolution_dtype(DType dtype) {
  const DType compute = product_dtype(dtype);
  return compute == DType::int64 ? DType::float64 : compute;
}

Tensor operand(const Tensor& tensor, DType compute, const Arithmetic& arithmetic) {
  return is_floating(tensor.dtype()) ? as_operand(tensor, compute, arithmetic.operands.convolutions)
                                     : tensor.to(compute);
}

// Kernels that round sums to a half type after every addition add their products to the bias, but those of a transposed
// convolution.
bool begins_with_bias(const EvaluationContext& context, DType compute, bool transposed) {
  return rounds_to_half(context.arithmetic.summation.accumulator) && compute == DType::float32 && !transposed &&
         !context.stores_products();
}

// y = f(x, w) + bias with the gradients of both parts; c describes the convolution in which x is the input, or the
// output if transposed. shape is that of y.
Var record(const Convolution& c, bool transposed, Kernels kernels, const Var& x, const Var& w,
           const std::optional<Var>& bias, const Dims& shape) {
  const DType dtype = bias ? result_dtype({&x, &w, &*bias}) : result_dtype({&x, &w});
  const DType compute = convolution_dtype(dtype);
  const EvaluationContext& context = x.context();
  const Arithmetic& arithmetic = context.arithmetic;
  const bool begins = bias && begins_with_bias(context, compute, transposed);
  const Tensor start = begins ? bias->tensor().to(compute).contiguous() : Tensor();
  Tensor result =
      run(transposed ? Part::transposed : Part::forward, c, kernels, operand(x.tensor(), compute, arithmetic),
          operand(w.tensor(), compute, arithmetic), shape, context, start);
  Dims sums;  // axes over which a bias is shared
  if (bias) {
    Dims along(shape.size(), 1);
    along[1] = shape[1];
    if (!begins) {
      result = map_as(compute_of(compute), dtype, result, bias->tensor().reshape(along),
                      [](auto y, auto b) { return y + b; });
    }
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      if (axis != 1) sums.push_back(static_cast<std::int64_t>(axis));
    }
  }
  std::vector<Var> inputs{x, w};
  if (bias) inputs.push_back(*bias);
  return x.tape().record(result.to(dtype), inputs, [=, &context = x.context()](const Tensor& g) {
    const Tensor gradient = operand(g, compute, arithmetic);
    std::vector<Tensor> gradients(inputs.size());
    if (inputs[0].requires_grad()) {
      gradients[0] = run(transposed ? Part::forward : Part::transposed, c, kernels, gradient,
                         operand(inputs[1].tensor(), compute, arithmetic), inputs[0].shape(), context);
    }
    if (inputs[1].requires_grad()) {
      const Tensor input = operand(inputs[0].tensor(), compute, arithmetic);
      gradients[1] = run(Part::weight, c, kernels, transposed ? gradient : input, transposed ? input : gradient,
                         inputs[1].shape(), context);
    }
    if (inputs.size() > 2 && inputs[2].requires_grad()) gradients[2] = sum(g.to(compute), sums, false, context);
    return gradients;
  });
}

// n values from one or n.
Dims per_axis(const Dims& values, std::size_t axes, const char* name, std::int64_t least) {
  Dims result = values;
  if (result.size() == 1) result.resize(axes, values[0]);
  if (result.size() != axes) throw SkipError(std::string(name) + " needs one value or one per spatial dimension.");
  for (const std::int64_t value : result) {
    if (value < least || value > (std::int64_t{1} << 31)) {
      throw SkipError(std::string(name) + " of " + std::to_string(value) + " is out of range.");
    }
  }
  return result;
}

struct ConvolutionOptions {
  Dims stride{1};
  Dims padding{0};
  std::string padding_mode;  // "same" or "valid" in place of padding
  Dims dilation{1};
  Dims output_padding{0};
  std::int64_t groups = 1;
  bool transposed = false;
};

[[noreturn]] void refuse(const Var& x, const Var& w, const ConvolutionOptions& options) {
  throw SkipError("A convolution of input " + tuple_text(x.shape()) + " with weight " + tuple_text(w.shape()) +
                  " and " + std::to_string(options.groups) + " groups is not possible.");
}

Var add_batch_axis(const Var& x) {
  Dims shape = x.shape();
  shape.insert(shape.begin(), 1);
  return reshape(x, shape);
}

// axes spatial dimensions; x may lack the batch axis.
Var convolution(const Var& input, const Var& weight, const std::optional<Var>& bias, std::size_t axes,
                const ConvolutionOptions& options) {
  if (axes < 1 || axes > 3 || weight.rank() != static_cast<std::int64_t>(axes) + 2) refuse(input, weight, options);
  const bool batched = input.rank() == weight.rank();
  if (!batched && input.rank() + 1 != weight.rank()) refuse(input, weight, options);
  const Var x = batched ? input : add_batch_axis(input);
  const std::int64_t groups = options.groups;
  const std::int64_t channels = x.size(1);
  if (groups < 1 || channels % groups != 0 || weight.size(0) % groups != 0) refuse(input, weight, options);
  const bool fits = options.transposed ? weight.size(0) == channels : weight.size(1) == channels / groups;
  if (!fits) refuse(input, weight, options);
  const std::int64_t channels_out = options.transposed ? weight.size(1) * groups : weight.size(0);
  if (bias && bias->shape() != Dims{channels_out}) {
    throw SkipError("A bias of shape " + tuple_text(bias->shape()) + " does not fit " + std::to_string(channels_out) +
                    " output channels.");
  }
  const Dims stride = per_axis(options.stride, axes, "stride", 1);
  const Dims dilation = per_axis(options.dilation, axes, "dilation", 1);
  const Dims extra = per_axis(options.output_padding, axes, "output_padding", 0);
  const Dims padding = per_axis(options.padding_mode.empty() ? options.padding : Dims{0}, axes, "padding", 0);
  const bool same = options.padding_mode == "same";
  if (!options.padding_mode.empty() && !same && options.padding_mode != "valid") {
    throw SkipError("Invalid padding string '" + options.padding_mode + "', should be one of 'valid', 'same'.");
  }
  Convolution c;
  c.batch = x.size(0);
  c.channels_in = options.transposed ? channels_out : channels;
  c.channels_out = options.transposed ? channels : channels_out;
  c.groups = groups;
  // cuDNN takes no output padding that reaches the stride (torch's use_cudnn, Convolution.cpp).
  Kernels kernels = Kernels::of_library;
  Dims shape{x.size(0), channels_out};
  for (std::size_t i = 0; i < axes; ++i) {
    const std::size_t at = 3 - axes + i;
    const std::int64_t size = x.shape()[i + 2];
    const std::int64_t reach = dilation[i] * (weight.shape()[i + 2] - 1);  // of the kernel beyond its first element
    std::int64_t total_padding = 2 * padding[i];
    c.windows.padding[at] = padding[i];
    if (same) {
      if (stride[i] != 1) throw SkipError("padding='same' is not supported for strided convolutions.");
      total_padding = reach;
      c.windows.padding[at] = reach / 2;
    }
    c.windows.kernel[at] = weight.shape()[i + 2];
    c.windows.stride[at] = stride[i];
    c.windows.dilation[at] = dilation[i];
    std::int64_t out = 0;
    if (options.transposed) {
      if (extra[i] >= stride[i] && extra[i] >= dilation[i]) {
        throw SkipError("output padding must be smaller than either stride or dilation.");
      }
      if (extra[i] >= stride[i]) kernels = Kernels::composed;
      out = (size - 1) * stride[i] - total_padding + reach + extra[i] + 1;
      c.windows.input[at] = out;
      c.windows.output[at] = size;
    } else {
      out = size + total_padding < reach + 1 ? 0 : (size + total_padding - reach - 1) / stride[i] + 1;
      c.windows.input[at] = size;
      c.windows.output[at] = out;
    }
    if (out < 1 || weight.shape()[i + 2] < 1 || size < 1) {
      throw SkipError("The kernel " + tuple_text(weight.shape()) + " does not fit the padded input " +
                      tuple_text(x.shape()) + ".");
    }
    shape.push_back(out);
  }
  const Var result = record(c, options.transposed, kernels, x, weight, bias, shape);
  return batched ? result : reshape(result, Dims(shape.begin() + 1, shape.end()));
}

Value convolve(const Bound& args, std::size_t axes) {
  ConvolutionOptions options;
  options.stride = args.ints("stride");
  if (args.value("padding").is<std::string>()) {
    options.padding_mode = args.text("padding");
  } else {
    options.padding = args.ints("padding");
  }
  options.dilation = args.ints("dilation");
  options.groups = args.integer("groups");
  return convolution(args.var("input"), args.var("weight"), args.optional_var("bias"), axes, options);
}

Value convolve_transposed(const Bound& args, std::size_t axes) {
  ConvolutionOptions options;
  options.transposed = true;
  options.stride = args.ints("stride");
  options.padding = args.ints("padding");
  options.dilation = args.ints("dilation");
  options.output_padding = args.ints("output_padding");
  options.groups = args.integer("groups");
  return convolution(args.var("input"), args.var("weight"), args.optional_var("bias"), axes, options);
}

// Elements of the input, which is met by every weight of its channel: axis counts from the end of the input's shape.
double work_of_channels(const List& args, std::size_t axis) {
  const TensorSpec* input = recorded_tensor(args, 0);
  const TensorSpec* weight = recorded_tensor(args, 1);
  if (input == nullptr || weight == nullptr || axis == 0 || input->shape.size() < axis) return 0;
  const std::int64_t channels = input->shape[input->shape.size() - axis];
  return recorded_elements(*input) * recorded_elements(*weight) /
         static_cast<double>(std::max<std::int64_t>(channels, 1));
}

std::size_t channel_axis(const List& args) {
  const TensorSpec* weight = recorded_tensor(args, 1);
  return weight == nullptr || weight->shape.size() < 2 ? 0 : weight->shape.size() - 1;
}

double transposed_convolution_work(const List& args) { return work_of_channels(args, channel_axis(args)); }

// With strides only some of the places of the input are where a window begins.
double convolution_work(const List& args) {
  double windows = 1;
  const auto skip = [&](const Value& stride) {
    if (const auto* step = stride.get<std::int64_t>()) windows *= static_cast<double>(std::max<std::int64_t>(*step, 1));
  };
  const std::size_t channels = channel_axis(args);
  if (const List* strides = args.size() > 3 ? args[3].get<List>() : nullptr) {
    for (const Value& stride : *strides) skip(stride);
  } else if (args.size() > 3) {
    for (std::size_t axis = 1; axis < channels; ++axis) skip(args[3]);
  }
  return work_of_channels(args, channels) / windows;
}

// The channels, which are the indices of a convolution's products (kernels/api/product_axes.h); in groups no channel of
// the result is one of all inputs.
std::vector<ProductAxis> axes_of_convolution(const GivenArguments& given, bool transposed) {
  const Tensor* input = given.tensor("input");
  const Tensor* weight = given.tensor("weight");
  const Tensor* bias = given.tensor("bias");
  if (input == nullptr || weight == nullptr || weight->rank() < 3 || given.integer("groups").value_or(1) != 1)
    return {};
  const std::int64_t channels = 1 - weight->rank();
  if (input->rank() < -channels) return {};
  const std::int64_t out = transposed ? 1 : 0;
  ProductAxis of_result{{{"weight", out}}, channels};
  if (bias != nullptr) of_result.arguments.push_back({"bias", 0});
  return {of_result, {{{"input", channels}, {"weight", 1 - out}}}};
}

std::vector<ProductAxis> axes_of_forward_convolution(const GivenArguments& given) {
  return axes_of_convolution(given, false);
}

std::vector<ProductAxis> axes_of_transposed_convolution(const GivenArguments& given) {
  return axes_of_convolution(given, true);
}

OP("conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, any padding=0, int[] dilation=1, int "
   "groups=1)",
   [](const Bound& args) { return convolve(args, 1); });
NAMES("conv1d", "Functional: conv1d; Torch: conv1d");
TRAITS("conv1d", .autocast = AutocastPolicy::lower, .varies = Varies::gradients,
       .operand_setting = OperandSetting::convolutions, .hf32_as = "conv1d", .rounds_once = true,
       .multiply_adds = convolution_work);
PRODUCT_AXES("conv1d", axes_of_forward_convolution);
OP("conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, any padding=0, int[] dilation=1, int "
   "groups=1)",
   [](const Bound& args) { return convolve(args, 2); });
NAMES("conv2d", "Functional: conv2d; Torch: conv2d; NPU: npu_conv2d; Mint: conv2d");
TRAITS("conv2d", .autocast = AutocastPolicy::lower, .varies = Varies::gradients,
       .operand_setting = OperandSetting::convolutions, .hf32_as = "conv2d", .rounds_once = true,
       .multiply_adds = convolution_work);
PRODUCT_AXES("conv2d", axes_of_forward_convolution);
OP("conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, any padding=0, int[] dilation=1, int "
   "groups=1)",
   [](const Bound& args) { return convolve(args, 3); });
NAMES("conv3d", "Functional: conv3d; Torch: conv3d; NPU: npu_conv3d");
TRAITS("conv3d", .autocast = AutocastPolicy::lower, .varies = Varies::gradients,
       .operand_setting = OperandSetting::convolutions, .rounds_once = true, .multiply_adds = convolution_work);
PRODUCT_AXES("conv3d", axes_of_forward_convolution);

// A transposed convolution is computed as the gradient of a convolution, which cuDNN adds up in any order.
OP("conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, "
   "int[] output_padding=0, int groups=1, int[] dilation=1)",
   [](const Bound& args) { return convolve_transposed(args, 1); });
NAMES("conv_transpose1d", "Functional: conv_transpose1d; Torch: conv_transpose1d");
TRAITS("conv_transpose1d", .autocast = AutocastPolicy::lower, .varies = Varies::results,
       .operand_setting = OperandSetting::convolutions, .rounds_once = true,
       .multiply_adds = transposed_convolution_work);
PRODUCT_AXES("conv_transpose1d", axes_of_transposed_convolution);
OP("conv_transpose2d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, "
   "int[] output_padding=0, int groups=1, int[] dilation=1)",
   [](const Bound& args) { return convolve_transposed(args, 2); });
NAMES(
    "conv_transpose2d",
    "Functional: conv_transpose2d; Torch: conv_transpose2d; Mint: conv_transpose2d; MintFunctional: conv_transpose2d");
TRAITS("conv_transpose2d", .autocast = AutocastPolicy::lower, .varies = Varies::results,
       .operand_setting = OperandSetting::convolutions, .rounds_once = true,
       .multiply_adds = transposed_convolution_work);
PRODUCT_AXES("conv_transpose2d", axes_of_transposed_convolution);
OP("conv_transpose3d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, "
   "int[] output_padding=0, int groups=1, int[] dilation=1)",
   [](const Bound& args) { return convolve_transposed(args, 3); });
NAMES("conv_transpose3d", "Functional: conv_transpose3d; Torch: conv_transpose3d");
TRAITS("conv_transpose3d", .autocast = AutocastPolicy::lower, .varies = Varies::results,
       .operand_setting = OperandSetting::convolutions, .rounds_once = true,
       .multiply_adds = transposed_convolution_work);
PRODUCT_AXES("conv_transpose3d", axes_of_transposed_convolution);
OP("npu_conv_transpose2d(Tensor input, Tensor weight, Tensor? bias, int[] padding, int[] output_padding, int[] stride, "
   "int[] dilation, int groups)",
   [](const Bound& args) { return convolve_transposed(args, 2); });
NAMES("npu_conv_transpose2d", "NPU: npu_conv_transpose2d");
TRAITS("npu_conv_transpose2d", .varies = Varies::results, .operand_setting = OperandSetting::convolutions);
PRODUCT_AXES("npu_conv_transpose2d", axes_of_transposed_convolution);

OP("convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool "
   "transposed, "
   "int[] output_padding, int groups, bool benchmark=False, bool deterministic=False, bool cudnn_enabled=True, "
   "bool allow_tf32=True)",
   [](const Bound& args) -> Value {
     const auto axes = static_cast<std::size_t>(std::max<std::int64_t>(args.var("weight").rank() - 2, 0));
     return args.flag("transposed") ? convolve_transposed(args, axes) : convolve(args, axes);
   });
NAMES("convolution", "Torch: convolution _convolution; Aten: convolution");
TRAITS(
    "convolution", .varies = Varies::results, .operand_setting = OperandSetting::convolutions,
    .multiply_adds = [](const List& args) {
      const bool* transposed = args.size() > 6 ? args[6].get<bool>() : nullptr;
      return transposed != nullptr && *transposed ? transposed_convolution_work(args) : convolution_work(args);
    });
PRODUCT_AXES("convolution",
             [](const GivenArguments& given) { return axes_of_convolution(given, given.flag("transposed")); });

// x [time, batch, in] with w [kernel, in, out].
OP("conv_tbc(Tensor input, Tensor weight, Tensor bias, int pad=0)", [](const Bound& args) -> Value {
  const Var x = args.var("input");
  const Var w = args.var("weight");
  if (x.rank() != 3 || w.rank() != 3) throw SkipError("conv_tbc needs an input and a weight of 3 dimensions.");
  ConvolutionOptions options;
  options.padding = Dims{args.integer("pad")};
  const Var y = convolution(permute(x, Dims{1, 2, 0}), permute(w, Dims{2, 1, 0}), args.var("bias"), 1, options);
  return permute(y, Dims{2, 0, 1});
});
NAMES("conv_tbc", "Functional: conv_tbc; Torch: conv_tbc");
TRAITS(
    "conv_tbc", .autocast = AutocastPolicy::lower,
    .multiply_adds = [](const List& args) { return work_of_channels(args, 1); });

}  // namespace
}  // namespace msrun
