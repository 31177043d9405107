#include "tools/recordings/layer_mapping.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/yaml/yaml.h"

namespace msrun::recordings {
namespace {

using Segments = std::vector<std::string>;

Segments split(std::string_view text) {
  Segments parts;
  while (true) {
    const std::size_t dot = text.find('.');
    parts.emplace_back(text.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    text.remove_prefix(dot + 1);
  }
}

std::string join(const Segments& parts, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < std::min(count, parts.size()); ++i) text += (i == 0 ? "" : ".") + parts[i];
  return text;
}

std::string without_last(const Segments& parts, std::size_t count) {
  return join(parts, parts.size() - std::min(count, parts.size()));
}

struct Item {
  std::string call;
  std::string kind;   // class of a module, api of a call
  std::string state;  // direction
  std::string name;
  std::string scope;
};

bool in_framework(std::string_view line) {
  for (const char* part : {"site-packages/torch", "package/torch", "site-packages/mindspore", "package/mindspore"}) {
    if (line.find(part) != std::string_view::npos) return true;
  }
  return false;
}

// Third field of a frame, and its second word: the function.
std::string function_of(std::string_view line) {
  for (int i = 0; i < 2; ++i) {
    const std::size_t comma = line.find(',');
    if (comma == std::string_view::npos) return {};
    line.remove_prefix(comma + 1);
  }
  line = line.substr(0, line.find(','));
  const std::size_t word = line.find("in ");
  if (word == std::string_view::npos) return {};
  line.remove_prefix(word + 3);
  return std::string(line.substr(0, line.find(' ')));
}

// The function of the framework that made a call, if its stack tells.
std::string framework_function(const std::vector<std::string>& lines, bool mindspore) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find("Template") != std::string::npos) begin = i + 1;
  }
  std::size_t end = begin;
  const auto ends = [&](const std::string& line) {
    if (mindspore) return line.find("construct") != std::string::npos;
    return line.find("in forward,") != std::string::npos || line.find("in backward,") != std::string::npos;
  };
  while (end < lines.size() && !ends(lines[end])) ++end;
  std::string function;
  for (std::size_t i = begin; i < end && in_framework(lines[i]); ++i) {
    const std::string name = function_of(lines[i]);
    const bool ours = lines[i].find("msprobe") != std::string::npos ||
                      lines[i].find("MindSpeed") != std::string::npos || name.find("construct") != std::string::npos ||
                      name.find("__call__") != std::string::npos;
    function = ours ? std::string() : name;
  }
  return function;
}

bool is_module(const Segments& parts) { return parts.front() == "Module" || parts.front() == "Cell"; }

std::vector<Item> items_of(const Recording& side) {
  const std::optional<Stacks> stacks = read_stacks_of(side.folder);
  const std::optional<Construct> construct = read_construct_of(side.folder);
  if (!stacks || stacks->empty() || !construct || construct->empty()) return {};
  std::vector<Item> items;
  std::unordered_map<std::string, std::string> forward_scopes;
  for (const Call& call : side.calls) {
    Item item;
    item.call = side.name(call);
    const Segments parts = split(item.call);
    const std::size_t n = parts.size();
    if (n < 4) throw UserError("the name " + bounded(item.call) + " has fewer than four parts");
    const std::vector<std::string>* lines = stacks->lines(item.call);
    std::string layer;
    if (parts.back() == "parameters_grad") {
      item = {item.call, parts[n - 2], parts.back(), parts[n - 3], {}};
      layer = without_last(parts, 3);
    } else if (is_module(parts)) {
      item = {item.call, parts[n - 3], parts[n - 2], parts[n - 4], {}};
      layer = without_last(parts, 4);
    } else {
      item = {item.call, parts[n - 3], parts.back(), parts[n - 3], {}};
      const std::string parent = construct->parent(item.call);
      layer = parent.empty() ? "TopLayer" : without_last(split(parent), 3);
      if (lines != nullptr && parts.front() != "Primitive" && parts.front() != "Jit") {
        const std::string function = framework_function(*lines, side.framework == "mindspore");
        if (!function.empty()) layer += "." + function;
      }
    }
    item.scope = layer + "." + item.name;
    if (call.direction == Direction::forward) forward_scopes[item.call] = item.scope;
    if (call.direction == Direction::backward) {
      std::string forward = item.call;
      const std::size_t at = forward.rfind("backward");
      forward.replace(at, 8, "forward");
      if (const auto found = forward_scopes.find(forward); found != forward_scopes.end()) item.scope = found->second;
    }
    items.push_back(std::move(item));
  }
  return items;
}

