// CONTRIBUTING.md shows all there is of one operator: its lines are those of the operator's file, and no other file of
// the kernels but the inventory names the operator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Example {
  std::string name;
  std::string file;
  std::string code;  // the indented lines below the sentence that names the two, without their indentation
};

Example example_of(const std::string& page) {
  static const std::regex sentence(R"(This is all there is\s+of `(\w+)`, in `([\w/.]+)`)");
  std::smatch found;
  if (!std::regex_search(page, found, sentence)) return {};
  Example example{found[1], found[2], ""};
  std::istringstream rest(found.suffix());
  bool is_inside = false;
  for (std::string line; std::getline(rest, line);) {
    const bool is_indented = line.starts_with("    ");
    if (is_inside && !is_indented && !line.empty()) break;
    is_inside |= is_indented;
    if (is_inside) example.code += (is_indented ? line.substr(4) : "") + '\n';
  }
  return example;
}

// The paragraphs of code, which blank lines part.
std::vector<std::string> paragraphs_of(const std::string& code) {
  std::vector<std::string> paragraphs;
  std::istringstream lines(code);
  bool is_inside = false;
  for (std::string line; std::getline(lines, line); is_inside = !line.empty()) {
    if (line.empty()) continue;
    if (!is_inside) paragraphs.emplace_back();
    paragraphs.back() += line + '\n';
  }
  return paragraphs;
}

std::string in_source(const std::string& file) { return read_file(fs::path(source_root()) / file); }

TEST(Contributing, CutsTheExampleOutOfThePage) {
  const Example example =
      example_of("x\nThis is all there is\nof `f`, in `a/b.cpp` (so):\n\n    A\n\n      B\n    C\n\nEnd\n");
  EXPECT_EQ(example.name, "f");
  EXPECT_EQ(example.file, "a/b.cpp");
  EXPECT_THAT(paragraphs_of(example.code), ElementsAre("A\n", "  B\nC\n"));
}

TEST(Contributing, ShowsTheOperatorAsItStandsInItsFile) {
  const Example example = example_of(in_source("CONTRIBUTING.md"));
  const std::vector<std::string> paragraphs = paragraphs_of(example.code);
  ASSERT_EQ(paragraphs.size(), 2U) << "a function and its declarations";
  for (const std::string& paragraph : paragraphs) {
    EXPECT_THAT("\n" + in_source(example.file), HasSubstr("\n" + paragraph + "\n"));
  }
}

TEST(Contributing, ShowsAllThereIsOfTheOperator) {
  const Example example = example_of(in_source("CONTRIBUTING.md"));
  ASSERT_FALSE(example.name.empty());
  const std::regex name("\\b" + example.name + "\\b");
  const fs::path root = source_root();
  int lines_seen = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root / "kernels")) {
    const std::string file = entry.path().lexically_relative(root).generic_string();
    if (!entry.is_regular_file() || file.starts_with("kernels/inventory/")) continue;
    std::istringstream lines(read_file(entry.path()));
    for (std::string line; std::getline(lines, line);) {
      if (!std::regex_search(line, name)) continue;
      ++lines_seen;
      EXPECT_THAT("\n" + example.code, HasSubstr("\n" + line + "\n")) << file;
    }
  }
  EXPECT_GE(lines_seen, 3);
}

}  // namespace
}  // namespace msrun::testing
