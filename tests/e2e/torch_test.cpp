// The torch backend on the CPU, in real processes: results, the journal, and what becomes of a run whose worker
// crashes, hangs, is killed, talks nonsense or lacks memory. One test a way to fail, hence longer than other files.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/support/msrun_process.h"
#include "tests/support/sanitized.h"
#include "tests/support/test_paths.h"
#include "tests/support/torch_python.h"

namespace msrun::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

std::string tensor(const std::string& shape, bool requires_grad = false) {
  return R"({"type":"torch.Tensor","dtype":"torch.float32","shape":)" + shape +
         R"(,"Max":2.0,"Min":-2.0,"Mean":0.0,"Norm":1.0,"requires_grad":)" + (requires_grad ? "true" : "false") + "}";
}

std::string entry(const std::string& name, const std::string& args, const std::string& output) {
  return '"' + name + R"(":{"input_args":[)" + args + R"(],"input_kwargs":{},"output":[)" + output + "]}";
}

// relu.0 to relu.3 and eight sums, four of them with a backward.
std::string small_dump(const TemporaryDirectory& scratch) {
  std::string text = R"({"task":"statistics","level":"L1","framework":"pytorch","dump_data_dir":null,"data":{)";
  const std::string vector = tensor("[64]");
  const char* separator = "";
  for (int i = 0; i < 4; ++i) {
    text += separator + entry("Functional.relu." + std::to_string(i) + ".forward", vector, vector);
    separator = ",";
  }
  for (int i = 0; i < 8; ++i) {
    const std::string name = "Torch.add." + std::to_string(i);
    const std::string input = tensor("[64]", i % 2 == 0);
    text += separator + entry(name + ".forward", input + "," + input, vector);
    if (i % 2 == 0) {
      text += ",\"" + name + R"(.backward":{"input":[)" + vector + R"(],"output":[)" + vector + "," + vector + "]}";
    }
  }
  return scratch.write("dump.json", text + "}}");
}

std::vector<std::string> arguments(const TemporaryDirectory& scratch, const std::vector<std::string>& more = {}) {
  std::vector<std::string> words{"-api_info", small_dump(scratch), "-o",       scratch / "out", "-n",
                                 "2",         "--backend",         "torch:cpu"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

Finished run(const TemporaryDirectory& scratch, const std::vector<std::string>& more = {},
             const std::vector<std::string>& environment = {}) {
  std::vector<std::string> words = arguments(scratch, more);
  words.insert(words.end(), {"--python", torch_python()});
  return msrun(words, scratch.path(), environment);
}

// A Python whose relu misbehaves.
std::string faulty_python(const TemporaryDirectory& scratch) {
  std::string program = scratch.write("python", "#!/bin/sh\nexec " + torch_python() + " '" + source_root() +
                                                    "/tests/e2e/torch/faulty_python.py' \"$@\"\n");
  chmod(program.c_str(), 0755);
  return program;
}

Finished run_faulty(const TemporaryDirectory& scratch, const std::string& fault,
                    const std::vector<std::string>& more = {}, const std::vector<std::string>& environment = {}) {
  std::vector<std::string> words = arguments(scratch, more);
  words.insert(words.end(), {"--python", faulty_python(scratch)});
  std::vector<std::string> variables = environment;
  variables.push_back("MSRUN_TEST_FAULT=" + fault);
  return msrun(words, scratch.path(), variables);
}

// Forward, backward and Message by name.
std::map<std::string, std::vector<std::string>> results(const TemporaryDirectory& scratch) {
  std::map<std::string, std::vector<std::string>> rows;
  for (const auto& row : read_csv(only_file(scratch / "out", "accuracy_checking_result_")))
    rows[row[0]] = {row.begin() + 1, row.end()};
  return rows;
}

void expect_only_relu_skipped(const TemporaryDirectory& scratch, const std::string& reason) {
  for (const auto& [name, row] : results(scratch)) {
    if (name.starts_with("Functional.relu.")) {
      EXPECT_EQ(row[0], "SKIP") << name;
      ASSERT_GE(row.size(), 3U) << name;
      EXPECT_THAT(row[2], HasSubstr(reason)) << name;
    } else if (name.starts_with("Torch.")) {
      EXPECT_EQ(row[0], "pass") << name;
    }
  }
}

// Processes below pid, itself included.
std::vector<pid_t> family(pid_t pid) {
  std::vector<pid_t> all{pid};
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const auto& [child, name] : children(all[i])) all.push_back(child);
  }
  return all;
}

