// An evaluation that goes no further than to its first large tensor.
#pragma once

#include <cstddef>

namespace msrun {

// Thrown where a tensor of more bytes than the scope says would have been made, which the memory of the thread
// (memory.h) allows. No std::exception: nobody on the way makes a result of it.
struct LargeTensorReached {};

// While it lives, no tensor of more bytes is made on the calling thread. Scopes of one thread do not nest.
class StopAtLargeTensor {
 public:
  explicit StopAtLargeTensor(std::size_t bytes);
  ~StopAtLargeTensor();
  StopAtLargeTensor(const StopAtLargeTensor&) = delete;
  StopAtLargeTensor& operator=(const StopAtLargeTensor&) = delete;
};

}  // namespace msrun
