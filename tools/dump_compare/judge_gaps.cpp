#include "tools/dump_compare/judge_gaps.h"

#include <algorithm>
#include <optional>
#include <string>

#include "kernels/base/text.h"
#include "tools/dump_compare/equal_inputs.h"
#include "tools/dump_compare/forward_calls.h"
#include "tools/dump_compare/gap_limits.h"
#include "tools/dump_compare/random_calls.h"
#include "tools/recordings/communication.h"
#include "tools/recordings/gap.h"
#include "tools/recordings/not_finite.h"
#include "tools/recordings/written_inputs.h"

namespace msrun::dump_compare {
namespace {

using recordings::Direction;
using recordings::Gap;
using recordings::State;

constexpr const char* without_values = "warning: Neither NPU nor bench has values of the tensor.";

// limit: 0 for whole numbers.
std::string output_differs(double limit) {
  const std::string by =
      limit == 0 ? "has other whole numbers, although the inputs are equal."
                 : "is off by more than " + short_number(limit) + " of its largest value, although the inputs agree.";
  return "error: The output " + by;
}

class GapJudge {
 public:
  GapJudge(const Sides& sides, Mode mode, bool few, std::span<ComparedRow> rows)
      : sides_(sides), mode_(mode), few_(few), rows_(rows) {}

  void run() {
    if (mode_ == Mode::md5 || sides_.target.task == "structure") return;
    for (ComparedRow& row : rows_) {
      if (is_pair(row) && has_no_values(row)) row.add(Level::warning, without_values);
    }
    const auto first = std::ranges::find_if(rows_, [](const ComparedRow& row) { return row.row.target != no_place; });
    if (first == rows_.end() || few_ || sides_.target.debug) return;
    const Call& call = sides_.target.calls[first->row.target_call];
    if (call.direction == Direction::parameters_grad) {
      for (ComparedRow& row : rows_) judge_gradient(row);
    } else {
      judge_call(call);
    }
  }

 private:
  const Leaf& target(const ComparedRow& row) const { return sides_.target.leaves[row.row.target]; }
  const Leaf& golden(const ComparedRow& row) const { return sides_.golden.leaves[row.row.golden]; }

  // Two tensors of one shape.
  bool is_pair(const ComparedRow& row) const {
    if (row.row.target == no_place || row.row.golden == no_place) return false;
    return target(row).tensor && golden(row).tensor;
  }

  bool has_no_values(const ComparedRow& row) const {
    if (mode_ == Mode::tensor && (target(row).data_name != 0 || golden(row).data_name != 0)) return false;
    if (recordings::elements_of(sides_.target.text(target(row).shape)) == 0) return false;
    const auto is_none = [](const Value& value) { return value.kind == recordings::Kind::none; };
    return std::ranges::all_of(target(row).statistics, is_none) && std::ranges::all_of(golden(row).statistics, is_none);
  }

  void judge_call(const Call& call) {
    const bool backward = call.direction == Direction::backward;
    const bool half = any_half();
    const double factor = half && backward ? times_backward_output : 1;
    const double limit = (half ? half_output_limit : output_limit) * factor;
    double input_gap = 0;
    bool close = true;
    bool equal = true;
    for (ComparedRow& row : rows_) {
      if (row.row.target == no_place) continue;
      const State state = target(row).state;
      if (state != State::input && state != State::parameters) continue;
      if (row.row.golden == no_place) close = equal = false;
      if (!is_pair(row) || recordings::is_only_written(sides_.target, call, target(row))) continue;
      const Gap found = gap(row);
      input_gap = std::max(input_gap, found.gap);
      if (found.gap > (half ? half_input_limit : input_limit)) close = false;
      if (!found.equal) equal = false;
      // Nothing rounds whole numbers: other ones are other data.
      const bool other_data =
          recordings::is_whole(sides_.target, target(row)) && (found.gap > 0 || row.metrics.unequal_integers > 0);
      row.input_apart = found.comparable && (found.gap > limit || other_data);
    }
    if (!close || recordings::is_communication(sides_.target, call)) return;
    // The gradient is dropped as its forward call drops, which alone has the arguments.
    const Call* forward = &call;
    if (backward) forward = close_forward(first_pair(), half ? half_input_limit : input_limit);
    if (forward == nullptr || is_random(sides_.target, *forward)) return;
    for (ComparedRow& row : rows_) {
      judge_output(row, call, limit, input_gap, equal);
      judge_number(row, limit, input_gap, equal);
    }
  }

