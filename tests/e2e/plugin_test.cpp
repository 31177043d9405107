// Devices behind the C interface, in real processes: the example of the documentation, and what becomes of a run whose
// plugin crashes, hangs, lacks memory, loses its device or returns what it may not.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::string tensor(const std::string& dtype, bool requires_grad = false) {
  return R"({"type":"torch.Tensor","dtype":"torch.)" + dtype +
         R"(","shape":[64],"Max":2.0,"Min":-2.0,"Mean":0.0,"Norm":1.0,"requires_grad":)" +
         (requires_grad ? "true" : "false") + "}";
}

std::string entry(const std::string& name, const std::string& args, const std::string& output) {
  return '"' + name + R"(.forward":{"input_args":[)" + args + R"(],"input_kwargs":{},"output":[)" + output + "]}";
}

// Four relu and eight sums, half of them with a backward; a product and a sum of integers, which the plugin does not
// have.
std::string small_dump(const TemporaryDirectory& scratch) {
  std::string text = R"({"task":"statistics","level":"L1","framework":"pytorch","dump_data_dir":null,"data":{)";
  const std::string vector = tensor("float32");
  const auto backward = [&](const std::string& name, const std::string& gradients) {
    return ",\"" + name + R"(.backward":{"input":[)" + vector + R"(],"output":[)" + gradients + "]}";
  };
  for (int i = 0; i < 4; ++i) {
    const std::string name = "Functional.relu." + std::to_string(i);
    text += entry(name, tensor("float32", i % 2 == 0), vector);
    if (i % 2 == 0) text += backward(name, vector);
    text += ",";
  }
  for (int i = 0; i < 8; ++i) {
    const std::string name = "Torch.add." + std::to_string(i);
    const std::string input = tensor("float32", i % 2 == 0);
    text += entry(name, input + "," + input, vector);
    if (i % 2 == 0) text += backward(name, vector + "," + vector);
    text += ",";
  }
  const std::string integers = tensor("int32");
  text += entry("Torch.mul.0", vector + "," + vector, vector) + ",";
  text += entry("Torch.add.8", integers + "," + integers, integers);
  return scratch.write("dump.json", text + "}}");
}

class Plugin : public ::testing::Test {
 protected:
  Finished run(const std::string& file, const std::vector<std::string>& more = {},
               const std::vector<std::string>& environment = {}) {
    std::vector<std::string> words{"-api_info", small_dump(scratch_), "-o", scratch_ / "out", "-n", "2",
                                   "--backend", "plugin:" + file};
    words.insert(words.end(), more.begin(), more.end());
    return msrun(words, scratch_.path(), environment);
  }

  Finished run_faulty(const std::string& fault, const std::vector<std::string>& more = {},
                      const std::vector<std::string>& environment = {}) {
    std::vector<std::string> variables = environment;
    variables.push_back("MSRUN_TEST_PLUGIN=" + fault);
    variables.push_back("MSRUN_TEST_LOG=" + log());
    return run(FAULTY_PLUGIN, more, variables);
  }

  // Whose relu misbehaves once.
  Finished run_faulty_once(const std::string& fault) {
    const Finished finished = run_faulty(fault, {}, {"MSRUN_TEST_ONCE=" + scratch_.file("mark")});
    EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    EXPECT_TRUE(fs::exists(scratch_ / "mark"));
    for (const auto& [name, row] : results()) {
      if (!is_supported(name)) continue;
      EXPECT_EQ(row[0], "pass") << name;
    }
    return finished;
  }

  // Forward, backward and Message by name.
  std::map<std::string, std::vector<std::string>> results() const {
    std::map<std::string, std::vector<std::string>> rows;
    for (const auto& row : read_csv(only_file(scratch_ / "out", "accuracy_checking_result_")))
      rows[row[0]] = {row.begin() + 1, row.end()};
    return rows;
  }

  static bool is_supported(const std::string& name) {
    return name.starts_with("Functional.relu.") || (name.starts_with("Torch.add.") && name != "Torch.add.8");
  }

