#include "kernels/tensor/storage_pool.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace msrun {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitizer_watches = true;
#else
constexpr bool sanitizer_watches = false;
#endif

// Tensors from this size on are the pool's.
constexpr std::size_t smallest = std::size_t{1} << 17;
constexpr std::size_t page = std::size_t{1} << 12;
// Sizes of blocks: so many between two powers of two. Few sizes leave few gaps; what a block has beyond its tensor is
// not written to, so that it takes addresses but no memory.
constexpr std::size_t classes_per_doubling = 16;
constexpr std::size_t huge_page = std::size_t{1} << 21;
// Blocks from here on have a zone of their own.
constexpr std::size_t large = std::size_t{1} << 24;
// Of what tensors took together at most, so much is kept besides, and no more than this: pages that were given back
// are had again sooner than those that the host of a virtual machine has yet to find.
constexpr std::uint64_t slack_share = 8;
constexpr std::uint64_t most_slack = std::uint64_t{1} << 25;
// Addresses are made usable so many at a time.
constexpr std::size_t growth = std::size_t{1} << 26;
// Blocks of different sizes leave gaps: so many times the limit are reserved in addresses, which cost nothing.
constexpr std::uint64_t addresses_per_limit = 4;

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

std::size_t block_size(std::size_t bytes) {
  return rounded_up(bytes, std::max(page, std::bit_floor(bytes) / classes_per_doubling));
}

// Pieces of a zone that follow each other: where each begins and ends.
using Pieces = std::vector<std::pair<std::size_t, std::size_t>>;

std::size_t bytes_of(const Pieces& pieces) {
  std::size_t bytes = 0;
  for (const auto& [begin, end] : pieces) bytes += end - begin;
  return bytes;
}

// What of the pieces lies there.
Pieces between(const Pieces& pieces, std::size_t begin, std::size_t end) {
  Pieces inside;
  for (const auto& [first, last] : pieces) {
    const std::size_t from = std::max(first, begin);
    const std::size_t to = std::min(last, end);
    if (from < to) inside.emplace_back(from, to);
  }
  return inside;
}

// Puts one list behind another; what touches becomes one piece.
void append(Pieces& pieces, const Pieces& behind) {
  for (const auto& piece : behind) {
    if (!pieces.empty() && pieces.back().second == piece.first) {
      pieces.back().second = piece.second;
    } else {
      pieces.push_back(piece);
    }
  }
}

// From where on the pieces have so many bytes; the beginning of the first if they have no more.
std::size_t begin_of_last(const Pieces& pieces, std::uint64_t bytes) {
  for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
    const std::size_t size = piece->second - piece->first;
    if (size >= bytes) return piece->second - static_cast<std::size_t>(bytes);
    bytes -= size;
  }
  return pieces.empty() ? 0 : pieces.front().first;
}

// A range of addresses from which blocks are taken. What lies below `end_` has been used; of that, free ranges are kept
// by place, to join neighbours, and by size, to find the smallest that fits, lowest first.
class Zone {
 public:
  void set_range(std::byte* base, std::size_t size) {
    base_ = base;
    size_ = size;
  }

  bool owns(const void* storage) const { return storage >= base_ && storage < base_ + size_; }

  // Bytes in free ranges at most whose pages are ours, and bytes that blocks have taken from the system.
  std::uint64_t kept() const { return kept_; }
  std::uint64_t fresh() const { return fresh_; }

  // A block of a free range, if one is large enough.
  std::byte* take_kept(std::size_t size) {
    const auto best = by_size_.lower_bound({size, 0});
    if (best == by_size_.end()) return nullptr;
    const std::size_t place = best->second;
    const std::size_t end = place + size;
    const auto at = free_.find(place);
    // Before anything changes, as these take memory, of which there may be none.
    const std::size_t dirty = bytes_of(between(at->second.dirty, place, end));
    Range rest{at->second.size - size, between(at->second.dirty, end, place + at->second.size)};
    remove_free(at);
    fresh_ += size - dirty;
    if (rest.size > 0) add_free(end, std::move(rest));
    return base_ + place;
  }

