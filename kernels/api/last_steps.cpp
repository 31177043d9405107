#include "kernels/api/last_steps.h"

#include <optional>
#include <string>

#include "kernels/base/error.h"

namespace msrun {
namespace {

// Constant-initialised, so that it is there before the first line of any file.
constinit const LastStepsRegistration* newest_steps = nullptr;

// There are few, and only calls whose recorded gradients are in question ask.
const LastStepsRegistration* registered_steps(std::string_view canonical) {
  const LastStepsRegistration* line = newest_steps;
  while (line != nullptr && canonical != line->canonical) line = line->next;
  return line;
}

const Var* first_tensor(const Value& output) {
  if (const List* list = output.get<List>()) return list->empty() ? nullptr : list->front().get<Var>();
  return output.get<Var>();
}

}  // namespace

LastStepsRegistration::LastStepsRegistration(const char* canonical_name, LastStepsFunction last_steps,
                                             std::optional<std::size_t> copied)
    : canonical(canonical_name), steps(last_steps), copied_tensor(copied), next(newest_steps) {
  newest_steps = this;
}

bool knows_last_steps(std::string_view canonical) { return registered_steps(canonical) != nullptr; }

std::optional<std::size_t> copied_tensor(std::string_view canonical) {
  const LastStepsRegistration* line = registered_steps(canonical);
  return line == nullptr ? std::nullopt : line->copied_tensor;
}

LastSteps last_steps(const Operator& op, const List& args, const Dict& kwargs, const Value& output, Tape& tape) {
  const LastStepsRegistration* line = registered_steps(op.name);
  const Var* result = first_tensor(output);
  if (line == nullptr || result == nullptr) return {};
  std::string problem;
  std::optional<BoundOverload> bound = op.bind(args, kwargs, problem);
  if (!bound) return {};
  std::size_t tensors = 0;
  const auto count = [&](const Value& leaf) { tensors += leaf.is<Var>() ? 1 : 0; };
  for (const Value& arg : args) for_each_leaf(arg, count);
  for (const auto& [key, value] : kwargs) for_each_leaf(value, count);
  return line->steps({Bound(bound->overload->signature, std::move(bound->values), tape), *result, tensors});
}

}  // namespace msrun
