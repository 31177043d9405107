// Tensor files that a dump names outside of its folder: refused unless they are asked for.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

constexpr const char* refusal = " lies outside the folder of the dump and is not read.";

// A dump of operators with tensors, in scratch/dump, and a copy of all its tensors in scratch/elsewhere.
class OutsideData : public Untouched {
 protected:
  void SetUp() override {
    const fs::path source = fs::path(test_data()) / "opinfo_sample" / "nn_activation";
    fs::copy(source, scratch_ / "dump", fs::copy_options::recursive);
    fs::copy(source / "dump_tensor_data", elsewhere_, fs::copy_options::recursive);
    dump_ = Json::parse(read_file(scratch_ / "dump/dump.json"));
  }

  // Gives the first tensor in a list of the entry's another file.
  void rename(const std::string& entry, const char* list, const std::string& file) {
    for (Json& value : dump_["data"][entry][list]) {
      if (!value.is_object() || !value.contains("data_name")) continue;
      value["data_name"] = file;
      return;
    }
    FAIL() << entry;
  }
  static std::string input_of(const std::string& call) { return call + ".forward.input.0.pt"; }

  Finished check(const std::string& name, const std::vector<std::string>& more = {}) {
    fs::remove(scratch_ / "dump/dump.json");
    write_file(scratch_ / "dump/dump.json", dump_.dump());
    std::vector<std::string> arguments{"-api_info", scratch_ / "dump/dump.json", "-o", scratch_ / name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return msrun(arguments, scratch_.path());
  }
  std::map<std::string, std::vector<std::string>> rows(const std::string& name) {
    std::map<std::string, std::vector<std::string>> result;
    for (const auto& row : read_csv(only_file(scratch_ / name, "accuracy_checking_result_"))) result[row[0]] = row;
    return result;
  }
  void expect_refused_calls(const std::string& name, const std::vector<std::string>& calls) {
    for (auto& [call, row] : rows(name)) {
      if (call == "API name") continue;
      const bool refused = std::find(calls.begin(), calls.end(), call) != calls.end();
      EXPECT_EQ(row.back().find(refusal) != std::string::npos, refused) << call << " " << row.back();
      EXPECT_TRUE(!refused || row.at(1) == "SKIP") << call;
    }
  }

  fs::path elsewhere_ = scratch_ / "elsewhere";
  Json dump_;
};

TEST_F(OutsideData, IsRefusedWhetherAbsoluteClimbingOrBehindALink) {
  const fs::path data = scratch_ / "dump/dump_tensor_data";
  rename("Functional.gelu.0.forward", "input_args", elsewhere_ / input_of("Functional.gelu.0"));
  rename("Functional.gelu.1.forward", "input_args", "../../elsewhere/" + input_of("Functional.gelu.1"));
  fs::remove(data / input_of("Functional.softmax.0"));
  fs::create_symlink(elsewhere_ / input_of("Functional.softmax.0"), data / input_of("Functional.softmax.0"));
  fs::create_directory_symlink(elsewhere_, data / "below");
  rename("Functional.softmax.1.forward", "input_args", "below/" + input_of("Functional.softmax.1"));
  const std::vector<std::string> calls{"Functional.gelu.0", "Functional.gelu.1", "Functional.softmax.0",
                                       "Functional.softmax.1"};
  for (const char* backend : {"sim", "recorded"}) {
    EXPECT_EQ(check(backend, {"--backend", backend}).exit_code, 0);
    expect_refused_calls(backend, calls);
    EXPECT_THAT(rows(backend)["Functional.gelu.0"].back(),
                HasSubstr((elsewhere_ / input_of("Functional.gelu.0")).string() + refusal));
    const std::string allowed = std::string(backend) + "_allowed";
    EXPECT_EQ(check(allowed, {"--backend", backend, "--allow-outside-data"}).exit_code, 0);
    expect_refused_calls(allowed, {});
    for (const std::string& call : calls) EXPECT_NE(rows(allowed)[call].at(1), "SKIP") << call;
  }
  // That a file is not there is no more said than that it is.
  rename("Functional.gelu.0.forward", "input_args", "/nowhere/at/all.pt");
  check("nowhere");
  EXPECT_THAT(rows("nowhere")["Functional.gelu.0"].back(), HasSubstr(refusal));
}

TEST_F(OutsideData, OfResultsAndGradientsIsRefusedToo) {
  rename("Functional.gelu.0.forward", "output", elsewhere_ / "Functional.gelu.0.forward.output.0.pt");
  rename("Functional.gelu.1.backward", "output", elsewhere_ / "Functional.gelu.1.backward.output.0.pt");
  rename("Functional.softmax.0.backward", "input", elsewhere_ / "Functional.softmax.0.backward.input.0.pt");
  EXPECT_EQ(check("recorded", {"--backend", "recorded"}).exit_code, 0);
  EXPECT_EQ(rows("recorded")["Functional.gelu.0"].at(1), "SKIP");
  for (const char* call : {"Functional.gelu.1", "Functional.softmax.0"}) {
    EXPECT_EQ(rows("recorded")[call].at(1), "pass") << call;
    EXPECT_EQ(rows("recorded")[call].at(2), "SKIP") << call;
    EXPECT_THAT(rows("recorded")[call].back(), HasSubstr(refusal)) << call;
  }
}

TEST_F(OutsideData, IsRefusedByTheOverflowCheck) {
  rename("Functional.gelu.0.forward", "input_args", elsewhere_ / input_of("Functional.gelu.0"));
  write_file(scratch_ / "dump/dump2.json", dump_.dump());
  const std::vector<std::string> words{"run_overflow_check", "-api_info", scratch_ / "dump/dump2.json", "--only",
                                       "Functional.gelu.0"};
  EXPECT_THAT(msrun(words, scratch_.path()).out, HasSubstr(refusal));
  std::vector<std::string> allowed = words;
  allowed.push_back("--allow-outside-data");
  EXPECT_THAT(msrun(allowed, scratch_.path()).out, ::testing::Not(HasSubstr(refusal)));
}

TEST_F(OutsideData, WhatLiesBesideTheDumpIsInside) {
  fs::copy(elsewhere_, scratch_ / "dump/more", fs::copy_options::recursive);
  rename("Functional.gelu.0.forward", "input_args", "../more/" + input_of("Functional.gelu.0"));
  rename("Functional.gelu.1.forward", "input_args", "../../elsewhere/" + input_of("Functional.gelu.1"));
  check("beside");
  expect_refused_calls("beside", {"Functional.gelu.1"});
}

TEST_F(OutsideData, ADumpBehindALinkIsInsideOfItself) {
  const fs::path data = scratch_ / "dump/dump_tensor_data";
  rename("Functional.gelu.0.forward", "input_args", fs::canonical(data) / input_of("Functional.gelu.0"));
  rename("Functional.gelu.1.forward", "input_args", "../dump_tensor_data/" + input_of("Functional.gelu.1"));
  check("direct");
  expect_refused_calls("direct", {});
  fs::create_directory_symlink(scratch_ / "dump", scratch_ / "link");
  // So is one whose tensors were moved away as a whole and linked.
  fs::rename(data, scratch_ / "moved");
  fs::create_directory_symlink(scratch_ / "moved", data);
  rename("Functional.gelu.0.forward", "input_args", input_of("Functional.gelu.0"));
  rename("Functional.gelu.1.forward", "input_args", input_of("Functional.gelu.1"));
  check("moved_data");
  expect_refused_calls("moved_data", {});
  EXPECT_EQ(msrun({"-api_info", scratch_ / "link/dump.json", "-o", scratch_ / "linked"}, scratch_.path()).exit_code, 0);
  expect_refused_calls("linked", {});
  for (const char* call : {"Functional.gelu.0", "Functional.gelu.1"}) EXPECT_NE(rows("linked")[call].at(1), "SKIP");
}

TEST_F(OutsideData, ChangesResultsSoThatARunIsContinuedWithTheSameAnswer) {
  rename("Functional.gelu.0.forward", "input_args", elsewhere_ / input_of("Functional.gelu.0"));
  ASSERT_EQ(check("refused", {}).exit_code, 0);
  const std::string result = only_file(scratch_ / "refused", "accuracy_checking_result_");
  const Finished other = check("unused", {"-csv_path", result, "--allow-outside-data"});
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, HasSubstr("outside_data (\"refused\" then, \"allowed\" now)"));
  EXPECT_EQ(check("unused", {"-csv_path", result}).exit_code, 0);
}

}  // namespace
}  // namespace msrun::testing
