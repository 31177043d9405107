#include "tools/tensor_compare/command.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "kernels/api/operators.h"
#include "kernels/base/command_line/suggestion.h"
#include "kernels/base/error.h"
#include "kernels/base/exit_code.h"
#include "kernels/base/results_on_stdout.h"
#include "kernels/base/text.h"
#include "kernels/compare/compare.h"
#include "kernels/io/numpy/npy.h"
#include "kernels/io/stored/tensor_file.h"
#include "tools/tensor_compare/cases.h"
#include "tools/tensor_compare/report.h"

namespace msrun::tensor_compare {
namespace {

// Positions at which two tensors of the same shape differ, two NaN being the same.
std::int64_t count_changed(const Tensor& before, const Tensor& after) {
  const Tensor from = before.to(DType::float64).contiguous();
  const Tensor to = after.to(DType::float64).contiguous();
  std::int64_t changed = 0;
  for (std::int64_t i = 0; i < from.numel(); ++i) {
    const double a = from.data<double>()[i];
    const double b = to.data<double>()[i];
    changed += a == b || (std::isnan(a) && std::isnan(b)) ? 0 : 1;
  }
  return changed;
}

Tensor reinterpreted(const Tensor& tensor, DType dtype) {
  const Tensor source = tensor.contiguous();
  Tensor result(dtype, {source.shape().data(), source.shape().size()});
  std::memcpy(result.mutable_data<std::byte>(), source.raw(), source.bytes());
  return result;
}

// Which dtypes numpy cannot name, so that files have them as integers of the same size.
bool is_foreign_to_numpy(DType dtype) { return dtype == DType::bfloat16 || is_float8(dtype); }

std::string dtype_name(DType dtype) { return std::string(name(dtype)); }

std::string short_name(const std::string& api) {
  return std::count(api.begin(), api.end(), '.') >= 2 ? short_api_name(api) : api;
}

// A mistyped name would have another standard, without a word.
void warn_of_unknown(const std::string& api) {
  if (is_known_api(api)) return;
  std::vector<std::string> known;
  for (const ApiListing& entry : list_apis()) known.emplace_back(entry.api);
  const auto nearest = nearest_word(api, known);
  std::cerr << "tensor_compare: warning: --api: there is no API " << sanitised(bounded(api))
            << ", so that it has the standard of all that have none of their own"
            << (nearest ? "; did you mean " + known[*nearest] + "?" : ".") << '\n';
}

bool is_met(FailOn fail_on, Status status) {
  return (status == Status::error && fail_on != FailOn::never) ||
         (status == Status::warning && fail_on == FailOn::warning);
}

std::string side_line(const std::string& path, const Tensor& tensor) {
  return path + ", " + dtype_name(tensor.dtype()) + " " + tuple_text({tensor.shape().data(), tensor.shape().size()});
}

CompareOptions compare_options(const Options& options) {
  CompareOptions result;
  result.policy = options.policy;
  result.limits = options.limits;
  result.compat_msprobe = options.compat_msprobe;
  return result;
}

int nothing_compared(const std::string& reason) {
  std::cerr << "tensor_compare: nothing was compared: " << sanitised(reason) << '\n';
  return exit_fail_on;
}

int compare_files(const Options& options, bool on_terminal) {
  require_standard_output();
  const Side bench = read_side(options.bench_path, options.bench_dtype);
  const Side device = read_side(options.device_path, options.device_dtype);
  for (const Side* side : {&bench, &device}) {
    if (!side->note.empty()) std::cerr << "tensor_compare: " << side->note << '\n';
  }
  const std::string api = options.api.empty() ? api_of_file(options.device_path) : short_name(options.api);
  if (!options.api.empty()) warn_of_unknown(api);
  const Standard standard = select_standard(api, device.tensor.dtype(), false, options.policy);
  DetailsRow row;
  try {
    row = compare_tensors(api, bench.tensor, device.tensor, standard, compare_options(options));
  } catch (const SkipError& error) {
    row = skipped(error.what()).rows.front();
  }
  const Format format = options.format.value_or(on_terminal ? Format::table : Format::csv);
  if (format == Format::csv) {
    const std::string stem = std::filesystem::path(options.device_path).stem().string();
    const std::string name = options.api.empty() ? stem : options.api;
    std::cout << csv_header("API Name", options.english.value_or(false)) << csv_row(name, row, options.precision);
  } else {
    std::string api_text = api.empty() ? "none given (--api NAME selects its standard)" : api;
    if (options.api.empty() && !api.empty()) api_text += " (from the file name)";
    std::cout << listing_line("Benchmark (A)", side_line(options.bench_path, bench.tensor))
              << listing_line("Device (B)", side_line(options.device_path, device.tensor))
              << listing_line("API", api_text)
              << listing_line("Standard", std::string(standard_text(standard)) + " (" + policy_text(options.policy) +
                                              ", limits " + limits_text(options.limits) + ")")
              << listing(row, options.english.value_or(true), options.precision);
  }
  if (bench.tensor.numel() == 0 && device.tensor.numel() == 0) {
    return nothing_compared("neither tensor has an element");
  }
  if (row.status == Status::skip) return nothing_compared(row.message);
  return is_met(options.fail_on, row.status) ? exit_fail_on : exit_completed;
}

int compare_cases(const Options& options) {
  require_standard_output();
  const bool table = options.format == Format::table;
  const bool english = options.english.value_or(table);
  bool met = false;
  bool compared = false;
  std::string text = table ? "" : csv_header("Name", english);
  const std::vector<ComparisonCase> cases = read_cases(options.cases_path);
  if (cases.empty()) throw UserError("There are no cases in " + options.cases_path + ".");
  for (const ComparisonCase& test : cases) {
    for (const DetailsRow& row : compare_case(test, compare_options(options)).rows) {
      met = met || is_met(options.fail_on, row.status);
      compared = compared || row.status != Status::skip;
      text += table ? listing_line("Name", test.name) + listing(row, english, options.precision) + "\n"
                    : csv_row(test.name, row, options.precision);
    }
  }
  std::cout << text;
  if (!compared) return nothing_compared("every row of " + options.cases_path + " is SKIP");
  return met ? exit_fail_on : exit_completed;
}

}  // namespace

Side read_side(const std::string& path, std::optional<DType> wanted) {
  Side side;
  try {
    if (!path.ends_with(".npy")) {
      side.tensor = read_tensor_file(path);
    } else {
      const bool two_bytes = wanted && size_of(*wanted) == 2;
      const DType uint16_as = two_bytes ? *wanted : DType::bfloat16;
      bool was_uint16 = false;
      side.tensor = read_npy(path, uint16_as, &was_uint16);
      if (was_uint16 && !two_bytes) side.note = path + " holds uint16, taken for the bits of bfloat16.";
    }
    const DType found = side.tensor.dtype();
    if (!wanted || found == *wanted) return side;
    if (is_foreign_to_numpy(*wanted) && is_integer(found) && size_of(found) == size_of(*wanted)) {
      side.tensor = reinterpreted(side.tensor, *wanted);
      return side;
    }
    if (is_complex(found) != is_complex(*wanted)) {
      throw UserError(path + " holds " + dtype_name(found) + ", which does not become " + dtype_name(*wanted));
    }
    const Tensor converted = side.tensor.to(*wanted);
    side.note = path + " holds " + dtype_name(found) + ", converted to " + dtype_name(*wanted);
    const std::int64_t changed = is_complex(found) ? 0 : count_changed(side.tensor, converted);
    side.note += changed == 0 ? "." : ", which changed " + std::to_string(changed) + " values.";
    side.tensor = converted;
    return side;
  } catch (const SkipError& error) {
    throw UserError(error.what());
  }
}

std::string api_of_file(const std::string& path) {
  const std::string stem = std::filesystem::path(path).stem().string();
  for (const char* direction : {".forward.", ".backward."}) {
    const std::size_t at = stem.find(direction);
    if (at == std::string::npos) continue;
    try {
      return short_api_name(stem.substr(0, at));
    } catch (const SkipError&) {
    }
  }
  return {};
}

int run(const Options& options, bool on_terminal) {
  try {
    return options.cases_path.empty() ? compare_files(options, on_terminal) : compare_cases(options);
  } catch (const SkipError& error) {
    throw UserError(error.what());
  }
}

}  // namespace msrun::tensor_compare
