#include "tools/dump_compare/judge.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "tools/dump_compare/judge_gaps.h"
#include "tools/recordings/call_rules.h"
#include "tools/recordings/devices.h"
#include "tools/recordings/not_finite.h"
#include "tools/recordings/overflowed_sum.h"

namespace msrun::dump_compare {
namespace {

using recordings::infinite_number;
using recordings::NotFinite;
using recordings::RequiresGrad;
using recordings::State;

constexpr const char* nan_in_target = "error: There is nan/inf/-inf in the maximum or minimum value of NPU.";
constexpr const char* not_finite_apart = "error: NaN or infinities are in other statistics of NPU than of Bench.";
constexpr const char* norm_of_output = "error: The NormRelativeErr of output is greater than 0.5.";
constexpr const char* thousandth_of_output =
    "error: The input/parameters of One Thousandth Err Ratio > 0.9 while the output < 0.6.";
constexpr const char* scalars_differ = "error: The scalar parameters of NPU and Bench are inconsistent.";
constexpr const char* no_golden_row = "warning: No bench data matched.";
constexpr const char* dtypes_differ_text = "error: The dtype of NPU and Bench are inconsistent.";
constexpr const char* shapes_differ = "error: The shape of NPU and Bench are inconsistent.";
constexpr const char* values_differ = "error: The values of NPU and Bench differ.";
constexpr const char* crc_sums_differ = "error: The CRC-32 value of NPU differs from that of the bench.";
constexpr const char* xor_sums_differ = "error: The XOR checksum of NPU differs from that of the bench.";
constexpr const char* no_sums = "warning: Neither NPU nor bench has a checksum.";
constexpr const char* norm_ten_times = "warning: The norm relative error of output is 10 times that of input.";
constexpr const char* cosine_of_output =
    "warning: The input/parameters of Cosine > 0.9, and input/parameters - output > 0.1";

// What the values of a MD5 cell say of it.
bool no_sum(std::string_view sum) { return sum.empty() || sum == "N/A" || sum == "Nan"; }

bool matched(const ComparedRow& row) { return row.row.target != no_place && row.row.golden != no_place; }

// The share by which the norms differ; nothing for a word.
double norm_error(const ComparedRow& row, double of_word) {
  const Difference& norm = row.differences[recordings::norm_value];
  if (norm.word == nullptr) return std::isinf(norm.percent) ? of_word : norm.percent / 100;
  return std::strcmp(norm.word, "0") == 0 ? 0 : of_word;
}

bool is_number(const ComparedRow& row, Metric metric) { return row.metrics.cells[metric].word == nullptr; }

// 0.0 and -0.0, whose texts differ.
bool equal_numbers(const ComparedRow& row) {
  const Difference& norm = row.differences[recordings::norm_value];
  if (norm.word != nullptr) return std::strcmp(norm.word, "0") == 0 || std::strcmp(norm.word, "N/A") == 0;
  return norm.difference == 0;
}

// What the metrics of the row say of it.
void keep_metric_messages(ComparedRow& row, Mode mode) {
  if (row.row.target == no_place) return row.add(Level::warning, "warning: No NPU data matched.");
  if (row.row.golden == no_place) {
    if (mode != Mode::md5) row.add(Level::warning, no_golden_row);
    return;
  }
  for (const MetricMessage& message : row.metrics.messages) {
    switch (message.weight) {
      case Weight::error:
        row.add(Level::error, "error: " + message.text);
        break;
      case Weight::warning:
        row.add(Level::warning, "warning: " + message.text);
        break;
      case Weight::none:
        row.messages.push_back(message.text);
    }
  }
}

// How a statistic is not finite; none of what is no number, nor of a sum that overflowed over finite values.
NotFinite kind_of(const Recording& side, const Leaf* leaf, recordings::Statistic statistic, bool compat) {
  if (leaf == nullptr || (compat && !leaf->statistics[statistic].is_number())) return NotFinite::none;
  if (!compat && recordings::is_overflowed_sum(side, *leaf, statistic)) return NotFinite::none;
  return recordings::not_finite_kind(recordings::number_of(side.texts, leaf->statistics[statistic]).value_or(0));
}

class Judge {
 public:
  Judge(const Sides& sides, Mode mode, std::span<ComparedRow> rows) : sides_(sides), mode_(mode), rows_(rows) {}

