// Runs with a sampled benchmark: on sound recordings the verdicts of the whole one, on faulty ones never a pass where
// that is suspicious, and the same bytes however a run goes.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "runner/device/sim/faults.h"
#include "tests/support/unfinished.h"

namespace msrun::testing {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

class SampledRun : public Unfinished {
 protected:
  // The details row of each name: Status and Message.
  struct Row {
    std::string status;
    std::string message;
    bool is_suspicious() const { return message.find("Not explained by rounding") != std::string::npos; }
  };
  struct Run {
    std::map<std::string, Row> rows;
    std::string details;
    std::string result;
  };

  Run run(const std::string& recording, const std::vector<std::string>& more, const std::string& threads = "2") {
    const fs::path directory = scratch_ / ("run" + std::to_string(++runs_));
    std::vector<std::string> words{"-api_info", dump(recording), "-n", threads, "--backend", "sim", "-o", directory};
    words.insert(words.end(), more.begin(), more.end());
    const Finished finished = msrun(words, scratch_.path());
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    Run result;
    const fs::path details = only_file(directory, "accuracy_checking_details_");
    for (const auto& row : read_csv(details)) result.rows[row.at(0)] = {row.at(21), row.at(22)};
    result.details = read_file(details);
    result.result = read_file(only_file(directory, "accuracy_checking_result_"));
    return result;
  }

  static std::vector<std::string> with(std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  static std::size_t sampled_rows(const Run& run) {
    return static_cast<std::size_t>(std::ranges::count_if(
        run.rows, [](const auto& row) { return row.second.message.find("Sampled: ") != std::string::npos; }));
  }

 private:
  int runs_ = 0;
};

const std::vector<std::string> sampled{"--benchmark", "sampled=0"};

TEST_F(SampledRun, OfSoundRecordingsHasTheVerdictsOfTheWholeBenchmark) {
  for (const std::string recording : {"llama_bf16", "llama_fp32", "vit_fp32", "unet_fp32"}) {
    const Run whole = run(recording, {});
    const Run part = run(recording, sampled);
    ASSERT_EQ(part.rows.size(), whole.rows.size());
    EXPECT_EQ(sampled_rows(whole), 0U);
    EXPECT_GT(sampled_rows(part), 5U) << recording;
    for (const auto& [name, row] : part.rows) {
      EXPECT_EQ(row.status, whole.rows.at(name).status) << recording << " " << name << " " << row.message;
      EXPECT_FALSE(row.is_suspicious()) << recording << " " << name;
    }
  }
}

TEST_F(SampledRun, NeverPassesWhatTheWholeBenchmarkAccuses) {
  // A few of each kind: accusing a call takes as long as thirty evaluations of it.
  const std::vector<std::string> products{"--only", "Torch.matmul.0,Functional.linear.0,Functional.conv2d.2"};
  std::size_t accused = 0;
  std::size_t turn = 0;
  for (const std::string recording : {"llama_fp32", "llama_bf16", "unet_fp32"}) {
    ++turn;
    for (const SimFaultKind& kind : sim_fault_kinds()) {
      // Each kind with one of the recordings.
      if (kind.kind >= SimFault::Kind::slow || ++turn % 3 != 0) continue;
      const std::string parameter = kind.kind == SimFault::Kind::scaled            ? "=1.001"
                                    : kind.kind == SimFault::Kind::wrong_core      ? "=3/8"
                                    : kind.kind == SimFault::Kind::wrong_on_device ? "=0"
                                                                                   : "";
      const std::vector<std::string> words = with(products, {"--sim-fault", "*=" + std::string(kind.name) + parameter});
      const Run whole = run(recording, words);
      const Run part = run(recording, with(words, sampled));
      for (const auto& [name, row] : whole.rows) {
        if (!row.is_suspicious()) continue;
        ++accused;
        EXPECT_EQ(part.rows.at(name).message, row.message) << recording << " " << kind.name << " " << name;
        EXPECT_EQ(part.rows.at(name).status, row.status) << recording << " " << kind.name << " " << name;
      }
    }
  }
  EXPECT_GT(accused, 40U);
}

TEST_F(SampledRun, ThreadsChangeNothing) {
  const Run one = run("llama_bf16", sampled, "1");
  EXPECT_EQ(one.details, run("llama_bf16", sampled, "4").details);
}

TEST_F(SampledRun, GoesOnWhereItWasKilled) {
  const fs::path result = killed_run(sampled);
  const Finished finished = resume(result);
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  expect_as_if_undisturbed(sampled);
}

TEST_F(SampledRun, IsNoneWithTheWholeBenchmark) {
  ASSERT_EQ(
      msrun({"-api_info", dump("llama_bf16"), "--only", "Torch.matmul.0", "-o", out()}, scratch_.path()).exit_code, 0);
  const fs::path result = only_file(out(), "accuracy_checking_result_");
  const Finished other = resume(result, sampled);
  EXPECT_EQ(other.exit_code, 2);
  EXPECT_THAT(other.err, AllOf(HasSubstr("benchmark"), HasSubstr("\"full\" then"), HasSubstr("\"sampled=0.0\" now")));
}

TEST_F(SampledRun, IsToldWhereverItMatters) {
  const std::vector<std::string> run{"-api_info", dump("llama_bf16"), "--benchmark", "sampled"};
  const Finished dry = msrun(with(run, {"--dry-run"}), scratch_.path());
  EXPECT_THAT(dry.out, HasSubstr("(--benchmark sampled)"));
  const Finished machine = msrun(with(run, {"--dry-run", "--message-format", "json"}), scratch_.path());
  EXPECT_EQ(json::parse(machine.out)["benchmark"], "sampled");
  ASSERT_EQ(msrun(with(run, {"--only", "Torch.matmul.0", "-o", out()}), scratch_.path()).exit_code, 0);
  EXPECT_THAT(msrun({"journal", only_file(out(), "accuracy_checking_result_")}, scratch_.path()).out,
              HasSubstr("benchmark sampled"));
  EXPECT_THAT(read_file(only_file(out(), "accuracy_checking_report_")), HasSubstr("benchmark sampled"));
}

TEST_F(SampledRun, IsRefusedWhereItCannotBe) {
  const std::vector<std::string> run{"-api_info", dump("llama_bf16"), "-o", out(), "--benchmark"};
  expect_refused(with(run, {"half"}), {"--benchmark must be one of full, sampled, sampled=N", "not half"});
  expect_refused(with(run, {"sampled=-1"}), {"not sampled=-1"});
  expect_refused(with(run, {"sampled", "--compat", "msprobe"}), {"does not go with --compat msprobe"});
  expect_refused(with(run, {"sampled", "--layout", "att"}), {"does not go with --layout att"});
}

}  // namespace
}  // namespace msrun::testing
