#include "runner/results/run_header.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace msrun {
namespace {

using testing::TemporaryDirectory;

TEST(RunHeader, TellsHowManyCallsArePlanned) {
  EXPECT_EQ(planned_calls(RunHeader::parse(R"({"fingerprint": {"calls": 7}})")), 7U);
  EXPECT_EQ(planned_calls(RunHeader::parse(R"({"fingerprint": {"calls": 67108864}})")), max_calls);
  for (const char* other : {R"({})", R"(null)", R"({"fingerprint": 7})", R"({"fingerprint": {"calls": -7}})",
                            R"({"fingerprint": {"calls": "7"}})", R"({"fingerprint": {"calls": 67108865}})"}) {
    EXPECT_EQ(planned_calls(RunHeader::parse(other)), std::nullopt) << other;
  }
  EXPECT_EQ(kept_results(RunHeader::parse(R"({"kept": 3})")), 3U);
  EXPECT_EQ(kept_results(RunHeader::parse(R"({"kept": 3.5})")), std::nullopt);
}

TEST(RunHeader, TextsOfOtherKindsAreEmpty) {
  const RunHeader header = RunHeader::parse(R"({"backend": "sim", "devices": [0]})");
  EXPECT_EQ(text_in(header, "backend"), "sim");
  EXPECT_EQ(text_in(header, "devices"), "");
  EXPECT_EQ(text_in(header, "host"), "");
}

TEST(RunHeader, FindsWhatARunHasReadAgain) {
  const TemporaryDirectory begun_in;
  testing::write_file(begun_in.path() / "dump.json", "{}");
  const RunHeader header = {{"working_directory", begun_in.path().string()}};
  EXPECT_TRUE(is_input_path("-api_info"));
  EXPECT_FALSE(is_input_path("-o"));
  EXPECT_EQ(found_again("dump.json", header), (begun_in.path() / "dump.json").string());
  EXPECT_EQ(found_again("absent.json", header), "absent.json");
  EXPECT_EQ(found_again("/dump.json", header), "/dump.json");
  EXPECT_EQ(found_again("", header), "");
  EXPECT_EQ(found_again("dump.json", RunHeader::object()), "dump.json");
  const RunHeader here = {{"working_directory", std::filesystem::current_path().string()}};
  EXPECT_EQ(found_again("dump.json", here), "dump.json");
}

TEST(RunHeader, IsThatOfARunOfMsrun) {
  EXPECT_EQ(text_in(parse_run_header(R"({"program": "msrun", "backend": "sim"})").value(), "backend"), "sim");
  for (const char* other : {"", "msrun", "null", "[]", "{}", R"({"program": "other"})", R"({"program": 7})"}) {
    EXPECT_EQ(parse_run_header(other), std::nullopt) << other;
  }
}

TEST(RunHeader, TellsTheOptionsOfTheRun) {
  const RunHeader header = RunHeader::parse(R"({"arguments": [["-d", "0", "1"], ["-f"], [], 7, ["-n", 2]]})");
  EXPECT_EQ(options_in(header), (std::vector<OptionWords>{{"-d", "0", "1"}, {"-f"}}));
  for (const char* other : {"{}", "null", R"({"arguments": {"-d": "0"}})"}) {
    EXPECT_EQ(options_in(RunHeader::parse(other)), std::nullopt) << other;
  }
}

TEST(RunHeader, TellsWhenTheRunWasBegun) {
  EXPECT_EQ(started_at(RunHeader::parse(R"({"started": 5, "merged": [{"started": 5}, {"started": 9}]})")), 5);
  EXPECT_EQ(begun_at(RunHeader::parse(R"({"started": 1700000000})")), 1.7e9);
  EXPECT_EQ(begun_at(RunHeader::parse(R"({"started": "today"})")), std::nullopt);
  EXPECT_EQ(begun_at(RunHeader::parse("null")), std::nullopt);
  EXPECT_EQ(begun_at(RunHeader::parse(R"({"started": 5, "merged": [{"started": 5}, {"started": 9}, {}, 3]})")), 9);
}

}  // namespace
}  // namespace msrun
