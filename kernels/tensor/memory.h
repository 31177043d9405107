// How much memory the tensors of a thread may hold. A call that was recorded or typed wrongly can ask for any amount
// ("repeat 2^40 times"); the host grants it and kills the process when it is used. Whoever runs calls sets a limit, and
// the tensor over the limit is refused with a SkipError instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>

namespace msrun {

// The host has no memory for a tensor that the limit would allow. It is no SkipError: what one call cannot do it cannot
// do at any time, but this call may well run when memory is there again, so that nobody may go on with half of its
// results.
class NoTensorMemory : public std::bad_alloc {
 public:
  explicit NoTensorMemory(std::size_t bytes)
      : text_(std::make_shared<const std::string>("Not enough memory for a tensor of " + std::to_string(bytes) +
                                                  " bytes.")) {}
  const char* what() const noexcept override { return text_->c_str(); }

 private:
  std::shared_ptr<const std::string> text_;  // copied without an allocation, as exceptions must be
};

// While it lives, tensors that the calling thread creates and has not freed take at most `bytes` together. Scopes of
// one thread do not nest.
class TensorMemoryScope {
 public:
  explicit TensorMemoryScope(std::uint64_t bytes);
  ~TensorMemoryScope();
  TensorMemoryScope(const TensorMemoryScope&) = delete;
  TensorMemoryScope& operator=(const TensorMemoryScope&) = delete;

  // A tensor was refused, whether or not the call went on without it.
  bool exceeded() const;
  // Most bytes held at a time since the scope began.
  std::uint64_t peak() const;
};

// For the storage of tensors. Counts bytes for the calling thread; throws SkipError where that would exceed its limit,
// or that of its work (work.h).
void take_tensor_memory(std::size_t bytes);
// Throws where take_tensor_memory would for count times bytes_each, whatever the product: for what an operator keeps
// beside its tensors and the arguments of the call size.
void check_tensor_memory(std::size_t count, std::size_t bytes_each = 1);
// How many tensors the calling thread was refused since it began, by its limit or by the host, whether or not whoever
// asked for them went on without. Who compares two readings learns whether memory was short in between.
std::uint64_t refused_tensors() noexcept;
// Counts one that the host refused.
void note_refused_tensor() noexcept;
// The thread that frees need not be the one that took: its own count goes down.
void give_tensor_memory(std::size_t bytes) noexcept;

}  // namespace msrun
