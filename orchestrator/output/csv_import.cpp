// The way back: CSV text to rows, and the rows of a run to results.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <system_error>
#include <unordered_map>

#include "kernels/base/text.h"
#include "orchestrator/output/csv.h"
#include "orchestrator/output/csv_titles.h"
#include "runner/results/csv_rows.h"
#include "runner/results/simulated_message.h"

namespace msrun {

namespace {

std::size_t status_column(const ColumnSet& columns) { return first_metric_column + columns.size(); }
std::size_t width(const ColumnSet& columns) { return status_column(columns) + columns_behind_metrics; }

// One of the two files, read row by row; errors name the file and the row.
class Source {
 public:
  explicit Source(const std::string& path) : path_(path), bytes_(contents(path)), reader_(bytes_) {}

  bool next(std::vector<std::string>& row) {
    // Who edits a file may leave blank lines in it, which say nothing.
    do {
      ++number_;
      if (!reader_.next(row)) return false;
    } while (row.size() == 1 && row.front().empty());
    return true;
  }

  // Whether next(), when it found no title row, stopped at the start of one: what a writer leaves that is killed at
  // once.
  bool begins(const std::string& title_row) const { return title_row.starts_with(bytes_); }

  [[noreturn]] void fail(const std::string& text) const {
    throw UserError(path_ + ", row " + std::to_string(number_) + ": " + text);
  }

  void note_torn_row(std::vector<std::string>& notes) const {
    if (reader_.torn_bytes() == 0) return;
    notes.push_back(path_ + ": the last row is torn, its " + std::to_string(reader_.torn_bytes()) +
                    " bytes were dropped.");
  }

 private:
  static std::string contents(const std::string& path) {
    try {
      InputFile file(path, max_csv_bytes);
      return rest_of(file);
    } catch (const FileError& error) {
      throw UserError(error.what());
    }
  }

  std::string path_;
  std::string bytes_;
  CsvReader reader_;
  std::size_t number_ = 0;
};

bool is_blank(std::string_view text) { return text.find_first_not_of(' ') == std::string_view::npos; }

// The kind of cell that prints as this text; nothing if it is no number.
std::optional<Cell> cell_printed_as(std::string_view text, const ColumnSet& columns, int precision) {
  if (is_blank(text)) return Cell{};
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  const bool whole = text.find_first_not_of("-0123456789") == std::string_view::npos;
  if (whole && precision > 0) return Cell{Cell::Kind::integer, value};
  for (const Cell& cell : {Cell::fp64(value), Cell::fp32(value), Cell::fp16(value)}) {
    std::string written;
    columns.write(written, cell, precision);
    if (written == text) return cell;
  }
  return Cell::fp64(value);
}

void check_details_header(const Source& source, const std::vector<std::string>& row, const ColumnSet& columns) {
  bool ours = row.size() == width(columns) && row[0] == "API Name";
  for (std::size_t i = 0; ours && i < columns.size(); ++i) {
    const std::string& title = row[first_metric_column + i];
    const Column& column = columns.columns()[i];
    ours = title == column.chinese || title == column.english;
  }
  if (!ours) source.fail("this is not the title row of a details file");
}

DetailsRow parse_details_row(const Source& source, const std::vector<std::string>& row, const CsvStyle& style) {
  const ColumnSet& columns = style.dialect->columns();
  DetailsRow parsed(columns);
  parsed.bench_dtype = row[1];
  parsed.device_dtype = row[2];
  parsed.shape = row[3];
  for (std::size_t i = 0; i < parsed.cells.size(); ++i) {
    const std::string& text = row[first_metric_column + i];
    const auto cell = cell_printed_as(text, columns, style.precision);
    if (!cell) source.fail("'" + sanitised(text) + "' is not a number");
    parsed.cells[i] = *cell;
  }
  const auto status = parse_status(row[status_column(columns)]);
  if (!status) source.fail("'" + sanitised(row[status_column(columns)]) + "' is not a status");
  parsed.status = *status;
  parsed.message = row[status_column(columns) + 1];
  read_verdict(parsed);
  return parsed;
}

class Importer {
 public:
  // lacks_details: there is no details file.
  Importer(const CsvStyle& style, bool lacks_details) : style_(style), lacks_details_(lacks_details) {}

  void read_results(const std::string& path) {
    Source source(path);
    std::vector<std::string> row;
    std::size_t repeated = 0;
    const std::string_view first_title = style_.dialect->result_titles().front();
    const bool is_ours =
        source.next(row) ? row.size() == 4 && row[0] == first_title : source.begins(result_header(*style_.dialect));
    if (!is_ours) source.fail("this is not the title row of a result file");
    while (source.next(row)) {
      ApiResult result = parse_result_row(source, row, style_);
      if (lacks_details_) stand_in_for_rows(result, row);
      const auto [place, fresh] = place_.try_emplace(result.name, imported_.results.size());
      if (fresh) {
        imported_.results.push_back(std::move(result));
      } else {
        ++repeated;
        imported_.results[place->second] = std::move(result);
      }
    }
    source.note_torn_row(imported_.notes);
    note(path, repeated, "of a call that has a later row");
  }

