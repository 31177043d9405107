// torchair_convert where room on the disk, descriptors or the files themselves run away from it.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "tests/tools/torchair_convert_support.h"
#include "tools/torchair_convert/looks.h"
#include "tools/torchair_convert/names.h"
#include "tools/torchair_convert/shortage.h"
#include "tools/torchair_convert/workers.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A disk of four megabytes in memory, of which a file takes all but a little.
class SmallDisk {
 public:
  explicit SmallDisk(const fs::path& place) : place_(place) {
    fs::create_directories(place);
    mounted_ = ::mount("tmpfs", place.c_str(), "tmpfs", 0, "size=4M") == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(place_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  const fs::path& path() const { return place_; }
  // Files of 12 KB, and the rest but so many bytes taken.
  void fill(int files, std::uint64_t free) const {
    const std::string bytes = npy_file(std::vector<float>((12288 - 128) / 4, 1.5F));
    for (int i = 0; i < files; ++i) write_file(place_ / ("a" + std::to_string(i) + ".npy"), bytes);
    struct statvfs now {};
    ASSERT_EQ(::statvfs(place_.c_str(), &now), 0);
    const std::uint64_t left = now.f_bavail * now.f_frsize;
    ASSERT_GT(left, free);
    write_file(place_ / "filling", std::string(left - free, 'x'));
  }
  std::size_t converted() const {
    std::size_t count = 0;
    for (const fs::directory_entry& entry : fs::directory_iterator(place_)) {
      count += entry.path().string().ends_with("_min_max.npy") ? 1 : 0;
    }
    return count;
  }

 private:
  fs::path place_;
  bool mounted_ = false;
};

class Scarce : public ::testing::Test {
 protected:
  fs::path tree() const { return scratch_ / "tree"; }
  void put(const std::string& name, const std::string& bytes) const {
    fs::create_directories((tree() / name).parent_path());
    write_file(tree() / name, bytes);
  }
  Finished convert(const std::vector<std::string>& environment = {}, std::vector<std::string> further = {}) const {
    return convert_once(tree(), scratch_.path(), std::move(further), environment);
  }
  std::vector<std::string> hostile(std::vector<std::string> settings) const {
    settings.push_back(std::string("LD_PRELOAD=") + HOSTILE_FILES);
    settings.push_back("MSRUN_HOSTILE_DIR=" + tree().string());
    return settings;
  }
  // With that limit of open files, which it may not raise.
  Finished convert_with_descriptors(int limit) const {
    const std::string err = scratch_.file("limited.err");
    const std::string command = "ulimit -n " + std::to_string(limit) + "; exec timeout 100 '" + programs() +
                                "/torchair_convert' '" + tree().string() + "' --once --settle 0 > /dev/null 2> '" +
                                err + "'";
    const int status = std::system(("bash -c \"" + command + "\"").c_str());
    return {WEXITSTATUS(status), "", read_file(err), 0};
  }

  const TemporaryDirectory scratch_;
};

TEST_F(Scarce, ANearlyFullDiskIsConvertedStepByStep) {
  const SmallDisk disk(scratch_ / "disk");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small disk needs more rights";
  disk.fill(320, 16384);
  const Finished run = convert_once(disk.path(), scratch_.path(), {"--interval", "0.05"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("Converted 320 files, "));
  EXPECT_EQ(disk.converted(), 320U);
}

// Room for one target: several at once would take it from one another.
TEST_F(Scarce, OnePageIsEnough) {
  const SmallDisk disk(scratch_ / "disk");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small disk needs more rights";
  disk.fill(20, 4096);
  const Finished run = convert_once(disk.path(), scratch_.path(), {"--interval", "0.05"});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(disk.converted(), 20U);
}

TEST_F(Scarce, AFullDiskEndsItAfterAWholeRoundInVain) {
  const SmallDisk disk(scratch_ / "disk");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small disk needs more rights";
  disk.fill(300, 0);
  const Finished run = convert_once(disk.path(), scratch_.path(), {"--interval", "0.05"});
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("No space left on device."));
  EXPECT_THAT(run.err, HasSubstr("The disk is full. Nothing is lost"));
  EXPECT_EQ(disk.converted(), 0U);
  // Whoever makes room can go on.
  fs::remove(disk.path() / "filling");
  EXPECT_EQ(convert_once(disk.path(), scratch_.path()).exit_code, 0);
  EXPECT_EQ(disk.converted(), 300U);
}

TEST_F(Scarce, TheWatcherGoesOnAsLongAsItMakesProgress) {
  const SmallDisk disk(scratch_ / "disk");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small disk needs more rights";
  disk.fill(320, 16384);
  Process watcher({disk.path().string(), "--interval", "0.05", "--settle", "0.05"}, scratch_.path(), {},
                  convert_program);
  EXPECT_TRUE(eventually(60, [&] { return disk.converted() == 320 || !watcher.running(); }));
  EXPECT_TRUE(watcher.running());
  EXPECT_EQ(disk.converted(), 320U);
  watcher.signal(SIGINT);
  EXPECT_EQ(watcher.wait().exit_code, 0);
}

TEST_F(Scarce, TheWatcherEndsOnAFullDisk) {
  const SmallDisk disk(scratch_ / "disk");
  if (!disk.mounted()) GTEST_SKIP() << "mounting a small disk needs more rights";
  disk.fill(300, 0);
  Process watcher({disk.path().string(), "--interval", "0.05", "--settle", "0.05"}, scratch_.path(), {},
                  convert_program);
  EXPECT_TRUE(eventually(60, [&] { return !watcher.running(); }));
  const Finished run = watcher.wait();
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_THAT(run.err, HasSubstr("The disk is full."));
}

TEST_F(Scarce, ManyFilesNeedFewDescriptors) {
  for (int i = 0; i < 4000; ++i) put(std::to_string(i % 40) + "/" + std::to_string(i) + ".npy", npy_file({1, 2}));
  const Finished run = convert_with_descriptors(1024);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("Converted 4000 files, "));
  EXPECT_THAT(run.err, Not(HasSubstr("Too many")));
}

TEST_F(Scarce, ASmallLimitIsEnough) {
  // Every file holds a directory of its own open.
  for (int i = 0; i < 300; ++i) put(std::to_string(i) + "/" + std::to_string(i) + ".npy", npy_file({1, 2}));
  const Finished run = convert_with_descriptors(40);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("Converted 300 files, "));
}

