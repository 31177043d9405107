// A chart of many points in a row as SVG: values over their position, sections of the row, one line, and what a click
// on a point finds in a table of the page.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace msrun::html {

// A horizontal line with its label; a limit is drawn to be seen.
struct ChartLevel {
  double value = 0;
  std::string label;
  bool limit = false;
};

// x is the position in the row: 0 is its beginning, 1 its end.
struct ChartPoint {
  double x = 0;
  double value = 0;
  std::string color;  // "red", "yellow" or "green"; green points are drawn smaller
  std::string name;   // what a click asks the table for
  std::string title;  // shown when the pointer rests on it
};

struct ChartSection {
  double x = 0;  // where it begins
  std::string name;
};

class Chart {
 public:
  // height says where a value is drawn: 0 is the upper edge, 1 the lower one. table is the id of the table that clicks
  // filter; it may be empty.
  Chart(std::string_view title, std::string_view x_title, std::string_view table, std::function<double(double)> height);

  // Points without a rim, for charts of many points.
  void make_dense() { dense_ = true; }
  void add_level(const ChartLevel& level);
  // A line at the beginning of each section but the first, unless they are too many, and names where there is room.
  void add_sections(const std::vector<ChartSection>& sections);
  // Joins the points of the row.
  void add_line(const std::vector<ChartPoint>& points);
  // What is added later lies on top.
  void add_point(const ChartPoint& point);

  std::string svg() const;

 private:
  double y_of(double value) const;

  std::string title_;
  std::string x_title_;
  std::string table_;
  std::function<double(double)> height_;
  bool dense_ = false;
  std::string body_;
};

// Indices of the worst of each of about most pieces of a row, all of them if there are no more, so that no chart has
// too many points and none hides what is bad. Those that are not wanted are left out.
template <class Wanted, class Worse>
std::vector<std::size_t> worst_of_pieces(std::size_t count, std::size_t most, const Wanted& wanted,
                                         const Worse& worse) {
  std::vector<std::size_t> kept;
  const std::size_t piece = count / most + 1;
  for (std::size_t first = 0; first < count; first += piece) {
    std::optional<std::size_t> worst;
    for (std::size_t i = first; i < std::min(first + piece, count); ++i) {
      if (wanted(i) && (!worst || worse(i, *worst))) worst = i;
    }
    if (worst) kept.push_back(*worst);
  }
  return kept;
}

}  // namespace msrun::html
