// Programs that are started by others who ignore signals, as some service managers, shells and interpreters do.
#include <gmock/gmock.h>

#include "tests/support/test_paths.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

// The command, after that line of a shell.
std::vector<std::string> after(const std::string& line, const std::string& program,
                               const std::vector<std::string>& words) {
  std::vector<std::string> all{"-c", line + "; exec \"$0\" \"$@\"", programs() + "/" + program};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

class InheritedSignals : public Untouched {
 protected:
  Finished run(const std::vector<std::string>& words) const {
    Process shell(words, scratch_.path(), {}, "/bin/bash");
    EXPECT_TRUE(eventually(60, [&] { return !shell.running(); })) << "it hangs";
    if (shell.running()) shell.signal(SIGKILL);
    return shell.wait();
  }
};

// The kernel then reaps children by itself, and nobody would learn of the ends of runners.
TEST_F(InheritedSignals, ARunEndsWhereSigchldWasIgnored) {
  const Finished finished =
      run(after("trap '' CHLD", "msrun", {"-api_info", dump("cnn_fp32"), "-n", "2", "-d", "0", "1", "-o", out()}));
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_EQ(read_csv(only_file(out(), "accuracy_checking_result_")).size(), 51U);
}

// The first call of a run ends its process: that is seen and told.
TEST_F(InheritedSignals, DeathsAreSeenWhereSigchldWasIgnored) {
  const Finished finished = run(after("trap '' CHLD", "msrun",
                                      {"-api_info", dump("cnn_fp32"), "-n", "1", "-o", out(), "--retries", "0",
                                       "--sim-fault", "Functional.relu.0=crash"}));
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_THAT(read_file(only_file(out(), "accuracy_checking_result_")), HasSubstr("SIGSEGV"));
}

}  // namespace
}  // namespace msrun::testing