  void run() {
    if (!sides_.compat) {
      for (ComparedRow& row : rows_) keep_metric_messages(row, mode_);
    }
    const std::string api = api_name();
    // The values of debug.json are no calls, whatever they are named.
    const bool values = sides_.target.debug && !sides_.compat;
    if (!values && recordings::is_without_rules(api)) return judge_fit_alone();
    few_ = recordings::has_buffers(api);
    if (mode_ == Mode::md5) {
      for (ComparedRow& row : rows_) {
        judge_sums(row);
        if (!sides_.compat) judge_fit(row);
      }
      return;
    }
    each([&](ComparedRow& row) { judge_not_finite(row); });
    if (!few_) judge_outputs_first();
    each([&](ComparedRow& row) { judge_description(row); });
    if (!few_) judge_outputs_last();
    if (sides_.compat) return;
    for (ComparedRow& row : rows_) {
      if (few_ && row.row.target != no_place && !is_output(row)) judge_fit(row);
      judge_repairs(row);
    }
    judge_gaps(sides_, mode_, few_, rows_);
  }

 private:
  const Leaf* target(const ComparedRow& row) const {
    return row.row.target == no_place ? nullptr : &sides_.target.leaves[row.row.target];
  }
  const Leaf* golden(const ComparedRow& row) const {
    return row.row.golden == no_place ? nullptr : &sides_.golden.leaves[row.row.golden];
  }

  std::string target_name(const ComparedRow& row) const {
    return sides_.target.row_name(sides_.target.calls[row.row.target_call], *target(row));
  }

  bool is_output(const ComparedRow& row) const {
    const Leaf* leaf = target(row);
    if (leaf == nullptr) leaf = golden(row);
    if (!sides_.compat || row.row.target == no_place) return leaf->state == State::output;
    return target_name(row).find(".output.") != std::string::npos;
  }
  // A row of which no inputs are known: a gradient of a parameter, or a value of debug.json.
  bool is_gradient(const ComparedRow& row) const {
    const Leaf* leaf = target(row);
    if (sides_.compat || leaf == nullptr) return false;
    return sides_.target.debug || leaf->state == State::parameters_grad;
  }
  // Both are devices: recordings of two kinds of accelerators differ in every such argument.
  bool name_devices(const ComparedRow& row) const {
    if (sides_.compat || !matched(row) || target(row)->tensor || golden(row)->tensor) return false;
    const auto is_device = [](const Recording& side, const Leaf& leaf) {
      const recordings::Value& value = leaf.statistics[recordings::max_value];
      return value.kind == recordings::Kind::text && recordings::is_device(side.text(value.text));
    };
    return is_device(sides_.target, *target(row)) && is_device(sides_.golden, *golden(row));
  }

  // Second part of the name of the first input row.
  std::string api_name() const {
    const auto first = std::ranges::find_if(
        rows_, [&](const ComparedRow& row) { return row.row.target != no_place && !is_output(row); });
    const ComparedRow& row = first == rows_.end() ? rows_.front() : *first;
    if (row.row.target == no_place) return {};
    const std::string name = target_name(row);
    const std::size_t dot = name.find('.');
    if (dot == std::string::npos) return {};
    return name.substr(dot + 1, name.find('.', dot + 1) - dot - 1);
  }

  template <class OnRow>
  void each(const OnRow& on_row) {
    for (ComparedRow& row : rows_) {
      if (row.row.target != no_place && (!few_ || is_output(row))) on_row(row);
    }
  }

  // Calls whose values nobody judges must have rows with a counterpart that is described alike all the same.
  void judge_fit_alone() {
    if (sides_.compat) return;
    for (ComparedRow& row : rows_) {
      if (mode_ == Mode::md5 && row.row.golden == no_place) row.add(Level::warning, no_golden_row);
      judge_fit(row);
    }
  }

