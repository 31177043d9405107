#include "kernels/compare/policies/att_compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/compare/details_csv.h"
#include "kernels/compare/metrics/metrics.h"
#include "kernels/compare/policies/att_measures.h"
#include "kernels/io/files/csv.h"

namespace msrun {
namespace {

constexpr const char* type_differs = "bench and npu output type is different.";
constexpr const char* structure_differs = "bench and npu output structure is different";
constexpr const char* none_text = "output is None";
constexpr const char* tuple_without_count = "'tuple' object has no attribute 'numel'";
// The dtypes and the shape of a whole output that could not be walked: the first letter of "N/A".
constexpr const char* first_letter = "N";
constexpr const char* not_applicable = "N/A";

// Null for a Var, too: what is compared here has left the tape.
const Tensor* bare_tensor_in(const Value& value) {
  const Tensor* tensor = value.get<Tensor>();
  return tensor != nullptr && tensor->defined() ? tensor : nullptr;
}

std::string class_text(const Value& value) { return "<class '" + python_type(value) + "'>"; }

// Python's isinstance(bench, type(device)): a bool is an int.
bool is_instance(const Value& bench, const Value& device) {
  const std::string device_class = python_type(device);
  return python_type(bench) == device_class || (bench.is<bool>() && device_class == "int");
}

std::optional<bool> equal_scalars(const Value& bench, const Value& device, bool raw) {
  if (const auto* b = bench.get<bool>()) {
    if (const auto* d = device.get<bool>()) return *b == *d;
    if (const auto* d = device.get<std::int64_t>()) return static_cast<std::int64_t>(*b) == *d;
  }
  if (const auto* b = bench.get<std::int64_t>()) return *b == *device.get<std::int64_t>();
  if (const auto* b = bench.get<double>()) {
    const double d = *device.get<double>();
    return *b == d || (!raw && std::isnan(*b) && std::isnan(d));
  }
  if (const auto* b = bench.get<std::string>()) return *b == *device.get<std::string>();
  return std::nullopt;
}

class AttWalk {
 public:
  explicit AttWalk(bool raw) : raw_(raw) {}

  void pair(const Value& bench, const Value& device, bool whole) {
    for (const Value* side : {&bench, &device}) {
      if (const Unsupported* unsupported = side->get<Unsupported>()) throw SkipError(unsupported->reason);
    }
    if (bench.is_none() && device.is_none()) {
      add_text(not_applicable, none_text, Status::skip);
      return;
    }
    if (!is_instance(bench, device)) {
      const bool none = !raw_ && (bench.is_none() || device.is_none());
      add_text(whole && !none ? first_letter : not_applicable, type_differs, Status::error);
    } else if (const List* list = bench.get<List>()) {
      lists(*list, *device.get<List>(), whole);
    } else if (const Dict* dict = bench.get<Dict>()) {
      dicts(*dict, *device.get<Dict>(), whole);
    } else if (const Tensor* tensor = bare_tensor_in(bench)) {
      tensors(*tensor, *bare_tensor_in(device));
    } else if (const std::optional<bool> equal = equal_scalars(bench, device, raw_)) {
      scalars(bench, device, *equal);
    } else {
      add_text(whole ? first_letter : not_applicable,
               "Unexpected output type                      in compare_core: " + class_text(bench), Status::pass);
    }
  }

  Comparison finish() {
    Comparison comparison;
    comparison.status = verdict_.passes() ? Status::pass : Status::error;
    if (rows_.empty()) comparison.weak_evidence = WeakEvidence::nothing_compared;
    comparison.rows = std::move(rows_);
    comparison.pairs = std::move(pairs_);
    return comparison;
  }

 private:
  DetailsRow& add(DetailsRow row, const AttTruths& truths, bool is_none = false) {
    row.status = is_none ? Status::skip : truths.passes() ? Status::pass : Status::error;
    verdict_.and_also(truths);
    pairs_.emplace_back();
    return rows_.emplace_back(std::move(row));
  }

  // A row that says the same beside every measure.
  void add_text(const char* dtype, const std::string& text, Status status) {
    DetailsRow row(att_columns());
    row.bench_dtype = row.device_dtype = row.shape = dtype;
    row.message = text + "\n";
    add(std::move(row), AttTruths::all(status != Status::error), status == Status::skip);
  }

  void lists(const List& bench, const List& device, bool whole) {
    if (bench.size() != device.size()) {
      add_text(whole ? first_letter : not_applicable, structure_differs, Status::error);
      return;
    }
    for (std::size_t i = 0; i < bench.size(); ++i) pair(bench[i], device[i], false);
  }

