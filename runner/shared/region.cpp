#include "runner/shared/region.h"

#include <algorithm>
#include <boost/interprocess/anonymous_shared_memory.hpp>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <thread>

namespace msrun {
namespace {

constexpr std::chrono::milliseconds waiting_step{1};

}  // namespace

std::size_t ResultRing::push(std::string_view bytes) {
  const std::uint64_t start = written_.load(std::memory_order_relaxed);
  const std::uint64_t free = capacity - (start - read_.load(std::memory_order_acquire));
  const std::uint64_t count = std::min<std::uint64_t>(bytes.size(), free);
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t offset = (start + done) % capacity;
    const std::uint64_t piece = std::min(count - done, capacity - offset);
    std::memcpy(bytes_ + offset, bytes.data() + done, piece);
    done += piece;
  }
  written_.store(start + count, std::memory_order_release);
  return count;
}

bool SharedQueue::take(std::uint32_t& task) const {
  if (control->stop.load(std::memory_order_relaxed) != 0) return false;
  const std::uint32_t position = control->cursor.fetch_add(1, std::memory_order_relaxed);
  if (position >= control->task_count) {
    // Keeps the cursor from ever wrapping around, however often an idle worker asks.
    control->cursor.store(control->task_count, std::memory_order_relaxed);
    return false;
  }
  task = order[position];
  return true;
}

bool SharedQueue::acquire_processor(WorkerSlot& slot) const {
  std::uint32_t computing = control->computing.load();
  while (true) {
    if (control->stop.load(std::memory_order_relaxed) != 0) return false;
    if (computing < control->processors) {
      if (!control->computing.compare_exchange_weak(computing, computing + 1)) continue;
      slot.computing.store(1);
      return true;
    }
    std::this_thread::sleep_for(waiting_step);
    computing = control->computing.load();
  }
}

bool SharedQueue::admit(WorkerSlot& slot, std::uint64_t bytes) const {
  std::uint64_t in_use = control->memory_in_use.load();
  while (true) {
    if (control->stop.load(std::memory_order_relaxed) != 0) return false;
    if (in_use == 0 || in_use + bytes <= control->memory_budget) {
      // The slot first: if this process dies in between, the supervisor gives back at most what was never taken, and
      // the budget is a limit for planning, not an account that must balance to the byte.
      slot.memory.store(bytes);
      if (control->memory_in_use.compare_exchange_weak(in_use, in_use + bytes)) return true;
      slot.memory.store(0);
      continue;
    }
    std::this_thread::sleep_for(waiting_step);
    in_use = control->memory_in_use.load();
  }
}

void SharedQueue::release(WorkerSlot& slot) const {
  const std::uint64_t bytes = slot.memory.exchange(0);
  std::uint64_t in_use = control->memory_in_use.load();
  while (!control->memory_in_use.compare_exchange_weak(in_use, in_use - std::min(bytes, in_use))) {
  }
  if (slot.computing.exchange(0) != 0) control->computing.fetch_sub(1);
}

boost::interprocess::mapped_region shared_memory(std::size_t bytes) {
  try {
    return boost::interprocess::anonymous_shared_memory(bytes);
  } catch (const boost::interprocess::interprocess_exception&) {
    throw std::bad_alloc();
  }
}

QueueMemory::QueueMemory(std::span<const std::uint32_t> order, std::size_t workers, std::uint64_t memory_budget,
                         std::uint32_t processors) {
  const auto aligned = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
  const std::size_t order_bytes = aligned(order.size() * sizeof(std::uint32_t));
  const std::size_t total = sizeof(QueueControl) + order_bytes + workers * (sizeof(WorkerSlot) + sizeof(ResultRing));
  region_ = shared_memory(total);
  auto* at = static_cast<std::byte*>(region_.get_address());
  view_.control = new (at) QueueControl;
  at += sizeof(QueueControl);
  view_.order = reinterpret_cast<std::uint32_t*>(at);
  std::copy(order.begin(), order.end(), view_.order);
  at += order_bytes;
  auto* slots = reinterpret_cast<WorkerSlot*>(at);
  for (std::size_t i = 0; i < workers; ++i) new (slots + i) WorkerSlot;
  at += workers * sizeof(WorkerSlot);
  // Default-initialised, so that the pages of a ring that is never used are never touched.
  auto* rings = reinterpret_cast<ResultRing*>(at);
  for (std::size_t i = 0; i < workers; ++i) new (rings + i) ResultRing;
  view_.slots = {slots, workers};
  view_.rings = {rings, workers};
  view_.control->task_count = static_cast<std::uint32_t>(order.size());
  view_.control->memory_budget = memory_budget;
  view_.control->processors = std::max(processors, 1U);
}

}  // namespace msrun
