#include "kernels/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "kernels/api/api_call.h"
#include "kernels/api/value.h"
#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/compare/choices/freedom.h"
#include "kernels/compare/choices/ties.h"
#include "kernels/compare/metrics/metrics.h"

namespace msrun {
namespace {

constexpr const char* type_differs = "bench and npu output type is different.";
constexpr const char* structure_differs = "bench and npu output structure is different.";
constexpr const char* keys_differ = "bench and npu output dict keys are different.";

std::string class_of(const Value& value) {
  const bool undefined = (value.is<Tensor>() || value.is<Var>()) && tensor_in(value) == nullptr;
  return undefined ? "NoneType" : python_type(value);
}

const Value* find(const Dict& dict, const std::string& key) {
  const auto found = std::ranges::find(dict, key, &std::pair<std::string, Value>::first);
  return found == dict.end() ? nullptr : &found->second;
}

bool same_keys(const Dict& a, const Dict& b) {
  const auto covers = [](const Dict& outer, const Dict& inner) {
    return std::ranges::all_of(inner, [&](const auto& item) { return find(outer, item.first) != nullptr; });
  };
  return covers(a, b) && covers(b, a);
}

// Python scalars and text, row 5 of precision_metrics.md 2.3: compared exactly.
struct ScalarEquality {
  bool equal = false;
  bool as_nan = false;
};
std::optional<ScalarEquality> compare_scalars(const Value& bench, const Value& device) {
  if (const auto* b = bench.get<bool>()) {
    if (const auto* d = device.get<bool>()) return ScalarEquality{*b == *d};
    if (const auto* d = device.get<std::int64_t>()) return ScalarEquality{static_cast<std::int64_t>(*b) == *d};
  }
  if (const auto* b = bench.get<std::int64_t>()) {
    if (const auto* d = device.get<std::int64_t>()) return ScalarEquality{*b == *d};
  }
  if (const auto* b = bench.get<double>()) {
    if (const auto* d = device.get<double>()) return ScalarEquality{*b == *d, std::isnan(*b) && std::isnan(*d)};
  }
  if (const auto* b = bench.get<std::string>()) {
    if (const auto* d = device.get<std::string>()) return ScalarEquality{*b == *d};
  }
  return std::nullopt;
}

// Item index of what upstream takes for a sequence, with the error Python raises where it is none.
Value item_of(const Value& value, std::size_t index) {
  if (const List* list = value.get<List>()) {
    if (index < list->size()) return (*list)[index];
    throw SkipError("list index out of range");
  }
  if (const Tensor* tensor = tensor_in(value)) {
    if (tensor->rank() == 0) throw SkipError("len() of a 0-d tensor");
    if (static_cast<std::int64_t>(index) < tensor->size(0)) return tensor->select(0, static_cast<std::int64_t>(index));
    throw SkipError("index " + std::to_string(index) + " is out of bounds for dimension 0 with size " +
                    std::to_string(tensor->size(0)));
  }
  throw SkipError("object of type '" + class_of(value) + "' has no len()");
}

// Compares two results leaf by leaf, one row each.
class Walk {
 public:
  Walk(std::string_view api, bool fp8_input, const CompareOptions& options, bool of_gradients = false)
      : api_(api), fp8_input_(fp8_input), options_(options), of_gradients_(of_gradients) {}

  void outputs(const Value& bench, const Value& device) {
    const List* items = bench.get<List>();
    if (options_.compat_msprobe && items != nullptr) {
      for (std::size_t i = 0; i < items->size(); ++i) pair((*items)[i], item_of(device, i));
    } else {
      pair(bench, device);
    }
  }

  std::vector<DetailsRow>& rows() { return rows_; }

  // precision_metrics.md 2.2; upstream lets the last row that is neither pass nor SKIP decide.
  Comparison finish() {
    Comparison comparison;
    for (const DetailsRow& row : rows_) {
      if (row.status == Status::pass || row.status == Status::skip) continue;
      if (options_.compat_msprobe || comparison.status != Status::error) comparison.status = row.status;
    }
    if (rows_.empty()) comparison.weak_evidence = WeakEvidence::nothing_compared;
    comparison.rows = std::move(rows_);
    comparison.pairs = std::move(pairs_);
    comparison.pairs.resize(comparison.rows.size());
    return comparison;
  }

 private:
  void add(Status status, std::string message) {
    DetailsRow& row = rows_.emplace_back(pytorch_columns());
    row.status = status;
    row.message = std::move(message);
  }

