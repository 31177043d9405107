#include "tools/torchair_compare/html_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>

#include "kernels/io/files/csv.h"
#include "kernels/io/files/paths.h"
#include "tools/torchair_compare/html_page.h"

namespace msrun::torchair {
namespace {

enum class Mark : std::uint8_t { red, yellow, green };  // worst first

constexpr std::array mark_names{"red", "yellow", "green"};
constexpr double yellow_cosine = 0.999;  // torchair.md 9
constexpr double yellow_ratio = 0.9;

// A row, as far as order, colour and chart ask for it.
struct Point {
  std::size_t entry = 0;  // place in the report
  Mark mark = Mark::green;
  bool is_output = false;
  double cosine = std::numeric_limits<double>::quiet_NaN();
  double badness = 0;
};

std::vector<std::string> titles() {
  std::vector<std::string> cells;
  const std::string header = report_header(Columns::all);
  CsvReader(header).next(cells);
  return cells;
}

class RowCells {
 public:
  RowCells() : titles_(titles()) {
    for (std::size_t i = 0; i < titles_.size(); ++i) places_.emplace(titles_[i], i);
  }
  const std::vector<std::string>& names() const { return titles_; }
  const std::vector<std::string>& cells() const { return cells_; }
  void read(const std::string& line) {
    cells_.clear();
    CsvReader(line).next(cells_);
    cells_.resize(titles_.size());
  }
  const std::string& operator[](const char* title) const { return cells_[places_.at(title)]; }
  std::optional<double> number(const char* title) const {
    const std::string& text = (*this)[title];
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || std::isnan(value)) return std::nullopt;
    return value;
  }

 private:
  std::vector<std::string> titles_;
  std::map<std::string, std::size_t> places_;
  std::vector<std::string> cells_;
};

// The text of a JSON string that may stand inside a script element.
void append_json(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || c == '<' || c == '>' || c == '&') {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(byte));
      out += escape.data();
    } else {
      out += c;
    }
  }
  out += '"';
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

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
  point.cosine = row.number("cosine_similarity").value_or(std::numeric_limits<double>::quiet_NaN());
  if (row["Result"] == "FAIL") {
    point.mark = Mark::red;
  } else if (row.number("Cosine").value_or(1) < yellow_cosine ||
             row.number("One Thousandth Err Ratio").value_or(1) < yellow_ratio) {
    point.mark = Mark::yellow;
  }
  // Failures above all, those without a cosine first; then by how far the cosine is from 1, then by the error.
  const double level = point.mark == Mark::red ? 1000 : point.mark == Mark::yellow ? 100 : 0;
  const double distance = std::isnan(point.cosine) ? (point.mark == Mark::red ? 10.0 : 0.0) : 1 - point.cosine;
  const double error = std::min(row.number("max_relative_error").value_or(0), 1.0);
  point.badness = level + distance + error * 1e-3;
  return point;
}

// The chart: points of all rows, and the outputs joined by a line. The vertical scale counts the nines of the cosine.
class Chart {
 public:
  Chart(const std::vector<Point>& points, const Report& report) : points_(points), report_(report) {}

  std::string text() {
    const std::string dense = points_.size() > crowded ? " class=\"dense\"" : "";
    std::string out =
        "<svg" + dense + " viewBox=\"0 0 1000 300\" role=\"img\" aria-label=\"Cosine over network depth\">\n";
    for (const auto& [cosine, label] : levels) {
      const double y = y_of(cosine);
      const bool limit = cosine == 0.99;
      out += "<line class=\"" + std::string(limit ? "limit" : "grid") + "\" x1=\"" + number(left) + "\" x2=\"" +
             number(right) + "\" y1=\"" + number(y) + "\" y2=\"" + number(y) + "\"/><text" +
             (limit ? " class=\"limit-text\"" : "") + " x=\"" + number(left - 8) + "\" y=\"" + number(y + 4) +
             "\" text-anchor=\"end\">" + label + "</text>\n";
    }
    append_tokens(out);
    append_line(out);
    append_points(out);
    out += "<text x=\"" + number((left + right) / 2) +
           "\" y=\"296\" text-anchor=\"middle\">network depth: tensors in order of execution</text>\n</svg>\n";
    return out;
  }

