#include "kernels/base/command_line/completion.h"

#include <algorithm>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/text.h"

namespace msrun {
namespace {

std::vector<const Option*> options_of(const CommandDescription& command) {
  std::vector<const Option*> options;
  for (const OptionGroup& group : command.groups) {
    for (const Option& option : group.options) options.push_back(&option);
  }
  for (const Option& option : common_options()) options.push_back(&option);
  return options;
}

// The commands and tools that the help of a command lists.
std::vector<HelpLine> words_of(const CommandDescription& command) {
  std::vector<HelpLine> words;
  for (const HelpSection& section : command.sections) {
    if (section.title != "Commands" && !section.title.starts_with("Tools")) continue;
    words.insert(words.end(), section.lines.begin(), section.lines.end());
  }
  return words;
}

// In single quotes, for any of the three.
std::string single_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

// In fish a backslash escapes within single quotes, too.
std::string fish_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  return result + "'";
}

std::string bash_table(const CommandDescription& command, std::string_view name) {
  std::string options;
  for (const Option* option : options_of(command)) {
    for (const std::string_view spelling : spellings(*option)) (options += options.empty() ? "" : " ") += spelling;
  }
  std::string words;
  for (const HelpLine& word : words_of(command)) (words += words.empty() ? "" : " ") += word.left;
  std::string table = "_msrun_options[" + single_quoted(name) + "]=" + single_quoted(options) + "\n";
  if (!words.empty()) table += "_msrun_words[" + single_quoted(name) + "]=" + single_quoted(words) + "\n";
  return table;
}

// Brackets and colons have a meaning in a specification of _arguments.
std::string zsh_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh_table(const CommandDescription& command, std::string_view name) {
  std::string key(name);
  std::ranges::replace(key, ' ', '_');
  std::string table = "typeset -ga _msrun_options_" + key + " _msrun_words_" + key + "\n_msrun_options_" + key + "=(\n";
  for (const Option* option : options_of(command)) {
    for (const std::string_view spelling : spellings(*option)) {
      const std::string value = option->takes == Takes::nothing ? "" : ":value:_files";
      table += "  " + single_quoted("*" + std::string(spelling) + "[" + zsh_text(option->help) + "]" + value) + "\n";
    }
  }
  table += ")\n_msrun_words_" + key + "=(\n";
  for (const HelpLine& word : words_of(command)) {
    table += "  " + single_quoted(word.left + ":" + word.right) + "\n";
  }
  return table + ")\n";
}

std::string fish_table(const CommandDescription& command, std::string_view name) {
  const std::string program(name.substr(0, name.find(' ')));
  const bool is_subcommand = name.find(' ') != std::string_view::npos;
  const std::string subcommand(is_subcommand ? name.substr(name.find(' ') + 1) : "");
  std::string start = "complete -c " + program;
  if (is_subcommand) start += " -n '__fish_seen_subcommand_from " + subcommand + "'";
  std::string table;
  for (const HelpLine& word : words_of(command)) {
    table += start + " -n __fish_use_subcommand -a " + word.left + " -d " + fish_quoted(word.right) + "\n";
  }
  // Behind the word of a tool its options are meant.
  if (!is_subcommand && !words_of(command).empty()) start += " -n __" + program + "_takes_its_own_options";
  for (const Option* option : options_of(command)) {
    table += start;
    for (const std::string_view spelling : spellings(*option)) {
      const std::string_view bare = spelling.substr(spelling.find_first_not_of('-'));
      table += spelling.starts_with("--") ? " -l " : bare.size() == 1 ? " -s " : " -o ";
      table += bare;
    }
    table += (option->takes == Takes::nothing ? " -d " : " -r -d ") + fish_quoted(option->help) + "\n";
  }
  return table;
}

}  // namespace

std::string completion_table(const CommandDescription& command, std::string_view shell, std::string_view name) {
  if (shell == "bash") return bash_table(command, name);
  if (shell == "zsh") return zsh_table(command, name);
  if (shell == "fish") return fish_table(command, name);
  throw UserError("there is no completion for " + shell_quoted(sanitised(shell)) + ", but for bash, zsh and fish");
}

}  // namespace msrun
