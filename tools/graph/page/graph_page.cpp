#include "tools/graph/page/graph_page.h"

#include <charconv>
#include <cmath>
#include <map>
#include <stdexcept>

#include "tools/graph/page/assets.h"
#include "tools/graph/page/rows.h"
#include "tools/html/assets.h"
#include "tools/html/data.h"
#include "tools/html/page.h"

namespace msrun::graph {

namespace {

using html::append_json;

constexpr std::size_t nodes_of_a_chunk = 256;  // unpacked in a few milliseconds when one of them is looked at

// JSON that is written from front to back.
class Json {
 public:
  Json& text(std::string_view text) {
    separate();
    append_json(out_, text);
    return *this;
  }
  Json& number(double value) {
    separate();
    if (!std::isfinite(value)) {
      out_ += "null";
      return *this;
    }
    char digits[32];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
    return *this;
  }
  Json& begin() {
    separate();
    out_ += '[';
    return *this;
  }
  Json& end() {
    out_ += ']';
    return *this;
  }
  std::string take() { return std::move(out_); }

 private:
  void separate() {
    if (!out_.empty() && out_.back() != '[') out_ += ',';
  }

  std::string out_;
};

void add_pairs(Json& json, const std::vector<std::pair<std::string, std::string>>& pairs) {
  json.begin();
  for (const auto& [name, value] : pairs) json.begin().text(name).text(value).end();
  json.end();
}

// Details of some nodes: [[fields of a parameter, ...], [node, ...]], where a node is [inputs, outputs, facts,
// suggestions, stack] and a parameter [name, level, which of the lists of fields, value, ...].
class Chunk {
 public:
  void add(std::string_view node, const PageDetails& details) {
    nodes_.begin();
    add_parameters(node, details.inputs);
    add_parameters(node, details.outputs);
    add_pairs(nodes_, details.facts);
    add_pairs(nodes_, details.suggestions);
    nodes_.begin();
    for (const std::string& frame : details.stack) nodes_.text(frame);
    nodes_.end().end();
    ++size_;
  }

  std::size_t size() const { return size_; }

  std::string take() {
    Json fields;
    std::vector<const std::vector<std::string>*> lists(fields_.size());
    for (const auto& [names, index] : fields_) lists[index] = &names;
    for (const auto* names : lists) {
      fields.begin();
      for (const std::string& name : *names) fields.text(name);
      fields.end();
    }
    std::string out = "[[" + fields.take() + "],[" + nodes_.take() + "]]";
    *this = Chunk();
    return out;
  }

 private:
  void add_parameters(std::string_view node, const std::vector<PageParameter>& parameters) {
    nodes_.begin();
    for (const PageParameter& parameter : parameters) {
      std::string_view name = parameter.name;
      if (name.starts_with(node) && name.size() > node.size() && name[node.size()] == '.') {
        name.remove_prefix(node.size() + 1);
      }
      std::vector<std::string> names;
      for (const auto& [field, value] : parameter.values) names.push_back(field);
      const std::size_t fields = fields_.try_emplace(std::move(names), fields_.size()).first->second;
      nodes_.begin().text(name).number(parameter.level).number(static_cast<double>(fields));
      for (const auto& [field, value] : parameter.values) nodes_.text(value);
      nodes_.end();
    }
    nodes_.end();
  }

