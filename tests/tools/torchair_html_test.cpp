// The HTML report of torchair_compare: what stands in it, that it needs nothing else, and that it works in a browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tests/tools/browser.h"
#include "tools/torchair_compare/html_report.h"
#include "tools/torchair_compare/report.h"
#include "tools/torchair_compare/reported_row.h"

namespace msrun::torchair {
namespace {

using testing::browser;
using testing::document_of;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TemporaryDirectory;
using testing::fs::path;

const path trees = path(testing::test_data()) / "torchair/trees";

// The HTML report of the reference tree.
path reference_report(const TemporaryDirectory& scratch) {
  const testing::Finished finished =
      testing::msrun({"compare", "-m", "torchair", "-tp", (trees / "ge_on/msprobe_ge_dump").string(), "-gp",
                      (trees / "fx_post710/msprobe_fx_dump").string(), "-o", (scratch / "out").string(), "--html"},
                     scratch.path());
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  for (const auto& entry : testing::fs::directory_iterator(scratch / "out")) {
    if (entry.path().extension() == ".html") return entry.path();
  }
  ADD_FAILURE() << "no HTML report";
  return {};
}

nlohmann::json data_of(const std::string& html) {
  const std::string begin = "<script type=\"application/json\">";
  const std::size_t at = html.find(begin) + begin.size();
  return nlohmann::json::parse(html.substr(at, html.find("</script>", at) - at));
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(HtmlReport, HoldsEveryRowWithItsColour) {
  const TemporaryDirectory scratch;
  const std::string html = testing::read_file(reference_report(scratch));
  const nlohmann::json data = data_of(html);
  ASSERT_EQ(data["titles"].size(), 4U + 46U + 1U);
  ASSERT_EQ(data["rows"].size(), 176U);
  const auto at = [&](const nlohmann::json& row, const std::string& title) {
    const auto found = std::find(data["titles"].begin(), data["titles"].end(), title);
    return row[static_cast<std::size_t>(found - data["titles"].begin())].get<std::string>();
  };
  std::map<std::string, int> marks;
  for (const nlohmann::json& row : data["rows"]) {
    const std::string mark = at(row, "Mark");
    ++marks[mark];
    EXPECT_EQ(mark == "red", at(row, "Result") == "FAIL");
    if (mark != "red" && at(row, "Cosine") != "N/A") {
      const bool near = std::stod(at(row, "Cosine")) < 0.999 || std::stod(at(row, "One Thousandth Err Ratio")) < 0.9;
      EXPECT_EQ(mark == "yellow", near) << row.dump();
    }
    EXPECT_THAT(at(row, "my_data_path"), ::testing::StartsWith("worldsize1_global_rank0/"));
    EXPECT_EQ(mark == "green" && at(row, "Err_message").empty(), at(row, "Why").empty()) << row.dump();
  }
  EXPECT_EQ(marks["red"], 12);
  EXPECT_EQ(marks["yellow"], 6);
  // One point for each tensor that has a cosine.
  EXPECT_EQ(count_of(html, "<circle "), 176U - 6U);
  EXPECT_EQ(count_of(html, "<circle class=\"red\""), 12U - 2U);
  EXPECT_THAT(html, HasSubstr("6 tensors without a cosine are in the table only."));
}

TEST(HtmlReport, NeedsNothingElse) {
  const TemporaryDirectory scratch;
  const std::string html = testing::read_file(reference_report(scratch));
  for (const char* outside : {"http://", "https://", " src=", " href=", "@import", "url(", "fetch("}) {
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
}

Row row_named(const std::string& name, double cosine, bool pass) {
  Row row;
  row.api_name = name;
  row.mine.path = "/t/" + name + ",outputs,0";
  row.place = output_place(0);
  DumpMetrics metrics;
  metrics.cosine = cosine;
  metrics.within_thousandth = 1;
  row.metrics = metrics;
  row.verdict = pass ? Verdict::pass : Verdict::fail;
  return row;
}

// The row as the report has it, read back.
std::string why_of(const Row& row) {
  const RowText text = row_text(row);
  RowCells cells;
  cells.read(text.documented + text.before + "0" + text.behind);
  return why(cells);
}

TEST(HtmlReport, SaysWhichLimitARowIsBeyond) {
  Row row = row_named("Add", 0.5, false);
  row.metrics->max_relative_error = 0.25F;
  EXPECT_EQ(why_of(row), "Cosine 0.5: must be at least 0.99; MaxRelativeErr 0.25: must be below 0.01");
  row.metrics->cosine = 1;
  row.note = "3 elements are zero in golden_data but not in my_data.";
  EXPECT_EQ(why_of(row), "MaxRelativeErr 0.25: must be below 0.01; " + row.note);

  EXPECT_EQ(why_of(row_named("Add", 1, true)), "");
  Row close = row_named("Add", 0.998, true);
  close.metrics->within_thousandth = 0.5;
  EXPECT_EQ(why_of(close), "Cosine 0.998: below 0.999; One Thousandth Err Ratio 0.5: below 0.9");

  Row statistics = row_named("Add", 1, false);
  statistics.statistics = true;
  statistics.golden.summary = DumpSummary{.count = 2, .max = 2, .min = 0};
  statistics.mine.summary = DumpSummary{.count = 2, .max = 3, .min = -1};
  EXPECT_EQ(why_of(statistics), "max 3.0 against 2.0, 50.0%: must be below 1%; min -1.0 against 0.0: must be equal");

  Row checksums = row_named("Add", 1, false);
  checksums.mine.md5 = "00000001";
  checksums.golden.md5 = "00000002";
  EXPECT_EQ(why_of(checksums), "checksums 00000001 against 00000002: must be equal");

  Row unreadable = row_named("Add", 1, false);
  unreadable.metrics.reset();
  unreadable.fail_reason = "my_data cannot be parsed.";
  EXPECT_EQ(why_of(unreadable), unreadable.fail_reason);
}

TEST(HtmlReport, NamesAreTextWhateverTheyHold) {
  const TemporaryDirectory scratch;
  Report report(scratch.path().string());
  report.begin_graph();
  const std::string name = "</script><img src=x onerror=\"alert(1)\">&amp;\n\\ \x01";
  report.add(0, {render(row_named(name, 0.5, false), 1)});
  report.sort();
  write_html((scratch / "r.html").string(), {name, name, name, {{name, name}}}, report);
  const std::string html = testing::read_file(scratch / "r.html");
  EXPECT_THAT(html, Not(HasSubstr("<img")));
  EXPECT_EQ(count_of(html, "</script>"), 2U);
  EXPECT_EQ(data_of(html)["rows"][0][4].get<std::string>(), name);
}

TEST(HtmlReport, LargeReportsKeepTheWorstRows) {
  const TemporaryDirectory scratch;
  Report report(scratch.path().string());
  report.begin_graph();
  std::vector<RenderedRow> rows;
  for (std::size_t i = 0; i < max_html_rows + 500; ++i) {
    rows.push_back(render(row_named("op" + std::to_string(i), i % 1000 == 7 ? 0.2 : 1, i % 1000 != 7), i));
  }
  report.add(0, rows);
  report.sort();
  write_html((scratch / "r.html").string(), {"t", "/t", "/g", {}}, report);
  const std::string html = testing::read_file(scratch / "r.html");
  EXPECT_THAT(html, HasSubstr("The table holds the 10000 worst of 10500 tensors"));
  const nlohmann::json data = data_of(html);
  ASSERT_EQ(data["rows"].size(), max_html_rows);
  EXPECT_EQ(data["rows"][0][4], "op7");
  EXPECT_EQ(data["rows"][10][4], "op10007");
  EXPECT_EQ(data["rows"][11][0], "green");
  EXPECT_EQ(count_of(html, "<circle class=\"red\""), 11U);
  EXPECT_LT(count_of(html, "<circle"), 3100U);
}

TEST(HtmlReport, NothingToShow) {
  const TemporaryDirectory scratch;
  Report report(scratch.path().string());
  report.sort();
  write_html((scratch / "r.html").string(), {"t", "/t", "/g", {}}, report);
  EXPECT_EQ(data_of(testing::read_file(scratch / "r.html"))["rows"].size(), 0U);
}

// What a user would do, by a script behind that of the page; what is to be seen after each step stands in the document
// then.
constexpr const char* steps_of_a_user = R"(<script>{
    const seen = [];
    const sorted = () => [...document.querySelectorAll('th[aria-sort]')].map((head) => head.textContent + ' ' + head.getAttribute('aria-sort') + ' ' + getComputedStyle(head.querySelector('button'), '::after').content.trim()).join();
    seen.push('arrow: ' + sorted());
    const names = () => [...document.querySelectorAll('#rows tr.row')].slice(0, 3).map((row) => row.cells[2].textContent + ' ' + row.cells[1].textContent).join('; ');
    const click = (selector) => document.querySelector(selector).dispatchEvent(new MouseEvent('click', { bubbles: true }));
    seen.push('worst: ' + names());
    click('button.first-order');
    seen.push('again: ' + sorted() + names());
    click('th[data-title=Order] button');
    seen.push('order: ' + names());
    click('th[data-title=Order] button');
    seen.push('reverse: ' + names());
    click('th[data-title=Cosine] button');
    seen.push('cosine: ' + names());
    const search = document.getElementById('rows-search');
    search.value = 'exp_33 inputs';
    search.dispatchEvent(new Event('input'));
    seen.push('search: ' + document.getElementById('rows-count').textContent);
    search.value = '';
    search.dispatchEvent(new Event('input'));
    click('input[value=green]');
    seen.push('no green: ' + document.getElementById('rows-count').textContent);
    document.getElementById('rows-choice').value = '1';
    document.getElementById('rows-choice').dispatchEvent(new Event('change'));
    seen.push('token 1: ' + document.getElementById('rows-count').textContent);
    click('#rows tr.row');
    seen.push('why: ' + document.querySelector('#rows tr.row td.message').textContent);
    seen.push('dot: ' + document.querySelector('svg circle.red title').textContent);
    seen.push('details: ' + document.querySelectorAll('#rows tr.details dd').length);
    click('svg circle.red');
    seen.push('point: ' + search.value + ' ' + document.getElementById('rows-count').textContent);
    search.value = 'no such text';
    search.dispatchEvent(new Event('input'));
    seen.push('nothing: ' + document.querySelector('#rows tbody').textContent);
    search.value = '=Add';
    search.dispatchEvent(new Event('input'));
    seen.push('name: ' + [...new Set([...document.querySelectorAll('#rows tr.row')].map((row) => row.cells[2].textContent))].join());
    search.value = '';
    search.dispatchEvent(new Event('input'));
    const marks = () => [...document.querySelectorAll('#rows .mark')].map((mark) => mark.className.split(' ')[1]).filter((mark, i, all) => mark !== all[i - 1]).join();
    click('th[data-title=Mark] button');
    seen.push('marks: ' + marks());
    click('th[data-title=Mark] button');
    seen.push('marks back: ' + marks());
    document.body.dataset.seen = seen.join(' | ');
  }</script></body>)";

// The report after these steps in a browser: what is to be seen, step by step.
std::string seen_by_a_user(const path& report, const TemporaryDirectory& scratch) {
  const std::string end = "</body>";
  std::string html = testing::read_file(report);
  html.replace(html.find(end), end.size(), steps_of_a_user);
  const path copy = scratch / "copy.html";
  testing::write_file(copy, html);
  const std::string document = document_of(copy, scratch);
  const std::string begin = "data-seen=\"";
  const std::size_t at = document.find(begin);
  return at == std::string::npos ? std::string() : document.substr(at, document.find('"', at + begin.size()) - at);
}

TEST(HtmlReport, SortsAndFiltersInABrowser) {
  if (browser().empty()) GTEST_SKIP() << "no Chromium on this machine";
  const TemporaryDirectory scratch;
  const path report = reference_report(scratch);
  EXPECT_THAT(document_of(report, scratch), HasSubstr("data-ready=\"176\""));
  const std::string seen = seen_by_a_user(report, scratch);
  // Before any click, and after the button that sorts so again.
  EXPECT_THAT(seen, HasSubstr("arrow: Result ascending &quot; \xE2\x86\x91&quot; |"));
  EXPECT_THAT(seen, HasSubstr("again: Result ascending &quot; \xE2\x86\x91&quot;Reciprocal_13 42; "));
  EXPECT_THAT(seen, HasSubstr("why: Cosine 0.0: must be at least 0.99; 16 elements are zero in golden_data but not in "
                              "my_data. |"));
  EXPECT_THAT(seen, HasSubstr("dot: SplitV_4 outputs,1, token 0, MaxRelativeErr 0.025756359100341797: must be below "
                              "0.01 |"));
  EXPECT_THAT(seen, HasSubstr("worst: Reciprocal_13 42; Reciprocal_13 130; Quant_15 44 |"));
  EXPECT_THAT(seen, HasSubstr("order: Add 1; Add 2; Add 3 |"));
  EXPECT_THAT(seen, HasSubstr("reverse: Exp_33 176; Exp_33 175; "));
  EXPECT_THAT(seen, HasSubstr("cosine: Quant_15 44; BMM_25 73; "));
  EXPECT_THAT(seen, HasSubstr("search: 2 of 176 tensors |"));
  EXPECT_THAT(seen, HasSubstr("no green: 18 of 176 tensors |"));
  EXPECT_THAT(seen, HasSubstr("token 1: 10 of 176 tensors |"));
  EXPECT_THAT(seen, HasSubstr("details: 4"));
  EXPECT_THAT(seen, HasSubstr("point: =SplitV_4 8 of 176 tensors"));
  EXPECT_THAT(seen, HasSubstr("nothing: No tensor fits these filters."));
  EXPECT_THAT(seen, HasSubstr("name: Add |"));
  EXPECT_THAT(seen, HasSubstr("marks: red,yellow,green |"));
  EXPECT_THAT(seen, HasSubstr("marks back: green,yellow,red"));
}

}  // namespace
}  // namespace msrun::torchair
