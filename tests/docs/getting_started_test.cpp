// The first step of docs/getting_started.md, done as the page has it: its lines in a training script, its config.json,
// and what msrun makes of the recording. The dumper is a model of msProbe's with its documented rules
// (tests/docs/dumper).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tests/support/torch_python.h"

namespace msrun::testing {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What stands in front of the page's lines: a model and something to train it with.
constexpr const char* training = R"(
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 16)
        self.second = torch.nn.Linear(16, 4)

    def forward(self, x):
        y = torch.nn.functional.relu(self.first(x)).reshape(-1, 16)
        return (self.second(torch.cat([y, y])) * 2.0).sum()


model = Model()
loader = [torch.randn(4, 8) for _ in range(2)]
)";

// The only block of a language in the page.
std::string block(const std::string& language) {
  const std::string page = read_file(fs::path(source_root()) / "docs" / "getting_started.md");
  const std::string fence = "```" + language + "\n";
  const std::size_t begin = page.find(fence);
  if (begin == std::string::npos) throw std::runtime_error("the page has no block " + language);
  EXPECT_EQ(page.find(fence, begin + 1), std::string::npos) << language;
  const std::size_t text = begin + fence.size();
  return page.substr(text, page.find("```", text) - text);
}

class FirstStep : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_torch()) GTEST_SKIP() << "there is no Python with torch here";
  }

  // Trains with this configuration and these lines.
  Finished train(const json& config, const std::string& lines, const std::string& before = "") {
    fs::remove_all(scratch_ / "dump");
    scratch_.write("config.json", config.dump());
    scratch_.write("train.py", training + before + lines);
    const std::string line = "cd '" + scratch_.path().string() + "' && '" + torch_python() + "' train.py";
    Process shell({"-c", line}, scratch_.path(),
                  {"PYTHONPATH=" + source_root() + "/tests/docs/dumper", "PYTHONDONTWRITEBYTECODE=1"}, "/bin/sh");
    return shell.wait();
  }

  // The recordings, below the folder that the configuration names.
  std::vector<fs::path> recordings() const {
    std::vector<fs::path> found;
    std::error_code error;
    for (const auto& entry : fs::recursive_directory_iterator(scratch_ / "dump", error)) {
      if (entry.path().filename() == "dump.json") found.push_back(entry.path());
    }
    return found;
  }

  std::size_t entries() const { return json::parse(read_file(recordings().at(0)))["data"].size(); }

  TemporaryDirectory scratch_;
};

TEST_F(FirstStep, RecordsWhatThePageSaysAndChecksIt) {
  const Finished trained = train(json::parse(block("json")), block("python"));
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  ASSERT_EQ(recordings().size(), 1U);
  EXPECT_THAT(recordings().front().parent_path().string(), HasSubstr("dump/step0/proc"));
  const Finished checked = msrun({"-api_info", scratch_.file("dump"), "-o", scratch_.file("out"), "--backend", "sim",
                                  "--fail-on", "suspicious", "--summary"},
                                 scratch_.path());
  EXPECT_EQ(checked.exit_code, 0) << checked.out << checked.err;
  EXPECT_THAT(checked.out, HasSubstr("Conclusions from 7 calls"));
}

// What the page warns of, one key after the other.
TEST_F(FirstStep, FailsInTheWaysThatThePageNames) {
  const json config = json::parse(block("json"));
  const std::string lines = block("python");
  json other = config;
  other["rank"] = {0};
  ASSERT_EQ(train(other, lines).exit_code, 0);
  EXPECT_THAT(recordings(), IsEmpty()) << "a process without torch.distributed has no rank";

  other = config;
  other.erase("risk_level");
  ASSERT_EQ(train(config, lines).exit_code, 0);
  const std::size_t all = entries();
  ASSERT_EQ(train(other, lines).exit_code, 0);
  EXPECT_LT(entries(), all) << "reshape and cat are missing";

  other = config;
  other["level"] = "mix";
  ASSERT_EQ(train(other, lines).exit_code, 0);
  EXPECT_THAT(read_file(recordings().front()), HasSubstr("Module.first.Linear.forward.0"));
  std::string without_model = lines;
  without_model.replace(without_model.find("start(model)"), std::string("start(model)").size(), "start()");
  EXPECT_THAT(train(other, without_model).err, HasSubstr("missing the parameter 'model'"));
  EXPECT_EQ(train(config, without_model).exit_code, 0) << "L1 needs none";
}

TEST_F(FirstStep, OfADistributedTrainingHasAFolderForEachRank) {
  const std::string distributed =
      "import torch.distributed\n"
      "torch.distributed.init_process_group('gloo', init_method='file://" +
      scratch_.file("store") + "', rank=0, world_size=1)\n";
  const Finished trained = train(json::parse(block("json")), block("python"), distributed);
  if (trained.exit_code != 0) GTEST_SKIP() << "this torch has no torch.distributed: " << trained.err;
  ASSERT_EQ(recordings().size(), 1U);
  EXPECT_THAT(recordings().front().string(), HasSubstr("dump/step0/rank0/dump.json"));
}

}  // namespace
}  // namespace msrun::testing
