#include "tools/graph/match.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "kernels/base/text.h"

namespace msrun::graph {
namespace {

// The shown parameters of one side of a node: inputs, or outputs.
std::vector<const Parameter*> shown(const View& view, std::uint32_t node, bool output) {
  std::vector<const Parameter*> parameters;
  const Entry* entry = view.entry(node);
  if (entry == nullptr) return parameters;
  for (std::uint32_t i = entry->first; i < entry->last; ++i) {
    if (view.side.parameters[i].output == output) parameters.push_back(&view.side.parameters[i]);
  }
  return parameters;
}

class Matcher {
 public:
  Matcher(const View& npu, const View& bench, Dialect dialect) : npu_(npu), bench_(bench), dialect_(dialect) {
    matches_.bench_of.assign(npu.tree.nodes.size(), no_index);
    matches_.npu_of.assign(bench.tree.nodes.size(), no_index);
  }

  Matches by_name() {
    // Whether the names of all nodes above are those above the node of the same name.
    std::vector<std::uint8_t> same_place(npu_.tree.nodes.size(), 0);
    std::vector<std::uint32_t> namesake(npu_.tree.nodes.size(), no_index);
    for (const std::uint32_t node : npu_.tree.preorder) {
      const Node& mine = npu_.tree.nodes[node];
      namesake[node] = bench_.tree.find(mine.name);
      if (namesake[node] == no_index) continue;
      const std::uint32_t above = bench_.tree.nodes[namesake[node]].parent;
      if (mine.parent == no_index || above == no_index) {
        same_place[node] = mine.parent == above;
      } else {
        same_place[node] = same_place[mine.parent] && namesake[mine.parent] == above;
      }
      const bool same_data = dialect_ == Dialect::db || same_parameters(node, namesake[node], true);
      if (same_place[node] != 0 && same_data) add(node, namesake[node]);
    }
    return std::move(matches_);
  }

  Matches fuzzy() {
    for (const std::uint32_t node : npu_.tree.preorder) {
      const Node& mine = npu_.tree.nodes[node];
      if (mine.type == NodeType::api) continue;
      const std::uint32_t other = bench_.tree.find(mine.name);
      if (other == no_index || bench_.tree.nodes[other].type == NodeType::api || !fits(node, other)) continue;
      add(node, other);
      const std::map<std::string, std::uint32_t> calls = calls_of(bench_, other);
      for (const auto& [key, call] : calls_of(npu_, node)) {
        const auto found = calls.find(key);
        if (found != calls.end() && fits(call, found->second)) add(call, found->second);
      }
    }
    return std::move(matches_);
  }

  Matches by_mapping(const NameMap& mapping) {
    for (const std::uint32_t node : npu_.tree.preorder) {
      const std::string name(npu_.tree.nodes[node].name);
      const auto mapped = mapping.find(name);
      if (mapped != mapping.end() && mapped->second.empty()) continue;
      const std::uint32_t other = bench_.tree.find(mapped == mapping.end() ? name : mapped->second);
      if (other != no_index) add(node, other);
    }
    return std::move(matches_);
  }

 private:
  void add(std::uint32_t node, std::uint32_t other) {
    matches_.bench_of[node] = other;
    matches_.npu_of[other] = node;
  }

  bool fits(std::uint32_t node, std::uint32_t other) const {
    return dialect_ == Dialect::db || same_parameters(node, other, false);
  }

  // exact: as many parameters, of equal types; otherwise only the shapes of those count that both have.
  bool same_parameters(std::uint32_t node, std::uint32_t other, bool exact) const {
    for (const bool output : {false, true}) {
      const auto mine = shown(npu_, node, output);
      const auto theirs = shown(bench_, other, output);
      if (exact && mine.size() != theirs.size()) return false;
      for (std::size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i) {
        for (const Role role : {Role::type, Role::shape}) {
          if (role == Role::type && !exact) continue;
          if (!same_value(npu_.side, npu_.side.role(*mine[i], role), bench_.side, bench_.side.role(*theirs[i], role))) {
            return false;
          }
        }
      }
    }
    return true;
  }

