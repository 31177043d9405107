#include "tools/torchair_compare/html_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>

#include "tools/html/chart.h"
#include "tools/html/table.h"
#include "tools/torchair_compare/reported_row.h"

namespace msrun::torchair {
namespace {

enum class Mark : std::uint8_t { red, yellow, green };  // worst first

constexpr std::array mark_names{"red", "yellow", "green"};
const char* mark_name(Mark mark) { return mark_names[static_cast<std::size_t>(mark)]; }
constexpr const char* table_id = "rows";

// A row, as far as order, colour and chart ask for it.
struct Point {
  std::size_t entry = 0;  // index in the report
  Mark mark = Mark::green;
  bool is_output = false;
  double cosine = std::numeric_limits<double>::quiet_NaN();
  double badness = 0;
};

// "inputs,0" of "...Add.Add.11.2.1767607200000000,inputs,0"; empty for a whole file.
std::string tensor_name(const std::string& path) {
  const std::size_t last = path.rfind(',');
  const std::size_t first = last == std::string::npos || last == 0 ? std::string::npos : path.rfind(',', last - 1);
  return first == std::string::npos ? "" : path.substr(first + 1);
}

Point point_of(std::size_t entry, const RowCells& row) {
  Point point;
  point.entry = entry;
  point.is_output = tensor_name(row["my_data_path"]).starts_with("outputs");
  // Statistics have it in msProbe's own column alone, tensors that are NaN at the same places in the other alone.
  const std::optional<double> cosine = row.number("Cosine") ? row.number("Cosine") : row.number("cosine_similarity");
  point.cosine = cosine.value_or(std::numeric_limits<double>::quiet_NaN());
  if (row["Result"] == "FAIL") {
    point.mark = Mark::red;
  } else if (row["Accuracy Reached or Not"] != "Yes" || row.number("Cosine").value_or(1) < close_cosine ||
             row.number("One Thousandth Err Ratio").value_or(1) < close_ratio) {
    point.mark = Mark::yellow;
  }
  // Failures above all, those without a cosine first; then by how far the cosine is from 1, then by the error.
  const double level = point.mark == Mark::red ? 1000 : point.mark == Mark::yellow ? 100 : 0;
  const double distance = std::isnan(point.cosine) ? (point.mark == Mark::red ? 10.0 : 0.0) : 1 - point.cosine;
  const double error = std::min(row.number("max_relative_error").value_or(0), 1.0);
  point.badness = level + distance + error * 1e-3;
  return point;
}

// The chart counts the nines of the cosine: 1 - cosine as a power of ten.
double height_of(double cosine) {
  constexpr double finest = -10;     // at the upper edge; cosines have ten decimals
  constexpr double coarsest = 0.31;  // a cosine of -1, at the lower edge
  return (std::log10(std::max(1 - cosine, 1e-10)) - finest) / (coarsest - finest);
}

// Points of all rows, and the outputs joined by a line.
class CosineChart {
 public:
  CosineChart(const std::vector<Point>& points, const Report& report) : points_(points), report_(report) {}

  std::string svg() const {
    html::Chart chart("Cosine over network depth", "network depth: tensors in order of execution", table_id, height_of);
    if (points_.size() > crowded) chart.make_dense();
    for (const auto& [cosine, label] : levels) chart.add_level({cosine, label, cosine == least_cosine});
    chart.add_sections(tokens());
    std::vector<html::ChartPoint> outputs;
    for (const std::size_t i : thinned([](const Point& point) { return point.is_output; })) {
      outputs.push_back({x_of(i), points_[i].cosine, "", "", ""});
    }
    chart.add_line(outputs);
    RowCells row;
    // Good ones first, so that the others lie on top.
    for (const Mark mark : {Mark::green, Mark::yellow, Mark::red}) {
      for (const std::size_t i : thinned([mark](const Point& point) { return point.mark == mark; })) {
        chart.add_point(chart_point(i, row));
      }
    }
    return chart.svg();
  }

 private:
  static constexpr std::size_t max_points = 3000;
  static constexpr std::size_t crowded = 400;  // from here on points are drawn without a rim
  static constexpr std::array<std::pair<double, const char*>, 7> levels{{{1, "1"},
                                                                         {1 - 1e-8, "0.99999999"},
                                                                         {1 - 1e-6, "0.999999"},
                                                                         {1 - 1e-4, "0.9999"},
                                                                         {least_cosine, "0.99 limit"},
                                                                         {0.9, "0.9"},
                                                                         {0, "0"}}};

  double x_of(std::size_t i) const {
    return points_.size() < 2 ? 0.5 : static_cast<double>(i) / static_cast<double>(points_.size() - 1);
  }

  template <class Wanted>
  std::vector<std::size_t> thinned(const Wanted& wanted) const {
    return html::worst_of_pieces(
        points_.size(), max_points, [&](std::size_t i) { return !std::isnan(points_[i].cosine) && wanted(points_[i]); },
        [&](std::size_t a, std::size_t b) { return points_[a].cosine < points_[b].cosine; });
  }

  std::int64_t token_of(std::size_t i) const { return report_.entries()[points_[i].entry].token; }

  std::vector<html::ChartSection> tokens() const {
    std::vector<html::ChartSection> begins;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (i > 0 && token_of(i - 1) == token_of(i)) continue;
      begins.push_back({x_of(i), "token " + std::to_string(token_of(i))});
    }
    return begins;
  }

