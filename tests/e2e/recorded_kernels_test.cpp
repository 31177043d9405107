// Recordings of calls as kernels of accelerators compute them: tiled, split and online, with atomics in any order. What
// is sound is not accused, whatever has recorded it; what has a fault is found.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"

namespace msrun::testing {
namespace {

class RecordedKernels : public ::testing::Test {
 protected:
  // The kernels, by their labels, whose calls are suspicious or are not.
  std::multiset<std::string> kernels(const std::string& folder, bool suspicious,
                                     const std::vector<std::string>& options = {}) {
    const fs::path recording = fs::path(test_data("/kernels")) / folder;
    const auto labels = nlohmann::json::parse(read_file(recording.parent_path() / "labels.json"));
    std::vector<std::string> words{
        "-api_info", recording / "dump.json", "-o",  out_ / folder, "--backend", "recorded", "-n",
        "2",         "--message-format",      "json"};
    words.insert(words.end(), options.begin(), options.end());
    const Finished run = msrun(words, out_.path());
    EXPECT_EQ(run.exit_code, 0) << run.err;
    std::multiset<std::string> found;
    std::istringstream events(run.out);
    for (std::string line; std::getline(events, line);) {
      const auto event = nlohmann::json::parse(line);
      if (event.at("type") != "api_result") continue;
      ++calls_;
      EXPECT_EQ(event.at("outcome"), "checked") << line;
      const std::string name = event.at("name");
      if (event.at("suspicious") == suspicious)
        found.insert(name + ", " + labels.at(folder + "/" + name).get<std::string>());
    }
    return found;
  }

  static std::string text(const std::multiset<std::string>& kernels) {
    std::string text;
    for (const std::string& kernel : kernels) text += kernel + "\n";
    return text;
  }

  TemporaryDirectory out_;
  std::size_t calls_ = 0;
};

TEST_F(RecordedKernels, AreNotAccused) {
  const std::multiset<std::string> accused = kernels("sound", true);
  EXPECT_TRUE(accused.empty()) << text(accused);
  EXPECT_GT(calls_, 180U);
}

TEST_F(RecordedKernels, AreFoundWhereTheyHaveAFault) {
  const std::multiset<std::string> missed = kernels("faulty", false);
  // These change nothing that the half type shows: a tail that is padded beside large scores, a second tile without a
  // larger score, a gelu by another formula.
  EXPECT_LE(missed.size(), 10U) << text(missed);
  EXPECT_GT(calls_, 200U);
}

// Sums that stand still, lost tiles and means of half a row are no rounding on a processor either.
TEST_F(RecordedKernels, AreFoundOnAProcessorWhereTheyLieOtherwiseThanRounding) {
  const std::multiset<std::string> missed = kernels("faulty", false, {"--recorded-on", "cpu"});
  EXPECT_LE(missed.size(), 60U) << text(missed);
}

}  // namespace
}  // namespace msrun::testing
