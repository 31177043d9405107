// One argument as a dump describes it, turned into a Value (acc_check_pytorch.md 2.5, 2.6).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "kernels/api/value.h"
#include "kernels/io/json/json_tree.h"

namespace msrun {

struct DumpDialect;

// The place of a value inside an entry, for reasons: "input_args[0].shape". A chain of links on the stack.
class Where {
 public:
  explicit Where(std::string_view key) : key_(key) {}
  Where(const Where& parent, std::string_view key) : parent_(&parent), key_(key) {}
  Where(const Where& parent, std::size_t index) : parent_(&parent), index_(index), is_index_(true) {}

  std::string text() const;

 private:
  const Where* parent_ = nullptr;
  std::string_view key_;
  std::size_t index_ = 0;
  bool is_index_ = false;
};

// Reads values as one framework's recorder describes them.
struct ValueReader {
  const DumpDialect& dialect;
  // Told by the types of the values that were read: "mindspore" or empty.
  std::string_view framework = {};
  // Tensors that were read: those with extrema or a file, and those of which there is a checksum alone.
  std::size_t tensors_with_data = 0;
  std::size_t tensors_with_checksum = 0;

  // Positional and keyword arguments are treated alike. What cannot be rebuilt becomes Unsupported with the reason;
  // nothing throws. An object whose "type" is a string describes a value, any other object is a dict.
  Value value(const JsonNode& node, const Where& where);
  List list(const JsonNode& array, const Where& where);
  // A repeated key takes the place of its first occurrence and the value of its last.
  Dict dict(const JsonNode& object, const Where& where);

  // Counts the tensor that an object was read as, if it is one.
  void count(const JsonNode& object, const Value& value);
};

// A value by its type, PyTorch's, Python's or MindSpore's: DumpDialect::described for dumps that may hold any of them.
Value described_value(const JsonNode& object, std::string_view type, const Where& where);

}  // namespace msrun
