#include "runner/results/deciding_options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "orchestrator/command/command_line.h"
#include "orchestrator/command/recorded_options.h"

namespace msrun {
namespace {

Options parse_with_input(std::vector<const char*> words) {
  words.insert(words.begin(), {"msrun", "-api_info", "dump.json"});
  return std::get<Options>(parse_command_line(static_cast<int>(words.size()), words.data()));
}

// Others take the options of a run that decide about its results from its journal.
TEST(DecidingOptions, AreThoseThatALineToRunACallAgainRepeats) {
  const std::vector<Options> runs{
      parse_with_input({"--backend",
                        "torch:cpu",
                        "--python",
                        "/p",
                        "--torch-lanes",
                        "3",
                        "--torch-workers",
                        "2",
                        "-j",
                        "--seed",
                        "1",
                        "--seed-mode",
                        "stream",
                        "--standard",
                        "current",
                        "--max-abs-err",
                        "0.5",
                        "--limits",
                        "documented",
                        "--compat",
                        "msprobe",
                        "--allow-outside-data"}),
      parse_with_input({"--backend", "sim", "--sim-fault", "*=ftz", "--benchmark", "sampled"}),
      parse_with_input({"--backend", "recorded", "--recorded-on", "npu"}), parse_with_input({"--layout", "att"}),
      parse_with_input({"--compat", "att"})};
  std::set<std::string_view> seen;
  for (const Options& options : runs) {
    for (const OptionWords& words : recorded_options(options)) {
      const std::string line = reproduce_command(options);
      if (line.find(" " + words.front() + " ") == std::string::npos && !line.ends_with(" " + words.front())) continue;
      const auto found = std::ranges::find(deciding_options, words.front());
      if (words.front() == "-api_info") continue;
      ASSERT_NE(found, deciding_options.end()) << words.front();
      seen.insert(*found);
    }
  }
  for (const std::string_view option : deciding_options) {
    const bool elsewhere = option == "-config" || option == "--task-timeout" || option == "--memory";
    EXPECT_EQ(seen.contains(option), !elsewhere) << option;
  }
}

}  // namespace
}  // namespace msrun
