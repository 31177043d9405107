#include "kernels/io/json/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/io/json/json_tree.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;
using testing::read_file;

// The value that begins with event, built from the reader's events alone.
ordered_json build(JsonReader& reader, JsonEvent event) {
  switch (event) {
    case JsonEvent::begin_object: {
      ordered_json object = ordered_json::object();
      for (JsonEvent next = reader.next(); next != JsonEvent::end_object; next = reader.next()) {
        EXPECT_EQ(next, JsonEvent::key);
        const std::string key(reader.text());
        object[key] = build(reader, reader.next());
      }
      return object;
    }
    case JsonEvent::begin_array: {
      ordered_json array = ordered_json::array();
      for (JsonEvent next = reader.next(); next != JsonEvent::end_array; next = reader.next()) {
        array.push_back(build(reader, next));
      }
      return array;
    }
    case JsonEvent::string:
      return std::string(reader.text());
    case JsonEvent::integer:
      return reader.integer();
    case JsonEvent::real:
      return reader.real();
    case JsonEvent::boolean:
      return reader.boolean();
    default:
      EXPECT_EQ(event, JsonEvent::null);
      return nullptr;
  }
}

ordered_json parse(std::string_view text, std::size_t chunk = 1 << 20) {
  JsonReader reader("t.json", memory_source(text), chunk);
  ordered_json value = build(reader, reader.next());
  EXPECT_EQ(reader.next(), JsonEvent::end);
  return value;
}

std::string error_of(std::string_view text, std::size_t chunk = 1 << 20) {
  JsonReader reader("t.json", memory_source(text), chunk);
  try {
    while (reader.next() != JsonEvent::end) {
    }
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

double real_of(std::string_view text) {
  JsonReader reader("t.json", memory_source(text));
  EXPECT_EQ(reader.next(), JsonEvent::real) << text;
  return reader.real();
}

TEST(JsonReader, AgreesWithAnotherParserWhereverChunksEnd) {
  const std::string dump = read_file(testing::test_data("/dumps/zoo_stat/dump.json"));
  const ordered_json expected = ordered_json::parse(dump);
  for (const std::size_t chunk : {std::size_t{1} << 20, std::size_t{4096}, std::size_t{7}}) {
    EXPECT_EQ(parse(dump, chunk), expected) << chunk;
  }
  const std::string small =
      R"( {"a\u00e9\"\\\/\b\f\n\r\t" : [ -0, 12, 1.5e3 , -2E-2,true,false ,null, "x\ud83d\ude00y", "é漢😀", {}, []]} )";
  for (std::size_t chunk = 1; chunk < small.size() + 2; ++chunk) {
    EXPECT_EQ(parse(small, chunk), ordered_json::parse(small)) << chunk;
  }
}

