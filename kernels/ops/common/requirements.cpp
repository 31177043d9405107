#include "kernels/ops/common/requirements.h"

#include <string>

#include "kernels/base/error.h"

namespace msrun {

void require_floating(const Var& x, const char* what) {
  if (is_floating(x.dtype())) return;
  throw SkipError(std::string(what) + " is not defined for tensors of dtype " + std::string(name(x.dtype())) + ".");
}

void require_shape(const Var& x, const Dims& shape, const char* what) {
  if (x.shape() == shape) return;
  throw SkipError(std::string(what) + " has shape " + tuple_text(x.shape()) + " where " + tuple_text(shape) +
                  " is expected.");
}

void require_rank(const Var& x, std::int64_t rank, const char* what) {
  if (x.rank() == rank) return;
  throw SkipError(std::string(what) + " needs a tensor of " + std::to_string(rank) + " dimensions, but got shape " +
                  tuple_text(x.shape()) + ".");
}

}  // namespace msrun
