#include "kernels/ops/nn/pooling_options.h"

#include <optional>
#include <string>
#include <vector>

#include "kernels/base/error.h"

namespace msrun {

PoolOptions pool_options(const Bound& args) {
  return {args.ints("kernel_size"), args.ints("stride"), args.ints("padding"), Dims{1}, args.flag("ceil_mode")};
}

Geometry adaptive_windows(const Tensor& x, std::size_t spatial, const Value& output_size) {
  const List* list = output_size.get<List>();
  if (list != nullptr && list->size() != spatial && list->size() != 1) {
    throw SkipError("Adaptive pooling: output_size must have " + std::to_string(spatial) + " sizes.");
  }
  std::vector<std::optional<std::int64_t>> sizes;
  for (std::size_t i = 0; i < spatial; ++i) {
    const Value& size = list == nullptr ? output_size : list->size() == 1 ? list->front() : (*list)[i];
    const std::int64_t* given = size.get<std::int64_t>();
    if (given == nullptr && !size.is_none()) throw SkipError("Adaptive pooling: output_size must be integers.");
    sizes.push_back(given == nullptr ? std::nullopt : std::optional(*given));
  }
  return adaptive_windows(x, sizes);
}

}  // namespace msrun
