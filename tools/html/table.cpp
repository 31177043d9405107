#include "tools/html/table.h"

#include <array>
#include <nlohmann/json.hpp>

#include "kernels/io/html/text.h"

namespace msrun::html {

namespace {

constexpr std::array<const char*, 5> kind_names{"number", "whole_number", "text", "long_text", "mark"};

std::string filters(const TableView& view) {
  std::string out = "<div class=\"filters\">\n<input type=\"search\" id=\"" + escaped(view.id) +
                    "-search\" placeholder=\"" + escaped(view.search_hint) + "\" aria-label=\"Filter\">\n";
  for (const MarkKind& mark : view.marks) {
    const std::string color = escaped(mark.color);
    out += "<label><input type=\"checkbox\" checked value=\"" + color + "\"> <span class=\"mark " + color + "\">" +
           color + "</span> " + escaped(mark.meaning) + " (" + std::to_string(mark.rows) + ")</label>\n";
  }
  if (!view.choice.empty()) {
    out += "<select id=\"" + escaped(view.id) + "-choice\" aria-label=\"" + escaped(view.choice_noun) +
           "\"><option value=\"\">all " + escaped(view.choice_noun) + "s</option></select>\n";
  }
  return out + "<button type=\"button\" class=\"first-order\">" + escaped(view.sort_label) +
         "</button>\n<span class=\"soft\" id=\"" + escaped(view.id) + "-count\"></span>\n</div>\n";
}

nlohmann::json columns_json(const TableView& view) {
  nlohmann::json columns = nlohmann::json::array();
  for (const Column& column : view.columns) {
    columns.push_back({{"label", column.label},
                       {"title", column.title},
                       {"kind", kind_names.at(static_cast<std::size_t>(column.kind))},
                       {"fixed", column.title == view.fixed}});
  }
  return columns;
}

nlohmann::json view_json(const TableView& view) {
  nlohmann::json colors = nlohmann::json::array();
  for (const MarkKind& mark : view.marks) colors.push_back(mark.color);
  return {{"columns", columns_json(view)},
          {"hidden", view.hidden},
          {"mark", view.mark},
          {"mark_text", view.mark_text},
          {"colors", std::move(colors)},
          {"name", view.name},
          {"choice", view.choice},
          {"choice_noun", view.choice_noun},
          {"sort", view.sort},
          {"order", view.order},
          {"noun", view.noun},
          {"nothing", view.nothing}};
}

}  // namespace

TableWriter::TableWriter(Page& page, const TableView& view) : page_(page) {
  page.has_table_ = true;
  page.markup("<div class=\"sortable\" data-id=\"" + escaped(view.id) + "\">\n" + filters(view) +
              "<div class=\"scroll\"><table id=\"" + escaped(view.id) +
              "\"><thead><tr></tr></thead><tbody></tbody></table></div>\n"
              "<button type=\"button\" class=\"more\">Show more</button>\n"
              "<noscript>" +
              escaped(view.without_script) + "</noscript>\n<script type=\"application/json\">{\"view\":" +
              script_json(view_json(view)) + ",\"titles\":" + script_json(view.titles) + ",\"rows\":[");
}

void TableWriter::row(const std::vector<std::string>& cells) {
  page_.markup((first_ ? "\n" : ",\n") + script_json(cells));
  first_ = false;
}

void TableWriter::end() { page_.markup("\n]}</script>\n</div>\n"); }

}  // namespace msrun::html
