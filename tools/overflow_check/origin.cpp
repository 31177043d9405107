#include "tools/overflow_check/origin.h"

#include <string_view>
#include <unordered_set>

#include "tools/overflow_check/evidence.h"
#include "tools/recordings/written_inputs.h"

namespace msrun::overflow_check {
namespace {

using namespace recordings;

// The suffix of the first tensor of that kind that is not finite, "input.1" or "weight"; empty if there is none.
std::string holder_of(const Recording& side, const Call& call, State state) {
  constexpr std::string_view of_parameter = ".parameters.";
  for (std::uint32_t i = call.leaves; i < call.leaf_end; ++i) {
    const Leaf& leaf = side.leaves[i];
    if (!leaf.tensor || leaf.state != state || is_only_written(side, call, leaf)) continue;
    if (!found_in_leaf(side, leaf).any()) continue;
    std::string_view suffix = side.text(leaf.suffix);
    suffix.remove_prefix(suffix.starts_with(of_parameter) ? of_parameter.size() : 1);
    return std::string(suffix);
  }
  return {};
}

}  // namespace

void name_module(const Recording& recording, const Construct* construct, Anomaly& anomaly) {
  const Evidence evidence(recording);
  const std::uint32_t seen_by = anomaly.call;
  const Call& call = recording.calls[seen_by];
  if (!evidence.inputs(seen_by).any()) return;
  std::unordered_set<std::string> around;
  if (construct != nullptr) {
    for (const std::string& name : construct->chain(recording.name(call))) around.insert(name);
  }
  for (std::uint32_t c = seen_by; c < recording.calls.size(); ++c) {
    const Call& module = recording.calls[c];
    if (!module.module || module.direction != call.direction) continue;
    if (construct != nullptr && !around.contains(std::string(recording.name(module)))) continue;
    if (evidence.arguments(c).any() || !evidence.outputs(c).any()) continue;
    const std::string parameter = holder_of(recording, module, State::parameters);
    // A call that makes NaN of an infinity is to blame itself, unless the infinity is a parameter.
    if (anomaly.source == Source::none && parameter.empty()) return;
    anomaly.call = c;
    anomaly.source = parameter.empty() ? Source::inside : Source::parameters;
    if (c != seen_by) anomaly.seen_by = seen_by;
    anomaly.holder = parameter.empty() ? holder_of(recording, call, State::input) : parameter;
    return;
  }
}

}  // namespace msrun::overflow_check