 private:
  static constexpr double width = 1000;
  static constexpr double left = 78;
  static constexpr double right = 992;
  static constexpr double top = 14;
  static constexpr double bottom = 262;
  static constexpr double finest = -10;     // 1 - cosine as a power of ten at the upper edge; cosines have ten decimals
  static constexpr double coarsest = 0.31;  // a cosine of -1
  static constexpr std::size_t max_points = 3000;
  static constexpr std::size_t max_token_lines = 60;
  static constexpr double room_of_name = 70;
  static constexpr std::size_t crowded = 400;  // from here on points are drawn without a rim
  static constexpr std::array<std::pair<double, const char*>, 7> levels{{{1, "1"},
                                                                         {1 - 1e-8, "0.99999999"},
                                                                         {1 - 1e-6, "0.999999"},
                                                                         {1 - 1e-4, "0.9999"},
                                                                         {0.99, "0.99 limit"},
                                                                         {0.9, "0.9"},
                                                                         {0, "0"}}};

  static std::string number(double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.1f", value);
    return text.data();
  }
  static double y_of(double cosine) {
    const double power = std::log10(std::max(1 - cosine, 1e-10));
    return top + (power - finest) / (coarsest - finest) * (bottom - top);
  }
  double x_of(std::size_t i) const {
    return points_.size() < 2
               ? (left + right) / 2
               : left + 6 + static_cast<double>(i) / static_cast<double>(points_.size() - 1) * (right - left - 12);
  }

  // The worst point of each of at most max_points pieces of the network, all of them if there are no more.
  template <class Wanted>
  std::vector<std::size_t> thinned(Wanted wanted) const {
    std::vector<std::size_t> kept;
    const std::size_t piece = points_.size() / max_points + 1;
    for (std::size_t first = 0; first < points_.size(); first += piece) {
      std::optional<std::size_t> worst;
      for (std::size_t i = first; i < std::min(first + piece, points_.size()); ++i) {
        if (std::isnan(points_[i].cosine) || !wanted(points_[i])) continue;
        if (!worst || points_[i].cosine < points_[*worst].cosine) worst = i;
      }
      if (worst) kept.push_back(*worst);
    }
    return kept;
  }

