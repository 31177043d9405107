// A row of the report as it reads: its cells by their titles, and why it is marked as it is.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace msrun::torchair {

class RowCells {
 public:
  RowCells();
  // Titles of all columns.
  const std::vector<std::string>& names() const { return titles_; }
  const std::vector<std::string>& cells() const { return cells_; }
  // line: all columns of a row, with its line end.
  void read(const std::string& line);
  const std::string& operator[](const char* title) const { return cells_[places_.at(title)]; }
  // Nothing where the cell holds no number; of "3.5%" the 3.5.
  std::optional<double> number(const char* title) const;

 private:
  std::vector<std::string> titles_;
  std::map<std::string, std::size_t> places_;
  std::vector<std::string> cells_;
};

// Which limits the row is beyond, with their values and its own, or why nothing could be compared. Of a row that
// passed: which values are close to the limits, and what else there is to say.
std::string why(const RowCells& row);

}  // namespace msrun::torchair
