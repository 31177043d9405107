// torchair_convert beside a job that writes its dump, and when it is killed.
//
// The seed of the kill test is printed. MSRUN_CHAOS_SEED repeats a run, MSRUN_CHAOS_ROUNDS makes more kills (10 by
// default).
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <random>
#include <thread>

#include "tests/tools/torchair_convert_support.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

std::uint64_t number_from(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

void sleep_for(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

class Watching : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(tree()); }
  fs::path tree() const { return scratch_ / "tree"; }
  Process start(const std::string& settle) const {
    return Process({tree().string(), "--interval", "0.05", "--settle", settle}, scratch_.path(), {}, convert_program);
  }
  static void expect_clean_end(Process& converter) {
    converter.signal(SIGINT);
    EXPECT_EQ(converter.wait().exit_code, 0);
  }

  const TemporaryDirectory scratch_;
};

TEST_F(Watching, ConvertsWhatAppears) {
  fs::create_directories(tree() / "old");
  write_file(tree() / "old" / "a.npy", npy_file({1, 2}));
  Process converter = start("0.2");
  EXPECT_TRUE(eventually(10, [&] { return fs::exists(tree() / "old" / "a_min_max.npy"); }));
  EXPECT_TRUE(eventually(10, [&] { return converter.out().find("Waiting...\n") != std::string::npos; }));
  // A directory of a directory that did not exist, filled at once and later.
  fs::create_directories(tree() / "new" / "1" / "0");
  write_file(tree() / "new" / "1" / "0" / "Add.a.1.2.3", ge_file({1, 2}));
  EXPECT_TRUE(eventually(10, [&] { return fs::exists(tree() / "new" / "1" / "0" / "Add.a.1.2.3_min_max.npz"); }));
  EXPECT_TRUE(eventually(5, [&] { return !fs::exists(tree() / "new" / "1" / "0" / "Add.a.1.2.3"); }));
  write_file(tree() / "new" / "1" / "0" / "b.npy", npy_file({3}));
  // Moved in from elsewhere.
  write_file(scratch_ / "c.npy", npy_file({4}));
  fs::rename(scratch_ / "c.npy", tree() / "new" / "c.npy");
  EXPECT_TRUE(eventually(10, [&] { return fs::exists(tree() / "new" / "1" / "0" / "b_min_max.npy"); }));
  EXPECT_TRUE(eventually(10, [&] { return fs::exists(tree() / "new" / "c_min_max.npy"); }));
  expect_clean_end(converter);
  EXPECT_FALSE(fs::exists(tree() / ".msprobe_convert.lock"));
}

// Nothing can appear any more in a tree that was deleted; one that was only renamed is watched further.
TEST_F(Watching, EndsWithItsTree) {
  Process converter = start("0.05");
  ASSERT_TRUE(eventually(10, [&] { return converter.out().find("Waiting...\n") != std::string::npos; }));
  const fs::path moved = scratch_ / "moved";
  fs::rename(tree(), moved);
  write_file(moved / "a.npy", npy_file({1, 2}));
  EXPECT_TRUE(eventually(10, [&] { return fs::exists(moved / "a_min_max.npy"); }));
  fs::remove_all(moved);
  EXPECT_TRUE(eventually(10, [&] { return !converter.running(); }));
  const Finished finished = converter.wait();
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_THAT(finished.err, HasSubstr("was deleted while it was watched"));
}

TEST_F(Watching, KeepsASecondConverterAway) {
  write_file(tree() / "a.npy", npy_file({1, 2}));
  Process converter = start("0.2");
  ASSERT_TRUE(eventually(10, [&] { return converter.out().find("Waiting...\n") != std::string::npos; }));
  const Finished second = convert_once(tree(), scratch_.path());
  EXPECT_EQ(second.exit_code, 2);
  EXPECT_THAT(second.err, HasSubstr("Another converter is already working on"));
  EXPECT_TRUE(converter.running());
  expect_clean_end(converter);
  EXPECT_EQ(convert_once(tree(), scratch_.path()).exit_code, 0);
}

