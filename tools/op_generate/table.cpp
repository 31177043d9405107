#include "tools/op_generate/table.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/tensor/tensor.h"
#include "tools/op_generate/metric_limits.h"
#include "tools/op_generate/python_text.h"
#include "tools/op_generate/torch_sum.h"

namespace msrun::op_generate {

namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

constexpr const char* passes = "pass";
constexpr const char* fails = "error";

// The number as a tensor of the dtype holds it.
double rounded(DType dtype, double value) {
  switch (dtype) {
    case DType::float64:
      return value;
    case DType::float16:
      return as_half(static_cast<float>(value));
    case DType::bfloat16:
      return as_bfloat16(static_cast<float>(value));
    default:
      return static_cast<float>(value);
  }
}

// torch divides whole numbers in float32.
double quotient(std::int64_t part, double whole) { return static_cast<float>(part) / static_cast<float>(whole); }

std::vector<double> values_of(const Tensor& tensor) {
  const Tensor wide = tensor.to(DType::float64).contiguous();
  const double* first = wide.data<double>();
  return {first, first + wide.numel()};
}

// The largest value; NaN if there is one.
double largest(std::span<const double> values) {
  double result = -std::numeric_limits<double>::infinity();
  for (const double value : values) result = std::isnan(value) || value > result ? value : result;
  const bool has_nan = std::ranges::any_of(values, [](double value) { return std::isnan(value); });
  return has_nan ? std::numeric_limits<double>::quiet_NaN() : result;
}

// A cell: a count of nothing is the whole number 0, everything else a float.
std::string cell(std::optional<double> value) { return value ? python_float(*value) : "0"; }

// The quantities that the standards share, element by element, with the roundings of torch's operators.
class FloatPair {
 public:
  FloatPair(const Tensor& device, const Tensor& bench)
      : device_type_(device.dtype()),
        bench_type_(bench.dtype()),
        wide_(promote(device.dtype(), bench.dtype())),
        limits_(limits_of(device.dtype())),
        device_(values_of(device)),
        bench_(values_of(bench)),
        narrow_(values_of(bench.to(device.dtype()))) {
    const double eps = bench_type_ == DType::float64 ? 0x1p-52 : 0x1p-23;
    const double small = rounded(bench_type_, limits_.small);
    for (std::size_t i = 0; i < device_.size(); ++i) {
      abs_err_.push_back(rounded(wide_, std::abs(device_[i] - bench_[i])));
      rel_err_.push_back(rounded(wide_, abs_err_[i] / rounded(bench_type_, std::abs(bench_[i]) + eps)));
      const bool finite = std::isfinite(device_[i]) && std::isfinite(narrow_[i]);
      small_.push_back(finite && std::abs(bench_[i]) <= small);
      normal_.push_back(finite && !small_.back());
      const bool same = device_[i] == narrow_[i] || (std::isnan(device_[i]) && std::isnan(narrow_[i]));
      agree_.push_back(!finite && same);
      if (!finite && !same && !just_overflows(i)) ++disagreements_;
    }
  }

  // Most numbers leave out what is not finite. NaN on both sides and equal infinities agree; anything else does not,
  // unless one side is just inside of the dtype's range and the other just outside.
  std::int64_t agreements() const { return std::ranges::count(agree_, true); }
  std::int64_t disagreements() const { return disagreements_; }

  // The share of small values whose error is too large.
  std::optional<double> small_errors() const {
    const double limit = rounded(wide_, limits_.small_atol);
    return share(small_, [&](std::size_t i) { return abs_err_[i] > limit; });
  }

  std::optional<double> relative_errors() const {
    const double limit = rounded(wide_, limits_.rtol);
    return share(normal_, [&](std::size_t i) { return rel_err_[i] > limit; });
  }

  // also: of elements that count beside those.
  double within_a_thousandth(std::int64_t also) const {
    const double limit = rounded(wide_, 0.001);
    return quotient(std::ranges::count_if(rel_err_, [&](double error) { return error < limit; }) + also, count());
  }

  double balance() const {
    std::int64_t above = 0;
    for (std::size_t i = 0; i < device_.size(); ++i)
      above += device_[i] > narrow_[i] ? 1 : device_[i] < narrow_[i] ? -1 : 0;
    return quotient(std::abs(above), count());
  }

