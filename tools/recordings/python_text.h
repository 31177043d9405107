// What Python makes of JSON values, because msProbe's cells and checksums are made of that: their str(), their class,
// and the checksum of a text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/io/json/json_tree.h"
#include "tools/recordings/recording.h"

namespace msrun::recordings {

// A text in quotes, with escapes, as repr() prints it.
void append_repr(std::string& out, std::string_view text);
// Nested values are printed as by repr(), a text itself as it is.
std::string python_text(const JsonNode& node);
// "<class 'int'>"; a value that is missing is None.
std::string_view python_class(const std::optional<JsonNode>& value);
// CRC-32 in eight digits.
std::string text_checksum(std::string_view text);

// The value with its texts in texts; a list or object is nested.
Value value_of(const JsonNode& node, Texts& texts);

}  // namespace msrun::recordings
