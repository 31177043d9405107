// A folder that lives as long as the test that made it, and files read and written whole.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace msrun::testing {

namespace fs = std::filesystem;

// Below the system's folder for temporary files; its path is absolute.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  // Removes it with everything in it, what may not be written included.
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  const fs::path& path() const { return path_; }
  fs::path operator/(const std::string& name) const { return path_ / name; }
  // The path of a file in it, as text.
  std::string file(const std::string& name) const { return (path_ / name).string(); }

  // Writes a file and returns its path.
  std::string write(const std::string& name, std::string_view bytes) const;
  // Names of what lies directly in it, sorted.
  std::vector<std::string> names() const;

 private:
  fs::path path_;
};

// All bytes of a file; none if it cannot be read.
std::string read_file(const fs::path& path);
// Replaces the contents of a file, which is made if there is none.
void write_file(const fs::path& path, std::string_view bytes);

}  // namespace msrun::testing
