// The front end of every command: how options are read, what is said of wrong ones, and how help is laid out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <sstream>
#include <stdexcept>

#include "kernels/base/command_line/arguments.h"
#include "kernels/base/command_line/help.h"
#include "kernels/base/command_line/suggestion.h"

namespace msrun {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto things = std::to_array<Option>({
    {"-o, --out_path DIR", "where it goes", Takes::one_value},
    {"-n, --number N", "how many", Takes::one_value},
    {"--only GLOB", "which ones; repeatable", Takes::one_value_each_time},
    {"-d, --device ID...", "device ids", Takes::values},
    {"-j, --jit [YES]", "with or without a word", Takes::optional_value},
});
constexpr auto switches = std::to_array<Option>({
    {"-f, --filter_api",
     "a switch whose help is so long that it takes more than one line of the text, as the help of "
     "some options does that have much to tell about what they do and what they do not do"},
    {"--an_option_with_a_very_long_name_indeed WORD", "on the next line", Takes::one_value},
});

CommandDescription thing() {
  CommandDescription command;
  command.program = "thing";
  command.summary = "thing does what a thing does.";
  command.usage = {"thing FILE [OPTIONS]", "thing --only GLOB"};
  command.sections = {{"Examples", {{"thing a.txt -o out", "from a.txt"}, {"thing b.txt", "from b.txt"}}}};
  command.groups = {{"Things", things}, {"Switches", switches}};
  command.exit_meanings = {{exit_completed, "done"}, {exit_usage, "wrong usage"}};
  command.most_operands = 2;
  command.operands = "two files";
  return command;
}

Arguments parsed(const std::vector<std::string>& words) { return std::get<Arguments>(parse_arguments(thing(), words)); }

std::string error(const std::vector<std::string>& words) {
  try {
    parse_arguments(thing(), words);
  } catch (const UserError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Arguments, EverySpellingOfAnOption) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{{"-o", "x"},
                                                                                     {"--o", "x"},
                                                                                     {"-o=x"},
                                                                                     {"--out_path", "x"},
                                                                                     {"-out_path", "x"},
                                                                                     {"--out-path=x"},
                                                                                     {"-out-path=x"}}) {
    EXPECT_EQ(parsed(words).text("out_path"), "x") << words.front();
    EXPECT_EQ(parsed(words).text("o"), "x");
  }
  EXPECT_EQ(parsed({"-n32"}).text("number"), "32");
  EXPECT_EQ(parsed({"-n", "-3"}).text("number"), "-3");
  EXPECT_EQ(parsed({"-o", "-"}).text("o"), "-");
  EXPECT_EQ(parsed({"-o="}).text("o", "fallback"), "");
  EXPECT_EQ(parsed({}).text("o", "fallback"), "fallback");
}

TEST(Arguments, ValuesAndOperands) {
  const Arguments all = parsed({"a", "--only", "x", "-d", "0", "1", "-2", "--only=y", "--", "-b"});
  EXPECT_THAT(all.texts("only"), ElementsAre("x", "y"));
  EXPECT_THAT(all.texts("device"), ElementsAre("0", "1", "-2"));
  EXPECT_THAT(all.operands(), ElementsAre("a", "-b"));
  EXPECT_FALSE(all.given("filter_api"));
  EXPECT_TRUE(parsed({"-f"}).given("filter-api"));
  EXPECT_THAT(parsed({"-d=1", "2", "-d", "3"}).texts("d"), ElementsAre("1", "2", "3"));
  const Arguments alone = parsed({"-j", "-f"});
  EXPECT_TRUE(alone.given("jit"));
  EXPECT_THAT(alone.texts("jit"), IsEmpty());
  EXPECT_EQ(parsed({"-j", "word"}).text("jit"), "word");
  EXPECT_THROW(static_cast<void>(alone.given("no_such_option")), std::logic_error);
}

