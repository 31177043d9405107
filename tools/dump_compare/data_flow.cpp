#include "tools/dump_compare/data_flow.h"

#include <algorithm>
#include <string_view>

#include "tools/dump_compare/divergence.h"
#include "tools/recordings/alignment.h"
#include "tools/recordings/gap.h"
#include "tools/recordings/written_inputs.h"

namespace msrun::dump_compare {

using recordings::Direction;
using recordings::State;

std::vector<std::uint32_t> inputs_of(const Recording& side, const Call& call) {
  std::vector<std::uint32_t> found = recordings::tensors_of(side, call, State::input);
  std::erase_if(found, [&](std::uint32_t leaf) { return recordings::is_only_written(side, call, side.leaves[leaf]); });
  const std::vector<std::uint32_t> parameters = recordings::tensors_of(side, call, State::parameters);
  found.insert(found.end(), parameters.begin(), parameters.end());
  return found;
}

std::vector<std::uint32_t> outputs_of(const Recording& side, const Call& call) {
  std::vector<std::uint32_t> found = recordings::tensors_of(side, call, State::output);
  const std::vector<std::uint32_t> gradients = recordings::tensors_of(side, call, State::parameters_grad);
  found.insert(found.end(), gradients.begin(), gradients.end());
  return found;
}

DataFlow::DataFlow(const Recording& side, bool checksums) : side_(side), checksums_(checksums), forward_calls_(side) {
  for (std::uint32_t call = 0; call < side.calls.size(); ++call) {
    const Call& of = side.calls[call];
    note(producers_, outputs_of(side, of), call);
    note(readers_, inputs_of(side, of), call);
  }
}

void DataFlow::note(Places& places, const std::vector<std::uint32_t>& leaves, std::uint32_t call) const {
  for (const std::uint32_t leaf : leaves) {
    const std::uint64_t content = content_of(leaf);
    if (content != 0) places[content].push_back(call);
  }
}

std::uint64_t DataFlow::content_of(std::uint32_t leaf) const {
  return recordings::content_of(side_, side_.leaves[leaf], checksums_);
}

std::uint32_t DataFlow::producer_of(std::uint32_t leaf, std::uint32_t before) const {
  const auto found = producers_.find(content_of(leaf));
  if (found == producers_.end()) return no_place;
  const auto behind = std::ranges::lower_bound(found->second, before);
  return behind == found->second.begin() ? no_place : *(behind - 1);
}

bool DataFlow::is_read_between(std::uint32_t leaf, std::uint32_t after, std::uint32_t before) const {
  const auto found = readers_.find(content_of(leaf));
  if (found == readers_.end()) return false;
  const auto next = std::ranges::upper_bound(found->second, after);
  return next != found->second.end() && *next < before;
}

std::uint32_t DataFlow::forward_of(std::uint32_t call) const { return forward_calls_.of(side_.calls[call], no_place); }

}  // namespace msrun::dump_compare
