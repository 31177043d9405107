// The mindspore backend in real processes, with a module of that name made of NumPy (tests/e2e/mindspore/fake):
// results, the journal, and what becomes of a run whose worker crashes, hangs, talks nonsense or cannot be had.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tests/support/torch_python.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string tensor(const std::string& shape, const std::string& dtype = "Float32") {
  return R"({"type":"mindspore.Tensor","dtype":")" + dtype + R"(","shape":)" + shape +
         R"(,"Max":2.0,"Min":-2.0,"Mean":0.0,"Norm":1.0})";
}

std::string forward(const std::string& name, const std::string& args, const std::string& output,
                    const std::string& kwargs = {}) {
  return '"' + name + R"(.forward":{"input_args":[)" + args + R"(],"input_kwargs":{)" + kwargs + R"(},"output":[)" +
         output + "]}";
}

std::string backward(const std::string& name, const std::string& upstream, const std::string& gradients) {
  return '"' + name + R"(.backward":{"input":[)" + upstream + R"(],"output":[)" + gradients + "]}";
}

std::string recording(const std::vector<std::string>& entries, const std::string& framework = "mindspore") {
  std::string text =
      R"({"task":"statistics","level":"L1","framework":")" + framework + R"(","dump_data_dir":null,"data":{)";
  for (std::size_t i = 0; i < entries.size(); ++i) text += (i > 0 ? "," : "") + entries[i];
  return text + "}}";
}

// Two calls of relu, and sound ones with gradients of arguments, of a keyword and through two outputs.
std::vector<std::string> usual_calls() {
  const std::string vector = tensor("[64]");
  const std::string square = tensor("[4,4]");
  const std::string half = tensor("[4,4]", "BFloat16");
  return {forward("MintFunctional.relu.0", vector, vector),
          forward("MintFunctional.relu.1", vector, vector),
          forward("Mint.add.0", vector + "," + vector, vector),
          backward("Mint.add.0", vector, vector + "," + vector),
          forward("Mint.matmul.0", square + "," + square, square),
          backward("Mint.matmul.0", square, square + "," + square),
          forward("Mint.matmul.1", square, square, R"("other":)" + square),
          backward("Mint.matmul.1", square, square),
          forward("Tensor.sub.0", half + "," + half, half),
          backward("Tensor.sub.0", half, half + "," + half),
          forward("Mint.split.0", square + R"(,{"type":"int","value":2})", square + "," + square),
          backward("Mint.split.0", tensor("[2,4]") + "," + tensor("[2,4]"), square),
          forward("Mint.eq.0", vector + "," + vector, tensor("[64]", "Bool"))};
}

class MindSporeBackend : public ::testing::Test {
 protected:
  void SetUp() override {
    if (std::system((torch_python() + " -c 'import numpy' >/dev/null 2>&1").c_str()) != 0) {
      GTEST_SKIP() << torch_python() << " has no numpy";
    }
  }

  static std::string fake() { return "PYTHONPATH=" + source_root() + "/tests/e2e/mindspore/fake"; }

