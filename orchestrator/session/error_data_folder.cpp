#include "orchestrator/session/error_data_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include <spdlog/spdlog.h>

#include "kernels/base/error.h"
#include "kernels/base/unique_fd.h"
#include "kernels/io/files/entries.h"
#include "orchestrator/session/new_files.h"

namespace msrun {
namespace {

constexpr const char* set_aside_infix = "_before_";

UniqueFd opened_folder(const Folder& place, const std::string& name) {
  return UniqueFd(openat(place.descriptor(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// An inode is used again, also at once, and the time at which it was is not.
std::string identity_of(int descriptor) {
  struct statx status {};
  if (statx(descriptor, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &status) != 0) return {};
  std::string identity = std::to_string(status.stx_ino);
  if ((status.stx_mask & STATX_BTIME) != 0) {
    identity += "@" + std::to_string(status.stx_btime.tv_sec) + "." + std::to_string(status.stx_btime.tv_nsec);
  }
  return identity;
}

// In the order of their stamps.
std::vector<std::string> set_aside_folders(const Folder& place, const std::string& name) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const std::filesystem::directory_entry& entry : entries_of(place.path(), ignored)) {
    std::string other = entry.path().filename().string();
    if (other.starts_with(name + set_aside_infix)) names.push_back(std::move(other));
  }
  return names;
}

bool is_folder(const Folder& place, const std::string& name) { return static_cast<bool>(opened_folder(place, name)); }

}  // namespace

std::string folder_identity(const Folder& folder) { return identity_of(folder.descriptor()); }

void hold_error_data(const Folder& folder) { flock(folder.descriptor(), LOCK_SH | LOCK_NB); }

void make_room_for_error_data(const Folder& place, const std::string& name, const std::string& stamp) {
  const UniqueFd there = opened_folder(place, name);
  if (!there) return;
  const std::string path = place.path_of(name);
  const bool is_filled = is_filled_directory(path);
  if (!is_filled && flock(there.get(), LOCK_EX | LOCK_NB) == 0) {
    unlinkat(place.descriptor(), name.c_str(), AT_REMOVEDIR);
    return;
  }
  if (stamp.empty()) return;
  const std::string kept = name + set_aside_infix + stamp;
  if (renameat(place.descriptor(), name.c_str(), place.descriptor(), kept.c_str()) != 0) {
    const int code = errno;
    throw UserError(path +
                    ": the tensors of an earlier run cannot be set aside: " + std::generic_category().message(code));
  }
  spdlog::warn("{} {}; {} set aside as {}.", path,
               is_filled ? "holds tensors of an earlier run" : "is the folder of a run that still goes on",
               is_filled ? "they are" : "it is", place.path_of(kept));
}

std::string continued_error_data(const Folder& place, const Dialect& dialect, const std::string& stamp,
                                 bool several_devices, const EarlierErrorData& earlier) {
  const std::string usual = dialect.error_data_folder(stamp, several_devices);
  // Whichever command goes on: the one that began has made a folder with the stamp, or saves in the one without.
  const std::string shared = dialect.error_data_folder(stamp, false);
  const std::string own = dialect.error_data_folder(stamp, true);
  if (shared == usual && own == shared && !stamp.empty()) return usual;
  const std::vector<std::string> set_aside = set_aside_folders(place, shared);
  if (!earlier.identity.empty()) {
    std::vector<std::string> tried{own, shared};
    tried.insert(tried.end(), set_aside.begin(), set_aside.end());
    for (const std::string& name : tried) {
      const UniqueFd folder = opened_folder(place, name);
      if (folder && identity_of(folder.get()) == earlier.identity) return name;
    }
  }
  if (own != shared && is_folder(place, own)) return own;
  if (earlier.kept && earlier.identity.empty()) {
    // The first run that was begun after this one has set aside what this one had saved.
    const auto later = std::ranges::upper_bound(set_aside, shared + set_aside_infix + stamp);
    return later == set_aside.end() || stamp.empty() ? shared : *later;
  }
  if (own != shared) return own;
  if (is_filled_directory(place.path_of(shared))) {
    throw UserError(place.path_of(shared) +
                    " is not the folder in which the run that is continued has saved tensors: move it away, or leave "
                    "out -save_error_data");
  }
  return shared;
}

}  // namespace msrun