  // A block at the end, whose beginning is a free range that lies there; null if there is no room.
  std::byte* take_end(std::size_t size) {
    std::size_t place = end_;
    std::size_t fresh = size;
    if (!free_.empty() && free_.rbegin()->first + free_.rbegin()->second.size == end_) {
      place = free_.rbegin()->first;
      fresh -= bytes_of(free_.rbegin()->second.dirty);
    }
    if (size > size_ - place || !make_usable(place + size)) return nullptr;
    if (place != end_) remove_free(std::prev(free_.end()));
    end_ = place + size;
    fresh_ += fresh;
    return base_ + place;
  }

  void give(const void* block, std::size_t size) {
    const auto place = static_cast<std::size_t>(static_cast<const std::byte*>(block) - base_);
    add_free(place, {size, {{place, place + size}}});
  }

  // Gives about so many bytes to the system, but parts of huge pages; what it could. The last ranges first: the first
  // are those that are taken again. If it throws std::bad_alloc, what it has given is counted.
  std::uint64_t give_back(std::uint64_t bytes) {
    std::uint64_t given = 0;
    for (auto at = free_.rbegin(); at != free_.rend() && given < bytes; ++at) {
      Range& range = at->second;
      const std::size_t end = at->first + range.size;
      // Huge pages stay whole.
      const std::size_t first = rounded_up(at->first, huge_page);
      const std::size_t last = end / huge_page * huge_page;
      const Pieces inside = between(range.dirty, first, last);
      if (inside.empty()) continue;
      const std::size_t from = begin_of_last(inside, bytes - given) / huge_page * huge_page;
      Pieces left = between(range.dirty, at->first, from);
      append(left, between(range.dirty, last, end));
      if (madvise(base_ + from, last - from, MADV_DONTNEED) != 0) continue;
      const std::size_t less = bytes_of(range.dirty) - bytes_of(left);
      given += less;
      kept_ -= less;
      range.dirty = std::move(left);
    }
    return given;
  }

 private:
  struct Range {
    std::size_t size = 0;
    Pieces dirty;  // whose pages are ours at most; the places matter, as of a part only its own are
  };
  using Ranges = std::map<std::size_t, Range>;  // by place

  bool make_usable(std::size_t end) {
    if (end <= usable_) return true;
    const std::size_t wanted = std::min(rounded_up(end, growth), size_);
    if (mprotect(base_ + usable_, wanted - usable_, PROT_READ | PROT_WRITE) != 0) return false;
    usable_ = wanted;
    return true;
  }

  // Joins it with its neighbours.
  void add_free(std::size_t place, Range range) {
    const auto after = free_.lower_bound(place);
    if (after != free_.end() && place + range.size == after->first) {
      const Range joined = remove_free(after);
      range.size += joined.size;
      append(range.dirty, joined.dirty);
    }
    const auto next = free_.lower_bound(place);
    if (next != free_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second.size == place) {
        place = before->first;
        Range joined = remove_free(before);
        joined.size += range.size;
        append(joined.dirty, range.dirty);
        range = std::move(joined);
      }
    }
    kept_ += bytes_of(range.dirty);
    const std::size_t size = range.size;
    free_.emplace(place, std::move(range));
    by_size_.emplace(size, place);
  }

  Range remove_free(Ranges::iterator at) {
    Range range = std::move(at->second);
    kept_ -= bytes_of(range.dirty);
    by_size_.erase({range.size, at->first});
    free_.erase(at);
    return range;
  }

  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  std::size_t end_ = 0;
  std::size_t usable_ = 0;
  std::uint64_t kept_ = 0;
  std::uint64_t fresh_ = 0;
  Ranges free_;
  std::set<std::pair<std::size_t, std::size_t>> by_size_;  // size and place of the free ranges
};

// The blocks of a process, in two zones: a small one that lay in what a large one has left would keep the next large
// one from being put there.
class Pool {
 public:
  bool reserve(const StoragePoolOptions& options) {
    rlimit addresses{};
    if (getrlimit(RLIMIT_AS, &addresses) != 0 || addresses.rlim_cur != RLIM_INFINITY) return false;
    const std::uint64_t limit = std::min(options.limit, std::uint64_t{1} << 43);
    const std::size_t size = rounded_up(std::max<std::uint64_t>(limit * addresses_per_limit, growth), huge_page);
    void* range = mmap(nullptr, 2 * size + huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) return false;
    auto* const base = reinterpret_cast<std::byte*>(rounded_up(reinterpret_cast<std::size_t>(range), huge_page));
    // A wish; without huge pages all is as it is, but slower.
    madvise(base, 2 * size, MADV_HUGEPAGE);
    small_.set_range(base, size);
    large_.set_range(base + size, size);
    limit_ = limit;
    return true;
  }

