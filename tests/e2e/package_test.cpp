// The archive that cpack makes holds all that the program needs but glibc, and runs wherever it is unpacked; packages
// and documentation say which glibc it takes.
#include <gmock/gmock.h>

#include <cstdlib>
#include <sstream>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

bool has(const std::string& program) { return std::system(("command -v " + program + " >/dev/null").c_str()) == 0; }

class Package : public ::testing::Test {
 protected:
  // What command says; it has to succeed.
  std::string succeeds(const std::string& command) {
    const std::string log = scratch_.file("log");
    EXPECT_EQ(std::system((command + " >'" + log + "' 2>&1").c_str()), 0) << command << "\n" << read_file(log);
    return read_file(log);
  }
  void pack(const std::string& generator) {
    succeeds("'" + std::string(CPACK_PROGRAM) + "' --config '" + build_ + "/CPackConfig.cmake' -G " + generator +
             " -B '" + scratch_.path().string() + "'");
  }
  // The folder that the archive is unpacked into.
  std::string unpacked() {
    pack("TGZ");
    const std::string place = (scratch_ / "some place").string();
    succeeds("mkdir '" + place + "' && tar -xzf '" + scratch_.path().string() + "'/msrun-*.tar.gz -C '" + place +
             "' --strip-components=1");
    return place;
  }
  // The newest version of glibc whose symbols the files ask for that find finds: "2.36".
  std::string glibc_of(const std::string& find) {
    return succeeds("find " + find + " -type f -exec objdump -T {} + 2>/dev/null |" +
                    " sed -n 's/.*(\\?GLIBC_\\(2[.0-9]*\\).*/\\1/p' | sort -uV | tail -n 1 | tr -d '\\n'");
  }

  const TemporaryDirectory scratch_;
  const std::string build_ = fs::path(programs()).parent_path();
};

TEST_F(Package, ArchiveRunsWithItsOwnLibraries) {
  if (!has("patchelf")) GTEST_SKIP() << "there is no patchelf, which makes packages";
  const std::string place = unpacked();
  std::istringstream libraries(succeeds("env -u LD_LIBRARY_PATH ldd '" + place + "/bin/msrun'"));
  for (std::string line; std::getline(libraries, line);) {
    static const std::vector<std::string> of_the_system{"linux-vdso", "ld-linux", "libc.so",      "libm.so",
                                                        "libdl.so",   "librt.so", "libpthread.so"};
    const bool is_of_the_system = std::ranges::any_of(
        of_the_system, [&](const std::string& name) { return line.find(name) != std::string::npos; });
    EXPECT_TRUE(is_of_the_system || line.find("some place") != std::string::npos) << line;
  }
  EXPECT_TRUE(fs::exists(place + "/share/doc/msrun/licences/libstdc++6"));
  EXPECT_TRUE(fs::exists(place + "/share/doc/msrun/runner/results/format.md")) << "pages link to it";
  const fs::path out = scratch_ / "out";
  const Finished finished = Process({"-api_info", dump("cnn_fp32"), "-o", out, "-n", "2", "--backend", "sim"},
                                    scratch_.path(), {"LD_LIBRARY_PATH="}, place + "/bin/msrun")
                                .wait();
  EXPECT_EQ(finished.exit_code, 0) << finished.out << finished.err;
  EXPECT_GT(read_csv(only_file(out, "accuracy_checking_result_")).size(), 2U);
  const Finished help =
      Process({"help", "compare"}, scratch_.path(), {"LD_LIBRARY_PATH="}, place + "/bin/msrun").wait();
  EXPECT_EQ(help.exit_code, 0) << help.err;
  const std::string release = read_file("/etc/os-release");
  if (release.find("VERSION_ID=\"12\"") == std::string::npos || release.find("\nID=debian") == std::string::npos)
    return;
  const std::string page = read_file(source_root() + "/docs/packages.md");
  EXPECT_NE(page.find("glibc " + glibc_of("'" + place + "'") + " or later"), std::string::npos)
      << "the archive needs glibc " << glibc_of("'" + place + "'") << ", and docs/packages.md does not say so";
}

TEST_F(Package, OfDebianDependsOnTheGlibcThatTheProgramsNeed) {
  if (!has("dpkg-shlibdeps") || !has("file")) GTEST_SKIP() << "there is no dpkg-dev or no file, which make packages";
  pack("DEB");
  const std::string needed = glibc_of("'" + build_ + "/bin/msrun' '" + build_ + "/lib/libmsrun_kernels.so'");
  const std::string depends = succeeds("dpkg-deb -f '" + scratch_.path().string() + "'/msrun_*.deb Depends");
  EXPECT_THAT(depends, ::testing::HasSubstr("libc6 (>= " + needed + ")"));
}

// Where dpkg-shlibdeps cannot tell.
TEST_F(Package, OfAnotherArchitectureDependsOnThisDebiansPackages) {
  if (!has("dpkg-query") || !fs::exists("/var/lib/dpkg/status")) GTEST_SKIP() << "this is no Debian";
  const fs::path script = scratch_ / "depends.cmake";
  write_file(script, "set(CPACK_GENERATOR DEB)\nset(CPACK_INSTALL_CMAKE_PROJECTS \"" + build_ +
                         ";msrun;ALL;/\")\nset(CPACK_MSRUN_NEEDS_OF msrun graph)\ninclude(\"" + source_root() +
                         "/cmake/PackageOptions.cmake\")\nmessage(\"${CPACK_DEBIAN_PACKAGE_DEPENDS}\")\n");
  const std::string depends = succeeds("'" + std::string(CMAKE_PROGRAM) + "' -P '" + script.string() + "'");
  for (const char* package : {"libc6", "libstdc\\+\\+6", "zlib1g", "libzstd1", "libsqlite3-0"}) {
    EXPECT_THAT(depends, ::testing::ContainsRegex("(^|, )" + std::string(package) +
                                                  " \\(>= ([0-9]+:)?[0-9]+(\\.[0-9]+)*\\)[,\n]"));
  }
}

}  // namespace
}  // namespace msrun::testing
