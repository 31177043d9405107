#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "orchestrator/command/command_line.h"
#include "orchestrator/command/recorded_options.h"
#include "runner/results/recorded_option.h"

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
  for (const Options& options : runs) {
    const std::string line = reproduce_command(options) + " ";
    for (const OptionWords& words : recorded_options(options)) {
      const bool is_input = is_input_path(words.front());
      EXPECT_EQ(line.find(" " + words.front() + " ") != std::string::npos, is_input || decides_results(words.front()))
          << words.front();
    }
  }
}

// The header of a journal is data: what stands in it and no run would note is not read as an option.
TEST(RecordedOptions, OfEveryRunAreThoseThatAJournalMayHold) {
  const Options options = parse_with_input({"--backend",
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
                                            "--allow-outside-data",
                                            "-config",
                                            "c.json",
                                            "--only",
                                            "a",
                                            "--except",
                                            "b",
                                            "-f",
                                            "--filter-compat",
                                            "--across-ranks",
                                            "values",
                                            "--steal",
                                            "--leases",
                                            "4",
                                            "--lease-timeout",
                                            "9",
                                            "-save_error_data",
                                            "--titles",
                                            "en",
                                            "--no-report",
                                            "--fail-on",
                                            "error",
                                            "-n",
                                            "2",
                                            "-d",
                                            "0",
                                            "1",
                                            "--same-on-all",
                                            "--task-timeout",
                                            "5",
                                            "--retries",
                                            "1",
                                            "--max-device-failures",
                                            "2",
                                            "--max-failures",
                                            "3",
                                            "--memory",
                                            "1G",
                                            "--core-dumps",
                                            "--affinity",
                                            "none",
                                            "--durability",
                                            "power",
                                            "--require-device",
                                            "--repeat",
                                            "2",
                                            "--junit",
                                            "j.xml"});
  const RunHeader header{{"arguments", recorded_options(options)}};
  EXPECT_EQ(checked_options(header, "j"), recorded_options(options));
  for (const OptionWords& words : recorded_options(options)) EXPECT_NE(words.front(), "--junit");
}

TEST(RecordedOptions, ThatNoRunNotesAreAnError) {
  for (const char* forged :
       {R"([["--help"]])", R"([["--version"]])", R"([["--list-apis"]])", R"([["--junit", "f"]])", R"([["-o", "f"]])",
        R"([["--python=/f"]])", R"([["--no-such-option"]])", R"([["--seed", "1", "--junit", "f"]])",
        R"([["-d", "0", "--junit=f"]])", R"([["-f", "1"]])", R"([["--seed"]])", R"([["--seed", 1]])", R"([[]])",
        R"(["--seed", "1"])", R"([{"--seed": "1"}])", R"([["-csv_path", "f"]])", R"([["run_overflow_check"]])"}) {
    const RunHeader header{{"arguments", RunHeader::parse(forged)}};
    EXPECT_THROW(checked_options(header, "j"), UserError) << forged;
  }
  EXPECT_EQ(checked_options(RunHeader::object(), "j"), std::nullopt);
}

TEST(RecordedOptions, OfProgramsLibrariesAndConfigurationsAreGivenAgain) {
  for (const OptionWords& words : std::vector<OptionWords>{
           {"--python", "p"}, {"-config", "c"}, {"--backend", "plugin:/f.so"}, {"--backend", "plugin"}}) {
    EXPECT_TRUE(is_given_again(words)) << words.back();
  }
  for (const OptionWords& words :
       std::vector<OptionWords>{{"--backend", "torch:npu"}, {"--seed", "1"}, {"-api_info", "plugin:f"}}) {
    EXPECT_FALSE(is_given_again(words)) << words.back();
  }
}

}  // namespace
}  // namespace msrun
