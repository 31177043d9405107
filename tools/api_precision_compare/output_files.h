// The two files that are written: named together by a time stamp that is free once both are complete.
#pragma once

#include <ctime>
#include <string>
#include <string_view>

#include "tools/common/report_file.h"

namespace msrun::api_precision_compare {

class OutputFiles {
 public:
  // Throws UserError, as all other functions do, if a file cannot be written.
  OutputFiles(const std::string& directory, bool english);
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;

  // One row of each file, as fields that are quoted where they must be.
  void result(std::string_view name, std::string_view forward, std::string_view backward, std::string_view message);
  // A row of the details file is put together here.
  std::string& details() { return row_; }
  // To be called after each row.
  void details_row_ends();

  // Neither file is there before. To be called once, after which the paths are known.
  void finish();

  const std::string& details_path() const { return details_path_; }
  const std::string& result_path() const { return result_path_; }

 private:
  std::string directory_;
  std::time_t began_;
  std::string details_path_;
  std::string result_path_;
  ReportFile details_;
  ReportFile result_;
  std::string row_;
};

}  // namespace msrun::api_precision_compare
