#include "tools/graph/side_reader.h"

#include <algorithm>
#include <filesystem>
#include <memory>

#include "kernels/base/error.h"
#include "kernels/base/lower_case.h"
#include "kernels/base/text.h"
#include "kernels/io/dump/companions.h"
#include "kernels/io/files/file.h"
#include "kernels/io/files/paths.h"
#include "kernels/io/json/json_tree.h"
#include "tools/graph/dump_reader.h"
#include "tools/graph/overflow.h"
#include "tools/recordings/recording_reader.h"

namespace msrun::graph {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;  // exclusive

// Whether a checksum stands one level below a call: that is where the kind of the dump is looked for.
bool has_checksum(const JsonNode& entry) {
  for (const JsonNode member : entry) {
    if (find_member(member, "md5")) return true;
    for (const JsonNode leaf : member) {
      if (find_member(leaf, "md5")) return true;
    }
  }
  return false;
}

// The framework by the types of the tensors of a call; empty if it has none.
std::string_view framework_of(const JsonNode& node, int depth) {
  if (const auto type = find_member(node, "type"); type && type->is_string()) {
    if (type->text().starts_with("mindspore")) return "mindspore";
    if (type->text().starts_with("torch")) return "pytorch";
  }
  for (const JsonNode child : node) {
    if (depth == 0) break;
    if (const std::string_view found = framework_of(child, depth - 1); !found.empty()) return found;
  }
  return {};
}

void note(Side::Repeats& repeats, TextId name) {
  if (repeats.count++ == 0) repeats.first = name;
}

class DumpReader {
 public:
  DumpReader(const std::string& name, JsonReader::Source source, OverflowRules overflow, Side& side)
      : name_(name), reader_(name, std::move(source)), overflow_(overflow), side_(side), entries_(side, name) {}

  void read() {
    if (reader_.next() != JsonEvent::begin_object) reader_.fail("expected an object");
    bool has_data = false;
    while (reader_.next() == JsonEvent::key) {
      const std::string key(reader_.text());
      if (key == "data") {
        if (has_data) reader_.fail("the key data occurs twice");
        has_data = true;
        read_data();
      } else {
        read_header(key);
      }
    }
    if (reader_.next() != JsonEvent::end) reader_.fail("expected the end of the file");
    if (!has_data) throw UserError(name_ + ": there is no \"data\"");
  }

 private:
  void read_header(const std::string& key) {
    tree_.read(reader_);
    const JsonNode value = tree_.root();
    if (key == "dump_data_dir") {
      side_.has_data_dir = true;
      side_.null_data_dir = value.is_null();
    }
    if (!value.is_string()) return;
    const std::string text(value.text());
    if (key == "task") side_.task = text;
    if (key == "dump_data_dir") side_.data_dir = text;
    if (key != "framework") return;
    side_.framework = lower_case(text);
  }

  void read_data() {
    if (reader_.next() != JsonEvent::begin_object) reader_.fail("expected the object of \"data\"");
    while (reader_.next() == JsonEvent::key) {
      const std::string name(reader_.text());
      const JsonTree::Outcome outcome = tree_.read(reader_);
      if (outcome != JsonTree::Outcome::complete) {
        throw UserError(name_ + ": " + sanitised(bounded(name)) + " is nested too deep or too large");
      }
      add(name, tree_.root());
    }
  }

  void add(const std::string& name, const JsonNode& node) {
    Entry entry;
    entry.name = side_.texts.shared(name);
    entry.first = static_cast<std::uint32_t>(side_.parameters.size());
    entries_.read(name, node);
    entry.last = static_cast<std::uint32_t>(side_.parameters.size());
    if (overflow_ != OverflowRules::none) {
      entry.overflow = overflow_of(name, node, overflow_ == OverflowRules::msprobe);
    }
    if (!side_.has_md5) side_.has_md5 = has_checksum(node);
    if (side_.framework.empty()) side_.framework = framework_of(node, 4);
    const auto [place, is_new] = side_.entry_of.emplace(entry.name, static_cast<std::uint32_t>(side_.entries.size()));
    if (is_new) {
      side_.entries.push_back(entry);
    } else {
      side_.entries[place->second] = entry;
      note(side_.repeated_entries, entry.name);
    }
  }