// Pipeline stages number their layers globally: below a transformer they begin at 0 here.
void renumber(std::vector<Item>& items) {
  std::unordered_set<std::string> prefixes;
  for (const Item& item : items) {
    if (item.kind == "ParallelTransformer") prefixes.insert(item.scope + ".layers.");
  }
  for (const std::string& prefix : prefixes) {
    const auto number_of = [&](const Item& item) -> std::optional<std::int64_t> {
      if (!item.scope.starts_with(prefix)) return std::nullopt;
      const std::string_view rest = std::string_view(item.scope).substr(prefix.size());
      return parse_number<std::int64_t>(rest.substr(0, rest.find('.')));
    };
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const Item& item : items) least = std::min(least, number_of(item).value_or(least));
    for (Item& item : items) {
      const auto number = number_of(item);
      if (!number) continue;
      const std::size_t end = std::min(item.scope.find('.', prefix.size()), item.scope.size());
      item.scope = prefix + std::to_string(*number - least) + item.scope.substr(end);
    }
  }
}

struct Node {
  std::string kind;
  std::map<std::string, std::unique_ptr<Node>> children;
  std::map<std::string, std::vector<std::string>> calls;  // by state
};

class Tree {
 public:
  explicit Tree(const std::vector<Item>& items) {
    root_.kind = "TopLayer";
    for (const Item& item : items) {
      Node* node = &root_;
      const Segments parts = split(item.scope);
      for (std::size_t i = 1; i < parts.size(); ++i) {
        std::unique_ptr<Node>& child = node->children[parts[i]];
        if (!child) {
          child = std::make_unique<Node>();
          child->kind = parts[i];
        }
        node = child.get();
      }
      node->kind = item.kind;
      node->calls[item.state].push_back(item.call);
    }
  }

  const Node* find(const Segments& parts) const {
    const Node* node = &root_;
    for (std::size_t i = 1; i < parts.size() && node != nullptr; ++i) node = child(*node, parts[i]);
    return node;
  }

  // Whether a layer of that class has those segments below it.
  bool has(const std::string& kind, const Segments& below) const { return has(root_, kind, below); }

  Segments converted(const Segments& parts, const LayerRules& rules) const {
    Segments result{"TopLayer"};
    const Node* node = &root_;
    for (std::size_t i = 1; i < parts.size();) {
      std::size_t consumed = 1;
      Segments replacement{parts[i]};
      const auto of_class = node == nullptr ? rules.end() : rules.find(node->kind);
      if (of_class != rules.end()) {
        std::size_t longest = 0;
        for (const auto& [from, to] : of_class->second) {
          const Segments key = split(from);
          if (key.size() <= longest || i + key.size() > parts.size()) continue;
          if (!std::equal(key.begin(), key.end(), parts.begin() + static_cast<std::ptrdiff_t>(i))) continue;
          longest = consumed = key.size();
          replacement = split(to);
        }
      }
      result.insert(result.end(), replacement.begin(), replacement.end());
      for (std::size_t k = 0; k < consumed && node != nullptr; ++k) node = child(*node, parts[i + k]);
      i += consumed;
    }
    return result;
  }

 private:
  static bool has(const Node& node, const std::string& kind, const Segments& below) {
    if (node.kind == kind) {
      const Node* last = &node;
      for (std::size_t i = 0; i < below.size() && last != nullptr; ++i) last = child(*last, below[i]);
      if (last != nullptr) return true;
    }
    return std::ranges::any_of(node.children, [&](const auto& entry) { return has(*entry.second, kind, below); });
  }

  static const Node* child(const Node& node, const std::string& name) {
    const auto found = node.children.find(name);
    return found == node.children.end() ? nullptr : found->second.get();
  }

  Node root_;
};

}  // namespace

std::vector<UnusedLayerRule> unused_layer_rules(const Recording& target, const std::string& name,
                                                std::string_view text) {
  std::vector<std::string> repeated;
  const YamlNode document = parse_yaml_in_order(name, text, repeated);
  if (!document.is_object()) return {};
  std::vector<Item> items = items_of(target);
  renumber(items);
  const Tree tree(items);
  std::vector<UnusedLayerRule> unused;
  for (const auto& [kind, names] : document.members) {
    for (const auto& [from, to] : names.members) {
      if (!tree.has(kind == "Cell" ? "TopLayer" : kind, split(from))) unused.push_back({kind + "." + from, to.line});
    }
  }
  return unused;
}

