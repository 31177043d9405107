#include "kernels/evaluate/trial.h"

#include <algorithm>
#include <optional>

#include "kernels/api/trial.h"
#include "kernels/autograd/tape.h"
#include "kernels/tensor/memory.h"
#include "kernels/tensor/stop_at.h"
#include "kernels/tensor/work.h"

namespace msrun {
namespace {

// Computed in no time.
constexpr std::size_t small_tensor = std::size_t{64} << 10;
// Of an element of a copy: arguments are computed with in no wider dtype, or in their own.
constexpr std::size_t widest_element = 8;

template <class Visit>
void for_each_tensor(const Value& tree, const Visit& visit) {
  for_each_leaf(tree, [&](const Value& leaf) {
    const Tensor* tensor = leaf.get<Tensor>();
    if (tensor != nullptr && tensor->defined()) visit(*tensor);
  });
}

std::size_t largest_copy(const MaterialisedCall& call) {
  std::size_t bytes = small_tensor;
  const auto look = [&](const Tensor& tensor) {
    const auto elements = static_cast<std::size_t>(tensor.numel());
    bytes = std::max(bytes, elements * std::max(widest_element, size_of(tensor.dtype())));
  };
  for (const Value& arg : call.args) for_each_tensor(arg, look);
  for (const auto& [key, value] : call.kwargs) for_each_tensor(value, look);
  return bytes;
}

bool has_complex(const MaterialisedCall& call) {
  bool found = false;
  for_each_argument(call, [&](const Tensor& tensor) { found = found || is_complex(tensor.dtype()); });
  return found;
}

Value as_constants(const Value& tree, Tape& tape) {
  return transform_leaves(tree, [&](const Value& leaf) -> Value {
    const Tensor* tensor = leaf.get<Tensor>();
    return tensor == nullptr ? leaf : Value(tape.constant(*tensor));
  });
}

// Views hold few bytes until somebody copies them.
void require_room(const Value& results) {
  for_each_leaf(results, [](const Value& leaf) {
    const Var* var = leaf.get<Var>();
    if (var == nullptr) return;
    check_tensor_memory(static_cast<std::size_t>(var->tensor().numel()), size_of(var->dtype()));
  });
}

}  // namespace

double elements_of(const MaterialisedCall& call) {
  double elements = 0;
  const auto add = [&](const Tensor& tensor) { elements += static_cast<double>(tensor.numel()); };
  for (const Value& arg : call.args) for_each_tensor(arg, add);
  for (const auto& [key, value] : call.kwargs) for_each_tensor(value, add);
  for (const Value& gradient : call.gradients) for_each_tensor(gradient, add);
  return elements;
}

void try_call(const Operator& op, const MaterialisedCall& call) {
  const std::optional<Trial> trial = trial_of(op);
  if (!trial || (has_complex(call) && !op.traits().takes_complex())) return;
  const WorkScope work(elements_of(call));
  Tape tape;
  List args;
  for (const Value& arg : call.args) args.push_back(as_constants(arg, tape));
  Dict kwargs;
  for (const auto& [key, value] : call.kwargs) kwargs.emplace_back(key, as_constants(value, tape));
  std::optional<StopAtLargeTensor> stop;
  if (*trial == Trial::of_sizes) stop.emplace(largest_copy(call));
  try {
    require_room(op.call(args, kwargs, tape));
  } catch (const LargeTensorReached&) {
    // The memory has room for it, and what was to be refused is refused by now.
    return;
  }
}

}  // namespace msrun
