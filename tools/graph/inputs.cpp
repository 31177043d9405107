#include "tools/graph/inputs.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "kernels/base/digits.h"
#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/dump/tensor_folder.h"
#include "kernels/io/files/entries.h"
#include "kernels/io/files/paths.h"
#include "tools/recordings/folders.h"

namespace msrun::graph {
namespace {

namespace fs = std::filesystem;

enum class Layout : std::uint8_t { files, ranks, steps };

struct Contents {
  std::vector<std::string> folders;
  std::vector<std::string> others;
  bool empty() const { return folders.empty() && others.empty(); }
};

Contents contents_of(const std::string& folder) {
  Contents contents;
  for (const fs::directory_entry& entry : entries_of(folder)) {
    std::error_code ignored;
    (entry.is_directory(ignored) ? contents.folders : contents.others).push_back(entry.path().filename().string());
  }
  return contents;
}

// The number of "rank7"; that of "rank" alone is 0. Nothing for other names, "rank07" among them.
std::optional<std::uint64_t> number_of(std::string_view name, std::string_view prefix) {
  if (name == prefix) return 0;
  if (!is_numbered(name, prefix)) return std::nullopt;
  const std::string_view digits = name.substr(prefix.size());
  if (digits.size() > 1 && digits.front() == '0') return std::nullopt;
  return parse_number<std::uint64_t>(digits);
}

void check_folder(const std::string& path) {
  check_path_text(path);
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:/-";
  if (path.find_first_not_of(allowed) != std::string::npos) {
    throw UserError("The path " + sanitised(path) +
                    " contains special characters; it may have letters, digits and _ . : / - only.");
  }
  std::error_code error;
  std::string bare = path;
  while (bare.size() > 1 && bare.ends_with('/')) bare.pop_back();
  const fs::file_status link = fs::symlink_status(bare, error);
  if (!fs::exists(link)) throw UserError("The path " + path + " does not exist.");
  if (fs::is_symlink(link)) throw UserError("The path " + path + " is a soft link.");
  if (!fs::is_directory(link)) throw UserError("The npu_path or bench_path should be a folder. (" + path + ")");
}

Layout layout_of(const std::string& folder) {
  const Contents contents = contents_of(folder);
  if (contents.empty()) throw UserError("The path " + folder + " is empty.");
  if (std::ranges::find(contents.folders, tensor_folder_name) != contents.folders.end()) return Layout::files;
  if (contents.folders.empty()) return Layout::files;
  if (contents.others.empty() && contents.folders == std::vector<std::string>{"rank"}) return Layout::ranks;
  if (std::ranges::all_of(contents.folders, recordings::is_process_name)) return Layout::ranks;
  const auto all = [&](std::string_view prefix) {
    return std::ranges::all_of(contents.folders, [&](const std::string& name) { return is_numbered(name, prefix); });
  };
  if (all("rank")) return Layout::ranks;
  if (all("step")) return Layout::steps;
  throw UserError(
      "The input path content does not conform to the expected naming convention. It is expected to be all "
      "step{number} named folders (such as step0), all rank{number} named folders (such as rank0), or all files. (" +
      folder + ")");
}

using Numbered = std::map<std::uint64_t, std::string>;  // number -> name

Numbered numbered(const std::string& folder, const std::string& prefix) {
  const Contents contents = contents_of(folder);
  if (contents.empty()) throw UserError("The path " + folder + " is empty.");
  Numbered found;
  const auto refuse = [&](const std::string& name) {
    throw UserError("The path " + join_path(folder, sanitised(name)) + " is invalid: " + folder +
                    " may hold folders named " + prefix + "{number} only.");
  };
  for (const std::string& name : contents.others) refuse(name);
  for (const std::string& name : contents.folders) {
    std::optional<std::uint64_t> number = number_of(name, prefix);
    if (!number && prefix == "rank" && recordings::is_process_name(name)) number = 0;
    if (!number) refuse(name);
    if (!found.emplace(*number, name).second) refuse(name);
  }
  return found;
}

class Finder {
 public:
  Finder(bool allow_missing, const Warn& warn) : allow_missing_(allow_missing), warn_(warn) {}

  std::vector<RankFolders> find(const std::string& npu, const std::string& bench) {
    const Layout layout = layout_of(npu);
    if (!bench.empty() && layout_of(bench) != layout) {
      throw UserError("The directory structures of npu_path and bench_path are inconsistent. (" + npu + ", " + bench +
                      ")");
    }
    if (layout == Layout::files) return {{"", "", 0, 0, npu, bench}};
    if (layout == Layout::ranks) {
      add_ranks(npu, bench, "", 0);
      return std::move(found_);
    }
    for (const auto& [number, name] : common(npu, bench, "step", bench_names_)) {
      const std::string other = bench.empty() ? "" : join_path(bench, bench_names_.at(number));
      add_ranks(join_path(npu, name), other, name, number);
    }
    return std::move(found_);
  }

 private:
  void add_ranks(const std::string& npu, const std::string& bench, const std::string& step_name, std::uint64_t step) {
    Numbered names;
    for (const auto& [number, name] : common(npu, bench, "rank", names)) {
      const std::string other = bench.empty() ? "" : join_path(bench, names.at(number));
      found_.push_back({step_name, name, step, number, join_path(npu, name), other});
    }
  }

  // What both sides have; names: as the benchmark calls it.
  Numbered common(const std::string& npu, const std::string& bench, const std::string& prefix, Numbered& names) {
    Numbered mine = numbered(npu, prefix);
    if (bench.empty()) return mine;
    names = numbered(bench, prefix);
    const auto same_numbers =
        std::ranges::equal(mine, names, {}, &Numbered::value_type::first, &Numbered::value_type::first);
    if (same_numbers) return mine;
    if (!allow_missing_) {
      throw UserError("The number of " + prefix + "s in the two runs are different. Unable to match the " + prefix +
                      "s. (" + npu + ": " + listed(mine) + "; " + bench + ": " + listed(names) +
                      "; --allow_missing compares those that both have)");
    }
    for (const auto& [number, name] : names) {
      if (!mine.contains(number)) warn_(join_path(bench, name) + " has no counterpart in " + npu + "; it is left out");
    }
    std::erase_if(mine, [&](const auto& one) {
      if (names.contains(one.first)) return false;
      warn_(join_path(npu, one.second) + " has no counterpart in " + bench + "; it is left out");
      return true;
    });
    if (mine.empty()) throw UserError(npu + " and " + bench + " have no " + prefix + " in common.");
    return mine;
  }

  static std::string listed(const Numbered& numbered) {
    std::string text;
    std::size_t count = 0;
    for (const auto& [number, name] : numbered) {
      if (++count > 8) return text + ", ...";
      text += (text.empty() ? "" : ", ") + name;
    }
    return text;
  }

  const bool allow_missing_;
  const Warn& warn_;
  Numbered bench_names_;
  std::vector<RankFolders> found_;
};

}  // namespace

std::vector<RankFolders> find_ranks(const std::string& npu, const std::string& bench, bool allow_missing,
                                    const Warn& warn) {
  check_folder(npu);
  if (!bench.empty()) check_folder(bench);
  return Finder(allow_missing, warn).find(npu, bench);
}

}  // namespace msrun::graph
