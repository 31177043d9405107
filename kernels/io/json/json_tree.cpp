#include "kernels/io/json/json_tree.h"

namespace msrun {

std::size_t JsonNode::count() const {
  std::size_t values = 0;
  for (auto child = begin(); child != end(); ++child) ++values;
  return values;
}

JsonTree::Text JsonTree::keep(std::string_view text) {
  const Text kept{static_cast<std::uint32_t>(text_.size()), static_cast<std::uint32_t>(text.size())};
  text_.append(text);
  return kept;
}

JsonTree::Outcome JsonTree::read(JsonReader& reader) {
  const std::size_t outside = reader.depth();
  entries_.clear();
  open_.clear();
  text_.clear();
  Text key{};
  const auto give_up = [&](Outcome outcome) {
    reader.skip_container(outside + 1);
    entries_.assign(1, Entry{});
    return outcome;
  };
  do {
    const JsonEvent event = reader.next();
    if (event == JsonEvent::key || event == JsonEvent::string) {
      if (text_.size() + reader.text().size() > max_text) return give_up(Outcome::too_large);
      if (event == JsonEvent::key) {
        key = keep(reader.text());
        continue;
      }
    } else if (event == JsonEvent::end_object || event == JsonEvent::end_array) {
      entries_[open_.back()].end = static_cast<std::uint32_t>(entries_.size());
      open_.pop_back();
      continue;
    }
    if (entries_.size() == max_values) return give_up(Outcome::too_large);
    Entry& entry = entries_.emplace_back();
    entry.kind = event;
    entry.key = key;
    entry.end = static_cast<std::uint32_t>(entries_.size());
    key = {};
    switch (event) {
      case JsonEvent::begin_object:
      case JsonEvent::begin_array:
        if (reader.depth() - outside > max_depth) return give_up(Outcome::too_deep);
        open_.push_back(entries_.size() - 1);
        break;
      case JsonEvent::string:
        entry.text = keep(reader.text());
        break;
      case JsonEvent::integer:
        entry.integer = reader.integer();
        break;
      case JsonEvent::real:
        entry.large_integer = reader.is_large_integer();
        if (entry.large_integer) {
          if (text_.size() + reader.text().size() > max_text) return give_up(Outcome::too_large);
          entry.text = keep(reader.text());
        } else {
          entry.real = reader.real();
        }
        break;
      case JsonEvent::boolean:
        entry.integer = reader.boolean() ? 1 : 0;
        break;
      default:
        break;
    }
  } while (reader.depth() > outside);
  return Outcome::complete;
}

std::optional<JsonNode> find_member(const JsonNode& node, std::string_view key) {
  std::optional<JsonNode> found;
  if (!node.is_object()) return found;
  for (const JsonNode child : node) {
    if (child.key() == key) found = child;
  }
  return found;
}

}  // namespace msrun
