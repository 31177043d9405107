// The memory that a run may take, in trees that look like the root of a host.
#include "kernels/base/available_memory.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_directory.h"
#include "tests/support/test_paths.h"

namespace msrun {
namespace {

using testing::TemporaryDirectory;

constexpr std::uint64_t mebibyte = 1 << 20;

class AvailableMemory : public ::testing::Test {
 protected:
  AvailableMemory() { put("proc/meminfo", "MemTotal: 9999999 kB\nMemAvailable:    8388608 kB\n"); }

  void put(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((root_ / path).parent_path());
    testing::write_file(root_ / path, text);
  }
  // The process is in a group of version 2, mounted at /sys/fs/cgroup.
  void version_2(const std::string& group, const std::string& source = "/") {
    put("proc/self/cgroup", "0::" + group + "\n");
    put("proc/self/mountinfo", "22 1 0:20 / /proc rw - proc proc rw\n30 23 0:26 " + source +
                                   " /sys/fs/cgroup ro,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  }
  void version_1(const std::string& group, const std::string& source = "/") {
    put("proc/self/cgroup", "5:devices:/\n4:cpu,memory:" + group + "\n0::/\n");
    put("proc/self/mountinfo", "30 23 0:26 " + source +
                                   " /sys/fs/cgroup/memory rw shared:4 - cgroup cgroup rw,cpu,memory\n"
                                   "31 23 0:27 / /sys/fs/cgroup/devices rw - cgroup cgroup rw,devices\n");
  }
  std::uint64_t mebibytes() const { return available_memory(root_.path()) / mebibyte; }

  TemporaryDirectory root_;
};

TEST_F(AvailableMemory, IsThatOfTheHostWithoutGroups) {
  EXPECT_EQ(mebibytes(), 8192U);
  put("proc/meminfo", "");
  EXPECT_EQ(mebibytes(), 4096U);
}

TEST_F(AvailableMemory, IsWhatTheGroupLeaves) {
  version_2("/job");
  EXPECT_EQ(mebibytes(), 8192U);
  put("sys/fs/cgroup/job/memory.max", "max\n");
  EXPECT_EQ(mebibytes(), 8192U);
  put("sys/fs/cgroup/job/memory.max", std::to_string(1024 * mebibyte) + "\n");
  put("sys/fs/cgroup/job/memory.current", std::to_string(300 * mebibyte) + "\n");
  EXPECT_EQ(mebibytes(), 724U);
  // File cache gives way.
  put("sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file " + std::to_string(200 * mebibyte) + "\nactive_file 1\n");
  EXPECT_EQ(mebibytes(), 924U);
  put("sys/fs/cgroup/job/memory.high", std::to_string(500 * mebibyte) + "\n");
  EXPECT_EQ(mebibytes(), 400U);
  put("sys/fs/cgroup/job/memory.current", std::to_string(900 * mebibyte) + "\n");
  EXPECT_EQ(mebibytes(), 0U);
}

TEST_F(AvailableMemory, IsLimitedAtEveryLevel) {
  version_2("/a/b/c");
  put("sys/fs/cgroup/a/memory.max", std::to_string(700 * mebibyte));
  put("sys/fs/cgroup/a/b/c/memory.max", std::to_string(900 * mebibyte));
  EXPECT_EQ(mebibytes(), 700U);
  put("sys/fs/cgroup/a/b/memory.max", std::to_string(600 * mebibyte));
  EXPECT_EQ(mebibytes(), 600U);
  put("sys/fs/cgroup/memory.max", std::to_string(500 * mebibyte));
  EXPECT_EQ(mebibytes(), 500U);
}

TEST_F(AvailableMemory, IsWhatTheGroupOfVersion1Leaves) {
  version_1("/docker/x");
  put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(mebibytes(), 8192U);
  put("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", std::to_string(256 * mebibyte) + "\n");
  put("sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes", std::to_string(100 * mebibyte) + "\n");
  put("sys/fs/cgroup/memory/docker/x/memory.stat",
      "inactive_file 1\ntotal_inactive_file " + std::to_string(44 * mebibyte) + "\n");
  EXPECT_EQ(mebibytes(), 200U);
}

TEST_F(AvailableMemory, IsFoundWhereAContainerSeesItsGroupAsTheRoot) {
  // The mount begins at the group of the process, or at one that it is not below.
  for (const char* source : {"/docker/x", "/other"}) {
    version_1("/docker/x", source);
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(128 * mebibyte));
    EXPECT_EQ(mebibytes(), 128U) << source;
    version_2("/docker/x", source);
    put("sys/fs/cgroup/memory.max", std::to_string(64 * mebibyte));
    EXPECT_EQ(mebibytes(), 64U) << source;
  }
}

}  // namespace
}  // namespace msrun
