#include "kernels/io/stored/tensor_statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>

#include "kernels/io/files/zip.h"

namespace msrun {
namespace {

constexpr std::size_t lanes = 8;     // independent sums, which compilers turn into vector code
constexpr std::size_t block = 2048;  // elements that are converted and added at a time

// What is measured of the elements as float64.
class ElementSums {
 public:
  // elements are of the type; any number of them.
  void add(NumpyType type, const std::byte* elements, std::size_t count) {
    for (std::size_t first = 0; first < count; first += block) {
      const std::size_t size = std::min(block, count - first);
      load_doubles(type, elements + first * size_of(type), size, values_.data());
      add_block(size);
    }
  }
  double sum() const { return sum_; }
  double squares() const { return squares_; }
  std::uint64_t nan_count() const { return nan_count_; }
  std::uint64_t infinity_count() const { return infinity_count_; }

 private:
  void add_block(std::size_t size) {
    std::array<double, lanes> sums{};
    std::array<double, lanes> square_sums{};
    for (std::size_t i = size; i % lanes != 0 && i < block; ++i) values_[i] = 0;
    for (std::size_t i = 0; i < size; i += lanes) {
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        sums[lane] += values_[i + lane];
        square_sums[lane] += values_[i + lane] * values_[i + lane];
      }
    }
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      sum_ += sums[lane];
      squares_ += square_sums[lane];
    }
    std::uint64_t nan = 0;
    std::uint64_t infinite = 0;
    for (std::size_t i = 0; i < size; ++i) {
      const std::uint64_t magnitude = std::bit_cast<std::uint64_t>(values_[i]) << 1;
      constexpr std::uint64_t infinity = std::uint64_t{0x7FF0000000000000} << 1;
      nan += magnitude > infinity ? 1 : 0;
      infinite += magnitude == infinity ? 1 : 0;
    }
    nan_count_ += nan;
    infinity_count_ += infinite;
  }

  std::array<double, block> values_;
  double sum_ = 0;
  double squares_ = 0;
  std::uint64_t nan_count_ = 0;
  std::uint64_t infinity_count_ = 0;
};

}  // namespace

TensorStatistics measure_statistics(const InputFile& file, const StoredTensor& tensor, std::span<std::byte> buffer) {
  need_elements(file, tensor);
  buffer = aligned(buffer);
  TensorStatistics statistics;
  ElementSums sums;
  const std::unique_ptr<RangeCollector> collector = range_collector(tensor.type);
  TensorReader reader(file, tensor);
  while (const std::size_t count = reader.read(buffer)) {
    statistics.checksum = crc32(buffer.first(count * size_of(tensor.type)), statistics.checksum);
    statistics.count += count;
    collector->add(buffer.data(), count);
    sums.add(tensor.type, buffer.data(), count);
  }
  statistics.range = collector->result();
  load_doubles(tensor.type, statistics.range.smallest.data(), 1, &statistics.smallest);
  load_doubles(tensor.type, statistics.range.largest.data(), 1, &statistics.largest);
  statistics.mean = sums.sum() / static_cast<double>(statistics.count);
  statistics.l2_norm = std::sqrt(sums.squares());
  statistics.nan_count = sums.nan_count();
  statistics.infinity_count = sums.infinity_count();
  return statistics;
}

std::array<double, TensorStatistics::column_count> TensorStatistics::columns() const {
  return {smallest,
          largest,
          mean,
          l2_norm,
          static_cast<double>(nan_count),
          static_cast<double>(infinity_count),
          static_cast<double>(count),
          static_cast<double>(checksum)};
}

TensorStatistics TensorStatistics::from_columns(std::span<const double, column_count> columns) {
  // A damaged file may hold any numbers.
  const auto whole = [](double value, double limit) {
    return value >= 0 && value <= limit ? static_cast<std::uint64_t>(value) : std::uint64_t{0};
  };
  TensorStatistics statistics;
  statistics.smallest = columns[0];
  statistics.largest = columns[1];
  statistics.mean = columns[2];
  statistics.l2_norm = columns[3];
  statistics.nan_count = whole(columns[4], 0x1p53);
  statistics.infinity_count = whole(columns[5], 0x1p53);
  statistics.count = whole(columns[6], 0x1p53);
  statistics.checksum = static_cast<std::uint32_t>(whole(columns[7], 0xFFFFFFFF));
  return statistics;
}

}  // namespace msrun
