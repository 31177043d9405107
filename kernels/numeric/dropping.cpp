#include "kernels/numeric/dropping.h"

namespace msrun {
namespace {

thread_local DroppingScope* current = nullptr;

}  // namespace

DroppingScope::DroppingScope(bool keeps) : keeps_(keeps), innermost_(current, this) {}

std::optional<bool> decided_dropping(double probability, const Dims& shape) {
  if (current == nullptr) return std::nullopt;
  current->seen_ = Dropping{probability, shape};
  return current->keeps_;
}

}  // namespace msrun
