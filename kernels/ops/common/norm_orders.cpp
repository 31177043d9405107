#include "kernels/ops/common/norm_orders.h"

#include <cmath>

namespace msrun {

bool is_extreme_order(const Value* order, bool of_matrices) {
  if (order == nullptr) return false;
  if (const auto* integer = order->get<std::int64_t>()) return of_matrices && (*integer == 1 || *integer == -1);
  if (const auto* real = order->get<double>()) return std::isinf(*real) || (of_matrices && std::abs(*real) == 1);
  const auto* text = order->get<std::string>();
  return text != nullptr && (*text == "inf" || *text == "-inf");
}

}  // namespace msrun
