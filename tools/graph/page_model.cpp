#include "tools/graph/page_model.h"

#include <array>
#include <nlohmann/json.hpp>

#include "tools/graph/overflow.h"
#include "tools/graph/text.h"

namespace msrun::graph {
namespace {

PageNodeKind kind_of(NodeType type) {
  if (type == NodeType::api) return PageNodeKind::api;
  return type == NodeType::collection ? PageNodeKind::collection : PageNodeKind::module;
}

std::uint8_t level_of(const Index& index) {
  if (!index.set) return no_level;
  return index.value == 0 ? 0 : index.value == 1 ? 2 : 1;
}

// What one side of the page is filled from.
struct Shown {
  const RankGraph& rank;
  const SideGraph& graph;
  const Side& side;
  bool npu;
};

std::uint8_t level_in(std::string_view shown) {
  for (const Level level : {Level::error, Level::warning}) {
    if (shown == level_text(level)) return static_cast<std::uint8_t>(level);
  }
  return static_cast<std::uint8_t>(Level::pass);
}

std::vector<PageParameter> parameters_of(const ShownData& data, bool outputs) {
  std::string text;
  append_data(text, data, outputs, JsonStyle(false), 0);
  std::vector<PageParameter> parameters;
  const auto data_of_node = nlohmann::ordered_json::parse(text);
  for (const auto& [name, fields] : data_of_node.items()) {
    PageParameter& parameter = parameters.emplace_back();
    parameter.name = name;
    for (const auto& [key, value] : fields.items()) {
      const auto& shown = value.get_ref<const std::string&>();
      if (key == "Result") parameter.level = level_in(shown);
      const bool said = key == "Result" || (key == "Err_message" && shown == "[]") ||
                        (key == "Requires_grad Consistent" && shown == "True");
      if (said) continue;
      parameter.values.emplace_back(key, shown);
    }
  }
  return parameters;
}

PageDetails details_of(const Shown& shown, std::uint32_t number) {
  const Node& node = shown.graph.tree.nodes[number];
  const DialectGraph& dialect = *shown.rank.db;
  const std::vector<Judged> judged = shown.npu ? judged_of(shown.rank, dialect, number) : std::vector<Judged>();
  const ShownData data{shown.side, node.entry == no_index ? nullptr : &shown.side.entries[node.entry], judged,
                       dialect.rules};
  PageDetails details;
  details.inputs = parameters_of(data, false);
  details.outputs = parameters_of(data, true);
  if (const auto links = shown.graph.links.find(node.entry);
      node.entry != no_index && links != shown.graph.links.end()) {
    for (const Link& link : links->second.links) {
      for (const Link::Partner& partner : link.partners) {
        details.facts.emplace_back(link.type, "rank " + std::to_string(partner.rank) + ": " + partner.name);
      }
    }
  }
  if (node.lost_stack) {
    details.stack.emplace_back(lost_stack_text);
    return details;
  }
  const Stack stack = shown_stack(shown.side, node, true);
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    details.stack.emplace_back(shown.side.text(shown.side.frames[stack.first + i]));
  }
  return details;
}

PageTree tree_of(const Shown& shown) {
  const DialectGraph& dialect = *shown.rank.db;
  PageTree tree;
  tree.title = shown.side.folder;
  tree.nodes.resize(shown.graph.tree.nodes.size());
  const std::vector<std::uint32_t>& partners = shown.npu ? dialect.matches.bench_of : dialect.matches.npu_of;
  for (std::uint32_t i = 0; i < tree.nodes.size(); ++i) {
    const Node& node = shown.graph.tree.nodes[i];
    PageNode& page = tree.nodes[i];
    page.name = node.name;
    page.kind = kind_of(node.type);
    page.children = node.children;
    if (i < partners.size() && partners[i] != no_index) page.partner = partners[i];
    if (node.parent == 0) page.micro_step = static_cast<std::int32_t>(shown.graph.micro_steps[i]);
    if (node.entry != no_index) page.overflow = static_cast<PageOverflow>(shown.side.entries[node.entry].overflow);
    if (!shown.npu || i >= dialect.indices.size()) continue;
    page.level = level_of(dialect.indices[i]);
    if (!shown.rank.vis) continue;
    const std::uint32_t same = shown.rank.vis->npu.tree.find(node.name);
    if (same == no_index || same >= shown.rank.vis->indices.size()) continue;
    if (const Index& index = shown.rank.vis->indices[same]; index.set) page.precision_index = index.value;
  }
  tree.details = [shown](std::uint32_t number) { return details_of(shown, number); };
  return tree;
}

std::vector<PageMetric> metrics_of(Mode mode) {
  std::vector<PageMetric> metrics;
  if (mode == Mode::summary) {
    for (const std::string field : {"Max", "Min", "Mean", "Norm"}) {
      const std::string difference = field == "Norm" ? "L2norm diff" : field + " diff";
      metrics.push_back({difference, "the target's less the benchmark's", field, "difference"});
      metrics.push_back({field + "RelativeErr", "the difference in proportion to the benchmark", field, "relative"});
    }
  }
  if (mode == Mode::tensors) {
    for (const char* name : {"Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio",
                             "Five Thousandths Err Ratio"}) {
      metrics.push_back({name, "over all elements of both tensors", "", ""});
    }
  }
  metrics.push_back({"Requires_grad Consistent", "whether both sides ask for a gradient", "", ""});
  metrics.push_back({"Err_message", "the rules that decided", "", ""});
  return metrics;
}

}  // namespace

GraphPage page_of(const RankGraph& rank, bool overflow) {
  const DialectGraph& dialect = *rank.db;
  GraphPage page;
  page.title = rank.bench ? "Graph of two recordings" : "Graph of a recording";
  for (const std::string* name : {&rank.step_name, &rank.rank_name}) {
    if (!name->empty()) page.title += ", " + *name;
  }
  page.lines.push_back("target: " + rank.npu.folder);
  page.facts.emplace_back("nodes", std::to_string(dialect.npu.tree.nodes.size()));
  if (dialect.micro_step_count > 1) page.facts.emplace_back("micro steps", std::to_string(dialect.micro_step_count));
  page.target = tree_of({rank, dialect.npu, rank.npu, true});
  if (!rank.bench) return page;
  page.lines.push_back("benchmark: " + rank.bench->folder);
  if (overflow) page.lines.emplace_back("overflow levels are marked");
  std::size_t matched = 0;
  for (const std::uint32_t node : dialect.matches.bench_of) matched += node != no_index ? 1 : 0;
  page.facts.emplace_back("matched", std::to_string(matched));
  page.facts.emplace_back("compared by", std::string(mode_text(rank.mode)));
  page.levels = {{"pass", "no rule found anything", 0, false},
                 {"warning", "a rule warns of a parameter", 2, true},
                 {"error", "a rule calls a parameter wrong", 4, true}};
  page.metrics = metrics_of(rank.mode);
  page.bench = tree_of({rank, *dialect.bench, *rank.bench, false});
  return page;
}

}  // namespace msrun::graph
