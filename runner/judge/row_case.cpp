#include "runner/judge/row_case.h"

#include <utility>

namespace msrun {

CallCase::CallCase(const Operator& of, const MaterialisedCall& call, const Evaluation& bench,
                   const EvaluationOptions& options, const DeviceArithmetic& device)
    : op(of),
      materialised(call),
      benchmark_options(options),
      arithmetic(device),
      terms(bench.notes.choices.terms),
      takes_positions(bench.notes.takes_positions),
      rounds_once(of.traits().rounds_once && floating_arguments(call) <= 2),
      complex_arguments(!of.traits().copies_only && has_complex_argument(call)),
      variations(of, call, bench, options) {}

OperandRounding operands_of(const CallCase& call) {
  return call.arithmetic.operands.of(call.op.traits().operand_setting);
}

std::optional<Tensor> RowCase::of(const Evaluation& evaluation) const {
  std::optional<Tensor> tensor = of_any_shape(evaluation);
  return tensor && tensor->shape() == pair.bench.shape() ? std::move(tensor) : std::nullopt;
}

std::optional<Tensor> RowCase::computed_with(const Arithmetic& other) const {
  const Evaluation* evaluation = call.variations.with(other, limit);
  if (evaluation == nullptr) return std::nullopt;
  std::optional<Tensor> tensor = of(*evaluation);
  return tensor && is_floating(tensor->dtype()) ? std::move(tensor) : std::nullopt;
}

RowCase RowCase::with(CallCase& of, Tensor bench, Tensor device) const {
  return {.call = of,
          .pair = {std::move(bench), std::move(device)},
          .of_gradients = of_gradients,
          .passes = passes,
          .sums = sums,
          .of_any_shape = of_any_shape,
          .arithmetic = arithmetic,
          .operands = operands};
}

RowCase RowCase::within(const CostLimit& other) const {
  RowCase row = *this;
  row.limit = other;
  return row;
}

}  // namespace msrun
