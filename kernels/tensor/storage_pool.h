// Memory of large tensors that is used again. A call makes and frees gigabytes in tensors that live for a moment; pages
// that the system hands out anew for each of them must be cleared by the kernel first, which takes as long as computing
// does. So a process that runs calls keeps what its tensors have freed, in one range of addresses, and asks for huge
// pages there.
//
// Without use_storage_pool(), and for small tensors, storage is malloc's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace msrun {

struct StoragePoolOptions {
  // Bytes that tensors in use and what is kept for later ones may take together. Tensors in use may go beyond: whether
  // they may is a matter of TensorMemoryScope.
  std::uint64_t limit = 0;
  // All storage, of small tensors as well, is filled with ones, which are NaN in every floating dtype, before it is
  // handed out: a test that results do not depend on what was in the memory.
  bool poison = false;
};

// The storage of large tensors of this process comes from the pool from now on. Has no effect where a limit on
// addresses (RLIMIT_AS) or the system has no room for the range, or where a sanitizer watches the memory. Call it once,
// before there are threads.
void use_storage_pool(const StoragePoolOptions& options);

// Storage of at least this many bytes, uninitialised, aligned as malloc's; null where the host has none.
void* take_storage(std::size_t bytes) noexcept;
void give_storage(void* storage, std::size_t bytes) noexcept;

// Gives to the system at least so many bytes of what is kept, or all of it but parts of huge pages.
void give_back_storage(std::uint64_t bytes) noexcept;
// Gives to the system what is kept and has not been asked for since the last call of this function.
void give_back_idle_storage() noexcept;

struct StoragePoolState {
  std::uint64_t used = 0;   // bytes of tensors
  std::uint64_t kept = 0;   // bytes that tensors have freed and the pool has not given back
  std::uint64_t fresh = 0;  // bytes that were taken from the system since the pool was made
};
StoragePoolState storage_pool_state() noexcept;

}  // namespace msrun