TEST(Arguments, SaysWhatIsWrong) {
  EXPECT_EQ(error({"-o"}), "-o needs a value");
  EXPECT_EQ(error({"--out_path", "-f"}), "-o needs a value");
  EXPECT_EQ(error({"-f=yes"}), "-f takes no value");
  EXPECT_EQ(error({"-f", "--filter_api"}), "-f is given more than once");
  EXPECT_EQ(error({"a", "b", "c d"}), "unexpected argument 'c d': thing takes two files");
  EXPECT_EQ(error({"--outpath", "x"}), "unknown option --outpath, did you mean --out_path?");
  EXPECT_EQ(error({"--filter"}), "unknown option --filter, did you mean --filter_api?");
  EXPECT_EQ(error({"-verison"}), "unknown option -verison, did you mean --version?");
  EXPECT_EQ(error({"-zz"}), "unknown option -zz (thing -h lists all options)");
  EXPECT_EQ(error({"--zz\n\x1b[31mz"}), "unknown option --zz__[31mz (thing -h lists all options)");
}

TEST(Arguments, ChecksValues) {
  const auto wrong = [](const auto& action) {
    try {
      action();
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const Arguments arguments = parsed({"-n", "7", "-o", "b\tc"});
  EXPECT_EQ(arguments.number("number", 1, 0, 9), 7);
  EXPECT_EQ(parsed({}).number("number", 1, 5, 9), 1);
  EXPECT_EQ(wrong([&] { arguments.number("number", 1, 0, 6); }), "-n must be a number from 0 to 6, not 7");
  EXPECT_EQ(wrong([&] { arguments.number("number", 1.0, 0.0, 0.5); }), "-n must be a number from 0 to 0.5, not 7");
  EXPECT_EQ(wrong([&] { arguments.number("number", 1.0, 10.0, 1e6); }),
            "-n must be a number from 10 to 1000000, not 7");
  EXPECT_EQ(wrong([&] { parsed({"-n", "1x"}).number("n", 1, 0, 6); }), "-n must be a number from 0 to 6, not 1x");
  EXPECT_EQ(arguments.filled("n"), "7");
  EXPECT_EQ(wrong([&] { parsed({"--only="}).filled("only"); }), "--only needs a value");
  EXPECT_EQ((arguments.choice<int>("only", 3, {{"a", 1}})), 3);
  EXPECT_EQ(wrong([&] { arguments.choice<int>("o", 3, {{"a", 1}, {"b", 2}}); }), "-o must be one of a, b, not b_c");
}

TEST(Arguments, HelpAndVersionComeFirst) {
  const auto text = [](const std::vector<std::string>& words) {
    return std::get<PrintAndExit>(parse_arguments(thing(), words)).text;
  };
  for (const char* word : {"-h", "--help", "-help"}) EXPECT_EQ(text({"--nonsense", word}), help_text(thing()));
  for (const char* word : {"--version", "-version"}) EXPECT_EQ(text({"a", "b", "c", word}), "thing 0.2.0\n");
  EXPECT_THAT(parsed({"--", "-h"}).operands(), ElementsAre("-h"));
}

TEST(Help, IsLaidOutInGroups) {
  EXPECT_EQ(help_text(thing()),
            R"(thing does what a thing does.

Usage: thing FILE [OPTIONS]
       thing --only GLOB

Examples:
  thing a.txt -o out  from a.txt
  thing b.txt         from b.txt

Things:
  -o, --out_path DIR  where it goes
  -n, --number N      how many
  --only GLOB         which ones; repeatable
  -d, --device ID...  device ids
  -j, --jit [YES]     with or without a word

Switches:
  -f, --filter_api    a switch whose help is so long that it takes more than one line of the text, as the help of some
                      options does that have much to tell about what they do and what they do not do
  --an_option_with_a_very_long_name_indeed WORD
                      on the next line

Help:
  -h, --help          print this text
  --version           print the version

Exit codes:
  0  done
  2  wrong usage
)");
}

TEST(Suggestion, TakesTheNearestWord) {
  const std::vector<std::string> words{"journal", "compare", "convert", "acc_check", "run"};
  const auto nearest = [&](const char* word) {
    const auto found = nearest_word(word, words);
    return found ? words[*found] : "none";
  };
  EXPECT_EQ(nearest("jurnal"), "journal");
  EXPECT_EQ(nearest("comapre"), "compare");
  EXPECT_EQ(nearest("conv"), "convert");
  EXPECT_EQ(nearest("acc-check"), "acc_check");
  EXPECT_EQ(nearest("rnu"), "run");
  EXPECT_EQ(nearest("sum"), "none");
  EXPECT_EQ(nearest("x"), "none");
  EXPECT_EQ(nearest("unrelated"), "none");
}

}  // namespace
}  // namespace msrun
