#include "kernels/io/stored/tensor_range.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "kernels/base/error.h"

namespace msrun {
namespace {

// Walks the stored elements from first to last and says which of them belong to the logical tensor.
class StoredOrder {
 public:
  explicit StoredOrder(const StoredTensor& tensor) {
    for (std::size_t k = 0; k < tensor.axes.size(); ++k) {
      const StoredAxis& axis = tensor.axes[k];
      limits_.push_back(axis.size);
      digits_.push_back({axis.stride, axis.block, k, 1, 0});
      if (axis.blocks > 1) digits_.push_back({axis.outer_stride, axis.blocks, k, axis.block, 0});
    }
    // The slowest first. Among equal strides only one digit has more than one step.
    std::sort(digits_.begin(), digits_.end(), [](const Digit& x, const Digit& y) {
      return x.stride != y.stride ? x.stride > y.stride : x.steps < y.steps;
    });
  }

  // How many of the next `available` stored elements are alike: all inside the tensor or all padding. Moves on.
  struct Run {
    std::int64_t count;
    bool inside;
  };
  Run next(std::int64_t available) {
    Digit& fastest = digits_.back();
    std::int64_t run = std::min(available, fastest.steps - fastest.at);
    const std::int64_t left = limits_[fastest.axis] - position(fastest.axis);
    bool inside = left > 0;
    if (inside) run = std::min(run, left);
    for (std::size_t k = 0; k < limits_.size() && inside; ++k) inside = position(k) < limits_[k];
    fastest.at += run;
    for (std::size_t i = digits_.size() - 1; i > 0 && digits_[i].at == digits_[i].steps; --i) {
      digits_[i].at = 0;
      ++digits_[i - 1].at;
    }
    return {run, inside};
  }

 private:
  struct Digit {
    std::int64_t stride;
    std::int64_t steps;
    std::size_t axis;
    std::int64_t weight;  // of a step in the index along the axis
    std::int64_t at;
  };
  std::int64_t position(std::size_t axis) const {
    std::int64_t index = 0;
    for (const Digit& digit : digits_) {
      if (digit.axis == axis) index += digit.at * digit.weight;
    }
    return index;
  }

  std::vector<Digit> digits_;
  std::vector<std::int64_t> limits_;
};

bool has_padding(const StoredTensor& tensor) { return tensor.count != tensor.stored_count; }

// Collects stored elements of `size` bytes each as they lie in the file.
TensorRange collect_stored(const InputFile& file, const StoredTensor& tensor, std::size_t size,
                           std::span<std::byte> buffer, RangeCollector& collector) {
  const std::int64_t at_once = static_cast<std::int64_t>(buffer.size() / size);
  std::optional<StoredOrder> order;
  if (has_padding(tensor)) order.emplace(tensor);
  for (std::int64_t first = 0; first < tensor.stored_count && !collector.done(); first += at_once) {
    std::int64_t count = std::min(at_once, tensor.stored_count - first);
    const std::byte* elements = buffer.data();
    file.read_at(tensor.begin + static_cast<std::uint64_t>(first) * size,
                 buffer.first(static_cast<std::size_t>(count) * size));
    if (!order) {
      collector.add(elements, static_cast<std::size_t>(count));
      continue;
    }
    while (count > 0) {
      const StoredOrder::Run run = order->next(count);
      if (run.inside) collector.add(elements, static_cast<std::size_t>(run.count));
      elements += static_cast<std::size_t>(run.count) * size;
      count -= run.count;
    }
  }
  return collector.result();
}

}  // namespace

std::span<std::byte> aligned(std::span<std::byte> buffer) {
  void* begin = buffer.data();
  std::size_t size = buffer.size();
  if (std::align(64, 1, begin, size) == nullptr) throw std::logic_error("the buffer is too small");
  return {static_cast<std::byte*>(begin), size};
}

void need_elements(const InputFile& file, const StoredTensor& tensor) {
  if (tensor.count == 0) throw SkipError("The file " + file.path() + " holds a tensor without elements.");
}

TensorRange measure_range(const InputFile& file, const StoredTensor& tensor, std::span<std::byte> buffer) {
  need_elements(file, tensor);
  buffer = aligned(buffer);
  try {
    const StoredRangeCollector stored = stored_range_collector(tensor);
    if (stored.collector) return collect_stored(file, tensor, stored.element_bytes, buffer, *stored.collector);
    const std::unique_ptr<RangeCollector> collector = range_collector(tensor.type);
    TensorReader reader(file, tensor);
    while (const std::size_t count = reader.read(buffer)) collector->add(buffer.data(), count);
    return collector->result();
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
}

}  // namespace msrun
