// Any bytes as an .npz archive: arrays all of whose elements can be read, or one SkipError.
#include <array>
#include <cstdint>
#include <cstdlib>

#include "kernels/base/error.h"
#include "kernels/io/stored/npz.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(npz_fuzz) {
  using namespace msrun;
  const MemoryFile memory(data, size);
  const InputFile file(memory.path());
  try {
    for (const NpzMember& member : read_npz(file)) {
      const StoredTensor tensor = stored_tensor(member.header);
      TensorReader reader(file, tensor);
      std::array<double, 100> values{};
      std::int64_t count = 0;
      while (const std::size_t some = reader.read(std::span(values))) count += static_cast<std::int64_t>(some);
      if (count != tensor.count) std::abort();
    }
  } catch (const SkipError&) {
  }
  return 0;
}
