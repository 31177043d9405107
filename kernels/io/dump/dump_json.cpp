#include "kernels/io/dump/dump_json.h"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>

#include "kernels/api/api_call.h"
#include "kernels/base/lower_case.h"
#include "kernels/io/dump/dump_value.h"
#include "kernels/io/dump/recorded_signature.h"
#include "kernels/io/files/file.h"
#include "kernels/io/json/json_tree.h"

namespace msrun {
namespace {

// Files that begin so are often meant to be JSON; the position of their first byte would not help.
void refuse_other_encodings(const InputFile& file) {
  std::array<char, 2> start{};
  if (file.size() < start.size()) return;
  file.read_at(0, std::as_writable_bytes(std::span(start)));
  const std::string_view bytes(start.data(), start.size());
  if (bytes == "\x1F\x8B" || bytes == "PK") throw UserError(file.path() + " is compressed: unpack it first.");
  if (bytes == "\xFF\xFE" || bytes == "\xFE\xFF") {
    throw UserError(file.path() + " is in UTF-16: JSON is UTF-8, convert it first.");
  }
}

JsonReader::Source file_source(const std::string& path) {
  try {
    const auto file = std::make_shared<InputFile>(path);
    if (file->size() == 0) throw UserError("The file " + path + " is empty.");
    refuse_other_encodings(*file);
    return [file](std::span<char> target) {
      try {
        return file->read(target);
      } catch (const FileError& error) {
        throw UserError(error.what());
      }
    };
  } catch (const FileError& error) {
    throw UserError(error.what());
  }
}

// Python's bool(value).
bool is_truthy(const JsonNode& node) {
  switch (node.kind()) {
    case JsonEvent::string:
      return !node.text().empty();
    case JsonEvent::integer:
    case JsonEvent::real:
      return node.number() != 0;
    case JsonEvent::boolean:
      return node.boolean();
    case JsonEvent::null:
      return false;
    default:
      return node.begin() != node.end();
  }
}

struct EntryKeys {
  std::string_view args;
  std::string_view kwargs;
};
constexpr EntryKeys dump_keys{"input_args", "input_kwargs"};
constexpr EntryKeys att_keys{"args", "kwargs"};

// Reads the value of one entry.
class EntryReader {
 public:
  EntryReader(JsonReader& reader, const DumpDialect& dialect) : reader_(reader), values_{dialect} {}

  void keep_outputs() { keep_outputs_ = true; }
  void keep_signatures() { keep_signatures_ = true; }
  // Told by the values that were read; empty if none has told it.
  std::string_view framework() const { return values_.framework; }
  bool only_checksums() const { return values_.tensors_with_checksum > 0 && values_.tensors_with_data == 0; }

  DumpEntry read(const EntryKeys& keys) {
    DumpEntry entry;
    const std::size_t outside = reader_.depth();
    const JsonEvent event = reader_.next();
    if (event != JsonEvent::begin_object) {
      entry.problem = "The entry must be an object, found " + std::string(kind_name(event)) + ".";
      reader_.skip_container(outside + 1);
      return entry;
    }
    while (reader_.next() == JsonEvent::key) {
      if (reader_.text() == keys.args) {
        entry.has_args = read_list(keys.args, entry.args, entry.problem);
        if (entry.has_args && keep_signatures_) args_ = signature_of_args(tree_.root());
      } else if (reader_.text() == keys.kwargs) {
        entry.has_kwargs = read_dict(keys.kwargs, entry.kwargs, entry.problem);
        if (entry.has_kwargs && keep_signatures_) kwargs_ = signature_of_kwargs(tree_.root());
      } else if (reader_.text() == "input") {
        entry.has_grad_inputs = read_list("input", entry.grad_inputs, entry.problem);
      } else if (reader_.text() == "output") {
        read_outputs(entry);
      } else {
        reader_.skip_value();
      }
    }
    // Whichever of the two stands first in the file.
    entry.signature = std::exchange(args_, {}) + std::exchange(kwargs_, {});
    return entry;
  }

  // An entry that is the bare list of gradients.
  DumpEntry read_gradients() {
    DumpEntry entry;
    entry.has_grad_inputs = read_list("The entry", entry.grad_inputs, entry.problem);
    return entry;
  }

