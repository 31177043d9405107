// What the worker does to an NPU, seen by a torch_npu that is none and writes everything down.
#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tests/support/torch_python.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

std::string small_dump(const TemporaryDirectory& scratch) {
  const std::string vector =
      R"({"type":"torch.Tensor","dtype":"torch.float32","shape":[16],"Max":2.0,"Min":-2.0,"Mean":0.0,"Norm":1.0,)"
      R"("requires_grad":false})";
  std::string text = R"({"task":"statistics","level":"L1","framework":"pytorch","dump_data_dir":null,"data":{)";
  for (int i = 0; i < 40; ++i) {
    text += (i == 0 ? "\"" : ",\"") + std::string("NPU.npu_silu.") + std::to_string(i) +
            R"(.forward":{"input_args":[)" + vector + R"(],"input_kwargs":{},"output":[)" + vector + "]}";
  }
  return scratch.write("dump.json", text + "}}");
}

// A line of the log: which thread did what.
struct Step {
  std::string thread;
  std::string what;
};

class FakeNpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_torch()) GTEST_SKIP() << torch_python() << " has no torch";
  }

  Finished run(const std::vector<std::string>& more = {}, const std::vector<std::string>& environment = {}) {
    std::vector<std::string> words{"-api_info", small_dump(scratch_), "-o",        scratch_ / "out", "-n",
                                   "2",         "--backend",          "torch:npu", "--python",       torch_python()};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<std::string> variables{"PYTHONPATH=" + source_root() + "/tests/e2e/torch/fake_npu",
                                       "MSRUN_TEST_NPU_LOG=" + scratch_.file("log")};
    variables.insert(variables.end(), environment.begin(), environment.end());
    return msrun(words, scratch_.path(), variables);
  }

  std::vector<Step> steps() const {
    std::vector<Step> result;
    std::istringstream lines(read_file(scratch_ / "log"));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t space = line.find(' ');
      result.push_back({line.substr(0, space), line.substr(space + 1)});
    }
    return result;
  }

  std::set<std::string> deeds() const {
    std::set<std::string> result;
    for (const Step& step : steps()) result.insert(step.what);
    return result;
  }

  TemporaryDirectory scratch_;
};

TEST_F(FakeNpu, EachLaneChoosesTheDeviceAndEachCallIsWaitedFor) {
  const Finished finished = run({"-d", "1"});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("Device under test: torch:npu."));
  std::set<std::string> callers;
  std::set<std::string> choosers;
  std::size_t calls = 0;
  std::size_t waits = 0;
  for (const Step& step : steps()) {
    if (step.what == "npu_silu") callers.insert(step.thread);
    if (step.what == "npu_silu") ++calls;
    if (step.what == "synchronize") ++waits;
    if (step.what == "set_device 1") choosers.insert(step.thread);
    EXPECT_NE(step.what, "set_device 0");
  }
  EXPECT_EQ(calls, 40U);
  EXPECT_EQ(waits, 40U);
  for (const std::string& caller : callers) EXPECT_TRUE(choosers.contains(caller)) << caller;
  EXPECT_THAT(deeds(),
              IsSupersetOf({"import autoload=0", "set_compile_mode False", "config.allow_internal_format=False"}));
  EXPECT_FALSE(deeds().contains("empty_cache"));
}

TEST_F(FakeNpu, JitCompileIsPassedOn) {
  ASSERT_EQ(run({"-j"}).exit_code, 0);
  EXPECT_THAT(deeds(), IsSupersetOf({"set_compile_mode True", "config.allow_internal_format=True"}));
}

TEST_F(FakeNpu, MemoryIsGivenBackWhenThereIsNone) {
  const Finished finished = run({}, {"MSRUN_TEST_NPU_OOM=" + scratch_.file("mark")});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_TRUE(deeds().contains("empty_cache"));
  for (const auto& row : read_csv(only_file(scratch_ / "out", "accuracy_checking_result_"))) EXPECT_NE(row[1], "SKIP");
}

TEST_F(FakeNpu, DevicesAreCheckedBeforeTheRun) {
  const Finished finished = run({"-d", "0", "5"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("there is no device 5 of torch:npu; its ids are 0, 1"));
  EXPECT_FALSE(fs::exists(scratch_ / "out"));
}

// A result belongs to the settings under which it was computed.
TEST_F(FakeNpu, AnotherSettingIsAnotherRun) {
  ASSERT_EQ(run().exit_code, 0);
  const fs::path csv = only_file(scratch_ / "out", "accuracy_checking_result_");
  EXPECT_EQ(run({"-csv_path", csv}).exit_code, 0);
  const Finished refused = run({"-csv_path", csv}, {"MSRUN_TEST_NPU_HF32=False"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr(R"(torch.conv.allow_hf32 (["true"] then, ["false"] now))"));
}

TEST_F(FakeNpu, IsListed) {
  const Finished listing = msrun({"--list-devices", "--json", "--python", torch_python()}, scratch_.path(),
                                 {"PYTHONPATH=" + source_root() + "/tests/e2e/torch/fake_npu"});
  ASSERT_EQ(listing.exit_code, 0) << listing.err;
  const auto npu = nlohmann::json::parse(listing.out)["backends"][0];
  EXPECT_EQ(npu["backend"], "torch:npu");
  EXPECT_EQ(npu["devices"].size(), 2U);
  EXPECT_EQ(npu["devices"][1]["memory"], 68719476736);
  EXPECT_EQ(npu["versions"]["torch_npu"], "2.1.0.fake");
  EXPECT_EQ(npu["versions"]["cann"], "8.0.fake");
  EXPECT_EQ(npu["settings"]["conv.allow_hf32"], "true");
}

// The script for hosts that have a device, here with the one that is none.
TEST_F(FakeNpu, TheWholeCheckIsOneCommand) {
  const std::string log = scratch_.file("check.log");
  const std::string command = "PYTHONPATH='" + source_root() + "/tests/e2e/torch/fake_npu' MSRUN_PYTHON='" +
                              torch_python() + "' MSRUN='" + programs() + "/msrun' OUT='" +
                              (scratch_ / "check").string() + "' '" + source_root() + "/tests/gpu/run.sh' '" +
                              dump("cnn_fp32").parent_path().string() + "' >'" + log + "' 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << read_file(log);
  EXPECT_THAT(read_file(log), ::testing::ContainsRegex("cnn_fp32 +50 +0 +0 +0 +0 yes"));
}

}  // namespace
}  // namespace msrun::testing
