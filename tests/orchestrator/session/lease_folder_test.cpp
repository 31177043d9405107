// Leases in a folder: who gets them, who loses them, and that every one is done once all is over.
#include "orchestrator/session/lease_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <memory>
#include <random>
#include <set>

#include "kernels/base/error.h"
#include "kernels/base/unique_fd.h"
#include "tests/support/error_of.h"
#include "tests/support/temporary_directory.h"

namespace msrun {
namespace {

using testing::error_of;
using ::testing::HasSubstr;

class Leases : public ::testing::Test {
 protected:
  LeaseFolder node(const std::string& name, std::uint32_t leases = 3, double timeout = 60) const {
    return LeaseFolder({scratch_ / "leases", name, leases, timeout});
  }

  // Looks again and again, as often as a process that waits.
  static LeaseFolder::Look take_after(LeaseFolder& node, double& now, double seconds) {
    LeaseFolder::Look look = node.take(now);
    for (const double end = now + seconds; !look.taken && now < end;) {
      now += node.look_interval();
      look = node.take(now);
    }
    return look;
  }

  testing::TemporaryDirectory scratch_;
};

TEST_F(Leases, AreTakenByOneEachUntilAllAreDone) {
  LeaseFolder first = node("first");
  LeaseFolder second = node("second");
  std::set<std::uint32_t> taken;
  while (true) {
    const LeaseFolder::Look of_first = first.take(0);
    if (of_first.taken) {
      EXPECT_TRUE(taken.insert(of_first.taken->lease).second);
    }
    const LeaseFolder::Look of_second = second.take(1000);
    if (of_second.taken) {
      EXPECT_TRUE(taken.insert(of_second.taken->lease).second);
      EXPECT_TRUE(second.finish());
    }
    if (of_first.taken) {
      EXPECT_TRUE(first.finish());
    }
    EXPECT_EQ(first.all_done(), taken.size() == 3) << taken.size();
    if (of_first.all_done) break;
  }
  EXPECT_EQ(taken.size(), 3U);
  EXPECT_TRUE(second.take(1001).all_done);
}

TEST_F(Leases, OfASilentHolderAreTakenOverAfterTheTimeout) {
  LeaseFolder silent = node("silent", 1);
  ASSERT_TRUE(silent.take(0).taken);
  LeaseFolder other = node("other", 1);
  double now = 5e6;  // by another clock
  EXPECT_FALSE(take_after(other, now, 55).taken);
  const LeaseFolder::Look look = take_after(other, now, 10);
  ASSERT_TRUE(look.taken);
  EXPECT_EQ(look.taken->from, "silent");
  // The other goes on, and is told.
  EXPECT_FALSE(silent.renew());
  EXPECT_FALSE(silent.finish());
  EXPECT_TRUE(other.renew());
  EXPECT_TRUE(other.finish());
  EXPECT_TRUE(silent.take(1).all_done);
}

TEST_F(Leases, OfAHolderThatGivesSignsOfLifeStay) {
  LeaseFolder busy = node("busy", 1);
  ASSERT_TRUE(busy.take(0).taken);
  LeaseFolder other = node("other", 1);
  double now = 0;
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(take_after(other, now, 55).taken);
    EXPECT_TRUE(busy.renew());
  }
  EXPECT_TRUE(busy.finish());
}

// A job that is stopped as a whole and goes on must not find everybody silent.
TEST_F(Leases, StayWhereTheTakerWasStoppedItself) {
  LeaseFolder holder = node("holder", 1);
  ASSERT_TRUE(holder.take(0).taken);
  LeaseFolder other = node("other", 1);
  EXPECT_FALSE(other.take(0).taken);
  EXPECT_FALSE(other.take(1e5).taken);
  EXPECT_TRUE(holder.renew());
}

TEST_F(Leases, ThatAreGivenBackAreFreeAtOnce) {
  LeaseFolder first = node("first", 1);
  ASSERT_TRUE(first.take(0).taken);
  first.give_back();
  EXPECT_FALSE(first.finish());
  LeaseFolder second = node("second", 1);
  const LeaseFolder::Look look = second.take(0);
  ASSERT_TRUE(look.taken);
  EXPECT_EQ(look.taken->from, "");
}

TEST_F(Leases, AreAsManyAsTheFirstHasMade) {
  const LeaseFolder first = node("first", 3);
  const LeaseFolder second = node("second", 8);
  EXPECT_EQ(second.leases(), 3U);
  EXPECT_EQ(scratch_.names(), std::vector<std::string>{"leases"});
}

TEST_F(Leases, AreNotMadeInAFolderOfOtherThings) {
  std::filesystem::create_directory(scratch_ / "leases");
  scratch_.write("leases/notes.txt", "mine");
  EXPECT_THAT(error_of<UserError>([&] { node("first"); }), HasSubstr("holds no leases"));
  EXPECT_EQ(testing::read_file(scratch_ / "leases/notes.txt"), "mine");
}

// Whoever has removed it: without it nobody would ever be done.
TEST_F(Leases, WhoseFileIsGoneAreFreeAfterTheTimeout) {
  LeaseFolder first = node("first", 2);
  LeaseFolder second = node("second", 2);
  const LeaseFolder::Look mine = first.take(0);
  ASSERT_TRUE(mine.taken);
  for (const std::filesystem::directory_entry& file : std::filesystem::directory_iterator(scratch_ / "leases")) {
    if (file.path().extension() == ".free") std::filesystem::remove(file.path());
  }
  EXPECT_TRUE(first.finish());
  double now = 0;
  EXPECT_FALSE(take_after(second, now, 55).taken);
  const LeaseFolder::Look found = take_after(second, now, 10);
  ASSERT_TRUE(found.taken);
  EXPECT_NE(found.taken->lease, mine.taken->lease);
  EXPECT_EQ(found.taken->from, "");
  EXPECT_TRUE(second.finish());
  EXPECT_TRUE(first.take(1).all_done);
}

// Without it nobody knows what is done: whoever waits would wait for ever.
TEST_F(Leases, EndWithTheirFolder) {
  LeaseFolder first = node("first", 2, 10);
  LeaseFolder second = node("second", 2, 10);
  ASSERT_TRUE(first.take(0).taken);
  std::filesystem::remove_all(scratch_ / "leases");
  EXPECT_FALSE(first.renew());
  double now = 0;
  const std::string error = error_of<std::system_error>([&] { take_after(second, now, 30); });
  EXPECT_THAT(error,
              ::testing::AllOf(HasSubstr((scratch_ / "leases").string() + " are gone"), HasSubstr("No such file")));
  EXPECT_GE(now, 10);
  EXPECT_LT(now, 12);
}

// Nothing of them is left where they cannot all be made: their folder would be in the way of whoever tries again.
TEST_F(Leases, ThatCannotBeMadeLeaveNothing) {
  const std::filesystem::path in_the_way = (scratch_ / "leases").string() + ".first";
  std::filesystem::create_directory(in_the_way);
  scratch_.write("leases.first/0002.free", "");
  EXPECT_THAT(error_of<UserError>([&] { node("first"); }), HasSubstr("0002.free"));
  EXPECT_TRUE(std::filesystem::is_empty(scratch_.path()));
}

// Those who go by different numbers deal the calls differently.
TEST_F(Leases, OfTwoNumbersAreRefused) {
  node("first", 4);
  scratch_.write("leases/leases.8", "");
  EXPECT_THAT(error_of<UserError>([&] { node("second", 4); }), HasSubstr("leases of two numbers, 4 and 8"));
}

// Others may write into a shared folder.
TEST_F(Leases, AreNotWaitedForWhereTheyArePipes) {
  LeaseFolder first = node("first", 2, 1);
  for (const char* name : {"0000", "0001"}) {
    std::filesystem::remove(scratch_ / "leases" / (std::string(name) + ".free"));
  }
  ASSERT_EQ(mkfifo((scratch_ / "leases/0000.free").c_str(), 0666), 0);
  ASSERT_EQ(mkfifo((scratch_ / "leases/0001.held.gone").c_str(), 0666), 0);
  // A pipe with a writer that writes nothing.
  const UniqueFd writer(open((scratch_ / "leases/0001.held.gone").c_str(), O_RDWR | O_CLOEXEC));
  double now = 0;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(take_after(first, now, 10).taken);
    EXPECT_TRUE(first.renew());
    EXPECT_TRUE(first.finish());
  }
  EXPECT_TRUE(first.all_done());
}

