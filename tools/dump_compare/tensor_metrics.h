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
  // Shares of elements within four units of rounding of half types; they mean something where one_thousandth does.
  double within_bfloat16_noise = 0;
  double within_float16_noise = 0;
  // As TensorGap::gap; negative: not measured.
  double gap = -1;
  bool names_no_files = false;  // neither recording has one
  // Whole numbers that are unequal although they are equal in double precision, in which all else is measured.
  std::int64_t unequal_integers = 0;
  bool empty = false;   // the files hold no element
  std::string problem;  // which file cannot be read, and why; empty: both can

  // All elements of both.
  bool are_equal() const {
    const MetricCell& largest = cells[max_absolute_error];
    return largest.word == nullptr && largest.number == 0 && unequal_integers == 0;
  }
  void all_are(const char* word) {
    for (MetricCell& cell : cells) cell.word = word;
  }
};

// What the search for the first divergence asks of two tensors (15.1).
struct TensorGap {
  bool readable = false;
  bool same_shape = false;
  double gap = 0;      // largest |t - g| over largest |g|; infinite where NaN or infinities lie elsewhere
  bool equal = false;  // all elements are
};

// Share of the elements that agree within 0.001, or, in half types, whose neighbours are further apart than that,
// within four units of rounding.
double agreeing_share(const TensorMetrics& metrics, std::string_view dtype);

// compat: as msProbe, which ignores the signs of infinities and imaginary parts. Never throws for what a file holds.
// Waits until both files fit into the memory.
TensorMetrics compare_tensor_files(const TensorFile& target, const TensorFile& golden, bool compat,
                                   MemoryBudget& memory);
TensorGap gap_of_tensor_files(const TensorFile& target, const TensorFile& golden, MemoryBudget& memory);
// Sum of the elements, each as a whole number; nothing if the file cannot be read or does not hold whole numbers.
std::optional<std::int64_t> sum_of_tensor_file(const TensorFile& file);

}  // namespace msrun::dump_compare
