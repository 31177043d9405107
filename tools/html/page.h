// The frame of every HTML report: one file that needs neither network nor server, light or dark as the reader's system
// is, with headline, facts and sections. Tables and charts are put into its sections (table.h, chart.h).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/io/files/paths.h"

namespace msrun::html {

class TableWriter;

// Parts are written to the file as they come. Texts are shown as they are, whatever they hold; only markup() takes
// HTML. All methods throw WriteError. Without commit() the file is left as it was.
class Page {
 public:
  // The path is replaced by commit(). Writes the head and the headline. more_style follows the style of all pages.
  Page(const std::string& path, std::string_view title, std::string_view more_style = {});
  // The same for a name that the program has chosen: a link is replaced itself.
  Page(const OwnName& file, std::string_view title, std::string_view more_style = {});
  Page(const Folder& folder, const std::string& name, std::string_view title, std::string_view more_style = {});

  // Small lines below the headline, which may be as long as paths are.
  void lines(const std::vector<std::string>& texts);
  // A row of cards, each a name and its value.
  void facts(const std::vector<std::pair<std::string, std::string>>& facts);
  void begin_section(std::string_view title);
  void end_section();
  void paragraph(std::string_view text);
  // HTML, written as it is.
  void markup(std::string_view html);

  // Ends the document and replaces the file at path by it.
  void commit();

 private:
  friend class TableWriter;

  void begin(std::string_view title, std::string_view more_style);

  AtomicFile file_;
  bool has_table_ = false;
};

}  // namespace msrun::html
