#include "tools/graph/comparison_line.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "kernels/base/text.h"

namespace msrun::graph {
namespace {

// How bad a node of .vis is: as msProbe has it, checksums count the other way round.
double badness(const DialectGraph& graph, std::uint32_t node) {
  const bool least = graph.rules.dialect == Dialect::vis && graph.rules.mode == Mode::md5;
  return least ? 1 - graph.indices[node].value : graph.indices[node].value;
}

// The first node of that type that is worst, and worse than another one; no_index: none is. Of modules in each other
// it is the innermost, whose fault the others show as well.
std::uint32_t first_worst(const DialectGraph& graph, NodeType type, std::uint32_t other) {
  const Tree& tree = graph.npu.tree;
  std::uint32_t worst = no_index;
  double most = other == no_index ? 0 : badness(graph, other);
  for (const std::uint32_t node : type == NodeType::module ? tree.postorder : tree.preorder) {
    if (node >= graph.indices.size() || !graph.indices[node].set || tree.nodes[node].type != type) continue;
    if (badness(graph, node) <= most) continue;
    worst = node;
    most = badness(graph, node);
  }
  return worst;
}

std::string worst_of_vis(const DialectGraph& graph) {
  const std::uint32_t call = first_worst(graph, NodeType::api, no_index);
  const std::uint32_t module = first_worst(graph, NodeType::module, call);
  const auto shown = [&](std::uint32_t node) {
    return sanitised(graph.npu.tree.nodes[node].name) + " (" + short_number(graph.indices[node].value) + ")";
  };
  std::string text;
  if (call != no_index) text += ", worst " + shown(call);
  if (module != no_index) text += (call == no_index ? ", worst " : ", of modules ") + shown(module);
  return text;
}

double vis_index(const RankGraph& rank, std::string_view name) {
  if (!rank.vis) return 0;
  const std::uint32_t node = rank.vis->npu.tree.find(name);
  if (node >= rank.vis->indices.size() || !rank.vis->indices[node].set) return 0;
  return rank.vis->indices[node].value;
}

// The first of the page's list, worst first: of the nodes that are suspicious for no other one in them that with the
// worst overflow, level and index.
std::string worst_of_page(const RankGraph& rank) {
  const DialectGraph& graph = *rank.db;
  const Tree& tree = graph.npu.tree;
  const auto is_suspicious = [&](std::uint32_t node) {
    return node < graph.indices.size() && graph.indices[node].set && graph.indices[node].value > 0;
  };
  std::vector<bool> holds_one(tree.nodes.size());
  for (const std::uint32_t node : tree.postorder) {
    const std::uint32_t above = tree.nodes[node].parent;
    if (above != no_index && (is_suspicious(node) || holds_one[node])) holds_one[above] = true;
  }
  std::uint32_t worst = no_index;
  std::tuple<Overflow, double, double> most;
  for (const std::uint32_t node : tree.preorder) {
    if (!is_suspicious(node) || holds_one[node]) continue;
    const std::uint32_t entry = tree.nodes[node].entry;
    const std::tuple key(entry == no_index ? Overflow::none : rank.npu.entries[entry].overflow,
                         graph.indices[node].value, vis_index(rank, tree.nodes[node].name));
    if (worst != no_index && key <= most) continue;
    worst = node;
    most = key;
  }
  if (worst == no_index) return {};
  const Level level = graph.indices[worst].value == 1 ? Level::error : Level::warning;
  return ", worst " + sanitised(tree.nodes[worst].name) + " (" + std::string(level_text(level)) + ")";
}

}  // namespace

const DialectGraph& told_graph(const RankGraph& rank) { return rank.db ? *rank.db : *rank.vis; }

std::string comparison_text(const RankGraph& rank) {
  const DialectGraph& graph = told_graph(rank);
  const auto matched =
      std::ranges::count_if(graph.matches.bench_of, [](std::uint32_t node) { return node != no_index; });
  return ", " + std::to_string(matched) + " matched with " + std::to_string(graph.bench->tree.nodes.size()) +
         " of the benchmark" + (rank.db ? worst_of_page(rank) : worst_of_vis(graph));
}

}  // namespace msrun::graph