  html::ChartPoint chart_point(std::size_t i, RowCells& row) const {
    row.read(report_.text(report_.entries()[points_[i].entry]));
    const std::string reason = why(row);
    std::string cosine;
    append_number(cosine, points_[i].cosine);
    return {x_of(i), points_[i].cosine, mark_name(points_[i].mark), row["API Name"],
            row["API Name"] + " " + tensor_name(row["my_data_path"]) + ", token " + row["token_id"] + ", " +
                (reason.empty() ? "cosine " + cosine : reason)};
  }

  const std::vector<Point>& points_;
  const Report& report_;
};

// Behind the directory root; as it is if it lies elsewhere.
std::string_view below(std::string_view path, const std::string& root) {
  if (path.starts_with(root) && path.size() > root.size() && path[root.size()] == '/') {
    path.remove_prefix(root.size() + 1);
  }
  return path;
}

std::vector<std::string> table_cells(const HtmlReport& about, const RowCells& row, const Point& point,
                                     std::size_t order) {
  std::string badness;
  append_number(badness, point.badness);
  std::vector<std::string> cells{mark_name(point.mark), badness, std::to_string(order),
                                 tensor_name(row["my_data_path"])};
  for (std::size_t i = 0; i < row.cells().size(); ++i) {
    std::string_view text = row.cells()[i];
    if (row.names()[i] == "my_data_path") text = below(text, about.target);
    if (row.names()[i] == "golden_data_path") text = below(below(text, about.golden), about.target);
    cells.emplace_back(text);
  }
  cells.push_back(why(row));
  return cells;
}

html::TableView table_view(const std::vector<std::string>& names, const std::array<std::size_t, 3>& marks) {
  using html::CellKind;
  html::TableView view;
  view.id = table_id;
  view.titles = {"Mark", "Badness", "Order", "Tensor"};
  view.titles.insert(view.titles.end(), names.begin(), names.end());
  view.titles.emplace_back("Why");
  view.hidden = {"Mark", "Badness", "Tensor", "Order"};
  view.columns = {{"Result", "Mark", CellKind::mark},
                  {"#", "Order", CellKind::whole_number},
                  {"API Name", "API Name", CellKind::text},
                  {"Tensor", "Tensor", CellKind::text},
                  {"Token", "token_id"},
                  {"Cosine", "Cosine", CellKind::whole_number},
                  {"Why", "Why", CellKind::long_text},
                  {"MaxRelativeErr", "MaxRelativeErr"},
                  {"MaxAbsErr", "MaxAbsErr"},
                  {"Err < 0.001", "One Thousandth Err Ratio"},
                  {"EucDist", "EucDist"},
                  {"Max diff", "Max diff"},
                  {"Min diff", "Min diff"},
                  {"Mean diff", "Mean diff"},
                  {"Dtype", "my_dtype", CellKind::text},
                  {"Golden dtype", "golden_dtype", CellKind::text},
                  {"Shape", "my_shape", CellKind::text}};
  view.fixed = "API Name";
  view.mark = "Mark";
  view.mark_text = "Result";
  constexpr std::array<const char*, 3> meanings{"FAIL", "PASS, but close to the limits or not fully checked", "PASS"};
  for (std::size_t i = 0; i < marks.size(); ++i) view.marks.push_back({mark_names[i], meanings[i], marks[i]});
  view.name = "API Name";
  view.choice = "token_id";
  view.choice_noun = "token";
  view.sort = "Badness";
  view.sort_label = "Worst first";
  view.order = "Order";
  view.noun = "tensor";
  view.search_hint = "Any text, or =Name of an operator";
  view.nothing = "No tensor was compared.";
  view.without_script = "The table needs JavaScript; the CSV report beside this file holds what it would show.";
  return view;
}

// Indices of the points in the table, worst ones alone if they are too many.
std::vector<std::size_t> table_order(const std::vector<Point>& points) {
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (order.size() <= max_html_rows) return order;
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return points[i].badness; });
  order.resize(max_html_rows);
  return order;
}

}  // namespace

void write_html(const std::string& path, const HtmlReport& about, const Report& report) {
  RowCells row;
  std::vector<Point> points;
  std::array<std::size_t, 3> marks{};
  for (std::size_t i = 0; i < report.entries().size(); ++i) {
    const RowEntry& entry = report.entries()[i];
    if (entry.verdict == Verdict::dropped) continue;
    row.read(report.text(entry));
    points.push_back(point_of(i, row));
    ++marks[static_cast<std::size_t>(points.back().mark)];
  }

  html::Page page(OwnName{path}, about.title);
  page.lines({"Compared: " + about.target, "Golden: " + about.golden});
  page.facts(about.facts);
  page.begin_section("Cosine over network depth");
  page.markup(CosineChart(points, report).svg());
  page.paragraph(
      "Each point is a tensor; the line joins the outputs. The scale counts the nines of the cosine. Rest the pointer "
      "on a point to read why it has its colour, click it to find its operator in the table.");
  const auto hidden = std::ranges::count_if(points, [](const Point& point) { return std::isnan(point.cosine); });
  if (hidden > 0) page.paragraph(std::to_string(hidden) + " tensors without a cosine are in the table only.");
  page.end_section();

  page.begin_section("Tensors, worst first");
  const std::vector<std::size_t> order = table_order(points);
  if (order.size() < points.size()) {
    page.paragraph("The table holds the " + std::to_string(order.size()) + " worst of " +
                   std::to_string(points.size()) + " tensors; the CSV report holds all.");
  }
  html::TableWriter table(page, table_view(row.names(), marks));
  for (const std::size_t i : order) {
    row.read(report.text(report.entries()[points[i].entry]));
    table.row(table_cells(about, row, points[i], i + 1));
  }
  table.end();
  page.end_section();
  page.commit();
}

}  // namespace msrun::torchair