TEST_F(Scarce, DescriptorsThatOthersTakeAreWaitedFor) {
  if (sanitized) GTEST_SKIP() << "a sanitizer must be the first library that is loaded";
  // Wherever it begins: directories, mapping.csv, sources, targets, files that are read back.
  for (int at = 1; at <= 28; ++at) {
    SCOPED_TRACE("from open " + std::to_string(at) + " on");
    fs::remove_all(tree());
    put("a/1.npy", npy_file({1, 2}));
    put("a/2.npy", npy_file({1, 2}));
    put("b/12345", ge_file({1, 2}));
    put("b/mapping.csv", "12345,Add.Add_1.2.3.4\n");
    const Finished run =
        convert(hostile({"MSRUN_HOSTILE_AT=" + std::to_string(at), "MSRUN_HOSTILE_SCARCE=12"}), {"--interval", "0.02"});
    if (run.err.find("cannot be written to: Too many open files in system") != std::string::npos) {
      EXPECT_EQ(run.exit_code, 2);  // not even the lock could be made
      continue;
    }
    EXPECT_EQ(run.exit_code, 0) << run.err;
    const Files files = files_in(tree());
    for (const char* name : {"a/1_min_max.npy", "a/2_min_max.npy", "b/12345_min_max.npz"}) {
      EXPECT_TRUE(files.contains(name)) << name << '\n' << run.err;
    }
  }
}

