// CSV text as msProbe and its readers write it (RFC 4180, UTF-8 behind a byte order mark): rows to text and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace msrun {

inline constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
inline constexpr std::string_view csv_row_end = "\r\n";

// Whether a spreadsheet would run the text, or a part of it, as a formula: "+", "-", "=", "%" or "@", ASCII or full
// width, in front, or behind what separates cells for some spreadsheets (';' and tabs). A tab or a carriage return in
// front counts as well, because spreadsheets drop it; a line feed does not, with which msProbe's messages begin.
bool is_formula(std::string_view text);

// The text with '_' for every character by which is_formula() knows it.
std::string without_formula(std::string_view text);

// The text, whole, with an apostrophe in front of each of these characters: spreadsheets take it for the mark of a
// text.
std::string marked_as_text(std::string_view text);

// Appends one field, quoted only if it holds a comma, a quote or a line break. A NUL, which readers of CSV refuse,
// becomes U+2400, its symbol.
void append_csv_field(std::string& out, std::string_view field);

// Appends a field of words that others have chosen: names, paths and what quotes them. It does not become a formula,
// which a number with a sign would seem to be.
void append_csv_text(std::string& out, std::string_view field);

// Whether a last row without its line end counts. A killed writer leaves a torn row; an editor may save a file so.
enum class LastRow : std::uint8_t { needs_line_end, may_lack_line_end };

// Rows of RFC 4180 text: a byte order mark is skipped, rows end with CRLF or LF, quoted fields may hold both. bytes
// must outlive the reader.
class CsvReader {
 public:
  explicit CsvReader(std::string_view bytes, LastRow last_row = LastRow::needs_line_end);

  // False at the end. row is overwritten.
  bool next(std::vector<std::string>& row);

  // Bytes of a torn last row that were dropped; known once next() has returned false. A row that ends within quotes is
  // torn in any case.
  std::size_t torn_bytes() const { return torn_bytes_; }

 private:
  bool torn(std::vector<std::string>& row);

  std::string_view rest_;
  LastRow last_row_;
  std::size_t torn_bytes_ = 0;
};

}  // namespace msrun