TEST_F(Watching, LeavesAFileThatIsCompleteButStillOpen) {
  const std::string bytes = npy_file({1, 2});
  const fs::path file = tree() / "a.npy";
  const int writer = ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(writer, 0);
  ASSERT_EQ(::write(writer, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  Process converter = start("0.1");
  sleep_for(1);
  EXPECT_TRUE(fs::exists(file));
  EXPECT_FALSE(fs::exists(tree() / "a_min_max.npy"));
  ::close(writer);
  EXPECT_TRUE(eventually(10, [&] { return !fs::exists(file) && fs::exists(tree() / "a_min_max.npy"); }));
  expect_clean_end(converter);
}

TEST_F(Watching, TakesAFileOnlyWhenItHasBeenLeftAlone) {
  Process converter = start("1.5");
  ASSERT_TRUE(eventually(10, [&] { return converter.out().find("Waiting...\n") != std::string::npos; }));
  // Complete and closed every time, but written anew before it has been left alone long enough.
  for (int i = 0; i < 8; ++i) {
    write_file(tree() / "a.npy", npy_file({1, static_cast<float>(i)}));
    sleep_for(0.4);
    ASSERT_FALSE(fs::exists(tree() / "a_min_max.npy")) << i;
  }
  EXPECT_TRUE(eventually(10, [&] { return fs::exists(tree() / "a_min_max.npy"); }));
  EXPECT_EQ(read_file(tree() / "a_min_max.npy"), npy_file({1, 7}));
  expect_clean_end(converter);
}

// A hundred files that grow at the same time, with pauses that are longer than the time to settle.
TEST_F(Watching, NeverRacesSlowWriters) {
  constexpr int file_count = 100;
  constexpr int pieces = 6;
  struct Writer {
    fs::path path;
    std::string bytes;
    std::string converted;
    int descriptor;
    ino_t inode;
  };
  std::vector<Writer> writers;
  for (int i = 0; i < file_count; ++i) {
    const std::vector<float> values{static_cast<float>(i), 1, 2, 3};
    const bool fx = i % 2 == 0;
    Writer writer{tree() / (fx ? std::to_string(i) + ".npy" : "Add.a" + std::to_string(i) + ".1.2.3"),
                  fx ? npy_file(values) : ge_file(values), "", -1, 0};
    if (fx)
      writer.converted =
          npy_file({std::min<float>(static_cast<float>(i), 1), std::max<float>(static_cast<float>(i), 3)});
    writers.push_back(writer);
  }
  Process converter = start("0.1");
  std::mt19937 random(7);
  for (Writer& writer : writers) {
    writer.descriptor = ::open(writer.path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ASSERT_GE(writer.descriptor, 0);
  }
  for (int piece = 0; piece < pieces; ++piece) {
    for (Writer& writer : writers) {
      const std::size_t begin = writer.bytes.size() * static_cast<std::size_t>(piece) / pieces;
      const std::size_t end = writer.bytes.size() * static_cast<std::size_t>(piece + 1) / pieces;
      ASSERT_EQ(::write(writer.descriptor, writer.bytes.data() + begin, end - begin),
                static_cast<ssize_t>(end - begin));
      // Some writers open their file anew for every piece.
      if (piece + 1 < pieces && random() % 3 == 0) {
        ::close(writer.descriptor);
        writer.descriptor = ::open(writer.path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
        ASSERT_GE(writer.descriptor, 0) << "the file has been taken away";
      }
    }
    sleep_for(0.35);
    for (const Writer& writer : writers) {
      ASSERT_EQ(read_file(writer.path).size(), writer.bytes.size() * static_cast<std::size_t>(piece + 1) / pieces);
      ASSERT_FALSE(fs::exists(target_of(writer.path.string())));
    }
  }
  for (Writer& writer : writers) ::close(writer.descriptor);
  for (const Writer& writer : writers) {
    EXPECT_TRUE(eventually(20, [&] { return !fs::exists(writer.path); })) << writer.path;
    const std::string target = read_file(target_of(writer.path.string()));
    if (!writer.converted.empty()) {
      EXPECT_EQ(target, writer.converted);
    } else {
      EXPECT_FALSE(target.empty());
    }
  }
  expect_clean_end(converter);
}

// Killed at random instants, again and again, until the tree is done.
TEST_F(Watching, LosesNothingWhenItIsKilled) {
  const std::uint64_t seed = number_from("MSRUN_CHAOS_SEED", std::random_device{}());
  const std::uint64_t rounds = number_from("MSRUN_CHAOS_ROUNDS", 10);
  std::cout << "MSRUN_CHAOS_SEED=" << seed << '\n';
  std::mt19937_64 random(seed);
  Files sources;
  for (int i = 0; i < 150; ++i) {
    const std::string folder = std::to_string(i % 5) + "/";
    const std::vector<float> values(i % 50 == 0 ? 100'000 : 10, static_cast<float>(i));
    sources[folder + std::to_string(i) + ".npy"] = npy_file(values);
    sources[folder + "Add.a" + std::to_string(i) + ".1.2.3"] = ge_file(values);
  }
  const auto fill = [&] {
    fs::remove_all(tree());
    for (const auto& [path, bytes] : sources) {
      fs::create_directories((tree() / path).parent_path());
      write_file(tree() / path, bytes);
    }
  };
  fill();
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(convert_once(tree(), scratch_.path()).exit_code, 0);
  const double whole = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const Files expected = files_in(tree());
  ASSERT_EQ(expected.size(), sources.size());
  fill();
  const auto begun = [&] {
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(tree())) {
      if (entry.path().filename().string().find("_min_max.np") != std::string::npos) return true;
    }
    return false;
  };
  std::uint64_t in_the_middle = 0;  // kills that found something done and something to do
  for (std::uint64_t round = 0; round < rounds; ++round) {
    SCOPED_TRACE("round " + std::to_string(round) + " of seed " + std::to_string(seed));
    Process converter({tree().string(), "--once", "--settle", "0"}, scratch_.path(), {}, convert_program);
    if (round % 2 == 0) {
      sleep_for(std::uniform_real_distribution<>(0, 0.7 * whole)(random));
    } else {
      while (converter.running() && !begun()) sleep_for(0.0002);
      sleep_for(std::uniform_real_distribution<>(0, 0.3 * whole)(random));
    }
    converter.signal(SIGKILL);
    const Finished run = converter.wait();
    ASSERT_THAT(run.exit_code, ::testing::AnyOf(0, 128 + SIGKILL));
    ASSERT_TRUE(nothing_is_lost(sources, expected, tree()));
    const Files found = files_in(tree());
    const auto is_source = [&](const auto& file) { return sources.contains(file.first); };
    const auto left = std::count_if(found.begin(), found.end(), is_source);
    if (left > 0 && begun()) ++in_the_middle;
    // Every few kills the rest is done in peace, and nothing of the dead ones is left.
    if (left == 0 || random() % 4 == 0) {
      ASSERT_EQ(convert_once(tree(), scratch_.path()).exit_code, 0);
      ASSERT_EQ(files_in(tree()), expected);
      fill();
    }
  }
  std::cout << rounds << " kills, " << in_the_middle << " of them in the middle of the work\n";
  EXPECT_GT(in_the_middle, 0);
}

}  // namespace
}  // namespace msrun::testing
