// What supervisor and runners share: anonymous memory, inherited through fork. Nothing here has a name, so nothing
// stays behind whoever is killed, and nothing here takes a lock, so nobody can die holding one.
#pragma once

#include <algorithm>
#include <atomic>
#include <boost/interprocess/mapped_region.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace msrun {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

// Memory that children inherit. Throws std::bad_alloc where the host has none.
boost::interprocess::mapped_region shared_memory(std::size_t bytes);

// A byte ring with one producer thread and one consumer. Messages of any length pass through in pieces.
class ResultRing {
 public:
  static constexpr std::uint64_t capacity = 1U << 18;

  // Producer: copies as much as fits and returns how much that was.
  std::size_t push(std::string_view bytes);
  // Consumer: appends everything that is there to out (a std::string-like sink) and frees the space.
  template <class Out>
  void drain(Out& out) {
    const std::uint64_t end = written_.load(std::memory_order_acquire);
    std::uint64_t at = read_.load(std::memory_order_relaxed);
    while (at < end) {
      const std::uint64_t offset = at % capacity;
      const std::uint64_t count = std::min(end - at, capacity - offset);
      out.append(bytes_ + offset, count);
      at += count;
    }
    read_.store(at, std::memory_order_release);
  }
  // While no producer runs.
  void reset() {
    written_.store(0);
    read_.store(0);
  }

 private:
  alignas(64) std::atomic<std::uint64_t> written_{0};
  alignas(64) std::atomic<std::uint64_t> read_{0};
  alignas(64) char bytes_[capacity];
};

// Frames one result for a ring: its length, then its bytes.
std::string frame_record(std::string_view record);
// Takes the first whole record off the front of received; false if there is none yet.
bool unframe_record(std::string& received, std::size_t& consumed, std::string_view& record);

// One worker thread of a runner, as the supervisor sees it. What a thread holds stands here and nowhere else: what is
// in use altogether is the sum over the slots, so that the death of a process can leave no two numbers that differ.
struct alignas(64) WorkerSlot {
  static constexpr std::uint32_t idle = 0xFFFFFFFFU;
  std::atomic<std::uint32_t> task{idle};    // the item that it is on, or about to take
  std::atomic<std::uint64_t> since{0};      // steady clock, nanoseconds; 0 before it has begun and once it is computed
  std::atomic<std::uint64_t> memory{0};     // bytes admitted, or claimed, for the task
  std::atomic<std::uint64_t> in_line{0};    // steady clock, nanoseconds: since when it waits for memory; 0: it does not
  std::atomic<std::uint32_t> computing{0};  // 1 while it holds, or claims, one of the processor tokens
  std::atomic<std::uint32_t> kept_waiting{0};  // 1 while its call, which has begun, waits for other calls
  std::atomic<std::uint32_t> fatal_signal{0};  // set by the thread that caught one, before the process dies of it
  // These speak of the runner as a whole, and count in the first of its slots.
  std::atomic<std::uint32_t> heartbeat{0};  // grows while the process is not stopped, whatever its threads are at
  std::atomic<std::uint32_t> ready{0};      // 1 once its device is made
  std::atomic<std::uint64_t> kept{0};       // bytes that its tensors have freed and that it keeps for later ones
  // Why the thread ends the process, with a zero at its end; empty while it does not. Read once the process is dead.
  std::array<char, 256> last_words{};
};

// One queue: items of work (work_items.h), as a rule sorted by falling cost, behind one cursor.
struct alignas(64) QueueLane {
  std::atomic<std::uint32_t> cursor{0};
  std::uint32_t size = 0;
};

// What all queues have in common. What every thread reads for each task has a cache line of its own, which hardly
// anybody writes; with each result results_waiting is written.
struct alignas(64) QueueControl {
  std::atomic<std::uint32_t> stop{0};  // no new tasks are taken
  std::uint32_t processors = 1;        // tokens: threads that may compute at a time, on all devices together
  std::uint64_t memory_budget = 0;     // bytes
  // 1 from the first result after the supervisor emptied the rings until it empties them again: only that first result
  // wakes it.
  alignas(64) std::atomic<std::uint32_t> results_waiting{0};
};

// Views into the two regions. Trivially copyable; valid as long as the owner's mapping is. A process may die or be
// stopped between any two steps (queue_steps.h) of what follows: its slots then tell what it held.
//
// Memory comes before a processor token: who waits for memory holds neither, who waits for a token may hold memory, and
// who holds a token waits for neither. So every wait ends. Those for tokens do because their holders only compute, or
// ask a device (its places and locks belong to calls that are being answered, and a wait for a device lets go of them
// before it asks for a token again; a thread that helps another has its token before it begins). Those for memory do
// because its holders compute, ask a device or wait for tokens. What waits outside of a runner, as for the lease of a
// block or for results to be written, holds nothing of this.
struct SharedQueue {
  QueueControl* control = nullptr;
  QueueLane* lane = nullptr;       // the queue that is taken from
  std::uint32_t* order = nullptr;  // its items
  std::span<WorkerSlot> slots;
  std::span<ResultRing> rings;

  // Whether take() would find something.
  bool any_left() const;
  // The next item in order, which the slot has before the queue has lost it; nothing when the queue has run dry or the
  // run is being stopped. Of a dead process the slot may hold a task that somebody else has taken.
  std::optional<std::uint32_t> take(WorkerSlot& slot) const;
  // Waits for a processor token; false if the run is being stopped or wanted() says that none is needed any more. More
  // threads than processors would only compete for caches and memory.
  bool acquire_processor(WorkerSlot& slot, const std::function<bool()>& wanted) const;
  // Waits until bytes fit the budget beside what others hold, or nobody holds anything; false if the run is being
  // stopped. The slot's token, which it has afterwards, is for others until then. Who has waited for a second is
  // overtaken by nobody that came later: a large call would otherwise wait for as long as there are small ones.
  bool admit(WorkerSlot& slot, std::uint64_t bytes) const;
  // Gives back token and memory; also called by the supervisor for the slots of a dead runner.
  void release(WorkerSlot& slot) const;

  // What all slots hold or claim.
  std::uint64_t memory_in_use() const;
  // What all runners keep for later tensors.
  std::uint64_t memory_kept() const;
  std::uint32_t tokens_in_use() const;

 private:
  bool claim_processor(WorkerSlot& slot) const;
  bool claim_memory(WorkerSlot& slot, std::uint64_t bytes) const;
  bool is_first_in_line(const WorkerSlot& slot) const;
  void wait_a_step(const WorkerSlot& slot) const;
};

// Owns the memory of one queue or several. Create it before forking.
class QueueMemory {
 public:
  QueueMemory(std::span<const std::uint32_t> order, std::size_t workers, std::uint64_t memory_budget,
              std::uint32_t processors);
  // A queue for each of the orders; slots, rings, memory and processors are common to all.
  QueueMemory(std::span<const std::vector<std::uint32_t>> orders, std::size_t workers, std::uint64_t memory_budget,
              std::uint32_t processors);
  SharedQueue view(std::size_t lane = 0) const { return views_[lane]; }

 private:
  boost::interprocess::mapped_region region_;
  std::vector<SharedQueue> views_;
};

}  // namespace msrun