  // Whether the row can be compared at all.
  void judge_fit(ComparedRow& row) {
    if (!matched(row)) return;
    const std::string mine = canonical_dtype(sides_.target.text(target(row)->dtype));
    const std::string theirs = canonical_dtype(sides_.golden.text(golden(row)->dtype));
    if (mine != theirs && !dtypes_match(sides_, *target(row), *golden(row))) {
      row.add(Level::error, dtypes_differ_text);
    }
    if (sides_.target.text(target(row)->shape) != sides_.golden.text(golden(row)->shape)) {
      row.add(Level::error, shapes_differ);
    }
  }

  void judge_sums(ComparedRow& row) {
    if (row.row.target == no_place) return;
    const std::string_view mine = sides_.target.text(target(row)->md5);
    const std::string_view theirs = matched(row) ? sides_.golden.text(golden(row)->md5) : std::string_view();
    if (mine == theirs && matched(row)) {
      const bool none = target(row)->tensor && !target(row)->recorded_md5 && !golden(row)->recorded_md5;
      if (none && !sides_.compat) row.add(Level::warning, no_sums);
      return;
    }
    if (name_devices(row)) return;
    if (no_sum(mine) || no_sum(theirs)) {
      row.add(Level::warning, "warning: The parameter of NPU does not match the bench.");
    } else {
      const bool xor_sum = !sides_.compat && target(row)->xor_sum && golden(row)->xor_sum;
      row.add(Level::error, xor_sum ? xor_sums_differ : crc_sums_differ);
    }
  }

  // Rule 1.
  void judge_not_finite(ComparedRow& row) {
    bool found = false;
    bool golden_too = false;
    bool alike = true;
    for (const auto statistic : {recordings::max_value, recordings::min_value}) {
      const NotFinite my_kind = kind_of(sides_.target, target(row), statistic, sides_.compat);
      const NotFinite their_kind = kind_of(sides_.golden, golden(row), statistic, sides_.compat);
      found = found || my_kind != NotFinite::none;
      golden_too = golden_too || their_kind != NotFinite::none;
      alike = alike && (my_kind == NotFinite::none || my_kind == their_kind);
    }
    if (found && (sides_.compat ? !golden_too : !alike)) {
      row.add(Level::error, nan_in_target);
    } else if (!sides_.compat && row.level != Level::error && is_not_finite_apart(row)) {
      row.add(Level::error, not_finite_apart);
    }
  }
  // On the golden side alone, or in a statistic that rule 1 does not look at.
  bool is_not_finite_apart(const ComparedRow& row) const {
    if (!matched(row)) return false;
    for (std::size_t i = 0; i < statistic_count; ++i) {
      const auto statistic = static_cast<recordings::Statistic>(i);
      if (kind_of(sides_.target, target(row), statistic, sides_.compat) !=
          kind_of(sides_.golden, golden(row), statistic, sides_.compat))
        return true;
    }
    return false;
  }

  double largest_input() const {
    double largest = 0;
    for (const ComparedRow& row : rows_) {
      if (row.row.target == no_place || is_output(row) || is_gradient(row) || name_devices(row)) continue;
      // A word of ours: the input is there and does not agree.
      const bool disagrees = !sides_.compat && matched(row) && !equal_numbers(row);
      largest = std::max(largest, norm_error(row, disagrees ? infinite_number : 0));
    }
    return largest;
  }

  // The share of elements that agree; of outputs in half types within a few units of rounding.
  double agreeing(const ComparedRow& row) const {
    if (sides_.compat) return row.metrics.cells[one_thousandth].number;
    return agreeing_share(row.metrics, sides_.target.text(target(row)->dtype));
  }

  double smallest(Metric metric, bool outputs) const {
    double least = 1.0;
    for (const ComparedRow& row : rows_) {
      if (row.row.target == no_place || is_output(row) != outputs || is_gradient(row)) continue;
      if (!is_number(row, metric)) continue;
      const bool share = outputs && metric == one_thousandth;
      least = std::min(least, share ? agreeing(row) : row.metrics.cells[metric].number);
    }
    return least;
  }

