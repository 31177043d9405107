// Any bytes as stack.json and as construct.json: what can be asked for, or one UserError.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "kernels/io/dump/companions.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(companions_fuzz) {
  using namespace msrun;
  try {
    const recordings::Stacks stacks = recordings::read_stacks("fuzz.json", InputPieces(data, size));
    static_cast<void>(stacks.lines("Functional.embedding.0.forward"));
  } catch (const UserError&) {
  }
  try {
    const recordings::Construct construct = recordings::read_construct("fuzz.json", InputPieces(data, size));
    // A circle of modules ends as well.
    if (construct.chain("Functional.embedding.0.forward").empty()) std::abort();
  } catch (const UserError&) {
  }
  return 0;
}
