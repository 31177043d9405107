// What an H100 answered to samples of torch's operators in half types (torch 2.11), judged again on this host: sound
// results, of which none is accused but for the operators that are listed with the reason.
#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tests/support/torch_python.h"

namespace msrun::testing {
namespace {

const std::map<std::string, std::string>& accused() {
  static const std::map<std::string, std::string> names{
      {"Functional.hardswish", "torch took the other one-sided derivative at -3 before 2.8"},
      {"Functional.triplet_margin_loss", "the hinge is at 0 but for rounding: on which side, bfloat16 does not tell"},
      {"Tensor.__rpow__", "the exponent less 1, in bfloat16, is an integer: NaN becomes a number"},
      {"Torch.cov", "the float32 gradient of the weights passes through bfloat16 products"},
      {"Torch.digamma", "at a pole, where the slope is infinite"},
      {"Torch.div", "the quotient is rounded to bfloat16 before it is truncated"},
      {"Torch.logcumsumexp", "torch takes the gradient through logarithms, of which 9984 leaves no digit in bfloat16"},
      {"Torch.logspace", "its exponents are bfloat16 numbers"},
      {"Torch.matrix_exp", "torch gives NaN in bfloat16"},
  };
  return names;
}

// An executable for --python that answers with what was written down.
std::string player(const TemporaryDirectory& scratch) {
  const std::string path = scratch.file("python");
  std::ofstream(path) << "#!/bin/sh\nexec '" << torch_python() << "' -B '" << source_root()
                      << "/tests/gpu/answers_python.py' \"$@\"\n";
  fs::permissions(path, fs::perms::owner_all);
  return path;
}

class AcceleratorAnswers : public ::testing::TestWithParam<const char*> {};

TEST_P(AcceleratorAnswers, AreNotAccused) {
  if (!has_torch()) GTEST_SKIP() << torch_python() << " has no torch";
  const TemporaryDirectory scratch;
  const std::string folder = test_data("/h100_samples/") + GetParam();
  const Finished run = msrun({"-api_info", folder + "/recording/dump.json", "--backend", "torch:cuda", "--python",
                              player(scratch), "-n", "2", "-d", "0", "-o", scratch / "out", "--message-format", "json"},
                             scratch.path(), {"MSRUN_ANSWERS_FROM=" + folder + "/answers"});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::size_t skipped = 0;
  std::size_t checked = 0;
  std::istringstream events(run.out);
  for (std::string line; std::getline(events, line);) {
    const auto event = nlohmann::json::parse(line);
    if (event.at("type") != "api_result") continue;
    ++(event.at("forward") == "SKIP" ? skipped : checked);
    const std::string call = event.at("name");
    if (event.at("suspicious").get<bool>()) {
      EXPECT_TRUE(accused().contains(call.substr(0, call.rfind('.')))) << call << " is accused: " << line;
    }
  }
  // Were the questions put in other words, none would have an answer.
  EXPECT_EQ(skipped, 0U);
  EXPECT_GE(checked, 20U);
}

INSTANTIATE_TEST_SUITE_P(Of, AcceleratorAnswers, ::testing::Values("bfloat16", "float16"));

}  // namespace
}  // namespace msrun::testing
