#include "tools/code_mapping/dump_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "kernels/base/error.h"
#include "kernels/io/files/entries.h"
#include "kernels/io/files/paths.h"

namespace msrun::code_mapping {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view tensor_suffix = ".npy";
constexpr std::string_view statistic_name = "statistic.csv";

std::string real_path(const fs::path& path) {
  std::error_code error;
  const fs::path real = fs::canonical(path, error);
  return error ? fs::absolute(path, error).string() : real.string();
}

// Adds the file to those of its kind; false if it is of none.
bool add(const fs::path& path, DumpFiles& files) {
  const std::string name = path.filename().string();
  if (name.ends_with(tensor_suffix)) {
    // A link that names a tensor counts by its own name, not by what it leads to.
    files.tensors.push_back((fs::path(real_path(path.parent_path())) / name).string());
    return true;
  }
  if (name != statistic_name) return false;
  files.statistics.push_back(path.string());
  return true;
}

}  // namespace

DumpFiles find_dump_files(const std::string& path, const std::function<void(const std::string&)>& warn) {
  check_path_text(path);
  DumpFiles files;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) throw UserError("The file path " + path + " does not exist.");
  if (!fs::is_directory(status)) {
    if (!fs::is_regular_file(status) || !add(fs::absolute(path), files)) {
      warn("The specified path is neither an .npy file nor a directory: " + path);
    }
    return files;
  }
  std::vector<std::pair<fs::path, int>> open{{path, 0}};
  bool too_deep = false;
  while (!open.empty()) {
    const auto [folder, depth] = std::move(open.back());
    open.pop_back();
    for (const fs::directory_entry& entry : entries_of(folder, error)) {
      std::error_code of_entry;
      if (entry.is_directory(of_entry)) {
        if (entry.is_symlink(of_entry)) {
          // What a link within the folder leads to is found where it lies.
          const fs::path inside = fs::path(real_path(entry.path())).lexically_relative(real_path(path));
          if (!inside.empty() && *inside.begin() != "..") continue;
          warn("The link " + entry.path().string() + " to a directory was not followed.");
          continue;
        }
        if (depth < deepest_folder) open.emplace_back(entry.path(), depth + 1);
        too_deep = too_deep || depth >= deepest_folder;
      } else if (entry.is_regular_file(of_entry)) {
        add(entry.path(), files);
      }
    }
    if (error) {
      warn("The directory " + folder.string() + " cannot be read: " + error.message());
      files.is_whole = false;
    }
  }
  if (too_deep) {
    warn("What lies more than " + std::to_string(deepest_folder) + " levels below " + path + " was not looked at.");
  }
  std::ranges::sort(files.tensors);
  std::ranges::sort(files.statistics);
  return files;
}

}  // namespace msrun::code_mapping