 private:
  bool read_list(std::string_view key, List& list, std::string& problem) {
    if (!read_tree(key, JsonEvent::begin_array, "a list", problem)) return false;
    list = values_.list(tree_.root(), Where(key));
    return true;
  }

  bool read_dict(std::string_view key, Dict& dict, std::string& problem) {
    if (!read_tree(key, JsonEvent::begin_object, "an object", problem)) return false;
    dict = values_.dict(tree_.root(), Where(key));
    return true;
  }

  bool read_tree(std::string_view key, JsonEvent expected, std::string_view expected_name, std::string& problem) {
    std::string found;
    switch (tree_.read(reader_)) {
      case JsonTree::Outcome::too_deep:
        found = " is nested deeper than 400 levels.";
        break;
      case JsonTree::Outcome::too_large:
        found = " holds too many values or too much text.";
        break;
      case JsonTree::Outcome::complete: {
        const JsonEvent kind = tree_.root().kind();
        if (kind == expected) return true;
        found = " must be " + std::string(expected_name) + ", found " + std::string(kind_name(kind)) + ".";
      }
    }
    if (problem.empty()) problem = std::string(key) + found;
    return false;
  }

  void read_outputs(DumpEntry& entry) {
    if (!keep_outputs_) {
      read_output_forms(entry);
      return;
    }
    // Malformed results are of no concern to whoever only runs the call.
    std::string problem;
    if (!read_list("output", entry.outputs, problem)) {
      entry.outputs = {Unsupported{problem}};
      return;
    }
    if (entry.outputs.empty()) return;
    for_each_leaf(entry.outputs, [&](const Value& leaf) { entry.output_forms.push_back(form_of(leaf)); });
    const auto* spec = entry.outputs.front().get<std::shared_ptr<const TensorSpec>>();
    if (spec == nullptr) return;
    entry.output_dtype = (*spec)->dtype;
    entry.output_rank = (*spec)->shape.size();
  }

  void read_output_forms(DumpEntry& entry) {
    const std::size_t outside = reader_.depth();
    if (reader_.next() == JsonEvent::begin_array) {
      bool is_first = true;
      for (JsonEvent event = reader_.next(); event != JsonEvent::end_array; event = reader_.next()) {
        if (event == JsonEvent::begin_object) {
          const RecordedForm form = read_object_form(entry.output_forms, 1);
          if (is_first) entry.output_dtype = form.dtype;
          if (is_first && form.shape) entry.output_rank = form.shape->size();
        } else {
          read_form(event, entry.output_forms, 1);
        }
        is_first = false;
      }
    }
    reader_.skip_container(outside + 1);
  }

  // What an object says of a tensor, if it describes one.
  struct RecordedForm {
    std::string dtype;
    std::optional<std::vector<std::int64_t>> shape;
    bool has_type = false;
  };

  // The value that begins with an event. Values deeper than any tensor that is checked are passed over.
  void read_form(JsonEvent event, List& forms, int depth) {
    constexpr int deepest = 32;
    if (event == JsonEvent::begin_object && depth < deepest) {
      read_object_form(forms, depth);
    } else if (event == JsonEvent::begin_array && depth < deepest) {
      while ((event = reader_.next()) != JsonEvent::end_array) read_form(event, forms, depth + 1);
    } else {
      reader_.skip_container(event == JsonEvent::begin_object || event == JsonEvent::begin_array ? reader_.depth()
                                                                                                 : reader_.depth() + 1);
      forms.emplace_back(None{});
    }
  }

  RecordedForm read_object_form(List& forms, int depth) {
    RecordedForm form;
    List inside;
    while (reader_.next() == JsonEvent::key) {
      const bool is_dtype = reader_.text() == "dtype";
      const bool is_shape = reader_.text() == "shape";
      const bool is_type = reader_.text() == "type";
      const JsonEvent event = reader_.next();
      form.has_type = form.has_type || (is_type && event == JsonEvent::string);
      if (is_dtype && event == JsonEvent::string) {
        form.dtype = reader_.text();
      } else if (is_shape && event == JsonEvent::begin_array) {
        form.shape = read_sizes();
      } else {
        read_form(event, inside, depth + 1);
      }
    }
    if (!form.dtype.empty() && form.shape) {
      forms.emplace_back(bare_tensor(form.dtype, *form.shape));
    } else if (form.has_type) {
      forms.emplace_back(None{});
    } else {
      forms.insert(forms.end(), inside.begin(), inside.end());
    }
    return form;
  }

