// Files that a run makes anew: names that no other run has, and no trace of a run that does not come to start.
#pragma once

#include <functional>
#include <string>

#include "journal/run_files.h"

namespace msrun {

// The time stamp (YYYYmmddHHMMSS) of now, or of the first second after it that claim() could make its own, by a file
// that only one can create: two runs that start in the same second must not meet in one file.
std::string fresh_stamp(const std::function<bool(const std::string& stamp)>& claim);

// Names in the directory that nothing has, a dangling link included, and that claim() could make its own. part is what
// they say of the part of the recording that is checked (journal/run_files.h).
RunFiles fresh_run_files(const std::string& directory, const std::function<bool(const RunFiles& files)>& claim,
                         const std::string& part = {});

// A file, or an empty folder, that this run has created and removes again unless it comes to start.
class NewFile {
 public:
  NewFile() = default;
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;
  ~NewFile() { remove(); }
  void remove();
  void created(const std::string& path) { path_ = path; }
  void keep() { path_.clear(); }

 private:
  std::string path_;
};

}  // namespace msrun
