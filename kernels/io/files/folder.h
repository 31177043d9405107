// Folders that are held open, and files that get their names in them when they are complete. Whoever writes into a
// folder for a while reaches its files through the open folder and never through a symbolic link: what others put into
// the folder, or into the place of the folder itself, cannot lead a write elsewhere.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "kernels/base/unique_fd.h"

namespace msrun {

// A folder by its open descriptor; copies share it. Errors are WriteError.
class Folder {
 public:
  // The folder that path leads to when this is called, through links as well; the working directory if it is empty.
  explicit Folder(const std::string& path);
  // Without exceptions: nothing, with errno, if it cannot be opened.
  static std::optional<Folder> open(const std::string& path);

  const std::string& path() const { return path_; }
  int descriptor() const { return descriptor_->get(); }
  // A name in it, for messages.
  std::string path_of(std::string_view name) const;

  // The folder of that name in it, which is made if it is missing. Neither a link nor a file is taken for one.
  Folder subfolder(const std::string& name) const;
  // Makes a folder in it; false if there is something of that name, a dangling link included.
  bool make_new(const std::string& name) const;
  // Whether path still leads to this folder, which may have been moved, removed or replaced meanwhile.
  bool is_at_its_path() const;

 private:
  Folder(std::string path, UniqueFd descriptor);

  std::string path_;
  std::shared_ptr<const UniqueFd> descriptor_;
};

// A file that has no name until it is published, so that whoever is killed leaves nothing behind. Where a file system
// has no such files, it is called ".<name>.msrun.tmp" until then, and for an instant where it replaces another. Its
// writer holds a lock on it: who writes the same name at the same time takes ".<name>.msrun.1.tmp" and so on, and the
// next that writes it removes what a killed process has left. Destroyed unpublished it is gone.
class PendingFile {
 public:
  // Readable and writable, mode 0666 less the umask. Unless is_open() errno says why. The name has no slash.
  PendingFile(const Folder& folder, std::string name);
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile();

  bool is_open() const { return static_cast<bool>(descriptor_); }
  int descriptor() const { return descriptor_.get(); }
  // Gives the file its name in one step, closes it and replaces what has the name: a link itself, not what it points
  // to. False with errno if that fails; then nothing has changed, and the file is gone.
  bool publish();
  // Gives the file that name in one step, which has no slash, and replaces nothing. The file stays open. False with
  // errno if that fails: EEXIST if there is something of that name, and then another can be tried.
  bool publish_as_new(const std::string& name);

 private:
  bool is_written() const;
  bool link_to(const std::string& name) const;
  // Makes the file with a temporary name, and gives the file without a name one. False with errno.
  bool create_locked();
  bool link_locked();
  bool replace();
  void abandon();

  Folder folder_;
  std::string name_;
  std::string temporary_;
  bool has_name_ = false;  // the temporary one
  UniqueFd descriptor_;
};

}  // namespace msrun