class Torch : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_torch()) GTEST_SKIP() << torch_python() << " has no torch";
  }
  TemporaryDirectory scratch_;
};

TEST_F(Torch, ForwardAndBackwardPass) {
  const Finished finished = run(scratch_);
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("torch:cpu (the host's processor; no NPU or GPU is tested)"));
  const auto rows = results(scratch_);
  for (int i = 0; i < 8; ++i) {
    const auto& row = rows.at("Torch.add." + std::to_string(i));
    EXPECT_EQ(row[0], "pass");
    EXPECT_EQ(row[1], i % 2 == 0 ? "pass" : " ");
  }
  for (int i = 0; i < 4; ++i) EXPECT_EQ(rows.at("Functional.relu." + std::to_string(i))[0], "pass");
}

// What a worker computes does not depend on lanes, workers and devices.
TEST_F(Torch, LanesWorkersAndDevicesDoNotMatter) {
  ASSERT_EQ(run(scratch_, {"--torch-lanes", "1"}).exit_code, 0);
  const TemporaryDirectory other;
  ASSERT_EQ(run(other, {"--torch-workers", "2", "-d", "0", "1"}).exit_code, 0);
  EXPECT_EQ(read_file(only_file(scratch_ / "out", "accuracy_checking_details_")),
            read_file(only_file(other / "out", "accuracy_checking_details_")));
}

// Libraries below torch have threads of their own, by which they split sums.
TEST_F(Torch, ConvolutionsDoNotDependOnTheLane) {
  std::set<std::string> details;
  for (const char* lanes : {"1", "2"}) {
    for (const char* threads : {"1", "3"}) {
      const TemporaryDirectory out;
      const Finished finished =
          msrun({"-api_info", dump("cnn_fp32_mix"), "-o", out / "out", "--backend", "torch:cpu", "--python",
                 torch_python(), "-n", threads, "--torch-lanes", lanes, "--only", "Functional.conv2d.*"},
                out.path(), {std::string("OMP_NUM_THREADS=") + threads});
      ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
      details.insert(read_file(only_file(out / "out", "accuracy_checking_details_")));
    }
  }
  EXPECT_EQ(details.size(), 1U);
}

// Whoever goes on needs the torch and the settings of the beginning.
TEST_F(Torch, TheJournalNamesTorchAndItsSettings) {
  ASSERT_EQ(run(scratch_).exit_code, 0);
  const fs::path journal = only_file(scratch_ / "out", "accuracy_checking_2");
  const Finished shown = msrun({"journal", journal, "--json"}, scratch_.path());
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("float32_matmul_precision"));
  EXPECT_THAT(shown.out, HasSubstr("torch:cpu"));
}

