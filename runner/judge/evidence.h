// What several rules ask of a row: its terms, its noise, what it errs by in common, and the call in other arithmetic.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/compare/bounds/constants.h"
#include "runner/judge/explanation.h"
#include "runner/judge/row_case.h"

namespace msrun {

// The numbers between which a factor lies.
struct Interval {
  double least = 0;
  double most = 0;

  void reach(double factor) {
    least = std::min(least, factor);
    most = std::max(most, factor);
  }
  bool holds(double factor, double slack) const { return factor >= least - slack && factor <= most + slack; }
};

// A way to compute a call for inputs beside its own, whose errors are so many times those of the device.
struct Rounding {
  Variations::Perturbation how;
  double times = 1;
};

// What the errors of all elements have in common, as samples show it: a factor, on either side, and how much it varies.
struct CommonErrors {
  double least = 0;
  double most = 0;
  double variance = 0;
};

// terms.cpp: judges by the terms behind each element, as so many changed benchmarks show them. True if that explains
// the row.
bool measure_terms(const RowCase& row, std::size_t samples, Explanation& known);

// measured_noise.cpp: the noise of a row for inputs beside those of the call, computed so; undefined if it is not to be
// had. `lost` gets what a rough computation, or sums in a narrow accumulator, leave in place of numbers, beside what it
// has.
Tensor nearby_noise(const Variations::Perturbation& how, const RowCase& row, std::size_t samples, Tensor& lost);
// Whether sound arithmetic, for inputs a few places beside the call's, errs as much as the device does.
bool measure_noise(const RowCase& row, std::size_t samples, bool rough, Explanation& known);

// sides.cpp: how the row is rounded to an integer on the way.
Steps steps_of(const RowCase& row);
// For calls that round to an integer within, or of which two results are right: puts the sides of steps that the device
// is on, and its choice of results, into the benchmark, and judges by what lies between them. False for other calls.
bool take_sides_of_steps(RowCase& row, Explanation& known);

// operands.cpp: whether rounding the operands of products as the device's settings let it explains the row, with the
// terms that were measured.
bool explained_by_operands(const RowCase& row, Explanation& known);
// How many times the errors of operands that are rounded as the settings let them those of a device may be.
double times_of_operands(const RowCase& row);
// Whether a device's errors have the size, and what they have in common, of operands that are rounded: `rounded` is the
// call computed so.
bool errs_like_operands(const RowCase& row, const Tensor& rounded, double times);

// series.cpp: whether the terms of sums that devices add in blocks were added one after the other in float32, so that
// the device gives what that gives.
bool adds_in_series(const RowCase& row, Explanation& known);

// stored_results.cpp: the row as devices may give it that store every step of a composed operator, in every way that
// differs from that of a device which does not store them.
std::vector<Tensor> with_stored_steps(const RowCase& row);

// unrounded.cpp: which values that are not finite sound arithmetic has in another order or range than the benchmark's
// (ErrorBudget::not_finite); undefined if none, or if the device has none. What maps the largest inputs to small
// numbers, as a softmax does, has none, and -inf + 1 is -inf in any order.
Tensor other_not_finite(const RowCase& row);

// half_steps.cpp: whether the row is formed by one kernel, which passes nothing on that it would round: that of a sum,
// or of what its operator says so of.
bool is_one_kernel(const RowCase& row);
// Whether what the device says of its rounding explains the row: of a processor, what one of its kernels rounds or what
// several of them pass on.
bool rounds_as_the_device(const RowCase& row, std::size_t samples, Explanation& known);

// factors.cpp: what so computed samples have in common.
CommonErrors common_errors(const std::vector<Rounding>& roundings, const RowCase& row, std::size_t samples);
// Whether what the errors of all elements have in common, a factor, is more than rounding makes so: a few roundings of
// one number on which all of them depend, or what such computations show. budget says what else than bench is right.
bool has_common_error(const Tensor& bench, const ErrorBudget& budget, const std::vector<Rounding>& roundings,
                      const RowCase& row, std::size_t samples);
// Whether all elements of a row that is held to it are off by one factor; in_half is what arithmetic gives that adds in
// a half type, if the device may do so.
bool has_factor_in_common(const RowCase& row, const Explanation& known,
                          const std::optional<Tensor>& in_half = std::nullopt);

// causes.cpp: whether faulty arithmetic that neither a CPU nor an accelerator has gives the device's result.
bool errs_as_no_cpu_does(const RowCase& row, const Explanation& known);

}  // namespace msrun
