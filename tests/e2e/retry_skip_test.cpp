// --retry-skip: calls that were SKIP run again when a run is continued.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/support/test_paths.h"
#include "tests/support/unfinished.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RetrySkip : public Unfinished {
 protected:
  // silu crashes, matmul is skipped by rule.
  fs::path run_with_skips() {
    write_file(config(), R"({"acc_check": {"black_list": ["matmul"]}})");
    const Finished finished = msrun({"-api_info", dump("llama_bf16"), "-config", config(), "-n", "2", "-o", out(),
                                     "--retries", "0", "--sim-fault", "Functional.silu.*=crash"},
                                    scratch_.path());
    EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
    return only_file(out(), "accuracy_checking_result_");
  }
  static std::vector<std::string> skipped(const fs::path& result) {
    std::vector<std::string> calls;
    for (const auto& row : read_csv(result)) {
      if (row[1] == "SKIP" || row[2] == "SKIP") calls.push_back(row[0]);
    }
    return calls;
  }
  fs::path config() const { return scratch_ / "config.json"; }
};

TEST_F(RetrySkip, RunsThemAgainAsIfTheyHadRunAtFirst) {
  const fs::path result = run_with_skips();
  ASSERT_THAT(skipped(result), ::testing::Contains("Functional.silu.0"));
  const Finished again = resume(result, {"-config", config(), "--retry-skip"});
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
  EXPECT_THAT(again.out, HasSubstr("--retry-skip: 2 calls that were SKIP run again."));
  for (const std::string& call : skipped(result)) EXPECT_THAT(call, HasSubstr("matmul"));
  EXPECT_FALSE(skipped(result).empty()) << "those skipped by rule stay";
  expect_as_if_undisturbed({"-config", config()});
  // The later records are the ones that count from now on.
  EXPECT_EQ(resume(result, {"-config", config()}).exit_code, 0);
  expect_as_if_undisturbed({"-config", config()});
}

TEST_F(RetrySkip, LeavesThemAsTheyAreOtherwise) {
  const fs::path result = run_with_skips();
  const std::string before = read_file(result);
  EXPECT_EQ(resume(result, {"-config", config()}).exit_code, 0);
  EXPECT_EQ(read_file(result), before);
}

TEST_F(RetrySkip, ThatFailsAgainStaysSkip) {
  const fs::path result = run_with_skips();
  const std::string before = read_file(result);
  const Finished again =
      resume(result, {"-config", config(), "--retry-skip", "--retries", "0", "--sim-fault", "Functional.silu.*=crash"});
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(read_file(result), before);
}

// What ran again before the kill counts, what did not is SKIP as before.
TEST_F(RetrySkip, KilledMidwayLosesNothing) {
  const fs::path result = run_with_skips();
  const auto is_skip = [&](const std::string& call) {
    const std::vector<std::string> calls = skipped(result);
    return std::find(calls.begin(), calls.end(), call) != calls.end();
  };
  Process run({"-api_info", dump("llama_bf16"), "-csv_path", result, "-config", config(), "--retry-skip", "-n", "2",
               "--sim-fault", "Functional.silu.1=hang"},
              scratch_.path());
  EXPECT_TRUE(eventually(20, [&] {
    const Rows rows = read_csv(result);  // once: the file is replaced meanwhile
    return std::any_of(rows.begin(), rows.end(),
                       [](const auto& row) { return row.at(0) == "Functional.silu.0" && row.at(1) != "SKIP"; });
  }));
  run.signal(SIGKILL);
  run.wait();
  EXPECT_EQ(resume(result, {"-config", config()}).exit_code, 0);
  EXPECT_FALSE(is_skip("Functional.silu.0"));
  EXPECT_TRUE(is_skip("Functional.silu.1"));
  EXPECT_EQ(resume(result, {"-config", config(), "--retry-skip"}).exit_code, 0);
  expect_as_if_undisturbed({"-config", config()});
}

TEST_F(RetrySkip, TakesSkipsOfImportedCsvsToo) {
  const fs::path result = run_with_skips();
  fs::remove(journal());
  const Finished again = resume(result, {"-config", config(), "--retry-skip"});
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
  expect_as_if_undisturbed({"-config", config()});
}

TEST_F(RetrySkip, IsForTheMergedRunAndNotForLeasesThatAreDone) {
  const std::vector<std::string> words{"-api_info", dump("llama_bf16"), "-o",
                                       out(),       "--steal",          "--retries",
                                       "0",         "--sim-fault",      "Functional.silu.*=crash"};
  ASSERT_EQ(msrun(words, scratch_.path()).exit_code, 0);
  const fs::path result = only_file(out(), "accuracy_checking_result_");
  const auto before = snapshot(out());
  const Finished refused = msrun({"-csv_path", result, "--retry-skip"}, scratch_.path());
  EXPECT_EQ(refused.exit_code, 2) << refused.out;
  EXPECT_THAT(refused.err, HasSubstr("--retry-skip does not go with --steal"));
  EXPECT_EQ(snapshot(out()), before);

  const fs::path merged = scratch_ / "merged";
  ASSERT_EQ(msrun({"merge", out(), "-o", merged}, scratch_.path()).exit_code, 0);
  const fs::path whole = only_file(merged, "accuracy_checking_result_");
  ASSERT_THAT(skipped(whole), ::testing::Contains("Functional.silu.0"));
  const Finished again = msrun({"-csv_path", whole, "--retry-skip"}, scratch_.path());
  EXPECT_EQ(again.exit_code, 0) << again.out << again.err;
  EXPECT_THAT(skipped(whole), Not(::testing::Contains("Functional.silu.0")));
}

TEST_F(RetrySkip, NeedsARunToContinue) {
  const Finished finished = msrun({"-api_info", dump("llama_bf16"), "--retry-skip", "-o", out()}, scratch_.path());
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_THAT(finished.err, HasSubstr("--retry-skip needs -csv_path"));
  EXPECT_FALSE(fs::exists(out()));
}

}  // namespace
}  // namespace msrun::testing
