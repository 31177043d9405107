#include "runner/report/unread_modules.h"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/files/file.h"
#include "kernels/io/json/json_tree.h"

namespace msrun::report {
namespace {

constexpr auto contents = std::to_array<std::string_view>({"shape", "Max", "Min", "Mean", "Norm", "md5"});

std::uint64_t mixed(std::uint64_t hash, std::uint64_t more) {
  constexpr std::uint64_t factor = 0x9E3779B97F4A7C15U;
  return (std::rotl(hash, 23) ^ more) * factor;
}

std::uint64_t hash_of(const JsonNode& node, std::uint64_t hash) {
  if (node.is_array()) {
    for (const JsonNode item : node) hash = hash_of(item, hash);
    return mixed(hash, 1);
  }
  if (node.is_string()) return mixed(hash, std::hash<std::string_view>()(node.text()));
  switch (node.kind()) {
    case JsonEvent::integer:
      return mixed(hash, std::bit_cast<std::uint64_t>(static_cast<double>(node.integer())));
    case JsonEvent::real:
      return mixed(hash, std::bit_cast<std::uint64_t>(node.number()));
    default:
      return hash;
  }
}

std::uint64_t shape_of(const JsonNode& tensor) {
  const std::optional<JsonNode> shape = find_member(tensor, "shape");
  return shape ? hash_of(*shape, 0) : 0;
}

// What tells tensors apart by their shape and statistics; nothing for one whose statistics are not recorded.
std::optional<std::uint64_t> content_of(const JsonNode& tensor) {
  std::uint64_t hash = 0;
  bool is_known = false;
  for (const std::string_view key : contents) {
    const std::optional<JsonNode> member = find_member(tensor, key);
    if (!member || member->is_null()) continue;
    is_known = is_known || key != "shape";
    hash = hash_of(*member, mixed(hash, 2));
  }
  return is_known ? std::optional(hash) : std::nullopt;
}

// Hands every tensor below node to see.
template <class See>
void for_each_tensor(const JsonNode& node, const See& see) {
  if (node.is_object()) {
    const std::optional<JsonNode> type = find_member(node, "type");
    if (type && type->is_string()) {
      if (find_member(node, "dtype")) see(node);
      return;
    }
  } else if (!node.is_array()) {
    return;
  }
  for (const JsonNode child : node) for_each_tensor(child, see);
}

class Search {
 public:
  explicit Search(const recordings::Construct& construct) : construct_(construct) {}

  void look_at(const std::string& name, const JsonNode& entry) {
    if (!module_of(name).empty()) return see_module(name, entry);
    if (!name.ends_with(".forward")) return;
    std::unordered_set<std::uint64_t>& shapes = shapes_in_[construct_.parent(name)];
    for (const char* key : {"input_args", "input_kwargs"}) {
      const std::optional<JsonNode> inputs = find_member(entry, key);
      if (!inputs) continue;
      for_each_tensor(*inputs, [&](const JsonNode& tensor) {
        if (const auto content = content_of(tensor)) read_.insert(*content);
        shapes.insert(shape_of(tensor));
      });
    }
  }

  std::map<std::string, std::uint64_t> unread() const {
    std::map<std::string, std::uint64_t> uses;
    for (const Module& module : modules_) {
      const auto inside = shapes_in_.find(module.name);
      const auto is_read = [&](const Parameter& parameter) {
        return read_.contains(parameter.content) ||
               (inside != shapes_in_.end() && inside->second.contains(parameter.shape));
      };
      if (std::ranges::none_of(module.parameters, is_read)) ++uses[module_of(module.name)];
    }
    return uses;
  }

 private:
  struct Parameter {
    std::uint64_t content = 0;
    std::uint64_t shape = 0;
  };
  struct Module {
    std::string name;
    std::vector<Parameter> parameters;
  };

  void see_module(const std::string& name, const JsonNode& entry) {
    const std::optional<JsonNode> parameters = find_member(entry, "parameters");
    if (!parameters) return;
    Module module{name, {}};
    bool all = true;
    for_each_tensor(*parameters, [&](const JsonNode& tensor) {
      const auto content = content_of(tensor);
      all = all && content;
      module.parameters.push_back({content.value_or(0), shape_of(tensor)});
    });
    if (all && !module.parameters.empty()) modules_.push_back(std::move(module));
  }

  const recordings::Construct& construct_;
  std::unordered_set<std::uint64_t> read_;                                        // contents
  std::unordered_map<std::string, std::unordered_set<std::uint64_t>> shapes_in_;  // by module: inputs of its calls
  std::vector<Module> modules_;
};

}  // namespace

std::string module_of(std::string_view name) {
  constexpr std::string_view forward = ".forward.";
  const std::size_t end = name.rfind(forward);
  if (!name.starts_with("Module.") && !name.starts_with("Cell.")) return {};
  if (end == std::string_view::npos) return {};
  const std::size_t begin = name.find('.') + 1;
  return begin >= end ? std::string() : sanitised(name.substr(begin, end - begin));
}

std::map<std::string, std::uint64_t> unread_modules(const std::string& path, const recordings::Construct& construct) {
  try {
    const auto file = std::make_shared<InputFile>(path);
    JsonReader reader(path, [file](std::span<char> target) { return file->read(target); });
    JsonTree tree;
    Search search(construct);
    if (reader.next() != JsonEvent::begin_object) reader.fail("expected an object");
    while (reader.next() == JsonEvent::key) {
      if (reader.text() != "data") {
        reader.skip_value();
        continue;
      }
      if (reader.next() != JsonEvent::begin_object) reader.fail("expected an object");
      while (reader.next() == JsonEvent::key) {
        const std::string name(reader.text());
        tree.read(reader);
        search.look_at(name, tree.root());
      }
    }
    return search.unread();
  } catch (const FileError& problem) {
    throw UserError(problem.what());
  }
}

}  // namespace msrun::report
