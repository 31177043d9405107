// The page of large and of deep graphs: what is in the document does not grow with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/tools/browser.h"
#include "tests/tools/graph_page_support.h"
#include "tools/graph/page/graph_page.h"

namespace msrun::graph {
namespace {

using msrun::testing::browser;
using msrun::testing::large_page;
using msrun::testing::seen_on;
using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(GraphPageSize, HoldsAHundredThousandNodes) {
  if (browser().empty()) GTEST_SKIP() << "no Chromium on this machine";
  constexpr std::uint32_t layers = 5000;
  const json seen = seen_on(large_page(layers, 3333), R"(
    seen.ready = Number(document.documentElement.dataset.ready);
    seen.milliseconds = document.documentElement.dataset.milliseconds;
    const most = () => document.querySelectorAll('*').length;
    seen.elements = [most()];
    const timed = (action) => { const begin = performance.now(); action(); document.body.offsetHeight; seen.elements.push(most()); return performance.now() - begin; };
    seen.expand = timed(() => setOpen(1, true));
    seen.all = timed(() => setAll(true));
    seen.scroll = timed(() => { scroller.scrollTop = view.height / 2; render(); });
    seen.middle = lines().length;
    seen.jump = timed(() => jump(graph.suspicious, true));
    await panel();
    seen.name = fullName(view.selected);
    seen.panel = text('#details');
    document.getElementById('find').value = 'linear';
    seen.search = timed(search);
    seen.found = found.rows.length;
    document.getElementById('tab-found').click();
    seen.elements.push(most());)");
  std::cout << "100,002 nodes on either side: shown after " << seen["milliseconds"].get<std::string>() << " ms, expand "
            << seen["expand"] << " ms, expand all " << seen["all"] << " ms\n";
  EXPECT_EQ(seen["ready"], layers * 20 + 2);
  for (const json& elements : seen["elements"]) EXPECT_LT(elements, 3000);
  EXPECT_GT(seen["middle"], 10);
  EXPECT_EQ(seen["name"], "Functional.gelu.66671.forward");
  EXPECT_THAT(seen["panel"], AllOf(HasSubstr("80 % precision index 0.9375"), HasSubstr("line 271, in forward")));
  EXPECT_EQ(seen["found"], 3 * layers);
}

// Modules within modules, the innermost with a call.
PageTree deep_tree(std::uint32_t depth) {
  PageTree tree;
  tree.nodes.resize(depth + 1);
  for (std::uint32_t i = 0; i <= depth; ++i) {
    tree.nodes[i].name = "Module.part" + std::to_string(i) + ".Part.forward.0";
    tree.nodes[i].partner = i;
    if (i < depth) tree.nodes[i].children.push_back(i + 1);
  }
  tree.nodes[0].name = "DefaultModel";
  tree.nodes[depth].name = "Functional.relu.0.forward";
  tree.nodes[depth].kind = PageNodeKind::api;
  tree.details = [](std::uint32_t) { return PageDetails(); };
  return tree;
}

TEST(GraphPageSize, ShowsWhatLiesDeep) {
  if (browser().empty()) GTEST_SKIP() << "no Chromium on this machine";
  constexpr std::uint32_t depth = 5000;
  GraphPage page;
  page.target = deep_tree(depth);
  page.bench = deep_tree(depth);
  const json seen = seen_on(page, R"(
    setAll(true);
    select(graph.count - 1);
    await panel();
    seen.elements = document.querySelectorAll('*').length;
    seen.name = fullName(view.selected);
    seen.last = lines().length;
    seen.boxes = document.querySelectorAll('.box').length;
    const edges = [...document.querySelectorAll('.box')].map((box) => box.getBoundingClientRect().left);
    seen.enclosed = edges.some((edge) => edge < 40) && edges.some((edge) => edge > 100);
    seen.crumbs = [...document.getElementById('crumbs').children].map((crumb) => crumb.innerText);
    document.getElementById('crumbs').children[1].click();
    seen.up = fullName(view.selected);)");
  EXPECT_LT(seen["elements"], 3000);
  EXPECT_LT(seen["boxes"], 500);
  EXPECT_GT(seen["last"], 10);
  EXPECT_TRUE(seen["enclosed"]);
  EXPECT_EQ(seen["name"], "Functional.relu.0.forward");
  ASSERT_EQ(seen["crumbs"].size(), 16U);
  EXPECT_THAT(seen["crumbs"][3].get<std::string>(), HasSubstr("4"));
  EXPECT_THAT(seen["crumbs"][3].get<std::string>(), HasSubstr("more"));
  EXPECT_EQ(seen["up"], "Module.part1.Part.forward.0");
}

}  // namespace
}  // namespace msrun::graph
