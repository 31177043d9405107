#include "kernels/base/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace msrun {
namespace {

std::string nested(std::size_t levels, const std::string& inside) {
  return std::string(levels, '[') + inside + std::string(levels, ']');
}

TEST(JsonText, NestsAsDeepAsItMay) {
  EXPECT_FALSE(nests_too_deep(nested(max_json_depth, "1")));
  EXPECT_TRUE(nests_too_deep(nested(max_json_depth + 1, "1")));
  EXPECT_TRUE(nests_too_deep(std::string(1'000'000, '[')));
  std::string objects;
  for (std::size_t i = 0; i <= max_json_depth; ++i) objects += R"({"a":)";
  EXPECT_TRUE(nests_too_deep(objects));
}

TEST(JsonText, BracketsInTextAreNoLevels) {
  EXPECT_FALSE(nests_too_deep("\"" + std::string(1000, '[') + "\""));
  EXPECT_FALSE(nests_too_deep(R"(["\")" + std::string(1000, '[') + R"("])"));
  EXPECT_TRUE(nests_too_deep(R"(["\\",)" + std::string(1000, '[')));
  EXPECT_FALSE(nests_too_deep(std::string(1000, ']')));
}

TEST(JsonText, IsDiscardedWhereItCannotBeAValue) {
  EXPECT_EQ(parsed_json<nlohmann::json>("[1]"), nlohmann::json::parse("[1]"));
  for (const std::string& text : {std::string("[1"), std::string(), nested(100'000, "1")}) {
    EXPECT_TRUE(parsed_json<nlohmann::ordered_json>(text).is_discarded()) << text.size();
  }
}

}  // namespace
}  // namespace msrun
