// The page of a graph: how two trees become rows, and what people do on the page, in a browser. One
// browser serves all of them, hence longer than other files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/support/msrun_process.h"
#include "tests/support/test_paths.h"
#include "tests/tools/browser.h"
#include "tests/tools/browser_steps.h"
#include "tests/tools/graph_page_support.h"
#include "tools/graph/page/graph_page.h"
#include "tools/graph/page/rows.h"

namespace msrun::graph {
namespace {

using msrun::testing::browser;
using msrun::testing::page_of_vis;
using msrun::testing::seen_in_browser;
using msrun::testing::seen_on;
using msrun::testing::TemporaryDirectory;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;
using Texts = std::vector<std::string>;

json vis(const std::string& name) {
  return json::parse(msrun::testing::read_file(msrun::testing::test_data("/graph/expected/v1.2.1/" + name + ".vis")));
}

// A tree of a root and its children; a child is named by the place of its partner, or "" if it has none.
PageTree flat_tree(const std::vector<std::optional<std::uint32_t>>& partners) {
  PageTree tree;
  tree.nodes.resize(partners.size() + 1);
  tree.nodes[0].name = "DefaultModel";
  tree.nodes[0].partner = 0;
  for (std::uint32_t i = 1; i <= partners.size(); ++i) {
    tree.nodes[i].name = "node" + std::to_string(i);
    tree.nodes[i].partner = partners[i - 1];
    tree.nodes[0].children.push_back(i);
  }
  tree.details = [](std::uint32_t) { return PageDetails(); };
  return tree;
}

// Rows below the root as "target:bench".
Texts rows_of(const PageTree& target, const PageTree& bench) {
  Texts texts;
  for (const PageRow& row : page_rows(target, &bench)) {
    if (row.depth == 0) continue;
    texts.push_back((row.target == no_node ? "" : std::to_string(row.target)) + ":" +
                    (row.bench == no_node ? "" : std::to_string(row.bench)));
  }
  return texts;
}

TEST(PageRows, MatchedChildrenShareRows) {
  EXPECT_THAT(rows_of(flat_tree({1, std::nullopt, 3}), flat_tree({1, std::nullopt, 3})),
              ElementsAre("1:1", "2:", ":2", "3:3"));
}

TEST(PageRows, OthersHaveRowsOfTheirOwnOnBothSides) {
  // The first of the target is the last of the bench: the two that keep their order share rows.
  EXPECT_THAT(rows_of(flat_tree({3, 1, 2}), flat_tree({2, 3, 1})), ElementsAre("1:", "2:1", "3:2", ":3"));
  EXPECT_THAT(rows_of(flat_tree({}), flat_tree({std::nullopt})), ElementsAre(":1"));
}

TEST(PageRows, OneOfSeveralThatShareAPartnerSharesItsRow) {
  EXPECT_THAT(rows_of(flat_tree({1, 1}), flat_tree({2})), ElementsAre("1:", "2:1"));
  EXPECT_THAT(rows_of(flat_tree({1, 1}), flat_tree({1})), ElementsAre("1:1", "2:"));
}

TEST(PageRows, RootsWithoutPartnersStandBelowEachOther) {
  PageTree target = flat_tree({});
  PageTree bench = flat_tree({});
  target.nodes[0].partner.reset();
  bench.nodes[0].partner.reset();
  const auto rows = page_rows(target, &bench);
  ASSERT_THAT(rows, SizeIs(2));
  EXPECT_EQ(rows[0].bench, no_node);
  EXPECT_EQ(rows[1].target, no_node);
}

TEST(PageRows, TreesThatAreNoneAreRefused) {
  const PageTree one = flat_tree({1});
  EXPECT_THROW(page_rows(one, nullptr), std::logic_error);  // a partner, but no other tree
  PageTree tree = flat_tree({std::nullopt, std::nullopt});
  tree.nodes[0].partner.reset();
  EXPECT_THAT(page_rows(tree, nullptr), SizeIs(3));
  tree.nodes[1].children = {0};
  EXPECT_THROW(page_rows(tree, nullptr), std::logic_error);  // a cycle
  tree.nodes[1].children = {2};
  EXPECT_THROW(page_rows(tree, nullptr), std::logic_error);  // reached twice
  tree.nodes[1].children = {7};
  EXPECT_THROW(page_rows(tree, nullptr), std::logic_error);
  tree.nodes[1].children.clear();
  tree.nodes[0].children.pop_back();
  EXPECT_THROW(page_rows(tree, nullptr), std::logic_error);  // not reached
  PageTree bench = flat_tree({std::nullopt});
  EXPECT_THROW(page_rows(one, &bench), std::logic_error);  // a partner that has none
  EXPECT_THROW(page_rows(PageTree(), nullptr), std::logic_error);
}

TEST(GraphPage, NeedsNothingElse) {
  const TemporaryDirectory scratch;
  const json data = vis("pt_stat_oc");
  write_graph_page((scratch / "g.html").string(), page_of_vis(data));
  const std::string html = msrun::testing::read_file(scratch / "g.html");
  for (const char* outside : {"http://", "https://", " src=", " href=", "@import", "url(", "fetch("}) {
    EXPECT_THAT(html, Not(HasSubstr(outside)));
  }
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
}

TEST(GraphPage, LevelsThatAreNotThereAreRefused) {
  const TemporaryDirectory scratch;
  GraphPage page;
  page.target = flat_tree({});
  page.target.nodes[0].partner.reset();
  page.target.nodes[0].level = 0;
  EXPECT_THROW(write_graph_page((scratch / "g.html").string(), page), std::logic_error);
  EXPECT_FALSE(msrun::testing::fs::exists(scratch / "g.html"));
}

class InABrowser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (browser().empty()) GTEST_SKIP() << "no Chromium on this machine";
  }
};
using GraphPageInABrowser = InABrowser;

