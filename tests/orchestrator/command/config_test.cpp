#include "orchestrator/command/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>

#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using testing::error_of;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
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
    EXPECT_EQ(config.error_data_path, "");
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

TEST_F(ConfigFile, APlaceOfTensorsMustBeThere) {
  const std::string config = folder_.write("config.json", R"({"error_data_path": "kept"})");
  EXPECT_THAT(error_of<UserError>([&] { load_config(config, is_supported); }), HasSubstr("kept does not exist"));
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

TEST_F(ConfigFile, ListsStandInTheSectionOrAtTheTop) {
  for (const char* json : {R"({"white_list": ["relu"], "black_list": ["conv2d"]})",
                           R"({"acc_check": {"white_list": ["relu"], "black_list": ["conv2d"]}})",
                           R"({"run_ut": {"white_list": ["relu"]}, "black_list": ["conv2d"], "task": "tensor"})"}) {
    const Config config = load(json);
    EXPECT_THAT(config.white_list, UnorderedElementsAre("relu")) << json;
    EXPECT_THAT(config.black_list, UnorderedElementsAre("conv2d")) << json;
    EXPECT_THAT(config.notices, IsEmpty()) << json;
  }
  EXPECT_EQ(load(R"({"error_data_path": "/"})").error_data_path, "/");
  EXPECT_EQ(refusal(R"({"white_list": "conv2d"})"), "white_list must be a list type");
}

TEST_F(ConfigFile, KeysThatAreNotUsedAreNamed) {
  const std::string path = folder_.file("config.json");
  EXPECT_THAT(
      load(R"({"white_list": ["relu"], "witelist": [], "acc_check": {"white_list": ["to"], "blacklist": []}})").notices,
      UnorderedElementsAre(path + ": white_list stands inside and outside of acc_check; the one outside is not used.",
                           path + ": there is no key witelist; it is not used.",
                           path + ": acc_check has no key blacklist; it is not used."));
  EXPECT_THAT(
      load(R"({"task": "statistics", "statistics": {"list": []}, "acc_check": {"white_list": ["relu"]}})").notices,
      IsEmpty());
}

TEST_F(ConfigFile, WhatTakesTheEffectFromAKeyIsNamed) {
  const std::string json = folder_.file("config.json") + ": ";
  const Config twice = load(R"({"white_list": ["relu"], "acc_check": {"black_list": ["to"], "black_list": []},
                               "white_list": ["conv2d"], "run_ut": {"white_list": ["to"]}})");
  EXPECT_THAT(twice.white_list, UnorderedElementsAre("conv2d"));
  EXPECT_THAT(twice.notices, UnorderedElementsAre(
                                 json + "acc_check and run_ut are names of one section; what is in run_ut is not used.",
                                 json + "black_list is given more than once; the last one counts.",
                                 json + "white_list is given more than once; the last one counts."));
  // One key in two objects is two keys.
  EXPECT_THAT(load(R"({"statistics": {"list": []}, "tensor": {"list": []}})").notices, IsEmpty());

  const std::string yaml =
      folder_.write("config.yaml",
                    "white_list: [relu]\nwhite_list: [to]\n"
                    "quantization_api_list: [npu_rms_norm, npu_dynamic_quant, npu_dynamic_qant]\n");
  const Config config = load_config(yaml, is_supported);
  EXPECT_THAT(config.white_list, UnorderedElementsAre("to"));
  EXPECT_THAT(config.notices, UnorderedElementsAre(yaml + ": white_list is given more than once; the last one counts.",
                                                   yaml + ": quantization_api_list names npu_dynamic_qant, which no "
                                                          "supported API is called; it has no effect."));
  EXPECT_THAT(error_of<UserError>([&] {
                load_config(folder_.write("two.yaml", "white_list: [relu]\n---\nblack_list: [to]\n"), is_supported);
              }),
              HasSubstr("it holds a second document at line"));
}

