// What YAML of the user may grow to.
#include "kernels/io/yaml/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/base/error.h"
#include "tests/support/error_of.h"

namespace msrun {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

std::string refusal(const std::string& text) {
  std::vector<std::string> repeated;
  return error_of<UserError>([&] { parse_yaml_in_order("f.yaml", text, repeated); });
}

// Twenty levels of two aliases each would be a million values, and more of them all that memory holds.
TEST(Yaml, AliasesGrowNoSmallFileToAMillionValues) {
  std::string doubling = "a0: &a0 [1, 2]\n";
  for (int i = 1; i <= 18; ++i) {
    const std::string n = std::to_string(i);
    const std::string before = std::to_string(i - 1);
    doubling += "a" + n + ": &a" + n + " [*a" + before + ", *a" + before + "]\n";
  }
  EXPECT_THAT(refusal(doubling),
              HasSubstr("load yaml file \"f.yaml\" failed: it holds too many values, as its aliases"));
}

TEST(Yaml, AliasesRepeatNoLongTextWithoutEnd) {
  std::string text = "a: &a " + std::string(10000, 'x') + "\nb: [";
  for (int i = 0; i < 5000; ++i) text += "*a,";
  EXPECT_THAT(refusal(text + "]\n"), HasSubstr("as its aliases repeat them"));
}

TEST(Yaml, LargeFilesAndAFewAliasesAreTaken) {
  std::string text = "common: &common {x: 1, y: 2}\n";
  for (int i = 0; i < 20000; ++i) text += "l" + std::to_string(i) + ": *common\n";
  EXPECT_EQ(refusal(text), "");
  EXPECT_EQ(refusal("[" + std::string(300000, ',') + "]"), "");
  // A byte of two becomes one of three: the line separator.
  std::string escapes = "\"";
  for (int i = 0; i < 100000; ++i) escapes += "\\L";
  EXPECT_EQ(refusal(escapes + "\""), "");
}

}  // namespace
}  // namespace msrun
