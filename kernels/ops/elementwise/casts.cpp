// Conversions of value to another dtype.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/ops/common/functions.h"
#include "kernels/ops/common/operator_forms.h"

namespace msrun {
namespace {

template <DType dtype>
Value cast_operator(const Bound& args) {
  return cast(args.var("input"), dtype);
}

// to(dtype), to(device), to(device, dtype), to(other): the first dtype or tensor among the arguments decides.
Value to_operator(const Bound& args) {
  const Var input = args.var("input");
  for (const char* name : {"target", "second", "dtype", "other"}) {
    const Value& value = args.value(name);
    if (const DType* dtype = value.get<DType>()) return cast(input, *dtype);
    if (const Var* var = value.get<Var>()) return cast(input, var->dtype());
  }
  return input;
}

struct TensorType {
  std::string_view name;
  DType dtype;
};

constexpr auto tensor_types = std::to_array<TensorType>({{"FloatTensor", DType::float32},
                                                         {"DoubleTensor", DType::float64},
                                                         {"HalfTensor", DType::float16},
                                                         {"BFloat16Tensor", DType::bfloat16},
                                                         {"ByteTensor", DType::uint8},
                                                         {"CharTensor", DType::int8},
                                                         {"ShortTensor", DType::int16},
                                                         {"IntTensor", DType::int32},
                                                         {"LongTensor", DType::int64},
                                                         {"BoolTensor", DType::boolean},
                                                         {"ComplexFloatTensor", DType::complex64},
                                                         {"ComplexDoubleTensor", DType::complex128}});

// "torch.HalfTensor", on whatever device: "torch.cuda.HalfTensor". Otherwise a dtype's own name.
std::optional<DType> dtype_of_text(std::string_view text) {
  const std::string_view last = text.substr(text.rfind('.') + 1);
  const auto found = std::ranges::find(tensor_types, last, &TensorType::name);
  if (found != tensor_types.end() && text.starts_with("torch.")) return found->dtype;
  return parse_dtype(text);
}

Value optional_cast(const Bound& args) {
  const std::optional<DType> dtype = args.optional_dtype("dtype");
  const Var input = args.var("input");
  return dtype ? cast(input, *dtype) : input;
}

// A dtype, or its name as torch.Tensor.type takes it; without one, the name of the one that the tensor was recorded in.
Value type_operator(const Bound& args) {
  const Var input = args.var("input");
  const Value& value = args.value("dtype");
  if (value.is_none()) {
    const auto own = std::ranges::find(tensor_types, input.context().recorded_dtype(input.dtype()), &TensorType::dtype);
    return own == tensor_types.end() ? Value() : Value("torch." + std::string(own->name));
  }
  if (const DType* dtype = value.get<DType>()) return cast(input, *dtype);
  const std::string& text = args.text("dtype");
  const std::optional<DType> dtype = dtype_of_text(text);
  if (!dtype) throw SkipError("Tensor.type: there is no dtype '" + bounded(readable(text)) + "'.");
  return cast(input, *dtype);
}

}  // namespace

Var cast(const Var& x, DType dtype) {
  if (x.dtype() == dtype && !x.is_number()) return x;
  return x.tape().record(x.tensor().to(dtype), {{x, [from = x.dtype()](const Tensor& g) { return g.to(from); }}});
}

Var computed_in(const Var& x, DType dtype) {
  if (!x.context().in_benchmark() || !is_floating(dtype) || is_complex(x.dtype())) return cast(x, dtype);
  const DType raised = is_half(dtype) || is_float8(dtype) ? DType::float32 : DType::float64;
  const DType recorded = x.context().recorded_dtype(x.dtype());
  const bool holds_all = !is_floating(recorded) || promote(recorded, dtype) == dtype;
  const Var values = cast(x, is_floating(x.dtype()) ? promote(x.dtype(), raised) : raised);
  if (holds_all) return values;
  return x.tape().record(values.tensor().to(dtype).to(values.dtype()), {{values, [](const Tensor& g) { return g; }}});
}

OP("float(Tensor input)", cast_operator<DType::float32>);
NAMES("float", "Tensor: float");
TRAITS("float", .complex = true, .recorded_gradients = RecordedGradients::of_passed_input);
OP("double(Tensor input)", cast_operator<DType::float64>);
NAMES("double", "Tensor: double");
TRAITS("double", .complex = true, .recorded_gradients = RecordedGradients::of_passed_input);
OP("half(Tensor input)", cast_operator<DType::float16>);
NAMES("half", "Tensor: half");
TRAITS("half", .complex = true, .recorded_gradients = RecordedGradients::of_passed_input);
OP("bfloat16(Tensor input)", cast_operator<DType::bfloat16>);
NAMES("bfloat16", "Tensor: bfloat16");
TRAITS("bfloat16", .complex = true, .recorded_gradients = RecordedGradients::of_passed_input);
OP("long(Tensor input)", cast_operator<DType::int64>);
NAMES("long", "Tensor: long");
TRAITS("long", .complex = true);
OP("int(Tensor input)", cast_operator<DType::int32>);
NAMES("int", "Tensor: int");
TRAITS("int", .complex = true);
OP("short(Tensor input)", cast_operator<DType::int16>);
NAMES("short", "Tensor: short");
TRAITS("short", .complex = true);
OP("char(Tensor input)", cast_operator<DType::int8>);
NAMES("char", "Tensor: char");
TRAITS("char", .complex = true);
OP("byte(Tensor input)", cast_operator<DType::uint8>);
NAMES("byte", "Tensor: byte");
TRAITS("byte", .complex = true);
OP("bool(Tensor input)", cast_operator<DType::boolean>);
NAMES("bool", "Tensor: bool");
TRAITS("bool", .complex = true);
OP("cfloat(Tensor input)", cast_operator<DType::complex64>);
NAMES("cfloat", "Tensor: cfloat");
TRAITS("cfloat", .complex = true);
OP("cdouble(Tensor input)", cast_operator<DType::complex128>);
NAMES("cdouble", "Tensor: cdouble");
TRAITS("cdouble", .complex = true);

OP("type(Tensor input, any dtype=None, bool non_blocking=False)", type_operator);
NAMES("type", "Tensor: type");
TRAITS("type", .complex = true, .recorded_gradients = RecordedGradients::of_passed_input);

OP("type_as(Tensor input, Tensor other)",
   [](const Bound& args) -> Value { return cast(args.var("input"), args.var("other").dtype()); });
NAMES("type_as", "Tensor: type_as");
TRAITS("type_as", .complex = true, .keeps_dtypes = true, .recorded_gradients = RecordedGradients::of_passed_input);

OP("to(Tensor input, any target=None, any second=None, any third=None, any fourth=None, *, any dtype=None, any "
   "other=None, "
   "any copy=None)",
   to_operator);
NAMES("to", "Tensor: to; Aten: to");
TRAITS("to", .complex = true, .recorded_gradients = RecordedGradients::of_passed_input);

OP("to_copy(Tensor input, *, dtype? dtype=None, bool non_blocking=False)", optional_cast);
NAMES("to_copy", "Aten: _to_copy");
TRAITS("to_copy", .complex = true);

OP("npu_dtype_cast(Tensor input, dtype dtype, dtype? input_dtype=None)", optional_cast);
NAMES("npu_dtype_cast", "NPU: npu_dtype_cast");
TRAITS("npu_dtype_cast", .complex = true);

// What a dump records is no quantised tensor: to float32 is all that is left to do.
OP("dequantize(Tensor input)", [](const Bound& args) -> Value { return cast(args.var("input"), DType::float32); });
NAMES("dequantize", "Tensor: dequantize; Torch: dequantize; Aten: dequantize");

// By name: outputs have no dtypes.
OP("promote_types(dtype type1, dtype type2)", [](const Bound& args) -> Value {
  return std::string(torch_name(promote(*args.optional_dtype("type1"), *args.optional_dtype("type2"))));
});
NAMES("promote_types", "Torch: promote_types");

}  // namespace msrun
