// Any bytes as stack.json and as construct.json: what can be asked for, or one UserError.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include "tools/recordings/companions.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace msrun;
  std::size_t at = 0;
  const auto source = [&](std::span<char> target) {
    const std::size_t count = std::min(target.size(), size - at);
    if (count > 0) std::memcpy(target.data(), data + at, count);
    at += count;
    return count;
  };
  try {
    const recordings::Stacks stacks = recordings::read_stacks("fuzz.json", source);
    static_cast<void>(stacks.lines("Functional.embedding.0.forward"));
  } catch (const UserError&) {
  }
  at = 0;
  try {
    const recordings::Construct construct = recordings::read_construct("fuzz.json", source);
    // A circle of modules ends as well.
    if (construct.chain("Functional.embedding.0.forward").empty()) std::abort();
  } catch (const UserError&) {
  }
  return 0;
}
