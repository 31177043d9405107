#include "tools/recordings/recording_reader.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "kernels/base/lower_case.h"
#include "kernels/base/text.h"
#include "kernels/io/files/csv.h"
#include "kernels/io/files/file.h"
#include "kernels/io/files/paths.h"
#include "kernels/io/json/json_tree.h"
#include "tools/recordings/gap.h"
#include "tools/recordings/python_text.h"

namespace msrun::recordings {
namespace {

bool is_formula_start(std::string_view text) { return !text.empty() && is_formula(text); }

// Flattens the values of one call.
class CallReader {
 public:
  CallReader(Recording& recording, const std::string& name) : recording_(recording), name_(name) {}

  void read(const JsonNode& node, Direction direction) {
    look_for_odd_text(node);
    if (recording_.debug) return walk(node, State::input);
    if (direction == Direction::parameters_grad) {
      walk(node, State::parameters_grad);
      return;
    }
    under(node, "input_args", ".input", State::input);
    under(node, "input", ".input", State::input);
    under(node, "input_kwargs", ".input", State::input);
    under(node, "parameters", ".parameters", State::parameters);
    under(node, "output", ".output", State::output);
  }

 private:
  void under(const JsonNode& node, std::string_view key, std::string_view part, State state) {
    const std::optional<JsonNode> child = find_member(node, key);
    if (!child || child->is_null()) return;
    suffix_ = part;
    walk(*child, state);
    suffix_.clear();
  }

  void walk(const JsonNode& node, State state) {
    if (node.is_null()) return add(none_leaf(state));
    if (node.is_object()) {
      const std::optional<JsonNode> kind = find_member(node, "class_type");
      if (kind && kind->is_string() && kind->text() == "torch.distributed.P2POp") {
        const auto begin = static_cast<std::uint32_t>(recording_.leaves.size());
        if (const std::optional<JsonNode> tensor = find_member(node, "tensor")) walk(*tensor, state);
        const auto text = [&](const char* key) {
          const std::optional<JsonNode> value = find_member(node, key);
          return value && !value->is_null() ? recording_.texts.shared(python_text(*value)) : TextId{0};
        };
        const PeerOperation operation{text("op"), text("peer")};
        const auto end = static_cast<std::uint32_t>(recording_.leaves.size());
        for (std::uint32_t leaf = begin; leaf < end; ++leaf) recording_.peer_operations[leaf] = operation;
        return;
      }
      if (const std::optional<JsonNode> type = find_member(node, "type"); type && type->is_string()) {
        return add(described(node, type->text(), state));
      }
    } else if (!node.is_array()) {
      return;
    }
    const std::size_t length = suffix_.size();
    std::size_t index = 0;
    for (const JsonNode child : node) {
      if (node.is_object()) {
        suffix_ += '.';
        suffix_ += child.key();
      } else if (state != State::parameters_grad) {
        suffix_ += '.';
        suffix_ += std::to_string(index++);
      }
      walk(child, state);
      suffix_.resize(length);
    }
  }

  void add(const Leaf& leaf) { recording_.leaves.push_back(leaf); }

  Leaf none_leaf(State state) {
    Leaf leaf;
    leaf.suffix = recording_.texts.shared(suffix_);
    leaf.dtype = leaf.shape = recording_.texts.shared("None");
    leaf.state = state;
    return leaf;
  }

  // A list or object in the place of a number is a text like any other.
  Value cell_of(const JsonNode& node) {
    Value value = value_of(node, recording_.texts);
    if (value.kind == Kind::nested) value.kind = Kind::text;
    return value;
  }