  Json nodes_;
  std::map<std::vector<std::string>, std::size_t> fields_;
  std::size_t size_ = 0;
};

using Order = std::vector<std::uint32_t>;  // nodes as their rows are

Order order_of(const std::vector<PageRow>& rows, std::uint32_t PageRow::*side) {
  Order order;
  for (const PageRow& row : rows) {
    if (row.*side != no_node) order.push_back(row.*side);
  }
  return order;
}

template <class Value>
void add_column(Json& json, const Order& order, const Value& value) {
  json.begin();
  for (const std::uint32_t node : order) json.number(static_cast<double>(value(node)));
  json.end();
}

// [names, kinds, levels, indices, overflows, micro steps, partners]; partners by their place in the other side's order.
void add_side(Json& json, const PageTree& tree, const Order& order, const Order& other) {
  std::vector<std::uint32_t> place(other.size());
  for (std::uint32_t i = 0; i < other.size(); ++i) place[other[i]] = i;
  const auto at = [&](std::uint32_t node) -> const PageNode& { return tree.nodes[node]; };
  json.begin().begin();
  for (const std::uint32_t node : order) json.text(at(node).name);
  json.end();
  add_column(json, order, [&](std::uint32_t node) { return at(node).kind; });
  add_column(json, order, [&](std::uint32_t node) { return at(node).level; });
  add_column(json, order, [&](std::uint32_t node) { return at(node).precision_index.value_or(NAN); });
  add_column(json, order, [&](std::uint32_t node) { return at(node).overflow; });
  add_column(json, order, [&](std::uint32_t node) { return at(node).micro_step; });
  add_column(json, order, [&](std::uint32_t node) { return at(node).partner ? place[*at(node).partner] : -1.0; });
  json.end();
}

void add_heading(Json& json, const GraphPage& page) {
  json.begin().text(page.target.title);
  if (page.bench) json.text(page.bench->title);
  json.end().begin();
  for (const PageLevel& level : page.levels) {
    json.begin().text(level.name).text(level.meaning).number(level.heat).number(level.suspicious ? 1 : 0).end();
  }
  json.end().begin();
  for (const PageMetric& metric : page.metrics) {
    json.begin().text(metric.name).text(metric.meaning).text(metric.field).text(metric.column).end();
  }
  json.end().number(nodes_of_a_chunk);
}

void check_levels(const GraphPage& page) {
  const auto check = [&](const PageTree& tree) {
    for (const PageNode& node : tree.nodes) {
      const bool is_there = node.level == no_level || node.level < page.levels.size();
      if (!is_there) throw std::logic_error("a node has no such level");
    }
  };
  check(page.target);
  if (page.bench) check(*page.bench);
}

void add_packed(html::Page& page, const std::string& id, std::string_view data) {
  page.markup("<script type=\"text/plain\" id=\"" + id + "\">" + html::packed(data) + "</script>\n");
}

void add_details(html::Page& page, const std::string& side, const PageTree& tree, const Order& order) {
  Chunk chunk;
  std::size_t chunks = 0;
  const auto write = [&] { add_packed(page, side + "-" + std::to_string(chunks++), chunk.take()); };
  for (const std::uint32_t node : order) {
    chunk.add(tree.nodes[node].name, tree.details(node));
    if (chunk.size() == nodes_of_a_chunk) write();
  }
  if (chunk.size() > 0) write();
}

void write_parts(html::Page& page, const GraphPage& graph) {
  const PageTree* bench = graph.bench ? &*graph.bench : nullptr;
  const std::vector<PageRow> rows = page_rows(graph.target, bench);
  const Order targets = order_of(rows, &PageRow::target);
  const Order benches = order_of(rows, &PageRow::bench);
  page.lines(graph.lines);
  page.facts(graph.facts);
  page.markup(page_body);
  Json json;
  json.begin();
  add_heading(json, graph);
  json.begin();
  for (const PageRow& row : rows) json.number(row.depth);
  json.end().begin();
  for (const PageRow& row : rows) json.number((row.target == no_node ? 0 : 1) + (row.bench == no_node ? 0 : 2));
  json.end();
  add_side(json, graph.target, targets, benches);
  if (bench != nullptr) add_side(json, *bench, benches, targets);
  json.end();
  add_packed(page, "graph-data", json.take());
  // What is above is shown before the details behind the script are read.
  page.markup("<script>'use strict';\n");
  for (const std::string_view part : {html::unpack_script, html::theme_script, page_model, page_tree, page_panel,
                                      page_lists, page_controls, page_map, page_start}) {
    page.markup(part);
  }
  page.markup("</script>\n");
  add_details(page, "target", graph.target, targets);
  if (bench != nullptr) add_details(page, "bench", *bench, benches);
  page.commit();
}

}  // namespace

void write_graph_page(const std::string& path, const GraphPage& graph) {
  check_levels(graph);
  html::Page page(path, graph.title, page_style);
  write_parts(page, graph);
}

void write_graph_page(const Folder& folder, const std::string& name, const GraphPage& graph) {
  check_levels(graph);
  html::Page page(folder, name, graph.title, page_style);
  write_parts(page, graph);
}

}  // namespace msrun::graph
