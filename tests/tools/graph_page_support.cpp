#include "tests/tools/graph_page_support.h"

#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/msrun_process.h"
#include "tests/tools/browser_steps.h"

namespace msrun::testing {

namespace {

using graph::GraphPage;
using graph::PageDetails;
using graph::PageNode;
using graph::PageNodeKind;
using graph::PageOverflow;
using graph::PageParameter;
using graph::PageTree;
using nlohmann::json;

using Indices = std::map<std::string, std::uint32_t>;

Indices indices_of(const json& tree) {
  Indices indices{{tree["root"], 0}};
  for (const auto& [name, node] : tree["node"].items()) {
    indices.try_emplace(name, static_cast<std::uint32_t>(indices.size()));
  }
  return indices;
}

PageOverflow overflow_of(const json& data) {
  const std::string level = data.value("overflow_level", "");
  return level == "critical" ? PageOverflow::critical
         : level == "high"   ? PageOverflow::high
         : level == "medium" ? PageOverflow::medium
                             : PageOverflow::none;
}

std::vector<PageParameter> parameters_of(const json& data) {
  std::vector<PageParameter> parameters;
  for (const auto& [name, values] : data.items()) {
    PageParameter parameter{name, {}};
    // The library sorts keys; these come in the order of the file.
    constexpr std::array first{"type", "dtype", "shape", "value", "Max", "Min", "Mean", "Norm"};
    for (const char* field : first) {
      if (values.contains(field)) parameter.values.emplace_back(field, values[field].get<std::string>());
    }
    for (const auto& [field, value] : values.items()) {
      if (std::ranges::find(first, field) == first.end() && field != "md5") {
        parameter.values.emplace_back(field, value.get<std::string>());
      }
    }
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

PageDetails details_of(const json& node) {
  PageDetails details;
  details.inputs = parameters_of(node["input_data"]);
  details.outputs = parameters_of(node["output_data"]);
  for (const json& frame : node["stack_info"]) details.stack.push_back(frame);
  return details;
}

// The level of an index in steps of 0.2, as statistics have them.
std::uint8_t level_of(const json& index) { return static_cast<std::uint8_t>(std::min(4.0, index.get<double>() * 5)); }

PageTree tree_of(const json& tree, const Indices& own, const Indices& others, const std::string& title) {
  PageTree page;
  page.title = title;
  page.nodes.resize(own.size());
  std::vector<const json*> nodes(own.size());
  for (const auto& [name, i] : own) {
    const json& node = tree["node"][name];
    nodes[i] = &node;
    PageNode& made = page.nodes[i];
    made.name = name;
    made.kind = node["node_type"] == 0   ? PageNodeKind::module
                : node["node_type"] == 1 ? PageNodeKind::api
                                         : PageNodeKind::collection;
    for (const json& child : node["subnodes"]) made.children.push_back(own.at(child));
    if (!node["matched_node_link"].empty()) made.partner = others.at(node["matched_node_link"].back());
    if (node["data"].contains("precision_index")) {
      made.precision_index = node["data"]["precision_index"].get<double>();
      made.level = level_of(node["data"]["precision_index"]);
    }
    made.overflow = overflow_of(node["data"]);
    made.micro_step = node.value("micro_step_id", -1);
  }
  page.details = [nodes = std::move(nodes)](std::uint32_t i) { return details_of(*nodes[i]); };
  return page;
}

// real: of stored tensors, not of statistics.
void add_metrics(GraphPage& page, bool real) {
  page.levels = {{"good", "relative errors up to 20 %", 0, false},
                 {"20 %", "relative errors from 20 % to 40 %", 1, false},
                 {"40 %", "relative errors from 40 % to 60 %", 2, true},
                 {"60 %", "relative errors from 60 % to 80 %", 3, true},
                 {"80 %", "relative errors from 80 %", 4, true}};
  for (const std::string field : {"Max", "Min", "Mean", "Norm"}) {
    if (real) break;
    page.metrics.push_back({field == "Norm" ? "L2norm diff" : field + " diff", "", field, "difference"});
    page.metrics.push_back({field + "RelativeErr", "", field, "relative"});
  }
  for (const char* metric :
       {"Cosine", "MaxAbsErr", "MaxRelativeErr", "One Thousandth Err Ratio", "Five Thousandths Err Ratio"}) {
    if (real) page.metrics.push_back({metric, "", "", ""});
  }
}

// Names and children of a graph of equal layers.
PageTree layered(std::uint32_t layers, std::uint32_t bad, bool is_target) {
  PageTree tree;
  tree.title = is_target ? "/runs/npu/step0/rank0" : "/runs/gpu/step0/rank0";
  const auto add = [&](std::uint32_t parent, std::string name, PageNodeKind kind) {
    const auto i = static_cast<std::uint32_t>(tree.nodes.size());
    PageNode node;
    node.name = std::move(name);
    node.kind = kind;
    node.partner = i;
    tree.nodes.push_back(std::move(node));
    if (is_target) tree.nodes.back().level = 0;
    if (is_target) tree.nodes.back().precision_index = 0;
    if (i > 0) tree.nodes[parent].children.push_back(i);
    return i;
  };
  add(0, "DefaultModel", PageNodeKind::module);
  const auto model = add(0, "Module.model.GPTModel.forward.0", PageNodeKind::module);
  for (std::uint32_t k = 0; k < layers; ++k) {
    const std::string path = "Module.model.layers." + std::to_string(k);
    const auto layer = add(model, path + ".TransformerLayer.forward.0", PageNodeKind::module);
    for (const char* part : {"attention.SelfAttention", "mlp.MLP", "norm.LayerNorm"}) {
      const auto inner = add(layer, path + "." + part + ".forward.0", PageNodeKind::module);
      for (const char* api : {"Functional.linear", "Functional.gelu", "Torch.matmul", "Tensor.add", "Torch.cat"}) {
        const auto call =
            add(inner, std::string(api) + "." + std::to_string(tree.nodes.size()) + ".forward", PageNodeKind::api);
        const bool wrong = is_target && k == bad && part[0] == 'm' && std::string(api) == "Functional.gelu";
        if (wrong) tree.nodes[call].level = 4;
        if (wrong) tree.nodes[call].precision_index = 0.9375;
      }
    }
    add(layer, "Tensor.__add__." + std::to_string(k) + ".forward", PageNodeKind::api);
  }
  return tree;
}

PageDetails made_details(std::uint32_t i, bool is_target) {
  PageDetails details;
  for (int k = 0; k < 3; ++k) {
    PageParameter parameter{k < 2 ? "input." + std::to_string(k) : "output.0", {}};
    parameter.values = {{"type", "torch.Tensor"}, {"dtype", "torch.bfloat16"}, {"shape", "[4, 1024, 4096]"}};
    for (const char* field : {"Max", "Min", "Mean", "Norm"}) {
      parameter.values.emplace_back(field, std::to_string((i * 7919U + static_cast<unsigned>(k) * 104729U) % 1000003U));
    }
    for (const char* field : {"Max diff", "Min diff", "Mean diff", "L2norm diff", "MaxRelativeErr", "MinRelativeErr",
                              "MeanRelativeErr", "NormRelativeErr"}) {
      if (is_target) parameter.values.emplace_back(field, "0." + std::to_string((i * 31U) % 99991U) + "%");
    }
    (k < 2 ? details.inputs : details.outputs).push_back(std::move(parameter));
  }
  details.stack = {"File /home/user/model/gpt.py, line " + std::to_string(i % 400) + ", in forward, \n y = f(x)"};
  return details;
}

}  // namespace

GraphPage page_of_vis(const json& vis) {
  GraphPage page;
  const bool compared = vis.contains("NPU");
  const json& target = compared ? vis["NPU"] : vis;
  const Indices targets = indices_of(target);
  const Indices benches = compared ? indices_of(vis["Bench"]) : Indices{};
  page.title = compared ? "Comparison of two graphs" : "Graph of a model";
  page.lines = {"target: /home/user/runs/npu/step0/rank0"};
  if (compared) page.lines.emplace_back("bench: /home/user/runs/gpu/step0/rank0");
  page.facts = {{"nodes of the target", std::to_string(targets.size())}};
  if (compared) page.facts.emplace_back("nodes of the bench", std::to_string(benches.size()));
  if (compared) add_metrics(page, vis["task"] == "all");
  page.target = tree_of(target, targets, benches, "/home/user/runs/npu/step0/rank0");
  if (compared) page.bench = tree_of(vis["Bench"], benches, targets, "/home/user/runs/gpu/step0/rank0");
  return page;
}

GraphPage large_page(std::uint32_t layers, std::uint32_t bad) {
  GraphPage page;
  page.title = "Comparison of two large graphs";
  add_metrics(page, false);
  page.target = layered(layers, bad, true);
  page.bench = layered(layers, bad, false);
  page.target.details = [](std::uint32_t i) { return made_details(i, true); };
  page.bench->details = [](std::uint32_t i) { return made_details(i, false); };
  page.facts = {{"nodes", std::to_string(page.target.nodes.size())}};
  return page;
}

json seen_on(const GraphPage& page, const std::string& steps, const std::string& options) {
  const TemporaryDirectory scratch;
  const fs::path path = scratch / "graph.html";
  graph::write_graph_page(path.string(), page);
  const std::string words = R"(
    const lines = () => [...document.querySelectorAll('#canvas .line')].map((line) => line.innerText.replace(/\s+/g, ' ').trim());
    const panel = async () => { while (view.selected < 0 || document.getElementById('details').dataset.node !== fullName(view.selected)) await rest(10); };)";
  return seen_in_browser(path, words + steps, scratch, options);
}

}  // namespace msrun::testing
