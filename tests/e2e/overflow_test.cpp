// run_overflow_check as a user meets it: what is printed and written, exit codes, calls that end their process.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/spawned_process.h"
#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string tensor(const std::string& dtype, const std::string& shape, const std::string& min, const std::string& max) {
  return R"({"type": "torch.Tensor", "dtype": "torch.)" + dtype + R"(", "shape": )" + shape + R"(, "Max": )" + max +
         R"(, "Min": )" + min + R"(, "Mean": 0, "Norm": 0, "requires_grad": true})";
}

std::string entry(const std::string& name, const std::string& args) {
  return '"' + name + R"(.forward": {"input_args": [)" + args + R"(], "input_kwargs": {}, "output": []})";
}

// Sums of 64 products of 40 and 40 are beyond float16, but not beyond float32.
const std::string large = tensor("float32", "[64, 64]", "40", "40");
const std::string calls =
    entry("Torch.matmul.0", large + "," + large) + "," +                // finite
    entry("Torch.exp.0", tensor("float32", "[8]", "0", "500")) + "," +  // inf on both sides
    entry("Torch.mul.0", tensor("float16", "[8]", "300", "300") + "," + tensor("float16", "[8]", "300", "300")) + "," +
    entry("Torch.equal.0", large + "," + large) + "," +                         // a bool
    entry("Functional.relu.0", tensor("float32", "[4]", "NaN", "NaN")) + "," +  // NaN on both sides
    entry("Distributed.all_reduce.0", large) + "," + entry("NPU.npu_fast_gelu.0", large) + "," +
    entry("Torch.no_such_api.0", large) + "," + entry("Torch.sin.0", "{}");

class Overflow : public Untouched {
 protected:
  Finished check(const std::string& dump, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"run_overflow_check", "-api_info", dump};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return msrun(arguments, scratch_.path());
  }
  // Verdict by API name.
  std::map<std::string, std::string> verdicts() const {
    std::map<std::string, std::string> result;
    const Rows rows = read_csv(only_file(out(), "overflow_check_result_"));
    for (std::size_t i = 1; i < rows.size(); ++i) result[rows[i].at(0)] = rows[i].at(3);
    return result;
  }
};

TEST_F(Overflow, SaysOfEveryCallWhetherItIsNormal) {
  const std::string dump = write_dump(dump_text(calls));
  const Finished run = check(dump, {"-o", out()});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  std::vector<std::string> lines;
  std::istringstream text(run.out);
  for (std::string line; std::getline(text, line);) {
    const std::size_t level = line.find('[');
    lines.push_back(level == std::string::npos ? line : line.substr(level));
  }
  const std::string file = only_file(out(), "overflow_check_result_");
  EXPECT_THAT(
      lines, ::testing::ElementsAre(
                 "[INFO] start overflow check",
                 "[WARNING] Device under test: sim (simulated device; no NPU or GPU was tested).",
                 "[INFO] overflow check result will be saved in " + file, "[INFO] Torch.matmul.0: no overflow.",
                 "[WARNING] The Torch.exp.0 overflow is a normal overflow.",
                 "[WARNING] The Torch.mul.0 overflow is a normal overflow.",
                 "[WARNING] The output of Torch.equal.0 is bool type.This dtype not support overflow, so it will be "
                 "skipped.",
                 "[WARNING] The Functional.relu.0 overflow is a normal overflow.",
                 "[INFO] Distributed api is not supported for overflow check. SKIP.",
                 "[INFO] NPU api is not supported for overflow check. SKIP.",
                 "[WARNING] API Torch.no_such_api.0 not support for overflow check. SKIP.",
                 HasSubstr("[WARNING] Torch.sin.0 was not checked: input_args[0] was not recorded."),
                 "[INFO] Of 9 calls: 1 no overflow, 3 normal overflow (on both sides), 0 abnormal overflow, 5 skipped.",
                 "[WARNING] simulated device; no NPU or GPU was tested.", "[INFO] acc_check task completed."));
  const Rows rows = read_csv(file);
  ASSERT_EQ(rows.size(), 10U);
  EXPECT_EQ(rows[0], (std::vector<std::string>{"API name", "CPU overflow", "Device overflow", "Verdict", "Message"}));
  const auto sides = [&](std::size_t row) { return rows[row].at(1) + "/" + rows[row].at(2) + "/" + rows[row].at(3); };
  EXPECT_EQ(sides(1), "False/False/no overflow");
  EXPECT_EQ(sides(2), "True/True/normal");
  EXPECT_EQ(sides(3), "True/True/normal");
  EXPECT_EQ(sides(4), " / /skip");
  EXPECT_EQ(sides(5), "True/True/normal");
  for (std::size_t row = 6; row < 10; ++row) EXPECT_EQ(sides(row), " / /skip") << row;
}

