#include "kernels/compare/metrics/metrics.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/compare/metrics/blocks.h"
#include "kernels/compare/metrics/cosine_sums.h"
#include "kernels/compare/metrics/metric_columns.h"
#include "kernels/compare/metrics/metrics_reference.h"
#include "kernels/compare/metrics/pack.h"

namespace msrun {
namespace {

// One side of the pair, block by block as T, padded with zeros to whole packs.
template <class T>
class Side {
 public:
  explicit Side(const Tensor& tensor)
      : reader_(tensor), bytes_of_element_(static_cast<std::int64_t>(size_of(tensor.dtype()))) {}

  // n elements, valid until the next call.
  const T* next(std::int64_t n) {
    const T* block = read(n);
    ahead_ = reader_.address();
    width_ = reader_.bytes_in_a_row() >= block_size<T> * bytes_of_element_ ? bytes_of_element_ : 0;
    return block;
  }

  // The block at hand as something to be changed.
  T* changeable(const T* block, std::int64_t padded) {
    if (block != buffer_.data()) std::copy_n(block, padded, buffer_.data());
    return buffer_.data();
  }

  // Asks for the part of the next block that corresponds to the pack of this one which begins with element i.
  MSRUN_INLINE void prefetch(std::int64_t i) const {
    __builtin_prefetch(ahead_ + i * width_);
    if (width_ == 8) __builtin_prefetch(ahead_ + i * width_ + 64);
  }

 private:
  const T* read(std::int64_t n) {
    if (n == block_size<T>) {
      const T* in_place = reader_.read_in_place<T>(std::is_same_v<T, float> ? DType::float32 : DType::float64, n);
      if (in_place != nullptr) return in_place;
    }
    reader_.read(buffer_.data(), n);
    std::fill(buffer_.data() + n, buffer_.data() + (n + lanes - 1) / lanes * lanes, T{});
    return buffer_.data();
  }

  Reader reader_;
  std::int64_t bytes_of_element_;
  const std::byte* ahead_ = nullptr;  // the next block
  std::int64_t width_ = 0;            // bytes from element to element there; 0 if they are scattered, or none are left
  alignas(64) std::array<T, block_size<T>> buffer_;
};

// The pass over a device array on grid D and a bench array on grid B. Blocks of finite values go through the vector
// loops; a block that holds others, an overflow of the device dtype included, is added element by element.
template <Grid D, Grid B>
class Pass {
 public:
  using Real = RealOf<D, B>;
  static constexpr Grid W = std::max(D, B);

  Pass(const Tensor& bench, const Tensor& device, StandardSet standards, bool compat, Limits limits)
      : task_(bench, device, standards, compat, limits),
        bench_tensor_(bench),
        device_tensor_(device),
        bench_(bench),
        device_(device),
        rare_(task_),
        columns_(task_) {}

  FloatMetrics run() {
    for (std::int64_t done = 0; done < task_.count; done += block_size<Real>) {
      block_.count = std::min(block_size<Real>, task_.count - done);
      block_.padded = (block_.count + lanes - 1) / lanes * lanes;
      block_.b = bench_.next(block_.count);
      block_.d = device_.next(block_.count);
      if (!add_products() && (task_.compat || !zero_equal_nonfinite() || !add_products())) {
        for (std::int64_t i = 0; i < block_.count; ++i) rare_.add(block_.d[i], block_.b[i]);
        continue;
      }
      add_errors();
      columns_.add(block_, rare_);
      finite_count_ += block_.count;
      padding_ += block_.padded - block_.count;
    }
    const Tally tally = whole_tally();
    return metrics_of(task_, tally, cosine(tally));
  }

 private:
  using Int = IntOf<Real>;
  using Reals = Pack<Real>;
  using Counts = Pack<Int>;
  using Doubles = Pack<double>;

  static Reals all(double value) { return Reals::all(static_cast<Real>(value)); }

  // Largest magnitudes and the sums of the cosine. False, and nothing is added, if a value is not finite or overflows.
  bool add_products() {
    CosineSums sums = cosine_sums_;
    Tops<Real> tops;
    if constexpr (std::is_same_v<Real, float>) {
      tops = add_float_products(block_.d, block_.b, block_.padded, sums);
    } else {
      tops = msrun::add_products(block_.d, block_.b, block_.padded, sums);
    }
    if (!std::isfinite(tops.device) || !std::isfinite(msrun::on_grid(D, tops.bench))) return false;
    top_device_ = std::max(top_device_, tops.device);
    top_bench_ = std::max(top_bench_, tops.bench);
    cosine_sums_ = sums;
    return true;
  }

  // Makes zeros of pairs that are equal without being finite. False if there are others: none is counted then.
  bool zero_equal_nonfinite() {
    for (std::int64_t i = 0; i < block_.count; ++i) {
      const bool finite = std::isfinite(block_.d[i]) && std::isfinite(block_.b[i]);
      if (!finite && !same_nonfinite(task_, block_.d[i], block_.b[i])) return false;
    }
    Real* d = device_.changeable(block_.d, block_.padded);
    Real* b = bench_.changeable(block_.b, block_.padded);
    for (std::int64_t i = 0; i < block_.count; ++i) {
      double device = d[i];
      double bench = b[i];
      rare_.remove_nonfinite(device, bench);
      d[i] = static_cast<Real>(device);
      b[i] = static_cast<Real>(bench);
    }
    block_.d = d;
    block_.b = b;
    return true;
  }

