// The two archives that fields.h walks: one appends fields to a string, the other takes them from bytes. format.md
// says what each kind of field is in bytes. Archives with other ideas about some kinds of field, such as those of
// StoredResults, derive from these and hide the functions that they do differently.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kernels/compare/details.h"
#include "kernels/compare/policies/column_sets.h"

namespace msrun {

// Bytes that are no record, or no record that this program knows. The message completes "... cannot be read: ".
class RecordError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The number whose bytes in memory are those of value from the lowest to the highest, and the other way round.
constexpr std::uint64_t as_little_endian(std::uint64_t value) {
  if constexpr (std::endian::native == std::endian::little) return value;
  std::uint64_t swapped = 0;
  for (int i = 0; i < 8; ++i) swapped = swapped << 8 | (value >> (8 * i) & 0xFF);
  return swapped;
}

class ByteWriter {
 public:
  // Appends to bytes, which must outlive the writer.
  explicit ByteWriter(std::string& bytes) : bytes_(bytes) {}

  // Whether fields are there that came with this version: always, as nothing is written but the latest version.
  static constexpr bool has(unsigned /*version*/) { return true; }

  // Integers: seven bits a byte, the lowest first; signed ones with their sign in the lowest bit.
  template <std::integral T>
  void number(T value) {
    std::uint64_t rest = 0;
    if constexpr (std::is_signed_v<T>) {
      const auto wide = static_cast<std::int64_t>(value);
      rest = (static_cast<std::uint64_t>(wide) << 1) ^ static_cast<std::uint64_t>(wide >> 63);
    } else {
      rest = value;
    }
    for (; rest >= 0x80; rest >>= 7) bytes_ += static_cast<char>(rest | 0x80);
    bytes_ += static_cast<char>(rest);
  }

  // Numbers that are as often large as small: eight bytes.
  void bits(std::uint64_t value) {
    const auto little_endian = std::bit_cast<std::array<char, sizeof(value)>>(as_little_endian(value));
    bytes_.append(little_endian.data(), little_endian.size());
  }
  void real(double value) { bits(std::bit_cast<std::uint64_t>(value)); }
  void flag(bool value) { bytes_ += static_cast<char>(value); }

  // One byte; last is the largest enumerator.
  template <class E>
  void enumerator(E value, E /*last*/) {
    static_assert(sizeof(E) == 1);
    bytes_ += static_cast<char>(value);
  }

  void text(const std::string& value) {
    number(value.size());
    bytes_ += value;
  }
  // A text that many records have in common.
  void common_text(const std::string& value) { text(value); }

  template <class T, class F>
  void optional(const std::optional<T>& value, const F& fields_of) {
    flag(value.has_value());
    if (value) fields_of(*value);
  }
  // What no two rows have in common.
  template <class T, class F>
  void optional_apart(const std::optional<T>& value, const F& fields_of) {
    optional(value, fields_of);
  }

  template <class T, class F>
  void list(const std::vector<T>& values, const F& fields_of) {
    number(values.size());
    for (const T& value : values) fields_of(value);
  }

  // The cells of a row, with the set of columns that they belong to; null for a row without cells.
  void cells(const ColumnSet* columns, const std::vector<Cell>& cells) {
    number(columns == nullptr ? std::uint8_t{0} : columns->id());
    number(cells.size());
    for (const Cell& cell : cells) {
      enumerator(cell.kind, Cell::Kind::integer);
      if (cell.kind != Cell::Kind::blank) real(cell.value);
    }
  }

 private:
  std::string& bytes_;
};

// Takes fields in the order in which they were written. Every function throws RecordError for bytes that no ByteWriter
// has written; the memory that a list or text can ask for is bounded by the bytes that are there.
class ByteReader {
 public:
  // version: that of the record, which says which of its fields are there. The bytes must outlive the reader.
  ByteReader(std::string_view bytes, unsigned version) : rest_(bytes), version_(version) {}

