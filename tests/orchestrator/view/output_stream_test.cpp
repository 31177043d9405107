// What waits for a reader, what is left out, and what is said about it.
#include "orchestrator/view/output_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <memory>
#include <thread>

#include "kernels/base/clock.h"
#include "kernels/base/unique_fd.h"

namespace msrun {
namespace {

class OutputStreamTest : public ::testing::Test {
 protected:
  OutputStreamTest() {
    std::signal(SIGPIPE, SIG_IGN);
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    read_.reset(ends[0]);
    write_.reset(ends[1]);
    fcntl(read_.get(), F_SETFL, O_NONBLOCK);
  }

  std::unique_ptr<OutputStream> stream(std::size_t capacity) const {
    return std::make_unique<OutputStream>(
        write_.get(), "stdout", [](std::uint64_t lines) { return "(gap of " + std::to_string(lines) + ")\n"; },
        capacity);
  }

  // What is in the pipe now.
  std::string taken() const {
    std::string text;
    std::array<char, 4096> bytes;
    for (ssize_t count; (count = read(read_.get(), bytes.data(), bytes.size())) > 0;) {
      text.append(bytes.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

  // Fills the pipe through the stream, which then is not behind.
  static std::string fill(OutputStream& out) {
    std::string all;
    while (true) {
      const std::string line = std::string(4095, '.') + "\n";
      out << line << std::flush;
      all += line;
      if (out.is_behind()) return all;
    }
  }

  UniqueFd read_;
  UniqueFd write_;
};

TEST_F(OutputStreamTest, PrintsAtOnceWhatTheReaderTakes) {
  const auto out = stream(1000);
  *out << "a" << 1 << '\n';
  EXPECT_EQ(taken(), "");
  *out << std::flush;
  EXPECT_EQ(taken(), "a1\n");
  EXPECT_FALSE(out->is_behind());
  EXPECT_EQ(out->problem(), "");
}

TEST_F(OutputStreamTest, KeepsTheRestForLater) {
  const auto out = stream(1 << 20);
  std::string all = fill(*out);
  *out << "one\n" << std::flush << "two\n" << std::flush;
  all += "one\ntwo\n";
  std::string text = taken();
  EXPECT_LT(text.size(), all.size());
  out->drain();
  text += taken();
  EXPECT_EQ(text, all);
  EXPECT_FALSE(out->is_behind());
  EXPECT_EQ(out->lost_lines(), 0U);
}

TEST_F(OutputStreamTest, LeavesOutWholeUnitsBeyondItsCapacityAndSaysSo) {
  const auto out = stream(10000);
  std::string all = fill(*out);
  for (int i = 0; i < 1000; ++i) *out << "line " << i << "\nits second line " << i << "\n" << std::flush;
  EXPECT_GT(out->lost_lines(), 100U);
  std::string text;
  for (int i = 0; i < 10; ++i) {
    text += taken();
    out->drain();
  }
  *out << "after\n" << std::flush;
  text += taken();
  ASSERT_EQ(text.substr(0, all.size()), all);
  const std::string rest = text.substr(all.size());
  const std::string end = "(gap of " + std::to_string(out->lost_lines()) + ")\nafter\n";
  ASSERT_TRUE(rest.ends_with(end)) << rest;
  EXPECT_EQ(rest.substr(0, 7), "line 0\n");
  // No line without the one that belongs to it.
  const std::string before = rest.substr(0, rest.size() - end.size());
  EXPECT_EQ(std::count(before.begin(), before.end(), '\n') % 2, 0);
  EXPECT_EQ(out->problem(),
            "stdout: " + std::to_string(out->lost_lines()) + " lines could not be written (nobody read them in time).");
}

TEST_F(OutputStreamTest, WaitsAtTheEndForAReaderThatReads) {
  const auto out = stream(1 << 20);
  std::string all = fill(*out);
  const std::string more(500000, 'm');
  *out << more << '\n' << std::flush;
  all += more + "\n";
  std::string text;
  std::thread reader([&] {
    const double deadline = steady_seconds() + 20;
    while (text.size() < all.size() && steady_seconds() < deadline) {
      text += taken();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  out->finish(10);
  reader.join();
  EXPECT_EQ(text, all);
  EXPECT_EQ(out->lost_lines(), 0U);
}

TEST_F(OutputStreamTest, GivesUpAReaderThatDoesNot) {
  const auto out = stream(1 << 20);
  fill(*out);
  *out << "one\ntwo\n" << std::flush;
  const double start = steady_seconds();
  out->finish(0.2);
  EXPECT_GE(steady_seconds() - start, 0.15);
  EXPECT_GE(out->lost_lines(), 2U);
  EXPECT_FALSE(out->is_behind());
  // A signal ends the waiting.
  fill(*out);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd stop(ends[0]);
  const UniqueFd stopper(ends[1]);
  ASSERT_EQ(write(stopper.get(), "x", 1), 1);
  out->finish(1000, stop.get());
  EXPECT_FALSE(out->is_behind());
}

TEST_F(OutputStreamTest, AReaderThatHasGoneLosesNothing) {
  const auto out = stream(1000);
  read_.reset();
  *out << "x\n" << std::flush;
  *out << "y\n" << std::flush;
  EXPECT_FALSE(out->is_behind());
  EXPECT_EQ(out->problem(), "");
}

TEST_F(OutputStreamTest, AFullDeviceIsTold) {
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  OutputStream out(full.get(), "stdout", [](std::uint64_t) { return "\n"; });
  out << "x\n" << std::flush;
  EXPECT_EQ(out.problem(), "stdout: 1 line could not be written (No space left on device).");
  out << "y\n" << std::flush;
  EXPECT_EQ(out.lost_lines(), 2U);
}

}  // namespace
}  // namespace msrun