  // precision_metrics.md 2.3.
  void pair(const Value& bench, const Value& device) {
    if (const Unsupported* unsupported = bench.get<Unsupported>()) throw SkipError(unsupported->reason);
    if (const Unsupported* unsupported = device.get<Unsupported>()) {
      add(Status::skip, unsupported->reason);
      if (of_gradients_ && !options_.compat_msprobe && is_owed(bench)) note_unchecked_gradient(rows_.back());
      return;
    }
    const std::string bench_class = class_of(bench);
    const std::string device_class = class_of(device);
    const bool bool_as_int = bench_class == "bool" && device_class == "int";
    if (bench_class != device_class && !bool_as_int) {
      add(Status::error, type_differs);
    } else if (const Dict* dict = bench.get<Dict>()) {
      dicts(*dict, *device.get<Dict>());
    } else if (const List* list = bench.get<List>(); list != nullptr && !options_.compat_msprobe) {
      lists(*list, *device.get<List>());
    } else if (const Tensor* tensor = tensor_in(bench)) {
      const Tensor& other = *tensor_in(device);
      const Standard standard = select_standard(api_, other.dtype(), fp8_input_, options_.policy);
      rows_.push_back(compare_tensors(api_, *tensor, other, standard, options_));
      pairs_.resize(rows_.size());
      pairs_.back() = {*tensor, other};
    } else if (const auto equality = compare_scalars(bench, device)) {
      scalars(*equality, bench_class, device_class);
    } else if (bench_class == "NoneType") {
      add(Status::skip, "Bench output is None, skip this test.");
    } else {
      unexpected(bench_class);
    }
  }

  void unexpected(const std::string& class_name) {
    add(Status::error, "Unexpected output type in compare_core: <class '" + class_name + "'>");
  }

  void lists(const List& bench, const List& device) {
    // What the benchmark has no value for may be missing behind all others.
    std::size_t owed = bench.size();
    while (owed > 0 && bench[owed - 1].is<Unsupported>()) --owed;
    if (device.size() < owed || device.size() > bench.size()) {
      add(Status::error, structure_differs);
      return;
    }
    for (std::size_t i = 0; i < device.size(); ++i) {
      if (const Unsupported* unsupported = bench[i].get<Unsupported>()) {
        add(Status::skip, unsupported->reason);
      } else {
        pair(bench[i], device[i]);
      }
    }
  }

  void dicts(const Dict& bench, const Dict& device) {
    if (!same_keys(bench, device)) {
      add(Status::error, keys_differ);
    } else if (options_.compat_msprobe) {
      unexpected("list");  // upstream hands the list of values to a function that takes no lists
    } else {
      for (const auto& [key, value] : bench) pair(value, *find(device, key));
    }
  }

  void scalars(const ScalarEquality& equality, const std::string& bench_class, const std::string& device_class) {
    const bool nan_counts = equality.as_nan && !options_.compat_msprobe;
    DetailsRow row(pytorch_columns());
    row.bench_dtype = "<class '" + bench_class + "'>";
    row.device_dtype = "<class '" + device_class + "'>";
    if (equality.equal || nan_counts) {
      row[Metric::binary_error_rate] = Cell::integer(0);
      if (nan_counts) row.message = "NaN is the same on both sides and counts as equal.\n";
    } else {
      row.status = Status::error;
      // Left blank, the mismatch would later be taken for a row without a verdict.
      if (!options_.compat_msprobe) row[Metric::binary_error_rate] = Cell::integer(1);
    }
    rows_.push_back(std::move(row));
  }

