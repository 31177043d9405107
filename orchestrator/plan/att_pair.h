// The older tool's two files (acc_check_pytorch.md 3.1), forward_info and backward_info, as they are read: what makes
// each of them that file, and what makes them a pair.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_set>

#include "kernels/io/dump/dump_json.h"

namespace msrun {

class AttPair {
 public:
  // The paths are for messages. They must outlive the pair.
  AttPair(const std::string& forward, const std::string& backward) : forward_(forward), backward_(backward) {}

  // Takes note of every entry, those of the forward file first. entry is named as in a dump.json.
  void see(std::string_view entry, const DumpEntry& content);

  // Throws UserError for what is wrong with the files as a whole; a wrong entry among good ones is a SKIP.
  void check() const;

 private:
  struct File {
    explicit File(const std::string& file) : path(file) {}

    void see(std::string_view base, bool well_formed);
    void check(const char* problem) const;

    const std::string& path;
    std::size_t entries = 0;
    bool any_well_formed = false;
    std::string first;
  };

  File forward_;
  File backward_;
  std::unordered_set<std::string> names_;  // of the forward entries
  std::size_t unpaired_ = 0;
  std::string first_unpaired_;
};

}  // namespace msrun
