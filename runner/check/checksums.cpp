#include "runner/check/checksums.h"

#include <cstdint>
#include <string_view>

#include "kernels/tensor/element_hash.h"

namespace msrun {
namespace {

class Hash {
 public:
  void add(const void* bytes, std::size_t size) { value_ = hash_of_bytes(bytes, size, value_); }
  void add(std::string_view text) { add(text.data(), text.size()); }
  // Never 0, which stands for what is not there.
  std::uint64_t value() const { return value_ == 0 ? 1 : value_; }

 private:
  std::uint64_t value_ = 1;
};

std::uint64_t checksum_of(const Tensor& tensor) {
  Hash hash;
  hash.add(name(tensor.dtype()));
  hash.add(tensor.shape().data(), tensor.shape().size() * sizeof(std::int64_t));
  const Tensor elements = tensor.contiguous();
  hash.add(elements.raw(), elements.bytes());
  return hash.value();
}

std::uint64_t checksum_of(const Value& leaf) {
  if (const Tensor* tensor = leaf.get<Tensor>()) return checksum_of(*tensor);
  if (leaf.is_none()) return 0;
  Hash hash;
  hash.add(python_type(leaf));
  if (const bool* flag = leaf.get<bool>()) {
    hash.add(flag, sizeof(*flag));
  } else if (const std::int64_t* number = leaf.get<std::int64_t>()) {
    hash.add(number, sizeof(*number));
  } else if (const double* real = leaf.get<double>()) {
    hash.add(real, sizeof(*real));
  } else if (const std::string* text = leaf.get<std::string>()) {
    hash.add(*text);
  } else if (const DType* dtype = leaf.get<DType>()) {
    hash.add(name(*dtype));
  }
  return hash.value();
}

}  // namespace

Value compared_output(const Value& output, const OperatorTraits& traits) {
  const List* list = output.get<List>();
  const bool chosen = list != nullptr && traits.compared_output && *traits.compared_output < list->size();
  return chosen ? (*list)[*traits.compared_output] : output;
}

Checksums checksums_of(const DeviceResult& result, const OperatorTraits& traits) {
  Checksums checksums;
  for_each_leaf(compared_output(result.output, traits),
                [&](const Value& leaf) { checksums.outputs.push_back(checksum_of(leaf)); });
  for (const Value& gradient : result.gradients) checksums.gradients.push_back(checksum_of(gradient));
  return checksums;
}

}  // namespace msrun
