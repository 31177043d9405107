// Writes dump files of the graph engine for tests.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace msrun {

inline void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(0x80 | (value & 0x7F));
  out += static_cast<char>(value);
}

inline void append_number(std::string& out, std::uint64_t field, std::uint64_t value) {
  append_varint(out, field << 3);
  append_varint(out, value);
}

inline void append_bytes(std::string& out, std::uint64_t field, const std::string& bytes) {
  append_varint(out, field << 3 | 2);
  append_varint(out, bytes.size());
  out += bytes;
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

struct DumpTensor {
  std::uint64_t data_type = 1;
  std::uint64_t format = 2;
  std::vector<std::uint64_t> shape = {};
  std::vector<std::uint64_t> original_shape = {};
  std::string data = {};
  std::uint64_t sub_format = 0;
  bool packed = true;  // dims in one field, as writers of today have them
};

inline std::string shape_message(const std::vector<std::uint64_t>& dims, bool packed) {
  std::string message;
  if (!packed) {
    for (const std::uint64_t dim : dims) append_number(message, 1, dim);
    return message;
  }
  std::string list;
  for (const std::uint64_t dim : dims) append_varint(list, dim);
  if (!dims.empty()) append_bytes(message, 1, list);
  return message;
}

inline std::string tensor_message(const DumpTensor& tensor, bool output) {
  std::string message;
  append_number(message, 1, tensor.data_type);
  append_number(message, 2, tensor.format);
  append_bytes(message, 3, shape_message(tensor.shape, tensor.packed));
  append_number(message, output ? 6 : 5, tensor.data.size());
  if (!tensor.original_shape.empty()) {
    append_bytes(message, output ? 7 : 6, shape_message(tensor.original_shape, tensor.packed));
  }
  if (tensor.sub_format != 0) append_number(message, output ? 8 : 7, tensor.sub_format);
  return message;
}

// further: fields to be added to the description.
inline std::string ge_dump_bytes(const std::vector<DumpTensor>& inputs, const std::vector<DumpTensor>& outputs,
                                 const std::string& further = {}) {
  std::string message;
  append_bytes(message, 1, "2.0");
  append_number(message, 2, 1767607200000);
  for (const DumpTensor& tensor : outputs) append_bytes(message, 3, tensor_message(tensor, true));
  for (const DumpTensor& tensor : inputs) append_bytes(message, 4, tensor_message(tensor, false));
  append_bytes(message, 6, "Op");
  message += further;
  std::string bytes = bytes_of(std::vector<std::uint64_t>{message.size()}) + message;
  for (const DumpTensor& tensor : inputs) bytes += tensor.data;
  for (const DumpTensor& tensor : outputs) bytes += tensor.data;
  return bytes;
}

}  // namespace msrun
