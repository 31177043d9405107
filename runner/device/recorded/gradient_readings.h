// Which recorded gradient belongs to which argument.
//
// The dumper hooks autograd nodes, so that recorded gradients need not be in the order of the arguments, nor those of
// the call as a whole (decision 20). Here are the ways to read them as gradients of the arguments; that they are those
// of a step inside the call is for the check to find out (runner/check/backward.h).
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/api/operator_traits.h"
#include "kernels/api/value.h"

namespace msrun {

// One tensor argument of a call, in the order of DeviceResult::gradients.
struct GradientSlot {
  Dims shape;
  bool wanted = false;  // a gradient is computed for it
  bool positional = true;
  // The place of a keyword argument among the parameters of the operator, whose order autograd's nodes have.
  std::size_t parameter = 0;
};

// Ways to give recorded gradients to arguments: one value per slot, a Tensor, None, or Unsupported with the reason why
// there is nothing to compare.
struct GradientPairing {
  std::vector<List> readings;  // at least one; the likeliest first
  // Several gradients have the shape of one argument, or the reverse, and nothing tells which belongs to which. The
  // readings are all the ways to pair as many as possible, as far as these are few.
  bool ambiguous = false;
};

// The tensors among recorded gradients, depth first.
List tensors_of(const List& recorded);

// By position where the shapes agree, else in order, else by shape. kind is what is known of the gradients of that
// operator.
GradientPairing pair_gradients(RecordedGradients kind, const List& recorded, const std::vector<GradientSlot>& slots);

}  // namespace msrun