  std::vector<std::string> words(const std::vector<std::string>& calls, const std::vector<std::string>& more) {
    std::vector<std::string> words{"-api_info", scratch_.write("dump.json", recording(calls)),
                                   "-o",        scratch_ / "out",
                                   "--backend", "mindspore:cpu",
                                   "-n",        "2"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  Finished run(const std::vector<std::string>& calls, const std::vector<std::string>& more = {},
               std::vector<std::string> environment = {}) {
    std::vector<std::string> all = words(calls, more);
    all.insert(all.end(), {"--python", torch_python()});
    environment.push_back(fake());
    return msrun(all, scratch_.path(), environment);
  }

  // A Python whose relu misbehaves.
  Finished run_faulty(const std::string& fault, const std::vector<std::string>& more = {},
                      std::vector<std::string> environment = {}) {
    const std::string program = scratch_.write("python", "#!/bin/sh\nexec " + torch_python() + " '" + source_root() +
                                                             "/tests/e2e/torch/faulty_python.py' \"$@\"\n");
    chmod(program.c_str(), 0755);
    std::vector<std::string> all = words(usual_calls(), more);
    all.insert(all.end(), {"--python", program});
    environment.insert(environment.end(), {fake(), "MSRUN_TEST_FAULT=" + fault});
    return msrun(all, scratch_.path(), environment);
  }

  // Forward, backward and Message by name.
  std::map<std::string, std::vector<std::string>> results() const {
    std::map<std::string, std::vector<std::string>> rows;
    for (const auto& row : read_csv(only_file(scratch_ / "out", "accuracy_checking_result_")))
      rows[row[0]] = {row.begin() + 1, row.end()};
    return rows;
  }

  void expect_relu(const std::string& status, const std::string& reason) const {
    for (const auto& [name, row] : results()) {
      if (name.starts_with("MintFunctional.relu.")) {
        EXPECT_EQ(row[0], status) << name;
        EXPECT_THAT(row[2], HasSubstr(reason)) << name;
      } else if (name != "API Name") {
        EXPECT_EQ(row[0], "pass") << name << ": " << row[2];
      }
    }
  }

  TemporaryDirectory scratch_;
};

TEST_F(MindSporeBackend, ForwardAndBackwardPass) {
  const Finished finished = run(usual_calls());
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("mindspore:cpu (the host's processor; no NPU or GPU is tested)"));
  const auto rows = results();
  for (const char* name : {"Mint.add.0", "Mint.matmul.0", "Mint.matmul.1", "Tensor.sub.0", "Mint.split.0"}) {
    ASSERT_TRUE(rows.contains(name)) << name;
    EXPECT_EQ(rows.at(name)[0], "pass") << name << ": " << rows.at(name)[2];
    EXPECT_EQ(rows.at(name)[1], "pass") << name << ": " << rows.at(name)[2];
  }
  EXPECT_EQ(rows.at("MintFunctional.relu.0")[0], "pass");
  EXPECT_EQ(rows.at("Mint.eq.0")[0], "pass");
}

// Results do not depend on threads, lanes and workers.
TEST_F(MindSporeBackend, LanesAndWorkersDoNotMatter) {
  ASSERT_EQ(run(usual_calls(), {"--torch-lanes", "1"}).exit_code, 0);
  const std::string one = read_file(only_file(scratch_ / "out", "accuracy_checking_details_"));
  fs::remove_all(scratch_ / "out");
  ASSERT_EQ(run(usual_calls(), {"--torch-workers", "2", "--torch-lanes", "4"}).exit_code, 0);
  EXPECT_EQ(read_file(only_file(scratch_ / "out", "accuracy_checking_details_")), one);
}

// Output and gradients are of two runs, which draw the same numbers.
TEST_F(MindSporeBackend, DropsTheGradientsOfWhatItDrops) {
  const std::string matrix = tensor("[64,64]");
  const Finished finished =
      run({forward("MintFunctional.dropout.0", matrix, matrix), backward("MintFunctional.dropout.0", matrix, matrix)},
          {"--summary"});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_EQ(results().at("MintFunctional.dropout.0")[0], "pass");
  EXPECT_THAT(finished.out, HasSubstr(" 0  suspicious")) << results().at("MintFunctional.dropout.0")[2];
}

TEST_F(MindSporeBackend, WhatItDoesNotHaveIsSkip) {
  const std::string vector = tensor("[8]");
  ASSERT_EQ(
      run({forward("Mint.exp.0", vector, vector), forward("Mint.add.0", vector + "," + vector, vector)}).exit_code, 0);
  const auto rows = results();
  EXPECT_EQ(rows.at("Mint.exp.0")[0], "SKIP");
  EXPECT_THAT(rows.at("Mint.exp.0")[2], HasSubstr("mindspore 2.7.0.fake has no mindspore.mint.exp."));
  EXPECT_EQ(rows.at("Mint.add.0")[0], "pass");
}

// Both have torch's names.
TEST_F(MindSporeBackend, RunsRecordingsOfMindTorch) {
  const std::string vector = tensor("[8]");
  const std::string dump = scratch_.write(
      "mindtorch.json",
      recording({forward("Functional.relu.0", vector, vector), forward("Torch.add.0", vector + "," + vector, vector)},
                "mindtorch"));
  const Finished finished =
      msrun({"-api_info", dump, "-o", scratch_ / "out", "--backend", "mindspore:cpu", "--python", torch_python()},
            scratch_.path(), {fake()});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  for (const char* name : {"Functional.relu.0", "Torch.add.0"}) EXPECT_EQ(results().at(name)[0], "pass") << name;
}

TEST_F(MindSporeBackend, TheJournalNamesMindSporeAndItsSettings) {
  ASSERT_EQ(run(usual_calls()).exit_code, 0);
  const Finished shown =
      msrun({"journal", only_file(scratch_ / "out", "accuracy_checking_2"), "--json"}, scratch_.path());
  ASSERT_EQ(shown.exit_code, 0) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("mindspore:cpu"));
  EXPECT_THAT(shown.out, HasSubstr("mindspore.deterministic"));
  EXPECT_THAT(shown.out, HasSubstr("2.7.0.fake"));
}

