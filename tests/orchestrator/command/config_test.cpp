#include "orchestrator/command/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace msrun {
namespace {

using testing::error_of;
using ::testing::HasSubstr;
using testing::TemporaryDirectory;
using ::testing::UnorderedElementsAre;

bool is_supported(std::string_view name) {
  static const std::set<std::string_view> names{"conv2d", "relu", "linalg.norm", "npu_rms_norm", "to"};
  return names.contains(name);
}

class ConfigFile : public ::testing::Test {
 protected:
  Config load(const std::string& json) { return load_config(folder_.write("config.json", json), is_supported); }

  // The message without the file it begins with.
  std::string refusal(const std::string& json) {
    const std::string text = error_of<UserError>([&] { load(json); });
    const std::string prefix = folder_.file("config.json") + ": ";
    EXPECT_THAT(text, HasSubstr(folder_.file("config.json")));
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
  }

  TemporaryDirectory folder_;
};

TEST_F(ConfigFile, DefaultsForWhatIsAbsent) {
  for (const char* json :
       {"{}", "{\"acc_check\": {}}", "{\"task\": \"statistics\", \"rank\": [], \"level\": \"L1\"}"}) {
    const Config config = load(json);
    EXPECT_TRUE(config.white_list.empty());
    EXPECT_TRUE(config.black_list.empty());
    EXPECT_EQ(config.error_data_path, "./");
    EXPECT_EQ(config.precision, 14);
    EXPECT_EQ(config.quantization_api_list.size(), 3U);
  }
}

TEST_F(ConfigFile, ListsAndPathAreRead) {
  const Config config = load(
      "{\"acc_check\": {\"white_list\": [\"conv2d\", \"linalg.norm\"], \"black_list\": [\"npu_rms_norm\"],"
      "\"error_data_path\": \"" +
      folder_.path().string() + "\"}}");
  EXPECT_THAT(config.white_list, UnorderedElementsAre("conv2d", "linalg.norm"));
  EXPECT_THAT(config.black_list, UnorderedElementsAre("npu_rms_norm"));
  EXPECT_EQ(config.error_data_path, folder_.path());
}

TEST_F(ConfigFile, ListsAreChecked) {
  EXPECT_EQ(refusal(R"({"acc_check": {"white_list": "conv2d"}})"), "white_list must be a list type");
  EXPECT_EQ(refusal(R"({"acc_check": {"black_list": {"conv2d": 1}}})"), "black_list must be a list type");
  EXPECT_EQ(refusal(R"({"acc_check": {"black_list": null}})"), "black_list must be a list type");
  EXPECT_EQ(refusal(R"({"acc_check": {"white_list": ["conv2d", 1]}})"),
            "All elements in white_list must be string type");
  EXPECT_EQ(refusal(R"({"acc_check": {"black_list": ["conv2d", "all_reduce", "x"]}})"),
            "Invalid api in black_list: ['all_reduce', 'x']");
  EXPECT_EQ(refusal(R"({"acc_check": []})"), "acc_check must be an object");
  EXPECT_EQ(refusal(R"({"acc_check": {"error_data_path": "/nonexistent/x"}})"),
            "error_data_path: /nonexistent/x does not exist");
  EXPECT_EQ(refusal(R"({"acc_check": {"error_data_path": 1}})"), "error_data_path must be string type");
}

TEST_F(ConfigFile, NamesWithTheirTypeAreExplained) {
  EXPECT_EQ(refusal(R"({"acc_check": {"white_list": ["Functional.relu"]}})"),
            "Invalid api in white_list: ['Functional.relu'] (names stand without their type: 'relu')");
}

TEST_F(ConfigFile, KeysThatAreNotUsedAreNamed) {
  const std::string path = folder_.file("config.json");
  EXPECT_THAT(load(R"({"white_list": ["relu"], "acc_check": {"whitelist": ["relu"], "black_list": []}})").notices,
              ::testing::ElementsAre(path + ": white_list stands outside of acc_check and is not used.",
                                     path + ": acc_check has no key whitelist; it is not used."));
  EXPECT_THAT(load(R"({"task": "statistics", "acc_check": {"white_list": ["relu"]}})").notices, ::testing::IsEmpty());
}

TEST_F(ConfigFile, CommonKeysAreChecked) {
  for (const char* good :
       {R"({"task": "tensor", "level": "mix", "rank": [0, "3", "3-5"], "step": [1000000], "dump_path": "x"})",
        R"({"extra_info": true, "async_dump": false, "dump_enable": true, "precision": "low", "risk_level": "ALL"})",
        R"({"dump_path": null, "unknown": [1, 2]})"}) {
    EXPECT_NO_THROW(load(good)) << good;
  }
  EXPECT_THAT(refusal(R"({"task": "check"})"), HasSubstr("task must be one of tensor, statistics"));
  EXPECT_THAT(refusal(R"({"task": 1})"), HasSubstr("task must be one of"));
  EXPECT_THAT(refusal(R"({"level": "L3"})"), HasSubstr("level must be one of L0, L1, L2, mix, debug"));
  EXPECT_THAT(refusal(R"({"precision": 14})"), HasSubstr("precision must be one of low, high"));
  EXPECT_THAT(refusal(R"({"risk_level": "core"})"), HasSubstr("risk_level must be one of"));
  EXPECT_EQ(refusal(R"({"dump_path": 1})"), "dump_path must be string type");
  EXPECT_EQ(refusal(R"({"extra_info": 1})"), "extra_info must be bool type");
  EXPECT_EQ(refusal(R"({"async_dump": "no"})"), "async_dump must be bool type");
  EXPECT_EQ(refusal(R"({"dump_enable": 0})"), "dump_enable must be bool type");
  for (const char* bad :
       {"3", "[-1]", "[1000001]", "[1.5]", "[true]", "[\"a\"]", "[\"5-3\"]", "[\"-3\"]", "[\"3-\"]", "[[1]]"}) {
    EXPECT_THAT(refusal(std::string(R"({"rank": )") + bad + "}"), HasSubstr("rank must be a list of numbers")) << bad;
    EXPECT_THAT(refusal(std::string(R"({"step": )") + bad + "}"), HasSubstr("step must be a list of numbers")) << bad;
  }
}

TEST_F(ConfigFile, FileIsChecked) {
  EXPECT_THAT(refusal("{"), HasSubstr("load json file \""));
  EXPECT_THAT(refusal("\xFF\xFE{}"), HasSubstr("load json file \""));
  EXPECT_THAT(refusal(""), HasSubstr("not valid JSON at byte 1"));
  EXPECT_EQ(refusal("[]"), "the top level must be an object");
  EXPECT_THAT(error_of<UserError>([&] { load_config(folder_.file("none.json"), is_supported); }),
              HasSubstr("does not exist."));
  EXPECT_THAT(error_of<UserError>([&] { load_config(folder_.write("a.yaml", "{}"), is_supported); }),
              HasSubstr("should be one of the following types of files: ['.json']!"));
}

TEST(ConfigLists, BlackBeforeWhiteBeforeRun) {
  Config config;
  EXPECT_EQ(config.list_verdict("conv2d"), ListVerdict::run);
  config.white_list = {"conv2d", "relu"};
  config.black_list = {"relu"};
  EXPECT_EQ(config.list_verdict("conv2d"), ListVerdict::run);
  EXPECT_EQ(config.list_verdict("relu"), ListVerdict::in_black_list);
  EXPECT_EQ(config.list_verdict("conv"), ListVerdict::not_in_white_list);
}

}  // namespace
}  // namespace msrun
