// The HTML kit: hostile texts stay texts, pages need nothing else, and tables of any size work in a browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "kernels/base/text.h"
#include "kernels/io/files/paths.h"
#include "kernels/io/html/text.h"
#include "tests/support/msrun_process.h"
#include "tests/tools/browser.h"
#include "tools/html/chart.h"
#include "tools/html/page.h"
#include "tools/html/table.h"

namespace msrun::html {
namespace {

using msrun::testing::TemporaryDirectory;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const std::string hostile = "</script><script>alert(1)</script><img src=x onerror=\"alert('1')\">&amp;";

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

nlohmann::json data_of(const std::string& page) {
  const std::string begin = "<script type=\"application/json\">";
  const std::size_t at = page.find(begin) + begin.size();
  return nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at));
}

TableView people() {
  TableView view;
  view.id = "people";
  view.titles = {"Color", "Order", "Name", "Age"};
  view.hidden = {"Color"};
  view.columns = {{"State", "Color", CellKind::mark},
                  {"#", "Order", CellKind::whole_number},
                  {"Name", "Name", CellKind::text},
                  {"Age", "Age"}};
  view.mark = "Color";
  view.mark_text = "Color";
  view.marks = {{"red", "bad", 1}, {"green", "good", 1}};
  view.name = "Name";
  view.sort = "Age";
  view.sort_label = "Oldest first";
  view.order = "Order";
  view.noun = "person";
  view.nothing = "Nobody.";
  return view;
}

// A page with one table of these rows.
std::string page_with(const TemporaryDirectory& scratch, const TableView& view,
                      const std::vector<std::vector<std::string>>& rows) {
  const std::string path = (scratch / "page.html").string();
  Page page(path, "People");
  page.begin_section("All");
  TableWriter table(page, view);
  for (const std::vector<std::string>& row : rows) table.row(row);
  table.end();
  page.end_section();
  page.commit();
  return msrun::testing::read_file(path);
}

TEST(HtmlText, MarkupIsEscaped) {
  EXPECT_EQ(escaped("a<b>&\"c\" 'd' \xE2\x82\xAC"), "a&lt;b&gt;&amp;&quot;c&quot; 'd' \xE2\x82\xAC");
  EXPECT_THAT(escaped(hostile), Not(HasSubstr("<")));
}

// As they were but for what nobody would see in the page.
TEST(HtmlText, ScriptDataReadBackAsTheyWere) {
  const std::string separators =
      "a\xE2\x80\xA8"
      "b\xE2\x80\xA9"
      "c\xE2\x80\xA6";
  for (const std::string& text : {hostile, separators, std::string("<!--<script>"), std::string("]]>"),
                                  std::string("\\\"\n\t\x01\x7F"), std::string("\0x", 2), std::string()}) {
    const std::string json = script_json(nlohmann::json::array({text}));
    EXPECT_EQ(nlohmann::json::parse(json)[0].get<std::string>(), visible(text));
    EXPECT_EQ(json.find_first_of("<>&\n"), std::string::npos) << json;
    EXPECT_THAT(json, Not(HasSubstr("\xE2\x80\xA8")));
    EXPECT_THAT(json, Not(HasSubstr("\xE2\x80\xA9")));
  }
  EXPECT_EQ(script_json("\xFFok\xE2\x80"), "\"\xEF\xBF\xBDok\xEF\xBF\xBD\"");
}

TEST(HtmlPage, ShowsTextsAndNeedsNothingElse) {
  const TemporaryDirectory scratch;
  const std::string path = (scratch / "page.html").string();
  Page page(path, hostile);
  page.lines({hostile, "second"});
  page.facts({{hostile, hostile}});
  page.begin_section(hostile);
  page.paragraph(hostile);
  page.end_section();
  page.commit();
  const std::string html = msrun::testing::read_file(path);
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_THAT(html, Not(HasSubstr("<script")));  // none without a table
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_EQ(count_of(html, escaped(hostile)), 7U);
}

TEST(HtmlPage, IsThereWholeOrNotAtAll) {
  const TemporaryDirectory scratch;
  {
    Page page((scratch / "page.html").string(), "never ended");
    page.paragraph("text");
  }
  EXPECT_THAT(msrun::testing::fs::directory_iterator(scratch.path()),
              ::testing::Eq(msrun::testing::fs::directory_iterator()));
  EXPECT_THROW(Page((scratch / "none/page.html").string(), "no directory"), WriteError);
}

TEST(HtmlTable, HostileCellsStayCells) {
  const TemporaryDirectory scratch;
  TableView view = people();
  view.search_hint = view.without_script = view.nothing = hostile;
  const std::string html =
      page_with(scratch, view, {{"red", "1", hostile, "\xE2\x80\xA8"}, {"green", "2", "", "\xFF"}});
  EXPECT_EQ(count_of(html, "</script>"), 2U);
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  const nlohmann::json data = data_of(html);
  EXPECT_EQ(data["titles"], nlohmann::json(view.titles));
  EXPECT_EQ(data["rows"][0][2], hostile);
  EXPECT_EQ(data["rows"][0][3], "\u27E8U+2028\u27E9");
  EXPECT_EQ(data["rows"][1][3], "\xEF\xBF\xBD");
}