TEST_F(Leases, HaveOneSpellingOfTheirNumber) {
  LeaseFolder first = node("first", 2, 1);
  std::filesystem::rename(scratch_ / "leases/0001.free", scratch_ / "leases/1.done.other");
  testing::write_file(scratch_ / "leases/00001.free", "");
  double now = 0;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(take_after(first, now, 10).taken);
    EXPECT_FALSE(first.all_done());
    EXPECT_TRUE(first.finish());
  }
  EXPECT_TRUE(first.all_done());
}

TEST_F(Leases, OfAHugeNumberAreRefused) {
  std::filesystem::create_directory(scratch_ / "leases");
  testing::write_file(scratch_ / "leases/leases.100000000", "");
  EXPECT_THAT(error_of<UserError>([&] { node("first"); }), HasSubstr("leases.100000000, and more than 9999 leases"));
}

TEST_F(Leases, AreRefusedInAFolderThatCannotBeChanged) {
  if (geteuid() == 0) GTEST_SKIP() << "root may change every folder";
  node("first");
  std::filesystem::permissions(scratch_ / "leases", std::filesystem::perms::owner_write,
                               std::filesystem::perm_options::remove);
  EXPECT_THAT(error_of<UserError>([&] { node("second"); }), HasSubstr("no lease can be taken in"));
  std::filesystem::permissions(scratch_ / "leases", std::filesystem::perms::owner_write,
                               std::filesystem::perm_options::add);
}

