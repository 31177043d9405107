// Pages of graphs for tests: those that a .vis file describes, and large ones.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/graph/page/graph_page.h"

namespace msrun::testing {

// The content of a .vis file, of one graph or of two. The page refers to vis.
graph::GraphPage page_of_vis(const nlohmann::json& vis);

// Two matched graphs of layers * 20 + 2 nodes each; one call in the layer of number bad is wrong.
graph::GraphPage large_page(std::uint32_t layers, std::uint32_t bad);

// Does what steps says on the page in a browser (browser_steps.h). They may use lines() (the words of the boxes in
// sight) and panel() (a promise that the panel shows the selected node) as well.
nlohmann::json seen_on(const graph::GraphPage& page, const std::string& steps, const std::string& options = "");

}  // namespace msrun::testing
