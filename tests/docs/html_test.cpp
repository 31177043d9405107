// The documentation as pages for a browser: whole, without a dead link, and shown by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tests/tools/browser.h"

namespace msrun::testing {
namespace {

using ::testing::HasSubstr;

fs::path pages_folder() { return fs::path(programs()).parent_path() / "docs_html"; }

class DocsHtml : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(pages_folder() / "index.html")) GTEST_SKIP() << "pandoc is not installed";
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(pages_folder())) {
      if (entry.path().extension() == ".html") texts_[entry.path().lexically_normal()] = read_file(entry.path());
    }
  }

  // What stands between the quotes of an attribute, wherever it occurs.
  static std::vector<std::string> attributes(const std::string& text, const std::string& name) {
    std::vector<std::string> values;
    const std::regex attribute("\\s" + name + "=\"([^\"]*)\"");
    for (std::sregex_iterator it(text.begin(), text.end(), attribute), end; it != end; ++it) values.push_back((*it)[1]);
    return values;
  }

  static bool leads_out(const std::string& link) { return link.starts_with("https://") || link.starts_with("http://"); }

  std::map<fs::path, std::string> texts_;
};

TEST_F(DocsHtml, HasAPageForEveryMarkdownFile) {
  for (const fs::directory_entry& entry : fs::directory_iterator(source_root() + "/docs")) {
    if (entry.path().extension() != ".md") continue;
    const fs::path page = pages_folder() / "docs" / entry.path().filename().replace_extension(".html");
    EXPECT_TRUE(texts_.contains(page.lexically_normal()))
        << entry.path() << " is not in cmake/docs_html/navigation.txt";
  }
}

TEST_F(DocsHtml, HasNoDeadLink) {
  std::size_t links = 0;
  for (const auto& [path, text] : texts_) {
    for (const std::string& link : attributes(text, "href")) {
      if (leads_out(link)) continue;
      ++links;
      const std::size_t hash = std::min(link.find('#'), link.size());
      const fs::path target = hash == 0 ? path : (path.parent_path() / link.substr(0, hash)).lexically_normal();
      ASSERT_TRUE(fs::exists(target)) << path << " links to " << link;
      EXPECT_NE(target.extension(), ".md") << path << " links to " << link;
      if (hash == link.size()) continue;
      const std::vector<std::string> ids = attributes(texts_[target], "id");
      EXPECT_THAT(ids, ::testing::Contains(link.substr(hash + 1))) << path << " links to " << link;
    }
  }
  EXPECT_GT(links, 1000U);
}

TEST_F(DocsHtml, LoadsNothingFromElsewhere) {
  for (const auto& [path, text] : texts_) {
    EXPECT_THAT(text, HasSubstr("default-src 'none'")) << path;
    EXPECT_EQ(text.find("<script"), std::string::npos) << path;
    for (const std::string& source : attributes(text, "src")) {
      EXPECT_FALSE(leads_out(source)) << path << ": " << source;
      EXPECT_TRUE(fs::exists(path.parent_path() / source)) << path << ": " << source;
    }
  }
}

TEST_F(DocsHtml, HasNoCommentsOfTestsAndAnchorsAtHeadings) {
  const std::string& page = texts_[(pages_folder() / "docs/run_report.html").lexically_normal()];
  EXPECT_EQ(page.find("<!-- run:"), std::string::npos);
  EXPECT_THAT(page, HasSubstr("<title>run_report – msrun</title>"));
  EXPECT_THAT(page, HasSubstr("<h2 id=\"for-others\">"));
  EXPECT_THAT(page, HasSubstr("href=\"#for-others\""));
  EXPECT_THAT(page, HasSubstr("href=\"../docs/run_report.html\" aria-current=\"page\""));
}

// What a browser makes of a page: the colour behind it, whether its pictures are there, and whether it is wider than
// the window. The policy of the page stays, but for the script that measures.
std::string measured(const std::string& page, const std::string& options) {
  const TemporaryDirectory scratch;
  fs::copy(pages_folder(), scratch / "pages", fs::copy_options::recursive);
  std::string text = read_file(scratch / "pages" / page);
  const std::string policy = "default-src 'none';";
  text.replace(text.find(policy), policy.size(), policy + " script-src 'unsafe-inline';");
  const std::string script =
      "<script>addEventListener('load', () => { document.body.dataset.seen = "
      "[getComputedStyle(document.body).backgroundColor, "
      "[...document.images].filter((image) => image.naturalWidth > 0).length + ' of ' + document.images.length, "
      "document.documentElement.scrollWidth <= innerWidth, "
      "getComputedStyle(document.querySelector('nav.pages')).position"
      "].join(' | '); });</script></body>";
  text.replace(text.rfind("</body>"), std::string("</body>").size(), script);
  write_file(scratch / "pages" / page, text);
  const std::string document = document_of(scratch / "pages" / page, scratch, options);
  const std::size_t at = document.find("data-seen=\"");
  if (at == std::string::npos) return "nothing was measured";
  return document.substr(at + 11, document.find('"', at + 11) - at - 11);
}

TEST_F(DocsHtml, IsLightOrDarkAndFitsTheWindow) {
  if (browser().empty()) GTEST_SKIP() << "no browser is installed";
  EXPECT_EQ(measured("index.html", "--window-size=1300,900"), "rgb(255, 255, 255) | 1 of 1 | true | sticky");
  EXPECT_EQ(measured("index.html", "--window-size=1300,900 --blink-settings=preferredColorScheme=0"),
            "rgb(22, 25, 29) | 1 of 1 | true | sticky");
  EXPECT_EQ(measured("docs/verdicts.html", "--window-size=520,900"), "rgb(255, 255, 255) | 0 of 0 | true | static");
}

}  // namespace
}  // namespace msrun::testing
