// The time stamp in the names of a run's files, which only one of the runs that begin at once in a folder may take.
#pragma once

#include <optional>
#include <string>

#include "kernels/base/unique_fd.h"
#include "kernels/io/files/folder.h"

namespace msrun::graph {

// A hidden file that only one process can make, and that is locked and there as long as this object is. What a killed
// process has left is no claim.
class StampClaim {
 public:
  StampClaim() = default;
  StampClaim(const StampClaim&) = delete;
  StampClaim& operator=(const StampClaim&) = delete;
  ~StampClaim() { release(); }

  // Whether this run has the stamp among those of its kind; a claim from before is given up. Throws WriteError where no
  // file can be made.
  bool take(const Folder& folder, const std::string& kind, const std::string& stamp);

 private:
  bool make();
  bool remove_abandoned() const;
  void release();

  std::optional<Folder> folder_;
  std::string name_;
  UniqueFd file_;
};

}  // namespace msrun::graph
