#include "kernels/compare/choices/overwrites.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace msrun {
namespace {

// The values in row-major order of the selection, in the dtype of a result.
Tensor written_values(const Writes& writes, DType dtype) {
  return writes.values.to(dtype).expand(writes.selection->shape).contiguous();
}

// Elements of two row-major tensors of one dtype.
bool same_bits(const Tensor& a, std::int64_t i, const Tensor& b, std::int64_t j) {
  const std::size_t size = size_of(a.dtype());
  return std::memcmp(a.raw() + static_cast<std::size_t>(i) * size, b.raw() + static_cast<std::size_t>(j) * size,
                     size) == 0;
}

}  // namespace

std::optional<OverwriteChoice> OverwriteChoice::find(const Writes& writes, const Tensor& bench, const Tensor& device) {
  if (bench.shape() != device.shape()) return std::nullopt;
  const Tensor actual = device.contiguous();
  const Tensor expected = bench.to(device.dtype()).contiguous();
  std::vector<bool> differs(static_cast<std::size_t>(actual.numel()));
  bool any = false;
  for (std::int64_t i = 0; i < actual.numel(); ++i) {
    if (same_bits(actual, i, expected, i)) continue;
    differs[static_cast<std::size_t>(i)] = any = true;
  }
  if (!any) return std::nullopt;
  const Tensor values = written_values(writes, device.dtype());
  OverwriteChoice choice;
  choice.elements_ = actual.numel();
  std::int64_t value = 0;
  for (const std::int64_t start : writes.selection->starts) {
    for (std::int64_t place = start; place < start + writes.selection->run; ++place, ++value) {
      if (!differs[static_cast<std::size_t>(place)] || !same_bits(values, value, actual, place)) continue;
      choice.kept_.push_back({place, value});
      differs[static_cast<std::size_t>(place)] = false;
    }
  }
  return choice.kept_.empty() ? std::nullopt : std::optional(std::move(choice));
}

Tensor OverwriteChoice::applied(const Tensor& result, const Writes& writes) const {
  const Tensor values = written_values(writes, result.dtype());
  Tensor changed = result.contiguous().clone();
  const std::size_t size = size_of(changed.dtype());
  auto* to = changed.mutable_data<std::byte>();
  for (const auto& [place, value] : kept_) {
    if (place >= changed.numel() || value >= values.numel()) continue;
    std::memcpy(to + static_cast<std::size_t>(place) * size, values.raw() + static_cast<std::size_t>(value) * size,
                size);
  }
  return changed;
}

std::string OverwriteChoice::message() const {
  return "At " + std::to_string(kept_.size()) + " of " + std::to_string(elements_) +
         " elements several values are written to one place: which of them stays is taken as the device chose.";
}

}  // namespace msrun
