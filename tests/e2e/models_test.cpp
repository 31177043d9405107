// Training steps of ten kinds of models: an LSTM, a graph network, BERT, a recommender, speech with CTC, AdamW, a
// detector, diffusion, PPO and a state-space scan, in float32 and under autocast to bfloat16. Nothing that a sound
// device gives is suspicious.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>

#include "runner/workers/shared_forks.h"
#include "tests/support/test_paths.h"
#include "tests/support/torch_python.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using nlohmann::json;
using ::testing::IsEmpty;
using ::testing::IsSubsetOf;

fs::path model(const std::string& name) { return fs::path(test_data()) / "dumps/models" / name / "dump.json"; }

std::vector<std::string> models() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(fs::path(test_data()) / "dumps/models"))
    names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

class Models : public Untouched, public ::testing::WithParamInterface<std::string> {
 protected:
  struct Found {
    std::set<std::string> suspicious;
    std::set<std::string> not_checkable;
    std::size_t calls = 0;
  };

  Found check(std::vector<std::string> words, const std::vector<std::string>& environment = {}) {
    words.insert(words.end(), {"-api_info", model(GetParam()), "-o", out(), "-n", "2"});
    const Finished run = msrun(words, scratch_.path(), environment);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const fs::path exported = scratch_ / "results.jsonl";
    EXPECT_EQ(msrun({"journal", out(), "--export", exported}, scratch_.path()).exit_code, 0);
    Found found;
    std::istringstream lines(read_file(exported));
    for (std::string line; std::getline(lines, line);) {
      const json result = json::parse(line);
      ++found.calls;
      if (result.at("suspicious")) found.suspicious.insert(result.at("name"));
      if (result.at("outcome") == "not_checkable") found.not_checkable.insert(result.at("name"));
    }
    EXPECT_GT(found.calls, 4U);
    return found;
  }

  bool has_tensors() const { return GetParam().ends_with("_tensor"); }
};

// No random data are made for complex tensors.
const std::set<std::string> unknown{"Torch.istft.0"};

TEST_P(Models, AreSoundOnTheSimulatedDevice) {
  const Found found = check({"--backend", "sim"});
  EXPECT_THAT(found.suspicious, IsEmpty());
  EXPECT_THAT(found.not_checkable, IsSubsetOf(unknown));
}

TEST_P(Models, AreSoundAsTheyWereRecorded) {
  if (!has_tensors()) GTEST_SKIP() << "its tensors were not recorded";
  EXPECT_THAT(check({"--backend", "recorded", "--recorded-on", "cpu"}).suspicious, IsEmpty());
}

// The workers of all runs of this process, which import torch once: what a run finds in its environment.
std::string shared_workers() {
  static const std::unique_ptr<SharedForks> workers = [] {
    WorkerOptions options;
    options.kind = "cpu";
    options.python = torch_python();
    std::unique_ptr<SharedForks> forks = SharedForks::start(options, STDERR_FILENO);
    EXPECT_EQ(fcntl(forks->descriptor(), F_SETFD, 0), 0);
    return forks;
  }();
  return workers->variable();
}

TEST_P(Models, AreSoundOnTorch) {
  if (!has_torch()) GTEST_SKIP() << torch_python() << " has no torch";
  const Found found = check({"--backend", "torch:cpu", "--python", torch_python()}, {shared_workers()});
  EXPECT_THAT(found.suspicious, IsEmpty());
  EXPECT_THAT(found.not_checkable, IsSubsetOf(unknown));
}

INSTANTIATE_TEST_SUITE_P(Kinds, Models, ::testing::ValuesIn(models()), [](const auto& name) { return name.param; });

}  // namespace
}  // namespace msrun::testing