  void expect_only_relu_skipped(const std::string& reason) const {
    for (const auto& [name, row] : results()) {
      if (name.starts_with("Functional.relu.")) {
        EXPECT_EQ(row[0], "SKIP") << name;
        ASSERT_GE(row.size(), 3U) << name;
        EXPECT_THAT(row[2], HasSubstr(reason)) << name;
      } else if (is_supported(name)) {
        EXPECT_EQ(row[0], "pass") << name;
      }
    }
  }

  std::string log() const { return scratch_.file("log"); }

  // What the plugin's functions noted, by thread, in their order.
  std::map<std::string, std::vector<std::string>> notes() const {
    std::map<std::string, std::vector<std::string>> steps;
    std::istringstream lines(read_file(log()));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t space = line.find(' ');
      steps[line.substr(0, space)].push_back(line.substr(space + 1));
    }
    return steps;
  }

  std::set<std::string> deeds() const {
    std::set<std::string> result;
    for (const auto& [thread, steps] : notes()) result.insert(steps.begin(), steps.end());
    return result;
  }

  TemporaryDirectory scratch_;
};

TEST_F(Plugin, TheExampleOfTheDocumentationRunsWhatItHas) {
  const Finished finished = run(PLUGIN_EXAMPLE, {"-d", "0", "1"});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("plugin:example (the host's processor; no NPU or GPU is tested)"));
  const auto rows = results();
  for (int i = 0; i < 8; ++i) {
    const auto& row = rows.at("Torch.add." + std::to_string(i));
    EXPECT_EQ(row[0], "pass");
    EXPECT_EQ(row[1], i % 2 == 0 ? "pass" : " ");
  }
  EXPECT_EQ(rows.at("Functional.relu.0")[1], "pass");
  EXPECT_EQ(rows.at("Torch.mul.0")[0], "SKIP");
  EXPECT_THAT(rows.at("Torch.mul.0")[2], HasSubstr("plugin:example does not have this call: only relu and add"));
  EXPECT_THAT(rows.at("Torch.add.8")[2], HasSubstr("plugin:example does not take these arguments: float32 tensors"));
}

TEST_F(Plugin, ARelativePathIsThatOfTheFolder) {
  fs::copy_file(PLUGIN_EXAMPLE, scratch_ / "mine.so");
  const fs::path here = fs::current_path();
  fs::current_path(scratch_.path());
  const Finished finished = run("mine.so");
  fs::current_path(here);
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
}

// Each thread is attached before its first call, each result is taken back, and the device is closed.
TEST_F(Plugin, FunctionsAreCalledInTheirOrder) {
  ASSERT_EQ(run_faulty("", {"-j"}).exit_code, 0);
  std::size_t runs = 0;
  for (const auto& [thread, steps] : notes()) {
    if (steps.front() == "open 0 blocking=0 jit=1") {
      EXPECT_EQ(steps.back(), "close");
      continue;
    }
    EXPECT_EQ(steps.front(), "attach") << thread;
    ASSERT_EQ(steps.size() % 2, 1U);
    for (std::size_t i = 1; i < steps.size(); i += 2) {
      EXPECT_EQ(steps[i], "run");
      EXPECT_EQ(steps[i + 1], "release");
      ++runs;
    }
  }
  EXPECT_EQ(runs, 14U);
  EXPECT_THAT(deeds(), IsSupersetOf({"open 0 blocking=0 jit=1", "close"}));
  EXPECT_FALSE(deeds().contains("trim"));
}

TEST_F(Plugin, ACrashIsBlamedOnItsCall) {
  const Finished finished = run_faulty("crash", {"--retries", "1"});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  expect_only_relu_skipped("killed by signal 11 (SIGSEGV)");
  // The last attempt is alone, and the device is told so.
  EXPECT_TRUE(deeds().contains("open 0 blocking=1 jit=0"));
}

TEST_F(Plugin, ACrashInAThreadOfThePluginBlamesWhatIsUnderWay) {
  const Finished finished = run_faulty("crash_elsewhere", {"--retries", "1"});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  expect_only_relu_skipped("killed by signal 6 (SIGABRT)");
}

