// Memory that calls have freed serves later ones: what was in it never shows in a result, and what is kept of it stays
// within --memory.
#include <sys/prctl.h>

#include <string>

#include "tests/support/sanitized.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

class UsedAgainMemory : public Untouched {
 protected:
  // Both CSVs of a run.
  std::string results_of(const std::string& recording, const std::vector<std::string>& more,
                         const std::vector<std::string>& environment) {
    const fs::path directory = scratch_ / ("run" + std::to_string(++runs_));
    std::vector<std::string> words{"-api_info", dump(recording), "--backend", "sim", "-o", directory};
    words.insert(words.end(), more.begin(), more.end());
    const Finished run = msrun(words, scratch_.path(), environment);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return read_file(only_file(directory, "accuracy_checking_details_")) +
           read_file(only_file(directory, "accuracy_checking_result_"));
  }

 private:
  int runs_ = 0;
};

// Programs that are started while it lives get no huge pages.
class NoHugePages {
 public:
  NoHugePages() { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }
  ~NoHugePages() { prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0); }
  NoHugePages(const NoHugePages&) = delete;
  NoHugePages& operator=(const NoHugePages&) = delete;
};

TEST_F(UsedAgainMemory, NeverShowsInResults) {
  for (const std::string recording : {"llama_bf16", "cnn_fp32", "unet_fp32", "moe_bf16", "zoo_stat"}) {
    const std::string expected = results_of(recording, {"-n", "2"}, {});
    EXPECT_EQ(results_of(recording, {"-n", "2"}, {"MSRUN_POISON_MEMORY=1"}), expected) << recording;
    EXPECT_EQ(results_of(recording, {"-n", "1"}, {"MSRUN_POISON_MEMORY=1"}), expected) << recording;
    const NoHugePages none;
    EXPECT_EQ(results_of(recording, {"-n", "3"}, {}), expected) << recording;
  }
}

// Calls of many sizes: all that they free kept together would take more.
TEST_F(UsedAgainMemory, IsPartOfTheLimit) {
  std::string calls;
  for (int i = 0; i < 24; ++i) {
    calls += (i == 0 ? "" : ", ") + std::string("\"Functional.relu.") + std::to_string(i) +
             R"(.forward": {"input_args": [{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [)" +
             std::to_string(1'000'000 + i * 171'000) +
             R"(], "Max": 1.0, "Min": -1.0, "requires_grad": false}], "input_kwargs": {}, "output": []})";
  }
  const Finished run =
      msrun({"-api_info", write_dump(dump_text(calls)), "--backend", "sim", "-n", "2", "--memory", "200M", "-o", out()},
            scratch_.path());
  EXPECT_EQ(run.exit_code, 0) << run.err;
  if (!sanitized) {
    EXPECT_LE(run.peak, std::uint64_t{200} << 20);
  }
  const Rows rows = read_csv(only_file(out(), "accuracy_checking_result_"));
  ASSERT_EQ(rows.size(), 25U);
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_EQ(rows[i].at(1), "pass") << rows[i].back();
}

}  // namespace
}  // namespace msrun::testing
