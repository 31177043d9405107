// Calls of two models whose layers have other names, paired by the places of the layers (graph_visualization.md 8).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernels/io/dump/companions.h"
#include "tools/recordings/recording.h"

namespace msrun::recordings {

// Class of a layer -> names below it, on the target and on the golden side.
using LayerRules = std::unordered_map<std::string, std::vector<std::pair<std::string, std::string>>>;

// What becomes of a key that is there twice: nobody can tell which was meant, or, as with msProbe, the last counts.
enum class RepeatedKeys : std::uint8_t { refused, last_counts };

// Throws UserError for a file that is not such a mapping; name stands in messages.
LayerRules parse_layer_rules(const std::string& name, std::string_view text, RepeatedKeys repeated);

// Target call -> golden call; an empty text where it has none. Calls without a place are left out.
std::unordered_map<std::string, std::string> map_calls_by_layer(const Recording& target, const Recording& golden,
                                                                const LayerRules& rules);

// A name of a mapping file that no layer of the target has, where the file gives it.
struct UnusedLayerRule {
  std::string name;
  std::size_t line = 0;
};

std::vector<UnusedLayerRule> unused_layer_rules(const Recording& target, const std::string& name,
                                                std::string_view text);

// Name of a target row -> name of a golden row; nothing where it has none. text is the mapping file's; what of it names
// nothing is put into unused. Throws UserError for a file that is no mapping and, unless the last of repeated keys
// counts, for a recording of which no layers are known.
std::unordered_map<std::string, std::optional<std::string>> map_rows_by_layer(
    const Recording& target, const Recording& golden, std::string_view text, const std::string& name,
    RepeatedKeys repeated, std::vector<UnusedLayerRule>& unused);

}  // namespace msrun::recordings
