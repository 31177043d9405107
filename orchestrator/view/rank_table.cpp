#include "orchestrator/view/rank_table.h"

#include <algorithm>
#include <array>
#include <functional>

#include "kernels/base/text.h"

namespace msrun {
namespace {

constexpr std::size_t most_lines = 10;

// What a line says of ranks, the worst of them first when it is sorted.
using Key = std::array<std::uint64_t, 7>;
Key key_of(const RankCounts& rank) {
  const VerdictCounts& counts = rank.counts;
  return {counts.suspicious(), counts.failed_to_run, counts.error, counts.warning,
          counts.pass,         counts.skip,          rank.calls};
}

struct VerdictLine {
  Key key;
  std::vector<std::string> ranks;
};

// Right-aligned, two blanks in front at least.
std::string column(const std::string& text, std::size_t width) {
  return std::string(width > text.size() ? width - text.size() : 2, ' ') + text;
}

constexpr std::array<std::size_t, 7> widths{9, 12, 15, 7, 9, 9, 9};
constexpr std::array titles{"calls", "suspicious", "failed to run", "error", "warning", "pass", "SKIP"};

std::string text_of(const VerdictLine& line, const Paint& paint) {
  const auto& [suspicious, failed, error, warning, pass, skip, calls] = line.key;
  const std::array values{calls, suspicious, failed, error, warning, pass, skip};
  std::string text;
  std::size_t width = 2;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string cell = column(std::to_string(values[i]), widths[i]);
    width += cell.size();
    const bool is_alarm = values[i] > 0 && (i == 1 || i == 2);
    text += is_alarm ? paint(Style::alarm, cell) : cell;
  }
  std::string ranks = some_ranks(line.ranks, most_named);
  for (std::size_t named = most_named; named > 1 && width + display_width(ranks) > closing_width;) {
    ranks = some_ranks(line.ranks, --named);
  }
  return text + "  " + cut_to_width(ranks, std::max<std::size_t>(closing_width, width + 1) - width) + "\n";
}

}  // namespace

std::string some_ranks(const std::vector<std::string>& ranks, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, ranks.size()); ++i) text += (i == 0 ? "" : ", ") + ranks[i];
  if (ranks.size() > most) text += " and " + std::to_string(ranks.size() - most) + " more";
  return text;
}

std::string rank_table(const std::vector<RankCounts>& ranks, const Paint& paint) {
  std::vector<VerdictLine> lines;
  for (const RankCounts& rank : ranks) {
    const Key key = key_of(rank);
    auto line = std::ranges::find(lines, key, &VerdictLine::key);
    if (line == lines.end()) line = lines.insert(line, {key, {}});
    line->ranks.push_back(rank.rank);
  }
  std::ranges::stable_sort(lines, std::ranges::greater{}, &VerdictLine::key);
  std::string text = "Calls of each rank\n";
  for (std::size_t i = 0; i < titles.size(); ++i) text += column(titles[i], widths[i]);
  text += "  ranks\n";
  for (std::size_t i = 0; i < std::min(most_lines, lines.size()); ++i) text += text_of(lines[i], paint);
  if (lines.size() > most_lines) {
    std::size_t left = 0;
    for (std::size_t i = most_lines; i < lines.size(); ++i) left += lines[i].ranks.size();
    text += "  and " + std::to_string(left) + " more ranks with fewer; all are in the events and files of the ranks.\n";
  }
  return text;
}

}  // namespace msrun
