#include <algorithm>

#include "tools/shrink/steps.h"

namespace msrun::shrink {
namespace {

// Tensors that nothing names any more are no part of the recording.
void forget_unused(Recording& recording) {
  std::vector<std::string> used = argument_files(recording);
  for (const std::string& file : gradient_files(recording)) used.push_back(file);
  std::erase_if(recording.data, [&](const auto& entry) { return std::ranges::find(used, entry.first) == used.end(); });
}

bool try_without(Best& best, Attempts& attempts, Recording candidate) {
  forget_unused(candidate);
  return fit(candidate, {}) && improve(best, attempts, std::move(candidate));
}

}  // namespace

void drop_backward(Best& best, Attempts& attempts) {
  if (!best.recording.call.has_backward) return;
  Recording candidate = best.recording;
  candidate.call.has_backward = false;
  candidate.call.grad_inputs.clear();
  forget_unused(candidate);
  improve(best, attempts, std::move(candidate));
}

void drop_arguments(Best& best, Attempts& attempts) {
  for (std::size_t i = best.recording.call.kwargs.size(); i-- > 0;) {
    Recording candidate = best.recording;
    candidate.call.kwargs.erase(candidate.call.kwargs.begin() + static_cast<std::ptrdiff_t>(i));
    try_without(best, attempts, std::move(candidate));
  }
  // From the end: what stands behind an argument keeps its place.
  for (std::size_t i = best.recording.call.args.size(); i-- > 1;) {
    Recording candidate = best.recording;
    if (i + 1 == candidate.call.args.size()) {
      candidate.call.args.pop_back();
    } else if (!candidate.call.args[i].is_none()) {
      candidate.call.args[i] = None{};
    } else {
      continue;
    }
    try_without(best, attempts, std::move(candidate));
  }
}

}  // namespace msrun::shrink