TEST_F(MindSporeBackend, ACrashIsBlamedOnItsCall) {
  const Finished finished = run_faulty("crash", {"--retries", "1"});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  expect_relu("SKIP", "killed by signal 11 (SIGSEGV)");
}

TEST_F(MindSporeBackend, AHangIsEndedWithItsWorker) {
  const Finished finished = run_faulty("hang", {"--task-timeout", "3s", "--retries", "1"});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  expect_relu("SKIP", "no result within 3 s");
}

TEST_F(MindSporeBackend, AnotherShapeIsAnError) {
  ASSERT_EQ(run_faulty("wrong_shape").exit_code, 0);
  expect_relu("error", "");
}

TEST_F(MindSporeBackend, AKilledWorkerIsReplaced) {
  const std::string mark = scratch_.file("mark");
  const Finished finished = run_faulty("kill", {}, {"MSRUN_TEST_ONCE=" + mark});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_TRUE(fs::exists(mark));
  expect_relu("pass", "");
}

TEST_F(MindSporeBackend, ALostDeviceIsACrash) {
  const Finished finished = run_faulty("lose", {}, {"MSRUN_TEST_ONCE=" + scratch_.file("mark")});
  ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(finished.err + finished.out, HasSubstr("its mindspore worker lost the device: RuntimeError: ACL stream"));
  expect_relu("pass", "");
}

TEST_F(MindSporeBackend, AnErrorOfOneCallIsItsSkip) {
  ASSERT_EQ(run_faulty("fail").exit_code, 0);
  expect_relu("SKIP", "mindspore:cpu could not run the call: RuntimeError: kernel launch failed for a reason of its");
}

TEST_F(MindSporeBackend, RepliesThatBreakTheProtocolEndTheWorker) {
  for (const char* fault : {"nonsense", "endless_frame", "outside"}) {
    SCOPED_TRACE(fault);
    fs::remove_all(scratch_ / "out");
    fs::remove(scratch_.file("mark"));
    const Finished finished = run_faulty(fault, {}, {"MSRUN_TEST_ONCE=" + scratch_.file("mark")});
    ASSERT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    EXPECT_THAT(finished.err + finished.out, HasSubstr("its mindspore worker does not keep to the protocol"));
    expect_relu("pass", "");
  }
}

TEST_F(MindSporeBackend, WithoutMindSporeTheRunDoesNotBegin) {
  const Finished finished = run_faulty("import");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("--backend mindspore:cpu: "));
  EXPECT_THAT(finished.err, HasSubstr("cannot import mindspore"));
  EXPECT_THAT(finished.err, HasSubstr("name a Python that has mindspore with --python or MSRUN_PYTHON"));
  EXPECT_FALSE(fs::exists(scratch_ / "out"));
}

TEST_F(MindSporeBackend, ACrashBeforeTheRunIsNamed) {
  const Finished finished = run_faulty("inspection");
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("was killed by signal 11 (SIGSEGV) before mindspore was there"));
  EXPECT_FALSE(fs::exists(scratch_ / "out"));
}

