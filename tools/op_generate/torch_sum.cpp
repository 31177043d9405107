#include "tools/op_generate/torch_sum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

namespace msrun::op_generate {

namespace {

constexpr std::size_t vectors_of_a_row = 4;
constexpr std::size_t levels = 4;
constexpr std::size_t vector_bytes = 32;

// The sum of rows of so many vectors. T is the type in which is added, and every sum is rounded to it.
template <class T>
class CascadeSum {
 public:
  explicit CascadeSum(std::span<const double> values)
      : values_(values), width_(values.size() < vector_bytes / sizeof(T) ? 1 : vector_bytes / sizeof(T)) {}

  T total() const {
    const std::size_t vectors = values_.size() / width_;
    const std::size_t rows = vectors / vectors_of_a_row;
    std::vector<T> sums = row_sums(rows);
    for (std::size_t i = rows * vectors_of_a_row; i < vectors; ++i) {
      for (std::size_t k = 0; k < width_; ++k) sums[k] += at(i * width_ + k);
    }
    for (std::size_t vector = 1; vector < vectors_of_a_row; ++vector) {
      for (std::size_t k = 0; k < width_; ++k) sums[k] += sums[vector * width_ + k];
    }
    T sum = 0;
    for (std::size_t i = vectors * width_; i < values_.size(); ++i) sum += at(i);
    for (std::size_t k = 0; k < width_; ++k) sum += sums[k];
    return sum;
  }

 private:
  T at(std::size_t i) const { return static_cast<T>(values_[i]); }

  // The sum of each column.
  std::vector<T> row_sums(std::size_t rows) const {
    const std::size_t row = vectors_of_a_row * width_;
    const std::size_t bits = rows <= 1 ? 0 : std::bit_width(rows - 1);
    const std::size_t power = std::max<std::size_t>(4, bits / levels);
    const std::size_t step = std::size_t{1} << power;
    std::array<std::vector<T>, levels> sums;
    sums.fill(std::vector<T>(row));
    const auto add_row = [&](std::size_t i) {
      for (std::size_t k = 0; k < row; ++k) sums[0][k] += at(i * row + k);
    };
    std::size_t i = 0;
    while (i + step <= rows) {
      for (std::size_t j = 0; j < step; ++j) add_row(i++);
      for (std::size_t level = 1; level < levels; ++level) {
        for (std::size_t k = 0; k < row; ++k) sums[level][k] += sums[level - 1][k];
        sums[level - 1].assign(row, 0);
        if ((i & ((step - 1) << (level * power))) != 0) break;
      }
    }
    for (; i < rows; ++i) add_row(i);
    for (std::size_t level = 1; level < levels; ++level) {
      for (std::size_t k = 0; k < row; ++k) sums[0][k] += sums[level][k];
    }
    return sums[0];
  }

  std::span<const double> values_;
  std::size_t width_;  // values of a vector
};

}  // namespace

double torch_sum(std::span<const double> values, DType dtype) {
  return dtype == DType::float64 ? CascadeSum<double>(values).total() : CascadeSum<float>(values).total();
}

}  // namespace msrun::op_generate
