// Every write, sync and rename below the output directory fails once, one after the other: no finished result is lost,
// no CSV is half-written, and the run can be continued to the files of an undisturbed one.
#include <gmock/gmock.h>

#include <cerrno>

#include "tests/support/msrun_process.h"

namespace msrun::testing {
namespace {

using ::testing::AnyOf;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

std::vector<std::string> arguments(const fs::path& out) {
  // Without power durability there is no sync that could fail.
  return {"-api_info", dump("npu_fused_synth_fp32"), "-n", "1", "--durability", "power", "-o", out};
}

TEST(Faults, EveryOperationOnAFileFailsOnce) {
  if (sanitized) GTEST_SKIP() << "a sanitizer must be the first library that is loaded";
  const TemporaryDirectory scratch;
  ASSERT_EQ(msrun(arguments(scratch / "calm"), scratch.path()).exit_code, 0);
  const std::string result = read_file(csv_in(scratch / "calm", "accuracy_checking_result_"));
  const std::string details = read_file(csv_in(scratch / "calm", "accuracy_checking_details_"));
  int failed = 0;
  for (int at = 1;; ++at) {
    SCOPED_TRACE("operation " + std::to_string(at));
    const fs::path out = scratch / ("out" + std::to_string(at));
    const fs::path mark = scratch / ("mark" + std::to_string(at));
    const Finished run = msrun(arguments(out), scratch.path(),
                               {std::string("LD_PRELOAD=") + FAILING_FILES, "MSRUN_FAIL_DIR=" + out.string(),
                                "MSRUN_FAIL_AT=" + std::to_string(at), "MSRUN_FAIL_MARK=" + mark.string(),
                                "MSRUN_FAIL_ERRNO=" + std::to_string(at % 2 == 0 ? ENOSPC : EIO)});
    if (!fs::exists(mark)) {
      EXPECT_EQ(run.exit_code, 0);
      break;
    }
    ++failed;
    // 2: nothing had begun; 3: to be continued; 0: it was mended on the way.
    ASSERT_THAT(run.exit_code, AnyOf(0, 2, 3)) << run.out << run.err;
    const fs::path csv = csv_in(out, "accuracy_checking_result_");
    if (run.exit_code == 2) {
      EXPECT_TRUE(csv.empty()) << "a file of a run that never began";
      continue;
    }
    for (const char* prefix : {"accuracy_checking_result_", "accuracy_checking_details_"}) {
      const std::string text = read_file(csv_in(out, prefix));
      EXPECT_TRUE(text.ends_with("\r\n")) << prefix << " ends in the middle of a row";
    }
    if (run.exit_code == 3) {
      std::vector<std::string> again = arguments(out);
      again.insert(again.end(), {"-csv_path", csv});
      const Finished resumed = msrun(again, scratch.path());
      EXPECT_EQ(resumed.exit_code, 0) << resumed.out << resumed.err;
    }
    EXPECT_EQ(read_file(csv_in(out, "accuracy_checking_result_")), result);
    EXPECT_EQ(read_file(csv_in(out, "accuracy_checking_details_")), details);
    for (const fs::directory_entry& file : fs::directory_iterator(out)) {
      EXPECT_THAT(file.path().extension().string(), AnyOf(".csv", ".journal"));
    }
    if (HasFailure()) break;
    fs::remove_all(out);
  }
  EXPECT_GT(failed, 10);
}

}  // namespace
}  // namespace msrun::testing
