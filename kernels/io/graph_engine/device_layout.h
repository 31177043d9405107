// Device layouts: how the elements of a tensor lie in memory when an operator wants them in blocks, with padding, or
// with the axes in another order, and which logical tensor that is (torchair.md 6).
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/io/graph_engine/ge_dump.h"
#include "kernels/io/stored/stored_tensor.h"

namespace msrun {

struct LogicalLayout {
  std::vector<std::int64_t> shape;  // as a report names it
  std::vector<StoredAxis> axes;     // empty: stored in logical order without padding
};

// stored and original are the two shapes of the dump; the product of stored fits 63 bits and is not 0. What cannot be
// converted keeps the stored shape.
LogicalLayout logical_layout(std::int32_t format, std::int32_t sub_format, const std::vector<std::int64_t>& stored,
                             const std::vector<std::int64_t>& original);

}  // namespace msrun
