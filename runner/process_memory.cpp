#include "runner/process_memory.h"

#include <malloc.h>

#include <cstdlib>

#include "kernels/tensor/storage_pool.h"

namespace msrun {

void keep_freed_memory(std::uint64_t limit, std::uint32_t processors) {
  // No more pools than threads that compute at a time: what one thread has freed, the next one is to use.
  mallopt(M_ARENA_MAX, static_cast<int>(processors));
  // Tensors of some megabytes come and go by the thousand: keep their pages instead of returning and faulting them in
  // again.
  mallopt(M_MMAP_THRESHOLD, 256 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  mallopt(M_TOP_PAD, 1 << 20);
  use_storage_pool({limit, std::getenv("MSRUN_POISON_MEMORY") != nullptr});
}

}  // namespace msrun
