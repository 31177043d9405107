// The metrics of two tensor files (dump_compare.md 8), in one pass over both.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/common/memory_budget.h"
#include "tools/dump_compare/tensor_source.h"

namespace msrun::dump_compare {

inline constexpr std::size_t metric_count = 6;
enum Metric : std::uint8_t {
  cosine,
  euclidean_distance,
  max_absolute_error,
  max_relative_error,
  one_thousandth,
  five_thousandths
};

// A number, or a word in its place.
struct MetricCell {
  const char* word = "unsupported";  // nullptr: the number counts
  double number = 0;

  void set(double value) {
    word = nullptr;
    number = value;
  }
};

enum class Weight : std::uint8_t { none, warning, error };

struct MetricMessage {
  Weight weight = Weight::none;
  std::string text;  // as msProbe words it
};

struct TensorMetrics {
  std::array<MetricCell, metric_count> cells{};
  std::vector<MetricMessage> messages;
  bool empty = false;   // the files hold no element
  std::string problem;  // which file cannot be read, and why; empty: both can

  void all_are(const char* word) {
    for (MetricCell& cell : cells) cell.word = word;
  }
};

// What the search for the first divergence asks of two tensors (15.1).
struct TensorGap {
  bool readable = false;
  bool same_shape = false;
  double gap = 0;  // largest |t - g| over largest |g|; infinite where NaN or infinities lie elsewhere
};

// compat: as msProbe, which ignores the signs of infinities and imaginary parts. Never throws for what a file holds.
// Waits until both files fit into the memory.
TensorMetrics compare_tensor_files(const TensorFile& target, const TensorFile& golden, bool compat,
                                   MemoryBudget& memory);
TensorGap gap_of_tensor_files(const TensorFile& target, const TensorFile& golden, MemoryBudget& memory);
// Sum of the elements, each as a whole number; nothing if the file cannot be read or does not hold whole numbers.
std::optional<std::int64_t> sum_of_tensor_file(const TensorFile& file);

}  // namespace msrun::dump_compare