  bool owns(const void* storage) const { return small_.owns(storage) || large_.owns(storage); }

  void* take(std::size_t bytes) {
    const std::size_t size = block_size(bytes);
    const std::lock_guard lock(mutex_);
    Zone& zone = zone_for(size);
    std::byte* block = zone.take_kept(size);
    if (block == nullptr) block = zone.take_end(size);
    if (block == nullptr) return nullptr;
    used_ += size;
    most_used_ = std::max(most_used_, used_);
    // What is kept in gaps that are too small makes the process hardly larger than its tensors ever were.
    const std::uint64_t enough = std::min(limit_, most_used_ + std::min(most_used_ / slack_share, most_slack));
    if (used_ + kept() > enough) give_back(used_ + kept() - enough);
    least_kept_ = std::min(least_kept_, kept());
    return block;
  }

  void give(void* storage, std::size_t bytes) {
    const std::size_t size = block_size(bytes);
    const std::lock_guard lock(mutex_);
    used_ -= size;
    zone_for(size).give(storage, size);
    if (used_ + kept() > limit_) give_back(used_ + kept() - limit_);
  }

  void give_back_some(std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    give_back(bytes);
  }

  void give_back_idle() {
    const std::lock_guard lock(mutex_);
    const std::uint64_t idle = std::min(least_kept_, kept());
    if (idle > 0) give_back(idle);
    least_kept_ = kept();
  }

  StoragePoolState state() {
    const std::lock_guard lock(mutex_);
    return {used_, kept(), small_.fresh() + large_.fresh()};
  }

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  Zone& zone_for(std::size_t size) { return size < large ? small_ : large_; }

  std::uint64_t kept() const { return small_.kept() + large_.kept(); }

  // Large blocks are rarer and longer unused.
  void give_back(std::uint64_t bytes) noexcept {
    try {
      const std::uint64_t given = large_.give_back(bytes);
      if (given < bytes) small_.give_back(bytes - given);
    } catch (const std::bad_alloc&) {
      // There is no memory for the pool's own lists: the rest is kept until the next time.
    }
  }

  std::mutex mutex_;
  Zone small_;
  Zone large_;
  std::uint64_t limit_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t most_used_ = 0;
  std::uint64_t least_kept_ = 0;  // since give_back_idle()
};

// Never destroyed: tensors may be freed while the process ends.
Pool* pool = nullptr;

bool poisons = false;

void* storage_of(std::size_t bytes) {
  if (pool == nullptr || bytes < smallest) return std::malloc(bytes);
  try {
    // The range is full, or the system gives no more of it.
    if (void* const storage = pool->take(bytes)) return storage;
  } catch (const std::bad_alloc&) {
    // There is no memory for the pool's own lists.
  }
  return std::malloc(bytes);
}

}  // namespace

void use_storage_pool(const StoragePoolOptions& options) {
  poisons = options.poison;
  if (sanitizer_watches || pool != nullptr) return;
  auto* made = new Pool;
  if (!made->reserve(options)) {
    delete made;
    return;
  }
  pool = made;
  // A child of fork() has the forking thread alone: none may be at the pool in that moment.
  pthread_atfork([] { pool->lock(); }, [] { pool->unlock(); }, [] { pool->unlock(); });
}

void* take_storage(std::size_t bytes) noexcept {
  void* const storage = storage_of(bytes);
  if (poisons && storage != nullptr) std::memset(storage, 0xff, bytes);
  return storage;
}

void give_storage(void* storage, std::size_t bytes) noexcept {
  if (pool == nullptr || !pool->owns(storage)) {
    std::free(storage);
    return;
  }
  try {
    pool->give(storage, bytes);
  } catch (const std::bad_alloc&) {
    // There is no memory for the pool's own lists: the block is lost.
  }
}

void give_back_storage(std::uint64_t bytes) noexcept {
  if (pool != nullptr) pool->give_back_some(bytes);
}

void give_back_idle_storage() noexcept {
  if (pool != nullptr) pool->give_back_idle();
}

StoragePoolState storage_pool_state() noexcept { return pool == nullptr ? StoragePoolState{} : pool->state(); }

}  // namespace msrun
