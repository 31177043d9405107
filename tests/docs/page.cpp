#include "tests/docs/page.h"

#include <algorithm>
#include <regex>
#include <sstream>

namespace msrun::testing {
namespace {

constexpr std::string_view left_out = "...";

// The text of a comment such as "<!-- run: COMMAND -->"; empty if the line is another.
std::string marker(const std::string& line, const std::string& name) {
  const std::string begin = "<!-- " + name + ":";
  if (!line.starts_with(begin) || !line.ends_with("-->")) return {};
  std::string text = line.substr(begin.size(), line.size() - begin.size() - 3);
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

// Whether a line of an indented or unnamed block looks like a command.
bool looks_like_a_command(const std::string& line) {
  static const std::regex command(
      R"(^(\$ |\./bootstrap|build[-\w]*/bin/|ctest|cmake --|ninja |(msrun|tensor_compare|api_precision_compare|code_mapping|op_generate|torchair_\w+) [^ ]*-).*)");
  // Names in angle brackets are for the reader to fill in.
  return line.find('<') == std::string::npos && std::regex_match(line, command);
}

class PageParser {
 public:
  explicit PageParser(const std::string& text) {
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) page_.lines.push_back(line);
  }

  Page parse() {
    while (at_ < page_.lines.size()) {
      const std::string& line = page_.lines[at_];
      if (line.starts_with("```")) {
        block(line.substr(3));
      } else {
        outside(line);
      }
      ++at_;
    }
    if (!reason_.empty()) problem(page_.lines.size(), "no block follows the marker");
    return std::move(page_);
  }

 private:
  void problem(std::size_t line, const std::string& what) {
    page_.problems.push_back("line " + std::to_string(line + 1) + ": " + what);
  }

  void outside(const std::string& line) {
    if (const std::string reason = marker(line, "not run"); !reason.empty()) {
      reason_ = reason;
    } else if (const std::string code = marker(line, "exit code"); !code.empty()) {
      exit_code_ = std::stoi(code);
    } else if (const std::string command = marker(line, "run"); !command.empty()) {
      page_.commands.push_back({command, at_, at_ + 1, {}, true, 0});
    } else if (line.starts_with("<!-- not run") || line.starts_with("<!-- run")) {
      problem(at_, "a marker without its text");
    } else if (line.starts_with("    ") && looks_like_a_command(line.substr(4))) {
      problem(at_, "a command outside of a console block");
    }
  }

  void block(const std::string& kind) {
    const std::size_t first = at_ + 1;
    std::size_t end = first;
    while (end < page_.lines.size() && page_.lines[end] != "```") ++end;
    if (kind.empty()) problem(at_, "a block that does not say what it holds");
    if (kind != "console") {
      for (std::size_t i = first; i < end; ++i) {
        if (looks_like_a_command(page_.lines[i])) problem(i, "a command outside of a console block");
      }
    } else if (!reason_.empty()) {
      if (reason_.size() < 10) problem(at_, "a reason that says nothing");
      page_.unrun.push_back({at_, reason_});
    } else {
      commands(first, end);
    }
    reason_.clear();
    exit_code_ = 0;
    at_ = end;
  }

  void commands(std::size_t first, std::size_t end) {
    if (first == end || !page_.lines[first].starts_with("$ "))
      problem(first, "a console block that begins without a command");
    for (std::size_t i = first; i < end; ++i) {
      if (!page_.lines[i].starts_with("$ ")) {
        if (!page_.commands.empty()) page_.commands.back().output.push_back(page_.lines[i]);
        continue;
      }
      ShownCommand command;
      command.first_line = i;
      command.text = page_.lines[i].substr(2);
      while (command.text.ends_with('\\') && i + 1 < end) command.text += "\n" + page_.lines[++i];
      command.output_line = i + 1;
      page_.commands.push_back(command);
    }
    if (!page_.commands.empty()) page_.commands.back().exit_code = exit_code_;
  }

  Page page_;
  std::size_t at_ = 0;
  std::string reason_;  // for the next block not to be run
  int exit_code_ = 0;   // of the next block
};

bool matches_line(std::string_view shown, std::string_view line) {
  const std::string_view any = "…";
  const std::size_t wildcard = shown.find(any);
  if (wildcard == std::string_view::npos) return shown == line;
  if (!line.starts_with(shown.substr(0, wildcard))) return false;
  const std::string_view rest = shown.substr(wildcard + any.size());
  for (std::size_t at = wildcard; at <= line.size(); ++at) {
    if (matches_line(rest, line.substr(at))) return true;
  }
  return false;
}

bool matches(const std::vector<std::string>& shown, std::size_t i, const std::vector<std::string>& output,
             std::size_t j) {
  for (; i < shown.size(); ++i, ++j) {
    if (shown[i] == left_out) {
      for (std::size_t next = j; next <= output.size(); ++next) {
        if (matches(shown, i + 1, output, next)) return true;
      }
      return false;
    }
    if (j == output.size() || !matches_line(shown[i], output[j])) return false;
  }
  return j == output.size();
}

std::vector<std::string> masked_lines(const std::vector<std::string>& lines) {
  std::vector<std::string> result;
  for (const std::string& line : lines) result.push_back(masked(line));
  return result;
}

}  // namespace

Page parse_page(const std::string& text) { return PageParser(text).parse(); }

std::string masked(const std::string& line) {
  static const std::vector<std::pair<std::regex, std::string>> changing{
      {std::regex(R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d( \(\d+\))?)"), "DATE"},
      {std::regex(R"(\b20\d{12}\b|_20\d{12})"), "STAMP"},
      {std::regex(R"(\bmsrun \d+\.\d+\.\d+\b)"), "msrun VERSION"},
      {std::regex(R"(\b\d+:\d\d(:\d\d)?\b)"), "DURATION"},
      {std::regex(R"(\b\d+(\.\d+)?(e-\d+)? (s|ms|us|seconds)\b)"), "DURATION"},
      {std::regex(R"(\(\S+ [KMG]?B and \S+ files per second\))"), "(SPEED)"},
      {std::regex(
           R"re("(elapsed|plan|journal|csv|materialise|device|benchmark|compare|started|ended|first|last|time|elapsed_seconds|supervisor|runners)": ?-?\d[\d.e-]*)re"),
       "\"$1\": TIME"},
      {std::regex(R"(\s+$)"), ""},
  };
  std::string result = line;
  for (const auto& [pattern, word] : changing) result = std::regex_replace(result, pattern, word);
  return result;
}

bool is_shown(const std::vector<std::string>& shown, const std::vector<std::string>& output) {
  return matches(masked_lines(shown), 0, masked_lines(output), 0);
}

std::vector<std::string> shortened_like(const std::vector<std::string>& shown, const std::vector<std::string>& output) {
  // A line that is still right stays as it is, with what it leaves out.
  const auto current = [](const std::string& line, const std::string& printed) {
    return matches_line(masked(line), masked(printed)) ? line : printed;
  };
  const auto first = std::find(shown.begin(), shown.end(), left_out);
  const auto head = static_cast<std::size_t>(first - shown.begin());
  const auto tail = static_cast<std::size_t>(std::find(shown.rbegin(), shown.rend(), left_out) - shown.rbegin());
  if (first == shown.end() || head + tail >= output.size()) return output;
  std::vector<std::string> result;
  for (std::size_t i = 0; i < head; ++i) result.push_back(current(shown[i], output[i]));
  result.emplace_back(left_out);
  // What is shown between two places is kept as far as it is still printed.
  for (std::size_t i = head + 1; i < shown.size() - tail; ++i) {
    const bool is_place = shown[i] == left_out;
    const bool is_printed = std::any_of(output.begin(), output.end(), [&](const std::string& line) {
      return matches_line(masked(shown[i]), masked(line));
    });
    if (is_place ? result.back() != left_out : is_printed) result.push_back(shown[i]);
  }
  for (std::size_t i = tail; i > 0; --i) result.push_back(current(shown[shown.size() - i], output[output.size() - i]));
  return result;
}

}  // namespace msrun::testing