TEST_F(ConfigFile, YamlIsReadLikeJson) {
  const auto load_yaml = [&](const std::string& text) {
    return load_config(folder_.write("config.yaml", text), is_supported);
  };
  const Config config = load_yaml(
      "white_list:\n  - conv2d\n  - 'linalg.norm'\nblack_list: [npu_rms_norm, to]  # never\nerror_data_path: " +
      folder_.path().string() + "\nprecision: 6\nquantization_api_list: [\"npu_dynamic_quant\"]\n");
  EXPECT_THAT(config.white_list, UnorderedElementsAre("conv2d", "linalg.norm"));
  EXPECT_THAT(config.black_list, UnorderedElementsAre("npu_rms_norm", "to"));
  EXPECT_EQ(config.error_data_path, folder_.path());
  EXPECT_EQ(config.precision, 6);
  EXPECT_THAT(config.quantization_api_list, ElementsAre("npu_dynamic_quant"));
  EXPECT_THAT(config.notices, IsEmpty());
  EXPECT_THAT(load_yaml("acc_check:\n  white_list: [relu]\n").white_list, UnorderedElementsAre("relu"));
  EXPECT_THAT(load_config(folder_.write("c.yml", "black_list: [relu]"), is_supported).black_list,
              UnorderedElementsAre("relu"));
  // Keys of the older tools are known, others are not; a key without a value is absent.
  const Config older = load_yaml("dump_path: './'\nreal_data: False\nwhite_list:\nblack_lists: [relu]\n");
  EXPECT_TRUE(older.white_list.empty() && older.black_list.empty());
  EXPECT_THAT(older.notices,
              ElementsAre(folder_.file("config.yaml") + ": there is no key black_lists; it is not used."));
  EXPECT_TRUE(load_yaml("# nothing\n").white_list.empty());
}

TEST_F(ConfigFile, YamlIsChecked) {
  const auto yaml_refusal = [&](const std::string& text) {
    return error_of<UserError>([&] { load_config(folder_.write("config.yaml", text), is_supported); });
  };
  EXPECT_THAT(
      yaml_refusal("white_list: [conv2d\nx: 1"),
      AllOf(HasSubstr("load yaml file \"" + folder_.file("config.yaml")), HasSubstr("not valid YAML at line 2")));
  const std::string wide("w\0h\0:\0 \0[\0]\0", 12);
  for (const std::string& text :
       {"\xFF\xFE" + wide, wide, std::string("\xFE\xFF\0w\0:", 6), std::string("\0w\0:", 4)}) {
    EXPECT_THAT(yaml_refusal(text), AllOf(HasSubstr("\"" + folder_.file("config.yaml")), HasSubstr("it is in UTF-16")));
  }
  for (const std::string& text : {std::string("\xFF\xFE\0\0w\0\0\0", 8), std::string("w\0\0\0:\0\0\0", 8)}) {
    EXPECT_THAT(yaml_refusal(text), HasSubstr("it is in UTF-32"));
  }
  EXPECT_THAT(yaml_refusal("white_list: conv2d"), HasSubstr("white_list must be a list type"));
  EXPECT_THAT(yaml_refusal("white_list: [conv2d, 3]"), HasSubstr("All elements in white_list must be string type"));
  EXPECT_THAT(yaml_refusal("white_list: ['relu', 'all_reduce']"),
              HasSubstr("Invalid api in white_list: ['all_reduce']"));
  for (const char* bad : {"high", "-1", "21", "1.5", "true", "'3'"}) {
    EXPECT_THAT(yaml_refusal(std::string("precision: ") + bad),
                HasSubstr("precision must be a number of decimals from 0 to 20"))
        << bad;
  }
  EXPECT_THAT(yaml_refusal("- a"), HasSubstr("the top level must be an object"));
  EXPECT_THAT(yaml_refusal("error_data_path: /nonexistent/x"), HasSubstr("/nonexistent/x does not exist"));
  EXPECT_THAT(yaml_refusal("a: \"\\xff\xff\""), HasSubstr("load yaml file"));
  EXPECT_THAT(yaml_refusal("? [a, b]\n: 1\n"), HasSubstr("a key that is no text at line 1"));
  EXPECT_THAT(yaml_refusal("a: &a [*a]"), HasSubstr("nested too deeply"));
  EXPECT_THAT(yaml_refusal(std::string(3000, '[')), HasSubstr("load yaml file"));
  std::string doubling = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    doubling += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 9; ++j) doubling += before + " , ";
    doubling += before + " ]\n";
  }
  EXPECT_THAT(yaml_refusal(doubling), HasSubstr("too many values"));
}

