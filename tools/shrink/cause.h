// Why a call fails, in a form in which two results can be compared: by what their Messages name as the cause and as the
// place, without the numbers that depend on shapes and values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runner/results/result.h"

namespace msrun::shrink {

struct Cause {
  // The row that tells most: the first that names a cause, else the first that is suspicious.
  std::string row;  // "forward.output.0"; empty of a call that failed to run
  bool is_backward = false;
  std::string finding;  // "Errors are those of float16 accumulation"; empty if the Message names none
  std::string place;    // "tail", "period 3": where it is wrong, if the Message names that; else empty
  std::string message;  // as the row has it, in one line
  bool forward_is_suspicious = false;
  bool backward_is_suspicious = false;
};

// Nothing of a result that is not suspicious and did not fail to run.
std::optional<Cause> cause_of(const ApiResult& result);

// Whether result fails as the cause says: a row of its direction names the same finding and the same place, and no
// direction is suspicious that was not. Elements of a place depend on the shape and are not compared.
bool shows(const ApiResult& result, const Cause& cause);

// For causes that are of the whole output and name no place: a place is no contradiction, because only few of the
// elements are left wrong.
bool shows_anywhere(const ApiResult& result, const Cause& cause);

}  // namespace msrun::shrink
