// Programs and modules in the current folder: a run reads the folder that it is in, and executes nothing there.
#include <gmock/gmock.h>

#include <cstdlib>

#include "runner/workers/probe.h"
#include "runner/workers/worker_process.h"
#include "tests/support/torch_python.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

class HostileFolder : public Untouched {
 protected:
  // Everything here that Python or a shell might take for something else leaves a mark when it runs.
  HostileFolder() {
    const std::string python = "open('" + marker().string() + "', 'a').write(__file__ + '\\n')\n";
    for (const char* module : {"torch", "numpy", "importlib", "sitecustomize", "usercustomize", "json", "os", "site",
                               "encodings", "torch_npu", "mindspore", "struct", "ctypes"}) {
      write_file(scratch_ / (std::string(module) + ".py"), python);
      fs::create_directory(scratch_ / module);
      write_file(scratch_ / module / "__init__.py", python);
    }
    for (const char* program : {"python3", "python", "sh", "git", "msrun", "lscpu"}) {
      write_file(scratch_ / program, "#!/bin/sh\necho " + std::string(program) + " >> " + marker().string() + "\n");
      fs::permissions(scratch_ / program, fs::perms::owner_all);
    }
  }

  fs::path marker() const { return out() / "ran"; }

  // In that folder, which PATH and PYTHONPATH name without a word.
  Finished run_here(const std::vector<std::string>& words) {
    fs::create_directories(out());
    const fs::path before = fs::current_path();
    fs::current_path(scratch_.path());
    const char* given = std::getenv("PATH");
    const std::string path = given == nullptr ? "" : given;
    setenv("PATH", (":" + path).c_str(), 1);
    setenv("PYTHONPATH", ":", 1);
    const Finished finished = msrun(words, out());
    unsetenv("PYTHONPATH");
    setenv("PATH", path.c_str(), 1);
    fs::current_path(before);
    EXPECT_FALSE(fs::exists(marker())) << words[0] << ": " << read_file(marker());
    return finished;
  }
};

TEST_F(HostileFolder, RunsInNoRun) {
  const std::string recording = dump("llama_fp32").string();
  EXPECT_EQ(run_here({"-api_info", recording, "-o", out() / "sim", "--only", "Torch.matmul.0"}).exit_code, 0);
  EXPECT_EQ(run_here({"--list-apis"}).exit_code, 0);
  run_here({"--list-devices", "--backend", "torch:cpu"});
  if (!has_torch()) return;
  const Finished torch = run_here({"-api_info", recording, "-o", out() / "torch", "--only", "Torch.matmul.0",
                                   "--backend", "torch:cpu", "--python", torch_python()});
  EXPECT_EQ(torch.exit_code, 0) << torch.err;
}

TEST_F(HostileFolder, RunsInNoTool) {
  const std::string recording = dump("llama_fp32").string();
  const fs::path results = out() / "run";
  ASSERT_EQ(run_here({"-api_info", recording, "-o", results, "--sim-fault", "Torch.matmul.0=wrong-element"}).exit_code,
            0);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"journal", results},
           {"report", results},
           {"diff", results, results},
           {"merge", results, "-o", out() / "merged"},
           {"compare", "-tp", recording, "-gp", recording, "-o", out() / "compared"},
           {"shrink", "--api", "Torch.matmul.0", "-i", results, "-o", out() / "small", "--time", "2"}}) {
    run_here(words);
  }
}

// On a host with an NPU or a GPU Python is asked whether it has the framework.
TEST_F(HostileFolder, AnswersForNoPackage) {
  fs::create_directories(out());
  const fs::path before = fs::current_path();
  fs::current_path(scratch_.path());
  const std::string python = find_python(torch_python(), torch_framework);
  const bool found = finds_packages(python, torch_framework, "cpu");
  fs::current_path(before);
  EXPECT_EQ(found, has_torch());
  EXPECT_FALSE(fs::exists(marker())) << read_file(marker());
}

}  // namespace
}  // namespace msrun::testing
