#include "tools/runs/csv_files.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "kernels/base/text.h"
#include "kernels/compare/policies/column_sets.h"
#include "kernels/io/files/csv.h"
#include "kernels/io/files/file.h"
#include "kernels/io/files/paths.h"
#include "runner/results/counts.h"
#include "runner/results/csv_rows.h"
#include "runner/results/reason.h"
#include "runner/results/simulated_message.h"

namespace msrun::runs {
namespace {

std::string contents(const std::string& path) {
  try {
    InputFile file(path, max_csv_bytes);
    return rest_of(file);
  } catch (const FileError& error) {
    throw UserError(error.what());
  }
}

// One of the files, row by row; errors name the file and the row.
class Rows {
 public:
  explicit Rows(const std::string& path)
      : path_(path), bytes_(contents(path)), reader_(bytes_, LastRow::may_lack_line_end) {}

  bool next() {
    ++number_;
    return reader_.next(row_);
  }
  const std::vector<std::string>& row() const { return row_; }
  // Whether the row is the last and lacks its line end: with too few fields it is what a killed writer has left of one.
  bool may_be_torn() const {
    std::vector<std::string> further;
    return !bytes_.ends_with('\n') && !CsvReader(reader_).next(further);
  }
  void note_torn_row(std::vector<std::string>& notes, bool is_short = false) const {
    if (is_short || reader_.torn_bytes() > 0) {
      notes.push_back(sanitised(path_) + ": its last row is torn, and is left out.");
    }
  }
  [[noreturn]] void fail(const std::string& text) const {
    throw UserError(path_ + ", row " + std::to_string(number_) + ": " + text);
  }

 private:
  std::string path_;
  std::string bytes_;
  CsvReader reader_;
  std::vector<std::string> row_;
  std::size_t number_ = 0;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view() : text.substr(first, text.find_last_not_of(' ') + 1);
}

// The older tool says True and False.
std::optional<Status> status_of_any_tool(std::string_view text) {
  if (text == "True") return Status::pass;
  if (text == "False") return Status::error;
  return parse_status(text);
}

// The set of columns with these titles; nothing if there is none.
const ColumnSet* columns_of(const std::vector<std::string>& titles) {
  for (std::uint8_t id = 1; const ColumnSet* set = find_columns(id); ++id) {
    if (titles.size() != first_metric_column + set->size() + columns_behind_metrics) continue;
    bool same = true;
    for (std::size_t i = 0; same && i < set->size(); ++i) {
      const Column& column = set->columns()[i];
      same = titles[first_metric_column + i] == column.chinese || titles[first_metric_column + i] == column.english;
    }
    if (same) return set;
  }
  return nullptr;
}

// A blank cell if it is no number.
Cell number_in(std::string_view text) {
  const std::optional<double> value = parse_number<double>(trimmed(text));
  if (!value) return {};
  const bool whole = text.find_first_not_of("-0123456789 ") == std::string_view::npos;
  return {whole ? Cell::Kind::integer : Cell::Kind::fp64, *value};
}

// Whether the row of a result file has both of its statuses as a whole: of the last row a writer that was killed may
// have left the first letters of one.
bool has_statuses(const std::vector<std::string>& row) {
  if (row.size() < 3) return false;
  // A blank one is a blank, not an empty field.
  const auto is_status = [](const std::string& text) {
    const std::string_view word = trimmed(text);
    return word.empty() ? !text.empty() : word == "N/A" || status_of_any_tool(word).has_value();
  };
  return is_status(row[1]) && is_status(row[2]);
}

ApiResult parse_result(const Rows& rows) {
  const std::vector<std::string>& row = rows.row();
  if (row.size() < 3) rows.fail("it has " + std::to_string(row.size()) + " fields in place of 3 or more");
  ApiResult result;
  result.name = row[0];
  const std::string_view forward = trimmed(row[1]);
  const std::string_view backward = trimmed(row[2]);
  // A call that was recorded without its forward has none.
  const std::optional<Status> status = forward.empty() ? Status::pass : status_of_any_tool(forward);
  if (!status) rows.fail("'" + sanitised(row[1]) + "' is not a status");
  result.forward = *status;
  if (!backward.empty() && backward != "N/A") {
    result.backward = status_of_any_tool(backward);
    if (!result.backward) rows.fail("'" + sanitised(row[2]) + "' is not a status");
  }
  if (row.size() > 3) result.message = row[3];
  result.outcome = outcome_by_reason(result);
  return result;
}

DetailsRow parse_details(const Rows& rows, const ColumnSet& columns) {
  const std::vector<std::string>& row = rows.row();
  DetailsRow parsed(columns);
  const std::string_view status = trimmed(row[row.size() - 2]);
  parsed.status = status.empty() ? Status::skip : status_of_any_tool(status).value_or(Status::skip);
  parsed.message = row.back();
  parsed.bench_dtype = row[1];
  parsed.device_dtype = row[2];
  parsed.shape = row[3];
  for (std::size_t i = 0; i < parsed.cells.size(); ++i) parsed.cells[i] = number_in(row[first_metric_column + i]);
  read_verdict(parsed);
  return parsed;
}

class Reading {
 public:
  void read_results(const std::string& path) {
    Rows rows(path);
    const bool has_titles = rows.next() && rows.row().size() >= 3 &&
                            rows.row()[1].find("orward") != std::string::npos &&
                            rows.row()[2].find("ackward") != std::string::npos;
    if (!has_titles) rows.fail("this is not the title row of a result file");
    bool is_torn = false;
    while (rows.next()) {
      is_torn = !has_statuses(rows.row()) && rows.may_be_torn();
      if (is_torn) break;
      ApiResult result = parse_result(rows);
      if (result.message.starts_with(suspicious_mark) || result.message.starts_with(rounding_mark)) {
        run_.judges_rounding = true;
      }
      const auto [place, fresh] = places_.try_emplace(result.name, run_.results.size());
      result.task = static_cast<std::uint32_t>(place->second);
      if (fresh) {
        run_.results.push_back(std::move(result));
      } else {
        run_.results[place->second] = std::move(result);
      }
    }
    rows.note_torn_row(run_.notes, is_torn);
  }

