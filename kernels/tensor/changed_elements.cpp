#include "kernels/tensor/changed_elements.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "kernels/tensor/convert.h"

namespace msrun {

Tensor changed_blocks(const Tensor& tensor, const BlockChange& change) {
  constexpr std::int64_t block = 1024;
  const Tensor source = tensor.contiguous();
  Tensor result(source.dtype(), source.shape());
  const auto size = static_cast<std::int64_t>(size_of(source.dtype()));
  std::byte* const target = result.mutable_data<std::byte>();
  std::array<double, block> values;
  for (std::int64_t first = 0; first < source.numel(); first += block) {
    const std::int64_t count = std::min(block, source.numel() - first);
    load_run<double>(source.dtype(), source.raw() + first * size, 1, count, values.data());
    change(values.data(), count, first);
    store_run<double>(source.dtype(), values.data(), count, target + first * size);
  }
  return result;
}

}  // namespace msrun
