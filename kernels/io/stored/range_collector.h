// The smallest and largest of elements that come in pieces, in the order and with the quirks of numpy's min and max.
#pragma once

#include <cstddef>
#include <memory>

#include "kernels/io/numpy/element.h"
#include "kernels/io/stored/stored_tensor.h"

namespace msrun {

struct TensorRange {
  NumpyType type = NumpyType::float32;
  alignas(16) ElementBytes smallest{};
  alignas(16) ElementBytes largest{};
};

// Takes the elements of a tensor in any order, some of them at a time; result is that of at least one.
class RangeCollector {
 public:
  virtual ~RangeCollector() = default;
  virtual void add(const std::byte* elements, std::size_t count) = 0;
  // True once further elements cannot change the result.
  virtual bool done() const { return false; }
  virtual TensorRange result() const = 0;
};

// For elements of the type.
std::unique_ptr<RangeCollector> range_collector(NumpyType type);

// For elements as they lie in a file, so that they need not be decoded. Null for those that must be.
struct StoredRangeCollector {
  std::unique_ptr<RangeCollector> collector;
  std::size_t element_bytes = 0;
};
StoredRangeCollector stored_range_collector(const StoredTensor& tensor);

}  // namespace msrun
