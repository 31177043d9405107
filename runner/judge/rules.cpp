#include "runner/judge/rules.h"

#include <algorithm>
#include <array>

#include "kernels/compare/bounds/constants.h"
#include "kernels/compare/metrics/standards.h"
#include "runner/judge/evidence.h"

namespace msrun {
namespace {

constexpr std::array table{
    Rule{1, "copies", Stage::glance, Cost::pass_over_result, "What only moves elements returns the benchmark's bits.",
         rule::copies},
    Rule{2, "last place", Stage::glance, Cost::pass_over_result,
         "Storing a result rounds it to a neighbour of the exact value.", rule::last_place},
    Rule{3, "screens", Stage::glance, Cost::pass_over_result,
         "A pass errs by no more than its last steps, or its sums.", rule::screens},
    Rule{4, "typical sums", Stage::glance, Cost::pass_over_result,
         "Terms of sums are taken to be as large as a typical element.", rule::typical_sums},
    Rule{5, "same in its dtypes", Stage::glance, Cost::one_evaluation,
         "A pass is what the CPU gives for the call in its own dtypes.", rule::same_in_its_dtypes},
    Rule{6, "sides of steps, large", Stage::large_call, Cost::some_evaluations,
         "Where a step lies within rounding, both sides of it are right.", rule::sides_in_large_calls},
    Rule{7, "part of a large call", Stage::large_call, Cost::part_of_call,
         "A part of the call is computed alone and judged for all of it.", rule::part_of_large_call},
    Rule{8, "nothing rounds", Stage::few_samples, Cost::samples,
         "A call that rounds nothing inside errs by its result's rounding.", rule::nothing_rounds},
    Rule{9, "few terms", Stage::few_samples, Cost::some_evaluations,
         "A sum of few elements errs by its few additions at most. A limit for the rules below.", rule::few_terms},
    Rule{10, "sides of steps", Stage::few_samples, Cost::some_evaluations,
         "Where a step lies within rounding, both sides of it are right.", rule::sides_of_steps},
    Rule{11, "terms", Stage::few_samples, Cost::samples,
         "Terms that cancel are larger than their sum. Changed inputs measure how large.", rule::terms_by_few_samples},
    Rule{12, "rounded operands", Stage::few_samples, Cost::one_evaluation,
         "The device's settings let it round float32 operands of products.", rule::rounded_operands},
    Rule{13, "series", Stage::few_samples, Cost::some_evaluations,
         "Some devices add all terms of a long sum one after the other.", rule::added_in_series},
    Rule{14, "stored results", Stage::few_samples, Cost::one_evaluation,
         "The call in its own dtypes stores intermediate results, and errs as much.", rule::stored_intermediates},
    Rule{15, "stored steps", Stage::few_samples, Cost::some_evaluations,
         "A composed operator stores every step in the half type of the call.", rule::stored_steps},
    Rule{16, "stored parts", Stage::few_samples, Cost::samples,
         "A product in a half type may be summed in a few parts that are stored.", rule::stored_parts},
    Rule{17, "noise", Stage::few_samples, Cost::samples,
         "Sound arithmetic errs as much for inputs next to those of the call.", rule::noise_of_inputs},
    Rule{18, "noise of functions", Stage::few_samples, Cost::samples,
         "Sound arithmetic errs as much where functions inside the call are off by one ULP.", rule::noise_of_functions},
    Rule{19, "half steps", Stage::few_samples, Cost::samples,
         "The device rounds to the half type between its kernels, or after every step.", rule::half_steps_early},
    Rule{20, "terms, more samples", Stage::more_samples, Cost::samples,
         "Terms that cancel may change alike in four samples; now sixteen.", rule::terms_by_more_samples},
    Rule{21, "noise, more samples", Stage::more_samples, Cost::samples,
         "Two samples may miss the noise of an element; now eight.", rule::noise_by_more_samples},
    Rule{22, "half steps, few samples", Stage::more_samples, Cost::samples,
         "Half steps again, with what has been measured since.", rule::half_steps},
    Rule{23, "half steps, more samples", Stage::last, Cost::samples,
         "Two samples may miss a step of an element; now eight.", rule::half_steps_by_more_samples},
};

}  // namespace

std::span<const Rule> rules() { return table; }

const Rule* find_rule(std::uint8_t code) {
  const auto* const found = std::ranges::find(table, code, &Rule::code);
  return found == table.end() ? nullptr : &*found;
}

std::string name_of_rule(std::uint8_t code) {
  const Rule* const rule = find_rule(code);
  return rule == nullptr ? "rule " + std::to_string(code) : std::string(rule->name);
}

std::string_view name_of(Stage stage) {
  static constexpr std::array<std::string_view, 5> names{"glance", "large_call", "few_samples", "more_samples", "last"};
  return names[static_cast<std::size_t>(stage)];
}

std::string_view name_of(Cost cost) {
  static constexpr std::array<std::string_view, 5> names{"pass_over_result", "one_evaluation", "some_evaluations",
                                                         "samples", "part_of_call"};
  return names[static_cast<std::size_t>(cost)];
}

std::string_view text_of(Cost cost) {
  static constexpr std::array<std::string_view, 5> texts{"one pass", "one call", "some calls", "samples", "a part"};
  return texts[static_cast<std::size_t>(cost)];
}

std::string_view reason_of(Stage stage) {
  static constexpr std::array<std::string_view, 5> reasons{
      "Asked of every row.", "Asked of calls that are too large to be computed again. They end the judgement.",
      "Asked of all other calls.",
      "Asked where few elements are open, or no error exceeds 100 bounds, or the call costs next to nothing.",
      "Asked of what is left."};
  return reasons[static_cast<std::size_t>(stage)];
}

bool is_asked(Stage stage, const RowCase& row, const Explanation& known) {
  switch (stage) {
    case Stage::large_call:
      return !row.call.variations.is_small();
    case Stage::more_samples: {
      const bool few_are_open = known.fit.beyond * few_of_elements <= known.count;
      return known.fit.max_share <= hopeless_share || few_are_open || row.call.variations.is_cheap();
    }
    case Stage::glance:
    case Stage::few_samples:
    case Stage::last:
      break;
  }
  return true;
}

Explanation nothing_known(const RowCase& row) {
  const OperatorTraits& traits = row.call.op.traits();
  Explanation known;
  known.count = row.pair.device.numel();
  known.budget.nearest = row.call.rounds_once && !row.call.complex_arguments;
  known.budget.adds_terms = traits.rounds_once;
  known.budget.of_logarithms = traits.logarithm_of_sums && !row.of_gradients;
  if (row.call.materialised.unbounded) known.budget.not_finite = other_not_finite(row);
  const auto is_exact_standard = [&] {
    return select_standard(row.call.materialised.parts.api, row.pair.device.dtype(), false, Policy::per_api) ==
           Standard::binary_consistency;
  };
  known.budget.exact =
      row.sums.longest <= 1 && !row.call.complex_arguments && (traits.copies_only || is_exact_standard());
  return known;
}

}  // namespace msrun