  std::string api_;
  bool fp8_input_;
  const CompareOptions& options_;
  bool of_gradients_;
  std::vector<DetailsRow> rows_;
  std::vector<Comparison::Pair> pairs_;
};

// Whether so many random choices of equal probability give shares that differ so: by no more than six standard
// deviations of the difference of two binomial shares.
bool difference_is_chance(double share_a, double share_b, std::int64_t draws) {
  const double share = (share_a + share_b) / 2;
  return std::abs(share_a - share_b) <= 6 * std::sqrt(2 * share * (1 - share) / static_cast<double>(draws));
}

// How many random choices made the zeros of a tensor.
std::int64_t draws_of(const OperatorTraits& traits, const Tensor& tensor) {
  if (!traits.random_channels || tensor.rank() < 2) return tensor.numel();
  // A tensor of two axes may have channels on the first, and the length of each on the second.
  return tensor.rank() == 2 ? tensor.size(0) : tensor.size(0) * tensor.size(1);
}

// precision_metrics.md 2.4: which elements are zero is random, so only the shares of zeros are compared. Of a tuple the
// first output counts.
Comparison compare_shares_of_zeros(const OperatorTraits& traits, const Value& bench, const Value& device,
                                   const CompareOptions& options) {
  const auto tensor_of = [&](const Value& value) -> const Tensor* {
    const List* list = value.get<List>();
    if (list == nullptr) return tensor_in(value);
    if (options.compat_msprobe) throw SkipError("'" + class_of(value) + "' object has no attribute 'numel'");
    return list->empty() ? nullptr : tensor_in(list->front());
  };
  const Tensor* bench_tensor = tensor_of(bench);
  const Tensor* device_tensor = tensor_of(device);
  if (bench_tensor == nullptr) throw SkipError("Bench output of dropout is not a tensor, skip this test.");
  Comparison comparison;
  const bool fits =
      device_tensor != nullptr && (options.compat_msprobe || device_tensor->shape() == bench_tensor->shape());
  if (!fits) {
    comparison.status = Status::error;
    return comparison;
  }
  const std::int64_t count = bench_tensor->numel();
  const std::int64_t zeros = zero_count(*device_tensor);
  if (zeros == count) comparison.weak_evidence = WeakEvidence::all_dropped;
  if (count < 100) {
    comparison.weak_evidence = WeakEvidence::nothing_compared;
    return comparison;
  }
  const std::int64_t expected = zero_count(*bench_tensor);
  const auto share_of = [count](std::int64_t part) { return static_cast<double>(part) / static_cast<double>(count); };
  const bool alike = share_of(std::abs(expected - zeros)) < 0.1;
  comparison.status = alike ? Status::pass : Status::error;
  comparison.by_chance =
      !alike && difference_is_chance(share_of(zeros), share_of(expected), draws_of(traits, *bench_tensor));
  return comparison;
}

// Decision 17: of tied elements either index is right. Rewrites the row of an index output.
void accept_ties(const TieRule& ties, const Value& bench, const Value& device, const Value* first_input,
                 std::vector<DetailsRow>& rows) {
  TiePair pair;
  std::size_t row = 0;
  const List* bench_items = bench.get<List>();
  const List* device_items = device.get<List>();
  if (bench_items != nullptr && device_items != nullptr) {
    if (!are_beside_values(ties.indices) || bench_items->size() < 2 || device_items->size() < 2) return;
    if (ties.indices == IndexOutput::of_values && bench_items->size() != 2) return;
    pair.bench_values = tensor_in((*bench_items)[0]);
    pair.device_values = tensor_in((*device_items)[0]);
    pair.bench_indices = tensor_in((*bench_items)[1]);
    pair.device_indices = tensor_in((*device_items)[1]);
    row = 1;
  } else if (!are_beside_values(ties.indices)) {
    pair.bench_indices = tensor_in(bench);
    pair.device_indices = tensor_in(device);
  }
  if (row >= rows.size() || rows[row].status != Status::error) return;
  if (first_input != nullptr) pair.input = tensor_in(*first_input);
  const auto judged = judge_ties(ties, pair);
  if (!judged || judged->accepted == 0) return;
  const auto count = static_cast<double>(pair.device_indices->numel());
  rows[row][Metric::binary_error_rate] = Cell::fp64(static_cast<double>(judged->wrong) / count);
  rows[row].status = judged->wrong == 0 ? Status::pass : Status::error;
  add_line(rows[row], std::to_string(judged->accepted) +
                          " indices differ from the benchmark's but select equal values, they count as equal.");
}

}  // namespace

std::string short_api_name(std::string_view full_name) {
  std::optional<ApiName> name = ApiName::parse(full_name);
  if (!name) throw SkipError("API name " + std::string(full_name) + " has not been adapted.");
  return std::move(name->api);
}

Comparison skipped(std::string reason) {
  Comparison comparison;
  comparison.status = Status::skip;
  DetailsRow& row = comparison.rows.emplace_back();
  row.status = Status::skip;
  row.message = bounded(readable(std::move(reason)));
  return comparison;
}

Comparison compare_outputs(std::string_view full_name, const OperatorTraits& traits, const Value& bench,
                           const Value& device, bool fp8_input, const CompareOptions& options,
                           const Value* first_input) {
  const std::string api = short_api_name(full_name);
  if (traits.random_zeros) return compare_shares_of_zeros(traits, bench, device, options);
  Walk walk(api, fp8_input, options);
  std::optional<Alignment> alignment;
  if (!options.compat_msprobe) alignment = Alignment::find(traits.freedom, bench, device, first_input);
  walk.outputs(bench, alignment ? alignment->turned(device) : device);
  for (std::size_t i = 0; alignment && i < walk.rows().size(); ++i) {
    if (alignment->changes(i)) add_line(walk.rows()[i], alignment->message());
  }
  if (!options.compat_msprobe) accept_ties(traits.ties, bench, device, first_input, walk.rows());
  return walk.finish();
}

bool is_owed(const Value& gradient) {
  const Tensor* tensor = tensor_in(gradient);
  return tensor != nullptr && (is_complex(tensor->dtype()) || zero_count(*tensor) != tensor->numel());
}

void note_unchecked_gradient(DetailsRow& row) {
  row.trust.weak_evidence = WeakEvidence::backward_unchecked;
  add_verdict(row, weak_evidence_sentence(row.trust.weak_evidence));
}

std::optional<Comparison> compare_gradients(std::string_view full_name, const OperatorTraits& traits,
                                            const std::vector<Value>& bench, const std::vector<Value>& device,
                                            bool fp8_input, const CompareOptions& options) {
  const std::string api = short_api_name(full_name);
  if (bench.empty() || device.empty()) return std::nullopt;
  if (traits.random_zeros) return compare_shares_of_zeros(traits, bench.front(), device.front(), options);
  Walk walk(api, fp8_input, options, true);
  walk.outputs(bench, device);
  return walk.finish();
}

}  // namespace msrun
