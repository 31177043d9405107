// What tests of op_generate share: the program run in a folder of its own, dumps of one call, Python and the scripts.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tests/support/torch_python.h"
#include "tests/tools/script_server.h"

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

  // Runs a script, the first of the words, with the Python that has torch, within 240 s. Its exit code.
  int python(const std::vector<std::string>& words, const fs::path& output) const {
    return testing::ScriptServer::instance().run(scratch_.path(), words, output, 240);
  }

  const testing::TemporaryDirectory scratch_;
};

inline std::string tests_folder() { return testing::source_root() + "/tests/tools"; }

// Generates scripts and runs them.
class OpGenerateScript : public OpGenerateTest {
 protected:
  void SetUp() override {
    if (!testing::has_torch()) GTEST_SKIP() << "there is no Python with torch here";
  }

  // Generates a script from the extraction that was written, and runs it. What it prints, both streams.
  std::string script_output(const std::string& key, const std::string& more = "",
                            const std::string& options = "--device cpu", int exit_code = 0) const {
    const testing::Finished finished = run({"-i", configuration(more), "-o", scratch_.file("out")});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    std::vector<std::string> words{scratch_ / "out" / (key + ".py")};
    std::istringstream rest(options);
    for (std::string word; rest >> word;) words.push_back(word);
    const int code = python(words, scratch_ / "printed");
    EXPECT_EQ(code, exit_code) << testing::read_file(scratch_ / "printed");
    return testing::read_file(scratch_ / "printed");
  }

  // Every script in the folder.
  static std::vector<std::string> scripts_in(const fs::path& folder) {
    std::vector<std::string> scripts;
    for (const auto& entry : fs::directory_iterator(folder)) {
      if (entry.path().extension() == ".py") scripts.push_back(entry.path());
    }
    return scripts;
  }

  void expect_no_lint(const std::vector<std::string>& scripts) const {
    std::string command = testing::torch_python() + " -m pyflakes";
    for (const std::string& script : scripts) command += " " + shell(script);
    EXPECT_EQ(run_shell(scratch_.path(), command, scratch_ / "lint"), 0) << testing::read_file(scratch_ / "lint");
  }
};

}  // namespace msrun::op_generate
