// The page of a comparison of two recordings, in a browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "kernels/base/text.h"
#include "tests/tools/browser.h"
#include "tests/tools/browser_steps.h"
#include "tests/tools/dump_compare_support.h"

namespace msrun::testing {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

fs::path only_page(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".html") return entry.path();
  }
  ADD_FAILURE() << "there is no page in " << folder;
  return {};
}

class DumpComparePage : public ::testing::Test {
 protected:
  void SetUp() override {
    if (browser().empty()) GTEST_SKIP() << "no Chromium on this machine";
  }

  // What is seen on the page of a pair of the recordings.
  nlohmann::json seen_of(const std::string& pair, const std::string& steps, const std::string& options = "") {
    const Finished run =
        run_tool("dump_compare",
                 {"-tp", compare_data(pair + "/target/dump.json"), "-gp", compare_data(pair + "/golden/dump.json"),
                  "-o", (scratch_ / "out").string(), "--html", "--first-divergence"},
                 scratch_.path());
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return seen_in_browser(only_page(scratch_ / "out"), steps, scratch_, options);
  }

  const TemporaryDirectory scratch_;
};

TEST_F(DumpComparePage, ShowsTheWorstFirstAndFilters) {
  const nlohmann::json seen = seen_of("01_stat_fp32", R"(
    const rows = () => [...document.querySelectorAll('#rows tr.row')].map((row) => [...row.cells].map((cell) => cell.innerText));
    const count = () => text('#rows-count');
    seen.facts = text('ul.facts');
    seen.divergence = [...document.querySelectorAll('section')][0].innerText;
    seen.results = rows().slice(0, 5).map((row) => row[0]);
    seen.worst = rows()[0][2];
    seen.count = count();
    document.querySelector('input[value=green]').click();
    seen.bad = count();
    const search = document.getElementById('rows-search');
    search.value = 'silu';
    search.dispatchEvent(new Event('input'));
    seen.found = rows().map((row) => row[2]);
    document.querySelector('#rows tr.row').focus();
    key('Enter');
    seen.details = document.querySelector('#rows tr.details').innerText;
    seen.expanded = document.querySelector('#rows tr.row').getAttribute('aria-expanded');
    document.querySelector('input[value=green]').click();
    search.value = '';
    search.dispatchEvent(new Event('input'));
    document.querySelector('th[data-title=Order] button').click();
    seen.order = rows().slice(0, 3).map((row) => row[1]);
    document.querySelector('button.more').click();
    seen.all = rows().length;)");
  EXPECT_EQ(seen["facts"], "206 rows 3 error 0 warning 203 pass");
  EXPECT_THAT(seen["divergence"], AllOf(HasSubstr("Functional.silu.0.forward"), HasSubstr("--only Functional.silu.0")));
  EXPECT_THAT(seen["results"].get<Texts>(), ElementsAre("error", "error", "error", "pass", "pass"));
  EXPECT_EQ(seen["worst"], "Functional.silu.0.forward.output.0");
  EXPECT_EQ(seen["count"], "206 of 206 tensors, 200 shown");
  EXPECT_EQ(seen["bad"], "3 of 206 tensors");
  EXPECT_THAT(seen["found"].get<Texts>(), ElementsAre("Functional.silu.0.forward.output.0"));
  EXPECT_THAT(seen["details"], AllOf(HasSubstr("Err_message"), HasSubstr("NPU max"), HasSubstr("NormRelativeErr")));
  EXPECT_EQ(seen["expanded"], "true");
  EXPECT_THAT(seen["order"].get<Texts>(), ElementsAre("1", "2", "3"));
  EXPECT_EQ(seen["all"], 206);
}

TEST_F(DumpComparePage, FitsNarrowScreens) {
  const nlohmann::json seen = seen_of("06_md5", R"(
    seen.tooWide = document.documentElement.scrollWidth > innerWidth;
    seen.sums = [...document.querySelectorAll('#rows thead th')].map((head) => head.innerText.trim()).join();
    seen.first = document.querySelector('#rows tr.row').innerText;)",
                                      "--window-size=500,800");
  EXPECT_EQ(seen["tooWide"], false);
  EXPECT_THAT(seen["sums"], AllOf(HasSubstr("NPU MD5"), HasSubstr("BENCH MD5")));
  EXPECT_THAT(seen["first"], HasSubstr("error"));
}

TEST_F(DumpComparePage, NamesAreTextWhateverTheyHold) {
  const std::string hostile = "Torch.</script><img src=x onerror=\"document.title='hit'\">'&lt;\u202E.0.forward";
  const nlohmann::ordered_json ones = recorded_tensor(1, 1, 1, 2);
  ComparedDumps dumps;
  dumps.write("target", {{hostile, recorded_call({ones}, {recorded_tensor(5, 5, 5, 9)})}});
  dumps.write("golden", {{hostile, recorded_call({ones}, {ones})}});
  ASSERT_EQ(dumps.run({"--html"}).exit_code, 0);
  const nlohmann::json seen = seen_in_browser(only_page(dumps.folder() / "out"), R"(
    document.querySelectorAll('#rows tr.row').forEach((row) => row.click());
    await rest(50);
    seen.images = document.querySelectorAll('img').length;
    seen.title = document.title;
    seen.names = [...document.querySelectorAll('#rows tr.row')].map((row) => row.cells[2].textContent);)",
                                              scratch_);
  EXPECT_EQ(seen["images"], 0);
  EXPECT_EQ(seen["title"], "Comparison of two recordings");
  EXPECT_EQ(seen["names"].size(), 2U);
  EXPECT_THAT(seen["names"].get<Texts>(), Each(HasSubstr(visible(hostile))));
}

}  // namespace
}  // namespace msrun::testing
