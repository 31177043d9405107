#include "runner/results/counts.h"

#include <array>
#include <cstdio>

namespace msrun {

Status overall_status(Status forward, std::optional<Status> backward) {
  if (forward == Status::skip) return Status::skip;
  if (forward == Status::error || backward == Status::error) return Status::error;
  if (forward == Status::warning || backward == Status::warning) return Status::warning;
  return Status::pass;
}

void VerdictCounts::add(const ApiResult& result) {
  const Status forward = result.forward;
  const std::optional<Status> backward = result.backward;
  if (result.rounding_only) ++rounding_only;
  switch (overall_status(forward, backward)) {
    case Status::pass:
      ++pass;
      return;
    case Status::warning:
      ++warning;
      return;
    case Status::skip:
      ++skip;
      return;
    case Status::error:
      break;
  }
  ++error;
  if (forward != Status::error) {
    ++backward_error;
  } else if (backward == Status::error) {
    ++both_error;
  } else {
    ++forward_error;
  }
}

std::string VerdictCounts::passing_rate() const {
  if (total() == 0) return "0%";
  std::array<char, 32> buffer;
  std::snprintf(buffer.data(), buffer.size(), "%.2f%%",
                100.0 * static_cast<double>(pass) / static_cast<double>(total()));
  return buffer.data();
}

}  // namespace msrun
