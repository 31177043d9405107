#include "orchestrator/output/csv.h"

#include <unistd.h>

#include <utility>

#include "kernels/compare/details_csv.h"

namespace msrun {

namespace {

void append_row_name(std::string& out, const std::string& name, const char* direction, std::size_t index) {
  append_csv_field(out, name + direction + std::to_string(index));
}

void append_details(std::string& out, const ApiResult& result, int precision) {
  for (std::size_t i = 0; i < result.forward_rows.size(); ++i) {
    append_row_name(out, result.name, ".forward.output.", i);
    append_details_cells(out, result.forward_rows[i], precision);
  }
  for (std::size_t i = 0; i < result.backward_rows.size(); ++i) {
    append_row_name(out, result.name, ".backward.output.", i);
    append_details_cells(out, result.backward_rows[i], precision);
  }
}

void append_result(std::string& out, const ApiResult& result) {
  append_csv_field(out, result.name);
  out += ',';
  out += status_text(result.forward);
  out += ',';
  out += result.backward ? status_text(*result.backward) : " ";
  if (result.forward == Status::skip || result.backward == Status::skip) {
    out += ',';
    append_csv_field(out, result.message);
  }
  out += csv_row_end;
}

}  // namespace

std::string result_header() {
  return std::string(byte_order_mark) + "API name,Forward Test Success,Backward Test Success,Message\r\n";
}

std::string details_header(bool english_titles) {
  return std::string(byte_order_mark) + "API Name," + details_titles(english_titles);
}

std::string result_row(const ApiResult& result) {
  std::string row;
  append_result(row, result);
  return row;
}

std::string details_rows(const ApiResult& result, int precision) {
  std::string rows;
  append_details(rows, result, precision);
  return rows;
}

void write_csv_files(const RunFiles& files, const CsvStyle& style, const ResultSource& next) {
  AtomicFile details(files.details);
  AtomicFile result(files.result);
  details.write(details_header(style.english_titles));
  result.write(result_header());
  std::string bytes;
  while (const ApiResult* api = next()) {
    bytes.clear();
    append_details(bytes, *api, style.precision);
    details.write(bytes);
    bytes.clear();
    append_result(bytes, *api);
    result.write(bytes);
  }
  details.commit();
  result.commit();
}

CsvFiles::CsvFiles(const RunFiles& files, const CsvStyle& style, AppendedFile details, AppendedFile result)
    : files_(files), style_(style), details_(std::move(details)), result_(std::move(result)) {}

CsvFiles CsvFiles::create(const RunFiles& files, const CsvStyle& style) {
  AppendedFile details(files.details, AppendedFile::Mode::create_new);
  try {
    AppendedFile result(files.result, AppendedFile::Mode::create_new);
    try {
      details.append(details_header(style.english_titles));
      result.append(result_header());
      return {files, style, std::move(details), std::move(result)};
    } catch (...) {
      unlink(files.result.c_str());
      throw;
    }
  } catch (...) {
    unlink(files.details.c_str());
    throw;
  }
}

CsvFiles CsvFiles::open(const RunFiles& files, const CsvStyle& style) {
  return {files, style, AppendedFile(files.details, AppendedFile::Mode::existing),
          AppendedFile(files.result, AppendedFile::Mode::existing)};
}

void CsvFiles::append(std::span<const ApiResult> results) {
  std::string rows;
  for (const ApiResult& result : results) append_details(rows, result, style_.precision);
  details_.append(rows);
  rows.clear();
  for (const ApiResult& result : results) append_result(rows, result);
  result_.append(rows);
}

void CsvFiles::rewrite(const ResultSource& next) {
  write_csv_files(files_, style_, next);
  // The old descriptors point to the files that were replaced.
  details_ = AppendedFile(files_.details, AppendedFile::Mode::existing);
  result_ = AppendedFile(files_.result, AppendedFile::Mode::existing);
}

void CsvFiles::rewrite(std::span<const ApiResult> results) {
  std::size_t at = 0;
  rewrite([&]() -> const ApiResult* { return at < results.size() ? &results[at++] : nullptr; });
}

}  // namespace msrun
