// Differentiable elementwise functions: torch's result dtype, and a function with its vector-Jacobian products as one
// node of the tape. Included by operator files only.
#pragma once

#include <initializer_list>
#include <utility>

#include "kernels/autograd/tape.h"
#include "kernels/numeric/axis_reduction.h"
#include "kernels/tensor/elementwise_map.h"

namespace msrun {

// torch's result dtype: tensors with dimensions decide, 0-d tensors and then numbers only where their category
// (bool < integer < float < complex) is higher; a float number makes integers float32.
DType result_dtype(std::initializer_list<const Var*> operands);

// torch's result dtype for division and the transcendental functions: integers and bool are promoted to float32.
DType float_result_dtype(std::initializer_list<const Var*> operands);

// y = f(x) for a float function; vjp(x, y, g) is the gradient of x. Integer input computes in float32.
template <class F, class V>
Var unary(const Var& x, F f, V vjp) {
  const DType dtype = float_result_dtype({&x});
  Tensor y = map(dtype, x.tensor(), f);
  return x.tape().record(y, {{x, [x = x.tensor(), y, vjp](const Tensor& g) { return map(x.dtype(), x, y, g, vjp); }}});
}

// y = f(x) for a function of floats and complex numbers.
template <class F, class V>
Var complex_unary(const Var& x, F f, V vjp) {
  return unary(x, complex_too(f), complex_too(vjp));
}

// y = f(x) for a function of floats and integers, which are computed in int64 and keep their dtype.
template <class F, class V>
Var unary_any(const Var& x, F f, V vjp) {
  const DType dtype = result_dtype({&x});
  Tensor y = map_as(compute_of(dtype), dtype, x.tensor(), f);
  return x.tape().record(y, {{x, [x = x.tensor(), y, vjp](const Tensor& g) { return map(x.dtype(), x, y, g, vjp); }}});
}

// Both operands, integer tensors beside a floating one rounded to the dtype that this was recorded in, as torch
// converts them first: where they cancel, nothing else is left, and float16 has none beyond 65504. Of a single one
// beside half types see as_scalar_operand (numbers.h).
std::pair<Var, Var> with_rounded_integers(const Var& a, const Var& b);

namespace elementwise_detail {

// The edge from z = f(a, b) to one of its operands.
template <class V>
Edge binary_edge(const Var& operand, const Var& a, const Var& b, const Tensor& z, V vjp) {
  return {operand, [a = a.tensor(), b = b.tensor(), z, vjp, shape = operand.shape(), &context = operand.context()](
                       const Tensor& g) { return sum_to(map(z.dtype(), a, b, z, g, vjp), shape, context); }};
}

template <class V>
Edge ternary_edge(const Var& operand, const Var& a, const Var& b, const Var& c, DType dtype, V vjp) {
  return {operand, [a = a.tensor(), b = b.tensor(), c = c.tensor(), dtype, vjp, shape = operand.shape(),
                    &context = operand.context()](const Tensor& g) {
            return sum_to(map(dtype, a, b, c, g, vjp), shape, context);
          }};
}

}  // namespace elementwise_detail

// z = f(a, b) with torch's promotion; vjp_a(a, b, z, g) and vjp_b(a, b, z, g) before the sum over broadcast axes. f is
// also instantiated for int64.
template <class F, class VA, class VB>
Var binary(const Var& a, const Var& b, F f, VA vjp_a, VB vjp_b) {
  using elementwise_detail::binary_edge;
  const DType dtype = result_dtype({&a, &b});
  const auto [x, y] = with_rounded_integers(a, b);
  const Tensor z = map_as(compute_of(dtype), dtype, x.tensor(), y.tensor(), f);
  return a.tape().record(z, {binary_edge(x, x, y, z, vjp_a), binary_edge(y, x, y, z, vjp_b)});
}

// z = f(a, b) for a function of floats: integer operands are computed in float32.
template <class F, class VA, class VB>
Var float_binary(const Var& a, const Var& b, F f, VA vjp_a, VB vjp_b) {
  using elementwise_detail::binary_edge;
  const DType dtype = float_result_dtype({&a, &b});
  const auto [x, y] = with_rounded_integers(a, b);
  const Tensor z = map(dtype, x.tensor(), y.tensor(), f);
  return a.tape().record(z, {binary_edge(x, x, y, z, vjp_a), binary_edge(y, x, y, z, vjp_b)});
}

// f(a, b, c) in the given result dtype; each VJP gets (a, b, c, g). f is also instantiated for int64, unless it is made
// by floats_only.
template <class F, class VA, class VB, class VC>
Var ternary(DType dtype, const Var& a, const Var& b, const Var& c, F f, VA vjp_a, VB vjp_b, VC vjp_c) {
  const Tensor z = map_as(compute_of(dtype), dtype, a.tensor(), b.tensor(), c.tensor(), f);
  return a.tape().record(z, {elementwise_detail::ternary_edge(a, a, b, c, dtype, vjp_a),
                             elementwise_detail::ternary_edge(b, a, b, c, dtype, vjp_b),
                             elementwise_detail::ternary_edge(c, a, b, c, dtype, vjp_c)});
}

// A bool tensor; no gradient. Operands compare in the dtype that torch promotes them to.
template <class F>
Var predicate(const Var& a, const Var& b, F f) {
  return a.tape().constant(map_as(compute_of(result_dtype({&a, &b})), DType::boolean, a.tensor(), b.tensor(), f));
}

}  // namespace msrun
