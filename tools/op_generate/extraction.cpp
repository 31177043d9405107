#include "tools/op_generate/extraction.h"

#include <filesystem>
#include <memory>
#include <set>
#include <vector>

#include "kernels/api/api_call.h"
#include "kernels/base/command_line/suggestion.h"
#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/dump/tensor_folder.h"
#include "kernels/io/files/file.h"
#include "kernels/io/json/json_tree.h"
#include "tools/op_generate/python_text.h"

namespace msrun::op_generate {

namespace {

namespace fs = std::filesystem;

struct Record {
  std::string name;
  std::unique_ptr<JsonTree> tree;
};

// What of a dump concerns one API.
struct Selection {
  std::vector<Record> records;  // in the order of the file; of one name the last, at the place of the first
  std::size_t repeated = 0;     // records whose name an earlier one has
  std::string first_repeated;
  bool has_data_folder = false;
  std::string data_folder;
  std::string framework;
  std::vector<std::string> others;  // names of calls, the first of them, among which a mistyped one may be looked for

  bool is_of_mindspore() const { return framework == "mindspore" || framework == "mindtorch"; }
};

constexpr std::size_t most_others = 20'000;
constexpr std::size_t longest_other = 300;  // bytes; no call has a longer name

void keep_other(std::string_view entry, std::vector<std::string>& others) {
  std::string_view base;
  if (others.size() >= most_others || entry.size() > longest_other || !split_direction(entry, base)) return;
  if (others.empty() || others.back() != base) others.emplace_back(base);
}

bool is_of(std::string_view entry, const std::string& api) {
  return entry.size() > api.size() + 1 && entry.starts_with(api) && entry[api.size()] == '.';
}

void read_records(JsonReader& reader, const std::string& path, const std::string& api, Selection& selection) {
  if (reader.next() != JsonEvent::begin_object) reader.fail("data is no object");
  while (reader.next() == JsonEvent::key) {
    if (!is_of(reader.text(), api)) {
      keep_other(reader.text(), selection.others);
      reader.skip_value();
      continue;
    }
    std::string name(reader.text());
    auto tree = std::make_unique<JsonTree>();
    if (tree->read(reader) != JsonTree::Outcome::complete) {
      throw UserError("The entry " + name + " of " + path + " is too large or nested too deeply.");
    }
    const auto same = std::ranges::find(selection.records, name, &Record::name);
    if (same == selection.records.end()) {
      selection.records.push_back({std::move(name), std::move(tree)});
    } else {
      if (selection.repeated++ == 0) selection.first_repeated = name;
      same->tree = std::move(tree);
    }
  }
}

Selection select(const std::string& path, const std::string& api) try {
  InputFile file(path);
  JsonReader reader(path, [&](std::span<char> target) { return file.read(target); });
  reader.keep_bytes_of_file_names();
  Selection selection;
  if (reader.next() != JsonEvent::begin_object) reader.fail("a dump is one object");
  bool has_data = false;
  while (reader.next() == JsonEvent::key) {
    const std::string key(reader.text());
    if (key == "data") {
      if (has_data) reader.fail("the key data occurs twice");
      has_data = true;
      read_records(reader, path, api, selection);
      continue;
    }
    if (key != "dump_data_dir" && key != "framework") {
      reader.skip_value();
      continue;
    }
    JsonTree value;
    if (value.read(reader) != JsonTree::Outcome::complete) continue;
    const std::string text(value.root().is_string() ? value.root().text() : std::string_view());
    if (key == "framework") selection.framework = text;
    if (key == "dump_data_dir") {
      selection.data_folder = text;
      selection.has_data_folder = !value.root().is_null();
    }
  }
  reader.next();  // nothing but white space may follow
  return selection;
} catch (const FileError& error) {
  throw UserError(error.what());
}

// Where the tensor files of a dump lie. PyTorch's recorder keeps them beside dump.json, which may have been moved
// since; MindSpore's names their folder.
std::string data_folder(const std::string& dump, const Selection& selection) {
  if (selection.data_folder.empty()) return {};
  const fs::path beside = fs::absolute(tensor_folder_of(dump)).lexically_normal();
  std::error_code ignored;
  if (!fs::is_directory(beside, ignored)) return selection.data_folder;
  const fs::path named = fs::absolute(dump).parent_path() / selection.data_folder;
  const bool is_kept =
      selection.is_of_mindspore() ? fs::is_directory(named, ignored) : fs::equivalent(named, beside, ignored);
  return is_kept ? selection.data_folder : beside.string();
}

// Puts the folder of the data in front of the names of tensor files.
class DataNames {
 public:
  DataNames(std::string folder, bool allow_outside) : folder_(std::move(folder)), allow_outside_(allow_outside) {}

  std::string operator()(std::string_view key, std::string_view text) const {
    if (key != "data_name" || folder_.empty()) return std::string(text);
    const fs::path name(text);
    const bool climbs = std::ranges::find(name, fs::path("..")) != name.end();
    if (!allow_outside_ && (name.is_absolute() || climbs)) {
      throw UserError((fs::path(folder_) / name).string() +
                      " lies outside the folder of the dump and is not read (--allow-outside-data allows it).");
    }
    return (fs::path(folder_) / name).string();
  }

 private:
  std::string folder_;
  bool allow_outside_;
};

std::string extraction_text(const Selection& selection, const std::string& folder, bool allow_outside) {
  constexpr std::size_t indentation = 4;
  const DataNames names(folder, allow_outside);
  std::string text = "{";
  const auto member = [&](const std::string& name, const std::string& value) {
    text += (text.size() > 1 ? ",\n    " : "\n    ") + json_literal(name) + ": " + value;
  };
  for (const Record& record : selection.records) {
    member(record.name, json_text(record.tree->root(), indentation, names));
  }
  const bool mindspore = selection.is_of_mindspore();
  if (mindspore && selection.has_data_folder) member("real_data_path", json_literal(folder));
  if (mindspore) member("framework", json_literal(selection.framework));
  return text + "\n}";
}

// The call of the dump whose name is nearest, as a question; empty if none is near.
std::string suggestion(const Selection& selection, const std::string& api) {
  const auto nearest = nearest_word(api, selection.others);
  return nearest ? " Did you mean " + selection.others[*nearest] + "?" : std::string();
}

}  // namespace

std::string extraction_of(const Configuration& configuration, bool allow_outside,
                          const std::function<void(const std::string&)>& warn) {
  const Selection selection = select(configuration.dump_path, configuration.api);
  if (selection.records.empty()) {
    throw UserError("The dump " + configuration.dump_path + " has no call " + configuration.api + "." +
                    suggestion(selection, configuration.api));
  }
  if (selection.repeated > 0) {
    warn("Entries of " + configuration.dump_path + " that occur again, the later in place of the earlier: " +
         std::to_string(selection.repeated) + "; the first is '" + bounded(selection.first_repeated) + "'.");
  }
  return extraction_text(selection, data_folder(configuration.dump_path, selection), allow_outside);
}

}  // namespace msrun::op_generate
