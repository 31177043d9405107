#include "orchestrator/output/csv.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "orchestrator/output/csv_titles.h"

namespace msrun {

namespace {

// What is appended to the details file at once, about.
constexpr std::size_t bytes_of_write = 1U << 18;

std::string name_of(const std::string& path) { return std::string(base_name(path)); }

// The rows of a result, by the name that the files have for its call.
class Rows {
 public:
  Rows(const ApiResult& result, const CsvStyle& style) : style_(style), result_(&result) {
    const auto found = style.names == nullptr ? ShownNames::const_iterator() : style.names->find(result.name);
    if (style.names == nullptr || found == style.names->end()) return;
    renamed_ = result;
    renamed_->name = found->second;
    result_ = &*renamed_;
  }

  void append_details(std::string& out) const { style_.dialect->append_details(out, *result_, style_.precision); }
  void append_result(std::string& out) const { style_.dialect->append_result(out, *result_, style_.with_reasons); }

 private:
  const CsvStyle& style_;
  const ApiResult* result_;
  std::optional<ApiResult> renamed_;
};

}  // namespace

void append_rows(const ApiResult& result, const CsvStyle& style, std::string& details, std::string& result_rows) {
  const Rows rows(result, style);
  rows.append_details(details);
  rows.append_result(result_rows);
}

void write_csv_files(const Folder& folder, const RunFiles& files, const CsvStyle& style, const ResultSource& next,
                     SetAside* aside) {
  AtomicFile details(folder, name_of(files.details));
  AtomicFile result(folder, name_of(files.result));
  details.write(details_header(*style.dialect, style.english_titles));
  result.write(result_header(*style.dialect));
  std::string bytes;
  while (const ApiResult* api = next()) {
    bytes.clear();
    const Rows rows(*api, style);
    rows.append_details(bytes);
    details.write(bytes);
    if (aside != nullptr) aside->details(bytes);
    bytes.clear();
    rows.append_result(bytes);
    result.write(bytes);
    if (aside != nullptr) aside->result(bytes);
  }
  if (aside != nullptr && aside->kept().empty()) aside->keep();
  details.commit();
  result.commit();
}

void forgo_rows(SetAside& aside, const ApiResult& result, const CsvStyle& style) {
  const Rows rows(result, style);
  std::string text;
  rows.append_details(text);
  aside.details(text);
  text.clear();
  rows.append_result(text);
  aside.result(text);
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

void CsvFiles::append(const ResultSource& next) {
  std::string details;
  std::string result;
  const auto write = [&] {
    details_.append(details);
    details.clear();
    result_.append(result);
    result.clear();
  };
  while (const ApiResult* api = next()) {
    append_rows(*api, style_, details, result);
    if (details.size() >= bytes_of_write) write();
  }
  write();
}

}  // namespace msrun
