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
};

const DumpDialect& pytorch_dump();

}  // namespace msrun
