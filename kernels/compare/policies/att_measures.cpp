#include "kernels/compare/policies/att_measures.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/tensor/convert.h"
#include "kernels/tensor/tensor.h"

namespace msrun {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
// Below it everything counts as zero for the cosine: the spacing of doubles at 1.
constexpr double smallest_maximum = 2.220446049250313e-16;
constexpr double least_cosine = 0.99;
constexpr double thousandth_limit = 0.001;
constexpr double ten_thousandth_limit = 0.0001;

constexpr const char* scalar_text =
    "All the data in npu dump data is scalar. Please refer to other compare algorithms.";
constexpr const char* nan_text = "Dump data has NaN when comparing with Cosine Similarity.";

// In the order of the file, which is that of the cells of a row.
constexpr std::array<Column, att_measure_count> columns{{
    {Metric::cosine, "Cosine Similarity", "Cosine Similarity"},
    {Metric::max_relative_error, "Max Rel Error", "Max Rel Error"},
    {Metric::max_abs_error, "Max Abs Error", "Max Abs Error"},
    {Metric::dual_1000, "Relative Error (dual thousandth)", "Relative Error (dual thousandth)"},
    {Metric::dual_10000, "Relative Error (dual ten thousandth)", "Relative Error (dual ten thousandth)"},
    {Metric::binary_error_rate, "Compare Builtin Type", "Compare Builtin Type"},
}};

void write_cell(std::string& out, const Cell& cell, int precision) {
  if (cell.kind == Cell::Kind::blank) {
    out += "N/A";
  } else if (cell.kind == Cell::Kind::integer) {
    out += "True";
  } else {
    append_cell_text(out, cell, precision);
  }
}

constexpr ColumnSet att_set{3, {"Bench Dtype", "NPU Dtype", "Shape"}, columns, write_cell};

bool is_small_boolean(DType dtype) { return dtype == DType::boolean || dtype == DType::uint8; }
bool is_wide_integer(DType dtype) { return dtype == DType::int32 || dtype == DType::int64; }

bool is_integer_pair(DType bench, DType device, bool raw) {
  const auto signed_integer = [&](DType dtype) {
    return is_wide_integer(dtype) || (!raw && (dtype == DType::int8 || dtype == DType::int16));
  };
  return (is_small_boolean(bench) && is_small_boolean(device)) || (signed_integer(bench) && signed_integer(device));
}

AttMeasures same_everywhere(const Cell& cell, std::string message, bool truth) {
  AttMeasures measures;
  measures.cells.fill(cell);
  measures.message = std::move(message);
  measures.truths = AttTruths::all(truth);
  return measures;
}

// NumPy's name: torch's, but for what NumPy does not have.
std::string numpy_name(DType dtype) { return std::string(name(dtype)); }

AttMeasures compare_integers(const Tensor& bench, const Tensor& device, bool raw) {
  const std::int64_t count = device.numel();
  if (bench.shape() != device.shape()) return same_everywhere(Cell::fp64(nan), "", false);
  if (count == 0) {
    return raw ? same_everywhere(Cell::fp64(nan), "", false) : same_everywhere(Cell{}, "output is empty", true);
  }
  const Tensor b = bench.to(DType::int64).contiguous();
  const Tensor n = device.to(DType::int64).contiguous();
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) wrong += b.data<std::int64_t>()[i] != n.data<std::int64_t>()[i] ? 1 : 0;
  const double share = static_cast<double>(wrong) / static_cast<double>(count);
  return same_everywhere(Cell::fp64(share), "", wrong == 0);
}

// The numbers of both sides as they are compared, each a value of its dtype.
struct FloatPair {
  std::vector<double> bench;
  std::vector<double> device;
  DType bench_dtype;
  DType device_dtype;
};

std::vector<double> numbers(const Tensor& tensor) {
  const Tensor wide = tensor.to(DType::float64).contiguous();
  return {wide.data<double>(), wide.data<double>() + wide.numel()};
}

bool are_alike(double a, double b) { return (std::isnan(a) && std::isnan(b)) || (std::isinf(a) && a == b); }

// Leaves out what is the same NaN or infinity on both sides.
void leave_out_alike(FloatPair& pair) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pair.bench.size(); ++i) {
    if (are_alike(pair.bench[i], pair.device[i])) continue;
    pair.bench[kept] = pair.bench[i];
    pair.device[kept++] = pair.device[i];
  }
  pair.bench.resize(kept);
  pair.device.resize(kept);
}

