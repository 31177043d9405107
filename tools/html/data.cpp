#include "tools/html/data.h"

#include <zlib.h>

#include <array>
#include <new>

#include "kernels/base/text.h"

namespace msrun::html {

namespace {

constexpr int quick = 3;  // half the time of zlib's default for a tenth more bytes

std::string compressed(std::string_view bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  // It fails for want of memory alone: the buffer has room for whatever comes of the bytes.
  if (compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(),
                quick) != Z_OK) {
    throw std::bad_alloc();
  }
  out.resize(size);
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) out += i + k > bytes.size() ? '=' : digits[group >> (18 - 6 * k) & 63];
  }
  return out;
}

void append_escape(std::string& out, char c) {
  constexpr std::string_view hexadecimal = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\n':
      out += "\\n";
      break;
    default:
      out += "\\u00";
      out += hexadecimal[static_cast<unsigned char>(c) >> 4];
      out += hexadecimal[c & 15];
  }
}

}  // namespace

void append_json(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) < 0x80) {
      if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) {
        append_escape(out, c);
      } else {
        out += c;
      }
      ++i;
      continue;
    }
    const std::size_t length = utf8_length(text.substr(i));
    out += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(i, length);
    i += length == 0 ? 1 : length;
  }
  out += '"';
}

std::string packed(std::string_view bytes) { return base64(compressed(bytes)); }

const std::string_view unpack_script = R"js(
function unpacked(text) {
  let bytes;
  if (Uint8Array.fromBase64) {
    bytes = Uint8Array.fromBase64(text);
  } else {
    const binary = atob(text);
    bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  }
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'))).text();
}
)js";

}  // namespace msrun::html
