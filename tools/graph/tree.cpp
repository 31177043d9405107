#include "tools/graph/tree.h"

#include <algorithm>
#include <array>
#include <set>

#include "kernels/base/counted.h"
#include "kernels/base/digits.h"
#include "kernels/base/text.h"

namespace msrun::graph {
namespace {

constexpr std::string_view root_name = "DefaultModel";

// Behind a prefix stands one more character, whatever it is.
bool begins(std::string_view name, std::string_view prefix) {
  return name.size() > prefix.size() && name.starts_with(prefix);
}

constexpr std::array<std::string_view, 12> api_prefixes{"Tensor",    "Torch",       "Functional",     "NPU",
                                                        "VF",        "Distributed", "Aten",           "Mint",
                                                        "Primitive", "Jit",         "MintFunctional", "MindSpeed"};

bool is_known_module(std::string_view name) {
  return begins(name, "Module") || begins(name, "Cell") || name.starts_with("optimizer") ||
         name.starts_with("clip_grad") || name.starts_with(root_name);
}

bool is_api(std::string_view name) {
  return std::ranges::any_of(api_prefixes, [&](std::string_view prefix) { return begins(name, prefix); });
}

class Builder {
 public:
  Builder(const Side& side, bool compat, const Warn& warn) : side_(side), compat_(compat), warn_(warn) {}

  Tree build() {
    tree_.nodes.reserve(side_.lines.size() + 16);
    tree_.node_of.reserve(side_.lines.size() + 16);
    tree_.made_names.reserve(1);
    add_node(root_name);
    add_lines();
    attach_lost();
    if (!compat_) add_gradients();
    warn_of_left_out();
    group_calls();
    find_orders();
    return std::move(tree_);
  }

 private:
  std::uint32_t add_node(std::string_view name) {
    Node node;
    node.name = name;
    if (!is_known_module(name) && is_api(name)) node.type = NodeType::api;
    if (!is_known_module(name) && node.type != NodeType::api) warn_of_prefix(name);
    const auto id = static_cast<std::uint32_t>(tree_.nodes.size());
    tree_.nodes.push_back(std::move(node));
    tree_.node_of.emplace(name, id);
    order_.push_back(no_index);
    return id;
  }

  void warn_of_prefix(std::string_view name) {
    const std::string prefix(name.substr(0, name.find('.')));
    if (prefixes_.insert(prefix).second) {
      warn_(side_.folder + ": names that begin with " + sanitised(bounded(prefix)) + " are taken for modules");
    }
  }

  // Calls of dump.json that construct.json has no line of.
  void warn_of_left_out() const {
    std::size_t count = 0;
    std::string_view first;
    for (const Entry& entry : side_.entries) {
      const std::string_view name = side_.text(entry.name);
      const bool is_gradient = name.find("parameters_grad") != std::string_view::npos;
      if (tree_.find(name) != no_index || (compat_ && is_gradient)) continue;
      if (count++ == 0) first = name;
    }
    if (count == 0) return;
    warn_(side_.folder + ": construct.json has no line of " + counted(count, "call") +
          " of dump.json, which the graph lacks: first " + sanitised(bounded(std::string(first))));
  }

  std::uint32_t get_or_create(TextId id) {
    const std::string_view name = side_.text(id);
    if (const std::uint32_t known = tree_.find(name); known != no_index) return known;
    const std::uint32_t node = add_node(name);
    if (const auto entry = side_.entry_of.find(id); entry != side_.entry_of.end()) {
      tree_.nodes[node].entry = entry->second;
    }
    find_stack(tree_.nodes[node], id);
    return node;
  }

  void find_stack(Node& node, TextId id) {
    const auto own = side_.stack_of.find(id);
    if (own != side_.stack_of.end()) node.stack = own->second;
    if (side_.stacks[node.stack].count > 0) return;
    std::string forward;
    if (is_module_direction(node.name, "backward")) {
      forward = std::string(node.name.substr(0, node.name.rfind(".backward."))) + ".forward.0";
    } else if (node.name.ends_with(".backward")) {
      forward = node.name;
      for (std::size_t at = forward.find("backward"); at != std::string::npos; at = forward.find("backward", at)) {
        forward.replace(at, 8, "forward");
      }
    } else {
      return;
    }
    const std::uint32_t twin = tree_.find(forward);
    node.lost_stack = twin == no_index || tree_.nodes[twin].lost_stack;
    if (twin != no_index) node.stack = tree_.nodes[twin].stack;
  }

  void attach(std::uint32_t node, std::uint32_t up) {
    tree_.nodes[node].parent = up;
    tree_.nodes[up].children.push_back(node);
  }

