#include "kernels/io/npy.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <numeric>
#include <vector>

#include "kernels/error.h"
#include "kernels/io/storage_bytes.h"

namespace msrun {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t max_header = std::size_t{1} << 20;

struct NumpyType {
  std::string_view text;  // kind and bytes per element
  DType dtype;
};

constexpr std::array numpy_types{
    NumpyType{"b1", DType::boolean},   NumpyType{"u1", DType::uint8},       NumpyType{"i1", DType::int8},
    NumpyType{"i2", DType::int16},     NumpyType{"i4", DType::int32},       NumpyType{"i8", DType::int64},
    NumpyType{"f2", DType::float16},   NumpyType{"f4", DType::float32},     NumpyType{"f8", DType::float64},
    NumpyType{"c8", DType::complex64}, NumpyType{"c16", DType::complex128},
};

struct Header {
  DType dtype = DType::float32;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

// The header is the text of a Python dict: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  Header parse() {
    Header header;
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
  void read_type(Header& header) {
    if (peek() == '[')
      throw SkipError("The file " + path_ + " holds a structured numpy dtype, which is not supported.");
    const std::string_view descr = quoted();
    std::string_view type = descr;
    if (!type.empty() && std::string_view("<>|=").find(type.front()) != std::string_view::npos) {
      header.big_endian = type.front() == '>';
      type.remove_prefix(1);
    }
    for (const NumpyType& known : numpy_types) {
      if (known.text == type) {
        header.dtype = known.dtype;
        return;
      }
    }
    throw SkipError("The file " + path_ + " holds the numpy dtype " + std::string(descr) + ", which is not supported.");
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
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }

  std::string_view text_;
  const std::string& path_;
};

}  // namespace

Tensor read_npy(const InputFile& file) {
  const std::string& path = file.path();
  try {
    std::array<std::byte, 12> start{};
    const std::size_t available = std::min<std::uint64_t>(file.size(), start.size());
    file.read_at(0, std::span(start).first(available));
    if (available < 10 || std::memcmp(start.data(), magic.data(), magic.size()) != 0) {
      throw SkipError("The file " + path + " is no numpy file.");
    }
    const auto byte = [&](std::size_t i) { return std::to_integer<std::size_t>(start[i]); };
    const std::size_t version = byte(6);
    if (version < 1 || version > 3) {
      throw SkipError("The file " + path + " has numpy format version " + std::to_string(version) +
                      ", which is not supported.");
    }
    const std::size_t header_begin = version == 1 ? 10 : 12;
    std::size_t header_size = byte(8) | byte(9) << 8;
    if (version > 1) header_size |= byte(10) << 16 | byte(11) << 24;
    if (header_size > max_header || header_begin + header_size > file.size()) {
      throw SkipError("The header of " + path + " is no numpy header.");
    }
    std::vector<std::byte> header_bytes(header_size);
    file.read_at(header_begin, header_bytes);
    const Header header = HeaderParser({reinterpret_cast<const char*>(header_bytes.data()), header_size}, path).parse();

    const std::uint64_t data_begin = header_begin + header_size;
    const auto available_elements = static_cast<std::int64_t>((file.size() - data_begin) / size_of(header.dtype));
    if (element_count(header.shape) > available_elements) throw SkipError("The file " + path + " is truncated.");
    std::vector<std::int64_t> stored_shape = header.shape;
    if (header.fortran_order) std::reverse(stored_shape.begin(), stored_shape.end());
    Tensor tensor(header.dtype, stored_shape);
    const std::span data(tensor.mutable_data<std::byte>(), tensor.bytes());
    file.read_at(data_begin, data);
    if (header.big_endian) reverse_elements(tensor.dtype(), data);
    if (tensor.dtype() == DType::boolean) normalize_booleans(data);
    if (!header.fortran_order) return tensor;
    std::vector<std::int64_t> axes(stored_shape.size());
    std::iota(axes.rbegin(), axes.rend(), 0);
    return tensor.permute(axes).contiguous();
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
}

Tensor read_npy(const std::string& path) {
  try {
    return read_npy(InputFile(path));
  } catch (const FileError& error) {
    throw SkipError(error.what());
  }
}

void write_npy(const std::string& path, const Tensor& tensor) {
  const auto* type = std::find_if(numpy_types.begin(), numpy_types.end(),
                                  [&](const NumpyType& known) { return known.dtype == tensor.dtype(); });
  if (type == numpy_types.end()) {
    throw SkipError("numpy has no dtype for " + std::string(torch_name(tensor.dtype())) + ".");
  }
  const std::string order = size_of(tensor.dtype()) == 1 ? "|" : "<";
  std::string header = "{'descr': '" + order + std::string(type->text) +
                       "', 'fortran_order': False, 'shape': " + tuple_text(tensor.shape()) + ", }";
  // The data begin at a multiple of 64 bytes and a line end stands before them.
  const std::size_t prefix = magic.size() + 4;
  header.append(63 - (prefix + header.size()) % 64, ' ');
  header += '\n';
  std::string start(magic);
  for (const std::size_t byte : {std::size_t{1}, std::size_t{0}, header.size() & 0xFFU, header.size() >> 8}) {
    start += static_cast<char>(byte);
  }
  start += header;
  const Tensor row_major = tensor.contiguous();
  OutputFile file(path);
  file.write(std::as_bytes(std::span(start)));
  file.write({row_major.raw(), row_major.bytes()});
  file.close();
}

}  // namespace msrun