// A GPU whose convolutions and products cut their operands: its settings let convolutions alone do so.
TEST_F(Torch, Tf32IsExplainedWhereASettingLetsItBe) {
  const std::string program = scratch_.write("python", "#!/bin/sh\nexec " + torch_python() + " '" + source_root() +
                                                           "/tests/e2e/torch/tf32_python.py' \"$@\"\n");
  chmod(program.c_str(), 0755);
  for (const bool allowed : {true, false}) {
    const std::string out = scratch_ / (allowed ? "allowed" : "forbidden");
    const Finished finished = msrun({"-api_info", test_data("/dumps") + "/cnn_fp32/dump.json", "--backend",
                                     "torch:cuda", "--python", program, "-o", out, "--summary", "-n", "2"},
                                    scratch_.path(), {std::string("MSRUN_TEST_TF32=") + (allowed ? "true" : "false")});
    ASSERT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_THAT(finished.out, HasSubstr("Functional.linear.0"));
    EXPECT_THAT(finished.out, HasSubstr("Inputs cut to TF32: computed so, the call gives this result."));
    EXPECT_THAT(finished.out, HasSubstr(allowed ? " 1  suspicious" : "12  suspicious"));
    EXPECT_EQ(finished.out.find("Functional.conv2d") == std::string::npos, allowed) << finished.out;
  }
}

TEST_F(Torch, ACrashInALaneIsBlamedOnItsCall) {
  const Finished finished = run_faulty(scratch_, "crash", {"--retries", "1"});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  expect_only_relu_skipped(scratch_, "killed by signal 11 (SIGSEGV)");
}

TEST_F(Torch, ACrashInAThreadOfALibraryBlamesWhatIsUnderWay) {
  const Finished finished = run_faulty(scratch_, "crash_elsewhere", {"--retries", "1"});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  expect_only_relu_skipped(scratch_, "its torch worker was killed by signal 6 (SIGABRT)");
  EXPECT_THAT(finished.err + finished.out, HasSubstr("its torch worker was killed by signal 6 (SIGABRT)"));
}

TEST_F(Torch, AKilledWorkerIsReplaced) {
  const std::string mark = scratch_.file("mark");
  const Finished finished = run_faulty(scratch_, "kill", {}, {"MSRUN_TEST_ONCE=" + mark});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_TRUE(fs::exists(mark));
  for (const auto& [name, row] : results(scratch_)) EXPECT_NE(row[0], "SKIP") << name;
}

TEST_F(Torch, AWorkerThatLeavesIsReplaced) {
  const std::string mark = scratch_.file("mark");
  const Finished finished = run_faulty(scratch_, "leave", {}, {"MSRUN_TEST_ONCE=" + mark});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.err + finished.out, HasSubstr("its torch worker ended with exit code 5"));
  for (const auto& [name, row] : results(scratch_)) EXPECT_NE(row[0], "SKIP") << name;
}

TEST_F(Torch, ALostDeviceIsACrash) {
  const std::string mark = scratch_.file("mark");
  const Finished finished = run_faulty(scratch_, "lose", {}, {"MSRUN_TEST_ONCE=" + mark});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.err + finished.out, HasSubstr("its torch worker lost the device: RuntimeError: ACL stream"));
  for (const auto& [name, row] : results(scratch_)) EXPECT_NE(row[0], "SKIP") << name;
}

// No device has lost anything because a size is a number that CANN has for a lost device, or for want of memory.
TEST_F(Torch, ANumberInATextIsNoErrorCode) {
  const Finished finished = run_faulty(scratch_, "name_a_size", {"--only", "Functional.relu.0,Torch.*"});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.err + finished.out, Not(HasSubstr("lost the device")));
  EXPECT_THAT(finished.err + finished.out, Not(HasSubstr("retrying")));
  expect_only_relu_skipped(scratch_, "RuntimeError: shape '[507015, 207001]' is invalid");
}

// Below the first line is advice for whoever debugs a program of their own.
TEST_F(Torch, OfAnErrorTheFirstLineIsShown) {
  const std::string mark = scratch_.file("mark");
  const Finished finished = run_faulty(scratch_, "advise", {}, {"MSRUN_TEST_ONCE=" + mark});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.err + finished.out,
              HasSubstr("its torch worker lost the device: RuntimeError: CUDA error: device-side assert triggered\n"));
  EXPECT_THAT(finished.err + finished.out, Not(HasSubstr("Search for")));
}

