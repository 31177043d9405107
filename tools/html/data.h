// Data of a page in little room: text as JSON, compressed, and what unpacks it in the browser.
#pragma once

#include <string>
#include <string_view>

namespace msrun::html {

// Appends text as a JSON string. Bytes that are not UTF-8 become U+FFFD.
void append_json(std::string& out, std::string_view text);

// Bytes compressed by zlib, as base64: nothing in it ends an element. The script below unpacks it.
std::string packed(std::string_view bytes);

// unpacked(text) gives a promise of the text that was packed.
extern const std::string_view unpack_script;

}  // namespace msrun::html