  // The calls directly in a module by name without numbers and the ordinal of that name.
  static std::map<std::string, std::uint32_t> calls_of(const View& view, std::uint32_t module) {
    std::map<std::string, std::uint32_t> calls;
    std::map<std::string, int> counts;
    for (const std::uint32_t child : view.tree.nodes[module].children) {
      if (view.tree.nodes[child].type != NodeType::api) continue;
      const std::string shortened = without_numbers(view.tree.nodes[child].name);
      calls.emplace(shortened + std::to_string(++counts[shortened]), child);
    }
    return calls;
  }

  // ".3." becomes ".".
  static std::string without_numbers(std::string_view name) {
    std::string text;
    std::size_t at = 0;
    while (at < name.size()) {
      if (name[at] == '.') {
        const std::size_t end = name.find_first_not_of("0123456789", at + 1);
        if (end != std::string_view::npos && end > at + 1 && name[end] == '.') {
          text += '.';
          at = end + 1;
          continue;
        }
      }
      text += name[at++];
    }
    return text;
  }

  const View& npu_;
  const View& bench_;
  const Dialect dialect_;
  Matches matches_;
};

bool is_forward_module(const Node& node) {
  return node.type == NodeType::module && node.name.find(".forward.") != std::string_view::npos;
}

// Every node below the first level gets the number of its parent.
void inherit(const Tree& tree, std::vector<std::int64_t>& numbers) {
  for (const std::uint32_t node : tree.preorder) {
    const std::uint32_t parent = tree.nodes[node].parent;
    if (parent != no_index && parent != 0) numbers[node] = numbers[parent];
  }
}

}  // namespace

bool same_value(const Side& mine, const Value& value, const Side& theirs, const Value& other) {
  const bool texts = value.kind == Kind::text || value.kind == Kind::nested;
  const bool other_texts = other.kind == Kind::text || other.kind == Kind::nested;
  if (texts && other_texts) return mine.text(value.text) == theirs.text(other.text);
  if (value.kind != other.kind) return false;
  if (value.digits != 0 || other.digits != 0) return mine.text(value.digits) == theirs.text(other.digits);
  if (value.kind == Kind::real) {
    return value.real == other.real || (std::isnan(value.real) && std::isnan(other.real));
  }
  return value.kind == Kind::none || (!texts && value.integer == other.integer);
}

Matches match(const View& npu, const View& bench, Dialect dialect, const Matching& how) {
  Matcher matcher(npu, bench, dialect);
  if (how.fuzzy) return matcher.fuzzy();
  if (how.mapping != nullptr) return matcher.by_mapping(*how.mapping);
  return matcher.by_name();
}

MicroSteps micro_steps(const View& npu) {
  MicroSteps steps;
  steps.of.assign(npu.tree.nodes.size(), 0);
  if (npu.side.last_micro_step >= 0) {
    steps.count = npu.side.last_micro_step + 1;
    for (std::size_t i = 1; i < steps.of.size(); ++i) steps.of[i] = npu.tree.nodes[i].recorded_micro_step;
    return steps;
  }
  std::int64_t step = 0;
  bool after_backward = false;
  for (const std::uint32_t child : npu.tree.nodes[0].children) {
    const Node& node = npu.tree.nodes[child];
    if (is_forward_module(node)) {
      if (after_backward) ++step;
      after_backward = false;
    } else if (node.type == NodeType::module) {
      after_backward = true;
    }
    steps.of[child] = step;
  }
  steps.count = step + 1;
  inherit(npu.tree, steps.of);
  return steps;
}

std::vector<std::int64_t> bench_micro_steps(const View& bench, const Matches& matches, const MicroSteps& npu) {
  std::vector<std::int64_t> numbers(bench.tree.nodes.size(), 0);
  if (bench.side.last_micro_step >= 0) {
    for (std::size_t i = 1; i < numbers.size(); ++i) numbers[i] = bench.tree.nodes[i].recorded_micro_step;
    return numbers;
  }
  for (const std::uint32_t child : bench.tree.nodes[0].children) {
    if (matches.npu_of[child] != no_index) {
      numbers[child] = npu.of[matches.npu_of[child]];
      continue;
    }
    const std::string_view name = bench.tree.nodes[child].name;
    numbers[child] = parse_number<std::int64_t>(name.substr(name.rfind('.') + 1)).value_or(0);
  }
  inherit(bench.tree, numbers);
  return numbers;
}

}  // namespace msrun::graph
