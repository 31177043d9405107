#include "tools/run_diff/compare.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "kernels/base/text.h"
#include "runner/results/counts.h"
#include "runner/results/reason.h"
#include "tools/run_diff/facts.h"
#include "tools/run_diff/standing.h"

namespace msrun::run_diff {
namespace {

// Decimals of the numbers of the CSV files unless the user asks for others: what is beyond them is no change.
constexpr int precision = 14;

constexpr std::array<std::string_view, change_count> change_texts{
    "new",   "still", "not comparable", "removed", "added", "changed status", "changed metrics", "changed bits",
    "fixed", "same"};

constexpr std::array<std::string_view, 11> state_texts{"pass",         "proves little", "explained by rounding",
                                                       "suspicious",   "failed to run", "not checkable",
                                                       "SKIP by rule", "warning",       "error",
                                                       "SKIP",         "not there"};

bool is_equal(const Standing& a, const Standing& b) {
  return a.state == b.state && a.forward == b.forward && a.backward == b.backward;
}

std::string cell_of(const DetailsRow& row, Metric metric) {
  if (row.columns == nullptr || !row.columns->has(metric)) return {};
  std::string text;
  row.columns->write(text, row[metric], precision);
  return text == " " ? "" : text;
}

// Whether texts of numbers are the same number: files write a whole one with or without decimals.
bool is_same_cell(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto x = parse_number<double>(a);
  const auto y = parse_number<double>(b);
  return x && y && *x == *y;
}

std::vector<MetricChange> metric_changes(const DetailsRow& a, const DetailsRow& b) {
  std::vector<MetricChange> changes;
  const auto add = [&](const char* name, const std::string& before, const std::string& after) {
    if (!is_same_cell(before, after)) changes.push_back({name, before, after});
  };
  add("dtype", a.device_dtype, b.device_dtype);
  add("shape", a.shape, b.shape);
  for (int i = 0; i < metric_count; ++i) {
    const auto metric = static_cast<Metric>(i);
    add(metric_title(metric, true), cell_of(a, metric), cell_of(b, metric));
  }
  return changes;
}

// The rows of one direction, with what the device gave for them.
struct Side {
  const std::vector<DetailsRow>& rows;
  const std::vector<std::uint64_t>& checksums;
};

std::uint64_t checksum_at(const Side& side, std::size_t i) { return i < side.checksums.size() ? side.checksums[i] : 0; }

class CallComparison {
 public:
  CallComparison(const ApiResult& a, const ApiResult& b, const RunsFacts& facts) : a_(a), b_(b), facts_(facts) {
    call_.name = b.name;
    call_.place = b.task;
    call_.before = standing_of(a, facts.by_status);
    call_.after = standing_of(b, facts.by_status);
  }

  CallChange compare() {
    if (const std::string reason = why_not_comparable(); !reason.empty()) {
      call_.change = Change::not_comparable;
      call_.reason = reason;
      return std::move(call_);
    }
    // Rows of what was not checked say no more than its SKIP.
    const bool forward = a_.forward != Status::skip && b_.forward != Status::skip;
    const bool backward = a_.backward != Status::skip && b_.backward != Status::skip;
    if (forward)
      compare_outputs("forward.output.", {a_.forward_rows, a_.checksums.outputs},
                      {b_.forward_rows, b_.checksums.outputs});
    if (backward)
      compare_outputs("backward.output.", {a_.backward_rows, a_.checksums.gradients},
                      {b_.backward_rows, b_.checksums.gradients});
    call_.change = overall_change();
    call_.reason = reason();
    return std::move(call_);
  }

 private:
  std::string why_not_comparable() const {
    const bool neither = !is_checked(call_.before.state) && !is_checked(call_.after.state);
    if (neither && is_equal(call_.before, call_.after)) return {};
    if (facts_.judged_otherwise) return "the options by which results are judged are others";
    if (a_.inputs != 0 && b_.inputs != 0 && a_.inputs != b_.inputs) return "the inputs are others";
    return {};
  }

  void compare_outputs(const char* direction, const Side& a, const Side& b) {
    const bool has_bits = !a.checksums.empty() && !b.checksums.empty();
    if (has_bits && a.checksums != b.checksums) call_.other_bits = true;
    if (a.rows.empty() || b.rows.empty()) return;
    std::size_t number = 0;
    for (std::size_t i = 0; i < std::max(a.rows.size(), b.rows.size()); ++i) {
      OutputChange output;
      output.output = direction + std::to_string(number);
      const DetailsRow* before = i < a.rows.size() ? &a.rows[i] : nullptr;
      const DetailsRow* after = i < b.rows.size() ? &b.rows[i] : nullptr;
      const DetailsRow& shown = after != nullptr ? *after : *before;
      // The details file has no row for it.
      if (shown.status == Status::skip && shown.message.empty()) continue;
      ++number;
      if (before != nullptr) output.before = standing_of(*before, facts_.by_status);
      if (after != nullptr) output.after = standing_of(*after, facts_.by_status);
      output.other_bits = has_bits && checksum_at(a, i) != checksum_at(b, i);
      if (before != nullptr && after != nullptr) output.metrics = metric_changes(*before, *after);
      output.change = change_of(output);
      if (output.change != Change::same || output.other_bits || !output.metrics.empty()) {
        call_.outputs.push_back(std::move(output));
      }
    }
  }

