#include "runner/device/python/wire.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "kernels/base/error.h"
#include "kernels/base/saturated.h"
#include "kernels/base/text.h"
#include "kernels/evaluate/precision.h"
#include "kernels/io/json/json_tree.h"
#include "kernels/tensor/memory.h"
#include "runner/workers/frames.h"

namespace msrun {
namespace {

struct StatusName {
  std::string_view text;
  ReplyStatus status;
};
constexpr std::array status_names{
    StatusName{"unsupported", ReplyStatus::unsupported},
    StatusName{"arguments", ReplyStatus::arguments},
    StatusName{"failed", ReplyStatus::failed},
    StatusName{"oom", ReplyStatus::out_of_memory},
    StatusName{"lost", ReplyStatus::lost},
};

template <class T>
std::string number_text(T number) {
  std::array<char, 64> buffer;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr};
}

// Never without a point or an exponent: Python would read an integer.
std::string real_text(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
  std::string text = number_text(number);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

class CallWriter {
 public:
  CallWriter(const DeviceCall& call, Arena& arena) : call_(call), materialised_(call.materialised), arena_(arena) {}

  std::string write(std::uint64_t id) {
    reserve();
    text_ = R"({"id":)" + number_text(id);
    member("n", json_string(materialised_.parts.type));
    member("f", json_string(materialised_.parts.api));
    member("op", json_string(call_.operator_name));
    text_ += R"(,"a":)";
    list(materialised_.args);
    text_ += R"(,"k":)";
    dict(materialised_.kwargs);
    member("b", materialised_.backward.run ? "true" : "false");
    member("only", call_.only_output ? number_text(*call_.only_output) : "null");
    const std::optional<DType> autocast = autocast_of(call_);
    member("autocast", autocast ? json_string(msrun::name(*autocast)) : "null");
    const std::optional<DType> casts = autocast_casts_to(materialised_, call_.traits);
    if (casts) member("casts", json_string(msrun::name(*casts)));
    text_ += R"(,"gy":)";
    in_arguments_ = false;
    list(materialised_.backward.run ? materialised_.gradients : List{});
    if (const auto seed = seed_of(call_)) member("seed", number_text(*seed));
    member("o", number_text(offset_));
    text_ += '}';
    return std::move(text_);
  }

 private:
  // All at once, so that the arena moves at most once.
  void reserve() {
    std::size_t bytes = 0;
    for_each_input(materialised_, [&](const Tensor& tensor) { bytes = aligned(bytes) + tensor.bytes(); });
    arena_.reserve(bytes);
  }

  void member(const char* key, const std::string& value) { text_ += std::string(",\"") + key + "\":" + value; }

  void tagged(char tag, const std::string& content) { text_ += std::string("{\"") + tag + "\":" + content + '}'; }

  void list(const List& values) {
    text_ += '[';
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) text_ += ',';
      value(values[i]);
    }
    text_ += ']';
  }

