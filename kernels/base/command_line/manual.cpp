#include "kernels/base/command_line/manual.h"

#include <algorithm>
#include <utility>

#include "kernels/base/version.h"

namespace msrun {
namespace {

// Text that troff takes literally: no escapes, hyphens that can be copied, no line that begins with a request.
std::string literal(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result.starts_with('.') || result.starts_with('\'') ? "\\&" + result : result;
}

std::string upper_case(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return result;
}

void append_paragraph(std::string& out, std::string_view left, std::string_view right) {
  out += ".TP\n\\fB" + literal(left) + "\\fR\n" + literal(right) + "\n";
}

}  // namespace

std::string manual_page(const CommandDescription& command) {
  std::string name(command.program);
  std::ranges::replace(name, ' ', '-');
  const std::string_view summary = command.summary;
  std::string out = ".TH " + upper_case(literal(name)) + " 1 \"\" \"msrun " + std::string(program_version()) + "\"\n";
  out += ".SH NAME\n" + literal(name) + " \\- " + literal(summary.substr(0, summary.find_first_of(".:"))) + "\n";
  out += ".SH SYNOPSIS\n";
  for (const std::string_view usage : command.usage) out += ".B " + literal(usage) + "\n.br\n";
  out += ".SH DESCRIPTION\n" + literal(summary) + "\n";
  if (!command.note.empty()) out += ".PP\n" + literal(command.note) + "\n";
  for (const HelpSection& section : command.sections) {
    out += ".SH " + upper_case(literal(section.title)) + "\n";
    for (const HelpLine& line : section.lines) append_paragraph(out, line.left, line.right);
  }
  out += ".SH OPTIONS\n";
  std::vector<OptionGroup> groups = command.groups;
  groups.push_back({"Help", common_options()});
  std::string_view title;
  for (const OptionGroup& group : groups) {
    if (std::exchange(title, group.title) != group.title) out += ".SS " + literal(group.title) + "\n";
    for (const Option& option : group.options) append_paragraph(out, option.written, option.help);
  }
  if (!command.exit_meanings.empty()) out += ".SH EXIT STATUS\n";
  for (const ExitMeaning& exit : command.exit_meanings) {
    append_paragraph(out, std::to_string(exit.code), exit.meaning);
  }
  return out;
}

}  // namespace msrun
