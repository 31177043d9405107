#include "tools/api_precision_compare/output_files.h"

#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <system_error>

#include "kernels/io/csv.h"
#include "tools/api_precision_compare/judge.h"

namespace msrun::api_precision_compare {

namespace {

constexpr std::size_t flushed_bytes = std::size_t{1} << 20;

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::symlink_status(path, error));
}

}  // namespace

OutputFiles::OutputFiles(const std::string& directory, bool english) {
  // A second run within one second takes the next one.
  for (std::time_t when = std::time(nullptr);; ++when) {
    const std::string stamp = timestamp(when);
    details_path_ = join_path(directory, "api_precision_compare_details_" + stamp + ".csv");
    result_path_ = join_path(directory, "api_precision_compare_result_" + stamp + ".csv");
    if (!exists(details_path_) && !exists(result_path_)) break;
  }
  details_.emplace(details_path_, AppendedFile::Mode::create_new);
  try {
    result_.emplace(result_path_, AppendedFile::Mode::create_new);
  } catch (...) {
    unlink(details_path_.c_str());
    throw;
  }
  details_text_ = std::string(byte_order_mark) + details_titles(english) + std::string(csv_row_end);
  result_text_ = std::string(byte_order_mark) + "API Name,Forward Test Success,Backward Test Success,Message" +
                 std::string(csv_row_end);
}

OutputFiles::~OutputFiles() {
  if (finished_) return;
  unlink(details_path_.c_str());
  unlink(result_path_.c_str());
}

void OutputFiles::result(std::string_view name, std::string_view forward, std::string_view backward,
                         std::string_view message) {
  append_csv_field(result_text_, name);
  for (const std::string_view field : {forward, backward, message}) {
    result_text_ += ',';
    append_csv_field(result_text_, field);
  }
  result_text_ += csv_row_end;
  if (result_text_.size() < flushed_bytes) return;
  result_->append(result_text_);
  result_text_.clear();
}

void OutputFiles::details_row_ends() {
  details_text_ += csv_row_end;
  if (details_text_.size() < flushed_bytes) return;
  details_->append(details_text_);
  details_text_.clear();
}

void OutputFiles::finish() {
  details_->append(details_text_);
  result_->append(result_text_);
  finished_ = true;
}

}  // namespace msrun::api_precision_compare
