// A call once its tensors are made, as an operator sees it that changes random ones so that they fit each other
// (OperatorTraits::fit): each was drawn alone, from its recorded extrema.
#pragma once

#include "kernels/api/value.h"

namespace msrun {

struct DrawnCall {
  // As the dump has them.
  const List& recorded_args;
  const Dict& recorded_kwargs;
  // What these have become: the same trees, with Tensors in place of TensorSpecs.
  List& args;
  Dict& kwargs;
  const List& gradients;  // of the outputs; empty if the backward is not run

  const Value* recorded(std::size_t place, std::string_view name) const {
    return argument_at(recorded_args, recorded_kwargs, place, name);
  }
  Value* made(std::size_t place, std::string_view name) { return argument_at(args, kwargs, place, name); }
  // The argument as a tensor; null for anything else.
  const Tensor* tensor(std::size_t place, std::string_view name);
  // The same of a tensor that is_drawn; null for any other.
  const Tensor* drawn(std::size_t place, std::string_view name);
};

// Whether a recorded value is a tensor of which the dump has no data.
bool is_drawn(const Value& recorded);

}  // namespace msrun
