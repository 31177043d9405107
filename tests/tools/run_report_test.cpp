// The report of a run as a browser shows it: of 300 calls, and of a hundred thousand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "runner/report/report.h"
#include "tests/runner/report/support.h"
#include "tests/tools/browser.h"

namespace msrun {
namespace {

using testing::browser;
using testing::document_of;
using ::testing::HasSubstr;
using testing::TemporaryDirectory;
using testing::write_file;

// Calls of a few APIs: some suspicious, some that failed to run, the rest sound.
std::vector<std::string> run_of(std::uint32_t calls) {
  constexpr std::array apis{"Functional.linear", "Torch.matmul", "Tensor.__add__", "Functional.softmax", "Torch.sum"};
  std::vector<std::string> records{start_note()};
  for (std::uint32_t task = 0; task < calls; ++task) {
    const std::string name = std::string(apis[task % apis.size()]) + "." + std::to_string(task / apis.size());
    if (task % 100 == 41) {
      records.push_back(encode(testing::suspicious_result(task, name)));
    } else if (task % 100 == 57) {
      records.push_back(encode(
          testing::failed_result(task, name, "The runner of device 0 died while running this API: x, attempt 3.")));
    } else {
      records.push_back(encode(testing::sound_result(task, name)));
    }
  }
  return records;
}

std::string page_of(const std::vector<std::string>& records, std::size_t calls) {
  const TemporaryDirectory scratch;
  const auto path = testing::write_journal(scratch / "accuracy_checking_20261121071535.journal",
                                           testing::report_metadata(calls), records);
  return report::report_page(*journal::open_source(path), "20261121071535", {});
}

// What these steps note down in the page; hash is what stands behind its address, options are further ones of the
// browser.
std::string seen(const std::string& page, const std::string& steps, const std::string& hash = "",
                 const std::string& options = "") {
  const TemporaryDirectory scratch;
  const std::string script =
      "<script>{ const seen = []; const text = (selector) => document.querySelector(selector)?.textContent; "
      "const click = (selector) => document.querySelector(selector).dispatchEvent(new MouseEvent('click', { bubbles: "
      "true })); "
      "const type = (words) => { const box = document.getElementById('search'); box.value = words; "
      "box.dispatchEvent(new Event('input')); }; "
      "const names = () => [...document.querySelectorAll('.grid .row .name')].slice(0, 3).map((cell) => "
      "cell.textContent).join(); " +
      steps + " document.body.dataset.seen = seen.join(' | '); }</script></body>";
  std::string copy = page;
  // The address of a file has no fragment on the command line of every browser.
  if (!hash.empty()) copy.insert(copy.find("<script type"), "<script>location.hash = '" + hash + "';</script>");
  copy.replace(copy.rfind("</body>"), std::string("</body>").size(), script);
  write_file(scratch / "page.html", copy);
  const std::string document = document_of(scratch / "page.html", scratch, options);
  const std::size_t at = document.find("data-seen=\"");
  if (at == std::string::npos) return "the steps have not come to their end";
  return document.substr(at + 11, document.find('"', at + 11) - at - 11);
}

constexpr const char* steps = R"(
  seen.push(text('#conclusion'));
  seen.push('all: ' + text('#count') + ' ' + names());
  type('linear (3, 8)');
  seen.push('search: ' + text('#count') + ' ' + names());
  type('api:Torch.matmul');
  seen.push('api: ' + text('#count') + ' ' + names());
  type('no such call');
  seen.push('nothing: ' + text('.grid .nothing'));
  type('');
  click('[data-standing=f]');
  seen.push('failed: ' + text('#count') + ' ' + names());
  click('[data-standing=f]');
  document.getElementById('dtype').value = 'bfloat16';
  document.getElementById('dtype').dispatchEvent(new Event('change'));
  seen.push('dtype: ' + text('#count'));
  document.getElementById('dtype').value = '';
  document.getElementById('dtype').dispatchEvent(new Event('change'));
  click('[data-title="#"] button');
  seen.push('order: ' + names());
  click('[data-title=Call] button');
  seen.push('by name: ' + names());
  click('[data-title=Call] button');
  seen.push('reverse: ' + names());
  click('#cards button');
  seen.push('card: ' + text('#count'));
  click('.grid .row');
  seen.push('panel: ' + text('#panel h3.title') + ', ' + document.querySelectorAll('#panel svg.map rect').length + ' squares, ' +
    document.querySelectorAll('#panel svg.histogram').length + ' histograms, ' + location.hash);
  seen.push('failed metric: ' + text('#panel tr.failed td:nth-child(2)') + ' ' + text('#panel tr.failed td:nth-child(3)') + ' ' + text('#panel tr.failed td:nth-child(4)'));
  seen.push('again: ' + text('#panel .command code'));
  document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
  seen.push('closed: ' + document.getElementById('panel').hidden + ' ' + location.hash);
  seen.push('rows in the document: ' + (document.querySelectorAll('.grid .row').length < 100));
)";

// As on a screen of 420 points: browsers without a screen have no window that is narrower than 500.
TEST(ReportPage, OnANarrowScreenCutsNothingOff) {
  if (browser().empty()) GTEST_SKIP() << "no browser is installed";
  constexpr const char* measures = R"(
    document.body.style.zoom = 1.2;
    const panel = document.getElementById('panel');
    const tables = [...document.querySelectorAll('.group .scroll')];
    seen.push('tables: ' + (tables.length > 2) + ', too wide: ' + tables.filter((box) => box.scrollWidth > box.clientWidth).length);
    const letters = [...panel.querySelectorAll('svg.histogram text')];
    const isCut = (text) => { const box = text.getBBox(); return box.x < 0 || box.x + box.width > text.ownerSVGElement.viewBox.baseVal.width; };
    seen.push('labels: ' + (letters.length > 6) + ', cut off: ' + letters.filter(isCut).map((text) => text.textContent).join());
    seen.push('page: ' + (document.documentElement.scrollWidth <= innerWidth));
  )";
  const std::string notes = seen(page_of(run_of(300), 300), measures, "#api=Torch.matmul.8", "--window-size=500,900");
  EXPECT_EQ(notes, "tables: true, too wide: 0 | labels: true, cut off:  | page: true");
}

