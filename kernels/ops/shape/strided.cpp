// Views whose sizes and strides the call gives. Frameworks lay them over the memory of the tensor as they are told.
#include <limits>
#include <string>

#include "kernels/api/trial.h"
#include "kernels/base/error.h"
#include "kernels/numeric/layout.h"
#include "kernels/ops/common/elementwise.h"

namespace msrun {
namespace {

// How many elements lie between the first and the last that the view shows, with both; as many as 64 bits can count
// where there are more.
std::int64_t extent_of(const Dims& sizes, const Dims& strides) {
  std::int64_t extent = 1;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(sizes[axis] - 1, strides[axis], &reach) ||
        __builtin_add_overflow(extent, reach, &extent)) {
      return std::numeric_limits<std::int64_t>::max();
    }
  }
  return extent;
}

void require_within(const Dims& sizes, const Dims& strides, std::int64_t elements) {
  const std::string view = "A view of sizes " + tuple_text(sizes) + " with strides " + tuple_text(strides);
  if (sizes.size() != strides.size()) throw SkipError(view + " needs a stride for each size.");
  bool is_empty = false;
  for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
    if (sizes[axis] < 0 || strides[axis] < 0) throw SkipError(view + " has a negative number.");
    is_empty = is_empty || sizes[axis] == 0;
  }
  const std::int64_t extent = is_empty ? 0 : extent_of(sizes, strides);
  if (extent > elements) {
    throw SkipError(view + " reaches over " + std::to_string(extent) + " elements, and the tensor has " +
                    std::to_string(elements) + ".");
  }
}

// From the first element on.
Var strided(const Var& x, const Dims& sizes, const Dims& strides) {
  require_within(sizes, strides, x.numel());
  return x.tape().record(x.tensor().contiguous().with_strides(sizes, strides, 0),
                         {{x, [shape = x.shape(), strides](const Tensor& g) { return embed(shape, strides, 0, g); }}});
}

}  // namespace

OP("reshape_alias(Tensor input, int[] size, int[] stride)",
   [](const Bound& args) -> Value { return strided(args.var("input"), args.ints("size"), args.ints("stride")); });
NAMES("reshape_alias", "Aten: _reshape_alias");
TRY_FIRST("reshape_alias", Trial::of_sizes);
TRAITS("reshape_alias", .copies_only = true, .half_sums = HalfSums::gradients);

}  // namespace msrun
