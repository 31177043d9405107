#include "kernels/io/dump/companions.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <unordered_set>

#include "kernels/io/files/file.h"
#include "kernels/io/files/paths.h"

namespace msrun::recordings {
namespace {

std::vector<std::string> texts_of(const JsonNode& array) {
  std::vector<std::string> texts;
  for (const JsonNode item : array) {
    if (item.is_string()) texts.emplace_back(item.text());
  }
  return texts;
}

template <class Read>
auto read_file(const std::string& path, const Read& read) {
  try {
    const auto file = std::make_shared<InputFile>(path);
    return read(path, [file](std::span<char> target) { return file->read(target); });
  } catch (const FileError& problem) {
    throw UserError(problem.what());
  }
}

template <class Read>
auto read_of(const std::string& folder, const char* file_name, const Read& read)
    -> std::optional<decltype(read(std::string(), JsonReader::Source()))> {
  const std::string path = join_path(folder, file_name);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::nullopt;
  return read_file(path, read);
}

}  // namespace

const std::vector<std::string>* Stacks::lines(std::string_view call) const {
  const auto found = places_.find(std::string(call));
  return found == places_.end() ? nullptr : &lists_[found->second];
}

void Stacks::add(const std::vector<std::string>& calls, std::vector<std::string> lines) {
  for (const std::string& call : calls) places_[call] = lists_.size();
  lists_.push_back(std::move(lines));
}

std::string Construct::parent(std::string_view call) const {
  const auto found = parents_.find(std::string(call));
  return found == parents_.end() ? std::string() : found->second;
}

std::vector<std::string> Construct::chain(std::string_view call) const {
  std::vector<std::string> chain;
  std::unordered_set<std::string> seen;
  for (std::string name(call); !name.empty() && seen.insert(name).second; name = parent(name)) chain.push_back(name);
  std::ranges::reverse(chain);
  return chain;
}

void scan_entries(const std::string& name, JsonReader::Source source,
                  const std::function<void(const std::string& key, const JsonNode& value)>& take) {
  JsonReader reader(name, std::move(source));
  JsonTree tree;
  if (reader.next() != JsonEvent::begin_object) reader.fail("expected an object");
  while (reader.next() == JsonEvent::key) {
    const std::string key(reader.text());
    tree.read(reader);
    take(key, tree.root());
  }
  if (reader.next() != JsonEvent::end) reader.fail("expected the end of the file");
}

bool scan_stacks(const std::string& name, JsonReader::Source source,
                 const std::function<void(const std::vector<std::string>& calls, const JsonNode& lines)>& take) {
  bool grouped = false;
  scan_entries(name, std::move(source), [&](const std::string& key, const JsonNode& value) {
    if (!value.is_array()) return;
    std::vector<JsonNode> parts;
    for (const JsonNode part : value) {
      if (parts.size() > 2 || !part.is_array()) break;
      parts.push_back(part);
    }
    if (key == "0" && value.count() > 0) grouped = true;
    if (!grouped) {
      take({key}, value);
    } else if (parts.size() == 2 && value.count() == 2) {
      take(texts_of(parts[0]), parts[1]);
    }
  });
  return grouped;
}

Stacks read_stacks(const std::string& name, JsonReader::Source source) {
  Stacks stacks;
  stacks.grouped = scan_stacks(
      name, std::move(source),
      [&](const std::vector<std::string>& calls, const JsonNode& lines) { stacks.add(calls, texts_of(lines)); });
  return stacks;
}

Construct read_construct(const std::string& name, JsonReader::Source source) {
  Construct construct;
  scan_entries(name, std::move(source), [&](const std::string& key, const JsonNode& value) {
    if (value.is_string()) return construct.add(key, std::string(value.text()));
    if (value.is_array() && value.count() > 0 && (*value.begin()).is_string()) {
      return construct.add(key, std::string((*value.begin()).text()));
    }
    construct.add(key, {});
  });
  return construct;
}

Stacks read_stacks_file(const std::string& path) { return read_file(path, read_stacks); }
std::optional<Stacks> read_stacks_of(const std::string& folder) { return read_of(folder, "stack.json", read_stacks); }
std::optional<Construct> read_construct_of(const std::string& folder) {
  return read_of(folder, "construct.json", read_construct);
}

}  // namespace msrun::recordings