  // Blames the outputs that show the fault. msProbe blames the first one, which may be right where another is wrong.
  template <class Shows>
  void blame_outputs(Level level, const char* message, const Shows& shows) {
    for (ComparedRow& row : rows_) {
      if (row.row.target == no_place || !is_output(row)) continue;
      if (sides_.compat) return row.add(level, message);
      if (shows(row)) row.add(level, message);
    }
  }

  // Whether the row is judged by what its norms differ: with tensors, what has no metrics of many elements, because
  // there is no file or it holds one number.
  bool is_judged_by_norm(const ComparedRow& row) const {
    if (mode_ == Mode::statistics) return true;
    if (sides_.compat || !matched(row) || is_number(row, one_thousandth)) return false;
    return is_number(row, max_relative_error) || target(row)->data_name == 0 || golden(row)->data_name == 0;
  }
  // The error of an output; where that is one number, the share by which the values themselves differ.
  double output_error(const ComparedRow& row, double of_infinite) const {
    if (mode_ == Mode::tensor && is_number(row, max_relative_error)) {
      return row.metrics.cells[max_relative_error].number;
    }
    const Difference& norm = row.differences[recordings::norm_value];
    if (!sides_.compat && norm.word == nullptr && norm.difference == 0) return 0;
    const bool infinite = norm.word != nullptr ? std::strcmp(norm.word, "inf") == 0 : std::isinf(norm.percent);
    return infinite ? of_infinite : norm_error(row, 0);
  }

  // Rules 2a and 2b.
  void judge_outputs_first() {
    if (largest_input() < 0.1) {
      for (ComparedRow& row : rows_) {
        if (row.row.target == no_place || !is_output(row) || !is_judged_by_norm(row)) continue;
        if (output_error(row, infinite_number) > 0.5) row.add(Level::error, norm_of_output);
      }
    }
    if (mode_ == Mode::statistics) return;
    const double limit = sides_.compat ? 0.1 : 0.6;
    if (smallest(one_thousandth, false) > 0.9 && smallest(one_thousandth, true) < limit) {
      blame_outputs(Level::error, thousandth_of_output,
                    [&](const ComparedRow& row) { return is_number(row, one_thousandth) && agreeing(row) < limit; });
    }
  }

  // Rules 3 to 6.
  void judge_description(ComparedRow& row) {
    if (!matched(row)) return;
    const Leaf& mine = *target(row);
    const Leaf& theirs = *golden(row);
    const bool absent = mine.requires_grad == RequiresGrad::absent || theirs.requires_grad == RequiresGrad::absent;
    if (mine.requires_grad != theirs.requires_grad && (sides_.compat || !absent)) {
      row.add(Level::error, "error: The Required_Grad of NPU and Bench are inconsistent");
    }
    const std::string_view my_dtype = sides_.target.text(mine.dtype);
    const std::string_view their_dtype = sides_.golden.text(theirs.dtype);
    if (!few_ && !is_output(row) && scalars_are_unequal(row)) row.add(Level::error, scalars_differ);
    if (dtypes_differ(row, my_dtype, their_dtype)) {
      row.add(Level::error, dtypes_differ_text);
    }
    if (sides_.target.text(mine.shape) != sides_.golden.text(theirs.shape)) {
      row.add(Level::error, shapes_differ);
    }
  }

  // Rule 4. msProbe leaves out what has a type of its own, such as a group, the other rank, and a slice, whose cells
  // are empty.
  bool scalars_are_unequal(const ComparedRow& row) const {
    const Leaf& mine = *target(row);
    const Leaf& theirs = *golden(row);
    const std::string_view my_dtype = sides_.target.text(mine.dtype);
    const std::string_view their_dtype = sides_.golden.text(theirs.dtype);
    const bool classes =
        my_dtype.find("class") != std::string_view::npos && their_dtype.find("class") != std::string_view::npos;
    const bool others = !sides_.compat && !mine.tensor && !theirs.tensor && my_dtype == their_dtype;
    if (others && my_dtype == "slice") return sides_.target.text(mine.md5) != sides_.golden.text(theirs.md5);
    if (name_devices(row)) return false;
    if ((!classes && !others) || sides_.target.text(mine.shape) != "[]") return false;
    const recordings::Value& value = mine.statistics[recordings::max_value];
    const recordings::Value& other = theirs.statistics[recordings::max_value];
    if (!sides_.compat && value.is_whole() && other.is_whole()) {
      // Large ones may differ by less than a double tells.
      return recordings::value_text(sides_.target.texts, value) != recordings::value_text(sides_.golden.texts, other);
    }
    const Difference& max = row.differences[recordings::max_value];
    return max.word != nullptr ? std::strcmp(max.word, "0") != 0 : sides_.compat || max.difference != 0;
  }

