// The usual shapes of operator bodies: functions of Vars bound to the parameters "input" and "other". For operator
// files only.
#pragma once

#include "kernels/api/operators.h"
#include "kernels/ops/common/functions.h"

namespace msrun {

template <Var (*function)(const Var&)>
Value unary_operator(const Bound& args) {
  return function(args.var("input"));
}

template <Var (*function)(const Var&, const Var&)>
Value binary_operator(const Bound& args) {
  return function(args.var("input"), args.var("other"));
}

// For methods like __rsub__, whose first argument is the right operand.
template <Var (*function)(const Var&, const Var&)>
Value reversed_operator(const Bound& args) {
  return function(args.var("other"), args.var("input"));
}

}  // namespace msrun
