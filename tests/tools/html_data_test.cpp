// Packed data of a page, and the change between light and dark.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/msrun_process.h"
#include "tests/tools/browser.h"
#include "tools/html/assets.h"
#include "tools/html/data.h"
#include "tools/html/page.h"

namespace msrun::html {
namespace {

using msrun::testing::TemporaryDirectory;
using ::testing::HasSubstr;

TEST(HtmlData, JsonTextReadsBack) {
  const std::string text = std::string("\"\\\n\t\x01</script>\0 ", 17) + "\xE2\x80\xA8\xF0\x9F\x98\x80";
  std::string out;
  append_json(out, text);
  EXPECT_EQ(nlohmann::json::parse(out), text);
  out.clear();
  append_json(out, "a\xFF\xC3(\xE2\x82");  // a byte that begins nothing, and characters cut short
  EXPECT_EQ(nlohmann::json::parse(out), "a\uFFFD\uFFFD(\uFFFD\uFFFD");
}

TEST(HtmlData, PackedTextHasLettersAndDigitsAlone) {
  for (const std::size_t size : {0, 1, 2, 3, 1000}) {
    const std::string text = packed(std::string(size, '<'));
    EXPECT_EQ(text.size() % 4, 0U);
    EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="),
              std::string::npos);
  }
  EXPECT_LT(packed(std::string(100000, 'x')).size(), 1000U);
}

TEST(HtmlData, ABrowserUnpacksItAndChangesTheTheme) {
  if (msrun::testing::browser().empty()) GTEST_SKIP() << "no Chromium on this machine";
  const TemporaryDirectory scratch;
  const std::string path = (scratch / "page.html").string();
  Page page(path, "Packed", "body { margin: 7px; }");
  page.markup("<button class=\"theme\">theme</button><script>" + std::string(unpack_script) +
              std::string(theme_script) + "const text = '" +
              packed("gr\xC3\xB6\xC3\x9F"
                     "er \xE2\x82\xAC") +
              R"(';
    let changes = 0;
    document.addEventListener('themechange', () => ++changes);
    const back = () => getComputedStyle(document.body).backgroundColor;
    const seen = [getComputedStyle(document.body).margin, back()];
    for (let i = 0; i < 2; ++i) {
      document.querySelector('button').click();
      seen.push(back());
    }
    unpacked(text).then((got) => { document.body.dataset.seen = [...seen, changes, got].join('|'); });</script>)");
  page.commit();
  const std::string document = msrun::testing::document_of(path, scratch);
  EXPECT_THAT(document,
              HasSubstr("data-seen=\"7px|rgb(246, 247, 249)|rgb(20, 23, 27)|rgb(246, 247, 249)|2|gr\xC3\xB6\xC3\x9F"
                        "er \xE2\x82\xAC\""));
}

}  // namespace
}  // namespace msrun::html
