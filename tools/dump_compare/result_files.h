// The files of results: .csv or .xlsx, and a page of HTML.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tools/common/report_file.h"
#include "tools/dump_compare/table.h"

namespace msrun::dump_compare {

// A file that is complete and has no name yet.
struct NamelessFile {
  std::string ending;  // of the name that it gets: ".csv"
  std::unique_ptr<ReportFile> file;
};

// Where the files of a table will stand, and what their names begin with: "compare_result_rank0_".
struct ResultPlace {
  std::string folder;
  std::string kind;
};

// Takes the rows of one table in order. Errors are UserError.
class ResultFile {
 public:
  virtual ~ResultFile() = default;
  virtual void add(const ResultRow& row) = 0;
  // Hands over what was written; there is no other call after this one.
  virtual std::vector<NamelessFile> close() = 0;
};

// Gives all files names of one kind and stamp; where anything has one of these names, the stamp becomes the next free
// one, "<stamp>_1". Replaces nothing. Returns the paths. Throws WriteError.
std::vector<std::string> publish(const ResultPlace& place, std::string& stamp, const std::vector<NamelessFile>& files);

inline constexpr std::size_t rows_of_a_csv = 1'000'000;
inline constexpr std::size_t rows_of_a_sheet = 1'048'500;

// rows: how many will come; beyond rows_of_a_csv there is a file for each as many.
std::unique_ptr<ResultFile> csv_file(const ResultPlace& place, const std::vector<std::string>& titles,
                                     std::size_t rows);
// coloured: rows that are errors are red, warnings yellow.
std::unique_ptr<ResultFile> xlsx_file(const ResultPlace& place, const std::vector<std::string>& titles,
                                      std::size_t rows, bool coloured);

// Rows that the page holds; of a larger table these are the worst, and the page says so.
inline constexpr std::size_t rows_of_a_page = 10000;
struct PageFacts {
  std::string target;
  std::string golden;
  std::vector<std::string> findings;  // lines about the first divergence
};
std::unique_ptr<ResultFile> html_file(const ResultPlace& place, const std::vector<std::string>& titles,
                                      PageFacts facts);

}  // namespace msrun::dump_compare
