#include "kernels/compare/exact_results.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/compare/blocks.h"

namespace msrun {

std::int64_t lost_signs_of_zero(const Tensor& bench, const Tensor& device) {
  Reader of_bench(bench);
  Reader of_device(device);
  constexpr std::int64_t block = block_size<double>;
  std::array<double, block> expected;
  std::array<double, block> found;
  std::int64_t lost = 0;
  std::int64_t size = 0;
  for (std::int64_t done = 0; done < bench.numel(); done += size) {
    size = std::min(block, bench.numel() - done);
    of_bench.read(expected.data(), size);
    of_device.read(found.data(), size);
    for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
      const bool both_zero = (expected[i] == 0) & (found[i] == 0);
      lost += both_zero & std::signbit(expected[i]) & !std::signbit(found[i]) ? 1 : 0;
    }
  }
  return lost;
}

}  // namespace msrun
