#include "orchestrator/output/csv.h"

#include <unistd.h>

#include <utility>

#include "orchestrator/output/csv_titles.h"

namespace msrun {

namespace {

std::string name_of(const std::string& path) { return std::string(base_name(path)); }

}  // namespace

void write_csv_files(const Folder& folder, const RunFiles& files, const CsvStyle& style, const ResultSource& next,
                     SetAside* aside) {
  AtomicFile details(folder, name_of(files.details));
  AtomicFile result(folder, name_of(files.result));
  details.write(details_header(*style.dialect, style.english_titles));
  result.write(result_header(*style.dialect));
  std::string bytes;
  while (const ApiResult* api = next()) {
    bytes.clear();
    style.dialect->append_details(bytes, *api, style.precision);
    details.write(bytes);
    if (aside != nullptr) aside->details(bytes);
    bytes.clear();
    style.dialect->append_result(bytes, *api, style.with_reasons);
    result.write(bytes);
    if (aside != nullptr) aside->result(bytes);
  }
  if (aside != nullptr && aside->kept().empty()) aside->keep();
  details.commit();
  result.commit();
}

void forgo_rows(SetAside& aside, const ApiResult& result, const CsvStyle& style) {
  std::string rows;
  style.dialect->append_details(rows, result, style.precision);
  aside.details(rows);
  rows.clear();
  style.dialect->append_result(rows, result, style.with_reasons);
  aside.result(rows);
}

CsvFiles::CsvFiles(const CsvStyle& style, AppendedFile details, AppendedFile result)
    : style_(style), details_(std::move(details)), result_(std::move(result)) {}

CsvFiles CsvFiles::create(const Folder& folder, const RunFiles& files, const CsvStyle& style) {
  const auto create_new = [&](const std::string& path) {
    return AppendedFile(folder, name_of(path), AppendedFile::Mode::create_new);
  };
  const auto remove = [&](const std::string& path) { unlinkat(folder.descriptor(), name_of(path).c_str(), 0); };
  AppendedFile details = create_new(files.details);
  try {
    AppendedFile result = create_new(files.result);
    try {
      details.append(details_header(*style.dialect, style.english_titles));
      result.append(result_header(*style.dialect));
      return {style, std::move(details), std::move(result)};
    } catch (...) {
      remove(files.result);
      throw;
    }
  } catch (...) {
    remove(files.details);
    throw;
  }
}

CsvFiles CsvFiles::open(const Folder& folder, const RunFiles& files, const CsvStyle& style) {
  const auto existing = [&](const std::string& path) {
    return AppendedFile(folder, name_of(path), AppendedFile::Mode::existing);
  };
  return {style, existing(files.details), existing(files.result)};
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
