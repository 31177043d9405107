// What a user sees who may not read everything, also where the tests run as root.
#pragma once

#include <sys/fsuid.h>
#include <unistd.h>

#include <filesystem>

namespace msrun::testing {

// While it lives, the calling thread may access no more files than a user without privileges may; for other threads and
// processes nothing changes. folder: is opened for that user, with what is in it as it is.
class WithoutPrivileges {
 public:
  explicit WithoutPrivileges(const std::filesystem::path& folder) {
    using std::filesystem::perms;
    // The group stays that of the tests.
    const perms seen = perms::group_read | perms::group_exec | perms::others_read | perms::others_exec;
    std::filesystem::permissions(folder, seen, std::filesystem::perm_options::add);
    if (geteuid() == 0) setfsuid(nobody);
  }
  WithoutPrivileges(const WithoutPrivileges&) = delete;
  WithoutPrivileges& operator=(const WithoutPrivileges&) = delete;
  ~WithoutPrivileges() {
    if (geteuid() == 0) setfsuid(0);
  }

 private:
  static constexpr uid_t nobody = 65534;
};

}  // namespace msrun::testing
