#include "kernels/io/json/json_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <limits>

#include "kernels/base/digits.h"
#include "kernels/base/text.h"

namespace msrun {
namespace {

constexpr unsigned replacement = 0xFFFD;

// Bytes that stand for themselves inside a string; those of multi-byte characters are checked when the string is whole.
constexpr std::array<bool, 256> plain_bytes = [] {
  std::array<bool, 256> table{};
  for (std::size_t byte = 0x20; byte < table.size(); ++byte) table[byte] = byte != '"' && byte != '\\';
  return table;
}();

bool is_high_surrogate(unsigned code) { return code >= 0xD800 && code <= 0xDBFF; }
bool is_low_surrogate(unsigned code) { return code >= 0xDC00 && code <= 0xDFFF; }

void append_utf8(unsigned code, std::string& text) {
  const auto append = [&](unsigned byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return append(code);
  if (code < 0x800) {
    append(0xC0U | (code >> 6));
  } else {
    if (code < 0x10000) {
      append(0xE0U | (code >> 12));
    } else {
      append(0xF0U | (code >> 18));
      append(0x80U | ((code >> 12) & 0x3FU));
    }
    append(0x80U | ((code >> 6) & 0x3FU));
  }
  append(0x80U | (code & 0x3FU));
}

// What real() gives for a number that no double can hold: infinity if its first significant digit stands before the
// decimal point, else zero.
double beyond_range(std::string_view number) {
  const bool negative = number.front() == '-';
  if (negative) number.remove_prefix(1);
  const std::size_t mark = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, mark);
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
  const auto significant = static_cast<std::int64_t>(std::min(digits.find_first_of("123456789"), digits.size()));
  std::int64_t exponent = 0;
  if (mark < number.size()) {
    std::string_view power = number.substr(mark + 1);
    if (power.front() == '+') power.remove_prefix(1);
    if (std::from_chars(power.data(), power.data() + power.size(), exponent).ec != std::errc{}) {
      exponent = power.front() == '-' ? std::numeric_limits<std::int64_t>::min() / 2
                                      : std::numeric_limits<std::int64_t>::max() / 2;
    }
    exponent = std::clamp<std::int64_t>(exponent, -(std::int64_t{1} << 40), std::int64_t{1} << 40);
  }
  const double magnitude = exponent + point - significant > 0 ? std::numeric_limits<double>::infinity() : 0.0;
  return negative ? -magnitude : magnitude;
}

}  // namespace

std::string_view kind_name(JsonEvent event) {
  switch (event) {
    case JsonEvent::begin_object:
      return "an object";
    case JsonEvent::begin_array:
      return "an array";
    case JsonEvent::key:
    case JsonEvent::string:
      return "a string";
    case JsonEvent::integer:
    case JsonEvent::real:
      return "a number";
    case JsonEvent::boolean:
      return "a boolean";
    case JsonEvent::null:
      return "null";
    case JsonEvent::end_object:
    case JsonEvent::end_array:
    case JsonEvent::end:
      break;
  }
  return "nothing";
}

JsonReader::JsonReader(std::string name, Source source, std::size_t chunk)
    : name_(std::move(name)), source_(std::move(source)), chunk_(chunk), buffer_(chunk + 1) {
  static constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  while (limit_ < byte_order_mark.size() && refill()) {
  }
  if (std::string_view(buffer_.data(), limit_).starts_with(byte_order_mark)) {
    position_ = byte_order_mark.size();
    line_start_ = position_;
  }
}

// Brings more text into the window; false at the end of the text.
bool JsonReader::refill() {
  if (source_ended_) return false;
  const std::size_t used = std::min(keep_, position_);
  if (position_ - used > max_token) fail("a string or number is longer than 64 MiB");
  const std::string_view leaving(buffer_.data(), used);
  const auto newlines = static_cast<std::uint64_t>(std::count(leaving.begin(), leaving.end(), '\n'));
  if (newlines > 0) line_start_ = bytes_before_ + leaving.rfind('\n') + 1;
  newlines_before_ += newlines;
  bytes_before_ += used;
  std::memmove(buffer_.data(), buffer_.data() + used, limit_ - used);
  limit_ -= used;
  position_ -= used;
  if (keep_ != none) keep_ = 0;
  if (buffer_.size() < limit_ + chunk_ + 1) buffer_.resize(2 * limit_ + chunk_ + 1);
  const std::size_t count = source_(std::span(buffer_.data() + limit_, chunk_));
  limit_ += count;
  buffer_[limit_] = '\0';
  source_ended_ = count == 0;
  return !source_ended_;
}

// The next byte that is no white space, not yet consumed; 0 at the end of the text.
char JsonReader::skip_space() {
  do {
    const char* next = buffer_.data() + position_;
    while (*next == ' ' || *next == '\n' || *next == '\r' || *next == '\t') ++next;
    position_ = static_cast<std::size_t>(next - buffer_.data());
  } while (position_ == limit_ && refill());
  return buffer_[position_];
}

JsonEvent JsonReader::next() {
  char c = skip_space();
  switch (expect_) {
    case Expect::colon:
      if (c != ':') unexpected("':'");
      ++position_;
      return read_value(skip_space());
    case Expect::comma_or_end: {
      const bool object = containers_.back();
      if (c == (object ? '}' : ']')) return close(object);
      if (c != ',') unexpected(object ? "',' or '}'" : "',' or ']'");
      ++position_;
      c = skip_space();
      if (!object) return read_value(c);
      expect_ = Expect::key;
      break;
    }
    case Expect::key_or_end:
      if (c == '}') return close(true);
      break;
    case Expect::value_or_end:
      if (c == ']') return close(false);
      return read_value(c);
    case Expect::nothing:
      if (position_ < limit_) unexpected("the end of the file");
      return JsonEvent::end;
    case Expect::value:
      return read_value(c);
    case Expect::key:
      break;
  }
  if (c != '"') unexpected(expect_ == Expect::key ? "a key in double quotes" : "a key in double quotes or '}'");
  read_string();
  expect_ = Expect::colon;
  return JsonEvent::key;
}

JsonEvent JsonReader::read_value(char first) {
  switch (first) {
    case '{':
      return begin(true);
    case '[':
      return begin(false);
    case '"':
      read_string();
      after_value();
      return JsonEvent::string;
    case 't':
    case 'f':
      read_word(first == 't' ? "true" : "false");
      integer_ = first == 't' ? 1 : 0;
      return JsonEvent::boolean;
    case 'n':
      read_word("null");
      return JsonEvent::null;
    case 'N':
      read_word("NaN");
      return JsonEvent::real;
    case 'I':
      read_word("Infinity");
      return JsonEvent::real;
    default:
      break;
  }
  if (first != '-' && !is_digit(first)) unexpected("a value");
  return read_number();
}

JsonEvent JsonReader::begin(bool object) {
  if (containers_.size() == max_depth) fail("objects and arrays are nested more than 1000000 levels deep");
  containers_.push_back(object);
  ++position_;
  expect_ = object ? Expect::key_or_end : Expect::value_or_end;
  return object ? JsonEvent::begin_object : JsonEvent::begin_array;
}

JsonEvent JsonReader::close(bool object) {
  containers_.pop_back();
  ++position_;
  after_value();
  return object ? JsonEvent::end_object : JsonEvent::end_array;
}

// position_ is at the opening quote.
void JsonReader::read_string() {
  ++position_;
  keep_ = position_;
  bool escapes = false;
  unsigned char all_bits = 0;
  for (;;) {
    const char* next = buffer_.data() + position_;
    while (plain_bytes[static_cast<unsigned char>(*next)]) all_bits |= static_cast<unsigned char>(*next++);
    position_ = static_cast<std::size_t>(next - buffer_.data());
    if (*next == '"') break;
    if (*next == '\\') {
      if (!escapes) unescaped_.clear();
      escapes = true;
      unescaped_.append(buffer_.data() + keep_, position_ - keep_);
      if (unescaped_.size() > max_token) fail("a string is longer than 64 MiB");
      keep_ = none;
      read_escape();
      keep_ = position_;
    } else if (position_ < limit_ || !refill()) {
      unexpected(position_ < limit_ ? "no control character inside a string" : "the end of the string");
    }
  }
  text_ = std::string_view(buffer_.data() + keep_, position_ - keep_);
  keep_ = none;
  if (escapes) {
    unescaped_.append(text_);
    text_ = unescaped_;
  }
  if (all_bits >= 0x80) require_utf8(text_);
  ++position_;
}

void JsonReader::require_utf8(std::string_view text) const {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) fail("the string that ends here is not valid UTF-8");
    text.remove_prefix(length);
  }
}