// The signal by which the runner then ends itself says nothing.
TEST_F(Torch, ACallThatLosesTheDeviceSaysSo) {
  const Finished finished = run_faulty(scratch_, "advise", {"--only", "Functional.relu.0,Torch.*"});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  const std::string reason =
      "its torch worker lost the device: RuntimeError: CUDA error: device-side assert triggered, attempt 3.";
  expect_only_relu_skipped(scratch_, "died while running this API: " + reason);
}

TEST_F(Torch, WarningsOfTheFrameworkAreNotShown) {
  const Finished finished = run_faulty(scratch_, "warn");
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.err + finished.out, Not(HasSubstr("in favour of nothing")));
  EXPECT_THAT(finished.err + finished.out, Not(HasSubstr("UserWarning")));
}

TEST_F(Torch, AHangIsEndedWithItsWorker) {
  const Finished finished =
      run_faulty(scratch_, "hang", {"--task-timeout", "3s", "--retries", "1", "--only", "Functional.relu.0,Torch.*"});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  expect_only_relu_skipped(scratch_, "no result within 3 s");
}

TEST_F(Torch, AnErrorOfOneCallIsItsSkip) {
  ASSERT_EQ(run_faulty(scratch_, "fail").exit_code, 0);
  expect_only_relu_skipped(scratch_,
                           "torch:cpu could not run the call: RuntimeError: kernel launch failed for a reason of its");
}

// A call that finds no memory runs again when nothing else does.
TEST_F(Torch, MemoryThatIsThereTheSecondTimeIsNoError) {
  const std::string mark = scratch_.file("mark");
  ASSERT_EQ(run_faulty(scratch_, "out_of_memory", {}, {"MSRUN_TEST_ONCE=" + mark}).exit_code, 0);
  EXPECT_TRUE(fs::exists(mark));
  for (const auto& [name, row] : results(scratch_)) EXPECT_NE(row[0], "SKIP") << name;
}

TEST_F(Torch, MemoryOfAnotherWorkerIsWaitedFor) {
  const fs::path given = scratch_ / "given";
  fs::create_directory(given);
  const Finished finished =
      run_faulty(scratch_, "memory_of_another", {"--torch-workers", "2", "--only", "Functional.relu.0"},
                 {"MSRUN_TEST_GIVEN=" + given.string()});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_EQ(results(scratch_).at("Functional.relu.0")[0], "pass");
}

TEST_F(Torch, MemoryThatIsNotThereIsAFailureToRun) {
  ASSERT_EQ(run_faulty(scratch_, "out_of_memory", {"--fail-on", "error"}).exit_code, 1);
  expect_only_relu_skipped(scratch_, "Not enough memory on the device: RuntimeError: NPU out of memory");
}

// A framework or its driver may hang while it is asked what there is: it ends with whoever asked.
TEST_F(Torch, NothingThatHangsWhileItIsAskedOutlivesMsrun) {
  const std::string program = faulty_python(scratch_);
  std::vector<std::string> words = arguments(scratch_, {});
  words.insert(words.end(), {"--python", program});
  Process run(words, scratch_.path(), {"MSRUN_TEST_FAULT=hanging_inspection"});
  // msrun, the process that has imported torch, and the one that it forks to look.
  std::vector<pid_t> all;
  ASSERT_TRUE(eventually(60, [&] {
    all = family(run.pid());
    return all.size() >= 3 || !run.running();
  }));
  ASSERT_GE(all.size(), 3U) << run.out();
  usleep(200'000);
  run.signal(SIGKILL);
  run.wait();
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_TRUE(eventually(10, [&] { return kill(all[i], 0) != 0; })) << all[i];
  }
}