LayerRules parse_layer_rules(const std::string& name, std::string_view text, RepeatedKeys repeated) {
  std::vector<std::string> keys;
  const nlohmann::json document = parse_yaml(name, text, keys);
  if (!keys.empty() && repeated == RepeatedKeys::refused) {
    throw UserError("The layer mapping file " + name + " has the key " + bounded(keys.front()) + " twice.");
  }
  LayerRules rules;
  if (document.is_null()) return rules;
  if (!document.is_object()) throw UserError("The layer mapping file " + name + " is no object of classes.");
  for (const auto& [kind, names] : document.items()) {
    if (!names.is_object()) throw UserError("The layer mapping file " + name + ": " + bounded(kind) + " is no object.");
    for (const auto& [from, to] : names.items()) {
      if (!to.is_string()) throw UserError("The layer mapping file " + name + ": " + bounded(from) + " has no name.");
      rules[kind == "Cell" ? "TopLayer" : kind].emplace_back(from, to.get<std::string>());
    }
  }
  return rules;
}

namespace {

std::unordered_map<std::string, std::string> map_items(std::vector<Item> mine, std::vector<Item> theirs,
                                                       const LayerRules& rules) {
  renumber(mine);
  renumber(theirs);
  const Tree tree(mine);
  const Tree golden_tree(theirs);
  std::unordered_map<std::string, std::string> pairs;
  for (const Item& item : mine) {
    const Segments scope = split(item.scope);
    const Node* node = tree.find(scope);
    const Node* other = golden_tree.find(tree.converted(scope, rules));
    const std::vector<std::string>& calls = node->calls.at(item.state);
    const auto place = static_cast<std::size_t>(std::ranges::find(calls, item.call) - calls.begin());
    const auto found = other == nullptr ? decltype(other->calls.end()){} : other->calls.find(item.state);
    const bool there = other != nullptr && found != other->calls.end() && place < found->second.size();
    pairs[item.call] = there ? found->second[place] : std::string();
  }
  return pairs;
}

// Nothing of a recording without layers would be mapped, and its calls would be compared as if no mapping was given.
void require_layers(const Recording& side, const std::vector<Item>& items) {
  if (!items.empty() || side.calls.empty()) return;
  const std::optional<Stacks> stacks = read_stacks_of(side.folder);
  const std::optional<Construct> construct = read_construct_of(side.folder);
  const auto state = [](const char* file, bool there) {
    return std::string(file) + (there ? " is empty" : " is missing");
  };
  throw UserError("A layer mapping cannot be applied to " + side.path + ": beside it " +
                  (!stacks || stacks->empty() ? state("stack.json", stacks.has_value())
                                              : state("construct.json", construct.has_value())) +
                  ", which says in which layers the calls stand.");
}

}  // namespace

std::unordered_map<std::string, std::string> map_calls_by_layer(const Recording& target, const Recording& golden,
                                                                const LayerRules& rules) {
  return map_items(items_of(target), items_of(golden), rules);
}

std::unordered_map<std::string, std::optional<std::string>> map_rows_by_layer(
    const Recording& target, const Recording& golden, std::string_view text, const std::string& name,
    RepeatedKeys repeated, std::vector<UnusedLayerRule>& unused) {
  const LayerRules rules = parse_layer_rules(name, text, repeated);
  std::vector<Item> mine = items_of(target);
  std::vector<Item> theirs = items_of(golden);
  if (repeated == RepeatedKeys::refused) {
    require_layers(target, mine);
    require_layers(golden, theirs);
  }
  unused = unused_layer_rules(target, name, text);
  const auto calls = map_items(std::move(mine), std::move(theirs), rules);
  std::unordered_map<std::string_view, const Call*> by_name;
  for (const Call& call : golden.calls) by_name.emplace(golden.name(call), &call);
  std::unordered_map<std::string, std::optional<std::string>> rows;
  for (const Call& call : target.calls) {
    const auto mapped = calls.find(std::string(target.name(call)));
    if (mapped == calls.end()) continue;
    const auto other = by_name.find(mapped->second);
    for (std::uint32_t i = call.leaves; i < call.leaf_end; ++i) {
      std::optional<std::string>& row = rows[target.row_name(call, target.leaves[i])];
      row.reset();
      if (other == by_name.end()) continue;
      for (std::uint32_t k = other->second->leaves; k < other->second->leaf_end; ++k) {
        if (golden.text(golden.leaves[k].suffix) != target.text(target.leaves[i].suffix)) continue;
        row = golden.row_name(*other->second, golden.leaves[k]);
        break;
      }
    }
  }
  return rows;
}

}  // namespace msrun::recordings
