// The report of run_overflow_check: bytes of its CSV file, order, counts.
#include "orchestrator/session/overflow_report.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"

namespace msrun {
namespace {

using Verdict = OverflowFinding::Verdict;
using testing::read_file;
using testing::TemporaryDirectory;

ApiResult finding(std::uint32_t task, Verdict verdict, bool bench, bool device) {
  ApiResult result;
  result.task = task;
  result.name = "Torch.mul." + std::to_string(task);
  result.device = 0;
  result.forward = Status::pass;
  result.message = "text";
  result.overflow = OverflowFinding{verdict, bench, device};
  return result;
}

class Events : public ProgressView {
 public:
  void run_started(const RunStarted&) override {}
  void api_result(const ApiResult& result) override { tasks.push_back(result.task); }
  void runner_died(const RunnerDied&) override {}
  void progress(const ProgressState&) override {}
  void run_finished(const RunFinished&) override {}
  std::vector<std::uint32_t> tasks;
};

TEST(OverflowRow, SaysBothSidesAndTheVerdict) {
  for (const bool compat : {false, true}) {
    const auto row = [&](const ApiResult& result) { return overflow_row(result, compat); };
    EXPECT_EQ(row(finding(0, Verdict::normal, true, true)), "Torch.mul.0,True,True,normal,text\r\n");
    EXPECT_EQ(row(finding(1, Verdict::abnormal, false, true)), "Torch.mul.1,False,True,abnormal,text\r\n");
    EXPECT_EQ(row(finding(2, Verdict::not_judged, false, false)), "Torch.mul.2, , ,skip,text\r\n");
    EXPECT_EQ(row(skip_result(3, "Torch.x.0", "a, \"b\"", Outcome::not_checkable)),
              "Torch.x.0, , ,skip,\"a, \"\"b\"\"\"\r\n");
  }
}

// Neither side overflows: msProbe calls it a normal overflow.
TEST(OverflowRow, SaysThatThereIsNoOverflow) {
  const ApiResult sound = finding(0, Verdict::normal, false, false);
  EXPECT_EQ(overflow_row(sound, false), "Torch.mul.0,False,False,no overflow,text\r\n");
  EXPECT_EQ(overflow_row(sound, true), "Torch.mul.0,False,False,normal,text\r\n");
}

TEST(OverflowReport, IsInDumpOrderWhateverTheOrderOfCompletion) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("overflow.csv");
  Events events;
  OverflowReport report(pytorch_dialect(), false, events, path);
  EXPECT_EQ(read_file(path), overflow_header());
  report.api_result(finding(2, Verdict::abnormal, false, true));
  EXPECT_EQ(read_file(path), overflow_header());
  report.api_result(finding(0, Verdict::normal, false, false));
  const std::string first = overflow_header() + "Torch.mul.0,False,False,no overflow,text\r\n";
  EXPECT_EQ(read_file(path), first);
  report.api_result(skip_result(1, "Torch.mul.1", "cannot", Outcome::not_checkable));
  const std::string three = first + "Torch.mul.1, , ,skip,cannot\r\nTorch.mul.2,False,True,abnormal,text\r\n";
  EXPECT_EQ(read_file(path), three);
  // Call 3 never comes.
  report.api_result(finding(4, Verdict::normal, true, true));
  EXPECT_EQ(read_file(path), three);
  report.flush();
  EXPECT_EQ(read_file(path), three + "Torch.mul.4,True,True,normal,text\r\n");
  EXPECT_EQ(report.counts().none, 1U);
  EXPECT_EQ(report.counts().normal, 1U);
  EXPECT_EQ(report.counts().abnormal, 1U);
  EXPECT_EQ(report.counts().skipped, 1U);
  EXPECT_EQ(events.tasks, (std::vector<std::uint32_t>{2, 0, 1, 4}));
}

// The file may be what has ended the run.
TEST(OverflowReport, CountsWhatStillWaitsWithoutTheFile) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("overflow.csv");
  Events events;
  OverflowReport report(pytorch_dialect(), false, events, path);
  std::vector<std::string> logged;
  report.log_with([&](const ApiResult& result) { logged.push_back(result.name); });
  report.api_result(finding(1, Verdict::abnormal, false, true));
  report.flush_to_log();
  EXPECT_EQ(logged, std::vector<std::string>{"Torch.mul.1"});
  EXPECT_EQ(report.counts().abnormal, 1U);
  EXPECT_EQ(read_file(path), overflow_header());
}

TEST(OverflowReport, OverwritesNothing) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("overflow.csv", "kept");
  Events events;
  EXPECT_THROW(OverflowReport(pytorch_dialect(), false, events, path), UserError);
  EXPECT_EQ(read_file(path), "kept");
}

}  // namespace
}  // namespace msrun
