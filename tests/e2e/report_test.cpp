// The HTML report of a run: when there is one, what becomes of it when something fails, and what msrun report makes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/msrun_process.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* prefix = "accuracy_checking_report";

std::vector<std::string> reports_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".html") names.push_back(entry.path().filename());
  }
  return names;
}

class ReportOfARun : public ::testing::Test {
 protected:
  fs::path out() const { return scratch_ / "out"; }

  Finished run(std::vector<std::string> more, const std::string& recording = "llama_fp32") {
    std::vector<std::string> words{"-api_info", dump(recording), "-n", "2", "-o", out(), "--backend", "sim"};
    words.insert(words.end(), more.begin(), more.end());
    return msrun(words, scratch_.path());
  }

  TemporaryDirectory scratch_;
};

TEST_F(ReportOfARun, LiesBesideTheCsvsAndIsMadeAgainWithTheSameBytes) {
  const Finished finished = run({"--only", "Torch.matmul.*", "--sim-fault", "Torch.matmul.0=hf32"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const fs::path report = only_file(out(), prefix);
  EXPECT_THAT(finished.out, HasSubstr("acc_check task report is saved in " + report.string()));
  // The name has the stamp of the others.
  const std::string result = only_file(out(), "accuracy_checking_result").stem();
  EXPECT_EQ(report.stem().string().substr(std::string(prefix).size()),
            result.substr(std::string("accuracy_checking_result").size()));
  const std::string page = read_file(report);
  EXPECT_THAT(page, HasSubstr("look at Torch.matmul.0 first: Inputs rounded to HF32"));
  EXPECT_THAT(page, HasSubstr("simulated device; no NPU or GPU was tested"));
  fs::remove(report);
  for (const fs::path& of :
       {out(), only_file(out(), "accuracy_checking_result"), only_file(out(), "accuracy_checking_2")}) {
    const Finished again = msrun({"report", of}, scratch_.path());
    ASSERT_EQ(again.exit_code, 0) << again.err;
    EXPECT_EQ(again.out, report.string() + "\n");
    EXPECT_EQ(read_file(report), page) << of;
    fs::remove(report);
  }
  EXPECT_EQ(msrun({"report", out(), "-o", "-"}, scratch_.path()).out, page);
}

TEST_F(ReportOfARun, IsNotWrittenWhereItIsNotWantedOrTheFilesAreAnotherTools) {
  ASSERT_EQ(run({"--only", "Torch.matmul.0", "--no-report"}).exit_code, 0);
  EXPECT_THAT(reports_in(out()), IsEmpty());
  fs::remove_all(out());
  ASSERT_EQ(run({"--only", "Torch.matmul.0", "--compat", "msprobe"}).exit_code, 0);
  EXPECT_THAT(reports_in(out()), IsEmpty());
  fs::remove_all(out());
  ASSERT_EQ(run({"--only", "Torch.matmul.0", "--compat", "msprobe", "--report"}).exit_code, 0);
  EXPECT_EQ(reports_in(out()).size(), 1U);
  EXPECT_EQ(run({"--report", "--no-report"}).exit_code, 2);
}

TEST_F(ReportOfARun, ThatWasInterruptedIsWrittenByTheRunThatGoesOn) {
  {
    Process running({"-api_info", dump("llama_fp32"), "-n", "2", "-o", out(), "--backend", "sim", "--sim-fault",
                     "Functional.silu.1=hang"},
                    scratch_.path());
    ASSERT_TRUE(eventually(
        60, [&] { return fs::exists(out()) && read_csv(csv_in(out(), "accuracy_checking_result")).size() > 5; }));
    running.signal(SIGKILL);
    running.wait();
  }
  EXPECT_THAT(reports_in(out()), IsEmpty());
  // What there is so far can be looked at.
  const Finished so_far = msrun({"report", out(), "-o", scratch_ / "so_far.html"}, scratch_.path());
  ASSERT_EQ(so_far.exit_code, 0) << so_far.err;
  EXPECT_THAT(read_file(scratch_ / "so_far.html"), HasSubstr("The run is not complete"));
  const Finished resumed = msrun({"-csv_path", csv_in(out(), "accuracy_checking_result")}, scratch_.path());
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  const std::string page = read_file(only_file(out(), prefix));
  EXPECT_THAT(page, Not(HasSubstr("The run is not complete")));
  EXPECT_THAT(page, HasSubstr("continued 1 time"));
}

TEST_F(ReportOfARun, TellsOfCallsThatFailedAndOfRetries) {
  ASSERT_EQ(run({"--only", "Torch.matmul.0,Torch.matmul.1,Functional.silu.0", "--sim-fault", "Torch.matmul.1=crash"})
                .exit_code,
            0);
  const std::string page = read_file(only_file(out(), prefix));
  EXPECT_THAT(page, HasSubstr("1 call failed to run."));
  EXPECT_THAT(page, HasSubstr("killed by signal 11 (SIGSEGV)"));
  EXPECT_THAT(page, HasSubstr("\"deaths\":[["));
}

TEST_F(ReportOfARun, ThatCannotBeWrittenIsAWarning) {
  // A folder has the name that the report is to have.
  ASSERT_EQ(run({"--only", "Torch.matmul.0,Torch.matmul.1"}).exit_code, 0);
  const fs::path report = only_file(out(), prefix);
  fs::remove(report);
  fs::create_directory(report);
  const std::string details = read_file(only_file(out(), "accuracy_checking_details"));
  const Finished again =
      msrun({"-csv_path", only_file(out(), "accuracy_checking_result"), "--summary"}, scratch_.path());
  EXPECT_EQ(again.exit_code, 0) << again.err;
  EXPECT_THAT(again.out + again.err, HasSubstr("No report is written"));
  EXPECT_EQ(read_file(only_file(out(), "accuracy_checking_details")), details);
}

TEST_F(ReportOfARun, ToBeSharedHasNoPaths) {
  ASSERT_EQ(run({"--only", "Torch.matmul.*,Functional.silu.*", "--sim-fault", "Torch.matmul.*=hf32", "--sim-fault",
                 "Functional.silu.0=crash"})
                .exit_code,
            0);
  const Finished made = msrun({"report", out(), "--share"}, scratch_.path());
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("_share.html"));
  const std::string shared = read_file(made.out.substr(0, made.out.size() - 1));
  EXPECT_THAT(shared, Not(HasSubstr(fs::path(dump("llama_fp32")).parent_path().string())));
  EXPECT_THAT(shared, Not(HasSubstr(scratch_.path().string())));
  EXPECT_THAT(shared, Not(HasSubstr(" … ")));
  EXPECT_THAT(shared, HasSubstr("Inputs rounded to HF32"));
}

TEST_F(ReportOfARun, IsRefusedForWhatIsNoRun) {
  EXPECT_EQ(msrun({"report"}, scratch_.path()).exit_code, 2);
  const Finished missing = msrun({"report", scratch_ / "nowhere"}, scratch_.path());
  EXPECT_EQ(missing.exit_code, 2);
  EXPECT_THAT(missing.err, HasSubstr("does not exist"));
  fs::create_directory(scratch_ / "empty");
  EXPECT_THAT(msrun({"report", scratch_ / "empty"}, scratch_.path()).err, HasSubstr("holds no journal of a run"));
  EXPECT_THAT(msrun({"report", dump("llama_fp32")}, scratch_.path()).err, HasSubstr("is not named like"));
}

}  // namespace
}  // namespace msrun::testing
