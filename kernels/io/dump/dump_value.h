// One argument as a dump describes it, turned into a Value (acc_check_pytorch.md 2.5, 2.6; MindSpore's descriptors
// too).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "kernels/api/value.h"
#include "kernels/io/json/json_tree.h"

namespace msrun {

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

// Positional and keyword arguments are treated alike. What cannot be rebuilt becomes Unsupported with the reason;
// nothing throws. An object whose "type" is a string describes a value, any other object is a dict. saw_mindspore is
// set if a "type" is one of MindSpore's.
Value dump_value(const JsonNode& node, const Where& where, bool& saw_mindspore);

List dump_list(const JsonNode& array, const Where& where, bool& saw_mindspore);
// A repeated key takes the place of its first occurrence and the value of its last.
Dict dump_dict(const JsonNode& object, const Where& where, bool& saw_mindspore);

}  // namespace msrun
