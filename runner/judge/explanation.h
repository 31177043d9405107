// What rounding is known to explain of a row, while the rules are asked.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/compare/bounds/rounding.h"
#include "kernels/compare/details.h"
#include "kernels/tensor/arithmetic.h"

namespace msrun {

struct Explanation {
  ErrorBudget budget;
  RoundingFit fit;
  bool stored = false;                               // because intermediate results are stored
  std::optional<DType> stored_as;                    // in that dtype; nothing: in the row's
  const char* in_half = "";                          // what is rounded to the half type on the way; empty: nothing
  OperandRounding operands = OperandRounding::none;  // to which rounding operands is what explains it
  std::optional<Summation> in_series;                // in which order terms were added that explains it
  std::int64_t on_steps = 0;      // elements on the other side of a step than the benchmark (step_sides.h)
  std::int64_t alternatives = 0;  // elements with the other of two right results
  std::int64_t count = 0;
  // What is left open where the steps of a half type are known, which do not explain it, either; once that is taken,
  // what was open without them.
  std::optional<std::pair<ErrorBudget, RoundingFit>> without_steps;
  std::vector<AskedRules::Asked> asked;  // the rules that were asked, in their order
  bool is_at_a_glance = false;           // which needed no more than that
  Tensor part;  // the benchmark of the part of the result that was judged; undefined: of all of it

  bool is_explained() const { return is_acceptable(fit, count); }
  // Takes it where fewer elements are open so.
  void take_without_steps();
};

}  // namespace msrun
