#include "orchestrator/session/csv_evidence.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "kernels/api/call_codec.h"
#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/tensor/dtype.h"
#include "kernels/tensor/mindspore_dtype.h"
#include "kernels/tensor/tensor.h"
#include "orchestrator/session/input.h"

namespace msrun {
namespace {

using Sizes = std::vector<std::int64_t>;
using Spec = std::shared_ptr<const TensorSpec>;

std::optional<DType> dtype_of(std::string_view text) {
  const std::optional<DType> dtype = parse_dtype(text);
  return dtype ? dtype : parse_mindspore_dtype(text);
}

// The sizes in "(4, 32)", "(4,)" and "()"; nothing for other text.
std::optional<Sizes> sizes_in(std::string_view text) {
  if (!text.starts_with('(') || !text.ends_with(')') || text.size() < 2) return std::nullopt;
  text = text.substr(1, text.size() - 2);
  Sizes sizes;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const auto size = parse_number<std::int64_t>(text.substr(0, end));
    if (!size) return std::nullopt;
    sizes.push_back(*size);
    text.remove_prefix(std::min(end + 1, text.size()));
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  return sizes;
}

// The tensors among the leaves, and whether all leaves are tensors.
std::pair<std::vector<Spec>, bool> tensors_in(const Value& value) {
  std::vector<Spec> tensors;
  bool all = true;
  for_each_leaf(value, [&](const Value& leaf) {
    if (const auto* spec = leaf.get<Spec>()) {
      tensors.push_back(*spec);
    } else {
      all = false;
    }
  });
  return {std::move(tensors), all};
}

// What the recording says of one call.
class RecordedCall {
 public:
  RecordedCall(const PlanView& plan, std::uint32_t task) {
    has_backward_ = !plan.gradients(task).empty() || plan.tasks[task].lone_backward;
    if (plan.call(task).empty()) return;
    const ApiCall call = decode_call(plan.call(task));
    is_known_ = true;
    for (const Spec& spec : tensors_in(Value(call.args)).first) see_argument(*spec);
    for (const Spec& spec : tensors_in(Value(call.kwargs)).first) see_argument(*spec);
    std::string_view outputs = plan.outputs(task);
    if (!outputs.empty()) std::tie(outputs_, only_tensors_) = tensors_in(decode_value(outputs));
  }

  // Why the result cannot be of this call: a clause that begins with the row's name; nothing if it can.
  std::optional<std::string> contradiction(const ApiResult& result) const {
    if (!is_known_) return std::nullopt;
    for (std::size_t i = 0; i < result.forward_rows.size(); ++i) {
      const auto clause = contradiction(result.forward_rows[i], i);
      if (clause) return result.name + ".forward.output." + std::to_string(i) + " " + *clause;
    }
    for (std::size_t i = 0; i < result.backward_rows.size() && !has_backward_; ++i) {
      if (!sizes_in(result.backward_rows[i].shape)) continue;
      return result.name + ".backward.output." + std::to_string(i) +
             " is there, and the recording has no backward of the call";
    }
    return std::nullopt;
  }

 private:
  void see_argument(const TensorSpec& spec) {
    sizes_.insert(spec.shape.begin(), spec.shape.end());
    if (const auto dtype = dtype_of(spec.dtype)) dtypes_.insert(*dtype);
  }

  // Where some outputs are no tensors, a row may be of any of those that are.
  std::optional<std::string> contradiction(const DetailsRow& row, std::size_t index) const {
    std::optional<std::string> first;
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (only_tensors_ && i != index) continue;
      std::optional<std::string> clause = contradiction(row, *outputs_[i]);
      if (!clause) return std::nullopt;
      if (!first) first = std::move(clause);
    }
    return first;
  }

  std::optional<std::string> contradiction(const DetailsRow& row, const TensorSpec& output) const {
    const std::optional<Sizes> sizes = sizes_in(row.shape);
    if (!sizes) return std::nullopt;
    if (differ(*sizes, output.shape)) {
      return "has the shape " + sanitised(row.shape) + ", and the recording says " + tuple_text(output.shape);
    }
    const std::optional<DType> there = dtype_of(row.device_dtype);
    const std::optional<DType> here = dtype_of(output.dtype);
    const bool both_floating = there && here && is_floating(*there) && is_floating(*here);
    if (!both_floating || there == here || dtypes_.contains(*there)) return std::nullopt;
    if (*there == DType::float64 && dtype_of(row.bench_dtype) == there) return std::nullopt;
    return "is of " + sanitised(row.device_dtype) + ", and the recording says " + sanitised(output.dtype);
  }

  bool differ(const Sizes& there, const Sizes& here) const {
    if (there.size() != here.size()) return true;
    std::size_t count = 0;
    for (std::size_t axis = 0; axis < here.size(); ++axis) {
      if (there[axis] == here[axis]) continue;
      if (sizes_.contains(here[axis]) || ++count > 1) return true;
    }
    return false;
  }

  bool is_known_ = false;
  bool has_backward_ = false;
  bool only_tensors_ = true;
  std::vector<Spec> outputs_;
  std::set<std::int64_t> sizes_;  // of the arguments' axes
  std::set<DType> dtypes_;        // of the arguments
};

void warn_if_recorded_later(const Options& options, const std::string& result) {
  const std::string& recording = options.api_info.empty() ? options.forward : options.api_info;
  std::error_code no_recording;
  std::error_code no_result;
  const auto recorded = std::filesystem::last_write_time(recording, no_recording);
  const auto checked = std::filesystem::last_write_time(result, no_result);
  if (no_recording || no_result || recorded <= checked) return;
  spdlog::warn(
      "-csv_path: {} was written after {}, and there is no journal to tell whether the rows are of it: if it was "
      "recorded anew, check it in a run of its own.",
      sanitised(recording), result);
}

}  // namespace

void require_rows_of_recording(const SessionState& session, const EarlierRun& run, const std::string& result) {
  warn_if_recorded_later(session.options, result);
  const Plan whole = read_whole_plan(session.options, session.recordings, true);
  std::unordered_map<std::string_view, std::uint32_t> tasks;
  for (std::uint32_t task = 0; task < whole.size(); ++task) tasks.emplace(whole.view().name(task), task);
  std::size_t rows = 0;
  std::size_t contradicting = 0;
  std::string first;
  for (const StoredResults* results : {&run.results, &run.kept.results}) {
    for (std::uint32_t i = 0; i < results->tasks(); ++i) {
      if (!results->has(i)) continue;
      ++rows;
      const ApiResult of_call = results->get(i);
      const auto task = tasks.find(of_call.name);
      if (task == tasks.end()) continue;
      const auto clause = RecordedCall(whole.view(), task->second).contradiction(of_call);
      if (clause && contradicting++ == 0) first = *clause;
    }
  }
  if (contradicting == 0) return;
  throw UserError("-csv_path: " + std::to_string(contradicting) + " of the " + std::to_string(rows) + " rows of " +
                  result + " are not of this recording, by their details (the first: " + first +
                  "): the file is of another recording with calls of the same names. Nothing was changed.");
}

}  // namespace msrun
