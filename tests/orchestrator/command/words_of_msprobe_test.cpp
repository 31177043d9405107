// What msrun makes of the words that a user of msProbe writes: other names, commands that it lacks, and a recording
// without the option it belongs to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orchestrator/command/command_line.h"
#include "tests/support/error_of.h"

namespace msrun {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

ParsedCommandLine parsed(std::vector<const char*> words) {
  words.insert(words.begin(), "msrun");
  return parse_command_line(static_cast<int>(words.size()), words.data());
}

std::string refusal_of(const std::vector<const char*>& words) {
  return testing::error_of<UserError>([&] { parsed(words); });
}

// msProbe's newest versions have no other name for it.
TEST(WordsOfMsprobe, GraphsHaveTwoNames) {
  for (const char* word : {"graph", "graph_visualize"}) {
    const auto request = std::get<ToolRequest>(parsed({"-f", "mindspore", word, "-tp", "a"}));
    EXPECT_STREQ(request.tool->executable, "graph");
    EXPECT_THAT(request.arguments, ElementsAre("--framework", "mindspore", "-tp", "a"));
  }
  EXPECT_THAT(refusal_of({"graph_visualise"}), HasSubstr("did you mean graph_visualize?"));
}

TEST(WordsOfMsprobe, CommandsThatStayWithMsprobeAreRefusedByName) {
  EXPECT_THAT(
      refusal_of({"merge_result", "-i", "a", "-o", "b"}),
      AllOf(HasSubstr("merge_result is msProbe's alone: "), HasSubstr("msrun compare takes the folders above")));
  for (const char* word : {"config_check", "data2db", "offline_dump", "install_deps"}) {
    EXPECT_THAT(refusal_of({"-f", "pytorch", word}), HasSubstr(std::string(word) + " is msProbe's alone: ")) << word;
  }
}

TEST(WordsOfMsprobe, ARecordingWithoutItsOptionIsToldWhereItBelongs) {
  const std::string hint = ", did you mean -api_info dump.json?";
  EXPECT_EQ(refusal_of({"dump.json"}), "unknown command dump.json" + hint);
  EXPECT_EQ(refusal_of({"acc_check", "dump.json"}), "unexpected argument dump.json" + hint);
  EXPECT_EQ(refusal_of({"run_overflow_check", "dump.json"}), "unexpected argument dump.json" + hint);
  EXPECT_EQ(refusal_of({"-o", "out", "dump.json"}), "unexpected argument dump.json" + hint);
  EXPECT_EQ(refusal_of({"/usr"}), "unknown command /usr, did you mean -api_info /usr?") << "a folder is one, too";
  EXPECT_EQ(refusal_of({"acc_check", "-api_info", "d", "more"}), "unexpected argument more");
}

}  // namespace
}  // namespace msrun
