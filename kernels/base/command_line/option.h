// The command line of a program or of one of its commands as data: options with their help texts, groups, examples and
// exit codes. Parsing (arguments.h) and the text of --help (help.h) both come from it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/exit_code.h"

namespace msrun {

// What follows an option. Options that take values or one value each time may be given more than once.
enum class Takes : std::uint8_t { nothing, one_value, optional_value, values, one_value_each_time };

// One option, written as the help shows it: all of its spellings, then what it takes, as in "-o, --out_path DIR". Every
// spelling is accepted with one dash or two, with '-' or '_' between its words, and with its value as the next word or
// behind '='. Messages name the option by its first spelling.
struct Option {
  std::string_view written;
  std::string_view help;
  Takes takes = Takes::nothing;
};

// Groups in a row that have one title are one group of the help. The options must outlive whoever parses with them.
struct OptionGroup {
  std::string_view title;
  std::span<const Option> options;
};

// Two columns of text below a title.
struct HelpLine {
  std::string left;
  std::string right;
};
struct HelpSection {
  std::string title;
  std::vector<HelpLine> lines;
};

struct ExitMeaning {
  ExitCode code;
  std::string_view meaning;
};

struct CommandDescription {
  std::string_view program;                // as it is called: "tensor_compare", "msrun journal"
  std::string_view summary;                // what it does, one or two sentences
  std::vector<std::string_view> usage;     // the forms of the call
  std::vector<HelpSection> sections;       // examples, commands: printed before the options
  std::vector<OptionGroup> groups;         // --help and --version are added to them
  std::string_view note;                   // a paragraph behind the options; may be empty
  std::vector<ExitMeaning> exit_meanings;  // by rising code
  std::size_t most_operands = 0;           // how many words that are no option it takes
  std::string_view operands;               // what they are, for who gives more: "one file"; may be empty
  std::string_view input_option;           // before which a file belongs that is given without one; may be empty
};

// --help and --version, which every command has.
std::span<const Option> common_options();

// Whether a word looks like the input of a command: it ends as a recording does, or something there has its name.
bool may_name_input(const std::string& word);

// "-o" and "--out_path" of "-o, --out_path DIR".
std::vector<std::string_view> spellings(const Option& option);

}  // namespace msrun