TEST(ReportPage, Of300CallsIsSearchedSortedFilteredAndLinked) {
  if (browser().empty()) GTEST_SKIP() << "no browser is installed";
  const std::string page = page_of(run_of(300), 300);
  const std::string notes = seen(page, steps);
  EXPECT_THAT(notes, HasSubstr("3 of 297 checked calls are suspicious, in 1 API; look at Torch.matmul.8 first: "
                               "Opposite signs: every wrong element. 3 calls failed to run. |"));
  EXPECT_THAT(notes, HasSubstr("all: 300 of 300 calls Torch.matmul.8,Torch.matmul.28,Torch.matmul.48 |"));
  EXPECT_THAT(notes, HasSubstr("search: 0 of 300 calls  |"));
  EXPECT_THAT(notes, HasSubstr("api: 60 of 300 calls Torch.matmul.8,Torch.matmul.28,Torch.matmul.48 |"));
  EXPECT_THAT(notes, HasSubstr("nothing: No call fits these filters. |"));
  EXPECT_THAT(notes, HasSubstr("failed: 3 of 300 calls Tensor.__add__.11,Tensor.__add__.31,Tensor.__add__.51 |"));
  EXPECT_THAT(notes, HasSubstr("order: Functional.linear.0,Torch.matmul.0,Tensor.__add__.0 |"));
  EXPECT_THAT(notes, HasSubstr("by name: Functional.linear.0,Functional.linear.1,Functional.linear.2 |"));
  EXPECT_THAT(notes, HasSubstr("reverse: Torch.sum.59,Torch.sum.58,Torch.sum.57 |"));
  EXPECT_THAT(notes, HasSubstr("card: 3 of 300 calls |"));
  EXPECT_THAT(notes, HasSubstr("16 squares, 2 histograms, #api=Torch.matmul."));
  EXPECT_THAT(notes, HasSubstr("failed metric: Cosine Similarity 0.9812 "));
  EXPECT_THAT(notes, HasSubstr("again: msrun -api_info /data/secret/dump.json --backend sim --only Torch.matmul."));
  EXPECT_THAT(notes, HasSubstr("closed: true  |"));
  EXPECT_THAT(notes, HasSubstr("rows in the document: true"));
}

TEST(ReportPage, OpensAtTheCallOfItsAddress) {
  if (browser().empty()) GTEST_SKIP() << "no browser is installed";
  const std::string page = page_of(run_of(300), 300);
  EXPECT_THAT(seen(page, "seen.push(text('#panel h3.title'), document.getElementById('panel').hidden);",
                   "#api=Torch.matmul.28"),
              HasSubstr("Torch.matmul.28suspicious | false"));
  EXPECT_THAT(seen(page, "seen.push(text('#panel h3.title'), text('#panel .why'));", "#api=Tensor.__add__.31"),
              HasSubstr("died while running this API"));
  // An API shows all of its calls.
  EXPECT_THAT(seen(page, "seen.push(text('#count'), document.getElementById('panel').hidden);", "#api=Torch.sum"),
              HasSubstr("60 of 300 calls | true"));
}

