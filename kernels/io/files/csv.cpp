#include "kernels/io/files/csv.h"

#include <algorithm>
#include <array>

namespace msrun {
namespace {

constexpr auto formula_starts =
    std::to_array<std::string_view>({"＋", "－", "＝", "％", "＠", "+", "-", "=", "%", "@"});
constexpr std::string_view separators = ";\t";
constexpr std::string_view dropped_in_front = "\t\r";

// Bytes of the character at the front of text that makes a spreadsheet run a cell; 0 if text begins with none of them.
std::size_t formula_start(std::string_view text) {
  const auto* start = std::ranges::find_if(formula_starts, [&](std::string_view s) { return text.starts_with(s); });
  return start == formula_starts.end() ? 0 : start->size();
}

// Calls see(place, bytes) for each such character, in order.
template <class F>
void for_each_start(std::string_view text, const F& see) {
  if (!text.empty() && dropped_in_front.find(text.front()) != std::string_view::npos)
    see(std::size_t{0}, std::size_t{1});
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t length = formula_start(text.substr(at)); length > 0) see(at, length);
    const std::size_t separator = text.find_first_of(separators, at);
    if (separator == std::string_view::npos) return;
    at = separator + 1;
  }
}

}  // namespace

bool is_formula(std::string_view text) {
  bool any = false;
  for_each_start(text, [&](std::size_t, std::size_t) { any = true; });
  return any;
}

std::string without_formula(std::string_view text) {
  std::string result;
  std::size_t done = 0;
  for_each_start(text, [&](std::size_t at, std::size_t length) {
    result += std::string(text.substr(done, at - done)) + "_";
    done = at + length;
  });
  return result += text.substr(done);
}

std::string marked_as_text(std::string_view text) {
  std::string result;
  std::size_t done = 0;
  for_each_start(text, [&](std::size_t at, std::size_t) {
    result += std::string(text.substr(done, at - done)) + "'";
    done = at;
  });
  return result += text.substr(done);
}

void append_csv_text(std::string& out, std::string_view field) {
  if (is_formula(field)) return append_csv_field(out, without_formula(field));
  append_csv_field(out, field);
}

void append_csv_field(std::string& out, std::string_view field) {
  const bool plain = std::none_of(field.begin(), field.end(),
                                  [](char c) { return c == ',' || c == '"' || c == '\r' || c == '\n' || c == '\0'; });
  if (plain) {
    out += field;
    return;
  }
  if (field.find('\0') != std::string_view::npos) {
    std::string shown;
    for (const char c : field) c == '\0' ? shown += "\u2400" : shown += c;
    return append_csv_field(out, shown);
  }
  out += '"';
  for (std::size_t quote = field.find('"'); quote != std::string_view::npos; quote = field.find('"')) {
    out += field.substr(0, quote + 1);
    out += '"';
    field.remove_prefix(quote + 1);
  }
  out += field;
  out += '"';
}

CsvReader::CsvReader(std::string_view bytes, LastRow last_row) : rest_(bytes), last_row_(last_row) {
  if (rest_.starts_with(byte_order_mark)) rest_.remove_prefix(byte_order_mark.size());
}

bool CsvReader::next(std::vector<std::string>& row) {
  std::size_t fields = 0;
  // The strings of the row before keep their memory.
  const auto begin_field = [&]() -> std::string& {
    if (fields == row.size()) row.emplace_back();
    row[fields].clear();
    return row[fields++];
  };
  std::string* field = &begin_field();
  bool field_begins = true;
  std::size_t at = 0;
  while (at < rest_.size()) {
    if (field_begins && rest_[at] == '"') {
      field_begins = false;
      ++at;
      for (;;) {
        const std::size_t quote = rest_.find('"', at);
        if (quote == std::string_view::npos) return torn(row);
        field->append(rest_, at, quote - at);
        at = quote + 1;
        if (at == rest_.size() || rest_[at] != '"') break;
        *field += '"';
        ++at;
      }
      continue;
    }
    std::size_t end = at;
    while (end < rest_.size() && rest_[end] != ',' && rest_[end] != '\n' && rest_[end] != '\r') ++end;
    field->append(rest_, at, end - at);
    field_begins = false;
    at = end;
    if (at == rest_.size()) break;
    const bool line_feed_follows = at + 1 < rest_.size() && rest_[at + 1] == '\n';
    if (rest_[at] == ',') {
      field = &begin_field();
      field_begins = true;
      ++at;
    } else if (rest_[at] == '\n' || line_feed_follows) {
      rest_.remove_prefix(at + (rest_[at] == '\n' ? 1 : 2));
      row.resize(fields);
      return true;
    } else {
      *field += rest_[at++];
    }
  }
  if (last_row_ == LastRow::needs_line_end || rest_.empty()) return torn(row);
  rest_ = {};
  row.resize(fields);
  return true;
}

bool CsvReader::torn(std::vector<std::string>& row) {
  torn_bytes_ = rest_.size();
  rest_ = {};
  row.clear();
  return false;
}

}  // namespace msrun
