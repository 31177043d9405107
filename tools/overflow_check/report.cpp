#include "tools/overflow_check/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "kernels/io/dump/companions.h"
#include "kernels/io/files/file.h"
#include "kernels/io/json/json_tree.h"

namespace msrun::overflow_check {
namespace {

using recordings::Direction;
using recordings::Recording;

std::string json_text(std::string_view text) {
  return nlohmann::json(std::string(text)).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// As Python's json.dump(indent=2) writes it, from a depth on.
void append_json(std::string& out, const JsonNode& node, std::size_t depth) {
  switch (node.kind()) {
    case JsonEvent::begin_object:
    case JsonEvent::begin_array: {
      const bool object = node.is_object();
      if (node.count() == 0) {
        out += object ? "{}" : "[]";
        return;
      }
      out += object ? '{' : '[';
      bool first = true;
      for (const JsonNode child : node) {
        out += first ? "\n" : ",\n";
        first = false;
        out.append(2 * (depth + 1), ' ');
        if (object) out += json_text(child.key()) + ": ";
        append_json(out, child, depth + 1);
      }
      out += '\n';
      out.append(2 * depth, ' ');
      out += object ? '}' : ']';
      return;
    }
    case JsonEvent::string:
      out += json_text(node.text());
      return;
    case JsonEvent::integer:
      out += std::to_string(node.integer());
      return;
    case JsonEvent::real: {
      if (const std::string_view digits = node.large_integer(); !digits.empty()) {
        out += digits;
        return;
      }
      const double value = node.number();
      if (std::isnan(value)) {
        out += "NaN";
      } else if (std::isinf(value)) {
        out += value > 0 ? "Infinity" : "-Infinity";
      } else {
        recordings::append_real(out, value);
      }
      return;
    }
    case JsonEvent::boolean:
      out += node.boolean() ? "true" : "false";
      return;
    default:
      out += "null";
  }
}

void append_texts(std::string& out, const std::vector<std::string>& texts, std::size_t depth) {
  if (texts.empty()) {
    out += "[]";
    return;
  }
  out += '[';
  for (std::size_t i = 0; i < texts.size(); ++i) {
    out += i == 0 ? "\n" : ",\n";
    out.append(2 * (depth + 1), ' ');
    out += json_text(texts[i]);
  }
  out += '\n';
  out.append(2 * depth, ' ');
  out += ']';
}

std::string_view source_word(Source source) {
  switch (source) {
    case Source::none:
      return {};
    case Source::input:
      return "input";
    case Source::parameters:
      return "parameters";
    case Source::inside:
      return "inside";
  }
  return {};
}

// Anomalies by the names of their calls, and of entries of one name by how many of them stand before it in the file.
using Wanted = std::map<std::string, std::map<std::size_t, const Anomaly*>>;

void want(const Recording& recording, const Anomaly& anomaly, Wanted& wanted) {
  const recordings::Call& call = recording.calls[anomaly.call];
  std::size_t earlier = 0;
  if (recording.repeated > 0) {
    for (std::size_t i = 0; i < anomaly.call; ++i) earlier += recording.calls[i].name == call.name ? 1 : 0;
  }
  wanted[std::string(recording.name(call))].emplace(earlier, &anomaly);
}

// Hands the entries that are wanted to on_entry.
template <class OnEntry>
void read_entries(const Recording& recording, const Wanted& wanted, const OnEntry& on_entry) {
  std::map<std::string_view, std::size_t> seen;
  const auto file = std::make_shared<InputFile>(recording.path);
  JsonReader reader(recording.path, [file](std::span<char> target) { return file->read(target); });
  JsonTree tree;
  if (reader.next() != JsonEvent::begin_object) return;
  while (reader.next() == JsonEvent::key) {
    if (reader.text() != "data") {
      reader.skip_value();
      continue;
    }
    if (reader.next() != JsonEvent::begin_object) return;
    while (reader.next() == JsonEvent::key) {
      const auto found = wanted.find(std::string(reader.text()));
      const Anomaly* anomaly = nullptr;
      if (found != wanted.end()) {
        const auto of_name = found->second.find(seen[found->first]++);
        if (of_name != found->second.end()) anomaly = of_name->second;
      }
      if (anomaly == nullptr) {
        reader.skip_value();
        continue;
      }
      tree.read(reader);
      on_entry(*anomaly, tree.root());
    }
  }
}

// The members of an entry that the document has, in its order.
std::string data_info(const JsonNode& entry, Direction direction) {
  std::string out = "{";
  bool first = true;
  const std::vector<const char*> keys = direction == Direction::backward
                                            ? std::vector<const char*>{"input", "output"}
                                            : std::vector<const char*>{"input_args", "input_kwargs", "output"};
  for (const char* key : keys) {
    std::optional<JsonNode> value;
    for (const JsonNode child : entry) {
      if (child.key() == key) value = child;
    }
    out += first ? "\n" : ",\n";
    first = false;
    out += "        " + json_text(key) + ": ";
    if (value) {
      append_json(out, *value, 4);
    } else {
      out += "null";
    }
  }
  return out + "\n      }";
}

std::string call_text(const Recording& recording, const Anomaly& anomaly, const JsonNode& entry) {
  const recordings::Call& call = recording.calls[anomaly.call];
  const std::string name(recording.name(call));
  std::string out = "    {\n      \"op_name\": " + json_text(name) + ",\n      \"data_info\": ";
  out += data_info(entry, call.direction);
  const auto construct = recordings::read_construct_of(recording.folder);
  out += ",\n      \"construct_info\": ";
  append_texts(out, construct ? construct->chain(name) : std::vector<std::string>{name}, 3);
  const auto stacks = recordings::read_stacks_of(recording.folder);
  const std::vector<std::string>* lines = stacks ? stacks->lines(name) : nullptr;
  out += ",\n      \"stack_info\": ";
  if (lines == nullptr) {
    out += "{}";
  } else {
    append_texts(out, *lines, 3);
  }
  const auto add = [&](const char* key, std::string_view text) {
    if (!text.empty()) out += ",\n      " + json_text(key) + ": " + json_text(text);
  };
  add("source", source_word(anomaly.source));
  add("holder", anomaly.holder);
  if (anomaly.seen_by) add("seen_by", recording.name(recording.calls[*anomaly.seen_by]));
  return out + "\n    }";
}

}  // namespace

std::string report_text(const std::vector<RankDump>& ranks, const std::vector<Anomaly>& anomalies) {
  std::map<std::size_t, Wanted> wanted;
  for (const Anomaly& anomaly : anomalies) want(ranks[anomaly.rank].recording, anomaly, wanted[anomaly.rank]);
  const Anomaly& first = anomalies.front();
  const Recording& of_first = ranks[first.rank].recording;
  std::string out = "{\n  \"first\": {\n    \"rank\": " + std::to_string(ranks[first.rank].number) +
                    ",\n    \"op_name\": " + json_text(of_first.name(of_first.calls[first.call])) + "\n  }";
  for (const auto& [rank, names] : wanted) {
    const RankDump& dump = ranks[rank];
    std::vector<std::string> calls;
    read_entries(dump.recording, names, [&](const Anomaly& anomaly, const JsonNode& entry) {
      calls.push_back(call_text(dump.recording, anomaly, entry));
    });
    out += ",\n  \"rank_" + std::to_string(dump.number) + "\": [";
    for (std::size_t i = 0; i < calls.size(); ++i) out += (i == 0 ? "\n" : ",\n") + calls[i];
    out += "\n  ]";
  }
  return out + "\n}\n";
}

}  // namespace msrun::overflow_check