  // A number that the call gave, as item() or size() does.
  void judge_number(ComparedRow& row, double limit, double input_gap, bool equal_inputs) const {
    if (row.row.target == no_place || row.row.golden == no_place || row.level == Level::error) return;
    if (target(row).state != State::output || target(row).tensor || golden(row).tensor) return;
    const Value& mine = target(row).statistics[recordings::max_value];
    const Value& theirs = golden(row).statistics[recordings::max_value];
    if (!mine.is_number() || !theirs.is_number()) return;
    if (mine.is_whole() && theirs.is_whole()) {
      const auto text = [](const Recording& side, const Value& value) {
        return recordings::value_text(side.texts, value);
      };
      if (!equal_inputs || text(sides_.target, mine) == text(sides_.golden, theirs)) return;
      limit = 0;
    } else if (const Gap found = gap(row); found.gap <= limit || found.gap <= times_input * input_gap) {
      return;
    }
    row.add(Level::error, output_differs(limit));
  }

  void judge_output(ComparedRow& row, const Call& call, double usual, double input_gap, bool equal_inputs) const {
    if (!is_pair(row) || target(row).state != State::output || row.level == Level::error) return;
    if (is_left_out(sides_.target, call, target(row))) return;
    const Gap found = gap(row);
    if (!found.comparable || found.equal) return;
    std::optional<double> tight;
    if (equal_inputs) {
      tight = limit_of_equal_inputs({sides_.target, call, sides_.golden, sides_.golden.calls[row.row.golden_call]},
                                    target(row));
    }
    const double limit = std::min(usual, tight.value_or(usual));
    if (found.gap <= limit || found.gap <= times_input * input_gap) return;
    row.add(Level::error, output_differs(limit));
  }

  const ComparedRow* first_pair() const {
    const auto found = std::ranges::find_if(rows_, [&](const ComparedRow& row) { return is_pair(row); });
    return found == rows_.end() ? nullptr : &*found;
  }

  // That of a parameter, which has been judged by its norm. A lost sign leaves that as it is. Gradients that are but
  // noise have other extremes, by up to half of their size.
  void judge_gradient(ComparedRow& row) const {
    if (mode_ == Mode::tensor || !is_pair(row) || row.level == Level::error) return;
    const Gap found = gap(row);
    if (!found.comparable || !(found.gap > 0.5)) return;
    const bool is_error = found.gap > 1;
    row.add(is_error ? Level::error : Level::warning,
            std::string(is_error ? "error" : "warning") +
                ": The largest difference of Max, Min and Mean of the gradient " + "is greater than " +
                (is_error ? "1" : "0.5") + " of its largest value.");
  }

  // The forward call, whose tensors a backward call reads without recording them; null unless they agree.
  const Call* close_forward(const ComparedRow* row, double limit) const {
    if (row == nullptr || sides_.target_forwards == nullptr) return nullptr;
    const std::uint32_t mine = sides_.target_forwards->of(sides_.target.calls[row->row.target_call], no_place);
    const std::uint32_t theirs = sides_.golden_forwards->of(sides_.golden.calls[row->row.golden_call], no_place);
    if (mine == no_place || theirs == no_place) return nullptr;
    const Call& call = sides_.target.calls[mine];
    const Call& other = sides_.golden.calls[theirs];
    const std::uint32_t count = call.leaf_end - call.leaves;
    if (count != other.leaf_end - other.leaves) return nullptr;
    for (std::uint32_t i = 0; i < count; ++i) {
      const Leaf& leaf = sides_.target.leaves[call.leaves + i];
      const Leaf& counterpart = sides_.golden.leaves[other.leaves + i];
      if (!leaf.tensor || !counterpart.tensor) continue;
      const Gap found = recordings::gap_of(sides_.target, leaf, sides_.golden, counterpart, false);
      if (!found.comparable || found.gap > limit) return nullptr;
    }
    return &call;
  }

  Gap gap(const ComparedRow& row) const {
    if (mode_ == Mode::tensor && target(row).data_name != 0 && golden(row).data_name != 0) {
      // Of files that could not be compared other rules speak.
      return {row.metrics.gap >= 0, std::max(row.metrics.gap, 0.0), 0, row.metrics.are_equal()};
    }
    return recordings::gap_of(sides_.target, target(row), sides_.golden, golden(row), false);
  }

  // Noise of half types reaches tensors of all types behind them.
  bool any_half() const { return sides_.target.has_half || sides_.golden.has_half; }

  const Sides& sides_;
  const Mode mode_;
  const bool few_;
  const std::span<ComparedRow> rows_;
};

}  // namespace

void judge_gaps(const Sides& sides, Mode mode, bool few, std::span<ComparedRow> rows) {
  GapJudge(sides, mode, few, rows).run();
}

}  // namespace msrun::dump_compare
