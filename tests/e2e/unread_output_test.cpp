// Output that nobody reads: the run goes on, heeds signals and time limits, and ends.
#include <fcntl.h>
#include <gmock/gmock.h>

#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/spawned_process.h"
#include "tests/support/untouched.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

class Unread : public Untouched {
 protected:
  // A run whose standard output nobody reads.
  struct InFormat {
    std::string format;
    fs::path folder;
    FullPipe pipe = {};
    std::unique_ptr<SpawnedProcess> run = {};
  };

  std::vector<std::string> words(const std::vector<std::string>& more) const { return words(more, out()); }
  static std::vector<std::string> words(const std::vector<std::string>& more, const fs::path& folder) {
    std::vector<std::string> result{"-api_info", dump("llama_bf16"), "-n", "4", "-d", "0", "1", "-o", folder};
    result.insert(result.end(), more.begin(), more.end());
    return result;
  }

  // Both formats at once, because each run waits some seconds for a reader.
  std::vector<InFormat> in_both_formats(const std::vector<std::string>& more, bool errors_are_read) const {
    std::vector<InFormat> runs;
    for (const char* format : {"human", "json"}) {
      InFormat& one = runs.emplace_back(InFormat{.format = format, .folder = scratch_ / format});
      fs::create_directory(one.folder);
      std::vector<std::string> all = words(more, one.folder / "out");
      all.insert(all.end(), {"--message-format", format});
      const int pipe = one.pipe.descriptor();
      one.run =
          std::make_unique<SpawnedProcess>(all, SpawnedProcess::Outputs{pipe, errors_are_read ? -1 : pipe}, one.folder);
    }
    return runs;
  }

  static std::size_t rows(const fs::path& folder) {
    const fs::path result = csv_in(folder, "accuracy_checking_result_");
    return result.empty() ? 0 : read_csv(result).size();
  }
  std::size_t rows() const { return rows(out()); }
};

TEST_F(Unread, ARunComesToItsEndAndSaysWhatWasLost) {
  for (const InFormat& one : in_both_formats({}, true)) {
    EXPECT_EQ(one.run->wait(60), 0) << one.format;
    EXPECT_THAT(one.run->err(), ::testing::ContainsRegex("msrun: stdout: [0-9]+ lines could not be written"));
    EXPECT_EQ(rows(one.folder / "out"), 85U);
  }
}

TEST_F(Unread, TimeLimitsHold) {
  const std::vector<std::string> hanging{
      "--sim-fault", "Tensor.__mul__.0=hang", "--task-timeout", "2", "--retries", "0"};
  for (const InFormat& one : in_both_formats(hanging, false)) {
    EXPECT_TRUE(one.run->wait(60)) << "the run hangs";
    EXPECT_EQ(rows(one.folder / "out"), 85U);
  }
}

TEST_F(Unread, SignalsAreHeeded) {
  const std::vector<InFormat> runs = in_both_formats({"--sim-fault", "Tensor.__mul__.0=hang"}, false);
  for (const InFormat& one : runs) {
    ASSERT_TRUE(eventually(30, [&] { return rows(one.folder / "out") >= 80; }));
    one.run->signal(SIGTERM);
  }
  for (const InFormat& one : runs) EXPECT_EQ(one.run->wait(15), 3) << one.format;
  EXPECT_TRUE(eventually(5, [&] { return processes_with(scratch_.path().string()) == 0; }));
}

TEST_F(Unread, ASecondCtrlCStopsAtOnce) {
  FullPipe pipe;
  SpawnedProcess run(words({"--sim-fault", "Tensor.__mul__.0=hang"}), {pipe.descriptor(), -1}, scratch_.path());
  ASSERT_TRUE(eventually(30, [&] { return rows() >= 80; }));
  run.signal(SIGINT);
  EXPECT_FALSE(run.wait(1));
  run.signal(SIGINT);
  EXPECT_EQ(run.wait(10), 3);
}

// A terminal that was stopped with Ctrl-S looks like one whose screen nobody reads.
TEST_F(Unread, AStoppedTerminalHoldsNothingUp) {
  Terminal terminal(80);
  terminal.fill();
  SpawnedProcess run(words({"--message-format", "json"}), {terminal.descriptor(), terminal.descriptor()},
                     scratch_.path());
  EXPECT_EQ(run.wait(60), 0);
  EXPECT_EQ(rows(), 85U);
}

// A reader that comes late misses nothing.
TEST_F(Unread, WhatWaitsIsDeliveredOnceSomebodyReads) {
  FullPipe pipe;
  SpawnedProcess run(words({"--message-format", "json"}), {pipe.descriptor(), -1}, scratch_.path());
  ASSERT_TRUE(eventually(30, [&] { return rows() == 85; }));
  std::string text;
  EXPECT_TRUE(eventually(30, [&] {
    text += pipe.read();
    return !run.running();
  }));
  text += pipe.read();
  EXPECT_EQ(run.wait(0), 0);
  EXPECT_EQ(run.err().find("could not be written"), std::string::npos) << run.err();
  std::istringstream lines(text.substr(text.find('{')));
  std::size_t results = 0;
  for (std::string line; std::getline(lines, line);) {
    if (nlohmann::json::parse(line)["type"] == "api_result") ++results;
  }
  EXPECT_EQ(results, 84U);
}

// The standard descriptors stay as they are for those who share them.
TEST_F(Unread, ThePipeItselfStaysAsItIs) {
  FullPipe pipe;
  SpawnedProcess run(words({}), {pipe.descriptor(), -1}, scratch_.path());
  EXPECT_EQ(run.wait(60), 0);
  EXPECT_EQ(fcntl(pipe.descriptor(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(Unread, WhatCannotBePrintedIsNoSuccess) {
  OutputEnd full("/dev/full");
  for (const char* what :
       {"--list-apis", "--list-standards", "--list-judgement", "--list-faults", "--help", "--version"}) {
    SpawnedProcess run({what}, {full.descriptor(), -1}, scratch_.path());
    EXPECT_EQ(run.wait(30), 2) << what;
    EXPECT_THAT(run.err(), HasSubstr("stdout cannot be written: No space left on device."));
  }
}

}  // namespace
}  // namespace msrun::testing