  void read_details(const std::string& path) {
    const ColumnSet& columns = style_.dialect->columns();
    Source source(path);
    std::vector<std::string> row;
    std::size_t orphans = 0;
    bool any = false;
    if (source.next(row)) {
      check_details_header(source, row, columns);
    } else if (!source.begins(details_header(*style_.dialect, false)) &&
               !source.begins(details_header(*style_.dialect, true))) {
      source.fail("this is not the title row of a details file");
    }
    while (source.next(row)) {
      any = true;
      if (row.size() != width(columns)) {
        source.fail("it has " + std::to_string(row.size()) + " fields in place of " + std::to_string(width(columns)));
      }
      const auto name = parse_row_name(row[0]);
      const auto index = name ? parse_number<std::size_t>(name->index) : std::nullopt;
      if (!index) source.fail("'" + sanitised(row[0]) + "' is not the name of an output");
      const auto place = place_.find(std::string(name->api));
      if (place == place_.end()) {
        ++orphans;
        continue;
      }
      ApiResult& result = imported_.results[place->second];
      auto& rows = name->forward ? result.forward_rows : result.backward_rows;
      // A call that ran twice begins again at output 0; what it wrote last counts.
      if (*index == 0) rows.clear();
      if (name->forward && *index == 0) result.backward_rows.clear();
      if (*index != rows.size()) source.fail("the row before " + sanitised(row[0]) + " is missing");
      rows.push_back(parse_details_row(source, row, style_));
    }
    source.note_torn_row(imported_.notes);
    note(path, orphans, "of calls without a result row");
    const auto is_checked = [](const ApiResult& result) { return result.outcome == Outcome::checked; };
    if (!any && std::ranges::any_of(imported_.results, is_checked)) {
      imported_.notes.push_back(path + " has no row, so that nothing but the result file tells of the calls in it.");
    }
  }

  void note_missing_details(const std::string& path) {
    if (imported_.results.empty()) return;
    imported_.notes.push_back("There is no " + path +
                              ", so that nothing but the result file tells of the calls in it; it is made anew.");
  }

  ImportedCsv take() {
    for (ApiResult& result : imported_.results) conclude_from_rows(result);
    mark_simulated(imported_.results);
    return std::move(imported_);
  }

 private:
  // Something was compared of a direction whose cell is a pass.
  static void stand_in_for_rows(ApiResult& result, const std::vector<std::string>& row) {
    if (result.forward == Status::pass && !is_blank(row[1])) result.forward_rows.emplace_back();
    if (result.backward == Status::pass) result.backward_rows.emplace_back();
  }

  static ApiResult parse_result_row(const Source& source, const std::vector<std::string>& row, const CsvStyle& style) {
    if (row.size() != 3 && row.size() != 4) {
      source.fail("it has " + std::to_string(row.size()) + " fields in place of 3 or 4");
    }
    ApiResult result;
    result.name = row[0];
    // A call that was recorded without its forward, where a dialect knows such, has no status of it.
    const bool is_lone = style.dialect->lone_backward() && is_blank(row[1]);
    const auto forward = is_lone ? std::optional(Status::pass) : parse_status(row[1]);
    if (!forward) source.fail("'" + sanitised(row[1]) + "' is not a status");
    result.forward = *forward;
    if (!is_blank(row[2])) {
      result.backward = parse_status(row[2]);
      if (!result.backward) source.fail("'" + sanitised(row[2]) + "' is not a status");
    }
    if (row.size() == 4) result.message = row[3];
    result.outcome = outcome_by_reason(result);
    if (is_lone && result.backward == Status::skip) result.outcome = Outcome::not_checkable;
    return result;
  }

  void note(const std::string& path, std::size_t count, const char* which) {
    if (count == 0) return;
    imported_.notes.push_back(path + ": " + std::to_string(count) + (count == 1 ? " row " : " rows ") + which +
                              (count == 1 ? " was" : " were") + " dropped.");
  }

  const CsvStyle& style_;
  bool lacks_details_;
  ImportedCsv imported_;
  std::unordered_map<std::string, std::size_t> place_;  // of a call in imported_.results
};

}  // namespace

ImportedCsv import_csv(const std::string& result_path, const std::string& details_path, const CsvStyle& style) {
  std::error_code error;
  const bool is_missing = style.dialect->may_lack_details() &&
                          std::filesystem::status(details_path, error).type() == std::filesystem::file_type::not_found;
  Importer importer(style, is_missing);
  importer.read_results(result_path);
  if (is_missing) {
    importer.note_missing_details(details_path);
  } else {
    importer.read_details(details_path);
  }
  return importer.take();
}

}  // namespace msrun