// position_ is at the backslash.
void JsonReader::read_escape() {
  static constexpr std::string_view expected = "one of \" \\ / b f n r t u after the backslash";
  ++position_;
  if (position_ == limit_ && !refill()) unexpected(expected);
  switch (buffer_[position_]) {
    case '"':
    case '\\':
    case '/':
      unescaped_ += buffer_[position_];
      break;
    case 'b':
      unescaped_ += '\b';
      break;
    case 'f':
      unescaped_ += '\f';
      break;
    case 'n':
      unescaped_ += '\n';
      break;
    case 'r':
      unescaped_ += '\r';
      break;
    case 't':
      unescaped_ += '\t';
      break;
    case 'u': {
      ++position_;
      unsigned code = read_hex();
      while (is_high_surrogate(code)) {
        while (limit_ - position_ < 2 && refill()) {
        }
        if (buffer_[position_] != '\\' || buffer_[position_ + 1] != 'u') break;
        position_ += 2;
        const unsigned second = read_hex();
        if (is_low_surrogate(second)) {
          code = 0x10000 + ((code - 0xD800) << 10) + (second - 0xDC00);
        } else {
          append_utf8(replacement, unescaped_);
          code = second;
        }
      }
      append_escaped(code);
      return;
    }
    default:
      unexpected(expected);
  }
  ++position_;
}

