#include "kernels/compare/bounds/error_shape.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/compare/bounds/constants.h"
#include "kernels/compare/bounds/rounding_terms.h"
#include "kernels/compare/metrics/blocks.h"

namespace msrun {
namespace {

// Pieces of fewer elements say nothing, nor do so few pieces.
constexpr std::int64_t least_of_piece = 32;
constexpr std::int64_t least_pieces = 4;
constexpr std::int64_t most_pieces = 32;

struct ErrorSums {
  double count = 0;
  double sum = 0;
  double squares = 0;

  void add(double error) {
    ++count;
    sum += error;
    squares += error * error;
  }
  double mean() const { return count > 0 ? sum / count : 0; }
  double mean_square() const { return count > 0 ? squares / count : 0; }
};

double concentration_of(const std::vector<ErrorSums>& pieces) {
  std::vector<double> sizes;
  for (const ErrorSums& piece : pieces) {
    if (piece.count >= static_cast<double>(least_of_piece)) sizes.push_back(piece.mean_square());
  }
  if (std::ssize(sizes) < least_pieces) return 1;
  std::ranges::sort(sizes);
  const double middle = sizes[sizes.size() / 2];
  return middle > 0 ? sizes.back() / middle : 1;
}

// The deviation of the mean of all, as the means of groups scatter; 0 where there is only one.
double deviation_of_mean(const std::vector<ErrorSums>& groups, double mean) {
  double squares = 0;
  double count = 0;
  for (const ErrorSums& group : groups) {
    if (group.count == 0) continue;
    squares += (group.mean() - mean) * (group.mean() - mean);
    ++count;
  }
  return count > 1 ? std::sqrt(squares / (count * (count - 1))) : 0;
}

}  // namespace

ErrorShape shape_of_errors(const Tensor& bench, const Tensor& device, const Tensor& noise) {
  const std::int64_t count = device.numel();
  const std::int64_t last = device.rank() > 0 ? device.size(-1) : 1;
  if (count < least_pieces * least_of_piece || last == 0) return {};
  const std::int64_t pieces = std::clamp(count / least_of_piece, least_pieces, most_pieces);
  const std::int64_t columns = std::min(last, most_pieces);
  ErrorSums all;
  std::vector<ErrorSums> by_piece(static_cast<std::size_t>(pieces));
  std::vector<ErrorSums> by_column(static_cast<std::size_t>(columns));
  std::vector<ErrorSums> by_row(static_cast<std::size_t>(count / last));
  const double* expected = noise.data<double>();
  const rounding::Units units(device.dtype());
  for_each_block(bench, device, [&](const double* exact, const double* actual, std::int64_t first, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      const double error = actual[i] - exact[i];
      if (!std::isfinite(error)) continue;
      const std::int64_t at = first + i;
      // What storing adds to the errors is a twelfth of the square of the last place.
      const double unit = units.at(exact[i]);
      const double size = std::sqrt(expected[at] * expected[at] + unit * unit / 12);
      if (!(size > 0) || !std::isfinite(size)) continue;
      const double share = error / size;
      all.add(share);
      by_piece[static_cast<std::size_t>(at * pieces / count)].add(share);
      by_column[static_cast<std::size_t>(at % last * columns / last)].add(share);
      by_row[static_cast<std::size_t>(at / last)].add(share);
    }
  });
  if (all.count < 2) return {};
  ErrorShape shape;
  shape.concentration = std::max(concentration_of(by_piece), concentration_of(by_column));
  const double mean = all.mean();
  const double scatter = std::sqrt(std::max(all.mean_square() - mean * mean, 0.0));
  const double of_elements = scatter / std::sqrt(all.count);
  const double chance = std::max({of_elements, deviation_of_mean(by_row, mean), deviation_of_mean(by_column, mean)});
  const double beyond_chance = std::max(std::abs(mean) - chance_of_leaning * chance, 0.0);
  shape.lean = beyond_chance > 0 ? beyond_chance / std::max(scatter, beyond_chance / most_pieces) : 0;
  return shape;
}

}  // namespace msrun