// What cannot be checked as it was recorded is no failure: a dtype that the dumper leaves empty, complex statistics.
TEST_F(Overflow, WhatCannotBeCheckedIsNoError) {
  const std::string complex = tensor("complex64", "[4]", "null", "null");
  const std::string few = entry("Tensor.to.0", large + ", {}") + "," + entry("Torch.mul.0", complex + "," + complex);
  const Finished run =
      check(write_dump(dump_text(few + "," + entry("Torch.add.0", large + "," + large))), {"-o", out()});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, Not(HasSubstr("[ERROR]")));
  EXPECT_THAT(run.out, HasSubstr("[WARNING] Torch.mul.0 was not checked: Statistics do not tell which values a complex "
                                 "tensor had (torch.complex64): record with the task tensor."));
  const Finished compat =
      check(write_dump(dump_text(entry("Torch.mul.0", complex + "," + complex))), {"--compat", "msprobe"});
  EXPECT_THAT(compat.out, HasSubstr("[ERROR] Run Torch.mul.0 acc_check Error: "));
}

// As msProbe words it.
TEST_F(Overflow, HasTheDocumentedTextsIfAsked) {
  const Finished run = check(write_dump(dump_text(calls)), {"-o", out(), "--compat", "msprobe"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("[WARNING] The Torch.matmul.0 overflow is a normal overflow."));
  EXPECT_THAT(run.out, Not(HasSubstr("Torch.matmul.0: no overflow")));
  EXPECT_EQ(verdicts().at("Torch.matmul.0"), "normal");
}

TEST_F(Overflow, OfAHealthyRecordingThereIsNone) {
  const Finished run = check(dump("llama_bf16"));
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, Not(HasSubstr("normal overflow.")));
  EXPECT_THAT(run.out, HasSubstr("Of 84 calls: 84 no overflow, 0 normal overflow"));
}

// The verdicts are nowhere else.
TEST_F(Overflow, VerdictsThatCannotBePrintedAreNoSuccess) {
  const std::string dump = write_dump(dump_text(calls));
  for (const char* format : {"human", "json"}) {
    OutputEnd full("/dev/full");
    SpawnedProcess run({"run_overflow_check", "-api_info", dump, "--message-format", format}, {full.descriptor(), -1},
                       scratch_.path());
    EXPECT_EQ(run.wait(30), 3) << run.err();
    EXPECT_THAT(run.err(), HasSubstr("could not be written (No space left on device)"));
    SpawnedProcess with_file({"run_overflow_check", "-api_info", dump, "-o", out(), "--message-format", format},
                             {full.descriptor(), -1}, scratch_.path());
    EXPECT_EQ(with_file.wait(30), 0) << with_file.err();
    EXPECT_EQ(verdicts().size(), 9U);
    fs::remove_all(out());
  }
}

TEST_F(Overflow, OfTheDeviceAloneIsAbnormal) {
  const std::string dump = write_dump(dump_text(calls));
  const std::vector<std::string> fault{"--sim-fault", "Torch.matmul.*=acc-fp16", "-o", out()};
  const Finished run = check(dump, fault);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("[WARNING] The Torch.matmul.0 overflow is an abnormal overflow."));
  EXPECT_EQ(verdicts().at("Torch.matmul.0"), "abnormal");
  EXPECT_EQ(verdicts().at("Torch.exp.0"), "normal");
  for (const char* level : {"error", "warning"}) {
    EXPECT_EQ(check(dump, {"--sim-fault", "Torch.matmul.*=acc-fp16", "--fail-on", level}).exit_code, 1);
    EXPECT_EQ(check(dump, {"--fail-on", level}).exit_code, 0);
  }
}

TEST_F(Overflow, WritesNothingUnlessAsked) {
  const std::string dump = write_dump(dump_text(calls));
  const auto before = snapshot(scratch_.path());
  EXPECT_EQ(check(dump).exit_code, 0);
  EXPECT_TRUE(before == snapshot(scratch_.path()));
  for (const fs::directory_entry& entry : fs::directory_iterator(fs::current_path())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with("overflow_check_result_")) << entry.path();
  }
}

