#include "tools/api_precision_compare/output_files.h"

#include <unistd.h>

#include <ctime>

#include "kernels/io/files/csv.h"
#include "tools/api_precision_compare/details_columns.h"
#include "tools/common/file_name.h"

namespace msrun::api_precision_compare {

namespace {

// Both names, or none.
bool take_names(const std::string& details, const std::string& result) {
  if (!take_file_name(details)) return false;
  try {
    if (take_file_name(result)) return true;
  } catch (...) {
    unlink(details.c_str());
    throw;
  }
  unlink(details.c_str());
  return false;
}

}  // namespace

OutputFiles::OutputFiles(const std::string& directory, bool english) {
  // A second run within one second takes the next one.
  std::time_t when = std::time(nullptr);
  do {
    const std::string stamp = timestamp(when++);
    details_path_ = join_path(directory, "api_precision_compare_details_" + stamp + ".csv");
    result_path_ = join_path(directory, "api_precision_compare_result_" + stamp + ".csv");
  } while (!take_names(details_path_, result_path_));
  try {
    details_.emplace(details_path_);
    result_.emplace(result_path_);
  } catch (...) {
    remove();
    throw;
  }
  details_->write(byte_order_mark);
  details_->write(details_titles(english));
  details_->write(csv_row_end);
  result_->write(byte_order_mark);
  result_->write("API Name,Forward Test Success,Backward Test Success,Message");
  result_->write(csv_row_end);
}

OutputFiles::~OutputFiles() {
  if (!finished_) remove();
}

void OutputFiles::remove() {
  unlink(details_path_.c_str());
  unlink(result_path_.c_str());
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
  result_->write(row);
}

void OutputFiles::details_row_ends() {
  row_ += csv_row_end;
  details_->write(row_);
  row_.clear();
}

void OutputFiles::finish() {
  details_->commit();
  result_->commit();
  finished_ = true;
}

}  // namespace msrun::api_precision_compare