TEST_F(GraphPageInABrowser, OpensExpandsAndCollapses) {
  const json data = vis("pt_stat_oc");
  const json seen = seen_on(page_of_vis(data), R"(
    seen.ready = document.documentElement.dataset.ready;
    seen.heads = text('#heads');
    seen.legend = [...document.querySelectorAll('.chip')].map((chip) => chip.innerText).join('|');
    seen.overview = text('#details');
    seen.start = lines();
    const line = (name) => [...document.querySelectorAll('.cell[data-side="0"]')].find((cell) => cell.title === name);
    const attention = 'Module.module.module.layers.1.self_attention.SelfAttention.forward.0';
    document.getElementById('close-all').click();
    seen.closed = line(attention) === undefined;
    document.getElementById('open-all').click();
    seen.all = view.count;
    select(graph.sides[0].row[graph.sides[0].names.indexOf(attention)]);
    await panel();
    const before = view.count;
    line(attention).querySelector('.caret').click();
    seen.fewer = before - view.count;
    seen.expanded = line(attention).parentElement.getAttribute('aria-expanded');
    line(attention).dispatchEvent(new MouseEvent('dblclick', { bubbles: true }));
    seen.again = view.count;
    seen.boxes = document.querySelectorAll('.box').length > 40;
    seen.address = decodeURIComponent(location.hash);)");
  EXPECT_EQ(seen["ready"], "92");
  EXPECT_THAT(seen["heads"], AllOf(HasSubstr("/runs/npu/"), HasSubstr("/runs/gpu/")));
  EXPECT_EQ(seen["legend"],
            "good 69|20 % 0|40 % 0|60 % 0|80 % 16|not compared 1|only in target 4|only in bench 2|NaN/Inf critical 1");
  EXPECT_THAT(seen["overview"], AllOf(HasSubstr("17 nodes are suspicious"), HasSubstr("6 nodes have no partner")));
  EXPECT_THAT(seen["start"].get<Texts>(), Contains("\u25BE DefaultModel \u25BE DefaultModel"));
  EXPECT_EQ(seen["closed"], true);
  EXPECT_EQ(seen["all"], 92);
  EXPECT_EQ(seen["fewer"], 9);
  EXPECT_EQ(seen["expanded"], "false");
  EXPECT_EQ(seen["again"], 92);
  EXPECT_EQ(seen["boxes"], true);
  EXPECT_EQ(seen["address"], "#Module.module.module.layers.1.self_attention.SelfAttention.forward.0");
}

