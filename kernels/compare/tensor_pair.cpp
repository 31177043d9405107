// compare_tensors: pre-checks (precision_metrics.md 3), integers (4) and the status walk of floats (7).
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "kernels/base/error.h"
#include "kernels/compare/compare.h"
#include "kernels/compare/metrics/metrics.h"
#include "kernels/compare/metrics/walk_limits.h"

namespace msrun {
namespace {

// "torch.Size([2, 3])"
std::string size_text(const Dims& shape) {
  std::string text = "torch.Size([";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (axis > 0) text += ", ";
    text += std::to_string(shape[axis]);
  }
  return text + "])";
}

// Families of dtypes that are compared with each other (precision_metrics.md 3). Upstream knows only the first three;
// int16, which is in none of them, is compared with itself.
enum Family : unsigned { none = 0, floating = 1, boolean = 2, integer = 4, complex = 8, short_integer = 16 };

unsigned families(DType dtype, bool compat) {
  switch (dtype) {
    case DType::float16:
    case DType::float32:
    case DType::float64:
      return floating;
    case DType::boolean:
    case DType::uint8:
      return boolean;
    case DType::int8:
    case DType::int32:
    case DType::int64:
      return integer;
    case DType::int16:
      return compat ? none : short_integer;
    case DType::complex64:
    case DType::complex128:
      return compat ? none : complex;
    default:
      return none;
  }
}

// The numpy dtype a tensor has when it is compared: numpy has neither bfloat16 nor float8.
DType array_dtype(DType dtype, DType device_dtype, bool compat) {
  if (dtype == DType::bfloat16 || is_float8(dtype)) return DType::float32;
  const bool taken_along = device_dtype == DType::bfloat16 && (compat || is_floating(dtype));
  return taken_along ? DType::float32 : dtype;
}

// Conversions that fail in upstream and make the whole API a SKIP.
void refuse_as_upstream(DType bench, DType device) {
  for (const DType dtype : {bench, device}) {
    if (dtype == DType::float8_e4m3fn) throw SkipError("Got unsupported ScalarType Float8_e4m3fn");
    if (dtype == DType::float8_e5m2) throw SkipError("Got unsupported ScalarType Float8_e5m2");
  }
  if (bench == DType::bfloat16 && device != DType::bfloat16) throw SkipError("Got unsupported ScalarType BFloat16");
}

// Real and imaginary parts side by side.
Tensor real_parts(const Tensor& tensor) {
  const Tensor source = tensor.contiguous();
  Tensor parts(tensor.dtype() == DType::complex64 ? DType::float32 : DType::float64, {2 * tensor.numel()});
  std::memcpy(parts.mutable_data<std::byte>(), source.raw(), source.bytes());
  return parts;
}

void judge_integers(std::string_view api, const Tensor& bench, const Tensor& device, const CompareOptions& options,
                    DetailsRow& row) {
  const bool listed = std::ranges::find(options.quantization_apis, api) != options.quantization_apis.end();
  const bool both_bool = bench.dtype() == DType::boolean && device.dtype() == DType::boolean;
  if (listed && both_bool && options.compat_msprobe) {
    throw SkipError(
        "numpy boolean subtract, the `-` operator, is not supported, use the bitwise_xor, the `^` operator, or the "
        "logical_xor function instead.");
  }
  const bool quantized = listed && !both_bool;
  const IntegerMetrics metrics = integer_metrics(bench, device, quantized && options.compat_msprobe);
  if (quantized) {
    const double difference = metrics.max_abs_difference;
    row[Metric::max_abs_error] = {Cell::Kind::integer, difference};
    row.status = difference <= 1 ? Status::pass : Status::error;
    std::array<char, 128> text;
    std::snprintf(text.data(), text.size(), "Quantization type: Max abs error is %.2f, %s.\n", difference,
                  difference <= 1 ? "less than or equal to 1, consider as pass" : "greater than 1, consider as error");
    row.message = text.data();
    return;
  }
  row[Metric::binary_error_rate] =
      Cell::fp64(static_cast<double>(metrics.unequal) / static_cast<double>(device.numel()));
  row.status = metrics.unequal == 0 ? Status::pass : Status::error;
  row.message = "Current " + std::string(name(bench.dtype())) + " data, only perform binary comparison.";
}

const char* note_text(CosineNote note) {
  switch (note) {
    case CosineNote::scalar:
      return "All the data in device dump data is scalar. Please refer to other compare algorithms.";
    case CosineNote::both_zero:
      return "All the data in device and bench outputs are zero.";
    case CosineNote::device_zero:
      return "All the data is zero in device dump data.";
    case CosineNote::bench_zero:
      return "All the data is zero in bench dump data.";
    case CosineNote::nan:
      return "Dump data has NaN when comparing with Cosine Similarity.";
    case CosineNote::none:
      break;
  }
  return "";
}

// The walk of precision_metrics.md 7: sets status and the cells of the tests it comes to, returns the verdict line.
const char* walk_status(const FloatMetrics& metrics, DType device_dtype, DetailsRow& row) {
  row[Metric::cosine] = metrics.cosine;
  row.status = Status::error;
  if (!metrics.cosine_passes) {
    return "Cosine similarity is less than 0.99, consider as error, skip other check and set to SPACE.\n";
  }
  row[Metric::max_abs_error] = metrics.max_abs_error;
  if (metrics.max_abs_error.value < passing_abs_error) {
    row.status = Status::pass;
    return "Max abs error is less than 0.001, consider as pass, skip other check and set to SPACE.\n";
  }
  const bool passes_1000 = metrics.within_1000 > least_within_1000;
  if (is_half(device_dtype)) {
    row[Metric::dual_100] = Cell::fp64(metrics.within_100);
    if (!(metrics.within_100 > least_within_100)) {
      return "Relative error is greater than 0.01, consider as error, skip other check and set to SPACE.\n";
    }
    row[Metric::dual_1000] = Cell::fp64(metrics.within_1000);
    row.status = passes_1000 ? Status::pass : Status::warning;
    return passes_1000
               ? "Relative error is less than 0.001, consider as pass, skip other check and set to SPACE.\n"
               : "Relative error is greater than 0.001, consider as warning, skip other check and set to SPACE.\n";
  }
  row[Metric::dual_1000] = Cell::fp64(metrics.within_1000);
  row[Metric::dual_10000] = Cell::fp64(metrics.within_10000);
  if (is_float8(device_dtype)) {
    row.status = Status::pass;
    return "";
  }
  if (!passes_1000) {
    return "Relative error is greater than 0.001, consider as error, skip other check and set to SPACE.\n";
  }
  const bool passes_10000 = metrics.within_10000 > least_within_10000;
  row.status = passes_10000 ? Status::pass : Status::warning;
  return passes_10000
             ? "Relative error is less than 0.0001, consider as pass.\n"
             : "Relative error is greater than 0.0001, consider as warning, skip other check and set to SPACE.\n";
}

void judge_floats(const Tensor& bench, const Tensor& device, Standard standard, const CompareOptions& options,
                  DetailsRow& row) {
  const FloatMetrics metrics = float_metrics(bench, device, standard, options.compat_msprobe, options.limits);
  for (const Column& column : row.columns->columns()) row[column.metric] = metrics[column.metric];
  if (device.dtype() == DType::float64) {
    row.message = "The data type " + row.device_dtype + " is not supported for new precision standard.";
  }
  row.message += note_text(metrics.cosine_note);
  row.message += '\n';
  row.message += walk_status(metrics, device.dtype(), row);
  if (metrics.nonfinite_equal > 0) {
    row.message += "NaN or Inf at " + std::to_string(metrics.nonfinite_equal) +
                   " positions is the same on both sides and counts as equal.\n";
  }
  // Such elements never count as inaccurate in the ratios, so that a few of them among many would pass.
  if (metrics.nonfinite_unequal > 0) {
    row.status = Status::error;
    row.message += "NaN or Inf at " + std::to_string(metrics.nonfinite_unequal) +
                   " positions is on one side only, consider as error.\n";
  }
}

}  // namespace

