// The files of results: .csv or .xlsx, and a page of HTML.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/dump_compare/table.h"

namespace msrun::dump_compare {

// Takes the rows of one table in order. Until close() there is no file of that name. Errors are UserError.
class ResultFile {
 public:
  virtual ~ResultFile() = default;
  virtual void add(const ResultRow& row) = 0;
  // Returns the paths of the files.
  virtual std::vector<std::string> close() = 0;
};

inline constexpr std::size_t rows_of_a_csv = 1'000'000;
inline constexpr std::size_t rows_of_a_sheet = 1'048'500;

// stem: the path without ".csv". rows: how many will come; beyond rows_of_a_csv there is a file for each as many.
std::unique_ptr<ResultFile> csv_file(const std::string& stem, const std::vector<std::string>& titles, std::size_t rows);
// coloured: rows that are errors are red, warnings yellow.
std::unique_ptr<ResultFile> xlsx_file(const std::string& stem, const std::vector<std::string>& titles, std::size_t rows,
                                      bool coloured);

// Rows that the page holds; of a larger table these are the worst, and the page says so.
inline constexpr std::size_t rows_of_a_page = 10000;
struct PageFacts {
  std::string target;
  std::string golden;
  std::vector<std::string> findings;  // lines about the first divergence
};
std::unique_ptr<ResultFile> html_file(const std::string& stem, const std::vector<std::string>& titles, PageFacts facts);

}  // namespace msrun::dump_compare