TEST(ReportPage, Of100000CallsStaysSmallAndIsSearchedSortedFilteredAndLinked) {
  if (browser().empty()) GTEST_SKIP() << "no browser is installed";
  const std::string page = page_of(run_of(100'000), 100'000);
  EXPECT_LT(page.size(), 5'000'000U);
  const std::string notes = seen(page, steps);
  EXPECT_THAT(notes, HasSubstr("1,000 of 99,000 checked calls are suspicious, in 1 API;"));
  EXPECT_THAT(notes, HasSubstr("api: 20,000 of 100,000 calls "));
  EXPECT_THAT(notes, HasSubstr("failed: 1,000 of 100,000 calls "));
  EXPECT_THAT(notes, HasSubstr("reverse: Torch.sum.19999,Torch.sum.19998,Torch.sum.19997 |"));
  EXPECT_THAT(notes, HasSubstr("card: 1,000 of 100,000 calls |"));
  EXPECT_THAT(notes, HasSubstr("rows in the document: true"));
  EXPECT_THAT(seen(page, "seen.push(text('#panel h3.title'));", "#api=Torch.matmul.19988"),
              HasSubstr("Torch.matmul.19988suspicious"));
}

TEST(ReportPage, ShowsWhereCallsAreAndCutsNoNames) {
  if (browser().empty()) GTEST_SKIP() << "no browser is installed";
  const TemporaryDirectory scratch;
  const std::string api = "Functional.a_call_with_a_name_that_is_longer_than_what_most_columns_hold";
  const std::string call = "\"" + api + ".0.forward\"";
  write_file(scratch / "construct.json", "{" + call + R"j(: "Module.net.layers.0.up.Linear.forward.0",
    "Module.net.layers.0.rnn.LSTM.forward.0": null, "Module.net.layers.0.up.Linear.forward.0": null})j");
  write_file(scratch / "stack.json",
             R"({"0": [[)" + call + R"j(], ["File /a/net.py, line 7, in forward, \n y = f(x)"]]})j");
  write_file(scratch / "dump.json", R"({"data": {}})");
  nlohmann::ordered_json metadata = testing::report_metadata(4);
  metadata["api_info"] = scratch / "dump.json";
  const auto by_rule = [](std::uint32_t task, const std::string& name) {
    return encode(
        skip_result(task, name, "API " + name + " not support for acc_check. SKIP.", Outcome::skipped_by_rule));
  };
  const auto path = testing::write_journal(
      scratch / "accuracy_checking_20261121071535.journal", metadata,
      {encode(testing::suspicious_result(0, api + ".0")), encode(testing::sound_result(1, "Torch.mul.0")),
       by_rule(2, "Distributed.all_reduce.0"), by_rule(3, "Distributed.broadcast.0")});
  const std::string page = report::report_page(*journal::open_source(path), "20261121071535", {});
  const std::string notes = seen(page, R"j(
    const cell = (column) => '.grid .row > :nth-child(' + column + ')';
    const cells = [...document.querySelectorAll(cell(2)), ...document.querySelectorAll(cell(3))];
    seen.push('cells: ' + cells.length + ', cut: ' + cells.filter((one) => one.scrollWidth > one.clientWidth).length);
    seen.push('module: ' + text(cell(3)));
    type('layers.0.up net.py:7');
    seen.push('found: ' + text('#count'));
    seen.push('place: ' + text('.call .place'));
    seen.push('error: ' + text(cell(7)));
    seen.push('not recorded: ' + text('#unrecorded li'));
    seen.push('not checked: ' + [...document.querySelectorAll('#unchecked li')].map((item) => item.textContent).join());
  )j");
  EXPECT_THAT(notes, HasSubstr("cells: 8, cut: 0 |"));
  EXPECT_THAT(notes, HasSubstr("module: net.layers.0.up.Linear |"));
  EXPECT_THAT(notes, HasSubstr("found: 1 of 4 calls |"));
  EXPECT_THAT(notes, HasSubstr("place: in net.layers.0.up.Linear \xC2\xB7 /a/net.py:7 in forward: y = f(x) |"));
  EXPECT_THAT(notes, HasSubstr("error: abs 7.2 |"));
  EXPECT_THAT(notes, HasSubstr("not recorded: net.layers.0.rnn.LSTM |"));
  EXPECT_THAT(notes, HasSubstr("not checked: 2by rule API Distributed.* not support for acc_check. SKIP."));
}

TEST(ReportPage, ShowsHostileNamesAsText) {
  if (browser().empty()) GTEST_SKIP() << "no browser is installed";
  const std::string hostile = "Torch.</script><img src=x onerror='document.title=1'>&amp;.0";
  const std::string page = page_of({encode(testing::suspicious_result(0, hostile))}, 1);
  const std::string notes =
      seen(page,
           "seen.push(document.querySelectorAll('img').length, document.title, text('.grid .row .name') === "
           "\"Torch.</script\" + \"><img src=x onerror='document.title=1'>&amp;.0\");");
  EXPECT_THAT(notes, HasSubstr("0 | Accuracy check of secret/dump.json | true"));
}

}  // namespace
}  // namespace msrun
