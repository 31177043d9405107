// torch's own samples of its operators, every floating argument with a gradient, on torch:cpu: what torch computes in
// float32 is accused of nothing, but for the operators that are listed with the reason.
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <cstdlib>
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
      {"Torch.linalg.householder_product", "torch undoes the reflectors by their inverses, which loses digits"},
  };
  return names;
}

TEST(TorchSamples, AreNotAccused) {
  if (!has_torch()) GTEST_SKIP() << torch_python() << " has no torch";
  const TemporaryDirectory scratch;
  const std::string command = torch_python() + " -B '" + source_root() + "/tests/e2e/torch/sample_dump.py' float32 '" +
                              scratch.file("samples") + "' 8 1 > '" + scratch.file("said") + "' 2>&1";
  const int status = std::system(command.c_str());
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << read_file(scratch.file("said"));
  ASSERT_EQ(status, 0) << read_file(scratch.file("said"));
  const Finished run = msrun({"-api_info", scratch / "samples" / "dump.json", "--backend", "torch:cpu", "--python",
                              torch_python(), "-n", "2", "-d", "0", "-o", scratch / "out", "--message-format", "json"},
                             scratch.path());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  std::size_t checked = 0;
  std::istringstream events(run.out);
  for (std::string line; std::getline(events, line);) {
    const auto event = nlohmann::json::parse(line);
    if (event.at("type") != "api_result") continue;
    checked += event.at("forward") == "SKIP" ? 0 : 1;
    const std::string call = event.at("name");
    if (event.at("suspicious").get<bool>()) {
      EXPECT_TRUE(accused().contains(call.substr(0, call.rfind('.')))) << call << " is accused: " << line;
    }
  }
  EXPECT_GE(checked, 2000U);
}

}  // namespace
}  // namespace msrun::testing
