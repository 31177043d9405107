// Tells which directories of a tree something has happened in, as far as the kernel says so (inotify). That is a help,
// not a promise: network file systems do not report what other machines do.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "kernels/base/unique_fd.h"

namespace msrun::convert {

struct Change {
  std::string path;    // of a directory, relative to the tree
  bool below = false;  // the directory is new: what is below it is, too
};

class TreeWatch {
 public:
  TreeWatch();

  // False once anything may have been missed: the system has no watches left, or too much has happened. Then only
  // looking at the whole tree helps.
  bool complete() const { return complete_; }
  // To be called before that look begins.
  void expect_whole_look();

  // path is relative to the tree. Watching a directory again is no error.
  void add(int directory, const std::string& path);
  // What has happened since the last call.
  std::vector<Change> changes();

 private:
  UniqueFd descriptor_;
  bool complete_;
  std::unordered_map<int, std::string> paths_;
};

}  // namespace msrun::convert