TEST_F(GraphPageInABrowser, JumpsToThePlantedProblem) {
  const json data = vis("pt_stat_oc");
  const json seen = seen_on(page_of_vis(data), R"(
    seen.visited = [];
    const scroller = document.getElementById('scroller');
    scroller.focus();
    for (let i = 0; i < 3; ++i) { key('n'); seen.visited.push(fullName(view.selected)); }
    await panel();
    seen.count = text('#bad-count');
    seen.panel = text('#details');
    const line = document.getElementById(scroller.getAttribute('aria-activedescendant'));
    seen.active = line.getAttribute('aria-selected') + ' ' + line.querySelector('.cell').title;
    const place = line.getBoundingClientRect(), frame = scroller.getBoundingClientRect();
    seen.inSight = place.top >= frame.top && place.bottom <= frame.bottom;
    seen.focus = document.activeElement.id;
    key('p');
    seen.back = fullName(view.selected);
    document.getElementById('bad-next').click();
    seen.button = fullName(view.selected);
    document.getElementById('tab-suspicious').click();
    seen.list = [...document.querySelectorAll('#list .entry')].map((entry) => entry.title);
    document.querySelectorAll('#list .entry')[0].click();
    seen.chosen = fullName(view.selected);)");
  EXPECT_THAT(seen["visited"].get<Texts>(),
              ElementsAre("Functional.softmax.1.forward", "Functional.linear.5.forward", "Functional.gelu.1.forward"));
  EXPECT_EQ(seen["count"], "3 of 8");
  EXPECT_THAT(
      seen["panel"],
      AllOf(HasSubstr("Functional.gelu.1.forward"), HasSubstr("precision index 0.9370279574837197"),
            HasSubstr("target bench difference relative"), HasSubstr("Max 1.446538 0.761336 0.685202 89.999998%"),
            HasSubstr("input.approximate"), HasSubstr("input.approximate str tanh"),
            HasSubstr("tiny_gpt.py, line 101, in forward out = gelu(x) # mlp")));
  EXPECT_EQ(seen["active"], "true Functional.gelu.1.forward");
  EXPECT_EQ(seen["inSight"], true);
  EXPECT_EQ(seen["focus"], "scroller");
  EXPECT_EQ(seen["back"], "Functional.linear.5.forward");
  EXPECT_EQ(seen["button"], "Functional.gelu.1.forward");
  EXPECT_THAT(seen["list"].get<Texts>(), SizeIs(8));
  EXPECT_EQ(seen["chosen"], seen["list"][0]);
}