TEST(Shortages, EndOnlyAfterAWholeRoundOneByOneInVain) {
  using namespace convert;
  Shortage shortage(0);
  shortage.judge(true, 1, 10);
  EXPECT_FALSE(shortage.given_up());
  shortage.feel(Resource::space, "full");
  const std::uint32_t first = shortage.round();
  shortage.judge(false, 1, 10);
  EXPECT_EQ(shortage.round(), first);
  shortage.judge(true, 1, 10);
  EXPECT_FALSE(shortage.given_up());
  EXPECT_TRUE(shortage.one_by_one());
  EXPECT_NE(shortage.round(), first);
  shortage.success(2);
  EXPECT_FALSE(shortage.felt());
  EXPECT_FALSE(shortage.one_by_one());
  for (int i = 0; i < 2; ++i) {
    shortage.feel(Resource::space, "full");
    shortage.judge(true, 3, 10);
  }
  EXPECT_TRUE(shortage.given_up());
  EXPECT_EQ(shortage.message(), "full");
  EXPECT_THAT(shortage.advice(), HasSubstr("The disk is full."));

  Shortage descriptors(0);
  descriptors.feel(Resource::descriptors, "none");
  for (int i = 0; i < 5; ++i) descriptors.judge(true, 9, 10);
  EXPECT_FALSE(descriptors.given_up());
  descriptors.judge(false, 11, 10);
  EXPECT_TRUE(descriptors.given_up());
  EXPECT_THAT(descriptors.advice(), HasSubstr("ulimit -n"));
}

TEST(WorkPlans, FitTheDescriptors) {
  using convert::plan_work;
  EXPECT_EQ(plan_work(2, 1 << 20).files_per_batch, 256U);
  EXPECT_EQ(plan_work(2, 1 << 20).threads, 4U);
  for (const int workers : {1, 2, 16, 256}) {
    for (const std::uint64_t descriptors : {256, 1024, 4096, 65536}) {
      const convert::WorkPlan plan = plan_work(workers, descriptors);
      const std::uint64_t in_work = plan.threads * plan.files_per_batch * 3;
      const std::uint64_t waiting = (plan.threads + 1) * plan.files_per_batch;
      EXPECT_LT(in_work + waiting, descriptors - 96) << workers << ' ' << descriptors;
      EXPECT_GE(plan.threads, 1U);
    }
  }
  EXPECT_EQ(plan_work(4, 10).files_per_batch, 1U);
  EXPECT_EQ(plan_work(4, 10).threads, 1U);
}

// A file that another program puts into the place of a source is never deleted, at whatever instant that happens.
TEST_F(Scarce, AFileThatReplacesASourceIsNotLost) {
  if (sanitized) GTEST_SKIP() << "a sanitizer must be the first library that is loaded";
  const std::string older = npy_file({1, 2});
  const std::string newer = npy_file({3, 4, 5});
  int replaced = 0;
  for (const char* renames : {"", "MSRUN_HOSTILE_OLD=1"}) {
    for (int at = 1;; ++at) {
      SCOPED_TRACE(std::string(renames) + " before operation " + std::to_string(at));
      ASSERT_LT(at, 100);
      fs::remove_all(tree());
      put("a.npy", older);
      put("b.npy", older);
      const fs::path coming = scratch_ / "newer.npy";
      write_file(coming, newer);
      const Finished run =
          convert(hostile({"MSRUN_HOSTILE_AT=" + std::to_string(at), "MSRUN_HOSTILE_FROM=" + coming.string(),
                           "MSRUN_HOSTILE_TO=" + (tree() / "a.npy").string(), renames}));
      EXPECT_EQ(run.exit_code, 0) << run.err;
      if (fs::exists(coming)) break;
      ++replaced;
      const Files files = files_in(tree());
      ASSERT_TRUE(files.contains("a.npy")
                      ? files.at("a.npy") == newer
                      : files.contains("a_min_max.npy") && files.at("a_min_max.npy") == npy_file({3, 5}))
          << run.err;
      EXPECT_EQ(convert().exit_code, 0);
      const Files expected{{"a_min_max.npy", npy_file({3, 5})}, {"b_min_max.npy", npy_file({1, 2})}};
      EXPECT_EQ(files_in(tree()), expected);
    }
  }
  EXPECT_GT(replaced, 10);
}