TEST_F(Overflow, ACallThatEndsItsProcessIsSkipped) {
  const std::string dump = write_dump(dump_text(calls));
  const Finished run = check(dump, {"--sim-fault", "Torch.exp.0=crash", "-o", out()});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("[ERROR] Run Torch.exp.0 acc_check Error: The runner of device 0 died"));
  EXPECT_EQ(run.out.find("Run Torch.exp.0"), run.out.rfind("Run Torch.exp.0")) << "it is said once";
  EXPECT_EQ(verdicts().at("Torch.exp.0"), "skip");
  EXPECT_EQ(verdicts().at("Torch.mul.0"), "normal");
  EXPECT_EQ(verdicts().size(), 9U);
}

TEST_F(Overflow, ACallThatNeverEndsIsSkipped) {
  const std::string dump = write_dump(dump_text(calls));
  const Finished run = check(dump, {"--sim-fault", "Torch.exp.0=hang", "--task-timeout", "1", "-o", out()});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("no result within 1 s"));
  EXPECT_EQ(verdicts().at("Torch.exp.0"), "skip");
  EXPECT_EQ(verdicts().at("Torch.mul.0"), "normal");
}

TEST_F(Overflow, StoppedItSaysHowToStartAgain) {
  const std::string dump = write_dump(dump_text(calls));
  Process run({"run_overflow_check", "-api_info", dump, "--sim-fault", "Torch.exp.0=hang", "-o", out()},
              scratch_.path());
  ASSERT_TRUE(eventually(20, [&] { return run.out().find("Torch.matmul.0: no overflow") != std::string::npos; }));
  run.signal(SIGINT);
  ASSERT_TRUE(eventually(10, [&] { return run.out().find("press Ctrl-C again") != std::string::npos; }));
  run.signal(SIGINT);
  ASSERT_TRUE(eventually(10, [&] { return !run.running(); }));
  const Finished finished = run.wait();
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_THAT(finished.out,
              HasSubstr("Start it again with: " + programs() + "/msrun run_overflow_check -api_info " + dump));
  EXPECT_THAT(finished.out, Not(HasSubstr("task completed")));
  EXPECT_EQ(verdicts().at("Torch.matmul.0"), "no overflow");
  EXPECT_FALSE(verdicts().contains("Torch.exp.0"));
}

TEST_F(Overflow, TensorsMayBeInFiles) {
  EXPECT_EQ(check(dump("zoo_tensor_small"), {"-o", out()}).exit_code, 0);
  const auto found = verdicts();
  EXPECT_GT(found.size(), 5U);
  for (const auto& [name, verdict] : found) EXPECT_EQ(verdict, "no overflow") << name;
}

TEST_F(Overflow, OfRecordedResults) {
  const fs::path folder = scratch_ / "recording";
  fs::copy(dump("zoo_tensor_small").parent_path(), folder, fs::copy_options::recursive);
  const Finished run = check(folder / "dump.json", {"--backend", "recorded", "-o", out()});
  EXPECT_EQ(run.exit_code, 0) << run.out << run.err;
  const auto found = verdicts();
  EXPECT_GT(found.size(), 5U);
  for (const auto& [name, verdict] : found) EXPECT_EQ(verdict, "no overflow") << name << run.out;
  expect_refused({"run_overflow_check", "-api_info", write_dump(dump_text(calls)), "--backend", "recorded"},
                 {"holds statistics, not tensors"});
}

TEST_F(Overflow, OfAnOlderRecording) {
  const std::string forward = scratch_ / "forward_info_1.json";
  write_file(forward, R"({"Functional_relu_1_forward": {"args": [)" + tensor("float32", "[4]", "-1", "Infinity") +
                          R"(], "kwargs": {}}})");
  const Finished run = msrun({"run_overflow_check", "-forward", forward, "-o", out()}, scratch_.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr("The Functional.relu.1 overflow is a normal overflow."));
  EXPECT_EQ(read_csv(only_file(out(), "overflow_check_result_")).at(1).at(1), "True");
}

