#include "tools/recordings/written_inputs.h"

#include <algorithm>
#include <array>

#include "tools/recordings/communication.h"
#include "tools/recordings/gap.h"

namespace msrun::recordings {
namespace {

// What a call writes among its arguments without reading it: memory that may hold anything before.
struct Written {
  std::string_view api;
  std::string_view position;  // ".input.1"
  std::string_view keyword;   // ".input.output"
};

constexpr auto communications = std::to_array<Written>({{"recv", ".input.0", ".input.tensor"},
                                                        {"irecv", ".input.0", ".input.tensor"},
                                                        {"scatter", ".input.0", ".input.tensor"},
                                                        {"gather", ".input.1", ".input.gather_list"},
                                                        {"all_gather", ".input.0", ".input.tensor_list"},
                                                        {"_all_gather_base", ".input.0", ".input.output_tensor"},
                                                        {"all_gather_into_tensor", ".input.0", ".input.output_tensor"},
                                                        {"reduce_scatter", ".input.0", ".input.output"},
                                                        {"_reduce_scatter_base", ".input.0", ".input.output"},
                                                        {"reduce_scatter_tensor", ".input.0", ".input.output"},
                                                        {"all_to_all_single", ".input.0", ".input.output"},
                                                        {"all_to_all", ".input.0", ".input.output_tensor_list"}});
constexpr auto fills = std::to_array<std::string_view>(
    {"copy_", "fill_", "zero_", "normal_", "uniform_", "bernoulli_", "exponential_", "random_"});

// ".input.0" and what is below it, ".input.0.1".
bool is_at(std::string_view suffix, std::string_view place) {
  return suffix.starts_with(place) && (suffix.size() == place.size() || suffix[place.size()] == '.');
}

std::uint64_t content(const Recording& side, const Leaf& leaf) {
  return content_of(side, leaf, leaf.recorded_md5 && leaf.statistics[max_value].kind == Kind::none);
}

// The rank that a broadcast starts from passes on what it has; the others are given something else.
bool is_broadcast_to(const Recording& side, const Call& call, const Leaf& leaf) {
  const std::uint64_t before = content(side, leaf);
  if (before == 0) return false;
  for (std::uint32_t i = call.leaves; i < call.leaf_end; ++i) {
    const Leaf& other = side.leaves[i];
    if (other.state == State::output && other.tensor) return content(side, other) != before;
  }
  return false;
}

}  // namespace

bool is_only_written(const Recording& side, const Call& call, const Leaf& leaf) {
  if (call.direction != Direction::forward || call.module) return false;
  const std::string_view suffix = side.text(leaf.suffix);
  if (is_at(suffix, ".input.out")) return true;
  const std::string_view api = api_of(side.name(call), call);
  if (!is_communication(side, call)) return is_at(suffix, ".input.0") && std::ranges::count(fills, api) > 0;
  if (api == "broadcast") return leaf.tensor && is_broadcast_to(side, call, leaf);
  const auto written = std::ranges::find(communications, api, &Written::api);
  return written != communications.end() && (is_at(suffix, written->position) || is_at(suffix, written->keyword));
}

bool may_hold_anything(std::string_view name) {
  return name.find("Torch.empty") != std::string_view::npos || name.find("Torch.fill") != std::string_view::npos;
}

}  // namespace msrun::recordings
