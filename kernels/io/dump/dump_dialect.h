// How the recorder of one framework writes dump.json: what the reader of such files must know of the framework.
#pragma once

#include <string_view>

#include "kernels/api/value.h"
#include "kernels/io/dump/dump_entry.h"
#include "kernels/io/dump/dump_value.h"

namespace msrun {

struct DumpDialect {
  // Whether an entry of this name is no call that could be checked: it is passed over unread.
  bool (*leaves_out)(std::string_view entry);

  // The value that an object with a "type" describes. A tensor is a TensorSpec whose dtype has torch's spelling, where
  // msrun has the dtype. What cannot be rebuilt becomes Unsupported with the reason; nothing throws.
  Value (*described)(const JsonNode& object, std::string_view type, const Where& where);

  // Called with every entry once it is read: restores what the recorder does not say in so many words.
  void (*complete)(std::string_view entry, DumpEntry& content);

  // The value of JSON other than null, a list and an object with a "type". Null: what Python would have for it.
  Value (*undescribed)(const JsonNode& node, const Where& where) = nullptr;
};

const DumpDialect& pytorch_dump();

// MindSpore itself, and PyTorch's names over MindSpore's tensors (MindTorch, MSAdapter): they differ in which entries
// are calls that are checked (acc_check_mindspore.md 3.1). What cannot be rebuilt is Unsupported in the words of the
// tool in use.
const DumpDialect& mindspore_dump();
const DumpDialect& mindtorch_dump();

}  // namespace msrun
