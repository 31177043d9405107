#include "tools/torchair_convert/looks.h"

#include <algorithm>
#include <functional>
#include <limits>

namespace msrun::convert {
namespace {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15U;
  return hash ^ (hash >> 29);
}

std::uint64_t hash_of(const FileState& state) {
  std::uint64_t hash = 1;
  for (const std::uint64_t part : {state.device, state.inode, state.size, static_cast<std::uint64_t>(state.modified),
                                   static_cast<std::uint64_t>(state.modified_nanoseconds)}) {
    hash = mixed(hash, part);
  }
  return hash;
}

// Two paths with one hash look like one file that changes all the time: it is never quiet, and so never touched.
std::uint64_t key_of(const std::string& path) { return std::hash<std::string>{}(path); }

}  // namespace

Look& Looks::see(const std::string& path, const FileState& state, double now, std::uint32_t pass) {
  const auto [entry, added] = looks_.try_emplace(key_of(path));
  Look& look = entry->second;
  look.pass = pass;
  const std::uint64_t hash = hash_of(state);
  if (look.state == LookState::queued || (!added && look.state_hash == hash)) return look;
  look = {};
  look.state_hash = hash;
  look.since = now;
  look.size_kib =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(state.size / 1024, std::numeric_limits<std::uint32_t>::max()));
  look.pass = pass;
  return look;
}

Look* Looks::find(const std::string& path) {
  const auto found = looks_.find(key_of(path));
  return found == looks_.end() ? nullptr : &found->second;
}

void Looks::forget(const std::string& path) { looks_.erase(key_of(path)); }

void Looks::forget_unseen(std::uint32_t since_pass) {
  std::erase_if(looks_, [&](const auto& entry) {
    return entry.second.pass < since_pass && entry.second.state != LookState::queued;
  });
}

bool Looks::all_tried_in(std::uint32_t round) const {
  return std::all_of(looks_.begin(), looks_.end(), [&](const auto& entry) {
    return entry.second.state == LookState::left || entry.second.round == round;
  });
}

Looks::Backlog Looks::backlog() const {
  Backlog backlog;
  for (const auto& [key, look] : looks_) {
    if (look.state == LookState::left) continue;
    ++backlog.files;
    backlog.bytes += std::uint64_t{look.size_kib} * 1024;
  }
  return backlog;
}

}  // namespace msrun::convert