  void dict(const Dict& values) {
    text_ += '{';
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (i > 0) text_ += ',';
      text_ += json_string(values[i].first) + ':';
      value(values[i].second);
    }
    text_ += '}';
  }

  void tensor(const Tensor& tensor) {
    const bool requires_grad = in_arguments_ && asks_gradient(materialised_, tensors_++, tensor);
    const Tensor source = tensor.contiguous();
    if (source.bytes() > 0) {
      offset_ = aligned(offset_);
      std::memcpy(arena_.memory().data() + offset_, source.raw(), source.bytes());
    }
    std::string content = '[' + number_text(offset_) + ',' + number_text(source.bytes()) + ',' +
                          json_string(msrun::name(source.dtype())) + ",[";
    for (std::size_t i = 0; i < source.shape().size(); ++i) {
      content += (i > 0 ? "," : "") + number_text(source.shape()[i]);
    }
    tagged('t', content + "]," + (requires_grad ? "true" : "false") + ']');
    offset_ += source.bytes();
    arena_.touched(offset_);
  }

  void slice(const Slice& slice) {
    const auto part = [](const std::optional<std::int64_t>& index) { return index ? number_text(*index) : "null"; };
    tagged('s', '[' + part(slice.start) + ',' + part(slice.stop) + ',' + part(slice.step) + ']');
  }

  void value(const Value& value) {
    if (const auto* flag = value.get<bool>()) {
      text_ += *flag ? "true" : "false";
    } else if (const auto* integer = value.get<std::int64_t>()) {
      text_ += number_text(*integer);
    } else if (const auto* real = value.get<double>()) {
      text_ += real_text(*real);
    } else if (const auto* string = value.get<std::string>()) {
      text_ += json_string(*string);
    } else if (const auto* dtype = value.get<DType>()) {
      tagged('d', json_string(msrun::name(*dtype)));
    } else if (const auto* part = value.get<Slice>()) {
      slice(*part);
    } else if (value.is<Ellipsis>()) {
      tagged('e', "1");
    } else if (const auto* device = value.get<DeviceName>()) {
      tagged('v', json_string(device->text));
    } else if (const auto* leaf = value.get<Tensor>()) {
      tensor(*leaf);
    } else if (const auto* items = value.get<List>()) {
      list(*items);
    } else if (const auto* entries = value.get<Dict>()) {
      text_ += R"({"m":)";
      dict(*entries);
      text_ += '}';
    } else if (const auto* unsupported = value.get<Unsupported>()) {
      throw SkipError(unsupported->reason);
    } else {
      text_ += "null";
    }
  }

  const DeviceCall& call_;
  const MaterialisedCall& materialised_;
  Arena& arena_;
  std::string text_;
  std::size_t offset_ = 0;
  std::size_t tensors_ = 0;  // among the arguments
  bool in_arguments_ = true;
};

class ReplyReader {
 public:
  explicit ReplyReader(Arena& arena) : arena_(arena) {}

  Value value(const JsonNode& node) {
    switch (node.kind()) {
      case JsonEvent::null:
        return None{};
      case JsonEvent::boolean:
        return node.boolean();
      case JsonEvent::integer:
        return node.integer();
      case JsonEvent::real:
        return node.number();
      case JsonEvent::string:
        return std::string(node.text());
      case JsonEvent::begin_array:
        return list(node);
      default:
        return tagged(node);
    }
  }

  List list(const JsonNode& node) {
    if (!node.is_array()) throw BadFrame("a list is missing");
    List values;
    for (const JsonNode item : node) values.push_back(value(item));
    return values;
  }

 private:
  Value tagged(const JsonNode& node) {
    if (node.count() != 1) throw BadFrame("a value has not one tag");
    const JsonNode content = *node.begin();
    const std::string_view tag = content.key();
    if (tag == "t") return tensor(content);
    if (tag == "m") return dict(content);
    if (tag == "u" && content.is_string()) {
      throw SkipError("The device returned " + readable(std::string(content.text())) + ", which cannot be compared.");
    }
    if (tag == "v" && content.is_string()) return DeviceName{std::string(content.text())};
    if (tag == "d" && content.is_string()) {
      if (const auto dtype = parse_dtype(content.text())) return *dtype;
      throw SkipError("The device returned the dtype " + readable(std::string(content.text())) + ".");
    }
    if (tag == "c") throw SkipError("The device returned a complex Python number, which cannot be compared.");
    throw BadFrame("a value is tagged '" + std::string(tag) + "'");
  }

  Dict dict(const JsonNode& node) {
    if (!node.is_object()) throw BadFrame("an object is missing");
    Dict entries;
    for (const JsonNode item : node) entries.emplace_back(std::string(item.key()), value(item));
    return entries;
  }

  static std::uint64_t size(const JsonNode& node) {
    if (!node.is_integer() || node.integer() < 0) throw BadFrame("a size is no number of at least 0");
    return static_cast<std::uint64_t>(node.integer());
  }