  struct Ulp {
    double largest = 0;
    double mean = 0;
    double proportion = 0;
  };
  Ulp ulp() const { return ulp_of(ulp_errors(device_type_ == DType::float32 ? DType::float64 : DType::float32)); }

  // What is judged: where the numbers are not finite, as plain says, they say nothing.
  Ulp judged_ulp(const Ulp& plain) const {
    if (std::isfinite(plain.largest)) return plain;
    UlpErrors errors = ulp_errors(DType::float64);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < agree_.size(); ++i) {
      if (!agree_[i]) errors.values[kept++] = errors.values[i];
    }
    errors.values.resize(kept);
    return kept > 0 ? ulp_of(errors) : Ulp{};
  }

  struct Errors {
    double largest;
    double mean;
    double root_mean_square;
  };
  // The errors of the normal values; nothing if there are none.
  std::optional<Errors> errors() const {
    std::vector<double> relative;
    std::vector<double> absolute;
    for (std::size_t i = 0; i < device_.size(); ++i) {
      if (!normal_[i]) continue;
      relative.push_back(rel_err_[i]);
      absolute.push_back(abs_err_[i]);
    }
    if (relative.empty()) return std::nullopt;
    const double mean = rounded(wide_, torch_sum(relative, wide_) / static_cast<double>(relative.size()));
    return Errors{largest(relative), mean, root_mean_square(absolute)};
  }

 private:
  struct UlpErrors {
    DType dtype;  // in which they are computed
    std::vector<double> values;
  };

  UlpErrors ulp_errors(DType wide) const {
    std::vector<double> errors;
    for (std::size_t i = 0; i < device_.size(); ++i) {
      const double bench = rounded(wide, bench_[i]);
      const double log2 = rounded(
          wide, wide == DType::float64 ? std::log2(std::abs(bench)) : std::log2(static_cast<float>(std::abs(bench))));
      double exponent = bench == 0 ? 0 : std::floor(log2);
      if (!std::isnan(exponent)) exponent = std::max(exponent, static_cast<double>(limits_.min_exponent));
      const double scale = rounded(wide, std::exp2(limits_.mantissa_bits - exponent));
      const double difference = rounded(wide, std::abs(rounded(wide, device_[i]) - bench));
      errors.push_back(rounded(wide, difference * scale));
    }
    return {wide, std::move(errors)};
  }

  Ulp ulp_of(const UlpErrors& errors) const {
    const auto all = static_cast<double>(errors.values.size());
    const auto over = std::ranges::count_if(errors.values, [&](double error) { return error > limits_.ulp_limit; });
    return {largest(errors.values), rounded(errors.dtype, torch_sum(errors.values, errors.dtype) / all),
            quotient(over, all)};
  }

  double root_mean_square(const std::vector<double>& errors) const {
    const auto all = static_cast<double>(errors.size());
    std::vector<double> squares;
    for (const double error : errors) squares.push_back(rounded(wide_, error * error));
    const double square = rounded(wide_, torch_sum(squares, wide_) / all);
    if (std::isfinite(square)) return rounded(wide_, std::sqrt(square));
    // The squares are too large for the dtype.
    const double unit = largest(errors);
    squares.clear();
    for (const double error : errors) squares.push_back((error / unit) * (error / unit));
    return rounded(wide_, unit * std::sqrt(torch_sum(squares, DType::float64) / all));
  }

  bool just_overflows(std::size_t i) const {
    const double end = max_finite(device_type_);
    const double bench = bench_[i];
    return std::isfinite(bench) &&
           std::abs(std::clamp(device_[i], -end, end) - bench) <= limits_.rtol * std::abs(bench);
  }

  double count() const { return static_cast<double>(device_.size()); }

  std::optional<double> share(const std::vector<bool>& of, const std::function<bool(std::size_t)>& is) const {
    std::int64_t all = 0;
    std::int64_t part = 0;
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (!of[i]) continue;
      ++all;
      part += is(i) ? 1 : 0;
    }
    if (all == 0) return std::nullopt;
    return quotient(part, static_cast<double>(all));
  }

  DType device_type_;
  DType bench_type_;
  DType wide_;
  const MetricLimits& limits_;
  std::vector<double> device_;
  std::vector<double> bench_;
  std::vector<double> narrow_;  // the benchmark in the device's dtype
  std::vector<double> abs_err_;
  std::vector<double> rel_err_;
  std::vector<bool> small_;
  std::vector<bool> normal_;
  std::vector<bool> agree_;
  std::int64_t disagreements_ = 0;
};