TEST_F(GraphPageInABrowser, SearchesFiltersAndListsUnmatchedNodes) {
  const json data = vis("pt_stat_oc");
  const json seen = seen_on(page_of_vis(data), R"(
    key('/');
    const find = document.getElementById('find');
    seen.focus = document.activeElement.id;
    find.value = 'GELU forward';
    find.dispatchEvent(new Event('input'));
    seen.found = text('#found-count');
    seen.visited = [];
    for (let i = 0; i < 3; ++i) { key('Enter'); seen.visited.push(fullName(view.selected)); }
    seen.position = text('#found-count');
    key('Escape');
    seen.cleared = find.value + text('#found-count') + document.activeElement.id;
    find.value = 'no such name';
    find.dispatchEvent(new Event('input'));
    seen.nothing = text('#found-count');
    const open = view.open.join('');
    const chip = document.querySelector('.chip[data-kind="only in target"]');
    chip.click();
    seen.filtered = [...new Set([...document.querySelectorAll('.box.unmatched')].map((box) => box.style.top))].length;
    seen.visible = lines().filter((line) => line.includes('unmatched'));
    seen.pressed = chip.getAttribute('aria-pressed');
    document.getElementById('show-all').click();
    seen.restored = view.open.join('') === open;
    document.getElementById('scroller').focus();
    key('Home');
    seen.unmatched = [];
    for (let i = 0; i < 6; ++i) { key('u'); seen.unmatched.push(fullName(view.selected)); }
    await panel();
    seen.panel = text('#details');
    document.getElementById('tab-unmatched').click();
    seen.list = [...document.querySelectorAll('#list .entry')].map((entry) => entry.title);)");
  EXPECT_EQ(seen["focus"], "find");
  EXPECT_EQ(seen["found"], "2 matches");
  EXPECT_THAT(seen["visited"].get<Texts>(),
              ElementsAre("Functional.gelu.0.forward", "Functional.gelu.1.forward", "Functional.gelu.0.forward"));
  EXPECT_EQ(seen["position"], "1 of 2 matches");
  EXPECT_EQ(seen["cleared"], "scroller");
  EXPECT_EQ(seen["nothing"], "0 matches");
  EXPECT_EQ(seen["filtered"], 4);
  EXPECT_THAT(seen["visible"].get<Texts>(), SizeIs(4));
  EXPECT_EQ(seen["pressed"], "true");
  EXPECT_EQ(seen["restored"], true);
  EXPECT_THAT(seen["unmatched"].get<Texts>(), Contains("Tensor.contiguous.0.forward"));
  EXPECT_THAT(seen["panel"], HasSubstr("only in the "));
  EXPECT_EQ(seen["list"], seen["unmatched"]);
}

TEST_F(GraphPageInABrowser, IsUsableByKeysAlone) {
  const json data = vis("pt_stat_oc");
  const json seen = seen_on(page_of_vis(data), R"(
    const scroller = document.getElementById('scroller');
    const name = () => fullName(view.selected);
    scroller.focus();
    key('Home'); seen.home = name();
    key('ArrowLeft'); seen.collapsed = view.count;
    key('ArrowRight'); seen.expanded = view.count > 1;
    key('ArrowRight'); seen.child = name();
    key('ArrowDown'); seen.down = name();
    key('*'); seen.below = view.open.slice(view.selected, graph.end[view.selected]).every((open) => open === 1);
    key('ArrowUp'); seen.up = name();
    key('End'); seen.end = view.place[view.selected] === view.count - 1;
    const last = view.selected;
    if (view.open[last]) key('ArrowLeft');
    key('ArrowLeft'); seen.parent = view.selected === graph.parent[last];
    key('PageDown'); key('PageUp'); seen.top = name();
    key('Enter'); key(' '); seen.twice = view.open[view.selected] === 1;
    seen.roles = [scroller.getAttribute('role'), document.querySelector('.line').getAttribute('role'), document.querySelector('.cell').getAttribute('role'),
      document.querySelector('.line').getAttribute('aria-level'), scroller.getAttribute('aria-rowcount') === String(view.count)].join(' ');
    key('?'); seen.help = document.getElementById('help').open;
    seen.keys = text('#help-text');
    document.getElementById('help').close();
    document.getElementById('splitter').focus();
    key('ArrowLeft'); seen.size = document.getElementById('splitter').getAttribute('aria-valuenow');
    document.getElementById('tab-node').focus();
    key('ArrowRight'); seen.tab = document.activeElement.id + ' ' + document.activeElement.getAttribute('aria-selected');
    scroller.focus();
    seen.outline = getComputedStyle(scroller).outlineStyle;
    seen.named = [...document.querySelectorAll('button, input, select, [role=separator], [role=treegrid]')].filter((one) => !one.hidden && !(one.getAttribute('aria-label') || one.innerText || one.title)).length;)");
  EXPECT_EQ(seen["home"], "DefaultModel");
  EXPECT_EQ(seen["collapsed"], 1);
  EXPECT_EQ(seen["expanded"], true);
  EXPECT_EQ(seen["child"], "Apis_Between_Modules.0");
  EXPECT_EQ(seen["down"].get<std::string>().empty(), false);
  EXPECT_EQ(seen["below"], true);
  EXPECT_EQ(seen["up"], "Apis_Between_Modules.0");
  EXPECT_EQ(seen["end"], true);
  EXPECT_EQ(seen["parent"], true);
  EXPECT_EQ(seen["top"], "DefaultModel");
  EXPECT_EQ(seen["twice"], true);
  EXPECT_EQ(seen["roles"], "treegrid row gridcell 1 true");
  EXPECT_EQ(seen["help"], true);
  EXPECT_THAT(seen["keys"], HasSubstr("next and previous suspicious node"));
  EXPECT_EQ(seen["size"], "41");
  EXPECT_EQ(seen["tab"], "tab-suspicious true");
  EXPECT_EQ(seen["outline"], "solid");
  EXPECT_EQ(seen["named"], 0);
}