// Nodes that die, are stopped and go on at every step: every lease is done in the end, and whoever is told that it has
// finished a lease is the only one.
TEST_F(Leases, AreAllDoneWhateverBecomesOfTheNodes) {
  struct Node {
    std::unique_ptr<LeaseFolder> folder;
    std::optional<std::uint32_t> lease;
    double stopped_until = 0;
    double clock = 0;  // of its host
    int work = 0;
  };
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto chance = [&](double share) { return std::uniform_real_distribution<>(0, 1)(random) < share; };
    const auto leases = static_cast<std::uint32_t>(1 + random() % 12);
    const std::filesystem::path folder = scratch_ / ("leases" + std::to_string(seed));
    std::vector<Node> nodes(4);
    int started = 0;
    std::multiset<std::uint32_t> finished;
    bool all_done = false;
    int step = 0;
    for (; !all_done && step < 20000; ++step) {
      for (Node& node : nodes) {
        if (!node.folder) {
          node.folder = std::make_unique<LeaseFolder>(
              LeaseFolder::Settings{folder, "n" + std::to_string(++started), leases, 1.0});
          node.lease.reset();
          node.clock = static_cast<double>(random() % 1000000);
        }
        if (node.stopped_until > step) continue;
        node.clock += 0.05;
        if (step < 4000 && chance(0.01)) {
          node.folder.reset();
          continue;
        }
        if (step < 4000 && chance(0.02)) {
          node.stopped_until = step + static_cast<double>(random() % 100);
          continue;
        }
        if (!node.lease) {
          const LeaseFolder::Look look = node.folder->take(node.clock);
          if (look.taken) node.lease = look.taken->lease;
          node.work = static_cast<int>(random() % 40);
          all_done = all_done || look.all_done;
        } else if (!node.folder->renew()) {
          node.lease.reset();
        } else if (node.work-- <= 0) {
          if (node.folder->finish()) finished.insert(*node.lease);
          node.lease.reset();
        }
      }
    }
    ASSERT_TRUE(all_done) << "after " << step << " steps";
    EXPECT_EQ(finished.size(), leases);
    EXPECT_EQ(std::set(finished.begin(), finished.end()).size(), leases);
  }
}

}  // namespace
}  // namespace msrun