TEST(JsonReader, ReadsPythonsNonFiniteNumbers) {
  EXPECT_TRUE(std::isnan(real_of("NaN")));
  EXPECT_EQ(real_of("Infinity"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(real_of("-Infinity"), -std::numeric_limits<double>::infinity());
  const std::string text = R"({"Max": NaN, "Min": -Infinity, "n": [Infinity]})";
  for (std::size_t chunk = 1; chunk < text.size(); ++chunk) EXPECT_EQ(error_of(text, chunk), "no error");
  EXPECT_THAT(error_of("Nan"), HasSubstr("expected 'NaN', found 'n'"));
  EXPECT_THAT(error_of("-NaN"), HasSubstr("expected a digit, found 'N'"));
  EXPECT_THAT(error_of("+1"), HasSubstr("expected a value, found '+'"));
}

TEST(JsonReader, KeepsIntegersOf64BitsAndRoundsTheRest) {
  EXPECT_EQ(parse("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(real_of("9223372036854775808"), 0x1p63);
  EXPECT_EQ(real_of("2.158149242401123"), 2.158149242401123);
  EXPECT_EQ(real_of("1e999"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(real_of("-1e999"), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(real_of("1e-999"), 0.0);
  EXPECT_EQ(real_of("0.001e310"), 1e307);
  EXPECT_EQ(real_of("1" + std::string(400, '0')), std::numeric_limits<double>::infinity());
  EXPECT_EQ(real_of("1" + std::string(400, '0') + "e-399"), 10.0);
  EXPECT_EQ(real_of("0." + std::string(400, '0') + "1"), 0.0);
  EXPECT_EQ(real_of("1e99999999999999999999"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(real_of("1e-99999999999999999999"), 0.0);
  EXPECT_TRUE(std::signbit(real_of("-0.0")));
}

TEST(JsonReader, ErrorsSayWhereAndWhatWasExpected) {
  EXPECT_EQ(error_of("{\n \"a\": 1,\n \"b\" 2}"), "t.json: line 3, column 6: expected ':', found '2' (byte 16)");
  EXPECT_EQ(error_of("[1,\n2"), "t.json: line 2, column 2: expected ',' or ']', found the end of the file (byte 5)");
  // The place does not depend on what part of the text is still in memory.
  EXPECT_EQ(error_of("{\n \"a\": 1,\n \"b\" 2}", 2), error_of("{\n \"a\": 1,\n \"b\" 2}"));
  EXPECT_THAT(error_of(""), HasSubstr("line 1, column 1: expected a value, found the end of the file"));
  EXPECT_THAT(error_of("[1,]"), HasSubstr("expected a value, found ']'"));
  EXPECT_THAT(error_of("{\"a\":1,}"), HasSubstr("expected a key in double quotes, found '}'"));
  EXPECT_THAT(error_of("{a:1}"), HasSubstr("expected a key in double quotes or '}', found 'a'"));
  EXPECT_THAT(error_of("[1}"), HasSubstr("expected ',' or ']', found '}'"));
  EXPECT_THAT(error_of("{} x"), HasSubstr("expected the end of the file, found 'x'"));
  EXPECT_THAT(error_of("[01]"), HasSubstr("expected ',' or ']', found '1'"));
  EXPECT_THAT(error_of("[1.]"), HasSubstr("expected a digit, found ']'"));
  EXPECT_THAT(error_of("[.5]"), HasSubstr("expected a value, found '.'"));
  EXPECT_THAT(error_of("[1e]"), HasSubstr("expected a digit"));
  EXPECT_THAT(error_of("[-]"), HasSubstr("expected a digit"));
  EXPECT_THAT(error_of("[tru]"), HasSubstr("expected 'true', found ']'"));
  EXPECT_THAT(error_of("'a'"), HasSubstr("expected a value"));
  EXPECT_THAT(error_of("\"a"), HasSubstr("expected the end of the string, found the end of the file"));
  EXPECT_THAT(error_of("\"a\nb\""), HasSubstr("expected no control character inside a string, found byte 0x0A"));
  EXPECT_THAT(error_of("\"\\x\""), HasSubstr("after the backslash, found 'x'"));
  EXPECT_THAT(error_of("\"\\u12g4\""), HasSubstr("expected four hexadecimal digits, found 'g'"));
  EXPECT_THAT(error_of(std::string_view("[1\0]", 4)), HasSubstr("found byte 0x00"));
  EXPECT_THAT(error_of(std::string_view("\"\0\"", 3)), HasSubstr("found byte 0x00"));
}

TEST(JsonReader, ChecksUtf8) {
  for (const std::string_view bad : {"\x80", "\xC3", "\xC0\xAF", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF", "\xE2\x82",
                                     "\xF0\x80\x80\x80", "a\xE0\x80\x80"}) {
    EXPECT_THAT(error_of("[\"" + std::string(bad) + "\"]"), HasSubstr("not valid UTF-8"));
    EXPECT_THAT(error_of("[\"\\n" + std::string(bad) + "\"]"), HasSubstr("not valid UTF-8"));
  }
  EXPECT_EQ(parse("\"\xF4\x8F\xBF\xBF\xC2\x80\xE0\xA0\x80\""), "\xF4\x8F\xBF\xBF\xC2\x80\xE0\xA0\x80");
}

TEST(JsonReader, KeepsBytesOfFileNamesWhereAsked) {
  JsonReader reader("text", memory_source(R"("\udc80/\udcff\ud83d\ude00\udc7f\ud83d")"));
  reader.keep_bytes_of_file_names();
  ASSERT_EQ(reader.next(), JsonEvent::string);
  EXPECT_EQ(reader.text(), "\x80/\xFF\xF0\x9F\x98\x80\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(JsonReader, ReplacesLoneSurrogates) {
  EXPECT_EQ(parse(R"("\ud83d\ude00")"), "\xF0\x9F\x98\x80");
  EXPECT_EQ(parse(R"("\ud83dx")"), "\xEF\xBF\xBDx");
  EXPECT_EQ(parse(R"("\ude00")"), "\xEF\xBF\xBD");
  EXPECT_EQ(parse(R"("\ud83d\ud83d\ude00")"), "\xEF\xBF\xBD\xF0\x9F\x98\x80");
  EXPECT_EQ(parse(R"("\ud83d\n")"), "\xEF\xBF\xBD\n");
  EXPECT_EQ(parse(R"("\uD83D\u0041")"),
            "\xEF\xBF\xBD"
            "A");
  EXPECT_EQ(parse(R"("\u0000")"), std::string(1, '\0'));
}

TEST(JsonReader, AcceptsAByteOrderMark) {
  EXPECT_EQ(parse("\xEF\xBB\xBF[1]", 1), ordered_json::parse("[1]"));
  EXPECT_THAT(error_of("\xEF\xBB\xBFx"), HasSubstr("line 1, column 1:"));
  EXPECT_THAT(error_of("\xEF\xBB"), HasSubstr("found byte 0xEF"));
}

TEST(JsonReader, SkipsValuesAndContainers) {
  JsonReader reader("t.json", memory_source(R"({"a": {"b": [1, {"c": "]}"}], "d": {}}, "e": 5, "f": [[1, 2], 3]})"));
  ASSERT_EQ(reader.next(), JsonEvent::begin_object);
  ASSERT_EQ(reader.next(), JsonEvent::key);
  reader.skip_value();
  ASSERT_EQ(reader.next(), JsonEvent::key);
  EXPECT_EQ(reader.text(), "e");
  reader.skip_value();
  ASSERT_EQ(reader.next(), JsonEvent::key);
  EXPECT_EQ(reader.text(), "f");
  ASSERT_EQ(reader.next(), JsonEvent::begin_array);
  ASSERT_EQ(reader.next(), JsonEvent::begin_array);
  EXPECT_EQ(reader.depth(), 3U);
  reader.skip_container(2);
  EXPECT_EQ(reader.next(), JsonEvent::end_object);
  EXPECT_EQ(reader.next(), JsonEvent::end);
}

// A hostile file fails when the limit is reached, not when it has been read or memory is gone.
TEST(JsonReader, EndlessNestingFailsAtOnce) {
  std::size_t delivered = 0;
  JsonReader reader("t.json", [&](std::span<char> target) {
    std::fill(target.begin(), target.end(), '[');
    delivered += target.size();
    return target.size();
  });
  try {
    for (;;) reader.next();
  } catch (const UserError& error) {
    EXPECT_STREQ(error.what(),
                 "t.json: line 1, column 1000001: objects and arrays are nested more than 1000000 levels deep (byte "
                 "1000000)");
  }
  EXPECT_LE(delivered, std::size_t{4} << 20);
}

TEST(JsonReader, EndlessStringFails) {
  bool first = true;
  JsonReader reader("t.json", [&](std::span<char> target) {
    std::fill(target.begin(), target.end(), 'x');
    if (first) target.front() = '"';
    first = false;
    return target.size();
  });
  EXPECT_THROW(reader.next(), UserError);
}

TEST(JsonReader, MemoryDoesNotGrowWithTheText) {
  // 64 MiB of one million short values; the window must never be asked to hold more than a chunk and a token.
  const std::string piece = "[\"abcdefgh\", 1.25, {\"key\": null}],\n";
  std::size_t left = 64 << 20;
  std::size_t largest = 0;
  std::size_t at = piece.size();
  bool opened = false;
  JsonReader reader("t.json", [&](std::span<char> target) {
    largest = std::max(largest, target.size());
    std::size_t filled = 0;
    if (!opened) target[filled++] = '[';
    opened = true;
    while (filled < target.size() && left > 0) {
      if (at == piece.size()) at = 0;
      target[filled++] = piece[at++];
      --left;
    }
    return filled;
  });
  std::size_t values = 0;
  try {
    while (reader.next() != JsonEvent::end) ++values;
  } catch (const UserError& error) {
    EXPECT_THAT(error.what(), HasSubstr("found the end of the file"));
  }
  EXPECT_GT(values, 10'000'000U);
  EXPECT_EQ(largest, std::size_t{1} << 20);
}

TEST(JsonTree, HoldsAValueWhoseKeysComeInAnyOrder) {
  JsonReader reader("t.json", memory_source(R"([{"a": [1, 2.5, {"x": {}}], "b": "text", "a2": true}, null])"));
  ASSERT_EQ(reader.next(), JsonEvent::begin_array);
  JsonTree tree;
  ASSERT_EQ(tree.read(reader), JsonTree::Outcome::complete);
  std::vector<std::string> keys;
  for (const JsonNode field : tree.root()) keys.emplace_back(field.key());
  EXPECT_THAT(keys, ::testing::ElementsAre("a", "b", "a2"));
  const JsonNode array = *tree.root().begin();
  EXPECT_EQ(array.count(), 3U);
  auto item = array.begin();
  EXPECT_EQ((*item).integer(), 1);
  EXPECT_EQ((*++item).number(), 2.5);
  EXPECT_EQ((*(*++item).begin()).key(), "x");
  EXPECT_EQ((*++tree.root().begin()).text(), "text");
  ASSERT_EQ(tree.read(reader), JsonTree::Outcome::complete);
  EXPECT_TRUE(tree.root().is_null());
  EXPECT_EQ(reader.next(), JsonEvent::end_array);
}

// Python keeps integers of any size, and so their digits are what its texts and checksums are made of.
TEST(JsonTree, KeepsTheDigitsOfLargeIntegers) {
  JsonReader reader("t.json", memory_source("[18446744073709551616, -9223372036854775809, 1e30, NaN, 7]"));
  JsonTree tree;
  ASSERT_EQ(tree.read(reader), JsonTree::Outcome::complete);
  std::vector<std::string> digits;
  for (const JsonNode item : tree.root()) digits.emplace_back(item.large_integer());
  EXPECT_THAT(digits, ::testing::ElementsAre("18446744073709551616", "-9223372036854775809", "", "", ""));
  EXPECT_EQ((*tree.root().begin()).kind(), JsonEvent::real);
  EXPECT_EQ((*tree.root().begin()).number(), 0x1p64);
}

TEST(JsonTree, PassesOverWhatIsTooDeepOrTooLarge) {
  const auto nested = [](std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  std::string many = "[0";
  for (std::size_t i = 0; i < JsonTree::max_values; ++i) many += ",0";
  many += "]";
  const std::string text = "[" + nested(400) + "," + nested(401) + "," + many + ",7]";
  JsonReader reader("t.json", memory_source(text));
  ASSERT_EQ(reader.next(), JsonEvent::begin_array);
  JsonTree tree;
  EXPECT_EQ(tree.read(reader), JsonTree::Outcome::complete);
  EXPECT_EQ(tree.read(reader), JsonTree::Outcome::too_deep);
  EXPECT_TRUE(tree.root().is_null());
  EXPECT_EQ(tree.read(reader), JsonTree::Outcome::too_large);
  EXPECT_EQ(tree.read(reader), JsonTree::Outcome::complete);
  EXPECT_EQ(tree.root().integer(), 7);
}

}  // namespace
}  // namespace msrun