  // Sections 5.1, 5.3 and 5.4. The divisions take so long that the next block can be fetched meanwhile.
  void add_errors() {
    const Reals eps = all(task_.eps);
    const Reals limit_100 = all(msrun::on_grid(W, 0.01));
    const Reals limit_1000 = all(msrun::on_grid(W, 0.001));
    const Reals limit_10000 = all(msrun::on_grid(W, 0.0001));
    Reals top = top_error_;
    Counts within_100 = within_100_;
    Counts within_1000 = within_1000_;
    Counts within_10000 = within_10000_;
    for (std::int64_t i = 0; i < block_.padded; i += lanes) {
      bench_.prefetch(i);
      device_.prefetch(i);
      const Reals d = Reals::load(block_.d + i);
      const Reals b = Reals::load(block_.b + i);
      const Reals error = on_grid<W>(magnitude(d - b));
      const Reals relative = on_grid<W>(error / on_grid<B>(magnitude(b) + eps));
      error.store(block_.error.data() + i);
      relative.store(block_.relative.data() + i);
      top = larger(top, error);
      msrun::count(within_100, relative < limit_100);
      msrun::count(within_1000, relative < limit_1000);
      msrun::count(within_10000, relative < limit_10000);
    }
    top_error_ = top;
    within_100_ = within_100;
    within_1000_ = within_1000;
    within_10000_ = within_10000;
  }

  // Zeros that fill up the last pack are within all limits.
  Tally whole_tally() const {
    Tally tally;
    tally.top_device = top_device_;
    tally.top_bench = top_bench_;
    tally.top_error = largest(top_error_);
    tally.products = total(cosine_sums_.products);
    tally.device_squares = total(cosine_sums_.device_squares);
    tally.bench_squares = total(cosine_sums_.bench_squares);
    tally.within_100 = total_count(within_100_) - padding_;
    tally.within_1000 = total_count(within_1000_) - padding_;
    tally.within_10000 = total_count(within_10000_) - padding_;
    columns_.write(tally, finite_count_, padding_);
    merge(tally, rare_.tally());
    return tally;
  }

  // Section 5.2, step 5: without dividing by the largest values where no square exceeds float64.
  double cosine(const Tally& tally) {
    double product = tally.products;
    double device_square = tally.device_squares;
    double bench_square = tally.bench_squares;
    if (!std::isfinite(product) || !std::isfinite(device_square) || !std::isfinite(bench_square)) {
      sum_scaled(tally, product, device_square, bench_square);
    }
    return product / (std::sqrt(device_square) * std::sqrt(bench_square));
  }

  // A second pass, over both sides divided by their maxima.
  void sum_scaled(const Tally& tally, double& product, double& device_square, double& bench_square) const {
    product = device_square = bench_square = 0;
    if (!std::isfinite(tally.top_device) || !std::isfinite(tally.top_bench)) return;
    Side<Real> device_side(device_tensor_);
    Side<Real> bench_side(bench_tensor_);
    for (std::int64_t done = 0; done < task_.count; done += block_size<Real>) {
      const std::int64_t n = std::min(block_size<Real>, task_.count - done);
      const Real* d = device_side.next(n);
      const Real* b = bench_side.next(n);
      for (std::int64_t i = 0; i < n; ++i) {
        const double x = d[i] / tally.top_device;
        const double y = b[i] / tally.top_bench;
        if (!std::isfinite(x) || !std::isfinite(y)) continue;  // only where both sides are not finite and equal
        product += x * y;
        device_square += x * x;
        bench_square += y * y;
      }
    }
  }

  const MetricTask task_;
  const Tensor& bench_tensor_;
  const Tensor& device_tensor_;
  Side<Real> bench_;
  Side<Real> device_;
  ElementTally rare_;

  Block<Real> block_;

  // Sums over the finite blocks. A lane of float32 counts in 32 bits: enough for 2^35 elements.
  std::int64_t finite_count_ = 0;
  std::int64_t padding_ = 0;
  Real top_device_ = 0;
  Real top_bench_ = 0;
  Reals top_error_ = all(0);
  CosineSums cosine_sums_;
  Counts within_100_ = Counts::all(0);
  Counts within_1000_ = Counts::all(0);
  Counts within_10000_ = Counts::all(0);
  StandardColumns<D, B> columns_;
};

}  // namespace

FloatMetrics float_metrics(const Tensor& bench, const Tensor& device, StandardSet standards, bool compat,
                           Limits limits) {
  const MetricTask task(bench, device, standards, compat, limits);
  const auto with_bench = [&]<Grid D>() {
    switch (task.bench_grid) {
      case Grid::half:
        return Pass<D, Grid::half>(bench, device, standards, compat, limits).run();
      case Grid::single:
        return Pass<D, Grid::single>(bench, device, standards, compat, limits).run();
      case Grid::real:
        break;
    }
    return Pass<D, Grid::real>(bench, device, standards, compat, limits).run();
  };
  switch (task.device_grid) {
    case Grid::half:
      return with_bench.template operator()<Grid::half>();
    case Grid::single:
      return with_bench.template operator()<Grid::single>();
    case Grid::real:
      break;
  }
  return with_bench.template operator()<Grid::real>();
}

}  // namespace msrun