  // A line where the next token begins unless they are many, and its name where there is room.
  void append_tokens(std::string& out) const {
    std::vector<std::size_t> begins;
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (begins.empty() || token_of(begins.back()) != token_of(i)) begins.push_back(i);
    }
    double last_name = -room_of_name;
    for (const std::size_t i : begins) {
      const double x = x_of(i) - 3;
      if (i > 0 && begins.size() <= max_token_lines) {
        out += "<line class=\"token\" x1=\"" + number(x) + "\" x2=\"" + number(x) + "\" y1=\"" + number(top) +
               "\" y2=\"" + number(bottom + 8) + "\"/>\n";
      }
      if (i > 0 && (x - last_name < room_of_name || x + room_of_name > width)) continue;
      out += "<text x=\"" + number(x) + "\" y=\"278\">token " + std::to_string(token_of(i)) + "</text>\n";
      last_name = x;
    }
  }
  std::int64_t token_of(std::size_t i) const { return report_.entries()[points_[i].entry].token; }

  void append_line(std::string& out) const {
    out += "<polyline class=\"outputs\" points=\"";
    for (const std::size_t i : thinned([](const Point& point) { return point.is_output; })) {
      out += number(x_of(i)) + "," + number(y_of(points_[i].cosine)) + " ";
    }
    out += "\"/>\n";
  }

  // Good ones first, so that the others lie on top.
  void append_points(std::string& out) {
    RowCells row;
    for (const Mark mark : {Mark::green, Mark::yellow, Mark::red}) {
      for (const std::size_t i : thinned([mark](const Point& point) { return point.mark == mark; })) {
        row.read(report_.text(report_.entries()[points_[i].entry]));
        out += "<circle class=\"" + std::string(mark_names[static_cast<std::size_t>(mark)]) + "\" cx=\"" +
               number(x_of(i)) + "\" cy=\"" + number(y_of(points_[i].cosine)) + "\" r=\"" +
               (mark == Mark::green ? "2.4" : "3.6") + "\" data-name=\"" + escaped(row["API Name"]) + "\"><title>" +
               escaped(row["API Name"] + " " + tensor_name(row["my_data_path"]) + ", token " + row["token_id"] +
                       ", cosine " + row["cosine_similarity"]) +
               "</title></circle>\n";
      }
    }
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

void append_row(std::string& out, const HtmlReport& about, const RowCells& row, const Point& point, std::size_t order) {
  std::string badness;
  append_number(badness, point.badness);
  out += '[';
  for (const std::string& text : {std::string(mark_names[static_cast<std::size_t>(point.mark)]), badness,
                                  std::to_string(order), tensor_name(row["my_data_path"])}) {
    append_json(out, text);
    out += ',';
  }
  for (std::size_t i = 0; i < row.cells().size(); ++i) {
    if (i > 0) out += ',';
    std::string_view text = row.cells()[i];
    if (row.names()[i] == "my_data_path") text = below(text, about.target);
    if (row.names()[i] == "golden_data_path") text = below(below(text, about.golden), about.target);
    append_json(out, text);
  }
  out += ']';
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

  AtomicFile file(path);
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>" +
      escaped(about.title) + "</title>\n<style>" + std::string(html_style) + "</style>\n</head>\n<body>\n<main>\n";
  out += "<h1>" + escaped(about.title) + "</h1>\n<div class=\"soft path\">Compared: " + escaped(about.target) +
         "<br>Golden: " + escaped(about.golden) + "</div>\n<ul class=\"facts\">\n";
  for (const auto& [name, value] : about.facts) {
    out += "<li><b>" + escaped(value) + "</b>" + escaped(name) + "</li>\n";
  }
  out += "</ul>\n<section>\n<h2>Cosine over network depth</h2>\n<div class=\"chart\">\n";
  out += Chart(points, report).text();
  out +=
      "</div>\n<p class=\"soft\">Each point is a tensor; the line joins the outputs. The scale counts the nines of the "
      "cosine. Click a point to find its operator in the table.</p>\n</section>\n";

  out +=
      "<section>\n<h2>Tensors, worst first</h2>\n<div class=\"filters\">\n"
      "<input type=\"search\" id=\"search\" placeholder=\"Any text, or =Name of an operator\" "
      "aria-label=\"Filter\">\n";
  constexpr std::array<const char*, 3> meanings{"FAIL", "PASS, but close to the limits", "PASS"};
  for (std::size_t i = 0; i < marks.size(); ++i) {
    out += "<label><input type=\"checkbox\" checked value=\"" + std::string(mark_names[i]) + "\"> <span class=\"mark " +
           mark_names[i] + "\">" + mark_names[i] + "</span> " + meanings[i] + " (" + std::to_string(marks[i]) +
           ")</label>\n";
  }
  out +=
      "<select id=\"token\" aria-label=\"Token\"><option value=\"\">all tokens</option></select>\n"
      "<button type=\"button\" class=\"more\" id=\"worst\" style=\"margin:0\">Worst first</button>\n"
      "<span class=\"soft\" id=\"count\"></span>\n</div>\n";

  std::vector<std::size_t> order(points.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  if (points.size() > max_html_rows) {
    out += "<p>The table holds the " + std::to_string(max_html_rows) + " worst of " + std::to_string(points.size()) +
           " tensors; the CSV report holds all.</p>\n";
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return points[a].badness > points[b].badness; });
    order.resize(max_html_rows);
  }
  out +=
      "<div class=\"scroll\"><table id=\"rows\"><thead><tr></tr></thead><tbody></tbody></table></div>\n"
      "<button type=\"button\" class=\"more\" id=\"more\">Show more</button>\n"
      "<noscript>The table needs JavaScript; the CSV report beside this file holds the same.</noscript>\n"
      "</section>\n</main>\n<script type=\"application/json\" id=\"report\">{\"titles\":[\"Mark\",\"Badness\","
      "\"Order\",\"Tensor\"";
  for (const std::string& title : row.names()) {
    out += ',';
    append_json(out, title);
  }
  out += "],\"rows\":[\n";
  file.write(out);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Point& point = points[order[i]];
    row.read(report.text(report.entries()[point.entry]));
    out = i > 0 ? ",\n" : "";
    append_row(out, about, row, point, order[i] + 1);
    file.write(out);
  }
  out = "\n]}</script>\n<script>" + std::string(html_script) + "</script>\n</body>\n</html>\n";
  file.write(out);
  file.commit();
}

}  // namespace msrun::torchair
