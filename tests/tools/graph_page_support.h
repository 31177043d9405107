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

// Opens the page in a browser and does there what steps says: the body of an asynchronous JavaScript function, which
// puts what it sees into the object `seen`. It may use rest(milliseconds), key(name, options), text(selector), lines()
// (the words of the boxes in sight) and panel() (a promise that the panel shows the selected node). options are further
// ones of the browser.
nlohmann::json seen_on(const graph::GraphPage& page, const std::string& steps, const std::string& options = "");

}  // namespace msrun::testing
