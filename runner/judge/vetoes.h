// What a row that the rules explain is still refused for.
#pragma once

#include <span>
#include <string_view>

#include "runner/judge/explanation.h"
#include "runner/judge/row_case.h"

namespace msrun {

struct Veto {
  std::string_view name;
  std::string_view reason;  // one sentence
  bool asked_of_compat;     // also where Messages stay as other tools have them
  bool (*objects)(const RowCase& row, const Explanation& known);
};

// In the order in which they are asked.
std::span<const Veto> vetoes();

// Whether any of them objects.
bool is_refused(const RowCase& row, const Explanation& known, bool silent);

// Makes every element that differs one that rounding does not explain.
void refuse(const RowCase& row, Explanation& known);

namespace veto {

// common_factor.cpp
bool errs_in_common(const RowCase& row, const Explanation& judged);

// other_calls.cpp
bool is_otherwise_chosen(const RowCase& row, const Explanation& judged);

}  // namespace veto
}  // namespace msrun
