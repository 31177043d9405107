#include <limits>

#include "kernels/compare/metrics/blocks.h"
#include "kernels/compare/metrics/metrics.h"

namespace msrun {
namespace {

// Two's complement difference of a dtype narrower than 64 bits, sign-extended (zero-extended for uint8 and bool).
std::int64_t wrapped_distance(DType dtype, std::uint64_t difference) {
  const auto absolute = [](auto value) {
    using T = decltype(value);
    return static_cast<std::int64_t>(static_cast<T>(value < 0 ? 0 - static_cast<std::uint64_t>(value) : value));
  };
  switch (dtype) {
    case DType::int8:
      return absolute(static_cast<std::int8_t>(difference));
    case DType::int16:
      return absolute(static_cast<std::int16_t>(difference));
    case DType::int32:
      return absolute(static_cast<std::int32_t>(difference));
    case DType::int64:
      return absolute(static_cast<std::int64_t>(difference));
    default:
      return static_cast<std::uint8_t>(difference);
  }
}

}  // namespace

IntegerMetrics integer_metrics(const Tensor& bench, const Tensor& device, bool wrap) {
  IntegerMetrics result;
  std::array<std::int64_t, block_size<std::int64_t>> bench_block;
  std::array<std::int64_t, block_size<std::int64_t>> device_block;
  Reader bench_reader(bench);
  Reader device_reader(device);
  const DType promoted = promote(bench.dtype(), device.dtype());
  const std::int64_t count = device.numel();
  std::uint64_t widest = 0;
  std::int64_t widest_wrapped = std::numeric_limits<std::int64_t>::min();
  for (std::int64_t done = 0; done < count; done += block_size<std::int64_t>) {
    const auto n = static_cast<std::size_t>(std::min(block_size<std::int64_t>, count - done));
    bench_reader.read(bench_block.data(), static_cast<std::int64_t>(n));
    device_reader.read(device_block.data(), static_cast<std::int64_t>(n));
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t b = bench_block[i];
      const std::int64_t d = device_block[i];
      result.unequal += d != b ? 1 : 0;
      const std::uint64_t difference = static_cast<std::uint64_t>(d) - static_cast<std::uint64_t>(b);
      widest = std::max(widest, d > b ? difference : 0 - difference);
    }
    if (!wrap) continue;
    for (std::size_t i = 0; i < n; ++i) {
      const auto difference = static_cast<std::uint64_t>(device_block[i]) - static_cast<std::uint64_t>(bench_block[i]);
      widest_wrapped = std::max(widest_wrapped, wrapped_distance(promoted, difference));
    }
  }
  result.max_abs_difference = wrap ? static_cast<double>(widest_wrapped) : static_cast<double>(widest);
  return result;
}

std::int64_t zero_count(const Tensor& tensor) {
  std::array<double, block_size<double>> block;
  Reader reader(tensor);
  std::int64_t zeros = 0;
  for (std::int64_t done = 0; done < tensor.numel(); done += block_size<double>) {
    const std::int64_t n = std::min(block_size<double>, tensor.numel() - done);
    reader.read(block.data(), n);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) zeros += block[i] == 0 ? 1 : 0;
  }
  return zeros;
}

}  // namespace msrun