  bool has(unsigned version) const { return version <= version_; }

  template <std::integral T>
  void number(T& value) {
    const std::uint64_t read = take_number();
    if constexpr (std::is_signed_v<T>) {
      const auto wide = static_cast<std::int64_t>((read >> 1) ^ (~(read & 1) + 1));
      if (wide < std::numeric_limits<T>::min() || wide > std::numeric_limits<T>::max()) fail_range();
      value = static_cast<T>(wide);
    } else {
      if (read > std::numeric_limits<T>::max()) fail_range();
      value = static_cast<T>(read);
    }
  }

  void bits(std::uint64_t& value) {
    std::memcpy(&value, take(sizeof(value)).data(), sizeof(value));
    value = as_little_endian(value);
  }
  void real(double& value) {
    std::uint64_t read = 0;
    bits(read);
    value = std::bit_cast<double>(read);
  }
  void flag(bool& value) {
    const auto byte = static_cast<unsigned char>(take(1).front());
    if (byte > 1) fail_range();
    value = byte == 1;
  }

  template <class E>
  void enumerator(E& value, E last) {
    const auto byte = static_cast<unsigned char>(take(1).front());
    if (byte > static_cast<unsigned char>(last)) fail_range();
    value = static_cast<E>(byte);
  }

  void text(std::string& value) { value = take(take_number()); }
  void common_text(std::string& value) { text(value); }

  template <class T, class F>
  void optional(std::optional<T>& value, const F& fields_of) {
    bool there = false;
    flag(there);
    value.reset();
    if (there) fields_of(value.emplace());
  }
  template <class T, class F>
  void optional_apart(std::optional<T>& value, const F& fields_of) {
    optional(value, fields_of);
  }

  template <class T, class F>
  void list(std::vector<T>& values, const F& fields_of) {
    const std::uint64_t count = take_number();
    values.clear();
    // What a damaged count claims must not become memory before the elements are there.
    values.reserve(std::min<std::uint64_t>(count, 64));
    for (std::uint64_t i = 0; i < count; ++i) fields_of(values.emplace_back());
  }

  void cells(const ColumnSet*& columns, std::vector<Cell>& cells) {
    std::uint8_t set = 0;
    number(set);
    columns = find_columns(set);
    if (columns == nullptr && set != 0) {
      throw RecordError("a row has columns of set " + std::to_string(set) + ", which this msrun does not know");
    }
    const std::size_t size = columns == nullptr ? 0 : columns->size();
    const std::uint64_t count = take_number();
    if (count > size) {
      throw RecordError("a row has " + std::to_string(count) + " cells for " + std::to_string(size) + " columns");
    }
    // Columns that the set got after the record was written are blank.
    cells.assign(size, Cell{});
    for (Cell& cell : std::span(cells).first(count)) {
      enumerator(cell.kind, Cell::Kind::integer);
      if (cell.kind != Cell::Kind::blank) real(cell.value);
    }
  }

  // Nothing may be left.
  void end() const {
    if (!rest_.empty()) throw RecordError(std::to_string(rest_.size()) + " bytes are left behind its last field");
  }

 private:
  [[noreturn]] static void fail_end() { throw RecordError("it is cut short"); }
  [[noreturn]] static void fail_range() { throw RecordError("a value is out of its range"); }

  std::string_view take(std::uint64_t size) {
    if (size > rest_.size()) fail_end();
    const std::string_view part = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return part;
  }

  std::uint64_t take_number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1).front());
      const std::uint64_t part = byte & 0x7FU;
      value |= part << shift;
      // The tenth byte has room for one bit; a last byte of zero would say what its absence says.
      if ((shift == 63 && part > 1) || (byte == 0 && shift > 0)) fail_range();
      if (byte < 0x80) return value;
    }
    fail_range();
  }

  std::string_view rest_;
  unsigned version_;
};

}  // namespace msrun