// NumPy's max of absolute values: NaN if there is one.
double largest(const std::vector<double>& values) {
  double result = 0;
  for (const double value : values) {
    if (std::isnan(value)) return nan;
    result = std::max(result, std::abs(value));
  }
  return result;
}

// The sum of products as NumPy's dot formed it where the old tool ran: in eight partial sums, of which those of even
// and of odd places are added first, and the rest one by one. The file shows so many decimals that another order is
// seen.
double dot(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> sums{};
  const std::size_t whole = a.size() / lanes * lanes;
  for (std::size_t i = 0; i < whole; i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  double sum = (sums[0] + sums[2] + sums[4] + sums[6]) + (sums[1] + sums[3] + sums[5] + sums[7]);
  for (std::size_t i = whole; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double cosine_of(const FloatPair& pair, double bench_max, double device_max) {
  std::vector<double> b = pair.bench;
  std::vector<double> n = pair.device;
  for (double& value : b) value /= bench_max;
  for (double& value : n) value /= device_max;
  return dot(n, b) / (std::sqrt(dot(n, n)) * std::sqrt(dot(b, b)));
}

// count: the elements of the tensors, of which the pair may have lost some.
void measure_cosine(const FloatPair& pair, std::size_t count, bool raw, AttMeasures& measures) {
  Cell& cell = measures.cells[0];
  if (count == 1) measures.message = scalar_text;
  if (count == 1 || pair.bench.empty()) return;
  const double bench_max = largest(pair.bench);
  const double device_max = largest(pair.device);
  const bool bench_zero = bench_max <= smallest_maximum;
  const bool device_zero = device_max <= smallest_maximum;
  if (bench_zero && device_zero) return;
  double cosine = nan;
  if (bench_zero || device_zero) {
    measures.message =
        device_zero ? "All the data is zero in npu dump data." : "All the data is zero in bench dump data.";
  } else {
    const bool finite = std::isfinite(bench_max) && std::isfinite(device_max);
    // The old tool divided the maxima by themselves.
    cosine = !finite ? nan : raw ? 1 : cosine_of(pair, bench_max, device_max);
    if (std::isnan(cosine)) measures.message = nan_text;
  }
  cell = Cell::fp64(cosine);
  measures.truths.cosine = cosine > least_cosine;
}

double rounded(DType dtype, double value) {
  if (dtype == DType::float64) return value;
  const auto single = static_cast<float>(value);
  return static_cast<double>(dtype == DType::float16 ? as_half(single) : single);
}

// Operations of the wider dtype: those of float32 and float64 round once, those of float16 are float32's, rounded.
// Double precision has enough digits for one operation of float32 or float16 to be rounded twice without harm.
class Arithmetics {
 public:
  explicit Arithmetics(DType dtype) : dtype_(dtype) {}
  double subtract(double a, double b) const { return rounded(dtype_, a - b); }
  double divide(double a, double b) const { return rounded(dtype_, a / b); }
  double number(double value) const { return rounded(dtype_, value); }
  Cell cell(double value) const {
    if (dtype_ == DType::float64) return Cell::fp64(value);
    return dtype_ == DType::float32 ? Cell::fp32(value) : Cell::fp16(value);
  }

 private:
  DType dtype_;
};

// NaN stays once there is one.
void raise_to(double& maximum, double value) {
  if (std::isnan(value) || value > maximum) maximum = std::isnan(maximum) ? maximum : value;
}

void measure_errors(const FloatPair& pair, std::size_t hits, AttMeasures& measures) {
  const bool half = pair.bench_dtype == DType::float16 && pair.device_dtype == DType::float16;
  const bool wide = pair.bench_dtype == DType::float64 || pair.device_dtype == DType::float64;
  const Arithmetics wider(wide ? DType::float64 : half ? DType::float16 : DType::float32);
  const double eps = epsilon(pair.device_dtype);
  const double thousandth = wider.number(thousandth_limit);
  const double ten_thousandth = wider.number(ten_thousandth_limit);
  double relative_max = 0;
  double absolute_max = 0;
  std::size_t in_thousandth = hits;
  std::size_t in_ten_thousandth = hits;
  for (std::size_t i = 0; i < pair.bench.size(); ++i) {
    double b = pair.bench[i];
    double n = pair.device[i];
    if (n == 0) {
      n = eps;
      b = rounded(pair.bench_dtype, b + eps);
    }
    const double difference = wider.subtract(n, b);
    const double relative = std::abs(wider.divide(difference, b));
    raise_to(relative_max, relative);
    raise_to(absolute_max, std::abs(difference));
    in_thousandth += relative < thousandth ? 1 : 0;
    in_ten_thousandth += relative < ten_thousandth ? 1 : 0;
  }
  const double count = static_cast<double>(pair.bench.size() + hits);
  const double thousandth_share = static_cast<double>(in_thousandth) / count;
  const double ten_thousandth_share = static_cast<double>(in_ten_thousandth) / count;
  measures.cells[1] = wider.cell(relative_max);
  measures.cells[2] = wider.cell(absolute_max);
  measures.cells[3] = Cell::fp64(thousandth_share);
  measures.cells[4] = Cell::fp64(ten_thousandth_share);
  measures.truths.absolute_error = absolute_max < thousandth_limit;
  measures.truths.thousandth = thousandth_share > 0.999;
  measures.truths.ten_thousandth = ten_thousandth_share > 0.9999;
}

// Which device dtypes are not held to a ten thousandth; raw, bfloat16 is one of float32 by then.
bool is_exempt(DType device, bool raw) { return device == DType::float16 || (!raw && device == DType::bfloat16); }

AttMeasures compare_floats(const Tensor& bench, const Tensor& device, bool raw) {
  if (bench.shape() != device.shape()) {
    if (raw) throw SkipError(std::string(att_shape_failure));
    return same_everywhere(Cell::fp64(nan),
                           "Shape of bench and npu outputs don't match. bench: " + tuple_text(bench.shape()) +
                               ", npu: " + tuple_text(device.shape()) + ".",
                           false);
  }
  if (device.numel() == 0) {
    if (raw) throw SkipError(std::string(att_empty_failure));
    return same_everywhere(Cell{}, "output is empty", true);
  }
  const auto narrowed = [&](const Tensor& tensor) {
    const bool known = tensor.dtype() == DType::float16 || tensor.dtype() == DType::float64;
    return known && device.dtype() != DType::bfloat16 ? tensor : tensor.to(DType::float32);
  };
  const Tensor b = narrowed(bench);
  const Tensor n = narrowed(device);
  FloatPair pair{numbers(b), numbers(n), b.dtype(), n.dtype()};
  AttMeasures measures;
  const std::size_t all = pair.bench.size();
  if (!raw) leave_out_alike(pair);
  measure_cosine(pair, all, raw, measures);
  measure_errors(pair, all - pair.bench.size(), measures);
  if (is_exempt(device.dtype(), raw)) measures.truths.ten_thousandth = true;
  return measures;
}

}  // namespace

const ColumnSet& att_columns() { return att_set; }

Cell att_true_cell() { return Cell::integer(1); }

void AttTruths::and_also(const AttTruths& other) {
  cosine = cosine && other.cosine;
  absolute_error = absolute_error && other.absolute_error;
  thousandth = thousandth && other.thousandth;
  ten_thousandth = ten_thousandth && other.ten_thousandth;
  builtin = builtin && other.builtin;
}

AttMeasures measure_att(const Tensor& bench, const Tensor& device, bool raw) {
  const bool widened = device.dtype() == DType::bfloat16;
  if ((is_floating(bench.dtype()) || widened) && is_floating(device.dtype())) return compare_floats(bench, device, raw);
  if (is_integer_pair(bench.dtype(), device.dtype(), raw)) return compare_integers(bench, device, raw);
  return same_everywhere(Cell::fp64(nan),
                         "Bench out dtype is " + numpy_name(bench.dtype()) +
                             " but                 npu output dtype is " + numpy_name(device.dtype()) +
                             ", cannot compare.",
                         false);
}

AttMessages att_messages(const DetailsRow& row, const std::string& message, bool raw) {
  AttMessages messages;
  const Cell& ratio = row[Metric::dual_1000];
  const bool measured = ratio.kind == Cell::Kind::fp64 && !std::isnan(ratio.value);
  if (!measured) {
    messages.fill(message);
    return messages;
  }
  messages[0] = message;
  // A share of differing elements stands in all columns, this one included.
  const bool of_floats = row[Metric::binary_error_rate].kind == Cell::Kind::blank;
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    if (!of_floats || !is_exempt(dtype, raw) || row.device_dtype != torch_name(dtype)) continue;
    messages[4] = "This indicator is not used to evaluate " + std::string(name(dtype)) + " data";
  }
  return messages;
}

}  // namespace msrun