  Leaf described(const JsonNode& node, std::string_view type, State state) {
    Leaf leaf = none_leaf(state);
    Texts& texts = recording_.texts;
    leaf.type = texts.shared(type);
    std::optional<JsonNode> value;
    std::optional<JsonNode> ranks;
    std::optional<JsonNode> shape;
    for (const JsonNode field : node) {
      const std::string_view key = field.key();
      if (key == "dtype" && field.is_string()) {
        leaf.tensor = true;
        leaf.dtype = texts.shared(field.text());
      } else if (key == "shape" && !field.is_null()) {
        if (!field.is_array()) refuse("shape", "list or tuple");
        shape = field;
      } else if (key == "requires_grad" && !field.is_null()) {
        if (!field.is_boolean()) refuse("requires_grad", "bool");
        leaf.requires_grad = field.boolean() ? RequiresGrad::yes : RequiresGrad::no;
      } else if (key == "md5" && !field.is_null()) {
        // Of a tensor of one number the recorder that forms XOR sums writes the number itself.
        leaf.md5 = texts.own(python_text(field));
        leaf.recorded_md5 = leaf.md5 != 0;
        leaf.xor_sum = !field.is_string() || field.text().starts_with("0x");
        recording_.has_md5 = true;
      } else if (key == "data_name" && field.is_string() && field.text() != "-1") {
        leaf.data_name = texts.own(field.text());
      } else if (key == "Max") {
        leaf.statistics[max_value] = cell_of(field);
      } else if (key == "Min") {
        leaf.statistics[min_value] = cell_of(field);
      } else if (key == "Mean") {
        leaf.statistics[mean_value] = cell_of(field);
      } else if (key == "Norm") {
        leaf.statistics[norm_value] = cell_of(field);
      } else if (key == "value") {
        value = field;
      } else if (key == "group_ranks") {
        ranks = field;
      }
    }
    if (shape) leaf.shape = texts.shared(python_text(*shape));
    if (!leaf.tensor) describe_scalar(leaf, type, type == "torch.ProcessGroup" ? ranks : value);
    if (leaf.md5 == 0 && !value && no_value_ == 0) no_value_ = texts.shared(text_checksum(""));
    if (leaf.md5 == 0) leaf.md5 = value ? texts.shared(text_checksum(python_text(*value))) : no_value_;
    return leaf;
  }

  // The cells of a leaf without a dtype (the table of dump_compare.md 3).
  void describe_scalar(Leaf& leaf, std::string_view type, const std::optional<JsonNode>& value) {
    Texts& texts = recording_.texts;
    leaf.statistics = {};
    const std::string text = value ? python_text(*value) : "None";
    const std::string_view key = std::string_view(suffix_).substr(suffix_.rfind('.') + 1);
    const auto all_are = [&](const Value& of_all) { leaf.statistics.fill(of_all); };
    if (type == "torch.Size") {
      leaf.dtype = leaf.type;
      leaf.shape = texts.shared(text);
    } else if (type == "slice") {
      leaf.dtype = leaf.type;
      leaf.shape = texts.shared(value && value->is_array() ? "(" + std::to_string(value->count()) + ",)" : "()");
    } else if (type == "ellipsis") {
      leaf.dtype = leaf.type;
      leaf.shape = texts.shared("[]");
      if (value) all_are(cell_of(*value));
    } else if (type == "torch.ProcessGroup" || key == "src" || key == "dst" || key == "group_src" ||
               key == "group_dst") {
      leaf.dtype = leaf.type;
      leaf.shape = texts.shared("[]");
      const Value as_text = text_value(texts.shared(text));
      all_are(as_text);
      leaf.md5 = as_text.text;
    } else {
      leaf.dtype = texts.shared(python_class(value));
      leaf.shape = texts.shared("[]");
      if (value) all_are(cell_of(*value));
    }
  }

  void look_for_odd_text(const JsonNode& node) {
    if (!recording_.odd_text.empty()) return;
    if (node.is_string() && is_formula_start(node.text())) {
      recording_.odd_text = "data info of " + name_ + " contains special characters, please check!";
      return;
    }
    for (const JsonNode child : node) look_for_odd_text(child);
  }

  [[noreturn]] void refuse(const char* what, const char* kind) const {
    throw UserError(recording_.path + ": " + what + " of input or output of " + sanitised(bounded(name_)) + " is not " +
                    kind + ", please check!");
  }

  Recording& recording_;
  const std::string& name_;
  std::string suffix_;
  TextId no_value_ = 0;  // the checksum of leaves without one; 0: not looked up yet
};

class RecordingReader {
 public:
  RecordingReader(std::string name, JsonReader::Source source, std::string side, bool debug, Repeated repeated)
      : reader_(name, std::move(source)), side_(std::move(side)), repeated_(repeated) {
    recording_.path = std::move(name);
    recording_.debug = debug;
  }

