// The comparison of two runs as a page.
#include <utility>

#include "tools/html/table.h"
#include "tools/run_diff/report.h"
#include "tools/run_diff/standing.h"

namespace msrun::run_diff {
namespace {

const char* colour_of(Change change) {
  switch (change) {
    case Change::appeared:
      return "red";
    case Change::still:
    case Change::not_comparable:
    case Change::removed:
    case Change::added:
    case Change::status:
      return "yellow";
    default:
      return "green";
  }
}

html::TableView table_view(const Comparison& comparison, bool all) {
  using html::CellKind;
  html::TableView view;
  view.id = "calls";
  view.titles = {"Mark", "Rank", "Order", "Change", "API Name", "Before", "After", "Outputs", "Why"};
  view.hidden = {"Mark", "Rank", "Order"};
  view.columns = {{"Change", "Mark", CellKind::mark},         {"#", "Order", CellKind::whole_number},
                  {"API Name", "API Name", CellKind::text},   {"Before", "Before", CellKind::text},
                  {"After", "After", CellKind::text},         {"Why", "Why", CellKind::long_text},
                  {"Outputs", "Outputs", CellKind::long_text}};
  view.fixed = "API Name";
  view.mark = "Mark";
  view.mark_text = "Change";
  std::size_t red = 0;
  std::size_t yellow = 0;
  std::size_t green = 0;
  for (const CallChange& call : comparison.calls) {
    if (call.change == Change::same && !all) continue;
    const std::string_view colour = colour_of(call.change);
    ++(colour == "red" ? red : colour == "yellow" ? yellow : green);
  }
  view.marks = {{"red", "new", red},
                {"yellow", "still wrong, missing, not comparable or of another status", yellow},
                {"green", "fixed, or with other metrics or bits", green}};
  view.name = "API Name";
  view.choice = "Change";
  view.choice_noun = "change";
  view.sort = "Rank";
  view.sort_label = "Worst first";
  view.order = "Order";
  view.noun = "call";
  view.search_hint = "Any text, or =Name of a call";
  view.without_script = "The table needs JavaScript; --csv writes what it would show.";
  view.nothing = "Nothing has changed.";
  return view;
}

std::string outputs_text(const CallChange& call) {
  std::string text;
  for (const OutputChange& output : call.outputs) {
    text += (text.empty() ? "" : "; ") + output.output + " " + std::string(change_text(output.change)) + ": " +
            shown(output.before) + " -> " + shown(output.after);
    for (const MetricChange& metric : output.metrics) {
      text += ", " + metric.metric + " " + metric.before + " -> " + metric.after;
    }
  }
  return text;
}

}  // namespace

void write_html(const std::string& path, const runs::Run& a, const runs::Run& b, const Comparison& comparison,
                bool all) {
  html::Page page(path, conclusion(comparison));
  std::vector<std::string> lines{"A: " + description_of(a), "B: " + description_of(b)};
  for (const std::string& option : comparison.facts.other_options) lines.push_back("Other: " + option);
  if (comparison.facts.by_status) lines.emplace_back("Compared by status and columns: a run has no journal.");
  page.lines(lines);
  std::vector<std::pair<std::string, std::string>> facts;
  for (std::size_t i = 0; i < change_count; ++i) {
    facts.emplace_back(change_text(static_cast<Change>(i)), std::to_string(comparison.counts[i]));
  }
  page.facts(facts);
  page.begin_section("Calls, worst first");
  html::TableWriter table(page, table_view(comparison, all));
  std::size_t order = 0;
  for (const CallChange& call : comparison.calls) {
    if (call.change == Change::same && !all) continue;
    table.row({colour_of(call.change), std::to_string(change_count - static_cast<std::size_t>(call.change)),
               std::to_string(++order), std::string(change_text(call.change)), call.name, shown(call.before),
               shown(call.after), outputs_text(call), call.reason});
  }
  table.end();
  page.end_section();
  page.commit();
}

}  // namespace msrun::run_diff