TEST_F(Plugin, AHangIsEnded) {
  const Finished finished =
      run_faulty("hang", {"--task-timeout", "3s", "--retries", "1", "--only", "Functional.relu.0,Torch.add.*"});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  expect_only_relu_skipped("no result within 3 s");
}

TEST_F(Plugin, ARunnerThatIsLostIsReplaced) {
  run_faulty_once("leave");
  fs::remove_all(scratch_ / "out");
  fs::remove(scratch_ / "mark");
  const Finished lost = run_faulty_once("lose");
  EXPECT_THAT(lost.err + lost.out, HasSubstr("plugin:example lost the device: the card fell off the bus"));
}

TEST_F(Plugin, RefusalsOfOneCallAreItsSkip) {
  const std::map<std::string, std::string> reasons{
      {"fail", "plugin:example could not run the call: kernel launch failed for a reason of its own"},
      {"unsupported", "plugin:example does not have this call: no such kernel"},
      {"silent", "plugin:example could not run the call: no reason is given"},
  };
  for (const auto& [fault, reason] : reasons) {
    SCOPED_TRACE(fault);
    fs::remove_all(scratch_ / "out");
    ASSERT_EQ(run_faulty(fault).exit_code, 0);
    expect_only_relu_skipped(reason);
  }
}

// Each of the two devices is the one that checks half of the calls.
TEST_F(Plugin, ACardThatRefusesWhatTheOtherRunsIsSuspiciousWhicheverOfThemChecks) {
  const Finished finished =
      run_faulty("fail", {"-d", "0", "1", "--same-on-all", "--fail-on", "suspicious"}, {"MSRUN_TEST_DEVICE=1"});
  EXPECT_EQ(finished.exit_code, 1) << finished.out << finished.err;
  std::size_t refused = 0;
  for (const auto& [name, row] : results()) {
    if (!name.starts_with("Functional.relu.")) continue;
    ++refused;
    EXPECT_EQ(row[0], "pass") << name << ": the other device checks it";
    EXPECT_THAT(row.back(), HasSubstr("Device 1 differs from device 0: it did not run the call")) << name;
  }
  EXPECT_EQ(refused, 4U);
}

// A call that finds no memory runs again, alone, once the plugin has given back what it keeps.
TEST_F(Plugin, MemoryThatIsThereTheSecondTimeIsNoError) {
  run_faulty_once("out_of_memory");
  EXPECT_TRUE(deeds().contains("trim"));
}

TEST_F(Plugin, MemoryThatIsNotThereIsAFailureToRun) {
  ASSERT_EQ(run_faulty("out_of_memory", {"--fail-on", "error"}).exit_code, 1);
  expect_only_relu_skipped("Not enough memory on the device: 20 GiB asked for, 16 there");
}