  void add_lines() {
    const std::vector<TextId> parents = repaired_parents(side_, compat_);
    for (std::size_t i = 0; i < side_.lines.size(); ++i) {
      const std::uint32_t up = parents[i] == 0 ? 0 : get_or_create(parents[i]);
      const std::uint32_t node = get_or_create(side_.lines[i].name);
      tree_.nodes[node].recorded_micro_step = side_.lines[i].micro_step;
      order_[node] = static_cast<std::uint32_t>(i);
      if (node != 0 && node != up && tree_.nodes[node].parent == no_index) attach(node, up);
    }
  }

  // Nodes without a parent, and one node of each circle, come below the root: nothing is hidden.
  void attach_lost() {
    std::vector<std::uint8_t> state(tree_.nodes.size(), 0);  // 1: on the way up that is being gone, 2: done
    state[0] = 2;
    std::vector<std::uint32_t> way;
    for (std::uint32_t first = 0; first < tree_.nodes.size(); ++first) {
      way.clear();
      std::uint32_t at = first;
      while (at != no_index && state[at] == 0) {
        state[at] = 1;
        way.push_back(at);
        at = tree_.nodes[at].parent;
      }
      if (at == no_index) {
        attach(way.back(), 0);
        warn_(side_.folder + ": " + sanitised(bounded(std::string(tree_.nodes[way.back()].name))) +
              " is a parent without a line of its own in construct.json; it is shown below the root");
      } else if (state[at] == 1) {
        break_circle(at);
      }
      for (const std::uint32_t node : way) state[node] = 2;
    }
  }

  // The line that closed the circle is the last of its lines.
  void break_circle(std::uint32_t member) {
    std::uint32_t last = member;
    for (std::uint32_t at = tree_.nodes[member].parent; at != member; at = tree_.nodes[at].parent) {
      if (order_[at] > order_[last]) last = at;
    }
    std::erase(tree_.nodes[tree_.nodes[last].parent].children, last);
    attach(last, 0);
    warn_(side_.folder + ": Detected a cycle in the node structure and cannot get node ancestors, current node is " +
          sanitised(bounded(std::string(tree_.nodes[last].name))) + ". It is shown below the root.");
  }

  // The last call of each module in one direction.
  using LastCalls = std::unordered_map<std::string_view, std::pair<std::uint64_t, std::uint32_t>>;
  LastCalls last_calls(std::string_view direction) const {
    LastCalls calls;
    const std::string mark = "." + std::string(direction) + ".";
    for (std::uint32_t i = 0; i < tree_.nodes.size(); ++i) {
      const std::string_view name = tree_.nodes[i].name;
      if (!is_module_direction(name, direction)) continue;
      const std::uint64_t call = parse_number<std::uint64_t>(name.substr(name.rfind('.') + 1)).value_or(0);
      const auto [place, is_new] = calls.emplace(name.substr(0, name.rfind(mark)), std::pair(call, i));
      if (!is_new && call >= place->second.first) place->second = {call, i};
    }
    return calls;
  }

  // Below the backward call of the module. Of modules that work in place, and by some recorders of all, there is none:
  // then below that of a module around it, or else below its forward call.
  std::uint32_t above_gradients(std::string_view module, const LastCalls& backward, const LastCalls& forward) const {
    if (const auto own = backward.find(module); own != backward.end()) return own->second.second;
    const auto call = forward.find(module);
    if (call == forward.end()) return 0;
    for (std::uint32_t up = tree_.nodes[call->second.second].parent; up != no_index; up = tree_.nodes[up].parent) {
      const std::string_view name = tree_.nodes[up].name;
      if (!is_module_direction(name, "forward")) continue;
      const auto around = backward.find(name.substr(0, name.rfind(".forward.")));
      if (around != backward.end()) return around->second.second;
    }
    return call->second.second;
  }

  void add_gradients() {
    const LastCalls backward = last_calls("backward");
    const LastCalls forward = last_calls("forward");
    constexpr std::string_view mark = ".parameters_grad";
    for (std::uint32_t i = 0; i < side_.entries.size(); ++i) {
      const TextId id = side_.entries[i].name;
      const std::string_view name = side_.text(id);
      const std::size_t at = name.rfind(mark);
      if (at == std::string_view::npos || tree_.find(name) != no_index) continue;
      const std::string_view rest = name.substr(at + mark.size());
      if (!rest.empty() && (rest[0] != '.' || !parse_number<std::uint64_t>(rest.substr(1)))) continue;
      const std::uint32_t above = above_gradients(name.substr(0, at), backward, forward);
      const std::uint32_t node = add_node(name);
      tree_.nodes[node].entry = i;
      find_stack(tree_.nodes[node], id);
      tree_.nodes[node].recorded_micro_step = tree_.nodes[above].recorded_micro_step;
      attach(node, above);
    }
  }

