#include "kernels/io/graph_engine/ge_dump.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "kernels/io/graph_engine/device_layout.h"
#include "kernels/io/graph_engine/ge_types.h"
#include "kernels/tensor/tensor.h"

namespace msrun {
namespace {

constexpr std::uint64_t length_bytes = 8;
constexpr std::uint64_t max_message = std::uint64_t{64} << 20;
constexpr std::size_t max_rank = 32;  // numpy's
// Tensors of one operator. Real ones have a few hundred; in a damaged message each could take two bytes.
constexpr std::size_t max_tensors = 65536;
constexpr std::array<std::byte, 4> nano_magic{std::byte{0x5A}, std::byte{0x5A}, std::byte{0x5A}, std::byte{0x5A}};

// The message breaks off or holds what the wire format does not have.
struct BadMessage {};

enum class Wire : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, group_begin = 3, group_end = 4, fixed32 = 5 };

using Bytes = std::span<const std::byte>;

// Walks the fields of one protobuf message.
class FieldReader {
 public:
  explicit FieldReader(Bytes message) : rest_(message) {}

  // The next field, without those inside of groups; false at the end.
  bool next() {
    for (;;) {
      if (rest_.empty()) {
        if (groups_ != 0) throw BadMessage{};
        return false;
      }
      const std::uint64_t key = read_varint();
      number_ = key >> 3;
      wire_ = static_cast<Wire>(key & 7);
      if (number_ == 0) throw BadMessage{};
      switch (wire_) {
        case Wire::varint:
          value_ = read_varint();
          break;
        case Wire::fixed64:
          take(8);
          break;
        case Wire::bytes:
          bytes_ = take(read_varint());
          break;
        case Wire::fixed32:
          take(4);
          break;
        case Wire::group_begin:
          ++groups_;
          continue;
        case Wire::group_end:
          if (groups_ == 0) throw BadMessage{};
          --groups_;
          continue;
        default:
          throw BadMessage{};
      }
      if (groups_ == 0) return true;
    }
  }
  bool is_number(std::uint64_t number) const { return number_ == number && wire_ == Wire::varint; }
  bool is_bytes(std::uint64_t number) const { return number_ == number && wire_ == Wire::bytes; }
  std::uint64_t value() const { return value_; }
  Bytes bytes() const { return bytes_; }

  std::uint64_t read_varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
      if (rest_.empty()) break;
      const auto byte = std::to_integer<std::uint64_t>(rest_.front());
      rest_ = rest_.subspan(1);
      if (shift < 64) value |= (byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    throw BadMessage{};
  }
  bool at_end() const { return rest_.empty(); }

 private:
  Bytes take(std::uint64_t size) {
    if (size > rest_.size()) throw BadMessage{};
    const Bytes taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }

  Bytes rest_;
  std::uint64_t number_ = 0;
  Wire wire_ = Wire::varint;
  std::uint64_t value_ = 0;
  Bytes bytes_;
  std::uint64_t groups_ = 0;
};

std::string text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

void add_dims(Bytes message, std::vector<std::uint64_t>& dims) {
  const auto add = [&](std::uint64_t dim) {
    if (dims.size() == max_rank) throw BadMessage{};
    dims.push_back(dim);
  };
  for (FieldReader field(message); field.next();) {
    if (field.is_number(1)) add(field.value());
    if (field.is_bytes(1)) {
      for (FieldReader packed(field.bytes()); !packed.at_end();) add(packed.read_varint());
    }
  }
}

// Inputs and outputs number some fields differently.
struct TensorFields {
  std::uint64_t size;
  std::uint64_t original_shape;
  std::uint64_t sub_format;
};
constexpr TensorFields input_fields{5, 6, 7};
constexpr TensorFields output_fields{6, 7, 8};

GeTensor parse_tensor(Bytes message, const TensorFields& numbers) {
  GeTensor tensor;
  for (FieldReader field(message); field.next();) {
    if (field.is_number(1)) tensor.data_type = static_cast<std::int32_t>(field.value());
    if (field.is_number(2)) tensor.format = static_cast<std::int32_t>(field.value());
    if (field.is_bytes(3)) add_dims(field.bytes(), tensor.shape);
    if (field.is_number(numbers.size)) tensor.size = field.value();
    if (field.is_bytes(numbers.original_shape)) add_dims(field.bytes(), tensor.original_shape);
    if (field.is_number(numbers.sub_format)) tensor.sub_format = static_cast<std::int32_t>(field.value());
  }
  return tensor;
}

// Buffers and workspaces: only their size matters.
std::uint64_t parse_size(Bytes message) {
  std::uint64_t size = 0;
  for (FieldReader field(message); field.next();) {
    if (field.is_number(3)) size = field.value();
  }
  return size;
}

// The sizes behind the tensors are returned: buffers, then workspaces.
std::vector<std::uint64_t> parse_message(Bytes message, GeDump& dump) {
  std::vector<std::uint64_t> further;
  for (FieldReader field(message); field.next();) {
    if (dump.inputs.size() + dump.outputs.size() + further.size() > max_tensors) throw BadMessage{};
    if (field.is_bytes(1)) dump.version = text_of(field.bytes());
    if (field.is_number(2)) dump.dump_time = field.value();
    if (field.is_bytes(3)) dump.outputs.push_back(parse_tensor(field.bytes(), output_fields));
    if (field.is_bytes(4)) dump.inputs.push_back(parse_tensor(field.bytes(), input_fields));
    if (field.is_bytes(5) || field.is_bytes(8)) further.push_back(parse_size(field.bytes()));
    if (field.is_bytes(6)) dump.op_name = text_of(field.bytes());
  }
  return further;
}

std::vector<std::int64_t> signed_shape(const std::vector<std::uint64_t>& shape) { return {shape.begin(), shape.end()}; }

}  // namespace

