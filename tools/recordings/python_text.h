// JSON values as Python's str() prints them, because msProbe's cells and checksums are made of such texts.
#pragma once

#include <string>
#include <string_view>

#include "kernels/io/json/json_tree.h"

namespace msrun::recordings {

// A text in quotes, with escapes, as repr() prints it.
void append_repr(std::string& out, std::string_view text);
// Nested values are printed as by repr(), a text itself as it is.
std::string python_text(const JsonNode& node);

}  // namespace msrun::recordings
