// Keeps a second converter away from a tree.
#pragma once

#include <string>

#include "kernels/base/unique_fd.h"
#include "tools/torchair_convert/replace.h"

namespace msrun::convert {

class TreeLock {
 public:
  // Throws UserError if another process holds it, or if the directory cannot be written to.
  explicit TreeLock(const Directory& root);
  // Removes the file as well.
  ~TreeLock();
  TreeLock(const TreeLock&) = delete;
  TreeLock& operator=(const TreeLock&) = delete;

 private:
  const Directory& root_;
  UniqueFd descriptor_;
};

}  // namespace msrun::convert