  Tensor tensor(const JsonNode& node) {
    if (!node.is_array() || node.count() != 5) throw BadFrame("a tensor has not five fields");
    auto field = node.begin();
    const std::uint64_t offset = size(*field);
    const std::uint64_t bytes = size(*++field);
    const JsonNode dtype_name = *++field;
    const auto dtype = dtype_name.is_string() ? parse_dtype(dtype_name.text()) : std::nullopt;
    if (!dtype) throw BadFrame("a tensor has no dtype that is known");
    const JsonNode sizes = *++field;
    if (!sizes.is_array()) throw BadFrame("a tensor has no sizes");
    if (sizes.count() > Dims::max_rank) throw SkipError("The device returned a tensor of more than 16 dimensions.");
    Dims shape;
    std::uint64_t needed = size_of(*dtype);
    for (const JsonNode item : sizes) {
      needed = saturated_product(needed, size(item));
      shape.push_back(item.integer());
    }
    if (needed != bytes) throw BadFrame("a tensor has not the bytes of its sizes");
    if (bytes > 0 && offset + bytes > arena_.memory().size()) arena_.follow();
    const std::span<const std::byte> memory = arena_.memory();
    if (bytes > memory.size() || offset > memory.size() - bytes) throw BadFrame("a tensor lies outside of the arena");
    arena_.touched(offset + bytes);
    return tensor_of(*dtype, shape, bytes > 0 ? memory.subspan(offset, bytes) : std::span<const std::byte>());
  }

  Arena& arena_;
};

// The member of that name; nothing if there is none.
std::optional<JsonNode> member(const JsonNode& object, std::string_view key) {
  for (const JsonNode item : object) {
    if (item.key() == key) return item;
  }
  return std::nullopt;
}

// The one value in the text of a frame.
void read_frame(std::string_view text, JsonTree& tree) {
  try {
    JsonReader reader("the worker's reply", memory_source(text), 4096);
    if (tree.read(reader) != JsonTree::Outcome::complete) throw SkipError("The device returned too many values.");
    if (reader.next() != JsonEvent::end) throw BadFrame("something follows a reply");
  } catch (const UserError& error) {
    throw BadFrame(error.what());
  }
}

std::string text_member(const JsonNode& object, std::string_view key) {
  const std::optional<JsonNode> found = member(object, key);
  return found && found->is_string() ? std::string(found->text()) : std::string();
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      constexpr std::string_view digits = "0123456789abcdef";
      quoted += "\\u00";
      quoted += digits[static_cast<unsigned char>(c) >> 4];
      quoted += digits[static_cast<unsigned char>(c) & 15];
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string encode_call(const DeviceCall& call, std::uint64_t id, Arena& arena) {
  return CallWriter(call, arena).write(id);
}

namespace {

// The worker has results that it does not send, because they take more than calls may take. They are refused in the
// words in which results that are computed here would be.
[[noreturn]] void refuse_results(const JsonNode& reply) {
  const auto bytes = member(reply, "bytes");
  if (!bytes || !bytes->is_integer() || bytes->integer() <= 0)
    throw BadFrame("a reply does not say how large it would be");
  const auto size = static_cast<std::size_t>(bytes->integer());
  take_tensor_memory(size);
  give_tensor_memory(size);
  throw SkipError("Its results take " + std::to_string(size) + " bytes, more than calls may take.");
}

}  // namespace

std::uint64_t decode_lane(std::string_view text) {
  JsonTree tree;
  read_frame(text, tree);
  const JsonNode root = tree.root();
  const auto ident = root.is_object() ? member(root, "ident") : std::nullopt;
  if (!ident || !ident->is_integer()) throw BadFrame("a lane does not begin with the identity of its thread");
  return static_cast<std::uint64_t>(ident->integer());
}

Reply decode_reply(std::string_view text, std::uint64_t id, Arena& arena) {
  JsonTree tree;
  read_frame(text, tree);
  const JsonNode root = tree.root();
  const auto number = member(root, "id");
  if (!root.is_object() || !number || !number->is_integer() || static_cast<std::uint64_t>(number->integer()) != id) {
    throw BadFrame("a reply is not to the call that was sent");
  }
  Reply reply;
  if (const std::string status = text_member(root, "status"); !status.empty()) {
    if (status == "large") refuse_results(root);
    const auto found = std::ranges::find(status_names, std::string_view(status), &StatusName::text);
    if (found == status_names.end()) throw BadFrame("a reply has the status '" + status + "'");
    reply.status = found->status;
    reply.error = text_member(root, "error");
    return reply;
  }
  ReplyReader reader(arena);
  const auto output = member(root, "out");
  if (!output) throw BadFrame("a reply has no output");
  reply.result.output = reader.value(*output);
  reply.result.backward_problem = text_member(root, "bp");
  if (const auto gradients = member(root, "g")) reply.result.gradients = reader.list(*gradients);
  return reply;
}

}  // namespace msrun