  void dicts(const Dict& bench, const Dict& device, bool whole) {
    const auto key = [](const auto& item) -> const std::string& { return item.first; };
    if (bench.size() != device.size() || (!raw_ && !std::ranges::equal(bench, device, {}, key, key))) {
      add_text(whole ? first_letter : not_applicable, structure_differs, Status::error);
      return;
    }
    for (std::size_t i = 0; i < bench.size(); ++i) pair(bench[i].second, device[i].second, false);
  }

  void tensors(const Tensor& bench, const Tensor& device) {
    AttMeasures measures = measure_att(bench, device, raw_);
    DetailsRow row(att_columns());
    row.bench_dtype = torch_name(bench.dtype());
    row.device_dtype = torch_name(device.dtype());
    row.shape = tuple_text(device.shape());
    row.cells.assign(measures.cells.begin(), measures.cells.end());
    row.message = measures.message + "\n";
    add(std::move(row), measures.truths);
    pairs_.back() = {bench, device};
  }

  void scalars(const Value& bench, const Value& device, bool equal) {
    DetailsRow row(att_columns());
    row.bench_dtype = class_text(bench);
    row.device_dtype = row.shape = class_text(device);
    const Cell cell = equal ? att_true_cell() : Cell::fp64(std::numeric_limits<double>::quiet_NaN());
    row.cells.assign(att_columns().size(), cell);
    row.message = "\n";
    add(std::move(row), AttTruths::all(equal));
  }

  bool raw_;
  AttTruths verdict_ = AttTruths::all(true);
  std::vector<DetailsRow> rows_;
  std::vector<Comparison::Pair> pairs_;
};

// Only the share of zeros counts, and that of fewer than a hundred elements proves nothing.
Comparison compare_zeros(const Value& bench, const Value& device, bool raw) {
  const auto tensor_of = [&](const Value& value) -> const Tensor* {
    const List* list = value.get<List>();
    if (list == nullptr) return bare_tensor_in(value);
    if (raw) throw SkipError(tuple_without_count);
    return list->empty() ? nullptr : bare_tensor_in(list->front());
  };
  const Tensor* of_bench = tensor_of(bench);
  const Tensor* of_device = tensor_of(device);
  if (of_bench == nullptr || of_device == nullptr) throw SkipError("The output of dropout is not a tensor.");
  Comparison comparison;
  const std::int64_t count = of_bench->numel();
  if (zero_count(*of_device) == of_device->numel()) comparison.weak_evidence = WeakEvidence::all_dropped;
  if (count < 100) {
    comparison.weak_evidence = WeakEvidence::nothing_compared;
    return comparison;
  }
  const std::int64_t difference = std::abs(zero_count(*of_bench) - zero_count(*of_device));
  const bool alike = static_cast<double>(difference) / static_cast<double>(count) < 0.1;
  comparison.status = alike ? Status::pass : Status::error;
  return comparison;
}

}  // namespace

Comparison compare_att_outputs(const Value& bench, const Value& device, const AttOptions& options) {
  if (options.drops_at_random) return compare_zeros(bench, device, options.raw);
  AttWalk walk(options.raw);
  walk.pair(bench, device, true);
  return walk.finish();
}

std::optional<Comparison> compare_att_gradients(const std::vector<Value>& bench, const std::vector<Value>& device,
                                                const AttOptions& options) {
  if (bench.empty() || device.empty()) return std::nullopt;
  if (options.drops_at_random) return compare_zeros(bench.front(), device.front(), options.raw);
  AttWalk walk(options.raw);
  if (bench.size() != device.size()) {
    walk.pair(List(bench.begin(), bench.end()), List(device.begin(), device.end()), true);
  } else {
    for (std::size_t i = 0; i < bench.size(); ++i) walk.pair(bench[i], device[i], false);
  }
  return walk.finish();
}

void append_att_cells(std::string& out, const DetailsRow& row, bool passes, bool raw, int precision) {
  for (const std::string* field : {&row.bench_dtype, &row.device_dtype, &row.shape}) {
    out += ',';
    append_csv_field(out, *field);
  }
  const std::string message = row.message.substr(0, row.message.find('\n'));
  const AttMessages messages = att_messages(row, message, raw);
  for (std::size_t i = 0; i < att_columns().size(); ++i) {
    out += ',';
    att_columns().write(out, row[att_columns().columns()[i].metric], precision);
    out += ',';
    append_csv_field(out, messages[i]);
  }
  out += passes ? ",True" : ",False";
  out += csv_row_end;
}

bool is_att_failure_to_compare(const std::string& reason) {
  return reason == att_shape_failure || reason == att_empty_failure || reason == tuple_without_count;
}

}  // namespace msrun