// Killed before every single step: each tensor is there, and the next run leaves what one in peace would have left.
TEST_F(Scarce, LosesNothingWhenItIsKilledAtAnyStep) {
  if (sanitized) GTEST_SKIP() << "a sanitizer must be the first library that is loaded";
  Files sources;
  for (int i = 0; i < 3; ++i) {
    sources["fx/" + std::to_string(i) + ".npy"] = npy_file({1.0F * static_cast<float>(i), 5});
    sources["ge/Add.a" + std::to_string(i) + ".1.2.3"] = ge_file({2.0F * static_cast<float>(i), 5});
  }
  const auto fill = [&] {
    fs::remove_all(tree());
    for (const auto& [name, bytes] : sources) put(name, bytes);
  };
  fill();
  ASSERT_EQ(convert().exit_code, 0);
  const Files expected = files_in(tree());
  int killed = 0;
  for (const char* renames : {"", "MSRUN_HOSTILE_OLD=1"}) {
    for (int at = 1;; ++at) {
      SCOPED_TRACE(std::string(renames) + " before operation " + std::to_string(at));
      ASSERT_LT(at, 300);
      fill();
      const Finished run =
          convert(hostile({"MSRUN_HOSTILE_AT=" + std::to_string(at), "MSRUN_HOSTILE_KILL=1", renames}));
      ASSERT_TRUE(nothing_is_lost(sources, expected, tree()));
      if (run.exit_code == 0) break;
      ASSERT_EQ(run.exit_code, 128 + SIGKILL) << run.err;
      ++killed;
      ASSERT_EQ(convert().exit_code, 0);
      ASSERT_EQ(files_in(tree()), expected);
    }
  }
  EXPECT_GT(killed, 60);
}

TEST_F(Scarce, WhatAKilledConverterSetAsideGetsItsNameBack) {
  put(".a.npy.aside", npy_file({1, 2}));
  // A newer file of that name has taken the place of the other.
  put(".b.npy.aside", npy_file({1, 2}));
  put("b.npy", npy_file({3, 4}));
  put("deep/.Add.a.1.2.3.aside", ge_file({1, 2}));
  // Not ours.
  put(".notes.txt.aside", "x");
  put(".aside", "x");
  const Finished run = convert();
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const Files files = files_in(tree());
  EXPECT_EQ(files.size(), 5U);
  EXPECT_EQ(files.at("a_min_max.npy"), npy_file({1, 2}));
  EXPECT_EQ(files.at("b_min_max.npy"), npy_file({3, 4}));
  EXPECT_TRUE(files.contains("deep/Add.a.1.2.3_min_max.npz"));
  EXPECT_TRUE(files.contains(".notes.txt.aside"));
  EXPECT_TRUE(files.contains(".aside"));
}

TEST(AsideNames, ComeFromTheirSourcesAndLeadBack) {
  using namespace convert;
  EXPECT_EQ(aside_name("a.npy"), ".a.npy.aside");
  EXPECT_EQ(source_of_aside(".a.npy.aside"), "a.npy");
  EXPECT_EQ(source_of_aside(".12345.aside"), "12345");
  for (const char* name : {"a.npy.aside", ".a.npy", ".aside", "..aside", ".a.txt.aside", ".a_min_max.npy.aside"}) {
    EXPECT_FALSE(source_of_aside(name)) << name;
  }
  // Wherever there is a target there is room for this name.
  const std::string longest = std::string(255 - 8 - 4, 'a') + ".npy";
  ASSERT_TRUE(target_name(SourceKind::fx, longest));
  EXPECT_LE(aside_name(longest).size(), 255U);
}

}  // namespace
}  // namespace msrun::testing
