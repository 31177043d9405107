#include "orchestrator/view/att_tables.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>
#include <utility>
#include <vector>

#include "runner/dialects/att.h"

namespace msrun {
namespace {

constexpr std::size_t table_width = 75;

struct AttLine {
  std::string title;
  std::string value;
  Style style = Style::plain;
};

std::string times(std::string_view piece, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += piece;
  return text;
}

// What is left of the width goes to the columns by what they need, the first rounded up.
std::pair<std::size_t, std::size_t> column_widths(const std::vector<AttLine>& lines) {
  constexpr std::size_t padding = 2;
  constexpr std::size_t borders = 3;
  std::size_t left = padding;
  std::size_t right = padding;
  for (const AttLine& line : lines) {
    left = std::max(left, line.title.size() + padding);
    right = std::max(right, line.value.size() + padding);
  }
  const std::size_t needed = left + right;
  const std::size_t spare = table_width - std::min(table_width, borders + needed);
  const std::size_t to_left = (left * spare + needed - 1) / needed;
  return {left + to_left, right + spare - to_left};
}

std::string table(std::string_view title, const std::vector<AttLine>& lines, const Paint& paint) {
  const auto [left, right] = column_widths(lines);
  const auto rule = [left_width = left, right_width = right](std::string_view begin, std::string_view line,
                                                             std::string_view middle, std::string_view end) {
    return std::string(begin) + times(line, left_width) + std::string(middle) + times(line, right_width) +
           std::string(end) + "\n";
  };
  const auto cell = [&](const std::string& text, std::size_t width, Style style) {
    return " " + paint(style, text) + times(" ", width - text.size() - 1);
  };
  const std::size_t spare = table_width - title.size();
  std::string text = times(" ", spare / 2) + std::string(title) + times(" ", spare - spare / 2) + "\n";
  text += rule("┏", "━", "┳", "┓");
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const AttLine& line = lines[i];
    const std::string_view bar = i == 0 ? "┃" : "│";
    text += std::string(bar) + cell(line.title, left, line.style) + std::string(bar) +
            cell(line.value, right, line.style) + std::string(bar) + "\n";
    if (i == 0) {
      text += rule("┡", "━", "╇", "┩");
    } else if (i + 1 < lines.size()) {
      text += rule("├", "─", "┼", "┤");
    }
  }
  return text + rule("└", "─", "┴", "┘");
}

}  // namespace

void AttCounts::add(const ApiResult& result) {
  using Word = AttVerdict::Cell;
  const AttVerdict verdict = att_verdict(result, raw_);
  if (verdict.left_out) return;
  if (verdict.compared) ++compared_;
  if (verdict.forward == Word::skip) {
    ++skipped_;
  } else if (verdict.forward == Word::yes) {
    ++(verdict.backward == Word::no ? backward_failed_ : passed_);
  } else {
    ++(verdict.backward == Word::no ? both_failed_ : forward_failed_);
  }
}

std::string AttCounts::passing_rate() const {
  if (compared_ == 0) return "0";
  std::array<char, 32> buffer{};
  const double rate = static_cast<double>(passed_) / static_cast<double>(compared_);
  const std::string text(buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), rate).ptr);
  return text.find('.') == std::string::npos && text.find('e') == std::string::npos ? text + ".0" : text;
}

std::string att_tables(const AttCounts& counts, const Paint& paint) {
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  std::vector<AttLine> overall{{"Result", "Statistics"},
                               {"Total Pass", number(counts.passed()), Style::good},
                               {"Total Fail", number(counts.failed()), Style::alarm},
                               {"Passing Rate", counts.passing_rate()}};
  if (!counts.raw()) overall.push_back({"Skipped", number(counts.skipped())});
  const std::vector<AttLine> details{{"Result", "Statistics"},
                                     {"Only Forward Fail", number(counts.forward_failed())},
                                     {"Only Backward Fail", number(counts.backward_failed())},
                                     {"Both Forward & Backward Fail", number(counts.both_failed())}};
  return table("Overall Statistics", overall, paint) + table("Detail Statistics", details, paint);
}

}  // namespace msrun
