// The shared memory of one lane: tensors of a call cross in it from the runner to the worker and back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "kernels/base/unique_fd.h"

namespace msrun {

// An anonymous file that both sides map as far as it reaches. Either side may make it longer, neither shorter, so that
// what is mapped can be read and written at any time.
class Arena {
 public:
  // Tensors begin at multiples of this many bytes.
  static constexpr std::size_t alignment = 64;

  // Throws std::system_error.
  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  int descriptor() const { return file_.get(); }

  // Makes the file, and what is mapped of it, at least that long. Throws std::system_error, and NoTensorMemory where
  // the host has none.
  void reserve(std::size_t bytes);
  // Maps what the other side has added. Throws std::system_error.
  void follow();
  // What is mapped. Valid until the next reserve() or follow().
  std::span<std::byte> memory() const { return {memory_, size_}; }

  // Says that one side has written up to there.
  void touched(std::size_t end) { touched_ = std::max(touched_, end); }
  // If more than that was written to since the last time, gives the memory behind it back to the host; the content
  // there becomes zeros.
  void give_back(std::size_t keep);

 private:
  void map(std::size_t bytes);

  UniqueFd file_;
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0;
  std::size_t touched_ = 0;
};

// The next multiple of Arena::alignment.
constexpr std::size_t aligned(std::size_t offset) {
  return (offset + Arena::alignment - 1) / Arena::alignment * Arena::alignment;
}

}  // namespace msrun