  // Runs of two or more calls of the first level become one node each.
  void group_calls() {
    const std::vector<std::uint32_t> children = std::move(tree_.nodes[0].children);
    tree_.nodes[0].children.clear();
    tree_.made_names.reserve(children.size() / 2 + 1);  // names are views of them
    for (std::size_t i = 0; i < children.size();) {
      std::size_t end = i;
      while (end < children.size() && tree_.nodes[children[end]].type == NodeType::api) ++end;
      if (end - i < 2) {
        tree_.nodes[0].children.push_back(children[i]);
        ++i;
        continue;
      }
      tree_.made_names.push_back(free_name());
      const std::uint32_t group = add_node_of_type(tree_.made_names.back(), NodeType::collection);
      attach(group, 0);
      tree_.nodes[group].recorded_micro_step = tree_.nodes[children[i]].recorded_micro_step;
      for (; i < end; ++i) attach(children[i], group);
    }
  }

  // "Apis_Between_Modules." and the next number that no recorded node has.
  std::string free_name() {
    std::string name;
    do {
      name = "Apis_Between_Modules." + std::to_string(next_group_++);
    } while (tree_.find(name) != no_index);
    return name;
  }

  std::uint32_t add_node_of_type(std::string_view name, NodeType type) {
    const auto id = static_cast<std::uint32_t>(tree_.nodes.size());
    tree_.nodes.emplace_back();
    tree_.nodes.back().name = name;
    tree_.nodes.back().type = type;
    tree_.node_of.emplace(name, id);
    return id;
  }

  void find_orders() {
    tree_.preorder.reserve(tree_.nodes.size());
    tree_.postorder.reserve(tree_.nodes.size());
    std::vector<std::pair<std::uint32_t, std::size_t>> open{{0, 0}};
    tree_.preorder.push_back(0);
    while (!open.empty()) {
      auto& [node, next] = open.back();
      const std::vector<std::uint32_t>& children = tree_.nodes[node].children;
      if (next == children.size()) {
        tree_.postorder.push_back(node);
        open.pop_back();
        continue;
      }
      const std::uint32_t child = children[next++];
      tree_.preorder.push_back(child);
      open.emplace_back(child, 0);
    }
  }

  const Side& side_;
  const bool compat_;
  const Warn& warn_;
  Tree tree_;
  std::vector<std::uint32_t> order_;  // line of construct.json, no_index for nodes without one
  std::set<std::string> prefixes_;
  std::size_t next_group_ = 0;
};

// Whether "Template(" stands in the line at the end of a word that begins with a capital.
bool has_template(std::string_view line) {
  constexpr std::string_view mark = "Template(";
  const auto is_word = [](char c) { return is_alphanumeric(c) || c == '_'; };
  for (std::size_t at = line.find(mark); at != std::string_view::npos; at = line.find(mark, at + 1)) {
    std::size_t begin = at;
    while (begin > 0 && is_letter(line[begin - 1])) --begin;
    const bool at_word = begin == 0 || !is_word(line[begin - 1]);
    if (at_word && begin < at && line[begin] >= 'A' && line[begin] <= 'Z') return true;
  }
  return false;
}

}  // namespace

std::uint32_t Tree::find(std::string_view name) const {
  const auto found = node_of.find(name);
  return found == node_of.end() ? no_index : found->second;
}

std::vector<std::uint32_t> Tree::path(std::uint32_t node) const {
  std::vector<std::uint32_t> nodes_above;
  for (std::uint32_t at = node; at != no_index; at = nodes[at].parent) nodes_above.push_back(at);
  std::ranges::reverse(nodes_above);
  return nodes_above;
}

Tree build_tree(const Side& side, bool compat, const Warn& warn) { return Builder(side, compat, warn).build(); }

Stack shown_stack(const Side& side, const Node& node, bool complete) {
  const Stack all = side.stacks[node.stack];
  if (complete || all.count == 0) return all;
  const auto frame = [&](std::uint32_t i) { return side.text(side.frames[all.first + i]); };
  if (node.name.starts_with("Module") || node.name.starts_with("Cell")) {
    std::string_view rest = node.name;
    std::string_view segment;
    for (int i = 0; i < 4; ++i) {
      const std::size_t dot = rest.rfind('.');
      if (dot == std::string_view::npos) {
        if (i < 3) return all;
        segment = rest;
        break;
      }
      segment = rest.substr(dot + 1);
      rest = rest.substr(0, dot);
    }
    const std::string wanted = std::string(segment) + "(";
    for (std::uint32_t i = 0; i < all.count; ++i) {
      if (frame(i).find(wanted) != std::string_view::npos) return {all.first + i, 1};
    }
    return all;
  }
  for (std::uint32_t i = 0; i + 1 < all.count; ++i) {
    if (has_template(frame(i))) return {all.first + i + 1, 1};
  }
  return all;
}

}  // namespace msrun::graph
