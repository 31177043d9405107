// The report of a run that is complete.
#include "orchestrator/session/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "journal/error.h"
#include "tests/support/temporary_directory.h"

namespace msrun {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The folder is held open, and reached by a path that means nothing to anybody else.
TEST(RunReport, AJournalThatCannotBeReadHasItsPath) {
  const testing::TemporaryDirectory scratch;
  RunFiles files = run_files(scratch.path().string(), "20260101000000");
  try {
    report_of_run(Folder(scratch.path().string()), files);
    FAIL();
  } catch (const journal::Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(files.journal + ": cannot open"));
    EXPECT_THAT(error.what(), Not(HasSubstr("/proc/")));
  }
}

}  // namespace
}  // namespace msrun
