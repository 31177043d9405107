// What an H100 and an H200 answered to samples of torch's operators, and torch's own kernels on a processor
// (torch 2.11), judged again on this host: sound results, of which none is accused but for the operators that are
// listed with the reason, and faults, all of which are.
#include <gmock/gmock.h>

#include <algorithm>
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

// Faults of torch's own kernels: whoever does not accuse them has let them pass.
const std::map<std::string, std::string>& faults() {
  static const std::map<std::string, std::string> names{
      {"h200_samples/cuda_float64/Functional.hardsigmoid", "float64 is multiplied by a sixth that is a float32 number"},
      {"h200_samples/cuda_float64/Functional.hardswish", "float64 is multiplied by a sixth that is a float32 number"},
      {"h200_samples/cpu_bfloat16/Torch.fmod", "NaN where the quotient exceeds float32, in loops of vectors only"},
      {"h200_samples/cpu_bfloat16/Torch.remainder", "NaN where the quotient exceeds float32, in loops of vectors only"},
  };
  return names;
}

struct Answers {
  const char* folder;  // of the recording and of what was answered
  const char* backend;
  std::size_t least;  // so many calls are checked
};

class AcceleratorAnswers : public ::testing::TestWithParam<Answers> {};

TEST_P(AcceleratorAnswers, AreNotAccused) {
  if (!has_torch()) GTEST_SKIP() << torch_python() << " has no torch";
  const TemporaryDirectory scratch;
  const std::string folder = test_data("/") + GetParam().folder;
  const Finished run = msrun({"-api_info", folder + "/recording/dump.json", "--backend", GetParam().backend, "--python",
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
    const std::string api = call.substr(0, call.rfind('.'));
    const bool is_fault = faults().contains(GetParam().folder + ("/" + api));
    const bool is_accused = event.at("suspicious").get<bool>();
    EXPECT_TRUE(is_accused || !is_fault) << call << " passes: " << line;
    EXPECT_TRUE(!is_accused || is_fault || accused().contains(api)) << call << " is accused: " << line;
  }
  // Were the questions put in other words, none would have an answer.
  EXPECT_EQ(skipped, 0U);
  EXPECT_GE(checked, GetParam().least);
}

INSTANTIATE_TEST_SUITE_P(Of, AcceleratorAnswers,
                         ::testing::Values(Answers{"h100_samples/bfloat16", "torch:cuda", 20},
                                           Answers{"h100_samples/float16", "torch:cuda", 20},
                                           Answers{"h200_samples/cuda_bfloat16", "torch:cuda", 8},
                                           Answers{"h200_samples/cuda_float16", "torch:cuda", 4},
                                           Answers{"h200_samples/cuda_float32", "torch:cuda", 1},
                                           Answers{"h200_samples/cuda_float64", "torch:cuda", 3},
                                           Answers{"h200_samples/cpu_bfloat16", "torch:cpu", 5},
                                           Answers{"h200_samples/cpu_float16", "torch:cpu", 2}),
                         [](const auto& instance) {
                           std::string name = instance.param.folder;
                           std::ranges::replace(name, '/', '_');
                           return name;
                         });

}  // namespace
}  // namespace msrun::testing