  const std::string& name_;
  JsonReader reader_;
  const OverflowRules overflow_;
  Side& side_;
  EntryReader entries_;
  JsonTree tree_;
};

void add_line(const std::string& file, std::string_view name, const JsonNode& value, Side& side) {
  Line line;
  line.name = side.texts.shared(name);
  const auto parent_of = [&](const JsonNode& node) {
    if (node.is_string()) return side.texts.shared(node.text());
    if (!node.is_null())
      throw UserError(file + ": the parent of " + sanitised(bounded(std::string(name))) + " is no name");
    return TextId{0};
  };
  if (value.is_array()) {
    if (value.count() != 2 || !(*++value.begin()).is_integer()) {
      throw UserError(file + ": " + sanitised(bounded(std::string(name))) + " is no list of a parent and a micro step");
    }
    line.parent = parent_of(*value.begin());
    line.micro_step = (*++value.begin()).integer();
  } else {
    line.parent = parent_of(value);
  }
  const auto [place, is_new] = side.line_of.emplace(line.name, static_cast<std::uint32_t>(side.lines.size()));
  if (is_new) {
    side.lines.push_back(line);
  } else {
    side.lines[place->second] = line;
    note(side.repeated_lines, line.name);
  }
}

template <class Read>
void read_file(const std::string& folder, const char* file_name, const Read& read) {
  const std::string path = join_path(folder, file_name);
  std::error_code problem;
  const std::filesystem::file_status status = std::filesystem::status(path, problem);
  if (status.type() == std::filesystem::file_type::none) {
    throw UserError("The file " + path + " cannot be read: " + problem.message() + ".");
  }
  if (!std::filesystem::exists(status)) throw UserError("The file " + path + " does not exist.");
  try {
    const auto file = std::make_shared<InputFile>(path, most_bytes);
    read(path, [file](std::span<char> target) { return file->read(target); });
  } catch (const FileError& error) {
    throw UserError(error.what());
  }
}

}  // namespace

void read_dump(const std::string& name, JsonReader::Source source, OverflowRules overflow, Side& side) {
  DumpReader(name, std::move(source), overflow, side).read();
}

void read_stacks(const std::string& name, JsonReader::Source source, Side& side) {
  if (side.stacks.empty()) side.stacks.emplace_back();
  recordings::scan_stacks(name, std::move(source), [&](const std::vector<std::string>& calls, const JsonNode& lines) {
    Stack stack;
    stack.first = static_cast<std::uint32_t>(side.frames.size());
    for (const JsonNode line : lines) {
      if (line.is_string()) side.frames.push_back(side.texts.shared(line.text()));
    }
    stack.count = static_cast<std::uint32_t>(side.frames.size()) - stack.first;
    // A stack that follows one with the same lines is the same.
    std::uint32_t id = static_cast<std::uint32_t>(side.stacks.size());
    const Stack& last = side.stacks.back();
    const auto begin = side.frames.begin();
    if (last.count == stack.count &&
        std::equal(begin + last.first, begin + last.first + last.count, begin + stack.first)) {
      side.frames.resize(stack.first);
      --id;
    } else {
      side.stacks.push_back(stack);
    }
    for (const std::string& call : calls) side.stack_of[side.texts.shared(call)] = id;
  });
}

void read_construct(const std::string& name, JsonReader::Source source, Side& side) {
  recordings::scan_entries(name, std::move(source), [&](const std::string& key, const JsonNode& value) {
    if (key == "megatron_micro_step_number") {
      if (!value.is_integer() || value.integer() < 0 || value.integer() > 1'000'000) {
        throw UserError(name + ": megatron_micro_step_number is no number of micro steps");
      }
      side.last_micro_step = value.integer();
      return;
    }
    add_line(name, key, value, side);
  });
  if (!side.lines.empty()) return;
  throw UserError(
      name +
      ": The content of 'construct.json' is empty, failed to build graph. When dumping data, it is necessary "
      "to select level L0 or mix in order to collect model structure data, that is, the content of "
      "'construct.json' is not empty.");
}

std::vector<std::string> repeated_names(const Side& side) {
  std::vector<std::string> sentences;
  const auto add = [&](const char* file, const Side::Repeats& repeats) {
    const std::string text = recordings::repeated_entries(join_path(side.folder, file), repeats.count,
                                                          side.text(repeats.first), recordings::Repeated::replaces);
    if (!text.empty()) sentences.push_back(text);
  };
  add("dump.json", side.repeated_entries);
  add("construct.json", side.repeated_lines);
  return sentences;
}

Side read_side(const std::string& folder, OverflowRules overflow) {
  Side side;
  side.folder = folder;
  read_file(folder, "construct.json",
            [&](const std::string& path, auto source) { read_construct(path, std::move(source), side); });
  read_file(folder, "stack.json",
            [&](const std::string& path, auto source) { read_stacks(path, std::move(source), side); });
  read_file(folder, "dump.json",
            [&](const std::string& path, auto source) { read_dump(path, std::move(source), overflow, side); });
  return side;
}

}  // namespace msrun::graph