  static Change change_of(const OutputChange& output) {
    if (output.after.state == State::absent) return Change::removed;
    if (output.before.state == State::absent && !is_problem(output.after.state)) return Change::added;
    const Change change = change_between(output.before, output.after);
    if (change != Change::same) return change;
    if (!output.metrics.empty()) return Change::metrics;
    return output.other_bits ? Change::bits : Change::same;
  }

  bool any_output(Change change) const {
    return std::ranges::any_of(call_.outputs, [&](const OutputChange& output) { return output.change == change; });
  }

  Change overall_change() const {
    const Change change = change_between(call_.before, call_.after);
    if (change == Change::appeared || any_output(Change::appeared)) return Change::appeared;
    if (change != Change::same) return change;
    if (any_output(Change::status) || any_output(Change::fixed) || any_output(Change::added) ||
        any_output(Change::removed)) {
      return Change::status;
    }
    if (any_output(Change::metrics)) return Change::metrics;
    return call_.other_bits ? Change::bits : Change::same;
  }

  static std::string said_of(const ApiResult& result) {
    if (result.outcome != Outcome::checked) return first_line(result.message);
    return reason_text(reason_of(result));
  }

  // The first output of that change, and what has changed of it.
  std::string metrics_text() const {
    const auto output = std::ranges::find_if(call_.outputs, [](const OutputChange& o) { return !o.metrics.empty(); });
    if (output == call_.outputs.end()) return {};
    std::string text = output->output + ": ";
    constexpr std::size_t most = 3;
    for (std::size_t i = 0; i < std::min(most, output->metrics.size()); ++i) {
      const MetricChange& metric = output->metrics[i];
      text += (i == 0 ? "" : ", ") + metric.metric + " " + (metric.before.empty() ? "nothing" : metric.before) +
              " -> " + (metric.after.empty() ? "nothing" : metric.after);
    }
    if (output->metrics.size() > most) text += ", and " + std::to_string(output->metrics.size() - most) + " more";
    return text;
  }

  std::string reason() const {
    switch (call_.change) {
      case Change::appeared:
      case Change::still:
        return said_of(b_);
      case Change::fixed:
        return "it was: " + said_of(a_);
      case Change::status:
        return is_checked(call_.after.state) ? metrics_text() : first_line(b_.message);
      case Change::metrics:
        return metrics_text();
      case Change::bits:
        return "the device gave other bits, within what rounding does";
      default:
        return {};
    }
  }

  const ApiResult& a_;
  const ApiResult& b_;
  const RunsFacts& facts_;
  CallChange call_;
};

CallChange lone_call(const ApiResult& result, bool in_b, const RunsFacts& facts) {
  CallChange call;
  call.name = result.name;
  call.place = result.task;
  (in_b ? call.after : call.before) = standing_of(result, facts.by_status);
  call.change = in_b ? Change::added : Change::removed;
  // Nobody has seen it before.
  if (in_b && is_problem(call.after.state)) {
    call.change = Change::appeared;
    call.reason = "not in A. " +
                  (result.outcome == Outcome::checked ? reason_text(reason_of(result)) : first_line(result.message));
  }
  return call;
}

// Whether both runs say something of the call that can be held against each other.
bool is_compared(const CallChange& call) {
  const auto tells = [](State state) { return is_checked(state) || is_problem(state); };
  return call.change != Change::not_comparable && tells(call.before.state) && tells(call.after.state);
}

// Calls that failed to run before errors, these before warnings.
int severity(const CallChange& call) {
  const auto badness = [](const std::string& status) { return status == "error" ? 2 : status == "warning" ? 1 : 0; };
  return std::max(badness(call.after.forward), badness(call.after.backward)) +
         (call.after.state == State::failed_to_run ? 3 : 0);
}

}  // namespace

std::string_view change_text(Change change) { return change_texts[static_cast<std::size_t>(change)]; }

std::string_view state_text(State state) { return state_texts[static_cast<std::size_t>(state)]; }

Comparison compare(const runs::Run& a, const runs::Run& b) {
  Comparison comparison;
  comparison.facts = facts_of(a, b);
  std::unordered_map<std::string, std::uint32_t> places;
  for (std::uint32_t task = 0; task < a.results.tasks(); ++task) {
    if (a.results.has(task)) places.emplace(a.results.outline(task).name, task);
  }
  for (std::uint32_t task = 0; task < b.results.tasks(); ++task) {
    if (!b.results.has(task)) continue;
    const ApiResult after = b.results.get(task);
    const auto place = places.find(after.name);
    if (place == places.end()) {
      comparison.calls.push_back(lone_call(after, true, comparison.facts));
      continue;
    }
    comparison.calls.push_back(CallComparison(a.results.get(place->second), after, comparison.facts).compare());
    places.erase(place);
  }
  for (const auto& [name, task] : places) {
    comparison.calls.push_back(lone_call(a.results.outline(task), false, comparison.facts));
  }
  for (const CallChange& call : comparison.calls) {
    ++comparison.counts[static_cast<std::size_t>(call.change)];
    if (is_compared(call)) ++comparison.compared;
  }
  std::ranges::sort(comparison.calls, {}, [](const CallChange& call) {
    return std::tuple(call.change, -severity(call), call.place, std::string_view(call.name));
  });
  return comparison;
}

}  // namespace msrun::run_diff
