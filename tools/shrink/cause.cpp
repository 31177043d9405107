#include "tools/shrink/cause.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "kernels/base/digits.h"
#include "kernels/base/text.h"
#include "kernels/compare/metrics/message_lines.h"
#include "runner/results/counts.h"

namespace msrun::shrink {
namespace {

using Kind = DifferenceMap::Kind;

// The line behind which a finding stands, if there is one, and how lines begin that are none.
constexpr std::string_view amount = unexplained_line;
constexpr std::array no_findings{another_result_line, unknown_repetition_line, weak_evidence_line, damaged_file_line};

template <class Beginnings>
bool begins(std::string_view text, const Beginnings& beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view beginning) { return text.starts_with(beginning); });
}

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
}

// Whole numbers as '#'.
std::string without_numbers(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool digit = is_digit(c);
    const bool goes_on = digit && result.ends_with('#');
    if (!goes_on) result += digit ? '#' : c;
  }
  return result;
}

// What a sentence says about the cause, whatever the shape: the part before what explains it. A factor stays, as it is
// the cause itself.
std::string plain(std::string sentence) {
  if (sentence.find(" times the benchmark's") != std::string::npos) return sentence;
  sentence.resize(std::min(sentence.find_first_of(":(,"), sentence.size()));
  while (!sentence.empty() && (sentence.back() == ' ' || sentence.back() == '.')) sentence.pop_back();
  // "float16" is a name.
  std::string names = sentence;
  const std::size_t digits = names.find_first_of("0123456789");
  if (digits == 0) names = without_numbers(names);
  replace_all(names, "elements are", "element is");
  replace_all(names, "elements", "element");
  replace_all(names, "have the size and spread of those of", "are those of");
  return names;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

// The sentences of a line, which end in a full stop before a space: places hold dots of their own.
std::vector<std::string> sentences_of(const std::string& line) {
  std::vector<std::string> sentences;
  for (std::size_t begin = 0; begin < line.size();) {
    const std::size_t stop = line.find(". ", begin);
    const std::size_t end = stop == std::string::npos ? line.size() : stop + 1;
    sentences.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return sentences;
}

std::string place_of(const DifferenceMap& map) {
  // Which of the two a last row is depends on the shape (difference_map.cpp).
  const bool is_tail = map.block > 0 && map.axis < 0 && map.last + 1 == map.elements;
  if (is_tail && (map.kind == Kind::row || map.kind == Kind::head)) return "tail";
  std::string place(kind_text(map.kind));
  if (map.kind == Kind::period) place += " " + std::to_string(map.period);
  return place;
}

struct Said {
  std::string finding;
  std::string place;
};

Said said_of(const DetailsRow& row) {
  Said said;
  bool names_place = false;
  bool is_behind = false;
  for (const std::string& line : lines_of(row.message)) {
    const bool is_amount = line.starts_with(amount);
    is_behind = is_behind || is_amount;
    if (!is_behind || is_amount || begins(line, no_findings)) continue;
    for (const std::string& sentence : sentences_of(line)) {
      if (begins(sentence, place_lines)) {
        names_place = true;
      } else if (said.finding.empty()) {
        said.finding = plain(sentence);
      }
    }
  }
  if (!row.difference) return said;
  // That one element is wrong is said once.
  const bool is_element = row.difference->map.kind == Kind::element;
  if (names_place || is_element) said.place = place_of(row.difference->map);
  return said;
}

// From the amount on: what comes before it is of the documented limits.
std::string one_line(const std::string& message) {
  const std::size_t begin = message.find(amount);
  std::string text;
  for (const std::string& line : lines_of(begin == std::string::npos ? message : message.substr(begin)))
    text += (text.empty() ? "" : " ") + line;
  return sanitised(text);
}

bool any_suspicious(const std::vector<DetailsRow>& rows) {
  return std::ranges::any_of(rows, [](const DetailsRow& row) { return is_suspicious(row); });
}

bool failed_to_run(const ApiResult& result) { return result.outcome == Outcome::failed_to_run; }

// Numbers of attempts, processes and seconds differ from run to run.
std::string failure_of(const ApiResult& result) { return without_numbers(result.message); }

bool shows(const ApiResult& result, const Cause& cause, bool anywhere) {
  if (cause.row.empty()) return failed_to_run(result) && failure_of(result) == cause.finding;
  if (failed_to_run(result)) return false;
  if (any_suspicious(result.forward_rows) && !cause.forward_is_suspicious) return false;
  if (any_suspicious(result.backward_rows) && !cause.backward_is_suspicious) return false;
  const std::vector<DetailsRow>& rows = cause.is_backward ? result.backward_rows : result.forward_rows;
  return std::ranges::any_of(rows, [&](const DetailsRow& row) {
    if (!is_suspicious(row)) return false;
    const Said said = said_of(row);
    return said.finding == cause.finding && (said.place == cause.place || (anywhere && cause.place.empty()));
  });
}

}  // namespace

std::optional<Cause> cause_of(const ApiResult& result) {
  Cause cause;
  if (failed_to_run(result)) {
    cause.finding = failure_of(result);
    cause.message = one_line(result.message);
    return cause;
  }
  cause.forward_is_suspicious = any_suspicious(result.forward_rows);
  cause.backward_is_suspicious = any_suspicious(result.backward_rows);
  for (const bool is_backward : {false, true}) {
    const std::vector<DetailsRow>& rows = is_backward ? result.backward_rows : result.forward_rows;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (!is_suspicious(rows[i])) continue;
      const Said said = said_of(rows[i]);
      if (!cause.row.empty() && (said.finding.empty() || !cause.finding.empty())) continue;
      cause.row = (is_backward ? "backward.output." : "forward.output.") + std::to_string(i);
      cause.is_backward = is_backward;
      cause.finding = said.finding;
      cause.place = said.place;
      cause.message = one_line(rows[i].message);
    }
  }
  if (cause.row.empty()) return std::nullopt;
  return cause;
}

bool shows(const ApiResult& result, const Cause& cause) { return shows(result, cause, false); }

bool shows_anywhere(const ApiResult& result, const Cause& cause) { return shows(result, cause, true); }

}  // namespace msrun::shrink
