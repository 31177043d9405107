// Steps within a call, on which either side is right where the computed value lies on one but for rounding.
#include <algorithm>
#include <utility>

#include "runner/judge/evidence.h"
#include "runner/judge/rules.h"

namespace msrun {

Steps steps_of(const RowCase& row) {
  const auto steps_of_call = row.call.op.traits().steps;
  const Steps steps =
      steps_of_call == nullptr ? Steps::none : steps_of_call(row.call.materialised.args, row.call.materialised.kwargs);
  const bool of_gradients = row.of_gradients && (steps != Steps::none || steps_of_call == nullptr);
  return of_gradients ? row.call.op.traits().gradient_steps : steps;
}

bool take_sides_of_steps(RowCase& row, Explanation& judged) {
  auto& [bench, device] = row.pair;
  Steps steps = steps_of(row);
  const bool rounds = steps != Steps::none && steps != Steps::at_a_kink;
  if (rounds && row.arithmetic.half_rounding == HalfRounding::nothing) steps = Steps::of_float32;
  std::optional<StepSides> sides = row.call.variations.sides_of_steps(
      bench, device, [&](const Evaluation& evaluation) { return row.of(evaluation); }, steps,
      row.arithmetic.half_rounding != HalfRounding::nothing);
  if (!sides) return false;
  bench = std::move(sides->bench);
  judged.on_steps = sides->exchanged;
  judged.alternatives = sides->alternatives;
  const bool measured = sides->spread.defined();
  if (measured) judged.budget.longest = std::max<std::int64_t>(judged.budget.longest, 1);
  if (measured) judged.budget.spread = std::move(sides->spread);
  judged.fit = fit_rounding(bench, device, judged.budget);
  return measured || judged.is_explained();
}

namespace rule {

Answer sides_of_steps(RowCase& row, Explanation& known) {
  // Gradients of half types are sums of what is rounded on the way, too, but for those of one element at a kink.
  const bool at_a_kink = row.call.op.traits().gradient_steps == Steps::at_a_kink;
  const bool ends_at_steps = !row.of_gradients || !is_half(row.pair.device.dtype()) || at_a_kink;
  if (!take_sides_of_steps(row, known)) return Answer::open;
  if (known.is_explained()) return Answer::explained;
  return ends_at_steps ? Answer::ended : Answer::open;
}

}  // namespace rule
}  // namespace msrun