const char* verdict(bool is_right) { return is_right ? passes : fails; }

// Each adds the rows of its standard and returns its verdict; null: it has none.
const char* add_binary(const Tensor& device, const Tensor& bench, Rows& rows) {
  std::int64_t unequal = 0;
  for (std::int64_t i = 0; i < device.numel(); ++i) {
    const bool equal = is_floating(device.dtype()) ? device.item(i) == bench.item(i) ||
                                                         (std::isnan(device.item(i)) && std::isnan(bench.item(i)))
                                                   : device.int_item(i) == bench.int_item(i);
    unequal += equal ? 0 : 1;
  }
  const double rate = static_cast<double>(unequal) / static_cast<double>(device.numel());
  rows.emplace_back("Error Rate", python_float(rate));
  return verdict(unequal == 0);
}

const char* add_ulp(const FloatPair& pair, DType device, Rows& rows) {
  const FloatPair::Ulp ulp = pair.ulp();
  const std::optional<DType> listed = limits_of(device).dtype;
  const ComparisonLimits& limits = comparison_limits(torch_name(listed.value_or(DType::float32)));
  rows.emplace_back("Maximum ULP Error", python_float(ulp.largest));
  rows.emplace_back("Mean ULP Error", python_float(ulp.mean));
  rows.emplace_back("ULP Error Proportion", python_float(ulp.proportion));
  const FloatPair::Ulp judged = pair.judged_ulp(ulp);
  return verdict(judged.mean < limits.ulp_mean || judged.proportion < limits.ulp_proportion);
}

const char* add_thousandth(const FloatPair& pair, Rows& rows) {
  rows.emplace_back("Thousandth ratio", python_float(pair.within_a_thousandth(0)));
  return verdict(pair.within_a_thousandth(pair.agreements()) > dual_1000_limit);
}

const char* add_benchmark(const FloatPair& pair, Rows& rows) {
  const std::optional<FloatPair::Errors> errors = pair.errors();
  const auto of = [&](double FloatPair::Errors::*field) {
    return cell(errors ? std::optional(*errors.*field) : std::nullopt);
  };
  rows.emplace_back("Small Value Error Proportion", cell(pair.small_errors()));
  rows.emplace_back("Maximum Relative Error", of(&FloatPair::Errors::largest));
  rows.emplace_back("Mean Relative Error", of(&FloatPair::Errors::mean));
  rows.emplace_back("Root Mean Squared Error", of(&FloatPair::Errors::root_mean_square));
  rows.emplace_back("Error Balance", python_float(pair.balance()));
  return nullptr;
}

const char* add_absolute(const FloatPair& pair, Rows& rows) {
  const std::optional<double> relative = pair.relative_errors();
  const std::optional<double> absolute = pair.small_errors();
  rows.emplace_back("Relative Error Ratio", cell(relative));
  rows.emplace_back("Absolute Error Ratio", cell(absolute));
  return verdict(relative.value_or(0) == 0 && absolute.value_or(0) == 0);
}

const char* add_float_metrics(const FloatPair& pair, DType device, Standard standard, Rows& rows) {
  switch (standard) {
    case Standard::absolute_threshold:
      return add_absolute(pair, rows);
    case Standard::ulp:
      return add_ulp(pair, device, rows);
    case Standard::dual_1000:
      return add_thousandth(pair, rows);
    default:
      return add_benchmark(pair, rows);
  }
}

void add_metrics(const Tensor& device, const Tensor& bench, Standard standard, Rows& rows) {
  if (standard == Standard::binary_consistency) {
    const char* result = add_binary(device, bench, rows);
    rows.emplace_back("Result", result);
    return;
  }
  const FloatPair pair(device, bench);
  const char* result = add_float_metrics(pair, device.dtype(), standard, rows);
  if (pair.agreements() > 0) rows.emplace_back("NaN or Inf on Both Sides", std::to_string(pair.agreements()));
  if (pair.disagreements() > 0) {
    rows.emplace_back("Unequal NaN or Inf", std::to_string(pair.disagreements()));
    result = fails;
  }
  if (result != nullptr) rows.emplace_back("Result", result);
}

