#include "orchestrator/output/csv.h"

#include <unistd.h>

#include <utility>

#include "orchestrator/output/csv_titles.h"

namespace msrun {

void write_csv_files(const RunFiles& files, const CsvStyle& style, const ResultSource& next) {
  AtomicFile details(files.details);
  AtomicFile result(files.result);
  details.write(details_header(*style.dialect, style.english_titles));
  result.write(result_header(*style.dialect));
  std::string bytes;
  while (const ApiResult* api = next()) {
    bytes.clear();
    style.dialect->append_details(bytes, *api, style.precision);
    details.write(bytes);
    bytes.clear();
    style.dialect->append_result(bytes, *api, style.with_reasons);
    result.write(bytes);
  }
  details.commit();
  result.commit();
}

CsvFiles::CsvFiles(const CsvStyle& style, AppendedFile details, AppendedFile result)
    : style_(style), details_(std::move(details)), result_(std::move(result)) {}

CsvFiles CsvFiles::create(const RunFiles& files, const CsvStyle& style) {
  AppendedFile details(files.details, AppendedFile::Mode::create_new);
  try {
    AppendedFile result(files.result, AppendedFile::Mode::create_new);
    try {
      details.append(details_header(*style.dialect, style.english_titles));
      result.append(result_header(*style.dialect));
      return {style, std::move(details), std::move(result)};
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
  return {style, AppendedFile(files.details, AppendedFile::Mode::existing),
          AppendedFile(files.result, AppendedFile::Mode::existing)};
}

void CsvFiles::append(std::span<const ApiResult> results) {
  std::string rows;
  for (const ApiResult& result : results) style_.dialect->append_details(rows, result, style_.precision);
  details_.append(rows);
  rows.clear();
  for (const ApiResult& result : results) style_.dialect->append_result(rows, result, style_.with_reasons);
  result_.append(rows);
}

}  // namespace msrun
