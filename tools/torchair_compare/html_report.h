// The report as one HTML file that needs neither network nor server: what failed, worst first, in a table that can be
// sorted and filtered, and the cosine over the depth of the network as a chart.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/torchair_compare/report.h"

namespace msrun::torchair {

struct HtmlReport {
  std::string title;
  std::string target;  // roots of the dumps; paths in the table begin behind them
  std::string golden;
  std::vector<std::pair<std::string, std::string>> facts;  // of the summary: name and value
};

// Rows that the table holds; of a larger report these are the worst, and the page says so.
inline constexpr std::size_t max_html_rows = 10000;

// report must be sorted. Throws WriteError.
void write_html(const std::string& path, const HtmlReport& about, const Report& report);

}  // namespace msrun::torchair
