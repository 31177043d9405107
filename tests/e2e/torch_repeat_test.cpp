// --repeat and --same-on-all on the torch backend: a torch whose relu is wrong now and then, and one that is sound.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tests/support/torch_python.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class TorchRepeat : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_torch()) GTEST_SKIP() << torch_python() << " has no torch";
  }

  // The calls of relu in a recording on a torch with that fault of it (unsteady_python.py); without one, a sound torch.
  Finished run(const std::string& fault, const std::vector<std::string>& more,
               const std::vector<std::string>& environment = {}) {
    std::string python = torch_python();
    if (!fault.empty()) {
      python = scratch_.write("python", "#!/bin/sh\nexec " + torch_python() + " '" + source_root() +
                                            "/tests/e2e/torch/unsteady_python.py' \"$@\"\n");
      chmod(python.c_str(), 0755);
    }
    std::vector<std::string> words{"-api_info", dump("cnn_fp32"), "-o",        scratch_ / "out",
                                   "--only",    "*.relu*",        "--backend", "torch:cpu",
                                   "--python",  python,           "--fail-on", "unsteady"};
    words.insert(words.end(), more.begin(), more.end());
    std::vector<std::string> variables = environment;
    variables.push_back("MSRUN_TEST_FAULT=" + fault);
    return msrun(words, scratch_.path(), variables);
  }

  Rows rows() const { return read_csv(only_file(scratch_ / "out", "accuracy_checking_result_")); }

  TemporaryDirectory scratch_;
};

TEST_F(TorchRepeat, ASoundTorchIsSteadyAndTheSameOnAllDevices) {
  const Finished finished = run("", {"--repeat", "3", "-d", "0", "1", "2", "--same-on-all"});
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  ASSERT_GT(rows().size(), 1U);
  for (const auto& row : rows()) EXPECT_THAT(row.back(), Not(HasSubstr("Suspicious"))) << row[0];
}

TEST_F(TorchRepeat, ARunThatDiffersIsNamed) {
  const Finished finished = run("third", {"--repeat", "3"});
  EXPECT_EQ(finished.exit_code, 1) << finished.out << finished.err;
  for (const auto& row : rows()) {
    if (!row[0].starts_with("Functional.relu.")) continue;
    EXPECT_THAT(row.back(), HasSubstr("1 of 3 runs gave other bits than the rest (forward.output.0)")) << row[0];
  }
}

TEST_F(TorchRepeat, TheDeviceThatDiffersIsNamed) {
  const Finished finished = run("once", {"-n", "3", "-d", "0", "1", "2", "--same-on-all"},
                                {"MSRUN_TEST_ONCE=" + (scratch_ / "once").string()});
  EXPECT_EQ(finished.exit_code, 1) << finished.out << finished.err;
  int named = 0;
  for (const auto& row : rows()) named += row.back().find(" differs from devices ") == std::string::npos ? 0 : 1;
  EXPECT_EQ(named, 1);
}

}  // namespace
}  // namespace msrun::testing
