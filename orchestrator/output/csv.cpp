#include "orchestrator/output/csv.h"

#include <unistd.h>

#include <utility>

#include "orchestrator/output/csv_rows.h"

namespace msrun {

void write_csv_files(const RunFiles& files, const CsvStyle& style, const ResultSource& next) {
  AtomicFile details(files.details);
  AtomicFile result(files.result);
  details.write(details_header(style.english_titles));
  result.write(result_header());
  std::string bytes;
  while (const ApiResult* api = next()) {
    bytes.clear();
    append_details_rows(bytes, *api, style.precision);
    details.write(bytes);
    bytes.clear();
    append_result_row(bytes, *api);
    result.write(bytes);
  }
  details.commit();
  result.commit();
}

CsvFiles::CsvFiles(int precision, AppendedFile details, AppendedFile result)
    : precision_(precision), details_(std::move(details)), result_(std::move(result)) {}

CsvFiles CsvFiles::create(const RunFiles& files, const CsvStyle& style) {
  AppendedFile details(files.details, AppendedFile::Mode::create_new);
  try {
    AppendedFile result(files.result, AppendedFile::Mode::create_new);
    try {
      details.append(details_header(style.english_titles));
      result.append(result_header());
      return {style.precision, std::move(details), std::move(result)};
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
  return {style.precision, AppendedFile(files.details, AppendedFile::Mode::existing),
          AppendedFile(files.result, AppendedFile::Mode::existing)};
}

void CsvFiles::append(std::span<const ApiResult> results) {
  std::string rows;
  for (const ApiResult& result : results) append_details_rows(rows, result, precision_);
  details_.append(rows);
  rows.clear();
  for (const ApiResult& result : results) append_result_row(rows, result);
  result_.append(rows);
}

}  // namespace msrun
