#include "kernels/io/numpy/npy_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

#include "kernels/tensor/tensor.h"

namespace msrun {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t max_header = std::size_t{1} << 20;
constexpr std::size_t max_rank = 64;  // numpy's
constexpr std::size_t alignment = 64;

// The header is the text of a Python dict: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& path, bool raw_as_uint16)
      : text_(text), path_(path), raw_as_uint16_(raw_as_uint16) {}

  NpyHeader parse() {
    NpyHeader header;
    unsigned seen = 0;
    expect('{');
    while (!accept('}')) {
      const std::string_view key = quoted();
      expect(':');
      if (key == "descr") {
        read_type(header);
        seen |= 1U;
      } else if (key == "fortran_order") {
        header.fortran_order = read_boolean();
        seen |= 2U;
      } else if (key == "shape") {
        header.shape = read_shape();
        seen |= 4U;
      } else {
        malformed();
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    if (seen != 7U || peek() != '\0') malformed();
    return header;
  }

 private:
  [[noreturn]] void malformed() const { throw SkipError("The header of " + path_ + " is no numpy header."); }

  // The next byte that is no white space; 0 at the end.
  char peek() {
    const std::size_t next = text_.find_first_not_of(" \t\r\n");
    text_.remove_prefix(std::min(next, text_.size()));
    return text_.empty() ? '\0' : text_.front();
  }
  bool accept(char c) {
    if (peek() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) malformed();
  }
  std::string_view quoted() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') malformed();
    const std::size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) malformed();
    const std::string_view inside = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return inside;
  }
  bool read_boolean() {
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (peek() == word.front() && text_.starts_with(word)) {
        text_.remove_prefix(word.size());
        return value;
      }
    }
    malformed();
  }
  void read_type(NpyHeader& header) {
    if (peek() == '[')
      throw UnsupportedTypeError("The file " + path_ + " holds a structured numpy dtype, which is not supported.");
    const std::string_view descr = quoted();
    std::string_view type = descr;
    if (!type.empty() && std::string_view("<>|=").find(type.front()) != std::string_view::npos) {
      header.big_endian = type.front() == '>';
      type.remove_prefix(1);
    }
    if (const std::optional<NumpyType> known = parse_type_code(type)) {
      header.type = *known;
      return;
    }
    if (raw_as_uint16_ && type == "V2") {
      header.type = NumpyType::uint16;
      return;
    }
    throw UnsupportedTypeError("The file " + path_ + " holds the numpy dtype " + std::string(descr) +
                               ", which is not supported.");
  }
  std::vector<std::int64_t> read_shape() {
    std::vector<std::int64_t> shape;
    expect('(');
    while (!accept(')')) {
      peek();
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), size);
      if (error != std::errc{} || size < 0) malformed();
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      accept('L');  // Python 2 wrote long integers so
      shape.push_back(size);
      if (shape.size() > max_rank) malformed();
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view text_;
  const std::string& path_;
  bool raw_as_uint16_;
};

std::int64_t elements_of(const std::vector<std::int64_t>& shape, const std::string& path) {
  try {
    return element_count(shape);
  } catch (const SkipError& error) {
    throw SkipError("The file " + path + " cannot be read: " + error.what());
  }
}

}  // namespace

NpyHeader read_npy_header(const InputFile& file, std::uint64_t begin, std::uint64_t end, bool raw_as_uint16) {
  const std::string& path = file.path();
  try {
    std::array<std::byte, 256> start{};  // nearly always holds the whole header
    const std::size_t available = std::min<std::uint64_t>(end - begin, start.size());
    file.read_at(begin, std::span(start).first(available));
    const std::size_t known = std::min(available, magic.size());
    if (std::memcmp(start.data(), magic.data(), known) != 0) {
      throw SkipError("The file " + path + " is no numpy file.");
    }
    if (available < 10) throw IncompleteFileError("The file " + path + " is no numpy file.");
    const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(start[i]); };
    const std::size_t version = byte(6);
    if (version < 1 || version > 3) {
      throw SkipError("The file " + path + " has numpy format version " + std::to_string(version) +
                      ", which is not supported.");
    }
    const std::size_t text_begin = version == 1 ? 10 : 12;
    std::size_t text_size = byte(8) | byte(9) << 8;
    if (version > 1) text_size |= byte(10) << 16 | byte(11) << 24;
    if (text_size > max_header) throw SkipError("The header of " + path + " is no numpy header.");
    if (text_begin + text_size > end - begin) {
      throw IncompleteFileError("The header of " + path + " is no numpy header.");
    }
    std::string text;
    if (text_begin + text_size <= available) {
      text.assign(reinterpret_cast<const char*>(start.data()) + text_begin, text_size);
    } else {
      text.resize(text_size);
      file.read_at(begin + text_begin, std::as_writable_bytes(std::span(text)));
    }
    NpyHeader header = HeaderParser(text, path, raw_as_uint16).parse();
    header.data_begin = begin + text_begin + text_size;
    const auto available_elements = static_cast<std::int64_t>((end - header.data_begin) / size_of(header.type));
    const std::int64_t count = elements_of(header.shape, path);
    if (count > available_elements) throw IncompleteFileError("The file " + path + " is truncated.");
    header.data_bytes = static_cast<std::uint64_t>(count) * size_of(header.type);
    return header;
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
}

NpyHeader read_npy_header(const InputFile& file) { return read_npy_header(file, 0, file.size()); }

std::string npy_header_bytes(NumpyType type, std::span<const std::int64_t> shape) {
  std::string text = "{'descr': '" + descr(type) + "', 'fortran_order': False, 'shape': " + tuple_text(shape) + ", }";
  // The data begin at a multiple of 64 bytes, after a line end.
  const std::size_t prefix = magic.size() + 4;
  text.append(alignment - 1 - (prefix + text.size()) % alignment, ' ');
  text += '\n';
  std::string bytes(magic);
  for (const std::size_t byte : {std::size_t{1}, std::size_t{0}, text.size() & 0xFFU, text.size() >> 8}) {
    bytes += static_cast<char>(byte);
  }
  return bytes + text;
}

}  // namespace msrun
