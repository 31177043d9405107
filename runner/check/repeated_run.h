// A call on the device several times over, with the same inputs: whether its bits are the same each time.
#pragma once

#include <cstdint>
#include <optional>

#include "runner/check/checksums.h"

namespace msrun {

struct RepeatedRun {
  DeviceResult first;
  Checksums checksums;             // of the first
  std::optional<Repeats> repeats;  // of more than one run
};

// Runs call.run, call.run + 1, ...; of the results behind the first no more is kept than their checksums. Throws what
// the device throws in the first run. A later one that the device refuses counts as one that differs, unless it lacks
// memory on the host.
RepeatedRun run_repeatedly(Device& device, DeviceCall call, std::uint32_t runs);

}  // namespace msrun