// What a recording asks for beyond --memory is refused by torch, whose process is not killed for it.
TEST_F(Torch, AnAbsurdSizeIsRefused) {
  const std::string vector = tensor("[1]");
  const std::string dump = scratch_.write(
      "huge.json", R"({"task":"statistics","level":"L1","framework":"pytorch","dump_data_dir":null,"data":{)" +
                       entry("Tensor.repeat.0.forward", vector + R"(,{"type":"int","value":300000000})", vector) + "," +
                       entry("Torch.add.0.forward", vector + "," + vector, vector) + "}}");
  const Finished finished = msrun({"-api_info", dump, "-o", scratch_ / "out", "--backend", "torch:cpu", "--python",
                                   torch_python(), "--memory", "400M"},
                                  scratch_.path());
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  const auto rows = results(scratch_);
  EXPECT_EQ(rows.at("Torch.add.0")[0], "pass");
  EXPECT_EQ(rows.at("Tensor.repeat.0")[0], "SKIP");
  EXPECT_THAT(rows.at("Tensor.repeat.0")[2], HasSubstr("memory that --memory allows"));
  EXPECT_THAT(finished.err + finished.out, Not(HasSubstr("its torch worker")));
}

// Of a view of a few bytes a call gives as many as the recording asks for: refused before the memory for them is taken.
TEST_F(Torch, AnAbsurdViewIsRefused) {
  const std::string vector = tensor("[1]");
  const std::string size = R"({"type":"int","value":2147483648})";
  const std::string axes = R"([)" + size + "]";
  std::string entries = entry("Torch.add.0.forward", vector + "," + vector, vector);
  for (const std::string& call :
       {entry("Tensor.expand.0.forward", vector + "," + size, vector),
        entry("Torch.broadcast_to.0.forward", vector + "," + axes, vector),
        entry("Tensor.expand.1.forward", vector + ",{\"type\":\"int\",\"value\":1073741824}", vector)}) {
    entries += "," + call;
  }
  const std::string dump = scratch_.write(
      "views.json",
      R"({"task":"statistics","level":"L1","framework":"pytorch","dump_data_dir":null,"data":{)" + entries + "}}");
  const Finished finished = msrun({"-api_info", dump, "-o", scratch_ / "out", "--backend", "torch:cpu", "--python",
                                   torch_python(), "--memory", "400M", "-n", "1"},
                                  scratch_.path());
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  const auto rows = results(scratch_);
  EXPECT_EQ(rows.at("Torch.add.0")[0], "pass");
  for (const char* name : {"Tensor.expand.0", "Torch.broadcast_to.0", "Tensor.expand.1"}) {
    EXPECT_EQ(rows.at(name)[0], "SKIP") << name;
    EXPECT_THAT(rows.at(name)[2], HasSubstr("memory that --memory allows")) << name;
  }
  EXPECT_TRUE(sanitized || finished.peak < std::uint64_t{1} << 30) << finished.peak;
}

