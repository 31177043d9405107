#include "kernels/base/command_line/help.h"

#include <algorithm>

#include "kernels/base/text.h"
#include "kernels/base/version.h"

namespace msrun {

namespace {

constexpr std::size_t width = 118;
constexpr std::size_t indent = 2;
constexpr std::size_t gap = 2;                   // least room between two columns
constexpr std::size_t widest_left = 34;          // left columns above it have their right one on the next line
constexpr std::size_t widest_left_example = 72;  // command lines are longer

// Words of text in lines that begin at column, the first of which has been begun.
void append_wrapped(std::string& out, std::string_view text, std::size_t column) {
  std::size_t at = column;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t needed = display_width(word);
    if (!first && at + 1 + needed > width) {
      out += "\n" + std::string(column, ' ');
      at = column;
      first = true;
    }
    if (!first) out += ' ';
    at += needed + (first ? 0 : 1);
    out += word;
    first = false;
  }
  out += '\n';
}

// The column at which the right side begins.
std::size_t right_column(const std::vector<HelpLine>& lines, std::size_t widest) {
  std::size_t left = 0;
  for (const HelpLine& line : lines) {
    if (line.left.size() <= widest) left = std::max(left, line.left.size());
  }
  return indent + left + gap;
}

void append_lines(std::string& out, const std::vector<HelpLine>& lines, std::size_t column) {
  for (const HelpLine& line : lines) {
    out += std::string(indent, ' ') + line.left;
    if (line.right.empty()) {
      out += '\n';
      continue;
    }
    const std::size_t end = indent + line.left.size();
    out += end + gap > column ? "\n" + std::string(column, ' ') : std::string(column - end, ' ');
    append_wrapped(out, line.right, column);
  }
}

void append_section(std::string& out, const HelpSection& section) {
  out += "\n" + section.title + ":\n";
  const bool examples = section.title == "Examples";
  append_lines(out, section.lines, right_column(section.lines, examples ? widest_left_example : widest_left));
}

std::vector<HelpLine> option_lines(const OptionGroup& group) {
  std::vector<HelpLine> lines;
  for (const Option& option : group.options) lines.push_back({std::string(option.written), std::string(option.help)});
  return lines;
}

// All groups share one column.
void append_options(std::string& out, const std::vector<OptionGroup>& groups) {
  std::vector<HelpLine> all;
  for (const OptionGroup& group : groups) std::ranges::move(option_lines(group), std::back_inserter(all));
  const std::size_t column = right_column(all, widest_left);
  std::string_view title;
  for (const OptionGroup& group : groups) {
    if (group.title != title) out += "\n" + std::string(group.title) + ":\n";
    title = group.title;
    append_lines(out, option_lines(group), column);
  }
}

}  // namespace

std::string help_text(const CommandDescription& command) {
  std::string out;
  append_wrapped(out, command.summary, 0);
  constexpr std::string_view usage = "Usage: ";
  for (std::size_t i = 0; i < command.usage.size(); ++i) {
    out += i == 0 ? "\n" + std::string(usage) : std::string(usage.size(), ' ');
    out += std::string(command.usage[i]) + "\n";
  }
  for (const HelpSection& section : command.sections) append_section(out, section);
  std::vector<OptionGroup> groups = command.groups;
  groups.push_back({"Help", common_options()});
  append_options(out, groups);
  if (!command.note.empty()) {
    out += '\n';
    append_wrapped(out, command.note, 0);
  }
  HelpSection codes{"Exit codes", {}};
  for (const ExitMeaning& exit : command.exit_meanings) {
    codes.lines.push_back({std::to_string(exit.code), std::string(exit.meaning)});
  }
  if (!codes.lines.empty()) append_section(out, codes);
  return out;
}

std::string version_text(const CommandDescription& command) {
  return std::string(command.program.substr(0, command.program.find(' '))) + " " + std::string(program_version()) +
         "\n";
}

}  // namespace msrun
