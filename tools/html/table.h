// A table that the reader sorts by its columns and filters by words, by colours and by one column of few values; a
// click on a row shows all of its cells. Only a part of the rows is in the document at a time, so that it stays quick
// with tens of thousands.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/html/page.h"

namespace msrun::html {

enum class CellKind : std::uint8_t {
  number,        // cut to six digits; sorted by value, largest first; cells without a number come last
  whole_number,  // not cut; sorted by value, smallest first
  text,          // sorted as people sort, numbers in it by value
  long_text,     // like text, in a wider column
  mark,          // coloured
};

struct Column {
  std::string label;  // of the head
  std::string title;  // which of the cells it shows
  CellKind kind = CellKind::number;
};

// A colour of rows: "red", "yellow" or "green".
struct MarkKind {
  std::string color;
  std::string meaning;
  std::size_t rows = 0;
};

// What a table is made of. Columns are named by the titles of their cells.
struct TableView {
  std::string id;                   // of the element, and the beginning of the ids of its parts
  std::vector<std::string> titles;  // of all cells of a row
  std::vector<Column> columns;      // those that are shown
  std::vector<std::string> hidden;  // cells that are not even among the details of a row
  std::string fixed;                // a column that stays in sight when the table is moved sideways
  std::string mark;                 // holds the colour of a row
  std::string mark_text;            // what is written in that colour
  std::vector<MarkKind> marks;      // worst first
  std::string name;                 // a filter "=Add" asks for rows of exactly that name
  std::string choice;               // a column of few values, one of which can be chosen
  std::string choice_noun;          // "token": the choices are "all tokens", "token 1"
  // Sorted by this at first, largest first, and always among rows of one colour. If it is not shown, the colours must
  // follow from it: the first order then shows as one by colours.
  std::string sort;
  std::string sort_label;      // of the button that sorts so again: "Worst first"
  std::string order;           // a number that decides between equals
  std::string noun;            // what a row is: "tensor"
  std::string search_hint;     // in the empty search box
  std::string without_script;  // where the browser runs no scripts
  std::string nothing;         // instead of rows, if there are none
};

// Writes a table into the open section of a page: first its filters and its frame, then one row at a time, then its
// end.
class TableWriter {
 public:
  // page must outlive the writer, and nothing else may be written to it before end().
  TableWriter(Page& page, const TableView& view);

  // As many cells as the view has titles.
  void row(const std::vector<std::string>& cells);
  void end();

 private:
  Page& page_;
  bool first_ = true;
};

}  // namespace msrun::html
