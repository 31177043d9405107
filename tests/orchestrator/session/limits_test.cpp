// What a run takes of the host, and the names of its files.
#include "orchestrator/session/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "orchestrator/session/new_files.h"
#include "tests/support/temporary_directory.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using testing::TemporaryDirectory;

Options with(int threads, std::vector<int> devices) {
  Options options;
  options.threads = threads;
  options.devices = std::move(devices);
  return options;
}

TEST(SpreadThreads, EvenlyAndFromTheFirst) {
  EXPECT_THAT(spread_threads(with(8, {0})), ElementsAre(8));
  EXPECT_THAT(spread_threads(with(8, {0, 1, 2})), ElementsAre(3, 3, 2));
  EXPECT_THAT(spread_threads(with(2, {4, 5})), ElementsAre(1, 1));
  // At least one, at most eight each.
  EXPECT_THAT(spread_threads(with(1, {0, 1})), ElementsAre(1, 1));
  EXPECT_THAT(spread_threads(with(64, {0, 1})), ElementsAre(8, 8));
}

TEST(MemoryBudget, IsWhatIsGivenOrAShareOfWhatIsFree) {
  EXPECT_EQ(memory_budget({1234, 0.5}), 1234U);
  const auto whole = static_cast<double>(memory_budget({0, 1.0}));
  const auto half = static_cast<double>(memory_budget({0, 0.5}));
  EXPECT_GT(half, 0);
  // What is free changes between the two.
  EXPECT_NEAR(half / whole, 0.5, 0.2);
}

TEST(FreshNames, AreOfTheFirstSecondThatIsFree) {
  std::vector<std::string> asked;
  const std::string stamp = fresh_stamp([&](const std::string& candidate) {
    asked.push_back(candidate);
    return asked.size() == 3;
  });
  ASSERT_EQ(asked.size(), 3U);
  EXPECT_EQ(stamp, asked[2]);
  EXPECT_LT(asked[0], asked[1]);
  EXPECT_LT(asked[1], asked[2]);
}

TEST(FreshNames, NoneOfTheThreeFilesIsThere) {
  const TemporaryDirectory directory;
  const auto claim = [](const RunFiles&) { return true; };
  const RunFiles first = fresh_run_files(directory.path(), claim);
  directory.write(std::filesystem::path(first.details).filename().string(), "");
  const RunFiles second = fresh_run_files(directory.path(), claim);
  EXPECT_NE(second.stamp, first.stamp);
  EXPECT_FALSE(std::filesystem::exists(second.result));
  std::filesystem::create_symlink("nowhere", second.result);
  const RunFiles third = fresh_run_files(directory.path(), claim);
  EXPECT_NE(third.stamp, second.stamp) << "a dangling link has the name";
  int asked = 0;
  const RunFiles fourth = fresh_run_files(directory.path(), [&](const RunFiles&) { return ++asked == 2; });
  EXPECT_GT(fourth.stamp, third.stamp) << "another run was faster";
}

TEST(NewFile, IsRemovedUnlessItIsKept) {
  const TemporaryDirectory directory;
  const std::string path = directory.write("journal", "x");
  {
    NewFile file;
    file.created(path);
    file.keep();
  }
  EXPECT_TRUE(std::filesystem::exists(path));
  {
    NewFile file;
    file.created(path);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace msrun