  Recording read() {
    if (reader_.next() != JsonEvent::begin_object) fail("Invalid type for dump.json: expected a dict.");
    bool has_data = false;
    while (reader_.next() == JsonEvent::key) {
      const std::string key(reader_.text());
      if (key == "data") {
        if (has_data) fail("the key data occurs twice.");
        has_data = true;
        read_data();
      } else {
        read_header(key);
      }
    }
    if (reader_.next() != JsonEvent::end) fail("more than one value.");
    if (!has_data) fail("Missing 'data' in dump.json, please check dump.json of " + side_ + ".");
    number_calls();
    recording_.has_half =
        std::ranges::any_of(recording_.leaves, [&](const Leaf& leaf) { return is_half(recording_, leaf); });
    return std::move(recording_);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { throw UserError(recording_.path + ": " + problem); }

  void read_header(const std::string& key) {
    tree_.read(reader_);
    const JsonNode value = tree_.root();
    if (key == "task") recording_.has_task = !value.is_null();
    if (!value.is_string()) return;
    const std::string text(value.text());
    if (key == "task") recording_.task = text;
    if (key == "level") recording_.level = text;
    if (key == "framework") recording_.framework = lower_case(text);
  }

  void read_data() {
    if (reader_.next() != JsonEvent::begin_object) {
      fail("Invalid type for 'data': expected a dict. Please check dump.json of " + side_ + ".");
    }
    while (reader_.next() == JsonEvent::key) {
      const std::string name(reader_.text());
      Call call;
      call.name = recording_.texts.shared(name);
      read_name(name, call, recording_.texts);
      if (recording_.odd_text.empty() && is_formula_start(name)) {
        recording_.odd_text = "api name contains special characters, please check!";
      }
      call.leaves = static_cast<std::uint32_t>(recording_.leaves.size());
      tree_.read(reader_);
      if (!tree_.root().is_object() && recording_.no_objects++ == 0) recording_.first_no_object = call.name;
      CallReader(recording_, name).read(tree_.root(), call.direction);
      call.leaf_end = static_cast<std::uint32_t>(recording_.leaves.size());
      const auto [place, is_new] = places_.emplace(call.name, recording_.calls.size());
      if (!is_new && recording_.repeated++ == 0) recording_.first_repeated = call.name;
      if (is_new || repeated_ == Repeated::is_kept) {
        recording_.calls.push_back(call);
      } else {
        recording_.calls[place->second] = call;
      }
    }
  }

  // Call::order of all calls.
  void number_calls() {
    std::array<std::unordered_map<TextId, std::uint32_t>, 4> counts;
    for (Call& call : recording_.calls) call.order = counts[static_cast<std::size_t>(call.direction)][call.base]++;
  }

  JsonReader reader_;
  std::string side_;
  Repeated repeated_;
  JsonTree tree_;
  Recording recording_;
  std::unordered_map<TextId, std::size_t> places_;
};

}  // namespace

std::string repeated_entries(const std::string& path, std::uint64_t count, std::string_view first, Repeated repeated) {
  if (count == 0) return {};
  return "Entries of " + path + " that occur again, " +
         (repeated == Repeated::is_kept ? "beside the earlier" : "the later in place of the earlier") + ": " +
         std::to_string(count) + "; the first is '" + sanitised(bounded(std::string(first))) + "'.";
}

std::string repeated_calls(const Recording& recording, Repeated repeated) {
  return repeated_entries(recording.path, recording.repeated, recording.text(recording.first_repeated), repeated);
}

Recording read_recording(const std::string& name, JsonReader::Source source, const std::string& side, bool debug,
                         Repeated repeated) {
  return RecordingReader(name, std::move(source), side, debug, repeated).read();
}

Recording read_recording(const std::string& path, const std::string& side, Repeated repeated) {
  try {
    const auto file = std::make_shared<InputFile>(path);
    const bool debug = base_name(path) == "debug.json";
    Recording recording = read_recording(
        path, [file](std::span<char> target) { return file->read(target); }, side, debug, repeated);
    const std::size_t slash = path.rfind('/');
    recording.folder = slash == std::string::npos ? "." : path.substr(0, slash);
    return recording;
  } catch (const FileError& error) {
    throw UserError(error.what());
  }
}

}  // namespace msrun::recordings
