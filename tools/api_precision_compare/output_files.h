// The two files that are written: named together by a time stamp that is free, and complete or not there at all. A
// killed program leaves empty ones.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/io/files/paths.h"

namespace msrun::api_precision_compare {

class OutputFiles {
 public:
  // Throws UserError, as all other functions do, if a file cannot be written.
  OutputFiles(const std::string& directory, bool english);
  OutputFiles(const OutputFiles&) = delete;
  OutputFiles& operator=(const OutputFiles&) = delete;
  // Removes both unless they were finished.
  ~OutputFiles();

  // One row of each file, as fields that are quoted where they must be.
  void result(std::string_view name, std::string_view forward, std::string_view backward, std::string_view message);
  // A row of the details file is put together here.
  std::string& details() { return row_; }
  // To be called after each row.
  void details_row_ends();

  void finish();

  const std::string& details_path() const { return details_path_; }
  const std::string& result_path() const { return result_path_; }

 private:
  void remove();

  std::string details_path_;
  std::string result_path_;
  std::optional<AtomicFile> details_;
  std::optional<AtomicFile> result_;
  std::string row_;
  bool finished_ = false;
};

}  // namespace msrun::api_precision_compare
