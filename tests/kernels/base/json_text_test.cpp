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

std::string with_members(std::size_t count) {
  std::string text = "{";
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":[0,0]";
  return text + "}";
}

TEST(JsonText, HasAsManyMembersAsMayBeKeptInOrder) {
  EXPECT_FALSE(has_too_many_members(with_members(max_ordered_members)));
  const std::string many = with_members(max_ordered_members + 1);
  EXPECT_TRUE(has_too_many_members(many));
  EXPECT_TRUE(has_too_many_members("[{\"a\":" + many));
  EXPECT_FALSE(has_too_many_members("[" + with_members(15'000) + "," + with_members(15'000) + "]"));
  EXPECT_FALSE(has_too_many_members("[\"" + std::string(100'000, ':') + "\"]"));
  EXPECT_TRUE(parsed_json<nlohmann::ordered_json>(many).is_discarded());
  EXPECT_EQ(parsed_json<nlohmann::json>(many).size(), max_ordered_members + 1);
}

TEST(JsonText, IsDiscardedWhereItCannotBeAValue) {
  EXPECT_EQ(parsed_json<nlohmann::json>("[1]"), nlohmann::json::parse("[1]"));
  for (const std::string& text : {std::string("[1"), std::string(), nested(100'000, "1")}) {
    EXPECT_TRUE(parsed_json<nlohmann::ordered_json>(text).is_discarded()) << text.size();
  }
}

}  // namespace
}  // namespace msrun
