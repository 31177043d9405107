// Stands in for libFuzzer where targets are only to meet the inputs that are known: shows the one that is named first
// every file that is named behind it, and every file below a directory that is named, once each.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "tests/fuzz/target.h"

namespace msrun {

std::map<std::string_view, FuzzTarget>& fuzz_targets() {
  static std::map<std::string_view, FuzzTarget> targets;
  return targets;
}

}  // namespace msrun

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  const auto target = msrun::fuzz_targets().find(argc > 1 ? argv[1] : "");
  if (target == msrun::fuzz_targets().end()) {
    std::fprintf(stderr, "the first argument is no target\n");
    return 2;
  }
  std::vector<fs::path> files;
  for (int i = 2; i < argc; ++i) {
    if (!fs::is_directory(argv[i])) {
      files.emplace_back(argv[i]);
      continue;
    }
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(argv[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& path : files) {
    // Known before it is tried: the target says that something is wrong by ending the process.
    std::printf("%s\n", path.c_str());
    std::fflush(stdout);
    std::ifstream file(path, std::ios::binary);
    if (!file) return 1;
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    target->second(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  return files.empty() ? 1 : 0;
}
