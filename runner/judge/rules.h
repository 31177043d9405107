// The rules by which a difference is explained, in the order in which they are asked: cheapest first.
//
// Each adds what it knows of the errors that sound arithmetic may make in a row to its explanation, and says whether
// that covers every element. The first that does ends it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runner/judge/explanation.h"
#include "runner/judge/row_case.h"

namespace msrun {

enum class Answer : std::uint8_t {
  open,       // some elements are still open: the next rule is asked
  explained,  // what is known covers every element
  ended,      // no rule behind knows more of such a row, explained or not
};

constexpr Answer explained_if(bool covers_every_element) {
  return covers_every_element ? Answer::explained : Answer::open;
}

// Rules that are asked together. Whether those of a stage are asked is found once, when it is reached.
enum class Stage : std::uint8_t {
  glance,        // of every row
  large_call,    // of calls that are too large to be computed again
  few_samples,   // of all others
  more_samples,  // where few elements are open, or by not too much, or the call costs next to nothing
  last,
};

// What a rule computes.
enum class Cost : std::uint8_t { pass_over_result, one_evaluation, some_evaluations, samples, part_of_call };

struct Rule {
  std::uint8_t code;  // in journals: of this rule alone, for ever; never 0
  std::string_view name;
  Stage stage;
  Cost cost;
  std::string_view reason;  // one sentence
  Answer (*ask)(RowCase& row, Explanation& known);
};

// In their order.
std::span<const Rule> rules();

// The rule of a code; null for one that this msrun has not.
const Rule* find_rule(std::uint8_t code);
// Its name; "rule 99" for one that this msrun has not.
std::string name_of_rule(std::uint8_t code);

// "few_samples", "one_evaluation".
std::string_view name_of(Stage stage);
std::string_view name_of(Cost cost);
// "one pass", for a table.
std::string_view text_of(Cost cost);

// Why the rules of a stage are asked, one sentence.
std::string_view reason_of(Stage stage);

// Whether the rules of a stage are asked of a row of which so much is known.
bool is_asked(Stage stage, const RowCase& row, const Explanation& known);

// What is known of a row before any rule is asked.
Explanation nothing_known(const RowCase& row);

namespace rule {

// first_looks.cpp
Answer copies(RowCase& row, Explanation& known);
Answer last_place(RowCase& row, Explanation& known);
Answer screens(RowCase& row, Explanation& known);
Answer typical_sums(RowCase& row, Explanation& known);
Answer same_in_its_dtypes(RowCase& row, Explanation& known);

// large_calls.cpp
Answer sides_in_large_calls(RowCase& row, Explanation& known);
Answer part_of_large_call(RowCase& row, Explanation& known);

// unrounded.cpp
Answer nothing_rounds(RowCase& row, Explanation& known);
Answer few_terms(RowCase& row, Explanation& known);

// sides.cpp
Answer sides_of_steps(RowCase& row, Explanation& known);

// terms.cpp
Answer terms_by_few_samples(RowCase& row, Explanation& known);
Answer terms_by_more_samples(RowCase& row, Explanation& known);

// operands.cpp
Answer rounded_operands(RowCase& row, Explanation& known);

// series.cpp
Answer added_in_series(RowCase& row, Explanation& known);

// stored_results.cpp
Answer stored_intermediates(RowCase& row, Explanation& known);
Answer stored_steps(RowCase& row, Explanation& known);
Answer stored_parts(RowCase& row, Explanation& known);

// measured_noise.cpp
Answer noise_of_inputs(RowCase& row, Explanation& known);
Answer noise_of_functions(RowCase& row, Explanation& known);
Answer noise_by_more_samples(RowCase& row, Explanation& known);

// half_steps.cpp
Answer half_steps_early(RowCase& row, Explanation& known);
Answer half_steps(RowCase& row, Explanation& known);
Answer half_steps_by_more_samples(RowCase& row, Explanation& known);

}  // namespace rule
}  // namespace msrun