TEST_F(Plugin, NoiseOnStandardOutputHurtsNobody) {
  const Finished finished = run_faulty("noise", {"--message-format", "json"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, Not(HasSubstr("noise")));
  EXPECT_THAT(finished.err, HasSubstr("noise on standard output"));
}

TEST_F(Plugin, WrongNumbersShapesAndDtypesAreErrors) {
  for (const char* fault : {"wrong_value", "wrong_shape", "wrong_dtype"}) {
    SCOPED_TRACE(fault);
    fs::remove_all(scratch_ / "out");
    const Finished finished = run_faulty(fault);
    ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    for (const auto& [name, row] : results()) {
      if (!is_supported(name)) continue;
      EXPECT_EQ(row[0], name.starts_with("Functional.") ? "error" : "pass") << name;
    }
  }
}

TEST_F(Plugin, ResultsThatTheInterfaceDoesNotAllowAreFailuresToRun) {
  const std::map<std::string, std::string> reasons{
      {"short", "a tensor of float32 and shape (64,) has 252 bytes, not 256"},
      {"negative", "a tensor has the size -8"},
      {"huge", "has 4611686018427387904 bytes, not"},
      {"rank", "a tensor has more than 16 dimensions"},
      {"no_data", "the elements of a tensor are null"},
      {"no_dtype", "there is no dtype 14"},
      {"no_kind", "a value is of the kind 12, which there is not"},
      {"no_items", "the items of a list are null"},
      {"endless", "the output is too deep or has too many items"},
      {"gradients", "there are 3 gradients of 1 tensors"},
      {"unknown_status", "there is no status 77"},
      {"change_input", "it changed its input 0."},
  };
  for (const auto& [fault, reason] : reasons) {
    SCOPED_TRACE(fault);
    fs::remove_all(scratch_ / "out");
    const Finished finished = run_faulty(fault, {"--fail-on", "error"});
    ASSERT_EQ(finished.exit_code, 1) << finished.out << finished.err;
    expect_only_relu_skipped("plugin:example does not keep to the plugin interface: ");
    expect_only_relu_skipped(reason);
  }
}

TEST_F(Plugin, AChangeOfGradientsThatItIsGivenIsAFailureToRun) {
  ASSERT_EQ(run_faulty("change_gradient", {"--fail-on", "error"}).exit_code, 1);
  for (const auto& [name, row] : results()) {
    if (!is_supported(name)) continue;
    const bool has_gradient = name.starts_with("Functional.relu.") && (name.back() - '0') % 2 == 0;
    EXPECT_EQ(row[0], has_gradient ? "SKIP" : "pass") << name;
    if (has_gradient) {
      EXPECT_THAT(row.at(2), HasSubstr("it changed its output gradient 0."));
    }
  }
}

TEST_F(Plugin, WhatCannotBeUsedIsRefusedBeforeTheRun) {
  const std::map<std::string, std::string> reasons{
      {"describe", ": no card is plugged in"},
      {"describe_crash", " was killed by signal 11 (SIGSEGV) when it was asked what it is"},
      {"describe_leave", " ended with exit code 3 when it was asked what it is"},
      {"no_name", " does not say its name"},
      {"negative_id", " describes a device with the id -1; ids are numbers from 0 on"},
      {"same_id", " describes two devices with the id 3"},
      {"refuse", " does not speak version 1 of the plugin interface"},
      {"other_abi", " speaks version 99 of the plugin interface, msrun version 1"},
      {"no_run", " lacks one of the functions describe, open and run"},
  };
  for (const auto& [fault, reason] : reasons) {
    SCOPED_TRACE(fault);
    const Finished finished = run_faulty(fault);
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_THAT(finished.err, HasSubstr(std::string("--backend plugin:") + FAULTY_PLUGIN + reason));
  }
  const std::string text = scratch_.write("text.so", "no library");
  const std::map<std::string, std::string> files{
      {scratch_.file("nowhere.so"), "there is no such file"},
      {text, "cannot be loaded"},
      {FAILING_FILES, "is no plugin: it exports no function msrun_plugin_entry"},
  };
  for (const auto& [file, reason] : files) {
    const Finished finished = run(file);
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_THAT(finished.err, HasSubstr(reason));
  }
  const Finished other_device = run(PLUGIN_EXAMPLE, {"-d", "0", "5"});
  EXPECT_EQ(other_device.exit_code, 2);
  EXPECT_THAT(other_device.err, HasSubstr("-d: there is no device 5 of plugin:example; its ids are 0, 1"));
  EXPECT_FALSE(fs::exists(scratch_ / "out"));
}

// Nothing is left to run on, which is not the calls' fault.
TEST_F(Plugin, ADeviceThatIsNotOpenedEndsTheRun) {
  const Finished finished = run_faulty("open");
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_THAT(finished.err, HasSubstr("plugin:example does not open device 0: the card is in use"));
}

// With leases too: each of them is checked by runners of its own, but by the same devices.
TEST_F(Plugin, ADeviceThatIsGivenUpIsNotTriedWithEveryLease) {
  const Finished finished =
      run_faulty("open_second", {"-d", "0", "1", "--steal", "--leases", "4", "--max-device-failures", "2"});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  const auto opened = [&](const std::string& device) {
    std::size_t count = 0;
    for (const auto& [thread, steps] : notes()) {
      count += static_cast<std::size_t>(
          std::ranges::count_if(steps, [&](const std::string& step) { return step.starts_with("open " + device); }));
    }
    return count;
  };
  EXPECT_THAT(finished.out, HasSubstr("Device 1 is given up"));
  EXPECT_EQ(opened("1"), 2U);
  EXPECT_GE(opened("0"), 4U);
}

TEST_F(Plugin, AThreadThatIsNotTakenFailsToRunItsCalls) {
  EXPECT_EQ(run_faulty("attach").exit_code, 1);
  for (const auto& [name, row] : results()) {
    if (!is_supported(name)) continue;
    EXPECT_THAT(row.at(2), HasSubstr("does not take a further thread: one thread is enough"));
  }
}

TEST_F(Plugin, RequireDeviceAsksThePlugin) {
  const Finished refused = run_faulty("", {"--require-device"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("only the host's processor"));
  const Finished finished = run_faulty("accelerator", {"--require-device"});
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("Device under test: plugin:example."));
}

TEST_F(Plugin, SaysWhatItRounds) {
  ASSERT_EQ(run_faulty("rounds_steps").exit_code, 0);
  const fs::path csv = only_file(scratch_ / "out", "accuracy_checking_result_");
  const Finished refused = run_faulty("", {"-csv_path", csv});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr(R"(plugin.half_rounding (["2"] then, null now))"));
  const Finished unknown = run_faulty("rounds_otherwise");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("describes an arithmetic that there is not"));
}

