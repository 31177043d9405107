#include "orchestrator/session/att_log.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <spdlog/spdlog.h>

#include "kernels/api/call_codec.h"
#include "kernels/base/text.h"
#include "kernels/compare/policies/att_measures.h"
#include "orchestrator/session/run_form.h"
#include "runner/dialects/att.h"

namespace msrun {
namespace {

std::string logged_api_of(const std::string& name) {
  const std::optional<ApiName> parts = ApiName::parse(name);
  return parts ? parts->api : name;
}

// A call that could not be checked; some reasons of torch the old tool told how to be mended.
void log_failure(const std::string& name, const std::string& shown, const std::string& reason) {
  struct Hint {
    std::string_view text;
    std::string_view what;
    std::string_view list;
  };
  static constexpr std::array<Hint, 2> hints{{{"not implemented for 'Half'", "half", "fp16_to_fp32"},
                                              {"expected scalar type Long", "int32", "int32_to_int64"}}};
  const auto hint =
      std::ranges::find_if(hints, [&](const Hint& known) { return reason.find(known.text) != std::string::npos; });
  if (hint == hints.end()) {
    spdlog::error("Run {} UT Error: {}", shown, sanitised(reason));
    return;
  }
  const std::string api = logged_api_of(name);
  spdlog::warn(
      "API {} not support {} tensor in CPU, please add {} to CONVERT_API '{}' list in "
      "accuracy_tools/api_accuracy_check/common/utils.py file.",
      api, hint->what, api, hint->list);
}

// The old tool complained once for each measure of outputs whose dtype it did not know.
void log_unknown_dtypes(const std::vector<DetailsRow>& rows) {
  static constexpr std::array<std::string_view, 5> known{"bool", "uint8", "int32", "int64", "float"};
  constexpr std::string_view prefix = "torch.";
  for (const DetailsRow& row : rows) {
    if (row.message.find(", cannot compare.") == std::string::npos || !row.bench_dtype.starts_with(prefix)) continue;
    const std::string bench = row.bench_dtype.substr(prefix.size());
    const std::string device = row.device_dtype.substr(prefix.size());
    if (std::ranges::any_of(known, [&](std::string_view name) { return bench.starts_with(name); })) continue;
    for (std::size_t i = 0; i < att_measure_count; ++i) spdlog::warn("Compare: Unexpected dtype {}, {}", bench, device);
  }
}

}  // namespace

void AttLog::api_result(const ApiResult& result) {
  other_.api_result(result);
  waiting_.emplace(result.task, result);
  while (true) {
    const auto first = waiting_.begin();
    if (first != waiting_.end() && first->first == next_) {
      say(first->second);
      waiting_.erase(first);
    } else if (next_ >= plan_.tasks.size() || !is_done_(next_)) {
      return;
    }
    ++next_;
  }
}

void AttLog::run_finished(const RunFinished& event) {
  say_rest();
  other_.run_finished(event);
}

void AttLog::say_rest() {
  for (const auto& [task, result] : waiting_) say(result);
  waiting_.clear();
}

void AttLog::say(const ApiResult& result) const {
  const AttVerdict verdict = att_verdict(result, raw_);
  if (verdict.left_out) return;
  const auto found = names_.find(result.name);
  const std::string& shown = found == names_.end() ? result.name : found->second;
  const PlanRecord& record = plan_.tasks[result.task];
  if (record.call_size > 0) {
    const ApiCall call = decode_call(plan_.call(result.task));
    if (call.args.empty()) spdlog::warn("Warning: No args in {}", shown);
    if (writes_into_argument(call)) {
      spdlog::warn("{} function with out=... arguments don't support automatic differentiation, skip backward.", shown);
    }
  }
  log_unknown_dtypes(result.forward_rows);
  log_unknown_dtypes(result.backward_rows);
  if (!result.message.empty()) log_failure(result.name, shown, result.message);
}

void log_att_overflow(const ApiResult& result, const std::string& recorded_name, const PlanView& plan) {
  const PlanRecord& record = plan.tasks[result.task];
  if (!result.overflow) {
    log_failure(result.name, recorded_name, result.message);
    return;
  }
  const ApiCall call = decode_call(plan.call(result.task));
  if (writes_into_argument(call)) {
    spdlog::warn("{} involves in-place operations, skip backward", recorded_name);
  } else if (record.grad_size > 0 && !logged_api_of(result.name).ends_with('_')) {
    spdlog::warn("Backward of {} is not checked.", recorded_name);
  }
  const bool abnormal = result.overflow->verdict == OverflowFinding::Verdict::abnormal;
  spdlog::warn("The {} overflow is {} overflow.", recorded_name, abnormal ? "an abnormal" : "a normal");
}

}  // namespace msrun