  void read_details(const std::string& path) {
    Rows rows(path);
    if (!rows.next()) rows.fail("this is not the title row of a details file");
    const std::size_t width = rows.row().size();
    const ColumnSet* columns = columns_of(rows.row());
    if (columns == nullptr) {
      read_messages(rows);
      run_.notes.push_back(sanitised(path) +
                           ": its columns are not known, so that of them only the messages are read.");
      return;
    }
    bool is_torn = false;
    while (rows.next()) {
      is_torn = rows.row().size() < width && rows.may_be_torn();
      if (is_torn) break;
      if (rows.row().size() != width) {
        rows.fail("it has " + std::to_string(rows.row().size()) + " fields in place of " + std::to_string(width));
      }
      const std::optional<RowName> name = parse_row_name(rows.row()[0]);
      if (!name) rows.fail("'" + sanitised(rows.row()[0]) + "' is not the name of an output");
      const auto place = places_.find(std::string(name->api));
      if (place == places_.end()) continue;
      ApiResult& result = run_.results[place->second];
      auto& of_direction = name->forward ? result.forward_rows : result.backward_rows;
      // A call that ran twice begins again at output 0; what was written last counts.
      const bool is_first = name->index == "0";
      if (is_first) of_direction.clear();
      if (is_first && name->forward) result.backward_rows.clear();
      of_direction.push_back(parse_details(rows, *columns));
      const DetailsRow& row = of_direction.back();
      run_.judges_rounding = run_.judges_rounding || row.rounding_only || row.beyond_rounding;
    }
    rows.note_torn_row(run_.notes, is_torn);
    run_.has_details = true;
  }

  CsvRun take() {
    for (ApiResult& result : run_.results) conclude(result);
    mark_simulated(run_.results);
    return std::move(run_);
  }

 private:
  // Reads details with other columns, such as the ratios of api_precision_compare: what the last one, the message, says
  // of the first output of a call that is no pass, if the result file says nothing.
  void read_messages(Rows& rows) {
    if (rows.row().back() != "Message") return;
    while (rows.next()) {
      const std::vector<std::string>& row = rows.row();
      const std::optional<RowName> name = parse_row_name(row[0]);
      const auto place = name ? places_.find(std::string(name->api)) : places_.end();
      if (place == places_.end()) continue;
      ApiResult& result = run_.results[place->second];
      const Status overall = overall_status(result);
      if (overall != Status::warning && overall != Status::error) continue;
      const bool is_wrong = std::ranges::any_of(row, [](const std::string& field) {
        const std::optional<Status> status = status_of_any_tool(trimmed(field));
        return status == Status::warning || status == Status::error;
      });
      std::string message = row.back();
      message.erase(message.find_last_not_of("\r\n ") + 1);
      if (!is_wrong || message.empty() || !trimmed(result.message).empty()) continue;
      result.message = std::string(suspicious_mark) + row[0].substr(name->api.size() + 1) + ": " + message;
    }
  }

  // Where there are no rows, the Message of the result file says what came of them.
  void conclude(ApiResult& result) const {
    conclude_from_rows(result);
    if (run_.has_details) return;
    const Status status = overall_status(result);
    const bool is_judged = status == Status::warning || status == Status::error;
    if (is_judged) result.rounding_only = result.message.starts_with(rounding_mark);
    if (status == Status::pass) result.beyond_rounding = result.message.starts_with(suspicious_mark);
    if (is_judged && result.message.empty()) {
      result.message = std::string(suspicious_mark) + "the result file says no more";
    }
  }

  CsvRun run_;
  std::unordered_map<std::string, std::size_t> places_;
};

}  // namespace

CsvRun read_csv_run(const std::string& result_path, const std::string& details_path) {
  Reading reading;
  reading.read_results(result_path);
  std::error_code ignored;
  if (std::filesystem::exists(details_path, ignored)) reading.read_details(details_path);
  return reading.take();
}

}  // namespace msrun::runs
