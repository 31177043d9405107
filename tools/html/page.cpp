#include "tools/html/page.h"

#include "kernels/io/html/text.h"
#include "tools/html/assets.h"

namespace msrun::html {

Page::Page(const OwnName& file, std::string_view title, std::string_view more_style) : file_(file) {
  begin(title, more_style);
}

Page::Page(const std::string& path, std::string_view title, std::string_view more_style) : file_(path) {
  begin(title, more_style);
}

Page::Page(const Folder& folder, const std::string& name, std::string_view title, std::string_view more_style)
    : file_(folder, name) {
  begin(title, more_style);
}

void Page::begin(std::string_view title, std::string_view more_style) {
  file_.write(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'; script-src 'unsafe-inline'\">\n<title>" +
      escaped(title) + "</title>\n<style>" + std::string(style) + std::string(more_style) +
      "</style>\n</head>\n<body>\n<main>\n<h1>" + escaped(title) + "</h1>\n");
}

void Page::lines(const std::vector<std::string>& texts) {
  std::string out = "<div class=\"soft path\">";
  for (std::size_t i = 0; i < texts.size(); ++i) out += (i > 0 ? "<br>" : "") + escaped(texts[i]);
  file_.write(out + "</div>\n");
}

void Page::facts(const std::vector<std::pair<std::string, std::string>>& facts) {
  std::string out = "<ul class=\"facts\">\n";
  for (const auto& [name, value] : facts) out += "<li><b>" + escaped(value) + "</b>" + escaped(name) + "</li>\n";
  file_.write(out + "</ul>\n");
}

void Page::begin_section(std::string_view title) { file_.write("<section>\n<h2>" + escaped(title) + "</h2>\n"); }

void Page::end_section() { file_.write("</section>\n"); }

void Page::paragraph(std::string_view text) { file_.write("<p class=\"soft\">" + escaped(text) + "</p>\n"); }

void Page::markup(std::string_view html) { file_.write(html); }

void Page::commit() {
  file_.write("</main>\n");
  if (has_table_) file_.write("<script>" + std::string(table_script) + "</script>\n");
  file_.write("</body>\n</html>\n");
  file_.commit();
}

}  // namespace msrun::html
