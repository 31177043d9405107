#include "tools/graph/rank_graph.h"

#include <array>
#include <fstream>
#include <functional>
#include <sstream>

#include "kernels/base/counted.h"
#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/files/paths.h"
#include "tools/graph/tasks.h"
#include "tools/recordings/layer_mapping.h"

namespace msrun::graph {
namespace {

// What the search for layers asks of a recording: its calls.
recordings::Recording calls_of(const Side& side) {
  recordings::Recording recording;
  recording.folder = side.folder;
  recording.framework = side.framework;
  for (const Entry& entry : side.entries) {
    recordings::Call call;
    call.name = recording.texts.shared(side.text(entry.name));
    recordings::read_name(side.text(entry.name), call, recording.texts);
    recording.calls.push_back(call);
  }
  return recording;
}

// Nothing if the mapping is not effective.
std::optional<NameMap> layer_map(const RankGraph& rank, const std::string& path, bool compat, const Warn& warn) {
  std::string text;
  if (!path.empty()) {
    check_input_file(path, {".yaml", ".yml"}, max_json_bytes);
    std::ifstream file(path);
    if (!file) throw UserError("The layer mapping file " + path + " cannot be read.");
    std::ostringstream all;
    all << file.rdbuf();
    text = all.str();
  }
  try {
    const recordings::LayerRules rules = recordings::parse_layer_rules(
        path, text, compat ? recordings::RepeatedKeys::last_counts : recordings::RepeatedKeys::refused);
    const recordings::Recording calls = calls_of(rank.npu);
    for (const recordings::UnusedLayerRule& rule : recordings::unused_layer_rules(calls, path, text)) {
      warn(path + ", line " + std::to_string(rule.line) + ": " + bounded(rule.name) + " is no layer of " +
           rank.npu.folder + "; the entry matches nothing.");
    }
    return recordings::map_calls_by_layer(calls, calls_of(*rank.bench), rules);
  } catch (const UserError& error) {
    warn(std::string("The layer mapping file parsing failed, please check file format, mapping is not effective. (") +
         error.what() + ")");
    return std::nullopt;
  }
}

// Trees of modules without any recorded call agree in nothing that counts.
void refuse_empty(const RankGraph& rank) {
  for (const Side* side : {&rank.npu, &*rank.bench}) {
    if (side->entries.empty()) {
      throw UserError("No APIs found in the dump.json of " + side->folder + ", so that there is nothing to compare.");
    }
  }
}

DialectGraph dialect_graph(const RankGraph& rank, const Rules& rules, const Matching& how, const Warn& warn) {
  DialectGraph graph;
  graph.rules = rules;
  graph.npu.tree = build_tree(rank.npu, rules.compat, warn);
  const View npu{rank.npu, graph.npu.tree};
  const MicroSteps steps = micro_steps(npu);
  graph.micro_step_count = steps.count;
  if (rank.bench) {
    graph.bench.emplace();
    graph.bench->tree = build_tree(*rank.bench, rules.compat, warn);
    const View bench{*rank.bench, graph.bench->tree};
    graph.matches = match(npu, bench, rules.dialect, how);
    graph.bench->micro_steps = bench_micro_steps(bench, graph.matches, steps);
  }
  graph.npu.micro_steps = steps.of;
  return graph;
}

const TensorResults& tensors_for(const RankGraph& rank, const Rules& rules) {
  return rules.compat ? rank.legacy_tensors : rank.tensors;
}

void judge(const RankGraph& rank, DialectGraph& graph) {
  const View npu{rank.npu, graph.npu.tree};
  const View bench{*rank.bench, graph.bench->tree};
  graph.indices = Judge(npu, bench, graph.matches, graph.rules, tensors_for(rank, graph.rules)).indices();
}

// msprobe 1.2.1 has shares of elements of tensors with one element as well, if they have an axis.
TensorResults as_msprobe(const RankGraph& rank) {
  using namespace dump_compare;
  TensorResults results = rank.tensors;
  for (auto& [pair, metrics] : results) {
    const MetricCell& error = metrics.cells[max_relative_error];
    const bool is_single = error.word == nullptr && metrics.cells[one_thousandth].word != nullptr;
    if (!is_single || rank.npu.value_text(rank.npu.role(rank.npu.parameters[pair.first], Role::shape)) == "[]")
      continue;
    metrics.cells[one_thousandth].set(error.number < 0.001 ? 1 : 0);
    metrics.cells[five_thousandths].set(error.number < 0.005 ? 1 : 0);
  }
  return results;
}

// What the paths to the partners of all matched nodes of one side take.
struct Paths {
  double bytes = 0;
  double levels = 0;
  double count = 0;

