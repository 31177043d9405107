// Every number that decides a verdict is in the table that --list-judgement prints.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "kernels/compare/bounds/constants.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

namespace fs = std::filesystem;

// Real numbers of the judge that decide no verdict: they bound what a computation costs, or say how it is done.
const std::map<std::string, std::set<std::string>> of_computations{
    {"runner/judge/call_part.cpp",
     {"most_elements", "most_additions", "most_times", "most_additions_of_a_head", "places_off"}},
    {"runner/judge/other_calls.cpp",
     {"most_altered_cost", "most_cost_of_sound_rows", "beside_number", "end_of_steps", "slack_of_number",
      "calls_of_number"}},
    {"runner/judge/variations.cpp", {"cheap_additions", "cheap_elements"}},
    {"kernels/compare/bounds/estimates.h", {"least_to_square", "most_to_square"}},
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// The names that the first group of the expression finds.
std::set<std::string> found_in(const std::string& text, const std::regex& expression) {
  std::set<std::string> names;
  for (std::sregex_iterator match(text.begin(), text.end(), expression), end; match != end; ++match)
    names.insert((*match)[1]);
  return names;
}

TEST(JudgeConstants, AreAllInTheTableByTheirNames) {
  const std::string header = text_of(fs::path(source_root()) / "kernels/compare/bounds/constants.h");
  const std::set<std::string> declared = found_in(header, std::regex(R"(inline constexpr \S+ (\w+) =)"));
  std::set<std::string> listed;
  for (const JudgeConstant& constant : judge_constants()) {
    EXPECT_TRUE(listed.emplace(constant.name).second) << constant.name << " is listed twice";
    EXPECT_TRUE(constant.reason.ends_with('.')) << constant.name;
    EXPECT_FALSE(constant.unit.empty()) << constant.name;
  }
  EXPECT_EQ(listed, declared);
}

TEST(JudgeConstants, NameTestsThatThereAre) {
  for (const JudgeConstant& constant : judge_constants()) {
    const std::string evidence(constant.evidence);
    const std::set<std::string> tests = found_in(evidence, std::regex(R"(([\w/]+_test\.cpp))"));
    EXPECT_TRUE(!tests.empty() || evidence == "not measured") << constant.name;
    for (const std::string& test : tests)
      EXPECT_TRUE(fs::exists(fs::path(source_root()) / "tests" / test)) << constant.name << ": " << test;
  }
}

TEST(JudgeConstants, StandNowhereElse) {
  const std::regex real(R"(constexpr (?:double|float) (\w+) =)");
  std::size_t files = 0;
  for (const char* folder : {"runner/judge", "kernels/compare/bounds"}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(source_root()) / folder)) {
      const std::string name = fs::relative(entry.path(), source_root()).string();
      if (name == "kernels/compare/bounds/constants.h") continue;
      ++files;
      const auto allowed = of_computations.find(name);
      for (const std::string& constant : found_in(text_of(entry.path()), real)) {
        EXPECT_TRUE(allowed != of_computations.end() && allowed->second.contains(constant))
            << name << ": " << constant << " belongs into kernels/compare/bounds/constants.h";
      }
    }
  }
  EXPECT_GT(files, 50U);
}

}  // namespace
}  // namespace msrun::testing
