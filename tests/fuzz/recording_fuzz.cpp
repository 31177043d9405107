// Any bytes as dump.json: a recording that keeps its own rules, or one UserError.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"
#include "tools/recordings/alignment.h"
#include "tools/recordings/communication.h"
#include "tools/recordings/recording_reader.h"

namespace {

void check(const msrun::recordings::Recording& recording) {
  using namespace msrun::recordings;
  for (const Call& call : recording.calls) {
    msrun::fuzz_require(call.leaves <= call.leaf_end && call.leaf_end <= recording.leaves.size());
    for (std::uint32_t i = call.leaves; i < call.leaf_end; ++i) {
      const Leaf& leaf = recording.leaves[i];
      msrun::fuzz_require(leaf.suffix < recording.texts.size() && leaf.dtype < recording.texts.size());
      static_cast<void>(recording.row_name(call, leaf));
      static_cast<void>(recording.row_key(call, leaf, true));
      static_cast<void>(elements_of(recording.text(leaf.shape)));
    }
    static_cast<void>(canonical_name(recording, call));
  }
  if (recording.calls.size() > 500) return;
  const Alignment alignment = align(recording, recording, false);
  msrun::fuzz_require(alignment.how.size() == recording.calls.size());
  const RankOrder order({{0, &recording}, {1, &recording}});
  for (std::uint32_t c = 0; c < recording.calls.size(); ++c) {
    msrun::fuzz_require(!order.happens_before({0, c}, {0, c}));
    msrun::fuzz_require(!order.participants({0, c}).empty());
  }
}

}  // namespace

FUZZ_TARGET(recording_fuzz) {
  using namespace msrun;
  for (const bool debug : {false, true}) {
    try {
      check(recordings::read_recording("fuzz.json", InputPieces(data, size), "npu", debug));
    } catch (const UserError&) {
    }
  }
  return 0;
}
