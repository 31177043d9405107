#include "runner/judge/sentences.h"

#include <array>
#include <cmath>
#include <cstdio>

#include "kernels/base/counted.h"
#include "kernels/compare/metrics/message_lines.h"
#include "runner/results/reason.h"

namespace msrun {
namespace {

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

// The end of a sentence; empty where nothing is granted.
std::string overflowed_text(const ErrorBudget& budget, const RoundingFit& fit) {
  if (fit.overflowed == 0) return "";
  return "; " + counted(fit.overflowed, "element") + " not finite because " +
         (budget.not_finite.defined()
              ? "an infinite extremum was recorded, so that inputs reach to the end of their dtype"
              : "partial sums overflow");
}

}  // namespace

std::string explained_text(DType dtype, const ErrorBudget& budget, const RoundingFit& fit) {
  const std::string stored = std::string(name(dtype));
  const std::string overflowed = overflowed_text(budget, fit) + ".";
  if (fit.max_ulps == 0) {
    return std::string(explained_line) + stored + " rounding: every " + (fit.overflowed == 0 ? "" : "other ") +
           "element is the rounded benchmark" + overflowed;
  }
  if (budget.longest == 0) return std::string(explained_line) + stored + " rounding: at most 1 ULP" + overflowed;
  const std::string inner(name(dtype == DType::float64 ? dtype : DType::float32));
  const std::string what = budget.longest == 1
                               ? "operations in " + inner
                               : "sums of up to " + std::to_string(budget.longest) + " terms in " + inner;
  return std::string(explained_line) + "rounding: " + what + (stored == inner ? "" : ", stored as " + stored) +
         "; at most " + number(fit.max_share) + " of their error bound" + overflowed;
}

std::string series_text(const Summation& summation, DType dtype, const ErrorBudget& budget, const RoundingFit& fit) {
  const std::string lanes =
      summation.lanes == 1 ? "" : " in " + std::to_string(summation.lanes) + " partial sums side by side";
  return std::string(explained_line) + "rounding: sums of up to " + std::to_string(budget.longest) +
         " terms in float32, added one after the other" + (summation.backwards ? " from the last on" : lanes) +
         (dtype == DType::float32 ? "" : ", stored as " + std::string(name(dtype))) +
         ": computed so, the call gives this result; at most " + number(fit.max_share) + " of the error bound left.";
}

std::string stored_text(DType dtype, const RoundingFit& fit) {
  return std::string(explained_line) + "rounding: intermediate results are stored as " + std::string(name(dtype)) +
         "; at most " + number(fit.max_share) + " of their error bound.";
}

std::string operands_text(OperandRounding rounding, bool by_settings, const RoundingFit& fit) {
  const std::string what = by_settings ? "the device's settings let it round float32 operands to "
                                       : "frameworks let a device round these float32 operands by default, to ";
  const std::string format = rounding == OperandRounding::hf32 ? "HF32" : "TF32";
  return std::string(explained_line) + "rounding: " + what + format + " (" + std::to_string(fraction_bits(rounding)) +
         " fraction bits); at most " + number(fit.max_share) + " of what that changes.";
}

std::string steps_text(std::int64_t on_steps, std::int64_t count) {
  return "At " + std::to_string(on_steps) + " of " + std::to_string(count) +
         " elements a step lies within rounding: what is on its other side is right, too.";
}

std::string alternatives_text(std::int64_t alternatives, std::int64_t count) {
  return "At " + std::to_string(alternatives) + " of " + std::to_string(count) +
         " elements two results are right, and the device has the other one.";
}

std::string half_steps_text(std::string_view what, DType dtype, const RoundingFit& fit) {
  return std::string(half_steps_line) + std::string(what) + " to " + std::string(name(dtype)) +
         ": computed so, the call errs as much; at most " + number(fit.max_share) + " of what that explains.";
}

std::string rounding_on_a_cpu_text() { return "On a CPU this would be rounding: --recorded-on cpu."; }

std::string unexplained_text(std::int64_t count, const RoundingFit& fit) {
  if (fit.explained()) {
    return std::string(unexplained_line) + ": " + std::to_string(fit.misrounded) + " of " + std::to_string(count) +
           " elements are not the nearest number to what sums in float32 can give.";
  }
  const std::string ulps = ulp_text(fit.max_ulps);
  const std::string size = !std::isfinite(fit.max_ulps)    ? "beyond any ULP"
                           : ulps.starts_with("more than") ? "by " + ulps + " ULP"
                                                           : "by up to " + ulps + " ULP";
  return std::string(unexplained_line) + ": " + std::to_string(fit.beyond) + " of " + std::to_string(count) +
         " elements differ, " + size + ".";
}

}  // namespace msrun
