// A streaming reader of JSON as Python writes it: the standard, plus the bare numbers NaN, Infinity and -Infinity. It
// hands out one event after another and needs the same small memory for a file of any size. Everything that reads JSON
// which somebody else wrote and that may be large goes through here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/error.h"

namespace msrun {

enum class JsonEvent : std::uint8_t {
  begin_object,
  key,  // text(); the next event begins its value
  end_object,
  begin_array,
  end_array,
  string,   // text()
  integer,  // integer(): a number without fraction and exponent that fits 64 bits
  real,     // real(), is_large_integer(): any other number
  boolean,  // boolean()
  null,
  end,  // after the one top-level value, and only white space follows
};

// "an object", "a number": for messages. A key counts as a string; the end events have no name of their own.
std::string_view kind_name(JsonEvent event);

// The nearest double of a number in JSON; beyond its range infinity or zero, as Python reads it.
double json_real(std::string_view number);

class JsonReader {
 public:
  // Fills its argument with the next bytes of the text and returns how many; 0 is the end. Its exceptions pass through.
  using Source = std::function<std::size_t(std::span<char>)>;

  // Containers open at once; one more is an error.
  static constexpr std::size_t max_depth = 1'000'000;
  // Bytes of one string or number.
  static constexpr std::size_t max_token = std::size_t{64} << 20;

  static constexpr std::size_t default_chunk = std::size_t{1} << 20;

  // Error messages begin with name. chunk: bytes that are read at a time.
  JsonReader(std::string name, Source source, std::size_t chunk = default_chunk);

  // From now on a lone surrogate that stands for a byte in Python's file names (PEP 383) becomes that byte, so that
  // text() need not be UTF-8.
  void keep_bytes_of_file_names() { keeps_bytes_ = true; }

  // Every member that reads throws UserError "NAME: line L, column C: expected ..., found ... (byte B)" at the first
  // byte that breaks the rules; lines and columns (in bytes) count from 1, B from 0. After that the reader is of no
  // more use.
  JsonEvent next();

  // The string or key of the last event: UTF-8, escapes resolved, a lone surrogate as U+FFFD. Valid until the next
  // call.
  std::string_view text() const { return text_; }
  std::int64_t integer() const { return integer_; }
  // As json_real. Only for a real.
  double real() const { return json_real(text_); }
  // A real that is written as an integer and does not fit 64 bits: text() has its digits, which Python keeps as they
  // are.
  bool is_large_integer() const { return large_integer_; }
  bool boolean() const { return integer_ != 0; }

  // Passes over the value that would come next, which is checked as strictly as if it were read.
  void skip_value();
  // Passes over everything up to and including the end of the container that is open at this depth (1: the outermost).
  void skip_container(std::size_t depth);
  // Containers open after the last event.
  std::size_t depth() const { return containers_.size(); }

  // Throws the UserError for a place just behind the last event, for rules of the caller's own.
  [[noreturn]] void fail(std::string_view message) const;

 private:
  enum class Expect : std::uint8_t { value, value_or_end, key_or_end, key, colon, comma_or_end, nothing };

  bool refill();
  char skip_space();
  JsonEvent begin(bool object);
  JsonEvent close(bool object);
  JsonEvent read_value(char first);
  void after_value() { expect_ = containers_.empty() ? Expect::nothing : Expect::comma_or_end; }
  void read_string();
  void read_escape();
  void append_escaped(unsigned code);
  unsigned read_hex();
  void require_utf8(std::string_view text) const;
  JsonEvent read_number();
  void read_digits();
  void read_word(std::string_view word);
  [[noreturn]] void unexpected(std::string_view expected) const;

  std::string name_;
  Source source_;
  std::size_t chunk_;

  // The window on the text: bytes [position_, limit_) of buffer_ are unread, a zero byte follows them, and bytes from
  // keep_ on survive a refill, which moves them to the front.
  std::vector<char> buffer_;
  std::size_t position_ = 0;
  std::size_t limit_ = 0;
  std::size_t keep_ = none;
  bool source_ended_ = false;
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  // Counts of the text before the window.
  std::uint64_t bytes_before_ = 0;
  std::uint64_t newlines_before_ = 0;
  std::uint64_t line_start_ = 0;  // offset of the first byte of the last line that begins before the window

  Expect expect_ = Expect::value;
  std::vector<bool> containers_;  // true: object
  std::string_view text_;
  std::string unescaped_;
  std::int64_t integer_ = 0;
  bool large_integer_ = false;
  bool keeps_bytes_ = false;
};

// The bytes of a string that outlives the reader, for tests.
JsonReader::Source memory_source(std::string_view text);

}  // namespace msrun
