// Style and script, which are the same in every page.
#pragma once

#include <string_view>

namespace msrun::html {

extern const std::string_view style;
// Fills every table of the document from the data beside it.
extern const std::string_view table_script;
// Makes every button of the class "theme" change between light and dark, which is kept for other pages. The document
// then gets an event "themechange".
extern const std::string_view theme_script;

}  // namespace msrun::html