GeDump read_ge_dump(const InputFile& file) {
  const std::string name = "The dump file " + file.path();
  try {
    std::array<std::byte, 4096> start{};  // nearly always holds the whole message
    const std::size_t available = std::min<std::uint64_t>(file.size(), start.size());
    file.read_at(0, std::span(start).first(available));
    if (available < length_bytes) throw IncompleteFileError(name + " is truncated.");
    std::uint64_t length = 0;
    std::memcpy(&length, start.data(), sizeof(length));
    if (available >= length_bytes + nano_magic.size() &&
        std::equal(nano_magic.begin(), nano_magic.end(), start.begin() + length_bytes)) {
      throw SkipError(name + " cannot be parsed: it is in the format of small devices.");
    }
    if (length > file.size() - length_bytes) throw IncompleteFileError(name + " is truncated.");
    if (length == 0) throw SkipError(name + " cannot be parsed: its description is empty.");
    if (length > max_message) throw SkipError(name + " cannot be parsed: its description has more than 64 MiB.");
    std::vector<std::byte> large;
    Bytes message = std::span(start).subspan(length_bytes, std::min<std::size_t>(length, available - length_bytes));
    if (message.size() < length) {
      large.resize(length);
      file.read_at(length_bytes, large);
      message = large;
    }
    GeDump dump;
    const std::vector<std::uint64_t> further = parse_message(message, dump);
    dump.end = length_bytes + length;
    const auto extend = [&](std::uint64_t size) {
      if (size > std::numeric_limits<std::uint64_t>::max() - dump.end) throw BadMessage{};
      dump.end += size;
    };
    for (std::vector<GeTensor>* tensors : {&dump.inputs, &dump.outputs}) {
      for (GeTensor& tensor : *tensors) {
        tensor.begin = dump.end;
        extend(tensor.size);
      }
    }
    for (const std::uint64_t size : further) extend(size);
    if (dump.end > file.size()) {
      throw IncompleteFileError(name + " is truncated: it has " + std::to_string(file.size()) + " of " +
                                std::to_string(dump.end) + " bytes.");
    }
    return dump;
  } catch (const BadMessage&) {
    throw SkipError(name + " cannot be parsed: its description is damaged.");
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
}

StoredTensor stored_tensor(const GeTensor& tensor, const std::string& path) {
  const std::optional<GeType> type = ge_type(tensor.data_type);
  if (!type) {
    throw SkipError("The dump file " + path + " cannot be parsed: its data type " + std::to_string(tensor.data_type) +
                    " is not supported.");
  }
  StoredTensor result;
  result.type = type->type;
  result.encoding = type->encoding;
  result.begin = tensor.begin;
  std::vector<std::int64_t> shape = signed_shape(tensor.shape);
  if (tensor.data_type == ge_undefined && tensor.size > 0) shape = {static_cast<std::int64_t>(tensor.size)};
  const auto too_large = [&] {
    return SkipError("The dump file " + path + " cannot be parsed: a tensor has more elements than bytes.");
  };
  std::int64_t count = 0;
  try {
    count = element_count(shape);
  } catch (const SkipError&) {
    throw too_large();
  }
  if (count == 0) {
    result.type = NumpyType::float64;
    result.encoding = Encoding::plain;
    result.shape = shape;
    return result;
  }
  // A byte holds eight elements at most.
  if (static_cast<std::uint64_t>(count) / 8 > tensor.size) throw too_large();
  result.stored_count = count;
  if (stored_bytes(result) > tensor.size) throw too_large();
  std::vector<std::int64_t> original = signed_shape(tensor.original_shape);
  // Negative sizes are those of unknown shapes.
  if (std::any_of(original.begin(), original.end(), [](std::int64_t size) { return size < 0; })) original.clear();
  LogicalLayout layout = logical_layout(tensor.format, tensor.sub_format, shape, original);
  result.axes = std::move(layout.axes);
  result.shape = std::move(layout.shape);
  result.count = result.axes.empty() ? count : 1;
  for (const StoredAxis& axis : result.axes) result.count *= axis.size;
  return result;
}

}  // namespace msrun
