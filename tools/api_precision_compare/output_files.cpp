#include "tools/api_precision_compare/output_files.h"

#include <filesystem>
#include <system_error>

#include "kernels/io/files/csv.h"
#include "kernels/io/files/paths.h"
#include "tools/api_precision_compare/details_columns.h"

namespace msrun::api_precision_compare {

namespace {

constexpr const char* details_kind = "api_precision_compare_details_";
constexpr const char* result_kind = "api_precision_compare_result_";

}  // namespace

OutputFiles::OutputFiles(const std::string& directory, bool english)
    : directory_(directory),
      began_(std::time(nullptr)),
      details_(directory, details_kind),
      result_(directory, result_kind) {
  details_.write(byte_order_mark);
  details_.write(details_titles(english));
  details_.write(csv_row_end);
  result_.write(byte_order_mark);
  result_.write("API Name,Forward Test Success,Backward Test Success,Message");
  result_.write(csv_row_end);
}

void OutputFiles::result(std::string_view name, std::string_view forward, std::string_view backward,
                         std::string_view message) {
  std::string row;
  append_csv_text(row, name);
  for (const std::string_view field : {forward, backward, message}) {
    row += ',';
    append_csv_text(row, field);
  }
  row += csv_row_end;
  result_.write(row);
}

void OutputFiles::details_row_ends() {
  row_ += csv_row_end;
  details_.write(row_);
  row_.clear();
}

void OutputFiles::finish() {
  // A second run within one second takes the next one.
  for (std::time_t when = began_;; ++when) {
    const std::string details = details_kind + timestamp(when) + ".csv";
    const std::string result = result_kind + timestamp(when) + ".csv";
    std::error_code error;
    const bool taken = std::filesystem::exists(std::filesystem::symlink_status(join_path(directory_, details), error));
    if (taken || !result_.appear(result)) continue;
    bool both = false;
    try {
      both = details_.appear(details);
    } catch (...) {
      result_.disappear(result);
      throw;
    }
    if (!both) {
      result_.disappear(result);
      throw WriteError("The file " + join_path(directory_, details) +
                       " cannot be created: somebody else has just done so");
    }
    details_path_ = join_path(directory_, details);
    result_path_ = join_path(directory_, result);
    return;
  }
}

}  // namespace msrun::api_precision_compare
