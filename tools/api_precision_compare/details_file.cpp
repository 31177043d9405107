#include "tools/api_precision_compare/details_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/text.h"
#include "kernels/io/files/file.h"

namespace msrun::api_precision_compare {

namespace {

constexpr auto words_for_nan =
    std::to_array<std::string_view>({"nan", "NaN", "-nan", "-NaN", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"});
constexpr auto words_for_nothing =
    std::to_array<std::string_view>({"", "#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "n/a", "null"});

bool is_one_of(std::span<const std::string_view> words, std::string_view text) {
  return text.size() <= 8 && std::ranges::find(words, text) != words.end();
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\v\f\r";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

// Trimmed text as a number; what is too large is infinite, what is too small is zero.
std::optional<double> cell_number(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) return std::nullopt;
  }
  double value = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (end != last || error == std::errc::invalid_argument) return std::nullopt;
  // "nan(1)" is C's.
  if (std::isnan(value) && text.ends_with(')')) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    const bool negative = text.starts_with('-');
    const std::size_t exponent = text.find_first_of("eE");
    const bool tiny = exponent != std::string_view::npos ? text.substr(exponent).find('-') != std::string_view::npos
                                                         : text.find('.') <= 2;
    const double magnitude = tiny ? 0 : std::numeric_limits<double>::infinity();
    return negative ? -magnitude : magnitude;
  }
  return value;
}

// Whether text is well-formed: no byte without its lead, no longer form than needed, no half of a surrogate pair.
bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    const unsigned lead = byte(i);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    if (length == 0 || text.size() - i < length) return false;
    for (std::size_t k = 1; k < length; ++k) {
      if ((byte(i + k) & 0xC0U) != 0x80U) return false;
    }
    const unsigned second = length > 2 ? byte(i + 1) : 0x90U;
    const bool too_long = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
    const bool no_character = (lead == 0xED && second >= 0xA0) || (lead == 0xF4 && second >= 0x90);
    if (too_long || no_character) return false;
    i += length;
  }
  return true;
}

bool is_integer(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  // More digits than an int64 holds make a column of another type upstream.
  return !text.empty() && text.size() <= 18 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// What separates the titles in place of commas; empty if nothing shows that something else does.
std::string_view other_separator(const std::vector<std::string>& titles) {
  const auto has = [&](char c) { return titles.front().find(c) != std::string::npos; };
  if (titles.size() != 1) return {};
  return has('\t') ? "tabs" : has(';') ? "semicolons" : "";
}

// Some programs end lines with a carriage return alone. Within quotes it stays what it is.
void end_lines_with_line_feeds(std::string& bytes) {
  if (bytes.find('\n') != std::string::npos) return;
  bool quoted = false;
  for (char& c : bytes) {
    if (c == '"') quoted = !quoted;
    if (c == '\r' && !quoted) c = '\n';
  }
}

std::string contents(const std::string& path) {
  try {
    InputFile file(path);
    std::string bytes(file.size(), '\0');
    file.read_at(0, std::as_writable_bytes(std::span(bytes)));
    end_lines_with_line_feeds(bytes);
    return bytes;
  } catch (const FileError& error) {
    throw UserError(error.what());
  }
}

// Required of both files, in the order of precision_metrics.md 10.2 behind "API Name, DEVICE Dtype".
constexpr std::array required_metrics{
    Metric::small_value_error_ratio, Metric::rmse,
    Metric::max_relative_error,      Metric::mean_relative_error,
    Metric::error_balance,           Metric::binary_error_rate,
    Metric::inf_nan_error_rate,      Metric::relative_error_rate,
    Metric::absolute_error_rate,     Metric::ulp_mean,
    Metric::ulp_over_limit,          Metric::dual_1000,
};

// The columns whose type shows in the output, or changes upstream's behaviour.
constexpr std::array typed_metrics{Metric::relative_error_rate, Metric::binary_error_rate, Metric::dual_1000};

}  // namespace

bool is_missing_value(std::string_view text) {
  return is_one_of(words_for_nan, text) || is_one_of(words_for_nothing, text);
}

InputCell parse_cell(std::string_view text, bool column_is_numeric, Reading reading) {
  // The common one: a column that was not computed.
  if (text == " ") return {};
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const bool nothing = is_one_of(words_for_nothing, text);
  if (is_one_of(words_for_nan, text) || (nothing && reading == Reading::msprobe)) {
    return {InputCell::Kind::number, false, nan};
  }
  const std::string_view word = trimmed(text);
  if (nothing || word.empty()) return {};
  const std::optional<double> value = cell_number(word);
  return {value ? InputCell::Kind::number : InputCell::Kind::other, !column_is_numeric, value.value_or(0)};
}

DetailsFile::DetailsFile(const std::string& path, const std::string& tag, Reading reading)
    : DetailsFile(path, contents(path), tag, reading) {}

DetailsFile::DetailsFile(const std::string& path, std::string bytes, const std::string& tag, Reading reading)
    : path_(path), reading_(reading), bytes_(std::move(bytes)), reader_(bytes_, LastRow::may_lack_line_end) {
  if (!next_fields()) throw UserError("Open " + tag + " Error: " + path_ + " holds no title row.");
  find_columns(fields_, tag);
  find_types();
  reader_ = CsvReader(bytes_, LastRow::may_lack_line_end);
  row_number_ = 0;
  next_fields();
}

void DetailsFile::find_columns(const std::vector<std::string>& titles, const std::string& tag) {
  columns_ = titles.size();
  const auto column = [&](std::string_view title) {
    const auto found = std::ranges::find(titles, title);
    return found == titles.end() ? absent : static_cast<std::size_t>(found - titles.begin());
  };
  text_columns_ = {column("API Name"), column("DEVICE Dtype"), column("Shape"), column("Status"), column("Message")};
  for (const Column& wanted : pytorch_columns().columns()) {
    std::size_t& place = metric_columns_[static_cast<std::size_t>(wanted.metric)];
    place = column(wanted.chinese);
    if (place == absent) place = column(wanted.english);
  }
  std::string missing;
  const auto miss = [&](const char* title) { missing += (missing.empty() ? "" : ",") + std::string(title); };
  if (text_columns_[api_name] == absent) miss("API Name");
  if (text_columns_[device_dtype] == absent) miss("DEVICE Dtype");
  for (const Metric metric : required_metrics) {
    if (metric_columns_[static_cast<std::size_t>(metric)] == absent) miss(metric_title(metric, false));
  }
  if (!missing.empty()) {
    const bool readable = std::ranges::all_of(titles, is_utf8);
    const std::string_view separator = other_separator(titles);
    throw UserError("The following columns " + missing + " are missing in " + tag + " (" + path_ + ")" +
                    (!readable ? ": its titles are not UTF-8, another program may have saved it in another encoding"
                     : separator.empty() ? ""
                                         : ": its fields are separated by " + std::string(separator) +
                                               ", not by commas, as another program may have saved it"));
  }
}

// A column is numeric if each of its cells is a number or NaN.
void DetailsFile::find_types() {
  types_.fill(ColumnType::mixed);
  std::array<bool, typed_metrics.size()> mixed{};
  std::array<bool, typed_metrics.size()> real{};
  std::size_t settled = 0;
  while (settled < typed_metrics.size() && next_fields()) {
    for (std::size_t i = 0; i < typed_metrics.size(); ++i) {
      if (mixed[i]) continue;
      const std::string_view text = field(metric_columns_[static_cast<std::size_t>(typed_metrics[i])]);
      if (is_missing_value(text)) {
        real[i] = true;
        continue;
      }
      const std::string_view word = trimmed(text);
      mixed[i] = word.empty() || !cell_number(word);
      if (mixed[i]) ++settled;
      if (!is_integer(word)) real[i] = true;
    }
  }
  for (std::size_t i = 0; i < typed_metrics.size(); ++i) {
    if (!mixed[i]) {
      types_[static_cast<std::size_t>(typed_metrics[i])] = real[i] ? ColumnType::real : ColumnType::integer;
    }
  }
}

// Empty lines are no rows.
bool DetailsFile::next_fields() {
  do {
    ++row_number_;
    if (!reader_.next(fields_)) return false;
  } while (fields_.size() == 1 && fields_[0].empty());
  return true;
}

const std::string& DetailsFile::field(std::size_t column) const {
  static const std::string nothing;
  return column < fields_.size() ? fields_[column] : nothing;
}

std::string DetailsFile::copied(Metric metric) const {
  const std::string& text = field(metric_columns_[static_cast<std::size_t>(metric)]);
  const ColumnType column = type(metric);
  if (column == ColumnType::mixed && !is_missing_value(text)) return text;
  const double value =
      is_missing_value(text) ? std::numeric_limits<double>::quiet_NaN() : cell_number(trimmed(text)).value_or(0);
  return cell_text({column == ColumnType::integer ? Cell::Kind::integer : Cell::Kind::fp64, value}, decimals_);
}

bool DetailsFile::next(OutputRow& row) {
  if (!next_fields()) return false;
  row.damage.clear();
  if (fields_.size() > columns_ || (fields_.size() < columns_ && reading_ == Reading::careful)) {
    row.damage = "it has " + std::to_string(fields_.size()) + " fields in place of " + std::to_string(columns_);
    if (reading_ == Reading::msprobe) {
      throw UserError(path_ + ", row " + std::to_string(row_number_) + ": " + row.damage);
    }
  }
  row.name = field(text_columns_[api_name]);
  row.dtype = field(text_columns_[device_dtype]);
  row.shape = field(text_columns_[shape]);
  row.status = field(text_columns_[status]);
  row.message = field(text_columns_[message]);
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    row.cells[i] = metric_columns_[i] == absent
                       ? InputCell{}
                       : parse_cell(field(metric_columns_[i]), types_[i] != ColumnType::mixed, reading_);
  }
  row.binary_error_rate = copied(Metric::binary_error_rate);
  row.dual_1000 = copied(Metric::dual_1000);
  return true;
}

}  // namespace msrun::api_precision_compare
