#include "tools/api_precision_compare/found_inputs.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/files/apart.h"
#include "kernels/io/files/entries.h"
#include "tools/api_precision_compare/inputs.h"

namespace msrun::api_precision_compare {

namespace {

namespace fs = std::filesystem;

constexpr const char* npu_side = "npu";
constexpr const char* gpu_side = "gpu";

const char* title(const std::string& side) { return side == npu_side ? "NPU" : "GPU"; }

// The details files of a folder, by name.
std::vector<std::string> details_in(const fs::path& folder) {
  std::vector<std::string> files;
  std::error_code error;
  for (const fs::directory_entry& entry : entries_of(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("accuracy_checking_details_") || !name.ends_with(".csv")) continue;
    if (entry.is_regular_file(error)) files.push_back((folder / name).lexically_normal().string());
  }
  return files;
}

class Search {
 public:
  Search(const std::string& npu, const std::string& gpu) : here_(details_in(".")) {
    for (const std::string& given : {npu, gpu}) {
      if (!given.empty()) std::erase_if(here_, [&](const std::string& path) { return is_same_file(path, given); });
    }
  }

  // The file of a side. other_is_known: whatever else there is belongs to this one.
  std::optional<std::string> file_of(const std::string& side, bool other_is_known) const {
    std::vector<std::string> own;
    std::vector<std::string> unknown;
    for (const std::string& path : here_) {
      const std::string kind = device_kind(path);
      if (kind == side) own.push_back(path);
      if (kind.empty()) unknown.push_back(path);
    }
    if (own.size() == 1) return own.front();
    if (own.empty() && other_is_known && unknown.size() == 1) return unknown.front();
    const std::vector<std::string> below = details_in(side);
    return own.empty() && below.size() == 1 ? std::optional(below.front()) : std::nullopt;
  }

  void take(const std::string& path) { std::erase(here_, path); }

  [[noreturn]] void refuse(const std::string& side) const {
    std::string text = "the option -" + side + " FILE is missing, and the current folder ";
    if (here_.empty()) {
      throw UserError(text + "has no file accuracy_checking_details_<time>.csv that could be meant " +
                      "(api_precision_compare -h lists all options)");
    }
    text += here_.size() == 1 ? "does not tell whether this is the file of the " + std::string(title(side)) + ": "
                              : "has several files that may be that of the " + std::string(title(side)) + ": ";
    for (const std::string& path : here_) text += (&path == here_.data() ? "" : ", ") + sanitised(path);
    throw UserError(text);
  }

 private:
  std::vector<std::string> here_;  // of the current folder, those that are not taken
};

}  // namespace

InputPaths with_found_inputs(const std::string& npu, const std::string& gpu) {
  InputPaths paths{npu, gpu, {}};
  if (!npu.empty() && !gpu.empty()) return paths;
  Search search(npu, gpu);
  const auto fill = [&](std::string& path, const std::string& side, bool other_is_known) {
    if (!path.empty()) return;
    const std::optional<std::string> found = search.file_of(side, other_is_known);
    if (!found) return;
    search.take(*found);
    path = *found;
    paths.notices.push_back("the " + std::string(title(side)) + " file is " + sanitised(path) + ", which was found");
  };
  fill(paths.npu, npu_side, !paths.gpu.empty());
  fill(paths.gpu, gpu_side, !paths.npu.empty());
  fill(paths.npu, npu_side, !paths.gpu.empty());  // by what was left
  if (paths.npu.empty()) search.refuse(npu_side);
  if (paths.gpu.empty()) search.refuse(gpu_side);
  return paths;
}

}  // namespace msrun::api_precision_compare