TEST_F(Torch, NoiseOnStandardOutputHurtsNobody) {
  const Finished finished = run_faulty(scratch_, "noise", {"--message-format", "json"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_THAT(finished.out, Not(HasSubstr("noise")));
  EXPECT_THAT(finished.err, HasSubstr("noise on standard output"));
}

TEST_F(Torch, ARepliesThatBreakTheProtocolEndTheWorker) {
  for (const char* fault : {"nonsense", "endless_frame", "outside", "lanes"}) {
    SCOPED_TRACE(fault);
    const TemporaryDirectory scratch;
    const std::string mark = scratch.file("mark");
    const Finished finished = run_faulty(scratch, fault, {}, {"MSRUN_TEST_ONCE=" + mark});
    ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    EXPECT_TRUE(fs::exists(mark)) << "no call misbehaved";
    EXPECT_THAT(finished.err + finished.out, HasSubstr("its torch worker does not keep to the protocol"));
    for (const auto& [name, row] : results(scratch)) EXPECT_NE(row[0], "SKIP") << name;
  }
}

// The lanes of one worker are fewer than the threads: a call that waits for one gets no older meanwhile.
TEST_F(Torch, WaitingForALaneIsNoTimeOfACall) {
  const Finished finished =
      run_faulty(scratch_, "take_three_seconds",
                 {"--torch-lanes", "1", "--task-timeout", "5s", "--retries", "0", "--only", "Functional.relu.[01]"});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  for (const char* name : {"Functional.relu.0", "Functional.relu.1"}) {
    EXPECT_EQ(results(scratch_).at(name)[0], "pass") << name;
  }
}

TEST_F(Torch, AResultOfTooManyValuesIsTheSkipOfItsCall) {
  const Finished finished = run_faulty(scratch_, "many_values");
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  expect_only_relu_skipped(scratch_, "torch:cpu could not run the call: its result has more values than can be sent");
  EXPECT_THAT(finished.err + finished.out, Not(HasSubstr("its torch worker")));
}

// Whoever ends a job tells every process of it, and some of them twice.
TEST_F(Torch, WhatIsUnderWayIsFinishedWhenAllProcessesAreToldToEnd) {
  const std::string program = scratch_.write("python", "#!/bin/sh\nexec " + torch_python() + " '" + source_root() +
                                                           "/tests/e2e/torch/faulty_python.py' \"$@\"\n");
  chmod(program.c_str(), 0755);
  const std::string mark = scratch_.file("mark");
  Process process(arguments(scratch_, {"--python", program, "--only", "Functional.relu.0"}), scratch_.path(),
                  {"MSRUN_TEST_FAULT=take_three_seconds", "MSRUN_TEST_ONCE=" + mark});
  ASSERT_TRUE(eventually(60, [&] { return fs::exists(mark); }));
  for (int time = 0; time < 2; ++time) {
    for (const pid_t member : family(process.pid())) ::kill(member, SIGTERM);
  }
  const Finished finished = process.wait();
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("Stopping: "));
  EXPECT_EQ(results(scratch_).at("Functional.relu.0")[0], "pass");
}

TEST_F(Torch, WithoutTorchTheRunDoesNotBegin) {
  const Finished finished = run_faulty(scratch_, "import");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("cannot import torch"));
  EXPECT_THAT(finished.err, HasSubstr("name a Python that has torch with --python or MSRUN_PYTHON"));
  EXPECT_FALSE(fs::exists(scratch_ / "out"));
}

// A driver may take whoever asks for its devices down.
TEST_F(Torch, ACrashBeforeTheRunIsNamed) {
  const Finished finished = run_faulty(scratch_, "inspection");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("was killed by signal 11 (SIGSEGV) before torch was there"));
  EXPECT_FALSE(fs::exists(scratch_ / "out"));
}

TEST_F(Torch, AnInterpreterThatIsNotThereIsNamed) {
  for (const char* name : {"/nowhere/python3", "no-such-python"}) {
    std::vector<std::string> words = arguments(scratch_, {"--python", name});
    const Finished finished = msrun(words, scratch_.path());
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_THAT(finished.err, HasSubstr(name));
  }
}

