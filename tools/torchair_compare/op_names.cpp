#include "tools/torchair_compare/op_names.h"

#include <optional>

namespace msrun::torchair {
namespace {

void mark(std::vector<bool>& lengths, std::size_t length) {
  if (lengths.size() <= length) lengths.resize(length + 1, false);
  lengths[length] = true;
}

bool is_marked(const std::vector<bool>& lengths, std::size_t length) {
  return length < lengths.size() && lengths[length];
}

}  // namespace

OpNames::OpNames(const GeGraph& graph) : graph_(graph) {
  places_.reserve(graph.ops.size());
  for (std::size_t i = 0; i < graph_.ops.size(); ++i) {
    const std::string& name = graph_.ops[i].name;
    if (name.empty()) continue;
    places_.emplace(name, i);
    mark(lengths_, name.size());
  }
}

void OpNames::add_dumped(std::string_view name) {
  dumped_.insert(name);
  mark(dumped_lengths_, name.size());
}

void OpNames::clear_dumped() {
  dumped_.clear();
  dumped_lengths_.clear();
}

std::vector<std::size_t> OpNames::split(std::string_view name) const {
  std::vector<std::size_t> ops;
  while (!name.empty()) {
    std::optional<std::size_t> taken;
    std::size_t length = name.size();
    for (; length > 0; --length) {
      const std::string_view prefix = name.substr(0, length);
      if (is_marked(lengths_, length)) {
        const auto place = places_.find(prefix);
        if (place != places_.end()) {
          taken = place->second;
          break;
        }
      }
      // The whole rest may be a dumped name: that of the operator itself always is.
      if (length < name.size() && is_marked(dumped_lengths_, length) && dumped_.contains(prefix)) break;
    }
    if (!taken) break;
    ops.push_back(*taken);
    name.remove_prefix(length);
  }
  return ops;
}

}  // namespace msrun::torchair
