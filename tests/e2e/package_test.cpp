// The archive that cpack makes holds all that the program needs but glibc, and runs wherever it is unpacked.
#include <gmock/gmock.h>

#include <cstdlib>
#include <sstream>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

bool has(const std::string& program) { return std::system(("command -v " + program + " >/dev/null").c_str()) == 0; }

TEST(Package, ArchiveRunsWithItsOwnLibraries) {
  if (!has("patchelf")) GTEST_SKIP() << "there is no patchelf, which makes packages";
  const TemporaryDirectory scratch;
  const auto succeeds = [&](const std::string& command) {
    const std::string log = scratch.file("log");
    EXPECT_EQ(std::system((command + " >'" + log + "' 2>&1").c_str()), 0) << read_file(log);
    return read_file(log);
  };
  const std::string build = fs::path(programs()).parent_path();
  succeeds(std::string(CPACK_PROGRAM) + " --config '" + build + "/CPackConfig.cmake' -G TGZ -B '" +
           scratch.path().string() + "'");
  const std::string place = (scratch / "some place").string();
  succeeds("mkdir '" + place + "' && tar -xzf '" + scratch.path().string() + "'/msrun-*.tar.gz -C '" + place +
           "' --strip-components=1");
  std::istringstream libraries(succeeds("env -u LD_LIBRARY_PATH ldd '" + place + "/bin/msrun'"));
  for (std::string line; std::getline(libraries, line);) {
    static const std::vector<std::string> of_the_system{"linux-vdso", "ld-linux", "libc.so",      "libm.so",
                                                        "libdl.so",   "librt.so", "libpthread.so"};
    const bool is_of_the_system = std::ranges::any_of(
        of_the_system, [&](const std::string& name) { return line.find(name) != std::string::npos; });
    EXPECT_TRUE(is_of_the_system || line.find("some place") != std::string::npos) << line;
  }
  const fs::path out = scratch / "out";
  const Finished finished = Process({"-api_info", dump("cnn_fp32"), "-o", out, "-n", "2", "--backend", "sim"},
                                    scratch.path(), {"LD_LIBRARY_PATH="}, place + "/bin/msrun")
                                .wait();
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_GT(read_csv(only_file(out, "accuracy_checking_result_")).size(), 2U);
  const Finished help = Process({"help", "compare"}, scratch.path(), {"LD_LIBRARY_PATH="}, place + "/bin/msrun").wait();
  EXPECT_EQ(help.exit_code, 0) << help.err;
}

}  // namespace
}  // namespace msrun::testing