  // Those of a shape whose array has begun; nothing if it holds anything but integers.
  std::optional<std::vector<std::int64_t>> read_sizes() {
    std::optional<std::vector<std::int64_t>> sizes(std::in_place);
    const std::size_t inside = reader_.depth();
    JsonEvent event = reader_.next();
    for (; event == JsonEvent::integer; event = reader_.next()) sizes->push_back(reader_.integer());
    if (event == JsonEvent::end_array) return sizes;
    reader_.skip_container(inside);
    return std::nullopt;
  }

  static Value bare_tensor(std::string dtype, std::vector<std::int64_t> shape) {
    auto spec = std::make_shared<TensorSpec>();
    spec->dtype = std::move(dtype);
    spec->shape = std::move(shape);
    return std::shared_ptr<const TensorSpec>(std::move(spec));
  }

  static Value form_of(const Value& leaf) {
    const TensorSpec* spec = recorded_tensor(leaf);
    return spec == nullptr ? Value(None{}) : bare_tensor(spec->dtype, spec->shape);
  }

  JsonReader& reader_;
  ValueReader values_;
  bool keep_outputs_ = false;
  bool keep_signatures_ = false;
  std::string args_;  // the signature's parts, of the entry that is read
  std::string kwargs_;
  JsonTree tree_;
};

// acc_check_pytorch.md 3.1. The overflow dumps of the older tool join all parts by underscores, of which the API's own
// name may have some too.
std::string att_entry_name(std::string_view name, Direction direction) {
  const std::string_view suffix = direction == Direction::forward ? "forward" : "backward";
  std::string base(name);
  if (name.find_first_of("*.") != std::string_view::npos) {
    std::replace(base.begin(), base.end(), '*', '.');
  } else if (name.ends_with(suffix)) {
    base.resize(base.size() - suffix.size());
    if (base.ends_with('_')) base.pop_back();
    const std::size_t first = base.find('_');
    const std::size_t last = base.rfind('_');
    if (first != last) base[first] = base[last] = '.';
  }
  return base.append(".").append(suffix);
}

void read_att_file(const std::string& path, Direction direction, const DumpReader::OnEntry& on_entry,
                   DumpHeader& header, bool keep_signatures) {
  JsonReader reader(path, file_source(path));
  const JsonEvent top = reader.next();
  if (top != JsonEvent::begin_object) {
    throw UserError(path + ": the top level must be an object, found " + std::string(kind_name(top)));
  }
  const auto note_files = [&](const Value& value) {
    const auto* spec = value.get<std::shared_ptr<const TensorSpec>>();
    header.real_data = header.real_data || (spec != nullptr && !(*spec)->data_path.empty());
  };
  EntryReader entries(reader, pytorch_dump());
  if (keep_signatures) entries.keep_signatures();
  while (reader.next() == JsonEvent::key) {
    ++header.entries;
    const std::string recorded_name(reader.text());
    const std::string name = att_entry_name(recorded_name, direction);
    DumpEntry entry = direction == Direction::forward ? entries.read(att_keys) : entries.read_gradients();
    for_each_leaf(entry.args, note_files);
    for_each_leaf(entry.kwargs, note_files);
    for_each_leaf(entry.grad_inputs, note_files);
    entry.recorded_name = recorded_name;
    on_entry(name, std::move(entry));
  }
  reader.next();  // nothing but white space may follow
}

void count_left_out(std::string_view entry, DumpHeader& header) {
  constexpr std::size_t most_types = 32;
  constexpr std::size_t longest_type = 64;
  ++header.left_out;
  std::string_view type = entry.substr(0, entry.find('.'));
  const auto found = header.left_out_by_type.find(type);
  if (found != header.left_out_by_type.end()) {
    ++found->second;
  } else if (header.left_out_by_type.size() < most_types && type.size() <= longest_type) {
    header.left_out_by_type.emplace(type, 1);
  }
}

}  // namespace

// A piece stays in the second-level cache while it is read; of small files no more memory is touched than they need.
DumpReader::DumpReader(const std::string& path) : DumpReader(path, file_source(path), std::size_t{1} << 18) {}

DumpReader::DumpReader(const std::string& name, JsonReader::Source source, std::size_t chunk)
    : name_(name), reader_(name, std::move(source), chunk) {}

DumpHeader DumpReader::read(const OnEntry& on_entry) {
  const auto reject = [&](const std::string& reason) {
    throw UserError("Invalid dump.json format: " + name_ + ": " + reason);
  };
  const JsonEvent top = reader_.next();
  if (top != JsonEvent::begin_object) {
    reject("the top level must be an object, found " + std::string(kind_name(top)));
  }
  DumpHeader header;
  JsonTree tree;
  std::string_view framework_of_values;
  bool data_found = false;
  bool names_calls = false;
  while (reader_.next() == JsonEvent::key) {
    const std::string key(reader_.text());
    if (key == "data") {
      const JsonEvent event = reader_.next();
      if (event == JsonEvent::null) continue;
      if (event != JsonEvent::begin_object) reject("data must be an object, found " + std::string(kind_name(event)));
      if (data_found) reject("the key data occurs twice");
      data_found = true;
      framework_of_values = read_data(on_entry, header);
      continue;
    }
    names_calls = names_calls || key.find_first_of("*.") != std::string::npos;
    const bool text_field = key == "framework" || key == "task" || key == "level";
    if (!text_field && key != "dump_data_dir" && key != "msrun") {
      reader_.skip_value();
      continue;
    }
    tree.read(reader_);
    const JsonNode value = tree.root();
    if (key == "msrun") {
      header.origin = read_origin(value);
    } else if (key == "dump_data_dir") {
      header.real_data = is_truthy(value);
      header.dump_data_dir = value.is_string() ? std::string(value.text()) : std::string();
      header.empty_data_dir = value.is_string() && header.dump_data_dir.empty();
    } else if (key == "framework") {
      if (!value.is_string() && !value.is_null()) {
        reject("framework must be a string, found " + std::string(kind_name(value.kind())));
      }
      header.framework = value.is_string() ? lower_case(value.text()) : std::string();
    } else if (value.is_string()) {
      (key == "task" ? header.task : header.level) = value.text();
    } else if (key == "task") {
      header.task_is_no_text = !value.is_null();
    }
  }
  reader_.next();  // nothing but white space may follow
  if (!data_found) {
    reject(std::string("no data found in dump.json") +
           (names_calls ? "; the forward_info and backward_info of the older recorder go with -forward and -backward"
                        : ""));
  }
  header.names_framework = !header.framework.empty();
  if (header.framework.empty()) header.framework = framework_of_values.empty() ? "pytorch" : framework_of_values;
  return header;
}

std::string_view DumpReader::read_data(const OnEntry& on_entry, DumpHeader& header) {
  const DumpDialect& dialect = choose_dialect_ ? choose_dialect_(header.framework) : pytorch_dump();
  EntryReader entries(reader_, dialect);
  if (keep_outputs_) entries.keep_outputs();
  if (keep_signatures_) entries.keep_signatures();
  std::string entry_name;
  while (reader_.next() == JsonEvent::key) {
    ++header.entries;
    if (dialect.leaves_out(reader_.text())) {
      count_left_out(reader_.text(), header);
      reader_.skip_value();
      continue;
    }
    entry_name = reader_.text();
    DumpEntry entry = entries.read(dump_keys);
    dialect.complete(entry_name, entry);
    on_entry(entry_name, std::move(entry));
  }
  header.only_checksums = entries.only_checksums();
  return entries.framework();
}

DumpHeader read_att_pair(const std::string& forward_path, const std::string& backward_path,
                         const DumpReader::OnEntry& on_entry, bool keep_signatures) {
  DumpHeader header;
  header.framework = "pytorch";
  header.level = "L1";
  read_att_file(forward_path, Direction::forward, on_entry, header, keep_signatures);
  if (!backward_path.empty()) read_att_file(backward_path, Direction::backward, on_entry, header, false);
  header.task = header.real_data ? "tensor" : "statistics";
  return header;
}

}  // namespace msrun