// What an escape stands for, whose surrogate has no partner.
void JsonReader::append_escaped(unsigned code) {
  if (keeps_bytes_ && code >= 0xDC80 && code <= 0xDCFF) {
    unescaped_ += static_cast<char>(code - 0xDC00);
  } else {
    append_utf8(is_high_surrogate(code) || is_low_surrogate(code) ? replacement : code, unescaped_);
  }
}

unsigned JsonReader::read_hex() {
  unsigned code = 0;
  for (int i = 0; i < 4; ++i, ++position_) {
    if (position_ == limit_ && !refill()) unexpected("four hexadecimal digits");
    const char c = buffer_[position_];
    const char letter = static_cast<char>(c | 0x20);
    if (is_digit(c)) {
      code = code * 16 + static_cast<unsigned>(c - '0');
    } else if (letter >= 'a' && letter <= 'f') {
      code = code * 16 + static_cast<unsigned>(letter - 'a' + 10);
    } else {
      unexpected("four hexadecimal digits");
    }
  }
  return code;
}

// One or more digits.
void JsonReader::read_digits() {
  const auto at_digit = [&] {
    if (position_ == limit_) refill();
    return is_digit(buffer_[position_]);
  };
  if (!at_digit()) unexpected("a digit");
  do {
    const char* next = buffer_.data() + position_;
    while (is_digit(*next)) ++next;
    position_ = static_cast<std::size_t>(next - buffer_.data());
  } while (at_digit());
}

JsonEvent JsonReader::read_number() {
  const auto current = [&] {
    if (position_ == limit_) refill();
    return buffer_[position_];
  };
  keep_ = position_;
  if (current() == '-') {
    ++position_;
    if (current() == 'I') {
      keep_ = none;
      read_word("Infinity");
      text_ = "-Infinity";
      large_integer_ = false;
      return JsonEvent::real;
    }
  }
  bool integral = true;
  if (current() == '0') {
    ++position_;
  } else {
    read_digits();
  }
  if (current() == '.') {
    integral = false;
    ++position_;
    read_digits();
  }
  if (current() == 'e' || current() == 'E') {
    integral = false;
    ++position_;
    if (current() == '+' || current() == '-') ++position_;
    read_digits();
  }
  text_ = std::string_view(buffer_.data() + keep_, position_ - keep_);
  keep_ = none;
  after_value();
  if (integral && std::from_chars(text_.data(), text_.data() + text_.size(), integer_).ec == std::errc{}) {
    return JsonEvent::integer;
  }
  large_integer_ = integral;
  return JsonEvent::real;
}

void JsonReader::read_word(std::string_view word) {
  for (const char letter : word) {
    if (position_ == limit_) refill();
    if (buffer_[position_] != letter) unexpected("'" + std::string(word) + "'");
    ++position_;
  }
  text_ = word;
  large_integer_ = false;
  after_value();
}

double json_real(std::string_view number) {
  double value = 0;
  const auto result = std::from_chars(number.data(), number.data() + number.size(), value);
  return result.ec == std::errc::result_out_of_range ? beyond_range(number) : value;
}

void JsonReader::skip_value() {
  const std::size_t outside = depth();
  do {
    next();
  } while (depth() > outside);
}

void JsonReader::skip_container(std::size_t depth) {
  while (containers_.size() >= depth) next();
}

void JsonReader::fail(std::string_view message) const {
  const std::string_view seen(buffer_.data(), position_);
  const auto line = 1 + newlines_before_ + static_cast<std::uint64_t>(std::count(seen.begin(), seen.end(), '\n'));
  const std::size_t newline = seen.rfind('\n');
  const std::uint64_t line_start = newline == std::string_view::npos ? line_start_ : bytes_before_ + newline + 1;
  const std::uint64_t byte = bytes_before_ + position_;
  throw UserError(name_ + ": line " + std::to_string(line) + ", column " + std::to_string(byte - line_start + 1) +
                  ": " + std::string(message) + " (byte " + std::to_string(byte) + ")");
}

void JsonReader::unexpected(std::string_view expected) const {
  static constexpr std::string_view hexadecimal = "0123456789ABCDEF";
  std::string found = "the end of the file";
  if (position_ < limit_) {
    const auto byte = static_cast<unsigned char>(buffer_[position_]);
    if (byte > 0x20 && byte < 0x7F) {
      found = std::string("'") + buffer_[position_] + "'";
    } else {
      found = std::string("byte 0x") + hexadecimal[byte >> 4] + hexadecimal[byte & 0xFU];
    }
  }
  fail("expected " + std::string(expected) + ", found " + found);
}

JsonReader::Source memory_source(std::string_view text) {
  return [text](std::span<char> target) mutable {
    const std::size_t count = std::min(text.size(), target.size());
    std::copy_n(text.begin(), count, target.begin());
    text.remove_prefix(count);
    return count;
  };
}

}  // namespace msrun