std::string grid(const Rows& rows) {
  std::size_t left = 0;
  std::size_t right = 0;
  for (const auto& [name, value] : rows) {
    left = std::max(left, name.size() + 2);
    right = std::max(right, value.size() + 2);
  }
  const auto line = [&](char c) { return "+" + std::string(left, c) + "+" + std::string(right, c) + "+\n"; };
  std::string text = line('-');
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& [name, value] = rows[i];
    text.append("| ").append(name).append(left - 1 - name.size(), ' ');
    text.append("| ").append(value).append(right - 1 - value.size(), ' ');
    text.append("|\n").append(line(i == 0 ? '=' : '-'));
  }
  return text;
}

enum class Kind : std::uint8_t { real, integer, boolean, complex };

Kind kind_of(const Tensor& tensor) {
  if (is_floating(tensor.dtype())) return Kind::real;
  if (is_complex(tensor.dtype())) return Kind::complex;
  return tensor.dtype() == DType::boolean ? Kind::boolean : Kind::integer;
}

std::string tensors_text(const Tensor& device, const Tensor& bench, Standard standard) {
  if (!std::ranges::equal(device.shape(), bench.shape()))
    return "ERROR: shape of out_device and out_bench is not equal!\n";
  if (device.numel() == 0) return "Both out_device and out_bench have zero elements.\n";
  const std::string device_type(torch_name(device.dtype()));
  const std::string bench_type(torch_name(bench.dtype()));
  if (kind_of(device) != kind_of(bench) || kind_of(device) == Kind::complex) {
    return "ERROR: out_device dtype is " + device_type + ", out_bench dtype is " + bench_type + ", not comparable.\n";
  }
  const Standard own = kind_of(device) == Kind::real ? standard : Standard::binary_consistency;
  std::string shape;
  for (const std::int64_t size : device.shape()) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
  Rows rows{{"Metric", "Value"},
            {"Shape", "torch.Size([" + shape + "])"},
            {"Dtype of out_device", device_type},
            {"Dtype of out_bench", bench_type},
            {"Compare Standard", standard_title(own)}};
  add_metrics(device, bench, own, rows);
  return grid(rows);
}

bool equal_values(const Value& a, const Value& b) {
  if (const bool* flag = a.get<bool>()) return *flag == *b.get<bool>();
  if (const auto* integer = a.get<std::int64_t>()) return *integer == *b.get<std::int64_t>();
  if (const auto* text = a.get<std::string>()) return *text == *b.get<std::string>();
  const double x = *a.get<double>();
  const double y = *b.get<double>();
  return x == y || (std::isnan(x) && std::isnan(y));
}

std::string outputs_text(const Value& device, const Value& bench, Standard standard, const std::string& index) {
  if (device.variant().index() != bench.variant().index()) {
    return "ERROR: out_device and out_bench is not the same type!\n";
  }
  if (const List* list = device.get<List>()) {
    const List& other = *bench.get<List>();
    if (list->size() != other.size()) return "ERROR: len of out_device and out_bench is different!\n";
    std::string text;
    for (std::size_t i = 0; i < list->size(); ++i) {
      const std::string place = index + std::to_string(i);
      text += "index " + place + ":\n" + outputs_text((*list)[i], other[i], standard, place + ".");
    }
    return text;
  }
  if (const Tensor* tensor = device.get<Tensor>()) return tensors_text(*tensor, *bench.get<Tensor>(), standard);
  const bool is_plain =
      device.is<bool>() || device.is<std::int64_t>() || device.is<double>() || device.is<std::string>();
  if (!is_plain) return "ERROR: comparison of type <class '" + python_type(device) + "'> is not supported.\n";
  return equal_values(device, bench) ? "PASS: out_device and out_bench equals.\n"
                                     : "ERROR: out_device and out_bench is not equal!\n";
}

}  // namespace

std::string comparison_text(const Value& device, const Value& bench, Standard standard) {
  return outputs_text(device, bench, standard, "");
}

}  // namespace msrun::op_generate
