#include "tools/html/chart.h"

#include <array>
#include <cstdio>

#include "kernels/io/html/text.h"

namespace msrun::html {

namespace {

// In units of the view box.
constexpr double width = 1000;
constexpr double left = 78;
constexpr double right = 992;
constexpr double top = 14;
constexpr double bottom = 262;
constexpr double margin = 6;  // between the edges and the first and the last point
constexpr double room_of_name = 70;
constexpr std::size_t max_section_lines = 60;

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

double x_of(double share) { return left + margin + share * (right - left - 2 * margin); }

}  // namespace

Chart::Chart(std::string_view title, std::string_view x_title, std::string_view table,
             std::function<double(double)> height)
    : title_(title), x_title_(x_title), table_(table), height_(std::move(height)) {}

double Chart::y_of(double value) const { return top + height_(value) * (bottom - top); }

void Chart::add_level(const ChartLevel& level) {
  const double y = y_of(level.value);
  body_ += "<line class=\"" + std::string(level.limit ? "limit" : "grid") + "\" x1=\"" + number(left) + "\" x2=\"" +
           number(right) + "\" y1=\"" + number(y) + "\" y2=\"" + number(y) + "\"/><text" +
           (level.limit ? " class=\"limit-text\"" : "") + " x=\"" + number(left - 8) + "\" y=\"" + number(y + 4) +
           "\" text-anchor=\"end\">" + escaped(level.label) + "</text>\n";
}

void Chart::add_sections(const std::vector<ChartSection>& sections) {
  double last_name = -room_of_name;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const double x = x_of(sections[i].x) - margin / 2;
    if (i > 0 && sections.size() <= max_section_lines) {
      body_ += "<line class=\"section\" x1=\"" + number(x) + "\" x2=\"" + number(x) + "\" y1=\"" + number(top) +
               "\" y2=\"" + number(bottom + 8) + "\"/>\n";
    }
    if (i > 0 && (x - last_name < room_of_name || x + room_of_name > width)) continue;
    body_ += "<text x=\"" + number(x) + "\" y=\"278\">" + escaped(sections[i].name) + "</text>\n";
    last_name = x;
  }
}

void Chart::add_line(const std::vector<ChartPoint>& points) {
  body_ += "<polyline points=\"";
  for (const ChartPoint& point : points) body_ += number(x_of(point.x)) + "," + number(y_of(point.value)) + " ";
  body_ += "\"/>\n";
}

void Chart::add_point(const ChartPoint& point) {
  body_ += "<circle class=\"" + escaped(point.color) + "\" cx=\"" + number(x_of(point.x)) + "\" cy=\"" +
           number(y_of(point.value)) + "\" r=\"" + (point.color == "green" ? "2.4" : "3.6") + "\" data-name=\"" +
           escaped(point.name) + "\"><title>" + escaped(point.title) + "</title></circle>\n";
}

std::string Chart::svg() const {
  return "<div class=\"chart\">\n<svg" + std::string(dense_ ? " class=\"dense\"" : "") + " data-table=\"" +
         escaped(table_) + "\" viewBox=\"0 0 1000 300\" role=\"img\" aria-label=\"" + escaped(title_) + "\">\n" +
         body_ + "<text x=\"" + number((left + right) / 2) + "\" y=\"296\" text-anchor=\"middle\">" +
         escaped(x_title_) + "</text>\n</svg>\n</div>\n";
}

}  // namespace msrun::html
