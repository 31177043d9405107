// Norms that are the largest or smallest of what they measure, by the order that a call asks for.
#pragma once

#include <cstddef>

#include "kernels/api/value.h"

namespace msrun {

// Whether a norm of that order, null if none is given, is an extreme: of magnitudes, or of the sums of rows and columns
// of a matrix.
bool is_extreme_order(const Value* order, bool of_matrices);

// For traits: whether a call asks for such a norm by an argument at that place, or with one of the names it has.
template <std::size_t place, bool of_matrices = false>
bool asks_for_extreme_norm(const List& args, const Dict& kwargs) {
  return is_extreme_order(argument_at(args, kwargs, place, "p"), of_matrices) ||
         is_extreme_order(argument_at({}, kwargs, place, "ord"), of_matrices);
}

}  // namespace msrun
