// Random masks of an attention that leave every query a key, as those of models do. A query without one has NaN as its
// result, on the device and in the benchmark, and so have all gradients: such a check proves nothing.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "kernels/api/drawn_call.h"

namespace msrun {

struct MaskArgument {
  std::size_t place;
  std::string_view name;
};

// Changes those boolean masks of a call that are random. visible is what an element is at a key that is attended to. Of
// several masks that are given together all show the first key, as each may hide what the others show; of one mask it
// is the rows that hide every key.
void keep_visible_keys(DrawnCall& call, std::initializer_list<MaskArgument> masks, bool visible);

}  // namespace msrun