TEST_F(Overflow, JsonLinesHoldBothSides) {
  const std::string dump = write_dump(dump_text(calls));
  const Finished run = check(dump, {"--message-format", "json", "--sim-fault", "Torch.matmul.*=acc-fp16"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  std::istringstream text(run.out);
  bool found = false;
  for (std::string line; std::getline(text, line);) {
    const nlohmann::json event = nlohmann::json::parse(line);
    if (event["type"] == "run_finished") {
      EXPECT_EQ(event["overflow"], (nlohmann::json{{"no_overflow", 0},
                                                   {"nothing_to_overflow", 0},
                                                   {"normal", 3},
                                                   {"abnormal", 1},
                                                   {"skipped", 5},
                                                   {"failed_to_run", 0}}));
    }
    if (event["type"] != "api_result" || event["name"] != "Torch.matmul.0") continue;
    found = true;
    EXPECT_EQ(event["overflow"], (nlohmann::json{{"cpu", false}, {"device", true}, {"verdict", "abnormal"}}));
  }
  EXPECT_TRUE(found) << run.out;
  EXPECT_THAT(run.err, HasSubstr("abnormal overflow."));
}

TEST_F(Overflow, AFaultOfNoCallIsNamed) {
  const Finished finished = msrun({"run_overflow_check", "-api_info", dump("llama_fp32"), "--only", "Torch.matmul.0",
                                   "--sim-fault", "Torch.matmull.*=nan-tail"},
                                  scratch_.path());
  EXPECT_THAT(finished.out, HasSubstr("--sim-fault: no call matches 'Torch.matmull.*'"));
}

TEST_F(Overflow, EmptyDump) {
  const Finished run = check(write_dump(dump_text("")), {"-o", out()});
  EXPECT_EQ(run.exit_code, 1) << run.err;
  EXPECT_THAT(run.out, HasSubstr("data field is empty, no overflow data found."));
  EXPECT_TRUE(verdicts().empty());
}

// Neither integers nor tensors without elements can show one.
TEST_F(Overflow, WhereNothingCanOverflowNothingWasChecked) {
  const std::string none = tensor("float32", "[0, 4]", "null", "null");
  const std::string count = tensor("int64", "[4]", "1", "2");
  const std::string nothing = entry("Torch.add.0", none + "," + none) + "," + entry("Torch.mul.0", count + "," + count);
  const Finished run = check(write_dump(dump_text(nothing)), {"-o", out()});
  EXPECT_EQ(run.exit_code, 1) << run.out << run.err;
  EXPECT_THAT(run.out, HasSubstr("Torch.add.0: no overflow, as no output has an element of a floating dtype."));
  EXPECT_THAT(run.out, HasSubstr("Of the calls without an overflow 2 have no output that could have one."));
  EXPECT_THAT(run.out, HasSubstr("Nothing was checked."));
  EXPECT_EQ(verdicts().at("Torch.mul.0"), "no overflow");
  fs::remove_all(out());
  // As msProbe says it; to be checked or not is no matter of words.
  const Finished compat = check(write_dump(dump_text(nothing)), {"--compat", "msprobe"});
  EXPECT_EQ(compat.exit_code, 1) << compat.out << compat.err;
  EXPECT_THAT(compat.out, HasSubstr("The Torch.add.0 overflow is a normal overflow."));
  EXPECT_EQ(check(write_dump(dump_text(nothing + "," + entry("Torch.add.1", large + "," + large)))).exit_code, 0);
}

TEST_F(Overflow, BadInputIsRefused) {
  const std::string missing = scratch_ / "missing.json";
  const std::string good = write_dump(dump_text(calls));
  expect_refused({"run_overflow_check", "-api_info", missing}, {missing, "does not exist"});
  expect_refused({"run_overflow_check"}, {"-api_info"});
  expect_refused({"run_overflow_check", "-api_info", write_dump("[]"), "-o", out()}, {"top level must be an object"});
  expect_refused({"run_overflow_check", "-api_info", good, "-csv_path", "x.csv"}, {"-csv_path"});
  expect_refused({"run_overflow_check", "-api_info", good, "-o", good}, {good, "should be a directory"});
  expect_refused({"run_overflow_check", "-api_info", good, "--backend", "torch", "--python", "/bin/true"},
                 {"--backend torch:cpu: /bin/true ended with exit code 0"});
  expect_refused({"run_overflow_check", "-api_info", write_dump(R"({"framework": "jax", "data": {}})")},
                 {"Unsupported framework in api_info: jax"});
}

}  // namespace
}  // namespace msrun::testing