TEST_F(MindSporeBackend, TheWorkerAnswersOrRefusesDamagedRequests) {
  const std::string command = fake() + " " + torch_python() + " -B '" + source_root() +
                              "/tests/e2e/torch/fuzz_worker.py' '" + programs() +
                              "/../lib/msrun/msrun_mindspore_worker'";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

// Functions of one framework are none of the other, even where they have the same name.
TEST_F(MindSporeBackend, RecordingsOfAnotherFrameworkAreRefused) {
  const std::string theirs = R"({"type":"torch.Tensor","dtype":"torch.float32","shape":[8],"Max":2.0,"Min":-2.0,)"
                             R"("Mean":0.0,"Norm":1.0,"requires_grad":false})";
  const std::string torch_dump =
      scratch_.write("torch.json", recording({forward("Functional.relu.0", theirs, theirs)}, "pytorch"));
  const std::string own_dump = scratch_.write("own.json", recording(usual_calls()));
  for (const auto& [dump, backend, needed] :
       {std::tuple{torch_dump, "mindspore:cpu", "torch"}, std::tuple{own_dump, "torch:cpu", "mindspore"}}) {
    const Finished finished =
        msrun({"-api_info", dump, "-o", scratch_ / "out", "--backend", backend, "--python", torch_python()},
              scratch_.path(), {fake()});
    EXPECT_EQ(finished.exit_code, 2) << finished.out;
    EXPECT_THAT(finished.err, HasSubstr(dump + " is a recording of ")) << finished.err;
    EXPECT_THAT(finished.err, HasSubstr(std::string("which --backend ") + needed + " runs"));
    EXPECT_FALSE(fs::exists(scratch_ / "out"));
  }
}

TEST_F(MindSporeBackend, DevicesAreListedAndChecked) {
  const Finished listing = msrun({"--list-devices", "--json", "--python", torch_python()}, scratch_.path(),
                                 {fake(), "FAKE_MINDSPORE_DEVICES=2"});
  ASSERT_EQ(listing.exit_code, 0) << listing.err;
  const auto json = nlohmann::json::parse(listing.out, nullptr, false);
  ASSERT_FALSE(json.is_discarded()) << listing.out;
  std::map<std::string, nlohmann::json> backends;
  for (const auto& entry : json["backends"]) backends[entry["backend"]] = entry;
  ASSERT_TRUE(backends.contains("mindspore:npu")) << listing.out;
  EXPECT_EQ(backends["mindspore:npu"]["devices"].size(), 2U);
  EXPECT_EQ(backends["mindspore:npu"]["devices"][1]["name"], "fake Ascend 1");
  EXPECT_EQ(backends["mindspore:npu"]["versions"]["mindspore"], "2.7.0.fake");
  // What is not set, and what MindSpore does not tell, is as CANN has it.
  EXPECT_EQ(backends["mindspore:npu"]["settings"]["conv.allow_hf32"], "true");
  EXPECT_EQ(backends["mindspore:npu"]["settings"]["matmul.allow_hf32"], "false");
  EXPECT_THAT(backends["mindspore:cuda"]["problem"].dump(), HasSubstr("finds no device of its kind GPU"));
  EXPECT_EQ(backends["mindspore:cpu"]["devices"].size(), 1U);

  const std::string dump = scratch_.write("dump.json", recording(usual_calls()));
  const auto on = [&](const char* id) {
    return msrun({"-api_info", dump, "-o", scratch_ / "out", "--backend", "mindspore:npu", "-d", id, "--python",
                  torch_python(), "--require-device"},
                 scratch_.path(), {fake(), "FAKE_MINDSPORE_DEVICES=2"});
  };
  const Finished refused = on("5");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, HasSubstr("there is no device 5 of mindspore:npu; its ids are 0, 1"));
  const Finished finished = on("1");
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  expect_relu("pass", "");
}

}  // namespace
}  // namespace msrun::testing
