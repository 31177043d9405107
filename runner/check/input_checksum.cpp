#include "runner/check/input_checksum.h"

#include <string_view>

#include "kernels/tensor/element_hash.h"

namespace msrun {

std::uint64_t input_checksum(const MaterialisedCall& call) {
  std::uint64_t checksum = 1;
  const auto add = [&](const void* bytes, std::size_t size) { checksum = hash_of_bytes(bytes, size, checksum); };
  for_each_input(call, [&](const Tensor& tensor) {
    const std::string_view dtype = name(tensor.dtype());
    add(dtype.data(), dtype.size());
    add(tensor.shape().data(), tensor.shape().size() * sizeof(std::int64_t));
    const Tensor elements = tensor.contiguous();
    add(elements.raw(), elements.bytes());
  });
  return checksum == 0 ? 1 : checksum;
}

}  // namespace msrun
