// What a call is for a reader: one of eight standings, the most telling that applies.
#pragma once

#include <cstdint>

#include "runner/results/result.h"

namespace msrun::report {

enum class Standing : std::uint8_t {
  suspicious,     // the benchmark speaks against it
  inconsistent,   // suspicious because runs or devices differ, for that alone
  failed_to_run,  // SKIP, or a forward with a verdict whose backward failed
  weak,           // a pass that agrees where nothing else could be expected
  rounding,       // a warning or an error that rounding explains
  pass,
  not_checkable,
  by_rule,
};

// Its letter in the data of the page.
char letter(Standing standing);

Standing standing_of(const ApiResult& result);

}  // namespace msrun::report
