// What tests of op_generate share: the program run in a folder of its own, dumps of one call, Python.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tests/support/torch_python.h"

namespace msrun::op_generate {

namespace fs = std::filesystem;

// "'...'", for a shell.
inline std::string shell(const fs::path& path) { return "'" + path.string() + "'"; }

// Runs a command of the shell with a deadline in a folder and returns its exit code; both streams go to `output`.
inline int run_shell(const fs::path& folder, const std::string& command, const fs::path& output) {
  const std::string whole = "cd " + shell(folder) + " && timeout 240 " + command + " > " + shell(output) + " 2>&1";
  const int status = std::system(whole.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class OpGenerateTest : public ::testing::Test {
 protected:
  testing::Finished run(const std::vector<std::string>& words) const {
    return testing::run_tool("op_generate", words, scratch_.path());
  }

  // A tensor as a dump of statistics describes it.
  static std::string tensor(const std::string& dtype, const std::string& shape, const std::string& max,
                            const std::string& min, bool requires_grad = false) {
    return R"({"type": "torch.Tensor", "dtype": "torch.)" + dtype + R"(", "shape": )" + shape + R"(, "Max": )" + max +
           R"(, "Min": )" + min + R"(, "requires_grad": )" + (requires_grad ? "true" : "false") + "}";
  }

  static std::string forward(const std::string& args, const std::string& kwargs = "{}") {
    return R"({"input_args": [)" + args + R"(], "input_kwargs": )" + kwargs + R"(, "output": []})";
  }

  // Writes an extraction of these members.
  std::string extraction(const std::string& members) const { return scratch_.write("call.json", "{" + members + "}"); }

  // Writes a configuration for it.
  std::string configuration(const std::string& more = "") const {
    return scratch_.write("config_op.json",
                          R"({"extract_api_path": ")" + scratch_.file("call.json") + "\"" + more + "}");
  }

  // What the program says of a configuration that it cannot use.
  std::string refusal(const std::string& config) const {
    const testing::Finished finished = run({"-i", config, "-o", scratch_.file("out")});
    EXPECT_EQ(finished.exit_code, 2) << finished.out;
    const std::string prefix = "op_generate: ";
    EXPECT_TRUE(finished.err.starts_with(prefix)) << finished.err;
    return finished.err.substr(std::min(prefix.size(), finished.err.size()));
  }

  // Runs a program text or file with the Python that has torch.
  int python(const std::string& arguments, const fs::path& output) const {
    return run_shell(scratch_.path(), testing::torch_python() + " " + arguments, output);
  }

  const testing::TemporaryDirectory scratch_;
};

}  // namespace msrun::op_generate