  void add(const Tree& tree, const std::vector<std::uint32_t>& partners) {
    std::vector<std::pair<double, double>> to(tree.nodes.size());  // bytes and levels
    for (const std::uint32_t node : tree.preorder) {
      const std::uint32_t above = tree.nodes[node].parent;
      if (above != no_index) to[node] = to[above];
      to[node].first += static_cast<double>(tree.nodes[node].name.size());
      to[node].second += 1;
    }
    for (const std::uint32_t partner : partners) {
      if (partner == no_index) continue;
      bytes += to[partner].first;
      levels += to[partner].second;
      count += 1;
    }
  }
};

}  // namespace

void check_paths(const RankGraph& rank, const DialectGraph& graph) {
  constexpr double most_bytes = 1e9;
  constexpr double most_levels = 500;  // on average: no model of whatever size comes near it
  if (!graph.bench) return;
  Paths paths;
  paths.add(graph.bench->tree, graph.matches.bench_of);
  paths.add(graph.npu.tree, graph.matches.npu_of);
  if (paths.bytes < most_bytes || paths.levels < most_levels * paths.count) return;
  throw UserError(rank.npu.folder + ": nodes lie so deep, on average " +
                  std::to_string(static_cast<long>(paths.levels / paths.count)) +
                  " levels, that the paths to their partners would take " +
                  std::to_string(static_cast<long>(paths.bytes / 1e9)) +
                  " GB or more of a file. --format html shows such graphs.");
}

void build_graphs(RankGraph& rank, const Wanted& wanted, const Warn& warn) {
  Matching how;
  how.fuzzy = wanted.fuzzy;
  std::optional<NameMap> names;
  const NameMap no_names;
  if (rank.bench) {
    const bool frameworks =
        !rank.npu.framework.empty() && !rank.bench->framework.empty() && rank.npu.framework != rank.bench->framework;
    if (frameworks && !wanted.mapping && !wanted.compat) {
      throw UserError(
          "The cross_frame graph comparison failed. Please specify -lm or --layer_mapping when performing cross_frame "
          "graph comparison.");
    }
    rank.mode = mode_of(rank.npu, *rank.bench);
    refuse_empty(rank);
    if (wanted.mapping && !wanted.fuzzy) names = layer_map(rank, *wanted.mapping, wanted.compat, warn);
    if (names) how.mapping = &*names;
  }
  // Where a mapping is not effective, .vis is matched as without one, .vis.db by names alone.
  Matching of_db = how;
  if (wanted.mapping && how.mapping == nullptr) of_db.mapping = &no_names;
  const Warn silent = [](const std::string&) {};
  if (wanted.vis) rank.vis.emplace();
  if (wanted.db) rank.db.emplace();
  // Both are built from the same recordings, apart from each other.
  const auto each = [&](const std::function<void(DialectGraph&, bool)>& work) {
    for_each_task(2, wanted.threads, [&](std::size_t i) {
      std::optional<DialectGraph>& graph = i == 0 ? rank.vis : rank.db;
      if (graph) work(*graph, i == 1);
    });
  };
  each([&](DialectGraph& graph, bool db) {
    const Rules rules{db ? Dialect::db : Dialect::vis, rank.mode, !db && wanted.compat};
    graph = dialect_graph(rank, rules, db ? of_db : how, db && wanted.vis ? silent : warn);
  });
  if (!rank.bench) return;
  for (const std::optional<DialectGraph>* graph : {&rank.vis, &rank.db}) {
    if (!*graph || rank.mode != Mode::tensors) continue;
    const std::array<const Matches*, 1> matches{&(*graph)->matches};
    rank.tensors.merge(compare_tensors({rank.npu, (*graph)->npu.tree}, {*rank.bench, (*graph)->bench->tree}, matches,
                                       wanted.threads, *wanted.memory));
  }
  if (wanted.compat) rank.legacy_tensors = as_msprobe(rank);
  if (const TensorCounts counts = tensor_counts(rank.tensors); counts.unread > 0) {
    warn(rank.npu.folder + ": " + counted(counts.unread, "pair") +
         " of tensors could not be compared, the first because: " + sanitised(counts.first_problem));
  }
  each([&](DialectGraph& graph, bool) { judge(rank, graph); });
}

TensorCounts tensor_counts(const TensorResults& tensors) {
  TensorCounts counts;
  for (const auto& [pair, metrics] : tensors) {
    if (!metrics.problem.empty()) {
      if (counts.unread++ == 0) counts.first_problem = metrics.problem;
    } else if (metrics.cells[dump_compare::max_absolute_error].word == nullptr || !metrics.messages.empty()) {
      ++counts.compared;
    }
  }
  return counts;
}

std::vector<Judged> judged_of(const RankGraph& rank, const DialectGraph& graph, std::uint32_t node) {
  if (!rank.bench) return {};
  const View npu{rank.npu, graph.npu.tree};
  const View bench{*rank.bench, graph.bench->tree};
  return Judge(npu, bench, graph.matches, graph.rules, tensors_for(rank, graph.rules)).judged(node);
}

}  // namespace msrun::graph