// The page shows whole files.
TEST_F(ConfigFile, TheExamplesOfTheDocumentationAreRead) {
  const std::string page = testing::read_file(testing::source_root() + "/docs/configuration.md");
  const auto example = [&](const std::string& language) {
    const std::size_t begin = page.find("```" + language + "\n") + language.size() + 4;
    return page.substr(begin, page.find("```", begin) - begin);
  };
  const auto anything = [](std::string_view /*name*/) { return true; };
  for (const std::string language : {"json", "yaml"}) {
    std::string text = example(language);
    const std::size_t path = text.find("./error_data");
    ASSERT_NE(path, std::string::npos) << language;
    text.replace(path, std::string("./error_data").size(), folder_.path().string());
    const Config config = load_config(folder_.write("example." + language, text), anything);
    EXPECT_FALSE(config.white_list.empty()) << language;
    EXPECT_FALSE(config.black_list.empty()) << language;
    EXPECT_EQ(config.error_data_path, folder_.path()) << language;
    EXPECT_THAT(config.notices, IsEmpty()) << language;
    EXPECT_EQ(config.precision, language == "yaml" ? 8 : 14);
  }
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
  EXPECT_THAT(error_of<UserError>([&] { load_config(folder_.write("a.toml", "{}"), is_supported); }),
              HasSubstr("should be one of the following types of files: ['.json', '.yaml', '.yml']!"));
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

// A config.yaml where msProbe has its own, below the folder.
std::string install_config_yaml(const TemporaryDirectory& folder, const std::string& packages,
                                const std::string& text) {
  const std::string package = packages + "/msprobe/pytorch/api_accuracy_checker";
  std::filesystem::create_directories(folder.path() / package);
  return folder.write(package + "/config.yaml", text);
}

// A variable of the environment for as long as this lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) { setenv(name, value.c_str(), 1); }
  ~Variable() { unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST_F(ConfigFile, ListsAreThoseOfJsonAndDecimalsThoseOfTheYamlBesideIt) {
  const std::string yaml = folder_.write("config.yaml", "precision: 6\nwhite_list: [relu]\nblack_list: [to]\n");
  const Config config = load(R"({"acc_check": {"white_list": ["conv2d"]}})");
  EXPECT_THAT(config.white_list, UnorderedElementsAre("conv2d"));
  EXPECT_THAT(config.black_list, IsEmpty());
  EXPECT_EQ(config.precision, 6);
  EXPECT_EQ(config.found_yaml, yaml);
}

TEST_F(ConfigFile, AYamlThatNobodyNamedIsNoReasonToFail) {
  folder_.write("config.yaml", "precision: bf16\n");
  const Config config = load("{}");
  EXPECT_EQ(config.precision, 14);
  EXPECT_EQ(config.found_yaml, "");
  EXPECT_THAT(config.notices, ElementsAre(AllOf(HasSubstr("config.yaml is not used: "), HasSubstr("precision"))));
}

TEST_F(ConfigFile, TheConfigurationOfAnInstalledMsprobeIsFound) {
  EXPECT_EQ(load_config("", is_supported).precision, 14);
  const std::string yaml = install_config_yaml(
      folder_, "packages", "white_list: [conv2d]\nblack_list: []\nerror_data_path: './'\nprecision: 5\n");
  const Variable path("PYTHONPATH", "/nowhere:" + folder_.file("packages"));
  const Config config = load_config("", is_supported);
  EXPECT_THAT(config.white_list, UnorderedElementsAre("conv2d"));
  EXPECT_EQ(config.precision, 5);
  EXPECT_EQ(config.error_data_path, "") << "the current folder is what it is shipped with";
  EXPECT_EQ(config.found_yaml, yaml);
  const Config json = load(R"({"acc_check": {"black_list": ["relu"]}})");
  EXPECT_THAT(json.white_list, IsEmpty());
  EXPECT_EQ(json.precision, 5);
}

TEST_F(ConfigFile, AsItIsShippedItSaysNothing) {
  install_config_yaml(folder_, "lib/python3.9/site-packages",
                      "white_list: []\nblack_list: []\nerror_data_path: './'\nprecision: 14\n");
  const Variable prefix("CONDA_PREFIX", folder_.path());
  const Config config = load_config("", is_supported);
  EXPECT_EQ(config.found_yaml, "");
  EXPECT_THAT(config.notices, IsEmpty());
  install_config_yaml(folder_, "lib/python3.9/site-packages", "precision: 3\n");
  EXPECT_EQ(load_config("", is_supported).precision, 3);
}

}  // namespace
}  // namespace msrun
