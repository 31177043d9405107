// The two files that are written: created together under a time stamp that is free, and removed together unless they
// were finished.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/io/paths.h"

namespace msrun::api_precision_compare {

class OutputFiles {
 public:
  // Throws UserError, as all other functions do, if a file cannot be written.
  OutputFiles(const std::string& directory, bool english);
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;
  ~OutputFiles();

  // One row of each file, as fields that are quoted where they must be.
  void result(std::string_view name, std::string_view forward, std::string_view backward, std::string_view message);
  // Rows of the details file are appended here.
  std::string& details() { return details_text_; }
  // To be called after each row.
  void details_row_ends();

  void finish();

  const std::string& details_path() const { return details_path_; }
  const std::string& result_path() const { return result_path_; }

 private:
  std::string details_path_;
  std::string result_path_;
  std::optional<AppendedFile> details_;
  std::optional<AppendedFile> result_;
  std::string details_text_;
  std::string result_text_;
  bool finished_ = false;
};

}  // namespace msrun::api_precision_compare
