#include "kernels/compare/policies/distance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "kernels/tensor/convert.h"

namespace msrun {
namespace {

constexpr std::int64_t block = 1024;
constexpr double epsilon_of_quotients = 1e-8;

// numpy's maximum: NaN wins.
void raise_to(double& maximum, double value) {
  if (value > maximum || std::isnan(value)) maximum = std::isnan(maximum) ? maximum : value;
}

// Calls visit(b, t) for runs of elements of both, in row-major order; it may change them.
template <class Visit>
void for_each_pair(const Tensor& bench, const Tensor& tested, const Visit& visit) {
  const Tensor left = bench.contiguous();
  const Tensor right = tested.contiguous();
  const auto bytes = [](const Tensor& tensor, std::int64_t start) {
    return tensor.raw() + start * static_cast<std::int64_t>(size_of(tensor.dtype()));
  };
  std::array<double, block> b;
  std::array<double, block> t;
  for (std::int64_t start = 0; start < left.numel(); start += block) {
    const std::int64_t count = std::min(block, left.numel() - start);
    load_run(left.dtype(), bytes(left, start), 1, count, b.data());
    load_run(right.dtype(), bytes(right, start), 1, count, t.data());
    visit(std::span<double>(b).first(static_cast<std::size_t>(count)),
          std::span<double>(t).first(static_cast<std::size_t>(count)));
  }
}

struct Products {
  double dot = 0;
  double bench = 0;  // squares
  double tested = 0;

  // The sums of a block are formed apart, so that the error of the whole grows with the number of blocks only.
  void add(std::span<const double> b, std::span<const double> t, double bench_scale, double tested_scale) {
    Products part;
    for (std::size_t i = 0; i < b.size(); ++i) {
      const double x = b[i] * bench_scale;
      const double y = t[i] * tested_scale;
      part.dot += x * y;
      part.bench += x * x;
      part.tested += y * y;
    }
    dot += part.dot;
    bench += part.bench;
    tested += part.tested;
  }

  // epsilon as it is in the scale of the sums.
  double cosine(double epsilon) const { return (epsilon + dot) / (epsilon + std::sqrt(bench) * std::sqrt(tested)); }
};

bool is_same_nonfinite(double b, double t) { return (std::isnan(b) && std::isnan(t)) || (std::isinf(b) && b == t); }

// Zeros in place of what is the same on both sides and no number; returns how many these are.
std::int64_t mask_nonfinite(std::span<double> b, std::span<double> t) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (!is_same_nonfinite(b[i], t[i])) continue;
    b[i] = t[i] = 0;
    ++count;
  }
  return count;
}

}  // namespace

Distance distance_of(const Tensor& bench, const Tensor& tested, bool equal_nonfinite) {
  Distance distance;
  if (bench.numel() == 0) return distance;
  Products products;
  double largest_bench = 0;
  double largest_tested = 0;
  for_each_pair(bench, tested, [&](std::span<double> b, std::span<double> t) {
    if (equal_nonfinite) distance.nonfinite_equal += mask_nonfinite(b, t);
    for (std::size_t i = 0; i < b.size(); ++i) {
      const double difference = std::abs(b[i] - t[i]);
      const double divisor = b[i] != 0 ? std::abs(b[i]) : epsilon_of_quotients;
      raise_to(distance.max_abs, difference);
      raise_to(distance.max_relative, difference / divisor);
      raise_to(largest_bench, std::abs(b[i]));
      raise_to(largest_tested, std::abs(t[i]));
    }
    products.add(b, t, 1, 1);
  });
  distance.cosine = products.cosine(epsilon_of_quotients);
  const bool overflows = !std::isfinite(products.dot + products.bench + products.tested);
  if (!equal_nonfinite || !overflows || !std::isfinite(largest_bench) || !std::isfinite(largest_tested))
    return distance;
  // The largest element of each side becomes 1.
  const auto scale_of = [](double largest) { return largest > 0 ? 1 / largest : 1.0; };
  const double bench_scale = scale_of(largest_bench);
  const double tested_scale = scale_of(largest_tested);
  Products scaled;
  for_each_pair(bench, tested, [&](std::span<double> b, std::span<double> t) {
    mask_nonfinite(b, t);
    scaled.add(b, t, bench_scale, tested_scale);
  });
  distance.cosine = scaled.cosine(epsilon_of_quotients * bench_scale * tested_scale);
  return distance;
}

}  // namespace msrun