DetailsRow compare_tensors(std::string_view api, const Tensor& bench, const Tensor& device, Standard standard,
                           const CompareOptions& options) {
  const bool compat = options.compat_msprobe;
  if (compat) refuse_as_upstream(bench.dtype(), device.dtype());
  DetailsRow row(pytorch_columns());
  row.bench_dtype = torch_name(bench.dtype());
  row.device_dtype = torch_name(device.dtype());
  row.shape = tuple_text({device.shape().data(), device.shape().size()});
  row.status = Status::error;
  if (bench.shape() != device.shape()) {
    row.message =
        "The shape of bench" + size_text(bench.shape()) + " and npu" + size_text(device.shape()) + " not equal.";
    return row;
  }
  const DType bench_array = array_dtype(bench.dtype(), device.dtype(), compat);
  const DType device_array = array_dtype(device.dtype(), device.dtype(), compat);
  const unsigned common = families(bench_array, compat) & families(device_array, compat);
  if (common == none) {
    row.message = "Bench out dtype is " + std::string(name(bench_array)) + " but npu output dtype is " +
                  std::string(name(device_array)) + ", cannot compare.";
    return row;
  }
  if (device.numel() == 0) {
    row.status = Status::skip;
    row.message = "There is not bench calculation result.";
    return row;
  }
  if (common == floating) {
    judge_floats(bench, device, standard, options, row);
  } else if (common == complex) {
    judge_floats(real_parts(bench), real_parts(device), standard, options, row);
    row.message += "Real and imaginary parts are compared as separate elements.\n";
  } else {
    judge_integers(api, bench, device, options, row);
  }
  return row;
}

}  // namespace msrun
