// For tests of torchair_convert: runs the real program and looks at the trees it leaves.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "tests/support/ge_dump_builder.h"
#include "tests/support/msrun_process.h"
#include "tests/support/sanitized.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {

inline constexpr const char* convert_program = "torchair_convert";

inline fs::path torchair_data() { return fs::path(test_data()) / "torchair"; }

// Contents by path relative to the tree; of hidden files as well.
using Files = std::map<std::string, std::string>;
inline Files files_in(const fs::path& tree) {
  Files files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(tree)) {
    if (entry.is_regular_file()) files[fs::relative(entry.path(), tree).string()] = read_file(entry.path());
  }
  return files;
}

inline void copy_tree(const fs::path& from, const fs::path& to) {
  fs::create_directories(to.parent_path());
  fs::copy(from, to, fs::copy_options::recursive);
}

// A small npy file of float32.
inline std::string npy_file(const std::vector<float>& values) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(values.size()) + ",), }";
  header.resize(117, ' ');
  header += '\n';
  return std::string("\x93NUMPY\x01\0\x76\0", 10) + header + bytes_of(values);
}

inline std::string ge_file(const std::vector<float>& values) {
  const DumpTensor tensor{.shape = {values.size()}, .original_shape = {values.size()}, .data = bytes_of(values)};
  return ge_dump_bytes({tensor}, {tensor});
}

// The name under which a source is found once it is converted.
inline std::string target_of(const std::string& source) {
  if (source.ends_with(".npy")) return source.substr(0, source.size() - 4) + "_min_max.npy";
  return source + "_min_max.npz";
}

inline Finished convert_once(const fs::path& tree, const fs::path& scratch, std::vector<std::string> further = {},
                             const std::vector<std::string>& environment = {}) {
  std::vector<std::string> arguments{tree.string(), "--once", "--settle", "0"};
  arguments.insert(arguments.end(), further.begin(), further.end());
  return Process(arguments, scratch, environment, convert_program).wait();
}

// Every source is still there as it was, or its target is there as it should be, and nothing that is visible is
// anything else. `expected` is a finished tree.
inline ::testing::AssertionResult nothing_is_lost(const Files& sources, const Files& expected, const fs::path& tree) {
  const Files found = files_in(tree);
  for (const auto& [source, bytes] : sources) {
    const std::string target = target_of(source);
    const auto kept = found.find(source);
    const auto converted = found.find(target);
    if (kept == found.end() && converted == found.end()) {
      return ::testing::AssertionFailure() << source << " is gone, and so is its target";
    }
    if (kept != found.end() && kept->second != bytes) return ::testing::AssertionFailure() << source << " has changed";
    if (converted != found.end() && converted->second != expected.at(target)) {
      return ::testing::AssertionFailure() << target << " is not what it should be";
    }
  }
  for (const auto& [path, bytes] : found) {
    const bool hidden = fs::path(path).filename().string().starts_with('.');
    if (!hidden && !sources.contains(path) && !expected.contains(path)) {
      return ::testing::AssertionFailure() << path << " has come from nowhere";
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace msrun::testing