TEST_F(GraphPageInABrowser, IsLightOrDarkWideOrNarrowAndPrints) {
  const json data = vis("pt_stat_oc");
  const std::string steps = R"(
    const back = () => getComputedStyle(document.body).backgroundColor;
    seen.before = back();
    document.querySelector('button.theme').click();
    seen.other = back();
    document.querySelector('button.theme').click();
    seen.again = back();
    seen.sides = document.getElementById('sides').value;
    seen.wide = document.documentElement.scrollWidth <= innerWidth;
    document.getElementById('open-all').click();
    seen.few = lines().length;
    dispatchEvent(new Event('beforeprint'));
    seen.printed = lines().length;
    dispatchEvent(new Event('afterprint'));
    seen.after = lines().length;)";
  const json seen = seen_on(page_of_vis(data), steps, "--window-size=1400,700");
  EXPECT_NE(seen["before"], seen["other"]);
  EXPECT_EQ(seen["before"], seen["again"]);
  EXPECT_EQ(seen["sides"], "both");
  EXPECT_EQ(seen["wide"], true);
  EXPECT_LT(seen["few"], 60);
  EXPECT_EQ(seen["printed"], 92);
  EXPECT_EQ(seen["after"], seen["few"]);
  const json narrow = seen_on(page_of_vis(data), steps, "--window-size=500,800");
  EXPECT_EQ(narrow["sides"], "target");
  EXPECT_EQ(narrow["wide"], true);
}

