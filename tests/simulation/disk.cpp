#include "tests/simulation/disk.h"

#include <algorithm>
#include <cerrno>

#include "journal/error.h"

namespace msrun::simulation {

void Disk::lose_power(Random& random) {
  const std::size_t unsynced = bytes.size() - std::min(synced, bytes.size());
  bytes.resize(bytes.size() - random.below(unsynced + 1));
  // A block that was never written may hold anything.
  const std::size_t left = bytes.size() - std::min(synced, bytes.size());
  if (left > 0 && random.chance(0.3)) {
    const std::size_t spoilt = random.below(left) + 1;
    std::fill(bytes.end() - static_cast<std::ptrdiff_t>(spoilt), bytes.end(), '\0');
  }
  synced = bytes.size();
}

std::size_t JournalFile::read_at(std::uint64_t offset, char* to, std::size_t count) const {
  return journal::MemorySource(disk_.bytes).read_at(offset, to, count);
}

std::size_t JournalFile::append(std::string_view bytes) {
  require_life();
  const std::size_t left = disk_.room ? *disk_.room - std::min(*disk_.room, disk_.bytes.size()) : bytes.size();
  if (left == 0) throw journal::WriteError(name(), "write", ENOSPC);
  std::size_t count = std::min(left, bytes.size());
  if (random_.chance(0.1)) count = 1 + random_.below(count);
  const bool dies = world_.dies_now();
  if (dies) count = random_.below(count + 1);
  disk_.bytes += bytes.substr(0, count);
  if (dies) world_.die();
  return count;
}

void JournalFile::sync() {
  require_life();
  if (world_.dies_now()) world_.die();
  disk_.synced = disk_.bytes.size();
}

void JournalFile::truncate(std::uint64_t size) {
  require_life();
  if (world_.dies_now()) world_.die();
  disk_.bytes.resize(size);
  disk_.synced = std::min(disk_.synced, disk_.bytes.size());
}

// What destructors of a dead process still try reaches no disk.
void JournalFile::require_life() const {
  if (world_.is_dead()) throw journal::WriteError(name(), "write", EIO);
}

}  // namespace msrun::simulation
