#include "tools/torchair_compare/op_planner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "kernels/base/text.h"
#include "tools/torchair_compare/op_names.h"

namespace msrun::torchair {

namespace {

constexpr const char* without_golden = "operators without golden data";

// Which numbers up to the largest that is there, and which of those that are named, no file has; some of them, if they
// are many.
std::vector<std::uint64_t> missing_numbers(const std::vector<FxTensorFile>& files,
                                           const std::vector<std::uint64_t>& named) {
  constexpr std::size_t enough = 8;
  std::vector<std::uint64_t> missing;
  std::uint64_t next = 0;
  for (const FxTensorFile& file : files) {
    for (; next < file.number && missing.size() < enough; ++next) missing.push_back(next);
    next = file.number + 1;
  }
  for (const std::uint64_t number : named) {
    if (number >= next && std::ranges::find(missing, number) == missing.end()) missing.push_back(number);
  }
  return missing;
}

// Each node once (torchair.md F15).
std::vector<const FxNode*> without_repetition(std::vector<const FxNode*> nodes) {
  auto end = nodes.begin();
  for (const FxNode* node : nodes) {
    if (std::find(nodes.begin(), end, node) == end) *end++ = node;
  }
  nodes.erase(end, nodes.end());
  return nodes;
}

}  // namespace

// The FX nodes of an operator that were dumped, one for each output that names one.
std::vector<const FxNode*> OpPlanner::fx_nodes(const GeGraphOp& op, const OpTask& task, Wanted wanted) {
  std::vector<const FxNode*> nodes;
  std::vector<std::string> missing;
  std::vector<std::string> seen;
  for (const std::string& name : op.fx_names) {
    std::string key(fx_node_key(name));
    if (std::ranges::find(missing, key) != missing.end()) continue;
    const auto found = task.data->golden_fx.find(key);
    if (found != task.data->golden_fx.end()) {
      nodes.push_back(&found->second);
      if (std::ranges::find(seen, key) != seen.end()) continue;
      name_missing_tensors(op, task, key, wanted);
      seen.push_back(std::move(key));
    } else {
      messages_.warning("operators without FX data",
                        "FX data missing, GE tensor name: " + task.mine->op_name + ", FX tensor name: " + key);
      ++unmatched_.missing_golden;
      missing.push_back(std::move(key));
    }
  }
  return nodes;
}

// Arguments and results of a node are numbered without gaps, and the graph names results.
void OpPlanner::name_missing_tensors(const GeGraphOp& op, const OpTask& task, const std::string& key, Wanted wanted) {
  const FxNode& node = task.data->golden_fx.at(key);
  std::vector<std::string> missing;
  if (wanted.inputs) {
    for (const std::uint64_t number : missing_numbers(node.inputs, {}))
      missing.push_back(".INPUT." + std::to_string(number));
  }
  if (wanted.outputs) {
    std::vector<std::uint64_t> named;
    for (const std::string& name : op.fx_names) {
      if (fx_node_key(name) != key || name.size() == key.size()) continue;
      const auto number = parse_number<std::uint64_t>(std::string_view(name).substr(name.rfind('.') + 1));
      if (number) named.push_back(*number);
    }
    for (const std::uint64_t number : missing_numbers(node.outputs, named)) {
      missing.push_back(".OUTPUT." + std::to_string(number));
    }
  }
  if (missing.empty()) return;
  std::string tensors;
  for (const std::string& tensor : missing) tensors += (tensors.empty() ? "" : ", ") + key + tensor;
  messages_.warning("operators without a part of the FX data",
                    "FX data missing, GE tensor name: " + task.mine->op_name + ", FX tensor name: " + tensors);
  ++unmatched_.missing_golden;
}

void OpPlanner::name_golden_alone(const TokenData& data) {
  std::vector<std::string> alone;
  const auto note = [&](const std::string& name) {
    if (!used_.contains(name)) alone.push_back(name);
  };
  for (const GeOpFile& op : data.golden_ge.ops) note(op.op_name);
  for (const auto& [key, node] : data.golden_fx) note(key);
  std::ranges::sort(alone);
  for (const std::string& name : alone) {
    messages_.warning("operators of the golden dump alone",
                      "My data missing, golden " + std::string(kind_ == DumpKind::ge ? "GE" : "FX") +
                          " tensor name: " + name + ", token_id " + std::to_string(data.token));
  }
  unmatched_.golden_alone += alone.size();
  used_.clear();
}

bool OpPlanner::plan_against_fx(const std::vector<std::size_t>& parts, OpTask& task) {
  // Of a fused operator also those in its middle, which have no row (torchair.md 7.2).
  for (const std::size_t part : parts) {
    for (const std::string& name : graph_.ops[part].fx_names) used_.emplace(fx_node_key(name));
  }
  if (parts.empty()) {
    const std::string& type = task.mine->op_type;
    if (type.find("Cast") == std::string::npos && type.find("TransData") == std::string::npos) {
      ++unmatched_.not_in_graph;
      messages_.detail("The operator " + task.mine->op_name + " was dumped but is not in the graph.");
      return false;
    }
    task.golden = AgainstItself{};
    return true;
  }
  AgainstFx golden;
  if (parts.size() == 1) {
    golden.replaced = fx_nodes(graph_.ops[parts.front()], task, {.inputs = true, .outputs = true});
    if (!golden.replaced.empty()) {
      golden.inputs = golden.outputs = {golden.replaced.back()};
      golden.replaced.pop_back();
    }
  } else {
    golden.inputs = without_repetition(fx_nodes(graph_.ops[parts.front()], task, {.inputs = true, .outputs = false}));
    golden.outputs = without_repetition(fx_nodes(graph_.ops[parts.back()], task, {.inputs = false, .outputs = true}));
  }
  if (golden.inputs.empty() && golden.outputs.empty()) return false;
  for (const FxNode* node : golden.outputs) {
    const std::vector<std::string>& names = graph_.ops[parts.back()].fx_names;
    golden.named.push_back(static_cast<std::size_t>(std::ranges::count_if(names, [&](const std::string& name) {
      const auto found = task.data->golden_fx.find(std::string(fx_node_key(name)));
      return found != task.data->golden_fx.end() && &found->second == node;
    })));
  }
  task.golden = std::move(golden);
  return true;
}

bool OpPlanner::plan_against_ge(const std::vector<std::size_t>& parts, OpTask& task) {
  used_.insert(task.mine->op_name);
  const auto refuse = [&](const std::string& text) {
    messages_.warning(without_golden, text);
    ++unmatched_.missing_golden;
    return false;
  };
  const GeOpFile* same = task.data->golden_ge.find(task.mine->op_name);
  if (task.mine->op_type != "AutomaticBufferFusionOp") {
    if (same == nullptr) return refuse("Golden data missing, My tensor name: " + task.mine->op_name);
    task.golden = AgainstGe{same};
    return true;
  }
  AgainstFused golden;
  for (const std::size_t part : parts) {
    const GeGraphOp& op = graph_.ops[part];
    golden.parts.push_back({&op, task.data->golden_ge.find(op.name)});
    used_.insert(op.name);
  }
  const bool any = std::ranges::any_of(golden.parts, [](const auto& part) { return part.golden != nullptr; });
  if (!any && same != nullptr) {
    task.golden = AgainstGe{same};
    return true;
  }
  if (!any) {
    return refuse("Golden data missing, none of the operators fused into " + task.mine->op_name + " was dumped");
  }
  task.golden = std::move(golden);
  return true;
}

}  // namespace msrun::torchair
