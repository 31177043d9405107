// Any bytes as a dump file of the graph engine: tensors all of whose elements can be read and measured, or a SkipError.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/io/graph_engine/ge_dump.h"
#include "kernels/io/stored/tensor_statistics.h"
#include "tests/fuzz/support.h"
#include "tests/fuzz/target.h"

FUZZ_TARGET(ge_dump_fuzz) {
  using namespace msrun;
  const MemoryFile memory(data, size);
  const InputFile file(memory.path());
  // As a name, too.
  parse_ge_file_name({reinterpret_cast<const char*>(data), size});
  try {
    read_name_mapping(file);
    const GeDump dump = read_ge_dump(file);
    std::vector<std::byte> buffer(8192);
    for (const std::vector<GeTensor>* tensors : {&dump.inputs, &dump.outputs}) {
      for (const GeTensor& described : *tensors) {
        const StoredTensor tensor = stored_tensor(described, file.path());
        TensorReader reader(file, tensor);
        std::array<float, 100> values{};
        std::int64_t count = 0;
        while (const std::size_t some = reader.read(std::span(values))) count += static_cast<std::int64_t>(some);
        if (count != tensor.count) std::abort();
        if (count == 0) continue;
        const TensorRange range = measure_range(file, tensor, buffer);
        const TensorRange same = measure_statistics(file, tensor, buffer).range;
        // The one walks the memory, the other the logical tensor.
        if (range.type != same.type) std::abort();
        if (!is_complex(range.type)) {
          double a = 0;
          double b = 0;
          load_doubles(range.type, range.smallest.data(), 1, &a);
          load_doubles(range.type, same.smallest.data(), 1, &b);
          if (a != b && (a == a || b == b)) std::abort();
        }
      }
    }
  } catch (const SkipError&) {
  }
  return 0;
}