TEST_F(Plugin, IsListed) {
  const std::string backend = std::string("plugin:") + PLUGIN_EXAMPLE;
  const Finished text = msrun({"--list-devices", "--backend", backend}, scratch_.path());
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out, "plugin:example: example 1.0\n  0  the host's processor\n  1  the host's processor\n");
  const Finished json = msrun({"--list-devices", "--json", "--backend", backend}, scratch_.path());
  EXPECT_THAT(json.out, HasSubstr(R"("settings":{"rounding":"nearest"})"));
  EXPECT_EQ(msrun({"--list-devices", "--backend", "plugin:/nowhere"}, scratch_.path()).exit_code, 2);
}

// A result belongs to the settings under which it was computed; where the plugin's file lies does not matter.
TEST_F(Plugin, AnotherSettingIsAnotherRun) {
  ASSERT_EQ(run_faulty("").exit_code, 0);
  const fs::path csv = only_file(scratch_ / "out", "accuracy_checking_result_");
  const std::string elsewhere = scratch_.file("elsewhere.so");
  fs::copy_file(FAULTY_PLUGIN, elsewhere);
  EXPECT_EQ(run(elsewhere, {"-csv_path", csv}).exit_code, 0);
  // A plugin is a library, which a journal does not choose.
  const Finished chosen = msrun({"-csv_path", csv}, scratch_.path());
  EXPECT_EQ(chosen.exit_code, 2);
  EXPECT_THAT(chosen.err, HasSubstr("-csv_path: give --backend again; the run was begun with --backend plugin:"));
  const Finished refused = run_faulty("", {"-csv_path", csv}, {"MSRUN_TEST_ROUNDING=up"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr(R"(plugin.rounding (["nearest"] then, ["up"] now))"));
  EXPECT_EQ(run_faulty("", {"-csv_path", csv, "-j"}).exit_code, 2);
  const Finished gone = run_faulty("", {"-csv_path", csv}, {"MSRUN_TEST_ROUNDING="});
  EXPECT_EQ(gone.exit_code, 2) << "a setting that is no longer told may be any";
  EXPECT_THAT(gone.err, HasSubstr(R"(plugin.rounding (["nearest"] then, null now))"));
  EXPECT_EQ(msrun({"-csv_path", csv, "--backend", "sim"}, scratch_.path()).exit_code, 0)
      << "the settings of a plugin are none of another backend";
}

}  // namespace
}  // namespace msrun::testing
