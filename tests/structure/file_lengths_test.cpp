// A file that is longer than others says in its first lines why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

constexpr std::size_t most_lines = 500;
constexpr std::size_t header_lines = 5;
constexpr const char* reason = "hence longer than other files";

// The files below a folder that are too long, relative to it.
std::vector<std::string> long_files(const fs::path& root, const std::vector<std::string>& folders) {
  const std::set<fs::path> sources{".cpp", ".h", ".py"};
  std::vector<std::string> found;
  for (const std::string& folder : folders) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!sources.contains(entry.path().extension())) continue;
      std::ifstream text(entry.path());
      std::size_t lines = 0;
      bool explained = false;
      for (std::string line; std::getline(text, line); ++lines) {
        explained = explained || (lines < header_lines && line.find(reason) != std::string::npos);
      }
      if (lines > most_lines && !explained) found.push_back(entry.path().lexically_relative(root).string());
    }
  }
  return found;
}

TEST(FileLengths, AreShortOrExplained) {
  EXPECT_THAT(long_files(source_root(), {"bench", "journal", "kernels", "orchestrator", "runner", "tests", "tools"}),
              IsEmpty());
}

TEST(FileLengths, AreFoundWhereNothingExplainsThem) {
  const TemporaryDirectory scratch;
  const auto write = [&](const char* name, const std::string& first_line, std::size_t lines) {
    std::ofstream file(scratch / name);
    file << first_line << '\n';
    for (std::size_t i = 1; i < lines; ++i) file << "int x;\n";
  };
  fs::create_directory(scratch / "room");
  write("room/short.cpp", "", most_lines);
  write("room/long.cpp", "", most_lines + 1);
  write("room/table.h", "// One table, " + std::string(reason) + ".", most_lines + 1);
  write("room/notes.md", "", most_lines + 1);
  EXPECT_THAT(long_files(scratch.path(), {"room"}), ElementsAre("room/long.cpp"));
}

}  // namespace
}  // namespace msrun::testing