TEST(HtmlTable, WithoutRows) {
  const TemporaryDirectory scratch;
  EXPECT_THAT(data_of(page_with(scratch, people(), {}))["rows"], IsEmpty());
}

// A script that puts what a user would see into an attribute of the body.
std::string with_steps(std::string html, const std::string& steps) {
  const std::string script =
      "<script>{ const seen = []; " + steps + " document.body.dataset.seen = seen.join('|'); }</script>";
  html.replace(html.find("</body>"), 0, script);
  return html;
}

std::string seen_in(const std::string& html, const std::string& steps, const TemporaryDirectory& scratch) {
  const msrun::testing::fs::path copy = scratch / "copy.html";
  msrun::testing::write_file(copy, with_steps(html, steps));
  const std::string document = msrun::testing::document_of(copy, scratch);
  const std::string begin = "data-seen=\"";
  const std::size_t at = document.find(begin);
  if (at == std::string::npos) return "nothing";
  return document.substr(at + begin.size(), document.find('"', at + begin.size()) - at - begin.size());
}

TEST(HtmlTable, LargeTablesAreShownInPieces) {
  if (msrun::testing::browser().empty()) GTEST_SKIP() << "no Chromium on this machine";
  const TemporaryDirectory scratch;
  std::vector<std::vector<std::string>> rows;
  for (int i = 0; i < 30000; ++i) {
    rows.push_back(
        {i % 100 == 0 ? "red" : "green", std::to_string(i), "p" + std::to_string(i), std::to_string(i % 97)});
  }
  const std::string seen = seen_in(page_with(scratch, people(), rows), R"(
    const rows = () => document.querySelectorAll('#people tr.row');
    const first = () => rows()[0].cells[2].textContent;
    const count = () => document.getElementById('people-count').textContent;
    const click = (selector) => document.querySelector(selector).dispatchEvent(new MouseEvent('click', { bubbles: true }));
    seen.push(rows().length, first(), count());
    click('button.more');
    seen.push(rows().length);
    click('th[data-title=Name] button');
    seen.push(first());
    click('input[value=green]');
    seen.push(count(), rows()[1].cells[2].textContent);
    const search = document.getElementById('people-search');
    search.value = '=p29900';
    search.dispatchEvent(new Event('input'));
    seen.push(count(), first());)",
                                   scratch);
  EXPECT_EQ(seen,
            "200|p96|30000 of 30000 persons, 200 shown|400|p0|300 of 30000 persons, 200 shown|p100|"
            "1 of 30000 persons|p29900");
}

TEST(HtmlTable, HostileCellsRunNothingInABrowser) {
  if (msrun::testing::browser().empty()) GTEST_SKIP() << "no Chromium on this machine";
  const TemporaryDirectory scratch;
  const std::string html = page_with(scratch, people(), {{"red", "1", hostile, "1"}});
  EXPECT_EQ(seen_in(html, R"(
    document.querySelector('#people tr.row').click();
    seen.push(document.querySelectorAll('img').length, document.querySelectorAll('#people tr.details dd').length,
              document.querySelector('#people tr.row').cells[2].textContent.length);)",
                    scratch),
            "0|3|" + std::to_string(hostile.size()));
}

TEST(HtmlChart, DrawsWhatWasAdded) {
  Chart chart("Title", "row", "people", [](double value) { return 1 - value; });
  chart.add_level({1, "all", true});
  chart.add_sections({{0, "one"}, {0.5, "<two>"}, {0.51, "three"}});
  chart.add_line({{0, 0, "", "", ""}, {1, 1, "", "", ""}});
  chart.add_point({0.5, 0.5, "red", hostile, hostile});
  chart.add_point({1, 1, "green", "b", "b"});
  const std::string svg = chart.svg();
  EXPECT_EQ(count_of(svg, "<circle "), 2U);
  EXPECT_EQ(count_of(svg, "class=\"section\""), 2U);
  EXPECT_THAT(svg, HasSubstr("&lt;two&gt;"));
  EXPECT_THAT(svg, Not(HasSubstr("three")));  // no room beside "two"
  EXPECT_THAT(svg, Not(HasSubstr("<img")));
  EXPECT_THAT(svg, HasSubstr("data-table=\"people\""));
  EXPECT_THAT(svg, HasSubstr("points=\"84.0,262.0 986.0,14.0 \""));
  EXPECT_THAT(svg, HasSubstr("cx=\"535.0\" cy=\"138.0\" r=\"3.6\""));
}

TEST(HtmlChart, KeepsTheWorstOfEachPiece) {
  const std::vector<double> values{3, 1, 2, 9, 8, 7, 0, 5};
  const auto worst = [&](std::size_t most, double least) {
    return worst_of_pieces(
        values.size(), most, [&](std::size_t i) { return values[i] >= least; },
        [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  };
  EXPECT_THAT(worst(100, 0), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(worst(3, 0), ElementsAre(1, 5, 6));
  EXPECT_THAT(worst(3, 2), ElementsAre(2, 5, 7));
  EXPECT_THAT(worst(3, 10), IsEmpty());
}

}  // namespace
}  // namespace msrun::html