TEST_F(Torch, RequireDeviceRefusesTheProcessor) {
  const Finished finished = run(scratch_, {"--require-device"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("only the host's processor"));
}

// Devices that torch does not find are refused before anything is written.
TEST_F(Torch, DevicesAreCheckedBeforeTheRun) {
  std::vector<std::string> words{"-api_info", small_dump(scratch_), "-o", scratch_ / "out",
                                 "--backend", "torch:cuda",         "-d", "77",
                                 "--python",  torch_python()};
  const Finished finished = msrun(words, scratch_.path());
  EXPECT_EQ(finished.exit_code, 2) << finished.out;
  EXPECT_THAT(finished.err, HasSubstr("torch:cuda"));
  EXPECT_FALSE(fs::exists(scratch_ / "out"));
}

TEST_F(Torch, TheWorkerAnswersOrRefusesDamagedRequests) {
  const std::string command = torch_python() + " -B '" + source_root() + "/tests/e2e/torch/fuzz_worker.py' '" +
                              programs() + "/../lib/msrun/msrun_torch_worker'";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

// torch's own samples of its operators, through the worker and called directly. MSRUN_TORCH_SAMPLES says how many.
TEST_F(Torch, OperatorSamplesGiveTheSameBits) {
  const char* most = std::getenv("MSRUN_TORCH_SAMPLES");
  const std::string found = scratch_.file("found");
  const std::string command = torch_python() + " -B '" + source_root() + "/tests/e2e/torch/operator_samples.py' '" +
                              programs() + "/../lib/msrun/msrun_torch_worker' " + (most == nullptr ? "4000" : most) +
                              " >'" + found + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << read_file(found);
}

// Where tensors are put, and the forms of torch 1 by the functions of torch 2.
TEST_F(Torch, ArgumentsSuitATorchThatIsNotTheRecordedOne) {
  const std::string found = scratch_.file("found");
  const std::string command = torch_python() + " -B '" + source_root() + "/tests/e2e/torch/other_torch.py' '" +
                              programs() + "/../lib/msrun/msrun_torch_worker' >'" + found + "' 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << read_file(found);
}

// Every name of torch's namespaces that msrun knows leads to a callable, or it is listed why not.
TEST_F(Torch, NamesResolve) {
  const std::string list = scratch_.write("apis.json", msrun({"--list-apis", "--json"}, scratch_.path()).out);
  const std::string found = scratch_.file("unresolved");
  const std::string worker = programs() + "/../lib/msrun/msrun_torch_worker";
  const std::string command = torch_python() + " -B '" + source_root() + "/tests/e2e/torch/unresolved.py' '" + worker +
                              "' <'" + list + "' >'" + found + "'";
  ASSERT_EQ(std::system(command.c_str()), 0);
  std::set<std::string> listed;
  std::istringstream lines(read_file(source_root() + "/tests/e2e/torch/unresolved.txt"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    std::string reason;
    words >> name >> reason;
    EXPECT_FALSE(reason.empty()) << name;
    listed.insert(name);
  }
  std::istringstream names(read_file(found));
  for (std::string name; std::getline(names, name);) EXPECT_THAT(listed, Contains(name));
}

TEST_F(Torch, ListsDevices) {
  const Finished text = msrun({"--list-devices", "--python", torch_python()}, scratch_.path());
  ASSERT_EQ(text.exit_code, 0) << text.err;
  for (const char* backend : {"torch:npu:", "torch:cuda:", "torch:cpu:"}) EXPECT_THAT(text.out, HasSubstr(backend));
  const Finished listing = msrun({"--list-devices", "--json", "--python", torch_python()}, scratch_.path());
  const auto json = nlohmann::json::parse(listing.out, nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  ASSERT_EQ(json["backends"].size(), 6U);
  EXPECT_EQ(json["backends"][2]["devices"].size(), 1U);
}

// No worker is left behind by whoever is killed.
TEST_F(Torch, WorkersDieWithTheRun) {
  const std::string program = scratch_.write("python", "#!/bin/sh\nexec " + torch_python() + " '" + source_root() +
                                                           "/tests/e2e/torch/faulty_python.py' \"$@\"\n");
  chmod(program.c_str(), 0755);
  std::vector<std::string> words = arguments(scratch_, {"--python", program});
  Process process(words, scratch_.path(), {"MSRUN_TEST_FAULT=hang"});
  std::vector<pid_t> workers;
  ASSERT_TRUE(eventually(60, [&] {
    // The supervisor, the process that forks, the runner and its worker.
    workers = family(process.pid());
    return workers.size() >= 4;
  }));
  process.signal(SIGKILL);
  for (const pid_t worker : workers) {
    EXPECT_TRUE(eventually(20, [&] { return !fs::exists("/proc/" + std::to_string(worker) + "/exe"); })) << worker;
  }
}

}  // namespace
}  // namespace msrun::testing
