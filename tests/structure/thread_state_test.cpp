// What a function does depends on its parameters and on what it is a member of, and not on what the thread that calls
// it has set somewhere else. Files with state of a thread are listed with the reason why they need it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

struct Exception {
  std::size_t declarations;  // of state of a thread in the file
  const char* reason;
};

const std::map<std::string, Exception>& exceptions() {
  static const std::map<std::string, Exception> listed{
      {"kernels/base/parallel.cpp", {2, "which work a thread is at, so that pieces of work are not split once more"}},
      {"kernels/tensor/work.cpp", {1, "the account of the work of the call that the thread evaluates"}},
      {"kernels/tensor/memory.cpp", {3, "the account of the memory of the call that the thread evaluates"}},
      {"kernels/tensor/convert.cpp", {1, "whether stores are cut toward zero; moves to EvaluationContext"}},
      {"kernels/numeric/gemm.cpp", {4, "buffers that are used again by the next product of the thread"}},
      {"runner/device/device_wait.cpp", {1, "what a thread gives back while it waits for its device"}},
      {"runner/device/reply.cpp", {1, "to whom a thread says why its runner ends"}},
  };
  return listed;
}

std::size_t declarations_of_thread_state(const fs::path& file) {
  std::ifstream text(file);
  std::size_t count = 0;
  for (std::string line; std::getline(text, line);) {
    const std::string code = line.substr(0, line.find("//"));
    if (code.find("thread_local") != std::string::npos || code.find("__thread") != std::string::npos) ++count;
  }
  return count;
}

// The files below the folders of a tree that have other state of a thread than is listed, relative to it.
std::vector<std::string> unlisted(const fs::path& root, const std::vector<std::string>& folders,
                                  const std::map<std::string, Exception>& listed) {
  std::vector<std::string> found;
  for (const std::string& folder : folders) {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".cpp" && entry.path().extension() != ".h") continue;
      const std::string file = entry.path().lexically_relative(root).string();
      const auto exception = listed.find(file);
      const std::size_t allowed = exception == listed.end() ? 0 : exception->second.declarations;
      if (declarations_of_thread_state(entry.path()) > allowed) found.push_back(file);
    }
  }
  return found;
}

TEST(ThreadState, IsListedWithItsReason) {
  EXPECT_THAT(unlisted(source_root(), {"journal", "kernels", "orchestrator", "runner", "tools"}, exceptions()),
              IsEmpty());
}

TEST(ThreadState, IsThereWhereItIsListed) {
  for (const auto& [file, exception] : exceptions())
    EXPECT_EQ(declarations_of_thread_state(std::filesystem::path(source_root()) / file), exception.declarations)
        << file;
}

TEST(ThreadState, IsFoundWhereItIsNotListed) {
  const TemporaryDirectory scratch;
  const auto write = [&](const char* name, const char* text) { std::ofstream(scratch / name) << text; };
  fs::create_directory(scratch / "room");
  write("room/plain.cpp", "// No thread_local here.\nint x = 0;\n");
  write("room/listed.cpp", "thread_local int account;\n");
  write("room/scope.cpp", "namespace {\nthread_local Scope* current = nullptr;\n}\n");
  EXPECT_THAT(unlisted(scratch.path(), {"room"}, {{"room/listed.cpp", {1, "an account"}}}),
              ElementsAre("room/scope.cpp"));
}

}  // namespace
}  // namespace msrun::testing