TEST_F(GraphPageInABrowser, NamesAreTextWhateverTheyHold) {
  const std::string hostile = "</script><img src=x onerror=\"document.title='hit'\">'\"&amp;`${1}\n\\";
  const std::string unseen = std::string("a\0b", 3) + "\u202Egnp\u2028\xFF<";
  GraphPage page;
  page.title = hostile;
  page.lines = {hostile};
  page.facts = {{hostile, hostile}};
  page.levels = {{hostile, hostile, 4, true}};
  page.metrics = {{hostile, hostile, "", ""}};
  page.target = flat_tree({1});
  page.bench = flat_tree({1});
  page.target.title = hostile;
  page.target.nodes[1].name = hostile;
  page.target.nodes[1].level = 0;
  page.bench->nodes[1].name = unseen;
  page.target.details = [&](std::uint32_t) {
    return PageDetails{.inputs = {{hostile, {{hostile, hostile}, {"dtype", unseen}}}},
                       .outputs = {},
                       .facts = {{hostile, hostile}},
                       .suggestions = {{hostile, hostile}},
                       .stack = {hostile}};
  };
  const json seen = seen_on(page, R"(
    select(1);
    await panel();
    await rest(50);
    seen.images = document.querySelectorAll('img').length;
    seen.title = document.title;
    seen.target = graph.sides[0].names[1];
    seen.bench = graph.sides[1].names[1];
    seen.cells = [...document.querySelectorAll('.line.selected .name')].map((name) => name.textContent);
    seen.panel = document.getElementById('details').textContent;
    document.getElementById('find').value = 'ONERROR';
    search();
    seen.found = found.rows.length;)");
  EXPECT_EQ(seen["images"], 0);
  EXPECT_THAT(seen["title"], HasSubstr("</script><img"));
  EXPECT_EQ(seen["target"], hostile);
  EXPECT_EQ(seen["bench"], std::string("a\0b", 3) + "\u202Egnp\u2028\uFFFD<");
  ASSERT_THAT(seen["cells"].get<Texts>(), SizeIs(2));
  EXPECT_EQ(seen["cells"][1], "a\u27E8U+0000\u27E9b\u27E8U+202E\u27E9gnp\u27E8U+2028\u27E9\uFFFD<");
  EXPECT_THAT(seen["panel"], HasSubstr("</script><img src=x onerror=\"document.title='hit'\">"));
  EXPECT_THAT(seen["panel"], Not(HasSubstr("\u202E")));
  EXPECT_EQ(seen["found"], 1);
}

TEST_F(GraphPageInABrowser, ShowsOneGraphAndItsOverflow) {
  const json data = vis("overflow");
  const json seen = seen_on(page_of_vis(data), R"(
    seen.legend = [...document.querySelectorAll('.chip')].map((chip) => chip.innerText).join('|');
    seen.tabs = text('#tabs');
    seen.sides = document.getElementById('sides').hidden;
    document.getElementById('bad-next').click();
    await panel();
    seen.bad = fullName(view.selected);
    seen.panel = text('#details');
    document.querySelector('.chip[data-kind="NaN/Inf high"]').click();
    seen.high = lines();)");
  EXPECT_EQ(seen["legend"], "NaN/Inf critical 2|NaN/Inf high 3|NaN/Inf medium 4");
  EXPECT_EQ(seen["tabs"], "Node Suspicious 1");
  EXPECT_EQ(seen["sides"], true);
  EXPECT_EQ(seen["bad"], "Torch.exp.0.forward");
  EXPECT_THAT(seen["panel"], AllOf(HasSubstr("NaN/Inf critical"), HasSubstr("Min -inf")));
  EXPECT_THAT(seen["high"].get<Texts>(), SizeIs(5));  // three calls, the module and the root
}

TEST_F(GraphPageInABrowser, ShowsOneMicroStep) {
  const json data = vis("micro");
  const json seen = seen_on(page_of_vis(data), R"(
    document.getElementById('open-all').click();
    seen.all = view.count;
    const micro = document.getElementById('micro');
    seen.hidden = micro.hidden;
    seen.steps = [...micro.options].map((option) => option.text);
    micro.value = '1';
    micro.dispatchEvent(new Event('change'));
    seen.names = [...document.querySelectorAll('.cell[data-side="0"]')].map((cell) => cell.title);)");
  EXPECT_EQ(seen["hidden"], false);
  EXPECT_THAT(seen["steps"].get<Texts>(), ElementsAre("all micro steps", "micro step 0", "micro step 1"));
  EXPECT_THAT(seen["names"].get<Texts>(), Contains("Module.net.Net.forward.1"));
  EXPECT_THAT(seen["names"].get<Texts>(), Not(Contains("Module.net.Net.forward.0")));
}

