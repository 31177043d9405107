// The verdict on one API call as MindSpore's check gives it (acc_check_mindspore.md 6.2, 6.3): three metrics of every
// output or gradient, of which the cosine and the maximum absolute error decide. By default equal NaN and infinities
// agree, values that are no tensors are compared, and outputs without elements agree (decisions 14, 38, 40);
// compat_msprobe restores upstream. Nothing here runs an API or writes a file.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "kernels/api/operator_traits.h"
#include "kernels/api/value.h"
#include "kernels/compare/compare.h"

namespace msrun {

// Outputs, or gradients, of both sides. The benchmark's are as precise as they were computed; those in rounded, of the
// same number, are what is compared: in the dtypes that a computation in the recorded dtypes would have.
struct MindSporeSlots {
  List bench;
  List rounded;
  List tested;
};

// The slots of a result: the items of a list or tuple, or the value itself.
List mindspore_slots(const Value& output);

// One row for each slot of the benchmark; those that have nothing to compare, as None has not, are SKIP without a
// Message. The first line of a row's Message is upstream's text. first_input: see compare_outputs(). Throws SkipError
// for results of a kind that cannot be compared.
Comparison compare_mindspore_outputs(const OperatorTraits& traits, const MindSporeSlots& slots,
                                     const Value* first_input, const CompareOptions& options);

// How the line of a row's Message begins that says how many results were not compared, because one side has more; and
// that line, empty if there is none.
inline constexpr std::string_view uneven_results = "The device gave ";
std::string_view uneven_results_line(const DetailsRow& row);

// Gradients of floating tensors alone; nothing if there is no pair of them.
std::optional<Comparison> compare_mindspore_gradients(const MindSporeSlots& slots, const CompareOptions& options);

}  // namespace msrun
