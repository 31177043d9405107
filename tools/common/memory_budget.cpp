#include "tools/common/memory_budget.h"

#include "kernels/base/available_memory.h"

namespace msrun {

MemoryBudget::MemoryBudget() : MemoryBudget(memory_share(usual_share_of_memory)) {}

MemoryBudget::Share MemoryBudget::take(std::uint64_t bytes) {
  std::unique_lock lock(mutex_);
  const std::uint64_t turn = asked_++;
  const auto fits = [&] { return used_ == 0 || bytes == 0 || (used_ <= bytes_ && bytes <= bytes_ - used_); };
  changed_.wait(lock, [&] { return turn == served_ && fits(); });
  used_ += bytes;
  ++served_;
  lock.unlock();
  changed_.notify_all();
  return {*this, bytes};
}

void MemoryBudget::give(std::uint64_t bytes) {
  {
    const std::scoped_lock lock(mutex_);
    used_ -= bytes;
  }
  changed_.notify_all();
}

}  // namespace msrun
