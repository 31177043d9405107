#include "tools/op_generate/table.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "kernels/tensor/complex.h"
#include "tools/op_generate/float_pair.h"
#include "tools/op_generate/metric_limits.h"
#include "tools/op_generate/python_text.h"

namespace msrun::op_generate {

namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

constexpr const char* passes = "pass";
constexpr const char* warns = "warning";
constexpr const char* fails = "error";

// A cell: a count of nothing is the whole number 0, everything else a float.
std::string cell(std::optional<double> value) { return value ? python_float(*value) : "0"; }

const char* verdict(bool is_right) { return is_right ? passes : fails; }

// As Python's "%g".
std::string short_number(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

// The row of a metric, and below it that of its limit and of what follows.
void add_judged(const std::string& name, const std::string& number, const std::string& limit, bool is_right,
                Rows& rows) {
  rows.emplace_back(name, number);
  rows.emplace_back("Result (" + limit + ")", verdict(is_right));
}

// An output, and what is said of it in the end; null: nothing.
struct Judgement {
  const char* result;
  std::int64_t agreements = 0;     // elements that are not finite, and the same on both sides
  std::int64_t disagreements = 0;  // those that are not the same
  std::int64_t unknown = 0;        // those that are NaN on both sides
};

// Each adds the rows of its standard.
Judgement add_binary(const Tensor& device, const Tensor& bench, Rows& rows) {
  std::int64_t unequal = 0;
  std::int64_t unknown = 0;
  for (std::int64_t i = 0; i < device.numel(); ++i) {
    const bool is_real = is_floating(device.dtype());
    const bool both_nan = is_real && std::isnan(device.item(i)) && std::isnan(bench.item(i));
    const bool equal = is_real ? device.item(i) == bench.item(i) : device.int_item(i) == bench.int_item(i);
    unknown += both_nan ? 1 : 0;
    unequal += equal || both_nan ? 0 : 1;
  }
  const double rate = static_cast<double>(unequal) / static_cast<double>(device.numel());
  add_judged("Error Rate", python_float(rate), "= 0", unequal == 0, rows);
  return {.result = verdict(unequal == 0), .agreements = unknown, .unknown = unknown};
}

const char* add_ulp(const FloatPair& pair, DType computed_in, Rows& rows) {
  const FloatPair::Ulp ulp = pair.ulp();
  const std::optional<DType> listed = limits_of(computed_in).dtype;
  const ComparisonLimits& limits = comparison_limits(torch_name(listed.value_or(DType::float32)));
  const FloatPair::Ulp judged = pair.judged_ulp(ulp);
  const bool mean_is_right = judged.mean < limits.ulp_mean;
  const bool proportion_is_right = judged.proportion < limits.ulp_proportion;
  rows.emplace_back("Maximum ULP Error", python_float(ulp.largest));
  if (limits.ulp_mean > 0) {
    add_judged("Mean ULP Error", python_float(ulp.mean), "< " + short_number(limits.ulp_mean), mean_is_right, rows);
  } else {
    rows.emplace_back("Mean ULP Error", python_float(ulp.mean));
  }
  add_judged("ULP Error Proportion", python_float(ulp.proportion), "< " + short_number(limits.ulp_proportion),
             proportion_is_right, rows);
  return verdict(mean_is_right || proportion_is_right);
}

const char* add_thousandth(const FloatPair& pair, Rows& rows) {
  const bool is_right = pair.within_a_thousandth(pair.agreements()) > dual_1000_limit;
  add_judged("Thousandth ratio", python_float(pair.within_a_thousandth(0)), "> " + short_number(dual_1000_limit),
             is_right, rows);
  return verdict(is_right);
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
  const bool relative_is_right = relative.value_or(0) == 0;
  const bool absolute_is_right = absolute.value_or(0) == 0;
  add_judged("Relative Error Ratio", cell(relative), "= 0", relative_is_right, rows);
  add_judged("Absolute Error Ratio", cell(absolute), "= 0", absolute_is_right, rows);
  return verdict(relative_is_right && absolute_is_right);
}

Judgement add_float_metrics(const FloatPair& pair, DType computed_in, Standard standard, Rows& rows) {
  Judgement judgement{.result = nullptr,
                      .agreements = pair.agreements(),
                      .disagreements = pair.disagreements(),
                      .unknown = pair.unknown()};
  switch (standard) {
    case Standard::absolute_threshold:
      judgement.result = add_absolute(pair, rows);
      break;
    case Standard::ulp:
      judgement.result = add_ulp(pair, computed_in, rows);
      break;
    case Standard::dual_1000:
      judgement.result = add_thousandth(pair, rows);
      break;
    default:
      judgement.result = add_benchmark(pair, rows);
  }
  return judgement;
}

// Returns how many elements are NaN on both sides.
std::int64_t add_metrics(const Tensor& device, const Tensor& bench, Standard standard, DType computed_in, Rows& rows) {
  const Judgement judgement =
      standard == Standard::binary_consistency
          ? add_binary(device, bench, rows)
          : add_float_metrics(FloatPair(device, bench, computed_in), computed_in, standard, rows);
  const char* result = judgement.result;
  if (judgement.agreements > 0) rows.emplace_back("NaN or Inf on Both Sides", std::to_string(judgement.agreements));
  if (judgement.disagreements > 0) {
    rows.emplace_back("Unequal NaN or Inf", std::to_string(judgement.disagreements));
    result = fails;
  }
  if (judgement.unknown > 0 && result != fails) result = warns;
  if (result != nullptr) rows.emplace_back("Result", result);
  return judgement.unknown;
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

// Of a complex tensor its real and imaginary parts, which are compared one by one.
Tensor real_parts(const Tensor& tensor) { return is_complex(tensor.dtype()) ? pairs_of(tensor) : tensor; }

bool equal_values(const Value& a, const Value& b) {
  if (const bool* flag = a.get<bool>()) return *flag == *b.get<bool>();
  if (const auto* integer = a.get<std::int64_t>()) return *integer == *b.get<std::int64_t>();
  if (const auto* text = a.get<std::string>()) return *text == *b.get<std::string>();
  const double x = *a.get<double>();
  const double y = *b.get<double>();
  return x == y || (std::isnan(x) && std::isnan(y));
}

// Writes what a script prints of outputs.
class Tables {
 public:
  Tables(Standard standard, const std::vector<std::optional<DType>>& computed_in)
      : standard_(standard), computed_in_(computed_in) {}

  std::string outputs(const Value& device, const Value& bench, const std::string& index,
                      std::optional<DType> computed_in) {
    if (device.variant().index() != bench.variant().index()) {
      return "ERROR: out_device and out_bench is not the same type!\n";
    }
    if (const List* list = device.get<List>()) return list_text(*list, *bench.get<List>(), index);
    if (const Tensor* tensor = device.get<Tensor>()) return tensors(*tensor, *bench.get<Tensor>(), computed_in);
    const bool is_plain =
        device.is<bool>() || device.is<std::int64_t>() || device.is<double>() || device.is<std::string>();
    if (!is_plain) return "ERROR: comparison of type <class '" + python_type(device) + "'> is not supported.\n";
    return equal_values(device, bench) ? "PASS: out_device and out_bench equals.\n"
                                       : "ERROR: out_device and out_bench is not equal!\n";
  }

  std::int64_t unknown() const { return unknown_; }

 private:
  std::string list_text(const List& device, const List& bench, const std::string& index) {
    if (device.size() != bench.size()) return "ERROR: len of out_device and out_bench is different!\n";
    std::string text;
    for (std::size_t i = 0; i < device.size(); ++i) {
      const std::string place = index + std::to_string(i);
      const bool is_computed = index.empty() && i < computed_in_.size();
      text += "index " + place + ":\n" +
              outputs(device[i], bench[i], place + ".", is_computed ? computed_in_[i] : std::nullopt);
    }
    return text;
  }

  std::string tensors(const Tensor& device, const Tensor& bench, std::optional<DType> computed_in) {
    if (!std::ranges::equal(device.shape(), bench.shape()))
      return "ERROR: shape of out_device and out_bench is not equal!\n";
    if (device.numel() == 0) return "Both out_device and out_bench have zero elements.\n";
    const std::string device_type(torch_name(device.dtype()));
    const std::string bench_type(torch_name(bench.dtype()));
    if (kind_of(device) != kind_of(bench)) {
      return "ERROR: out_device dtype is " + device_type + ", out_bench dtype is " + bench_type + ", not comparable.\n";
    }
    const bool is_number = kind_of(device) == Kind::real || kind_of(device) == Kind::complex;
    const Standard own = is_number ? standard_ : Standard::binary_consistency;
    std::string shape;
    for (const std::int64_t size : device.shape()) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    Rows rows{{"Metric", "Value"},
              {"Shape", "torch.Size([" + shape + "])"},
              {"Dtype of out_device", device_type},
              {"Dtype of out_bench", bench_type}};
    if (computed_in && *computed_in != device.dtype()) rows.emplace_back("Computed in", torch_name(*computed_in));
    rows.emplace_back("Compare Standard", standard_title(own));
    const Tensor parts = real_parts(device);
    const std::int64_t unknown = add_metrics(parts, real_parts(bench), own, computed_in.value_or(parts.dtype()), rows);
    unknown_ += unknown > 0 ? 1 : 0;
    return grid(rows);
  }

  Standard standard_;
  const std::vector<std::optional<DType>>& computed_in_;
  std::int64_t unknown_ = 0;
};

}  // namespace

ComparedOutputs compared_results(const Value& device, const Value& bench, Standard standard,
                                 const std::vector<std::optional<DType>>& computed_in) {
  Tables tables(standard, computed_in);
  std::string text = tables.outputs(device, bench, "", std::nullopt);
  return {.text = std::move(text), .unknown = tables.unknown()};
}

std::string comparison_text(const Value& device, const Value& bench, Standard standard) {
  return compared_results(device, bench, standard, {}).text;
}

std::string nan_notice(std::int64_t outputs) {
  return "NaN on both sides in " + std::to_string(outputs) +
         " of the outputs: they agree there, and nothing is known of the device.\n";
}

}  // namespace msrun::op_generate