TEST_F(GraphPageInABrowser, AClosedBoxIsAsBadAsTheWorstInIt) {
  const json data = vis("pt_stat_oc");
  const json seen = seen_on(page_of_vis(data), R"(
    const row = graph.sides[0].row[graph.sides[0].names.indexOf('Module.module.module.layers.1.mlp.MLP.forward.0')];
    graph.sides[0].levels[graph.node[0][row]] = 0;
    categorise();
    const look = () => {
      select(row);
      return document.querySelector('#row-' + row + ' .cell[data-side="0"]');
    };
    setOpen(row, false);
    seen.closed = look().className;
    seen.words = look().innerText;
    setOpen(row, true);
    seen.open = look().className;)");
  EXPECT_THAT(seen["closed"], HasSubstr("heat4"));
  EXPECT_THAT(seen["words"], HasSubstr("inside"));
  EXPECT_THAT(seen["open"], AllOf(HasSubstr("heat0"), Not(HasSubstr("heat4"))));
}

TEST_F(GraphPageInABrowser, GoesToAPartnerElsewhere) {
  GraphPage page;
  page.target = flat_tree({2, 1});
  page.bench = flat_tree({2, 1});
  const json seen = seen_on(page, R"(
    select(graph.sides[0].row[2]);
    await panel();
    const twin = graph.node[1][view.selected] >= 0;
    if (twin) select(graph.sides[0].row[1]);
    await panel();
    seen.here = fullName(view.selected);
    seen.panel = text('#details');
    key('m');
    seen.there = nameOf(1, view.selected);
    seen.row = graph.node[0][view.selected];
    key('m');
    seen.back = fullName(view.selected);)");
  EXPECT_THAT(seen["panel"], HasSubstr("matched elsewhere"));
  EXPECT_EQ(seen["row"], -1);
  EXPECT_NE(seen["here"], seen["there"]);
  EXPECT_EQ(seen["back"], seen["here"]);
}

TEST_F(GraphPageInABrowser, OpensWhatTheCommandWrites) {
  const TemporaryDirectory scratch;
  const auto folder = [](const char* name) {
    return msrun::testing::test_data(std::string("/graph/dumps/pt_stat/") + name);
  };
  const msrun::testing::Finished run = msrun::testing::run_tool(
      "graph",
      {"-tp", folder("npu"), "-gp", folder("bench"), "-o", (scratch / "out").string(), "--format", "html", "-oc"},
      scratch.path());
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const json seen = seen_in_browser(msrun::testing::only_file(scratch / "out", "compare_"), R"(
    seen.title = document.title;
    seen.facts = text('ul.facts');
    document.getElementById('find').value = 'gelu.1.forward';
    search();
    jump(found.rows, true);
    while (details.dataset.node !== fullName(view.selected)) await rest(10);
    seen.panel = text('#details');
    seen.suspicious = graph.suspicious.map(fullName);
    seen.unmatched = graph.unmatched.map(fullName);
    seen.critical = document.querySelector('.chip[data-kind="NaN/Inf critical"]').innerText;)",
                                    scratch);
  EXPECT_EQ(seen["title"], "Graph of two recordings");
  EXPECT_THAT(seen["facts"], HasSubstr("90 nodes"));
  EXPECT_THAT(seen["panel"], AllOf(HasSubstr("Functional.gelu.1.forward error"),
                                   HasSubstr("The NormRelativeErr of output is greater than 0.5."),
                                   HasSubstr("1.446538 0.761336"), HasSubstr("tiny_gpt.py, line 101")));
  EXPECT_THAT(seen["suspicious"].get<Texts>(), Contains("Functional.gelu.1.forward"));
  EXPECT_THAT(seen["suspicious"].get<Texts>(), Contains("Functional.softmax.1.forward"));
  EXPECT_THAT(seen["unmatched"].get<Texts>(), Contains("Tensor.contiguous.0.forward"));
  EXPECT_EQ(seen["critical"], "NaN/Inf critical 1");
}

}  // namespace
}  // namespace msrun::graph
