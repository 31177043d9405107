#include "runner/check/repeated_run.h"

#include <algorithm>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/tensor/memory.h"
#include "runner/results/agreement.h"

namespace msrun {
namespace {

// Equal results and how many they are.
struct Kind {
  Checksums checksums;
  std::uint32_t count = 1;
};

void count_in(std::vector<Kind>& kinds, Checksums checksums) {
  const auto found = std::ranges::find(kinds, checksums, &Kind::checksums);
  if (found != kinds.end()) {
    ++found->count;
  } else {
    kinds.push_back({std::move(checksums)});
  }
}

// The earliest of the most frequent kinds is the usual one.
void conclude(const std::vector<Kind>& kinds, const OperatorTraits& traits, Repeats& repeats) {
  const Kind& usual = *std::ranges::max_element(kinds, {}, &Kind::count);
  repeats.different = repeats.runs - usual.count;
  repeats.may_vary = repeats.different > 0 && repeats.problem.empty();
  for (const Kind& kind : kinds) {
    if (&kind == &usual) continue;
    if (repeats.output.empty()) repeats.output = first_difference(usual.checksums, kind.checksums);
    repeats.may_vary = repeats.may_vary && may_differ(usual.checksums, kind.checksums, traits);
  }
}

}  // namespace

RepeatedRun run_repeatedly(Device& device, DeviceCall call, std::uint32_t runs) {
  RepeatedRun result;
  result.first = device.run(call);
  result.checksums = checksums_of(result.first, call.traits);
  if (runs < 2) return result;
  Repeats& repeats = result.repeats.emplace();
  repeats.runs = runs;
  std::vector<Kind> kinds{{result.checksums}};
  for (std::uint32_t i = 1; i < runs; ++i) {
    ++call.run;
    const std::uint64_t refused = refused_tensors();
    try {
      count_in(kinds, checksums_of(device.run(call), call.traits));
    } catch (const SkipError& error) {
      if (refused_tensors() != refused) throw;
      if (repeats.problem.empty()) repeats.problem = error.what();
    }
  }
  conclude(kinds, call.traits, repeats);
  return result;
}

}  // namespace msrun
