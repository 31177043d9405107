#include "runner/shared/region.h"

#include <algorithm>
#include <boost/interprocess/anonymous_shared_memory.hpp>
#include <chrono>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "kernels/base/clock.h"
#include "runner/shared/queue_steps.h"

namespace msrun {
namespace {

// Between two looks at what others hold; each slot looks at an interval of its own.
constexpr std::chrono::microseconds waiting_step{1000};
constexpr std::chrono::microseconds waiting_spread{37};
// Nanoseconds for which calls that need less memory may overtake one that waits for more: for so long processors are
// put to use that would wait with it.
constexpr std::uint64_t overtaking = 1'000'000'000;

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
  passed(QueueStep::ring_filled);
  written_.store(start + count, std::memory_order_release);
  passed(QueueStep::ring_published);
  return count;
}

std::string frame_record(std::string_view record) {
  const auto size = static_cast<std::uint32_t>(record.size());
  std::string framed(reinterpret_cast<const char*>(&size), sizeof(size));
  framed += record;
  return framed;
}

bool unframe_record(std::string& received, std::size_t& consumed, std::string_view& record) {
  std::uint32_t size = 0;
  if (received.size() - consumed < sizeof(size)) return false;
  std::memcpy(&size, received.data() + consumed, sizeof(size));
  if (received.size() - consumed - sizeof(size) < size) return false;
  record = std::string_view(received).substr(consumed + sizeof(size), size);
  consumed += sizeof(size) + size;
  return true;
}

bool SharedQueue::any_left() const {
  return control->stop.load(std::memory_order_relaxed) == 0 && lane->cursor.load() < lane->size;
}

std::optional<std::uint32_t> SharedQueue::take(WorkerSlot& slot) const {
  slot.since.store(0);
  std::uint32_t position = lane->cursor.load();
  while (position < lane->size && control->stop.load(std::memory_order_relaxed) == 0) {
    slot.task.store(order[position]);
    passed(QueueStep::call_claimed);
    if (lane->cursor.compare_exchange_weak(position, position + 1)) {
      passed(QueueStep::call_taken);
      return order[position];
    }
  }
  slot.task.store(WorkerSlot::idle);
  return std::nullopt;
}

bool SharedQueue::acquire_processor(WorkerSlot& slot, const std::function<bool()>& wanted) const {
  while (control->stop.load(std::memory_order_relaxed) == 0 && wanted()) {
    if (claim_processor(slot)) return true;
    wait_a_step(slot);
  }
  return false;
}

bool SharedQueue::admit(WorkerSlot& slot, std::uint64_t bytes) const {
  if (control->stop.load(std::memory_order_relaxed) != 0) return false;
  if (claim_memory(slot, bytes)) return true;
  slot.in_line.store(steady_nanoseconds());
  // Whoever holds the memory may need the token to go on.
  slot.computing.store(0);
  bool is_in = false;
  while (!is_in && control->stop.load(std::memory_order_relaxed) == 0) {
    wait_a_step(slot);
    is_in = claim_memory(slot, bytes);
  }
  slot.in_line.store(0);
  return is_in && acquire_processor(slot, [] { return true; });
}

bool SharedQueue::is_first_in_line(const WorkerSlot& slot) const {
  const std::uint64_t now = steady_nanoseconds();
  const std::uint64_t own = slot.in_line.load();
  const auto place = [](std::uint64_t since, const WorkerSlot& of) { return std::pair(since, &of); };
  return std::none_of(slots.begin(), slots.end(), [&](const WorkerSlot& other) {
    const std::uint64_t since = other.in_line.load();
    if (&other == &slot || since == 0 || since + overtaking > now) return false;
    return own == 0 || place(since, other) < place(own, slot);
  });
}

// A claim is made first and counted then: of two that are made at the same instant at least the later one is counted
// with both, so that together they never hold too much. That both may withdraw is harmless, as they come back at
// different times.
bool SharedQueue::claim_processor(WorkerSlot& slot) const {
  if (tokens_in_use() >= control->processors) return false;
  passed(QueueStep::token_seen);
  slot.computing.store(1);
  passed(QueueStep::token_claimed);
  if (tokens_in_use() > control->processors) {
    slot.computing.store(0);
    return false;
  }
  passed(QueueStep::token_held);
  return true;
}

bool SharedQueue::claim_memory(WorkerSlot& slot, std::uint64_t bytes) const {
  const auto fits = [&](std::uint64_t others) { return others == 0 || others + bytes <= control->memory_budget; };
  if (!fits(memory_in_use()) || !is_first_in_line(slot)) return false;
  passed(QueueStep::memory_seen);
  slot.memory.store(bytes);
  passed(QueueStep::memory_claimed);
  if (!fits(memory_in_use() - bytes)) {
    slot.memory.store(0);
    return false;
  }
  passed(QueueStep::memory_held);
  return true;
}

void SharedQueue::wait_a_step(const WorkerSlot& slot) const {
  const auto index = static_cast<int>(&slot - slots.data());
  pause_for(waiting_step + index % 16 * waiting_spread);
}

void SharedQueue::release(WorkerSlot& slot) const {
  slot.in_line.store(0);
  slot.kept_waiting.store(0);
  slot.memory.store(0);
  passed(QueueStep::memory_given_back);
  slot.computing.store(0);
  passed(QueueStep::token_given_back);
}

std::uint64_t SharedQueue::memory_in_use() const {
  std::uint64_t bytes = 0;
  for (const WorkerSlot& slot : slots) bytes += slot.memory.load();
  return bytes;
}

std::uint64_t SharedQueue::memory_kept() const {
  std::uint64_t bytes = 0;
  for (const WorkerSlot& slot : slots) bytes += slot.kept.load(std::memory_order_relaxed);
  return bytes;
}

std::uint32_t SharedQueue::tokens_in_use() const {
  std::uint32_t tokens = 0;
  for (const WorkerSlot& slot : slots) tokens += slot.computing.load();
  return tokens;
}

boost::interprocess::mapped_region shared_memory(std::size_t bytes) {
  try {
    return boost::interprocess::anonymous_shared_memory(bytes);
  } catch (const boost::interprocess::interprocess_exception&) {
    throw std::bad_alloc();
  }
}

namespace {

using Orders = std::vector<std::vector<std::uint32_t>>;

}  // namespace

QueueMemory::QueueMemory(std::span<const std::uint32_t> order, std::size_t workers, std::uint64_t memory_budget,
                         std::uint32_t processors)
    : QueueMemory(Orders(1, {order.begin(), order.end()}), workers, memory_budget, processors) {}

QueueMemory::QueueMemory(std::span<const std::vector<std::uint32_t>> orders, std::size_t workers,
                         std::uint64_t memory_budget, std::uint32_t processors) {
  const auto aligned = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
  std::size_t total = sizeof(QueueControl) + workers * (sizeof(WorkerSlot) + sizeof(ResultRing));
  for (const auto& order : orders) total += sizeof(QueueLane) + aligned(order.size() * sizeof(std::uint32_t));
  region_ = shared_memory(total);
  auto* at = static_cast<std::byte*>(region_.get_address());
  SharedQueue view;
  view.control = new (at) QueueControl;
  view.control->memory_budget = memory_budget;
  view.control->processors = std::max(processors, 1U);
  at += sizeof(QueueControl);
  auto* slots = reinterpret_cast<WorkerSlot*>(at);
  for (std::size_t i = 0; i < workers; ++i) new (slots + i) WorkerSlot;
  at += workers * sizeof(WorkerSlot);
  // Default-initialised, so that the pages of a ring that is never used are never touched.
  auto* rings = reinterpret_cast<ResultRing*>(at);
  for (std::size_t i = 0; i < workers; ++i) new (rings + i) ResultRing;
  at += workers * sizeof(ResultRing);
  view.slots = {slots, workers};
  view.rings = {rings, workers};
  for (const auto& order : orders) {
    view.lane = new (at) QueueLane;
    view.lane->size = static_cast<std::uint32_t>(order.size());
    at += sizeof(QueueLane);
    view.order = reinterpret_cast<std::uint32_t*>(at);
    std::copy(order.begin(), order.end(), view.order);
    at += aligned(order.size() * sizeof(std::uint32_t));
    views_.push_back(view);
  }
}

}  // namespace msrun
