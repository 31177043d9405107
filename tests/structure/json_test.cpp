// JSON of foreign origin nests within a limit wherever it is read (kernels/base/json_text.h).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

namespace fs = std::filesystem;

// Where else nlohmann's parser is called: after nests_too_deep() with callbacks of their own, and for JSON that msrun
// has just written itself.
const std::set<std::string> with_own_parser{"kernels/base/json_text.h", "orchestrator/command/config.cpp",
                                            "tools/common/comparison_file.cpp", "tools/tensor_compare/cases.cpp",
                                            "tools/graph/page_model.cpp"};

TEST(Json, IsParsedWithinADepth) {
  const std::regex call(R"(\b([jJ]son|ordered_json|RunHeader)::(parse|sax_parse)\()");
  std::size_t files = 0;
  for (const char* folder : {"journal", "kernels", "orchestrator", "runner", "tools"}) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(fs::path(source_root()) / folder)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      ++files;
      const std::string name = fs::relative(entry.path(), source_root()).string();
      std::ifstream file(entry.path());
      const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
      EXPECT_TRUE(with_own_parser.contains(name) || !std::regex_search(text, call)) << name;
    }
  }
  EXPECT_GT(files, 500U);
}

}  // namespace
}  // namespace msrun::testing