  bool dtypes_differ(const ComparedRow& row, std::string_view mine, std::string_view theirs) const {
    if (!sides_.compat) return canonical_dtype(mine) != canonical_dtype(theirs);
    const std::string name = sides_.golden.row_name(sides_.golden.calls[row.row.golden_call], *golden(row));
    return mine != theirs && name.find("qkv") == std::string::npos && name.find("gate_up") == std::string::npos;
  }

  // Rules 7a and 7b.
  void judge_outputs_last() {
    if (mode_ == Mode::tensor) {
      const double inputs = smallest(cosine, false);
      if (inputs > 0.9 && inputs - smallest(cosine, true) > 0.1) {
        blame_outputs(Level::warning, cosine_of_output, [&](const ComparedRow& row) {
          return is_number(row, cosine) && inputs - row.metrics.cells[cosine].number > 0.1;
        });
      }
    }
    const double inputs = largest_input();
    const auto jumps = [&](const ComparedRow& row) {
      if (row.row.target == no_place || !is_output(row) || !is_judged_by_norm(row)) return false;
      const double error = output_error(row, 0);
      if (!sides_.compat && !(error > rounding_noise(sides_.target.text(target(row)->dtype)))) return false;
      return inputs == 0 ? error > 0.1 : error > 10 * inputs;
    };
    if (std::ranges::any_of(rows_, jumps)) blame_outputs(Level::warning, norm_ten_times, jumps);
  }

  bool of_tensors(const ComparedRow& row) const { return target(row)->tensor && golden(row)->tensor; }

  // What msProbe lets pass: values that differ without a number (B27), gradients of parameters (B36).
  void judge_repairs(ComparedRow& row) {
    if (!matched(row)) return;
    const bool differs = std::ranges::any_of(row.differences, [](const Difference& difference) {
      return difference.word != nullptr && std::strcmp(difference.word, "Diff") == 0;
    });
    // Inputs that are no tensors have had rule 4.
    if (differs && (is_output(row) || (of_tensors(row) && !few_))) row.add(Level::error, values_differ);
    if (is_gradient(row)) judge_gradient(row);
  }

  void judge_gradient(ComparedRow& row) {
    const bool value = sides_.target.debug;
    // Values that are no tensors have had rule 4.
    if (value && !of_tensors(row)) return;
    const std::string whose = value ? " of the value is " : " of the gradient is ";
    if (is_judged_by_norm(row)) {
      const double error = equal_numbers(row) ? 0 : output_error(row, infinite_number);
      if (error > 0.5) {
        row.add(Level::error, "error: The NormRelativeErr" + whose + "greater than 0.5.");
      } else if (error > 0.1) {
        row.add(Level::warning, "warning: The NormRelativeErr" + whose + "greater than 0.1.");
      }
      return;
    }
    if (is_number(row, one_thousandth) && agreeing(row) < 0.6) {
      row.add(Level::error, "error: The One Thousandth Err Ratio" + whose + "below 0.6.");
    } else if (is_number(row, cosine) && row.metrics.cells[cosine].number < 0.9) {
      row.add(Level::warning, "warning: The Cosine" + whose + "below 0.9.");
    }
  }

  const Sides& sides_;
  const Mode mode_;
  const std::span<ComparedRow> rows_;
  bool few_ = false;
};

}  // namespace

const char* level_text(Level level) {
  switch (level) {
    case Level::pass:
      return "pass";
    case Level::warning:
      return "warning";
    case Level::error:
      return "error";
  }
  return "";
}

void judge(const Sides& sides, Mode mode, std::span<ComparedRow> rows) {
  if (!rows.empty()) Judge(sides, mode, rows).run();
}

}  // namespace msrun::dump_compare
