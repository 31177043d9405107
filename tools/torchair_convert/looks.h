// What is known of the files of a tree that are not converted yet: since when each has been left alone, and which are
// not to be tried again. A file takes some sixty bytes here, so that a million of them fit into memory.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "tools/torchair_convert/replace.h"

namespace msrun::convert {

enum class LookState : std::uint8_t {
  waiting,  // for being left alone long enough
  queued,   // is being converted
  left,     // not to be tried again until it changes
  retry,    // after `since`
};

struct Look {
  std::uint64_t state_hash = 0;  // of the file's state when it was last seen
  double since = 0;              // seconds of a steady clock
  double first_trouble = -1;     // when it was first found unfinished or without room for the result
  std::uint32_t round = 0;       // of Shortage, in which it was last tried; 0 is none
  std::uint32_t size_kib = 0;    // saturated
  LookState state = LookState::waiting;
  bool reported = false;   // a message about it was printed
  std::uint32_t pass = 0;  // in which it was last seen
};

class Looks {
 public:
  // The entry of a file as it is now; a change of its state begins a new entry, unless the file is queued.
  Look& see(const std::string& path, const FileState& state, double now, std::uint32_t pass);
  // Null if it is not known.
  Look* find(const std::string& path);
  void forget(const std::string& path);
  // Files that have not been seen since that pass have been deleted by others.
  void forget_unseen(std::uint32_t since_pass);

  // Whether every file that is not left has been tried in that round.
  bool all_tried_in(std::uint32_t round) const;

  struct Backlog {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
  };
  // Number and size of the files that are waiting or queued.
  Backlog backlog() const;

 private:
  std::unordered_map<std::uint64_t, Look> looks_;  // by hash of the path
};

}  // namespace msrun::convert
