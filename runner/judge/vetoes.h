// What a row that the rules explain is still refused for.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runner/judge/explanation.h"
#include "runner/judge/row_case.h"

namespace msrun {

struct Veto {
  std::uint8_t code;  // in journals: of this veto alone, for ever; never 0
  std::string_view name;
  std::string_view reason;  // one sentence
  bool asked_of_compat;     // also where Messages stay as other tools have them
  bool (*objects)(const RowCase& row, const Explanation& known);
};

// In the order in which they are asked.
std::span<const Veto> vetoes();

// The veto of a code; null for one that this msrun has not.
const Veto* find_veto(std::uint8_t code);
// Its name; "veto 99" for one that this msrun has not.
std::string name_of_veto(std::uint8_t code);

// The first that objects; null if none does. silent asks those alone that compat has as well.
const Veto* objecting(const RowCase& row, const Explanation& known, bool silent);

// Makes every element that differs one that rounding does not explain.
void refuse(const RowCase& row, Explanation& known);

namespace veto {

// common_factor.cpp
bool errs_in_common(const RowCase& row, const Explanation& judged);

// other_calls.cpp
bool is_otherwise_chosen(const RowCase& row, const Explanation& judged);

}  // namespace veto
}  // namespace msrun
