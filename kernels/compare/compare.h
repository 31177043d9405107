// The verdict on one API call: its outputs, or its gradients, on the device against the benchmark's.
//
// Walks both results in parallel, compares every pair of leaves (precision_metrics.md 2 to 4), and lets the status walk
// of section 7 judge the metrics of float tensors. By default upstream's false passes and lost verdicts are mended
// (decision 2: a wrong number never reads pass); compat_msprobe restores upstream cell by cell. Nothing here runs an
// API or writes a file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/operator_traits.h"
#include "kernels/api/value.h"
#include "kernels/compare/details.h"
#include "kernels/compare/metrics/standards.h"

namespace msrun {

struct CompareOptions {
  Policy policy = Policy::per_api;
  Limits limits = Limits::current;
  bool compat_msprobe = false;
  // Limit of the maximum absolute error in MindSpore's check, which must stay below it (decision 5).
  double max_abs_error = 0.0001;
  // Short names of APIs whose integer outputs may be off by one.
  std::vector<std::string> quantization_apis = {"npu_rms_norm_dynamic_quant", "npu_dynamic_quant",
                                                "npu_quant_lightning_indexer"};
};

// One direction of one API call: the rows of the details file in order (suffix .0, .1...) and the cell of the result
// file.
struct Comparison {
  Status status = Status::pass;
  std::vector<DetailsRow> rows;
  // The tensors behind each row, as they were compared; undefined where a row has none.
  struct Pair {
    Tensor bench;
    Tensor device;
  };
  std::vector<Pair> pairs = {};
  // Where there are no rows: why the status proves little, and whether chance makes differences as large.
  WeakEvidence weak_evidence = WeakEvidence::none;
  bool by_chance = false;
  bool of_gradients = false;  // for the judge, of a backward
  // Chance accounts for a status that no row does.
  bool is_chance() const { return status == Status::pass || !rows.empty() || by_chance; }
};

// "softmax" of "Functional.softmax.0", "linalg.inv" of "Torch.linalg.inv.0", "add" of "Aten.add.Tensor.0". Throws
// SkipError for any other number of segments.
std::string short_api_name(std::string_view full_name);

// Whether a device has to give that gradient of the benchmark, as it need not give one of zeros.
bool is_owed(const Value& gradient);

// Says of the row of a gradient that it was not checked, whatever those of the call's others are, and that the call's
// agreement proves little for it.
void note_unchecked_gradient(DetailsRow& row);

// A direction that was not compared: one row without metrics.
Comparison skipped(std::string reason);

// Compares outputs. Leaves are Tensor or Var, Python scalars, text or None; lists and dicts may nest. The name selects
// the standards; traits are those of its operator. fp8_input is set when an input tensor of the API is float8.
// first_input, where given, is the call's first argument: with it an index output is judged by the value it selects
// (ties.h), and vectors of a decomposition are brought to the benchmark's choice of signs first (freedom.h). Throws
// SkipError for what cannot be compared at all, and under compat wherever upstream's comparison raises: the whole API
// is SKIP then.
Comparison compare_outputs(std::string_view full_name, const OperatorTraits& traits, const Value& bench,
                           const Value& device, bool fp8_input, const CompareOptions& options,
                           const Value* first_input = nullptr);

// Compares gradients in argument order, None where a tensor has none; Unsupported on the device's side makes a SKIP row
// of its reason. Nothing is returned if either side has no
// gradients: the result cell stays blank.
std::optional<Comparison> compare_gradients(std::string_view full_name, const OperatorTraits& traits,
                                            const std::vector<Value>& bench, const std::vector<Value>& device,
                                            bool fp8_input, const CompareOptions& options);

// One pair of tensors by a given standard.
DetailsRow compare_tensors(std::string_view api, const Tensor& bench, const Tensor& device, Standard standard,
                           const CompareOptions& options);

}  // namespace msrun
