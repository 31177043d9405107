// Walks a dump tree. Symbolic links are neither followed nor reported, so that nothing outside of the tree is touched;
// hidden directories are left alone.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tools/torchair_convert/replace.h"

namespace msrun::convert {

class TreeVisitor {
 public:
  virtual ~TreeVisitor() = default;
  // Before the entries of the directory are read. path is relative to the tree, empty for its root.
  virtual void enter(const Directory& directory, const std::string& path) = 0;
  // A file that by its name is to be converted; modified is seconds since 1970.
  virtual void file(Candidate candidate, const std::string& path, double modified) = 0;
  // A file that by its name was converted before.
  virtual void target() = 0;
  virtual void temporary(const Directory& directory, const std::string& name, int maker) = 0;
  // A source that a converter has set aside.
  virtual void aside(const std::shared_ptr<Directory>& directory, const std::string& source,
                     const std::string& path) = 0;
  virtual void problem(const std::string& message) = 0;
  // Something at that path was left out because no more files can be opened for now.
  virtual void out_of_descriptors(const std::string& path) = 0;
  // True ends the walk.
  virtual bool stopped() const = 0;
};

// Null, with errno set, if there is no such directory or a symbolic link on the way from parent.
std::shared_ptr<Directory> open_below(const Directory& parent, const std::string& relative_path);

// What lies in the directory at `path` of the tree, and below if that is wanted. A directory that vanishes is no
// problem.
void scan(const Directory& root, const std::string& path, bool below, TreeVisitor& visitor);

}  // namespace msrun::convert
